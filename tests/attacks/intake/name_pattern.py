# ruff: noqa
# kind: names
# attack: a pattern that means every student
# status: any
# mean: any
from attack_suite import under_the_id

hand_in = under_the_id("student-*")
