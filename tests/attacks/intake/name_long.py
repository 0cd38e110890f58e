# ruff: noqa
# kind: names
# attack: an id of 200 characters
# status: any
# mean: any
from attack_suite import under_the_id

hand_in = under_the_id("x" * 200)
