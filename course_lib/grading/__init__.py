"""Grading: the bank of tasks, the hidden checks, and the class run."""
