# ruff: noqa
# kind: names
# attack: an id of dots
# status: any
# mean: any
from attack_suite import under_the_id

hand_in = under_the_id("...")
