"""The student's room: the only code of this project that shares a process with a student's.

It runs in a confined process of its own and imports nothing of the project but `course_lib.checks`, which students
have anyway. What it says is data to the examiner, never to be trusted.
"""
