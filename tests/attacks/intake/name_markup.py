# ruff: noqa
# kind: names
# attack: markup in the student's id
# status: any
# mean: any
from attack_suite import under_the_id

hand_in = under_the_id("<script>alert(1)<")
