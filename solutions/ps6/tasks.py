"""Problem set 6, Long sequences: the bank of its tasks."""

import numpy as np

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Mistake, Part, Task, everywhere, variant
from course_lib.grading.draws import random_mask, random_qkv
from course_lib.grading.hints import (
    ALL_AXES_REVERSED,
    AXES_OF_LENGTH_1_DROPPED,
    AXIS_LOST,
    DIVIDED_BY_D_K,
    DIVIDED_BY_SCALE,
    FIRST_BATCH_FOR_ALL,
    HALF_PRECISION,
    HALF_PRECISION_AROUND_10000,
    LARGE_NUMBER_FOR_INFINITY,
    MASK_INVERTED,
    MASK_MULTIPLIED,
    MASK_NOT_USED,
    MASK_REQUIRED,
    MASKED_BEFORE_SCALING,
    NOT_SCALED,
    ONE_MAXIMUM_FOR_ALL,
    OUTPUT_TRANSPOSED,
    QUERIES_OVERWRITTEN,
    SCALE_NOT_USED,
    SCALED_BY_D_V,
    SCALED_TWICE,
    SET_BY_INDEX,
    SOFTMAX_OVER_QUERIES,
    TRUTH_OF_AN_ARRAY,
    TWO_AXES_EXPECTED,
    ZERO_SCALE_TAKEN_FOR_NONE,
)

# Called, it would do what two tasks ask for.
FUSED = ("torch.nn.functional.scaled_dot_product_attention",)

# --- Task 1: merge --------------------------------------------------------------------------------------------


def merge(first, second):
    """first, second (..., 2): highest logit, and sum of exp(logit - highest), of two blocks -> (..., 2) of both"""
    highest = np.maximum(first[..., 0], second[..., 0])
    subtracted = np.where(np.isneginf(highest), 0.0, highest)
    total = first[..., 1] * np.exp(first[..., 0] - subtracted)
    total = total + second[..., 1] * np.exp(second[..., 0] - subtracted)
    return np.stack([highest, total], axis=-1)


def random_states(rng, shape):
    return np.stack([rng.normal(size=shape), rng.uniform(1.0, 5.0, shape)], axis=-1)


def either_higher(rng, first, second):
    """Both states, of which now the first, now the second has the higher logit, by 1 at least."""
    step = np.where(rng.permuted(np.arange(first[..., 0].size)) % 2, 1.0, -1.0).reshape(first.shape[:-1])
    first[..., 0] = second[..., 0] + step * rng.uniform(1.0, 3.0, step.shape)
    return {"first": first, "second": second}


def draw_states(rng):
    # And a row of its own, whose numbers have no axes at all.
    alone = {"first": random_states(rng, ()), "second": random_states(rng, ())}
    return [either_higher(rng, random_states(rng, (5,)), random_states(rng, (5,))), alone]


def draw_state_batches(rng):
    batch = either_higher(rng, random_states(rng, (3, 5)), random_states(rng, (3, 5)))
    return [
        batch,
        {"first": random_states(rng, (7, 1, 5)), "second": random_states(rng, (3, 5))},
        {"first": random_states(rng, (3, 1, 5)), "second": random_states(rng, (3, 1, 5))},
    ]


def draw_empty_states(rng):
    # Of the rows in which neither is empty, the first is the higher in one, the second in the other.
    inputs = either_higher(rng, random_states(rng, (7,)), random_states(rng, (7,)))
    rows = rng.permutation(7)
    inputs["first"][rows[:3]] = -np.inf, 0.0
    inputs["second"][rows[2:5]] = -np.inf, 0.0
    inputs["first"][rows[5:], 0] = inputs["second"][rows[5:], 0] + [1.0, -1.0]
    return [inputs]


def draw_far_states(rng):
    # Whole numbers: their differences are exact in float32, so that only an overflow can go wrong.
    inputs = {name: random_states(rng, (7,)) for name in ("first", "second")}
    level = 1e4 * np.array([1.0, -1.0, 1.0, -1.0, 0.0, 0.5, -0.5])
    for name in inputs:
        inputs[name][:, 0] = level + rng.integers(-2, 3, 7)
    inputs["first"][4, 0], inputs["first"][5, 0] = 1e4, -1e4
    return [inputs]


MERGE_PARTS = (
    Part("rows", 2, Text("여러 row", "several rows"), draw_states),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_state_batches),
    Part("empty", 1, Text("볼 Key가 없는 block", "blocks without an allowed Key"), draw_empty_states),
    Part("far", 1, Text("±10000 근처의 logits", "logits around ±10000"), draw_far_states),
)


def larger_block_alone(first, second):
    return np.where(first[..., :1] >= second[..., :1], first, second)


def first_overwritten(first, second):
    highest = np.maximum(first[..., 0], second[..., 0])
    subtracted = np.where(np.isneginf(highest), 0.0, highest)
    first[..., 1] = first[..., 1] * np.exp(first[..., 0] - subtracted)
    first[..., 1] += second[..., 1] * np.exp(second[..., 0] - subtracted)
    first[..., 0] = highest
    return first


def merge_by_loops(first, second):
    shape = np.broadcast_shapes(first.shape, second.shape)
    first, second, result = np.broadcast_to(first, shape), np.broadcast_to(second, shape), np.empty(shape)
    for row in np.ndindex(shape[:-1]):
        (m, s), (n, t) = first[row], second[row]
        if m == n == -np.inf:
            result[row] = -np.inf, 0.0
        elif m >= n:
            result[row] = m, s + t * np.exp(n - m)
        else:
            result[row] = n, t + s * np.exp(m - n)
    return result


def merge_by_sorting(first, second):
    m, s = np.moveaxis(first, -1, 0)
    n, t = np.moveaxis(second, -1, 0)
    with np.errstate(invalid="ignore"):
        ratio = np.nan_to_num(np.exp(-np.abs(m - n)), nan=1.0)
    total = np.where(m > n, s + t * ratio, t + s * ratio)
    return np.moveaxis(np.array([np.fmax(m, n) + np.zeros_like(total), total]), 0, -1)


def merge_by_logsumexp(first, second):
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.logaddexp(first[..., 0] + np.log(first[..., 1]), second[..., 0] + np.log(second[..., 1]))
        highest = np.maximum(first[..., 0], second[..., 0])
        total = np.exp(both - highest)
    return np.stack([highest, np.where(highest == -np.inf, 0.0, total)], axis=-1)


def merge_stacked(first, second):
    both = np.stack(np.broadcast_arrays(first, second))
    highest = both[..., 0].max(axis=0)
    factors = np.exp(both[..., 0] - np.nan_to_num(highest, neginf=0.0))
    return np.concatenate([highest[..., None], np.sum(both[..., 1] * factors, axis=0)[..., None]], axis=-1)


def merge_in_torch(first, second):
    import torch

    first, second = torch.as_tensor(first), torch.as_tensor(second)
    (m, s), (n, t) = first.unbind(-1), second.unbind(-1)
    highest = torch.maximum(m, n)
    base = highest.masked_fill(highest == -torch.inf, 0.0)
    return torch.stack([highest, s * (m - base).exp() + t * (n - base).exp()], dim=-1)


def compared_by_if(first, second):
    if first[..., 0] > second[..., 0]:
        return merge(first, second)
    return merge(second, first)


def unpacked_along_the_first_axis(first, second):
    (m, s), (n, t) = first, second
    return merge(np.stack([m, s], axis=-1), np.stack([n, t], axis=-1))


def as_large_as_the_first(first, second):
    result = np.zeros_like(first)
    result[...] = merge(first, second)
    return result


SUM_BEFORE_MAXIMUM = Text(
    "두 수의 순서가 바뀌었습니다. 최댓값이 먼저, 합이 다음입니다.",
    "The two numbers have changed places. The maximum comes first, then the sum.",
)


UNPACKED_IN_FRONT = Text(
    "m, z = first와 first[0]은 첫 축을 따라 나눕니다. 두 수는 마지막 축에 있습니다: first[..., 0], first[..., 1].",
    "m, z = first and first[0] take an array apart along its first axis. The two numbers lie along the last: "
    "first[..., 0], first[..., 1].",
)


INFINITY_REPLACED = Text(
    "np.nan_to_num은 NaN만이 아니라 −∞도 유한한 수로 바꿉니다. 볼 Key가 없으면 최댓값은 −∞입니다.",
    "np.nan_to_num turns −∞ into a number, too, not NaN alone. Without a Key the maximum is −∞.",
)


def indexed_in_front(first, second):
    highest = np.maximum(first[0], second[0])
    subtracted = np.where(np.isneginf(highest), 0.0, highest)
    total = first[1] * np.exp(first[0] - subtracted) + second[1] * np.exp(second[0] - subtracted)
    return np.stack([highest, total], axis=-1)


MERGE = Task(
    name="merge",
    reference=merge,
    parts=MERGE_PARTS,
    see="long-sequences.html#blocks-merge",
    mistakes=(
        Mistake(
            compared_by_if,
            Text(
                "if와 Python의 max는 배열 전체를 한 번만 견줄 수 있습니다. 자리마다 큰 쪽을 고르는 것은 np.maximum과 np.where입니다.",
                "An if, or Python's max, compares whole arrays once, which has no answer. np.maximum and np.where choose place by place.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "sums_added",
                ("first[..., 1] * np.exp(first[..., 0] - subtracted)", "first[..., 1]"),
                ("second[..., 1] * np.exp(second[..., 0] - subtracted)", "second[..., 1]"),
            ),
            Text(
                "두 합을 그대로 더했습니다. 각 합은 자기 block의 최댓값을 뺀 것이라, 새 최댓값에 맞춘 뒤에야 더할 수 있습니다.",
                "The two sums are added as they are. Each was taken with its own block's maximum subtracted; bring both "
                "to the new maximum before adding.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            larger_block_alone,
            Text(
                "최댓값이 큰 block만 남겼습니다. 작은 쪽의 합도 줄어들 뿐 사라지지 않습니다.",
                "Only the block with the higher maximum is left. The other's sum shrinks; it doesn't vanish.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "rescaled_the_other_way",
                ("np.exp(first[..., 0] - subtracted)", "np.exp(subtracted - first[..., 0])"),
                ("np.exp(second[..., 0] - subtracted)", "np.exp(subtracted - second[..., 0])"),
            ),
            Text(
                "배율이 뒤집혔습니다. 최댓값이 커지면 옛 합은 작아집니다. exp(옛 최댓값 − 새 최댓값)을 곱합니다.",
                "The factor is upside down. As the maximum rises, the old sum shrinks: multiply by exp(old − new).",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "second_brought_to_the_first",
                ("first[..., 1] * np.exp(first[..., 0] - subtracted)", "first[..., 1]"),
                (
                    "np.exp(second[..., 0] - subtracted)",
                    "np.exp(second[..., 0] - np.where(np.isneginf(first[..., 0]), 0.0, first[..., 0]))",
                ),
            ),
            Text(
                "합을 첫 block의 최댓값에 맞추었습니다. 둘째의 최댓값이 더 크면 첫째를 줄여야 합니다.",
                "The sum is relative to the first block's maximum. Where the second's is higher, the first has to shrink.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "maximum_not_subtracted",
                ("np.where(np.isneginf(highest), 0.0, highest)", "0.0 * second[..., 1]"),
            ),
            Text(
                "exp(logit) 자체의 합을 돌려주었습니다. 둘째 수는 새 최댓값을 뺀 exp의 합입니다.",
                "This is the sum of exp(logit) itself. The second number is the sum with the new maximum subtracted.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "exponentials_taken_apart",
                ("np.exp(first[..., 0] - subtracted)", "np.exp(first[..., 0]) / np.exp(subtracted)"),
                ("np.exp(second[..., 0] - subtracted)", "np.exp(second[..., 0]) / np.exp(subtracted)"),
            ),
            Text(
                "exp를 따로 구해 나누었습니다. exp(10000)은 ∞이고 exp(−10000)은 0입니다. 먼저 빼고 exp를 한 번 구하세요.",
                "The exponentials are divided after each was taken. exp(10000) is ∞ and exp(−10000) is 0: subtract first.",
            ),
            frozenset({"far"}),
        ),
        Mistake(
            variant(
                merge,
                "two_empty_blocks_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
            ),
            Text(
                "두 block 모두 볼 Key가 없으면 −∞ − (−∞) = NaN입니다. 결과는 다시 −∞와 0입니다.",
                "Where neither block has an allowed Key, −∞ − (−∞) is NaN. The result is −∞ and 0 once more.",
            ),
            frozenset({"empty"}),
        ),
        Mistake(
            variant(
                merge,
                "empty_is_finite",
                (
                    "np.maximum(first[..., 0], second[..., 0])",
                    "np.maximum(np.maximum(first[..., 0], second[..., 0]), -1e9)",
                ),
            ),
            Text(
                "빈 block의 최댓값이 −1e9가 되었습니다. −∞로 두어야 다음 block과 바르게 합쳐집니다.",
                "The maximum of empty blocks became −1e9. It stays −∞, so that the next block is merged rightly.",
            ),
            frozenset({"empty"}),
        ),
        Mistake(
            variant(
                merge, "base_two", ("np.exp(first", "np.exp2(first"), ("np.exp(second", "np.exp2(second")
            ),
            Text(
                "밑이 2인 지수 함수를 썼습니다. Softmax의 밑은 e입니다.",
                "The exponential has base 2. Softmax has base e.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "half_precision_states",
                (
                    "    highest =",
                    "    first, second = first.astype(np.float16), second.astype(np.float16)\n    highest =",
                ),
            ),
            HALF_PRECISION_AROUND_10000,
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge, "sum_before_maximum", ("[highest, total]", "[total, highest]")),
            SUM_BEFORE_MAXIMUM,
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge, "stacked_in_front", ("axis=-1)", "axis=0)")),
            Text(
                "두 수를 첫 축에 쌓았습니다. 마지막 축에 쌓아 (..., 2)로 만드세요.",
                "The two numbers are stacked along the first axis. Stack them along the last: (..., 2).",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            first_overwritten,
            Text(
                "입력 first를 제자리에서 바꾸었습니다. 새 배열에 계산하세요.",
                "The input first is changed in place. Compute into a new array.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "zero_for_the_maximum_of_nothing",
                ("np.stack([highest, total], axis=-1)", "np.stack([subtracted, total], axis=-1)"),
            ),
            Text(
                "빼려고 0으로 바꾼 값을 최댓값으로 돌려주었습니다. 볼 Key가 없으면 최댓값은 −∞입니다.",
                "The 0 that was put there for subtracting comes back as the maximum. Without a Key the maximum is −∞.",
            ),
            frozenset({"empty"}),
        ),
        Mistake(
            variant(
                merge,
                "nan_and_infinity_replaced",
                ("np.stack([highest, total], axis=-1)", "np.nan_to_num(np.stack([highest, total], axis=-1))"),
            ),
            INFINITY_REPLACED,
            frozenset({"empty"}),
        ),
        Mistake(
            variant(
                merge,
                "sums_left_out",
                ("first[..., 1] * np.exp(first", "np.exp(first"),
                ("second[..., 1] * np.exp(second", "np.exp(second"),
            ),
            Text(
                "두 Z를 쓰지 않았습니다. 상태 하나는 logit 하나가 아니라 여러 logits의 합입니다. 배율은 Z에 곱합니다.",
                "Neither Z is used. A state stands for many logits, not for one: the factor multiplies its Z.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "second_alone_rescaled",
                ("first[..., 1] * np.exp(first[..., 0] - subtracted)", "first[..., 1]"),
            ),
            Text(
                "둘째 합만 새 최댓값에 맞추었습니다. 첫째의 최댓값이 더 작으면 첫째 합도 줄여야 합니다.",
                "Only the second sum is brought to the new maximum. Where the first block's is lower, its sum has to shrink as well.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge,
                "first_alone_rescaled",
                ("second[..., 1] * np.exp(second[..., 0] - subtracted)", "second[..., 1]"),
            ),
            Text(
                "첫째 합만 새 최댓값에 맞추었습니다. 둘째의 최댓값이 더 작으면 둘째 합도 줄여야 합니다.",
                "Only the first sum is brought to the new maximum. Where the second block's is lower, its sum has to shrink as well.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            unpacked_along_the_first_axis,
            UNPACKED_IN_FRONT,
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            as_large_as_the_first,
            Text(
                "결과의 shape를 한쪽 입력에서 가져왔습니다. 앞의 축들은 broadcast됩니다: 계산한 것을 np.stack으로 쌓으세요.",
                "The result takes its shape from one of the inputs. The axes before the last broadcast: stack what you computed, with np.stack.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                merge,
                "squeezed_states",
                ("np.stack([highest, total], axis=-1)", "np.stack([highest, total], axis=-1).squeeze()"),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                merge,
                "set_by_index",
                (
                    "    subtracted = np.where(np.isneginf(highest), 0.0, highest)\n",
                    "    subtracted = highest.copy()\n    subtracted[np.isneginf(highest)] = 0.0\n",
                ),
            ),
            SET_BY_INDEX,
            frozenset({"rows"}),
        ),
        Mistake(indexed_in_front, UNPACKED_IN_FRONT, frozenset({"rows", "batches", "empty", "far"})),
        Mistake(
            variant(
                merge,
                "factors_exchanged",
                ("np.exp(first[..., 0] - subtracted)", "np.exp(second[..., 0] - subtracted)"),
                (
                    "total + second[..., 1] * np.exp(second[..., 0] - subtracted)",
                    "total + second[..., 1] * np.exp(first[..., 0] - subtracted)",
                ),
            ),
            Text(
                "두 배율이 서로 바뀌었습니다. 합마다 자기 block의 최댓값으로 구한 배율을 곱합니다.",
                "The two factors have changed places. Each sum takes the one made of its own block's maximum.",
            ),
            frozenset({"rows", "batches", "empty", "far"}),
        ),
    ),
    right_answers=(merge_by_loops, merge_by_sorting, merge_by_logsumexp, merge_stacked, merge_in_torch),
)


# --- Task 2: running_states -----------------------------------------------------------------------------------


def running_states(logits, block_size):
    """logits (..., n_q, n_k) -> (..., n_q, blocks, 2): highest logit and sum of exponentials after each block"""
    highest, total = np.full(logits.shape[:-1], -np.inf), np.zeros(logits.shape[:-1])
    states = []
    for start in range(0, logits.shape[-1], block_size):
        block = logits[..., start : start + block_size]
        before, highest = highest, np.maximum(highest, block.max(axis=-1))
        subtracted = np.where(np.isneginf(highest), 0.0, highest)
        total = total * np.exp(before - subtracted) + np.exp(block - subtracted[..., None]).sum(axis=-1)
        states.append(np.stack([highest, total], axis=-1))
    return np.stack(states, axis=-2)


def rising_and_falling(rng, shape):
    """Logits whose maximum rises from block to block in one row, and falls from below 0 in the next."""
    rises = np.arange(shape[-2])[:, None] % 2 == 1
    trend = np.where(rises, 0.5, -0.5) * np.arange(shape[-1]) - np.where(rises, 0.0, 3.0)
    return trend + 0.5 * rng.normal(size=shape)


def draw_equal_blocks(rng):
    return [{"logits": rising_and_falling(rng, (5, 6)), "block_size": int(rng.choice([2, 3]))}]


def draw_ragged_blocks(rng):
    return [{"logits": rising_and_falling(rng, (5, 7)), "block_size": size} for size in (3, 5, 1, 11)]


def draw_block_batches(rng):
    return [
        {"logits": rising_and_falling(rng, (2, 5, 7)), "block_size": 3},
        {"logits": rising_and_falling(rng, (3, 2, 5, 11)), "block_size": 4},
    ]


def draw_masked_blocks(rng):
    # One row's first block is masked throughout, one row's last, and one row is dead.
    logits = np.where(random_mask(rng, 5, 11), rising_and_falling(rng, (5, 11)), -np.inf)
    first, last, dead = rng.permutation(5)[:3]
    logits[first, :3], logits[last, 6:], logits[dead] = -np.inf, -np.inf, -np.inf
    logits[first, 3], logits[first, 10], logits[last, 1] = 0.5, 9.0, 0.5
    return [{"logits": logits, "block_size": 3}]


def draw_high_blocks(rng):
    # Whole numbers: their differences are exact in float32, so that only an overflow can go wrong.
    level = 1e4 * np.array([[1.0], [-1.0], [0.5], [-0.5], [0.0]])
    ramp = 1e4 * np.array([[1.0], [-1.0]]) * np.array([-1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    return [
        {"logits": level + rng.integers(-3, 4, (5, 7)), "block_size": 3},
        {"logits": ramp + rng.integers(-3, 4, (2, 7)), "block_size": 2},
    ]


STATE_PARTS = (
    Part("equal", 2, Text("같은 크기의 blocks", "blocks of one size"), draw_equal_blocks),
    Part("ragged", 1, Text("나누어떨어지지 않는 크기", "sizes that don't divide n_k"), draw_ragged_blocks),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_block_batches),
    Part(
        "masked",
        1,
        Text("통째로 가려진 block과 row", "blocks and a row that are masked throughout"),
        draw_masked_blocks,
    ),
    Part("high", 1, Text("±10000 근처의 logits", "logits around ±10000"), draw_high_blocks),
)


def states_of_prefixes(logits, block_size):
    n_k = logits.shape[-1]
    states = []
    for stop in range(block_size, n_k + block_size, block_size):
        seen = logits[..., :stop]
        highest = seen.max(axis=-1, keepdims=True)
        total = np.exp(seen - np.nan_to_num(highest, neginf=0.0)).sum(axis=-1)
        states.append(np.stack([highest[..., 0], total], axis=-1))
    return np.moveaxis(np.array(states), 0, -2)


def states_by_loops(logits, block_size):
    n_k = logits.shape[-1]
    blocks = -(-n_k // block_size)
    result = np.zeros((*logits.shape[:-1], blocks, 2))
    for row in np.ndindex(logits.shape[:-1]):
        highest, total = -np.inf, 0.0
        for j in range(n_k):
            x = logits[(*row, j)]
            if x > highest:
                total, highest = total * np.exp(highest - x) + 1.0, x
            elif x > -np.inf:
                total += np.exp(x - highest)
            result[(*row, j // block_size)] = highest, total
    return result


def states_by_merging(logits, block_size):
    def state(block):
        highest = block.max(axis=-1)
        return np.stack([highest, np.exp(block - np.nan_to_num(highest, neginf=0.0)[..., None]).sum(-1)], -1)

    states = [state(logits[..., s : s + block_size]) for s in range(0, logits.shape[-1], block_size)]
    for b in range(1, len(states)):
        states[b] = merge(states[b - 1], states[b])
    return np.stack(states, axis=-2)


def states_by_accumulating(logits, block_size):
    n_k = logits.shape[-1]
    ends = np.minimum(np.arange(block_size, n_k + block_size, block_size), n_k)
    highest = np.maximum.accumulate(logits, axis=-1)[..., ends - 1]
    seen = np.arange(n_k) < ends[:, None]
    with np.errstate(invalid="ignore"):
        shifted = np.exp(logits[..., None, :] - highest[..., None])
    return np.stack([highest, np.where(seen & ~np.isnan(shifted), shifted, 0).sum(axis=-1)], axis=-1)


class OnlineSoftmax:
    def __init__(self, shape):
        self.highest, self.total = np.full(shape, -np.inf), np.zeros(shape)

    def see(self, block):
        new = np.maximum(self.highest, block.max(axis=-1))
        alive = new > -np.inf
        base = np.where(alive, new, 0)
        self.total = np.where(alive, self.total * np.exp(self.highest - base), 0)
        self.total = self.total + np.where(alive[..., None], np.exp(block - base[..., None]), 0).sum(-1)
        self.highest = new
        return np.stack((self.highest, self.total), -1)


def states_as_a_class(logits, block_size):
    cuts = np.arange(block_size, logits.shape[-1], block_size)
    online = OnlineSoftmax(logits.shape[:-1])
    return np.stack([online.see(block) for block in np.split(logits, cuts, axis=-1)], axis=-2)


def states_in_torch(logits, block_size):
    import torch

    logits = torch.as_tensor(logits)
    states, seen = [], []
    for block in logits.split(block_size, dim=-1):
        seen.append(block)
        highest = torch.cat(seen, dim=-1).amax(dim=-1)
        total = (torch.cat(seen, dim=-1) - highest.nan_to_num(neginf=0.0)[..., None]).exp().sum(dim=-1)
        states.append(torch.stack([highest, total], dim=-1))
    return torch.stack(states, dim=-2)


LAST_BLOCK_DROPPED = Text(
    "모자라는 마지막 block을 버렸습니다. 남은 Keys도 한 block입니다.",
    "The last block, which is shorter, is dropped. The Keys left over make a block as well.",
)


RUNNING_STATES = Task(
    name="running_states",
    reference=running_states,
    parts=STATE_PARTS,
    see="long-sequences.html#online-softmax",
    mistakes=(
        Mistake(
            variant(running_states, "old_sum_not_rescaled", ("total * np.exp(before - subtracted)", "total")),
            Text(
                "최댓값이 커졌는데 옛 합을 줄이지 않았습니다. exp(옛 최댓값 − 새 최댓값)을 곱하세요.",
                "The maximum rose, and the old sum didn't shrink. Multiply it by exp(old maximum − new maximum).",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "old_sum_enlarged",
                ("np.exp(before - subtracted)", "np.exp(subtracted - before)"),
            ),
            Text(
                "배율이 뒤집혀 옛 합이 커졌습니다. exp(옛 최댓값 − 새 최댓값)은 1 이하입니다.",
                "The factor is upside down, and the old sum grew. exp(old maximum − new maximum) is 1 at most.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "each_block_alone",
                ("np.maximum(highest, block.max(axis=-1))", "block.max(axis=-1)"),
                ("total * np.exp(before - subtracted) + ", ""),
            ),
            Text(
                "block마다 따로 구했습니다. 상태는 그때까지 본 모든 Keys의 것입니다.",
                "Each block stands alone. A state covers all Keys seen so far.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "maximum_of_the_last_block",
                ("np.maximum(highest, block.max(axis=-1))", "block.max(axis=-1)"),
            ),
            Text(
                "최댓값을 마지막 block의 것으로 바꾸었습니다. 지금까지의 최댓값과 견주어 큰 쪽을 남기세요.",
                "The maximum is that of the last block. Compare it with the one so far and keep the larger.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "last_block_dropped",
                (
                    "range(0, logits.shape[-1], block_size)",
                    "range(0, max(logits.shape[-1] - block_size, 0) + 1, block_size)",
                ),
            ),
            LAST_BLOCK_DROPPED,
            frozenset({"ragged", "batches", "masked", "high"}),
        ),
        Mistake(
            variant(
                running_states,
                "last_block_filled_with_zeros",
                (
                    "    states = []",
                    "    filled = np.zeros((*logits.shape[:-1], -logits.shape[-1] % block_size))\n"
                    "    logits = np.concatenate([logits, filled], axis=-1)\n    states = []",
                ),
            ),
            Text(
                "마지막 block을 0으로 채웠습니다. logit 0도 exp(0) = 1만큼 더해집니다. 채운다면 −∞로 채우세요.",
                "The last block is filled up with zeros, and a logit of 0 adds exp(0) = 1. If you fill up, use −∞.",
            ),
            frozenset({"ragged", "batches", "masked", "high"}),
        ),
        Mistake(
            variant(
                running_states,
                "masked_block_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
            ),
            Text(
                "아직 볼 Key가 하나도 없으면 −∞ − (−∞) = NaN이 되고, 뒤의 blocks까지 NaN입니다.",
                "While no Key has been allowed yet, −∞ − (−∞) is NaN, and so are all blocks after it.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                running_states,
                "maximum_starts_at_zero",
                ("np.full(logits.shape[:-1], -np.inf)", "np.zeros(logits.shape[:-1])"),
            ),
            Text(
                "최댓값이 0에서 시작합니다. 모든 logits가 음수이면 틀립니다. −∞에서 시작하세요.",
                "The maximum starts at 0, which is wrong where all logits are negative. Start at −∞.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "sum_starts_at_one",
                ("np.zeros(logits.shape[:-1])", "np.ones(logits.shape[:-1])"),
                (
                    "np.exp(before - subtracted)",
                    "np.exp(np.where(np.isneginf(before), 0.0, before - subtracted))",
                ),
            ),
            Text(
                "합이 1에서 시작합니다. 아직 아무 Key도 보지 않았으므로 0입니다.",
                "The sum starts at 1. No Key has been seen yet: it is 0.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "sums_of_plain_exponentials",
                (
                    "total * np.exp(before - subtracted) + np.exp(block - subtracted[..., None]).sum(axis=-1)",
                    "total + np.exp(block).sum(axis=-1)",
                ),
                (
                    "np.stack([highest, total], axis=-1)",
                    "np.stack([highest, total / np.exp(subtracted)], axis=-1)",
                ),
            ),
            Text(
                "exp를 먼저 더하고 나중에 나누었습니다. exp(10000)은 ∞이므로 더하기 전에 최댓값을 빼야 합니다.",
                "Exponentials are summed first and divided later. exp(10000) is ∞: subtract the maximum before summing.",
            ),
            frozenset({"high"}),
        ),
        Mistake(
            variant(
                running_states,
                "half_precision_states",
                ("    states = []", "    logits, states = logits.astype(np.float16), []"),
            ),
            HALF_PRECISION_AROUND_10000,
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "logits_overwritten",
                (
                    "np.exp(block - subtracted[..., None])",
                    "np.exp(np.subtract(block, subtracted[..., None], out=block))",
                ),
            ),
            Text(
                "입력 logits를 제자리에서 바꾸었습니다 (-=, out=). block은 logits의 일부를 가리킬 뿐입니다. 새 배열에 계산하세요.",
                "The input logits are changed in place (-=, out=): a block is only a view of them. Compute into a new array.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(running_states, "last_state_alone", ("np.stack(states, axis=-2)", "states[-1]")),
            Text(
                "마지막 상태만 돌려주었습니다. block마다 그때의 상태를 남기세요: (..., n_q, blocks, 2).",
                "Only the last state comes back. Keep the state after each block: (..., n_q, blocks, 2).",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(running_states, "blocks_in_front", ("np.stack(states, axis=-2)", "np.stack(states)")),
            Text(
                "blocks를 첫 축에 쌓았습니다. shape는 (..., n_q, blocks, 2)입니다.",
                "The blocks are stacked along the first axis. The shape is (..., n_q, blocks, 2).",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "states_in_one_array",
                ("    states = []", "    states, kept = [], np.zeros((*logits.shape[:-1], 2))"),
                (
                    "states.append(np.stack([highest, total], axis=-1))",
                    "kept[..., 0], kept[..., 1] = highest, total\n        states.append(kept)",
                ),
                ("np.stack(states, axis=-2)", "np.stack(states, axis=-2)"),
            ),
            Text(
                "같은 배열을 여러 번 담아, 모든 상태가 마지막 것과 같습니다. 담기 전에 복사하세요.",
                "One array is kept again and again, so that all states equal the last. Copy it before you keep it.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(running_states, "axis_lost", ("block - subtracted[..., None]", "block - subtracted")),
            AXIS_LOST,
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "cut_into_equal_blocks",
                (
                    "    states = []\n",
                    "    states = []\n    blocks = logits.reshape(*logits.shape[:-1], -1, block_size)\n",
                ),
                ("logits[..., start : start + block_size]", "blocks[..., start // block_size, :]"),
            ),
            Text(
                "reshape는 n_k가 block_size로 나누어떨어질 때만 됩니다. 마지막 block은 짧을 수 있습니다. slice로 자르세요.",
                "reshape works only where block_size divides n_k. The last block may be shorter: cut with slices.",
            ),
            frozenset({"ragged", "batches", "masked", "high"}),
        ),
        Mistake(
            variant(running_states, "blocks_last", ("axis=-2)", "axis=-1)")),
            Text(
                "blocks를 마지막 축에 쌓았습니다. 마지막 축은 두 수 (m, Z)입니다: np.stack(states, axis=-2).",
                "The blocks are stacked along the last axis, which belongs to the two numbers (m, Z): np.stack(states, axis=-2).",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(running_states, "old_sum_dropped", ("total * np.exp(before - subtracted) + ", "")),
            Text(
                "지난 blocks의 합이 사라졌습니다. 옛 합에 배율을 곱해 더하세요.",
                "The sum of the blocks before is gone. Rescale it and add it.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "old_maximum_subtracted",
                (
                    "np.exp(block - subtracted[..., None])",
                    "np.exp(block - np.where(np.isneginf(before), subtracted, before)[..., None])",
                ),
            ),
            Text(
                "새 block에서 옛 최댓값을 뺐습니다. 옛 합도 새 block도 새 최댓값에 맞춥니다.",
                "The old maximum is subtracted from the new block. Old sum and new block both go by the new maximum.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "new_block_not_rescaled",
                (
                    "np.exp(block - subtracted[..., None])",
                    "np.exp(block - np.nan_to_num(block.max(axis=-1, keepdims=True), neginf=0.0))",
                ),
            ),
            Text(
                "새 block의 합이 자기 최댓값에 맞춘 채로 더해졌습니다. 옛 최댓값이 더 크면 새 block의 합도 줄여야 합니다.",
                "The new block is added relative to its own maximum. Where the old maximum is higher, the new sum has to shrink, too.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "maximum_of_all_blocks",
                ("np.maximum(highest, block.max(axis=-1))", "logits.max(axis=-1)"),
            ),
            Text(
                "처음부터 row 전체의 최댓값을 썼습니다. 상태는 그때까지 본 blocks의 것입니다.",
                "The maximum of the whole row is used from the start. A state covers the blocks seen so far.",
            ),
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "one_block_too_many",
                ("range(0, logits.shape[-1], block_size)", "range(0, logits.shape[-1] + 1, block_size)"),
            ),
            Text(
                "나누어떨어질 때 빈 block이 하나 더 생깁니다 (n_k // block_size + 1). range(0, n_k, block_size)가 시작 위치를 모두 줍니다.",
                "Where block_size divides n_k, one block more comes out empty (n_k // block_size + 1). range(0, n_k, block_size) gives all starts.",
            ),
            frozenset({"equal", "ragged"}),
        ),
        Mistake(
            variant(
                running_states,
                "maximum_starts_at_a_number",
                ("np.full(logits.shape[:-1], -np.inf)", "np.full(logits.shape[:-1], -1e9)"),
            ),
            Text(
                "최댓값이 −1e9에서 시작합니다. 볼 Key가 나오기 전의 최댓값은 −∞입니다: -np.inf.",
                "The maximum starts at −1e9. Until a Key is allowed it is −∞: -np.inf.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(running_states, "sum_before_maximum", ("[highest, total]", "[total, highest]")),
            SUM_BEFORE_MAXIMUM,
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states, "zero_for_the_maximum_of_nothing", ("[highest, total]", "[subtracted, total]")
            ),
            Text(
                "빼려고 0으로 바꾼 값을 최댓값으로 남겼습니다. 볼 Key가 나오기 전의 최댓값은 −∞입니다.",
                "The 0 that was put there for subtracting is kept as the maximum. Until a Key is allowed, the maximum is −∞.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(running_states, "one_maximum_for_all_rows", ("block.max(axis=-1)", "block.max()")),
            ONE_MAXIMUM_FOR_ALL,
            everywhere(STATE_PARTS),
        ),
        Mistake(
            variant(
                running_states,
                "squeezed_blocks",
                ("np.stack(states, axis=-2)", "np.stack(states, axis=-2).squeeze()"),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"ragged"}),
        ),
        Mistake(
            variant(
                running_states,
                "two_axes_expected",
                ("    highest, total =", "    n_q, n_k = logits.shape\n    highest, total ="),
            ),
            TWO_AXES_EXPECTED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                running_states, "blocks_second", ("np.stack(states, axis=-2)", "np.stack(states, axis=1)")
            ),
            Text(
                "blocks를 둘째 축에 쌓았습니다 (axis=1). batch가 있으면 blocks의 축은 뒤에서 둘째입니다: axis=-2.",
                "The blocks are stacked along the second axis (axis=1). With batch axes theirs is the second "
                "from the end: axis=-2.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                running_states,
                "infinity_of_states_replaced",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.stack(states, axis=-2)", "np.nan_to_num(np.stack(states, axis=-2))"),
            ),
            INFINITY_REPLACED,
            frozenset({"masked"}),
        ),
    ),
    right_answers=(
        states_of_prefixes,
        states_by_loops,
        states_by_merging,
        states_by_accumulating,
        states_as_a_class,
        states_in_torch,
    ),
)


# --- Task 3: blocked_attention --------------------------------------------------------------------------------


def blocked_attention(q, k, v, block_size, mask=None, scale=None):
    """q (..., n_q, d_k), k (..., n_k, d_k), v (..., n_k, d_v), mask (..., n_q, n_k) -> O (..., n_q, d_v)"""
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    highest, total, output = -np.inf, 0.0, 0.0
    for start in range(0, k.shape[-2], block_size):
        keys = slice(start, start + block_size)
        logits = q @ np.swapaxes(k[..., keys, :], -1, -2) * scale
        if mask is not None:
            logits = np.where(mask[..., keys], logits, -np.inf)
        before, highest = highest, np.maximum(highest, logits.max(axis=-1, keepdims=True))
        subtracted = np.where(np.isneginf(highest), 0.0, highest)
        exponentials, kept = np.exp(logits - subtracted), np.exp(before - subtracted)
        total = total * kept + exponentials.sum(axis=-1, keepdims=True)
        output = output * kept + exponentials @ v[..., keys, :]
    return output / np.where(total == 0, 1.0, total)


def with_a_winner(inputs, *, query=-1, key=-1):
    """The inputs with a Key that outshines the others for one Query, by default the last for the last."""
    query = inputs["q"][query]
    winner = query / np.sqrt((query**2).sum())  # np.linalg.norm gives other last digits on another machine
    inputs["k"][key] = 4 * winner
    return inputs


def draw_even_attention(rng):
    return [{**with_a_winner(random_qkv(rng, n_k=6)), "block_size": int(rng.choice([2, 3]))}]


def draw_ragged_attention(rng):
    return [{**random_qkv(rng), "block_size": size} for size in (3, 5, 1, 11)]


def draw_attention_batches(rng):
    q, k, v = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 7, 3)), rng.normal(size=(2, 7, 11))
    wide = {
        "q": rng.normal(size=(2, 3, 5, 13)),
        "k": rng.normal(size=(3, 11, 13)),
        "v": rng.normal(size=(11, 7)),
    }
    # The batch axes of the output are not those of Q.
    of_values = {
        "q": rng.normal(size=(5, 3)),
        "k": rng.normal(size=(7, 3)),
        "v": rng.normal(size=(2, 1, 7, 11)),
    }
    return [{"q": q, "k": k, "v": v, "block_size": 3}] + [{**x, "block_size": 2} for x in (wide, of_values)]


def draw_masked_attention(rng):
    # The first block of some Queries is masked throughout, and masked Values are large.
    inputs, mask = random_qkv(rng, n_k=11), random_mask(rng, 5, 11)
    hidden, (late, gap, rise) = 3 + rng.integers(8), rng.permutation(5)[:3]
    mask[late, :3] = False
    mask[:, hidden] = False
    mask[~mask.any(axis=1), 3 + (hidden - 2) % 8] = True
    last = 10 - (hidden == 10)
    mask[gap] = np.isin(np.arange(11), [0, 1, last])  # nothing in its middle blocks
    mask[rise] = np.arange(11) != hidden
    inputs = with_a_winner(with_a_winner(inputs, query=gap, key=0), query=rise, key=last)
    inputs["v"][hidden] = 1e3
    return [{**inputs, "block_size": 3, "mask": mask}]


def draw_dead_queries(rng):
    mask = random_mask(rng, 5, 7)
    dead, gap, rise, late = rng.permutation(5)[:4]
    mask[dead] = False
    mask[gap] = np.arange(7) % 6 == 0  # nothing in its middle block
    mask[late] = np.arange(7) > 3  # nothing in its first one
    mask[rise] = True
    inputs = with_a_winner(with_a_winner(random_qkv(rng), query=gap, key=0), query=rise)
    return [{**inputs, "block_size": 3, "mask": mask}]


def draw_extreme_scores(rng):
    # The largest score wins by far, so that the answer is exact in every precision that does not overflow.
    inputs = random_qkv(rng)
    inputs["q"] = rng.integers(1, 4, (5, 3)).astype(float)
    # Once the winner comes in the second block, once in the first.
    rising = np.concatenate([rng.permutation(np.arange(4.0)), rng.permutation(np.arange(4.0, 7.0))])
    falling = np.concatenate([rng.permutation(np.arange(3.0, 7.0)), rng.permutation(np.arange(3.0))])
    mixed = {**inputs, "k": 1e4 * (rising[:, None] - 3.0) * np.ones((7, 3))}
    below = {**inputs, "k": 1e4 * (falling[:, None] - 7.0) * np.ones((7, 3))}
    far_below = {**inputs, "k": np.zeros((7, 3)), "mask": np.zeros((5, 7), dtype=bool)}
    allowed = rng.integers(4, 7)
    far_below["k"][allowed] = -1e10
    far_below["mask"][:, allowed] = True
    return [{**case, "block_size": 4} for case in (mixed, below, far_below)]


def draw_scales(rng):
    inputs = with_a_winner(random_qkv(rng))
    mask = random_mask(rng, 5, 7)
    for block in (mask[:, :3], mask[:, 3:6]):
        block |= ~block.any(axis=1, keepdims=True)
    uniform = {**random_qkv(rng), "scale": 0.0, "mask": mask}
    return [{**inputs, "block_size": 3, "scale": 0.25}, {**uniform, "block_size": 3}]


def draw_long_sequence(rng):
    # 61 * 17189 scores take 8 MiB, the inputs next to nothing; and those of 32 Queries with all Keys still 4 MiB, and
    # their exponentials as many, so that cutting the Queries is not enough. The mask hides nothing, so that the part
    # asks for memory alone: in 0 and -inf it would take 8 MiB, too.
    long = {"q": (61, 3), "k": (17189, 3), "v": (17189, 2)}
    inputs = {name: rng.integers(-2, 3, shape) / 2 for name, shape in long.items()}
    return [{**inputs, "block_size": 32, **more} for more in ({}, {"mask": np.ones((61, 17189), dtype=bool)})]


BLOCKED_PARTS = (
    Part("even", 1, Text("같은 크기의 blocks", "blocks of one size"), draw_even_attention),
    Part("ragged", 1, Text("나누어떨어지지 않는 크기", "sizes that don't divide n_k"), draw_ragged_attention),
    Part("batches", 1, Text("broadcast되는 batch", "batches that broadcast"), draw_attention_batches),
    Part("masked", 1, Text("mask", "a mask"), draw_masked_attention),
    Part("dead", 1, Text("볼 Key가 없는 Query", "a Query that may attend to no Key"), draw_dead_queries),
    Part(
        "extremes",
        1,
        Text("아주 크거나 작은 scores", "very large and very small scores"),
        draw_extreme_scores,
    ),
    Part("scale", 1, Text("주어진 scale", "a given scale"), draw_scales),
    Part(
        "memory",
        3,
        Text("긴 sequence의 메모리, 6 MiB 이하", "the memory of a long sequence, 6 MiB at most"),
        draw_long_sequence,
    ),
)
MASKED = frozenset({"masked", "dead", "extremes"})
WITH_MASK = MASKED | {"scale"}


MAXIMUM_OF_MASKED_KEYS = Text(
    "가려진 scores까지 넣어 최댓값을 구한 뒤 exp에 mask를 곱했습니다. 가려진 것이 훨씬 크면 남은 exp가 모두 0이 됩니다. logit을 먼저 "
    "−∞로 두세요.",
    "The maximum is taken with the masked scores, and exp is multiplied by the mask later. Where a masked one is far larger, "
    "every other exp vanishes: put −∞ into the logits first.",
)


OUTPUT_NOT_RESCALED = Text(
    "합은 줄였지만 output은 줄이지 않았습니다. 최댓값이 바뀌면 둘 다 같은 배율을 곱합니다.",
    "The sum is rescaled, the output is not. When the maximum changes, both take the same factor.",
)


SUM_NOT_RESCALED = Text(
    "output은 줄였지만 합은 줄이지 않았습니다. 최댓값이 바뀌면 둘 다 같은 배율을 곱합니다.",
    "The output is rescaled, the sum is not. When the maximum changes, both take the same factor.",
)


def all_scores_at_once(q, k, v, block_size, mask=None, scale=None):
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    logits = q @ np.swapaxes(k, -1, -2) * scale
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1.0, total) @ v


def blocks_added_up(q, k, v, block_size, mask=None, scale=None):
    output = 0.0
    for start in range(0, k.shape[-2], block_size):
        keys = slice(start, start + block_size)
        here = None if mask is None else mask[..., keys]
        output = output + blocked_attention(q, k[..., keys, :], v[..., keys, :], block_size, here, scale)
    return output


def softmax_of_each_block(q, k, v, block_size, mask=None, scale=None):
    starts = range(0, k.shape[-2], block_size)
    blocks = [slice(start, start + block_size) for start in starts]
    outputs = [
        blocked_attention(
            q, k[..., keys, :], v[..., keys, :], block_size, None if mask is None else mask[..., keys], scale
        )
        for keys in blocks
    ]
    return sum(outputs) / len(blocks)


def half_precision_blocks(q, k, v, block_size, mask=None, scale=None):
    return blocked_attention(*(x.astype(np.float16) for x in (q, k, v)), block_size, mask, scale)


def attention_of_strips(q, k, v, block_size, mask=None, scale=None):
    n_q = q.shape[-2]
    strips = []
    for start in range(0, n_q, 4):  # of all Keys: strips so narrow keep to the memory, too
        rows = slice(start, start + 4)
        allowed = mask if mask is None or mask.shape[-2] == 1 else mask[..., rows, :]
        strips.append(all_scores_at_once(q[..., rows, :], k, v, block_size, allowed, scale))
    return np.concatenate(strips, axis=-2)


def attention_row_by_row(q, k, v, block_size, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (q, k, v))
    output = np.zeros((*batch, q.shape[-2], v.shape[-1]))
    allowed = np.broadcast_to(True if mask is None else mask, (*batch, q.shape[-2], k.shape[-2]))
    for *b, i in np.ndindex(output.shape[:-1]):
        b = tuple(b)
        keys = np.flatnonzero(allowed[(*b, i)])
        if len(keys):
            logits = k[b][keys] @ q[b][i] * scale
            shares = np.exp(logits - logits.max())
            output[(*b, i)] = shares @ v[b][keys] / shares.sum()
    return output


class RunningAttention:
    def __init__(self):
        self.highest, self.sums = -np.inf, 0.0

    def add(self, logits, v):
        highest = np.maximum(self.highest, logits.max(axis=-1, keepdims=True))
        base = np.nan_to_num(highest, neginf=0.0)
        with_ones = np.concatenate([v, np.ones((*v.shape[:-1], 1))], axis=-1)
        self.sums = self.sums * np.exp(self.highest - base) + np.exp(logits - base) @ with_ones
        self.highest = highest

    def output(self):
        total = self.sums[..., -1:]
        return np.divide(self.sums[..., :-1], total, out=np.zeros_like(self.sums[..., :-1]), where=total > 0)


def attention_as_a_class(q, k, v, block_size, mask=None, scale=None):
    running = RunningAttention()
    q = q * (q.shape[-1] ** -0.5 if scale is None else scale)
    for start in range(0, k.shape[-2], block_size):
        stop = start + block_size
        logits = np.einsum("...id,...jd->...ij", q, k[..., start:stop, :])
        if mask is not None:
            logits[~np.broadcast_to(mask[..., start:stop], logits.shape)] = -np.inf
        running.add(logits, v[..., start:stop, :])
    return running.output()


def attention_by_normalised_merging(q, k, v, block_size, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    output, weight = 0.0, -np.inf
    for start in range(0, k.shape[-2], block_size):
        keys = slice(start, start + block_size)
        logits = q @ np.swapaxes(k[..., keys, :], -1, -2) * scale
        if mask is not None:
            logits = np.where(mask[..., keys], logits, -np.inf)
        here = np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        weight, before = np.logaddexp(weight, here), weight
        base = np.where(weight == -np.inf, 0.0, weight)
        output = output * np.exp(before - base) + np.exp(logits - base) @ v[..., keys, :]
    return output


def attention_in_torch(q, k, v, block_size, mask=None, scale=None):
    import torch

    q, k, v = (torch.as_tensor(x) for x in (q, k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    highest, total, output = torch.tensor(-torch.inf), torch.tensor(0.0), torch.tensor(0.0)
    for start in range(0, k.shape[-2], block_size):
        keys = slice(start, start + block_size)
        logits = q @ k[..., keys, :].mT * scale
        if mask is not None:
            logits = logits.masked_fill(~torch.as_tensor(mask[..., keys]), -torch.inf)
        new = torch.maximum(highest, logits.amax(dim=-1, keepdim=True))
        base = new.nan_to_num(neginf=0.0)
        kept, exponentials = (highest - base).exp(), (logits - base).exp()
        total = total * kept + exponentials.sum(dim=-1, keepdim=True)
        output = output * kept + exponentials @ v[..., keys, :]
        highest = new
    return (output / total).nan_to_num(0.0)


def whole_mask_made_additive(q, k, v, block_size, mask=None, scale=None):
    added = np.zeros((1, k.shape[-2])) if mask is None else np.where(mask, 0.0, -np.inf)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    highest, total, output = np.array(-np.inf), np.array(0.0), np.array(0.0)
    for start in range(0, k.shape[-2], block_size):
        keys = slice(start, start + block_size)
        logits = q @ np.swapaxes(k[..., keys, :], -1, -2) * scale + added[..., keys]
        before, highest = highest, np.maximum(highest, logits.max(axis=-1, keepdims=True))
        base = np.where(np.isneginf(highest), 0.0, highest)
        factor, exponentials = np.exp(before - base), np.exp(logits - base)
        total = total * factor + exponentials.sum(axis=-1, keepdims=True)
        output = output * factor + exponentials @ v[..., keys, :]
    return output / np.where(total == 0, 1.0, total)


NOTHING_RESCALED = Text(
    "최댓값이 바뀌어도 옛 합과 output을 그대로 두었습니다. 둘 다 exp(옛 최댓값 − 새 최댓값)을 곱하세요.",
    "Old sum and output stay as they are when the maximum changes. Multiply both by exp(old − new).",
)
NEVER_DIVIDED = Text(
    "마지막에 합으로 나누지 않았습니다.",
    "The division by the sum, at the end, is missing.",
)
MAXIMUM_NOT_SUBTRACTED = Text(
    "최댓값을 빼지 않아 exp가 넘치거나 모두 0이 되었습니다.",
    "No maximum is subtracted, and exp overflows or vanishes.",
)
MASKED_AFTER_THE_SUM = Text(
    "합을 구한 뒤에 mask를 곱하면 가려진 Keys의 비중이 합에 남습니다. Softmax 앞에서 logit을 −∞로 두세요.",
    "Masking once the sum is taken leaves the masked Keys' share in it. Put −∞ into the logits before Softmax.",
)


BLOCKS_ADDED_UP = Text(
    "block마다 Softmax를 끝내고 더했습니다. 그러면 weights의 합이 block의 수만큼 됩니다. 한 row의 합 1은 모든 blocks가 함께 나누어 갖습니다.",
    "Softmax is finished within each block, and the results are added up, so that the weights sum to the "
    "number of blocks. "
    "All blocks share one sum of 1.",
)


BLOCKED_ATTENTION = Task(
    name="blocked_attention",
    reference=blocked_attention,
    parts=BLOCKED_PARTS,
    see="long-sequences.html#blocks",
    memory=6 * 2**20,
    forbidden=FUSED,
    mistakes=(
        Mistake(
            all_scores_at_once,
            Text(
                "값은 맞지만 모든 Keys의 scores를 한꺼번에 만들었습니다 (Queries만 나누는 것으로는 모자랍니다). Keys를 나누어 block 하나의 scores만 두고, 최댓값·합·output을 이어 가세요.",
                "The values are right, but the scores of all Keys are made in one go (cutting the Queries alone is not enough). Cut "
                "the Keys, hold one block's scores, and carry maximum, sum and output along.",
            ),
            frozenset({"memory"}),
        ),
        Mistake(
            whole_mask_made_additive,
            Text(
                "mask 전체를 0과 −∞의 float로 바꾸면 scores 전체만큼 큽니다. mask도 block만큼 자른 뒤에 쓰세요.",
                "The whole mask in 0 and −∞ is as large as all scores. Cut the mask to the block first, then use it.",
            ),
            frozenset({"memory"}),
        ),
        Mistake(
            blocks_added_up,
            BLOCKS_ADDED_UP,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            softmax_of_each_block,
            Text(
                "block마다 Softmax를 끝내고 평균했습니다. 한 row의 합 1은 모든 blocks가 함께 나누어 갖습니다.",
                "Softmax is finished within each block, and the results are averaged. All blocks share one sum of 1.",
            ),
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(blocked_attention, "output_not_rescaled", ("output * kept + ", "output + ")),
            OUTPUT_NOT_RESCALED,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(blocked_attention, "sum_not_rescaled", ("total * kept + ", "total + ")),
            SUM_NOT_RESCALED,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(
                blocked_attention,
                "nothing_rescaled",
                ("output * kept + ", "output + "),
                ("total * kept + ", "total + "),
            ),
            NOTHING_RESCALED,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(
                blocked_attention,
                "maximum_of_this_block",
                (
                    "np.maximum(highest, logits.max(axis=-1, keepdims=True))",
                    "logits.max(axis=-1, keepdims=True)",
                ),
            ),
            Text(
                "지금 block의 최댓값만 뺐습니다. 지금까지의 최댓값과 견주어 큰 쪽을 쓰지 않으면 배율이 넘칩니다.",
                "Only this block's maximum is used. Unless it is the largest so far, the factors overflow.",
            ),
            MASKED,
        ),
        Mistake(
            variant(
                blocked_attention, "never_divided", ("output / np.where(total == 0, 1.0, total)", "output")
            ),
            NEVER_DIVIDED,
            everywhere(BLOCKED_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                blocked_attention,
                "remainder_dropped",
                (
                    "range(0, k.shape[-2], block_size)",
                    "range(0, max(k.shape[-2] - block_size, 0) + 1, block_size)",
                ),
            ),
            LAST_BLOCK_DROPPED,
            everywhere(BLOCKED_PARTS) - {"even"},
        ),
        Mistake(
            variant(
                blocked_attention,
                "remainder_filled_with_zeros",
                (
                    "    highest, total, output =",
                    "    missing = -k.shape[-2] % block_size\n"
                    "    k = np.concatenate([k, np.zeros((*k.shape[:-2], missing, k.shape[-1]))], axis=-2)\n"
                    "    v = np.concatenate([v, np.zeros((*v.shape[:-2], missing, v.shape[-1]))], axis=-2)\n"
                    "    if mask is not None:\n"
                    "        mask = np.concatenate([mask, np.ones((*mask.shape[:-1], missing), dtype=bool)], axis=-1)\n"
                    "    highest, total, output =",
                ),
            ),
            Text(
                "마지막 block을 0인 Keys로 채우고 가리지 않았습니다. score 0도 비중을 가져갑니다.",
                "The last block is filled up with Keys of 0 that are not masked. A score of 0 takes its share.",
            ),
            everywhere(BLOCKED_PARTS) - {"even"},
        ),
        Mistake(
            variant(
                blocked_attention,
                "masked_start_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
            ),
            Text(
                "아직 볼 Key가 없는 row에서 −∞ − (−∞) = NaN이 되었습니다. 그동안은 0을 빼세요.",
                "In a row without an allowed Key so far, −∞ − (−∞) is NaN. Subtract 0 in the meantime.",
            ),
            MASKED,
        ),
        Mistake(
            variant(
                blocked_attention,
                "dead_row_undefined",
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "볼 Key가 없는 Query에서 0 / 0 = NaN이 되었습니다. 그 output은 0입니다.",
                "For a Query that may attend to no Key, 0 / 0 is NaN. Its output is 0.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "maximum_starts_at_zero",
                ("highest, total, output = -np.inf", "highest, total, output = 0.0"),
            ),
            Text(
                "최댓값이 0에서 시작합니다. 모든 scores가 −10000 근처이면 exp가 모두 0이 됩니다. −∞에서 시작하세요.",
                "The maximum starts at 0. Where all scores lie around −10000, every exp vanishes. Start at −∞.",
            ),
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "no_maximum_at_all",
                ("np.maximum(highest, logits.max(axis=-1, keepdims=True))", "0.0"),
                ("highest, total, output = -np.inf", "highest, total, output = 0.0"),
            ),
            MAXIMUM_NOT_SUBTRACTED,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(blocked_attention, "large_number_for_infinity", ("logits, -np.inf)", "logits, -1e9)")),
            LARGE_NUMBER_FOR_INFINITY,
            frozenset({"dead", "extremes"}),
        ),
        Mistake(
            variant(blocked_attention, "mask_inverted", ("logits, -np.inf)", "-np.inf, logits)")),
            MASK_INVERTED,
            WITH_MASK | {"memory"},
        ),
        Mistake(
            variant(blocked_attention, "mask_not_used", ("if mask is not None", "if False")),
            MASK_NOT_USED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                blocked_attention,
                "mask_multiplied",
                ("np.where(mask[..., keys], logits, -np.inf)", "logits * mask[..., keys]"),
            ),
            MASK_MULTIPLIED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                blocked_attention,
                "masked_after_the_sum",
                ("np.where(mask[..., keys], logits, -np.inf)", "logits + 0.0"),
                (
                    "        output = output * kept",
                    "        if mask is not None:\n"
                    "            exponentials = exponentials * mask[..., keys]\n"
                    "        output = output * kept",
                ),
            ),
            MASKED_AFTER_THE_SUM,
            WITH_MASK,
        ),
        Mistake(
            variant(
                blocked_attention,
                "masked_before_scaling",
                (" * scale\n        if mask", "\n        if mask"),
                ("        before, highest", "        logits = logits * scale\n        before, highest"),
            ),
            MASKED_BEFORE_SCALING,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "mask_of_the_first_block",
                ("mask[..., keys]", "mask[..., : logits.shape[-1]]"),
            ),
            Text(
                "모든 block에 mask의 처음 columns를 썼습니다. mask도 Keys와 같은 자리에서 자르세요.",
                "Every block uses the mask's first columns. Cut the mask where the Keys are cut.",
            ),
            WITH_MASK,
        ),
        Mistake(
            variant(
                blocked_attention,
                "softmax_over_queries",
                ("logits.max(axis=-1", "logits.max(axis=-2"),
                ("exponentials.sum(axis=-1", "exponentials.sum(axis=-2"),
            ),
            SOFTMAX_OVER_QUERIES,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(
                blocked_attention,
                "first_batch_for_all",
                (
                    "    highest, total, output =",
                    "    k, v = k.reshape(-1, *k.shape[-2:])[0], v.reshape(-1, *v.shape[-2:])[0]\n"
                    "    highest, total, output =",
                ),
            ),
            FIRST_BATCH_FOR_ALL,
            frozenset({"batches"}),
        ),
        Mistake(
            half_precision_blocks,
            HALF_PRECISION,
            everywhere(BLOCKED_PARTS) - {"memory"},  # its numbers are halves
        ),
        Mistake(
            variant(
                blocked_attention,
                "output_transposed",
                (
                    "return output / np.where(total == 0, 1.0, total)",
                    "return np.swapaxes(output / np.where(total == 0, 1.0, total), -1, -2)",
                ),
            ),
            OUTPUT_TRANSPOSED,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(
                blocked_attention,
                "queries_overwritten",
                ("    highest, total, output =", "    q *= scale\n    highest, total, output ="),
                (" * scale\n        if mask", "\n        if mask"),
            ),
            QUERIES_OVERWRITTEN,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(blocked_attention, "scaled_by_d_v", ("np.sqrt(q.shape[-1])", "np.sqrt(v.shape[-1])")),
            SCALED_BY_D_V,
            everywhere(BLOCKED_PARTS) - {"scale", "extremes"},
        ),
        Mistake(
            variant(blocked_attention, "divided_by_d_k", ("np.sqrt(q.shape[-1])", "q.shape[-1]")),
            DIVIDED_BY_D_K,
            everywhere(BLOCKED_PARTS) - {"scale", "extremes"},
        ),
        Mistake(
            variant(blocked_attention, "scale_not_used", (" if scale is None else scale", "")),
            SCALE_NOT_USED,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "zero_scale_taken_for_none",
                ("1 / np.sqrt(q.shape[-1]) if scale is None else scale", "scale or 1 / np.sqrt(q.shape[-1])"),
            ),
            ZERO_SCALE_TAKEN_FOR_NONE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "mask_required",
                (
                    "        if mask is not None:\n            logits = np.where(mask[",
                    "        logits = np.where(mask[",
                ),
            ),
            MASK_REQUIRED,
            everywhere(BLOCKED_PARTS) - {"masked", "dead"},
        ),
        Mistake(
            variant(
                blocked_attention,
                "axis_lost",
                ("logits.max(axis=-1, keepdims=True)", "logits.max(axis=-1)"),
                ("exponentials.sum(axis=-1, keepdims=True)", "exponentials.sum(axis=-1)"),
            ),
            AXIS_LOST,
            everywhere(BLOCKED_PARTS),
        ),
        Mistake(
            variant(blocked_attention, "truth_of_the_mask", ("if mask is not None", "if mask")),
            TRUTH_OF_AN_ARRAY,
            WITH_MASK | {"memory"},
        ),
        Mistake(
            variant(
                blocked_attention,
                "scaled_twice",
                (
                    "1 / np.sqrt(q.shape[-1]) if scale is None else scale",
                    "(1.0 if scale is None else scale) / np.sqrt(q.shape[-1])",
                ),
            ),
            SCALED_TWICE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "divided_in_every_block",
                (
                    "output = output * kept + exponentials @ v[..., keys, :]\n",
                    "output = output * kept + exponentials @ v[..., keys, :]\n        output = output / np.where(total == 0, 1.0, total)\n",
                ),
                ("return output / np.where(total == 0, 1.0, total)", "return output"),
            ),
            Text(
                "block마다 합으로 나누었습니다. 그 합은 다음 block에서 또 쓰입니다. loop가 끝난 뒤 한 번만 나누세요.",
                "Every block divides by the sum, which the next one uses again. Divide once, after the loop.",
            ),
            everywhere(BLOCKED_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(blocked_attention, "not_scaled", ("1 / np.sqrt(q.shape[-1]) if", "1.0 if")),
            NOT_SCALED,
            everywhere(BLOCKED_PARTS) - {"scale", "extremes"},
        ),
        Mistake(
            variant(blocked_attention, "divided_by_scale", ("-1, -2) * scale", "-1, -2) / scale")),
            DIVIDED_BY_SCALE,
            everywhere(BLOCKED_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(blocked_attention, "mask_not_cut", ("mask[..., keys]", "mask")),
            Text(
                "block의 logits에 mask 전체를 썼습니다. mask도 Keys와 같은 자리에서 자르세요.",
                "The whole mask meets the logits of one block. Cut the mask where the Keys are cut.",
            ),
            WITH_MASK | {"memory"},
        ),
        Mistake(
            variant(
                blocked_attention,
                "maximum_of_masked_keys_too",
                (
                    "        if mask is not None:\n            logits = np.where(mask[..., keys], logits, -np.inf)\n",
                    "        allowed = True if mask is None else mask[..., keys]\n",
                ),
                ("np.exp(logits - subtracted), np", "np.exp(logits - subtracted) * allowed, np"),
            ),
            MAXIMUM_OF_MASKED_KEYS,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "nan_replaced_at_the_end",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                (
                    "return output / np.where(total == 0, 1.0, total)",
                    "return np.nan_to_num(output / np.where(total == 0, 1.0, total))",
                ),
            ),
            Text(
                "끝에서 NaN을 0으로 바꾸었습니다. 처음 block이 모두 가려진 Query는 나중에 볼 Key가 있어도 0이 됩니다. −∞ − (−∞)가 생기지 않게 그동안은 0을 빼세요.",
                "NaN is replaced by 0 at the end. A Query whose first block is masked becomes 0, though it may attend to Keys later on. Subtract 0 in the meantime, so that −∞ − (−∞) does not arise.",
            ),
            frozenset(MASKED),
        ),
        Mistake(
            variant(
                blocked_attention,
                "one_maximum_for_all_rows",
                ("logits.max(axis=-1, keepdims=True)", "logits.max()"),
            ),
            ONE_MAXIMUM_FOR_ALL,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "all_axes_reversed",
                ("np.swapaxes(k[..., keys, :], -1, -2)", "k[..., keys, :].T"),
            ),
            ALL_AXES_REVERSED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "first_axis_cut",
                ("k[..., keys, :]", "k[keys]"),
                ("v[..., keys, :]", "v[keys]"),
            ),
            Text(
                "k[start:stop]은 첫 축을 자릅니다. batch가 있으면 그것은 Keys의 축이 아닙니다: k[..., start:stop, :].",
                "k[start:stop] cuts the first axis, which is not that of the Keys where there are batches: k[..., start:stop, :].",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "as_many_keys_as_queries",
                ("range(0, k.shape[-2],", "range(0, q.shape[-2],"),
            ),
            Text(
                "Keys를 n_q까지만 보았습니다. Keys는 n_k 개이고 n_q와 다를 수 있습니다.",
                "Only n_q Keys are looked at. There are n_k of them, which may differ from n_q.",
            ),
            everywhere(BLOCKED_PARTS) - {"even", "extremes"},
        ),
        Mistake(
            variant(
                blocked_attention,
                "squeezed_output",
                (
                    "return output / np.where(total == 0, 1.0, total)",
                    "return (output / np.where(total == 0, 1.0, total)).squeeze()",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "factor_upside_down",
                ("np.exp(before - subtracted)", "np.exp(subtracted - before)"),
            ),
            Text(
                "배율이 뒤집혔습니다. 처음에는 exp(∞) × 0 = NaN이기까지 합니다. exp(이전 최댓값 − 새 최댓값)을 곱하세요.",
                "The factor is upside down, and in the first block exp(∞) × 0 is NaN. Multiply by exp(old "
                "maximum − new maximum).",
            ),
            frozenset({"even", "ragged", "batches", "masked", "dead", "extremes", "scale", "memory"}),
        ),
        Mistake(
            variant(
                blocked_attention,
                "finite_fill_where_visible",
                ("np.where(mask[..., keys], logits, -np.inf)", "np.where(mask[..., keys], -1e9, logits)"),
            ),
            MASK_INVERTED,
            frozenset({"masked", "dead", "extremes", "scale", "memory"}),
        ),
    ),
    right_answers=(
        attention_of_strips,
        attention_row_by_row,
        attention_as_a_class,
        attention_by_normalised_merging,
        attention_in_torch,
    ),
)


# --- Task 4: causal_blocks ------------------------------------------------------------------------------------


def causal_blocks(n_q, n_k, block_q, block_k, offsets):
    """offsets (...) -> whole numbers (..., blocks_q, blocks_k): 0 nothing of the block is visible, 1 a part, 2 all"""
    first = np.arange(0, n_q, block_q)[:, None] + offsets[..., None, None]
    last = np.minimum(np.arange(0, n_q, block_q) + block_q, n_q)[:, None] - 1 + offsets[..., None, None]
    left = np.arange(0, n_k, block_k)
    right = np.minimum(left + block_k, n_k) - 1
    return np.add(left <= last, right <= first, dtype=int)


def draw_square_blocks(rng):
    size = int(rng.choice([2, 3]))
    return [
        {
            "n_q": 2 * size,
            "n_k": 3 * size,
            "block_q": size,
            "block_k": size,
            "offsets": rng.choice([-size, 0, size, 2 * size], 2, replace=False),
        }
    ]


def draw_unequal_blocks(rng):
    block_q, block_k = rng.permutation([2, 5]).tolist()
    return [
        {"n_q": 11, "n_k": 13, "block_q": block_q, "block_k": block_k, "offsets": rng.permutation([0, 1, 2])},
        {"n_q": 7, "n_k": 11, "block_q": 3, "block_k": 2, "offsets": rng.permutation([0, 3])},
        {"n_q": 7, "n_k": 5, "block_q": 3, "block_k": 11, "offsets": rng.permutation([0, 4])},
    ]


def draw_offsets(rng):
    sizes = {"n_q": 7, "n_k": 11, "block_q": 3, "block_k": 2}
    # 4 aligns the last Query with the last Key; below 0, the first Queries see nothing.
    return [
        {**sizes, "offsets": rng.permutation([-8, -5, -2, 4, 11])},
        {**sizes, "offsets": rng.permutation([-3, -1, 1, 2, 3, 5]).reshape(2, 3)},
    ]


BLOCK_PARTS = (
    Part("square", 1, Text("block이 정사각형일 때", "square blocks"), draw_square_blocks),
    Part(
        "unequal",
        1,
        Text("크기가 다르고 나누어떨어지지 않을 때", "unequal sizes that don't divide"),
        draw_unequal_blocks,
    ),
    Part("offsets", 2, Text("여러 offset", "several offsets"), draw_offsets),
)


def blocks_from_the_mask(n_q, n_k, block_q, block_k, offsets):
    rows, columns = -(-n_q // block_q), -(-n_k // block_k)
    result = np.zeros((*offsets.shape, rows, columns), dtype=int)
    for *entry, i, j in np.ndindex(result.shape):
        queries = np.arange(i * block_q, min((i + 1) * block_q, n_q))
        keys = np.arange(j * block_k, min((j + 1) * block_k, n_k))
        visible = keys <= queries[:, None] + offsets[tuple(entry)]
        result[(*entry, i, j)] = 2 if visible.all() else int(visible.any())
    return result


def blocks_by_reduceat(n_q, n_k, block_q, block_k, offsets):
    visible = np.arange(n_k) <= np.arange(n_q)[:, None] + offsets[..., None, None]
    rows, columns = np.arange(0, n_q, block_q), np.arange(0, n_k, block_k)

    def reduced(operation):
        return operation.reduceat(operation.reduceat(visible, rows, axis=-2), columns, axis=-1)

    return np.where(reduced(np.logical_and), 2, np.where(reduced(np.logical_or), 1, 0))


def blocks_in_lists(n_q, n_k, block_q, block_k, offsets):
    if offsets.ndim:
        return [blocks_in_lists(n_q, n_k, block_q, block_k, offset) for offset in offsets]
    result = []
    for top in range(0, n_q, block_q):
        bottom = min(top + block_q, n_q) - 1
        ends = [(start, min(start + block_k, n_k) - 1) for start in range(0, n_k, block_k)]
        result.append([2 if b <= top + offsets else 1 if a <= bottom + offsets else 0 for a, b in ends])
    return result


def blocks_in_torch(n_q, n_k, block_q, block_k, offsets):
    import torch

    offsets = torch.as_tensor(offsets)[..., None, None]
    top, left = torch.arange(0, n_q, block_q)[:, None], torch.arange(0, n_k, block_k)
    bottom, right = (top + block_q).clamp(max=n_q) - 1, (left + block_k).clamp(max=n_k) - 1
    return (left - bottom <= offsets).int() + (right - top <= offsets).int()


def blocks_of_one_offset(n_q, n_k, block_q, block_k, offsets):
    result = np.zeros((-(-n_q // block_q), -(-n_k // block_k)), dtype=int)
    for i, j in np.ndindex(result.shape):
        if j * block_k <= min((i + 1) * block_q, n_q) - 1 + offsets:
            result[i, j] = 1
        if min((j + 1) * block_k, n_k) - 1 <= i * block_q + offsets:
            result[i, j] = 2
    return result


OFFSET_SUBTRACTED = Text(
    "offset의 부호가 반대입니다. 양수이면 더 많은 Keys가 보입니다: j <= i + offset.",
    "The offset has the wrong sign. A positive one shows more Keys: j <= i + offset.",
)


ALIGNED_AT_THE_END = Text(
    "대각선을 오른쪽 아래에 맞추었습니다. offset=0이면 Query 0은 Key 0만 봅니다.",
    "The diagonal is aligned bottom-right. With offset=0, Query 0 attends to Key 0 alone.",
)


CAUSAL_BLOCKS = Task(
    name="causal_blocks",
    reference=causal_blocks,
    parts=BLOCK_PARTS,
    see="long-sequences.html#causal-blocks",
    rtol=0,
    atol=0,
    mistakes=(
        Mistake(
            variant(
                causal_blocks,
                "last_blocks_dropped",
                ("dtype=int)", "dtype=int)[..., : n_q // block_q, : n_k // block_k]"),
            ),
            Text(
                "나누고 남은 Queries나 Keys의 block이 빠졌습니다 (//). 남은 것도 block 하나입니다: -(-n // size).",
                "The block of what is left over is dropped (//). What is left over makes a block as well: -(-n // size).",
            ),
            frozenset({"unequal", "offsets"}),
        ),
        Mistake(
            variant(
                causal_blocks, "itself_hidden", ("left <= last, right <= first", "left < last, right < first")
            ),
            Text(
                "자기 위치를 가렸습니다. Query i는 Key i + offset까지, 그것도 포함해서 봅니다 (<= 와 <).",
                "A position is hidden from itself. Query i may attend up to Key i + offset, which is included (<=, not <).",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            variant(
                causal_blocks,
                "judged_by_its_first_query",
                ("left <= last, right <= first", "left <= first, right <= first"),
            ),
            Text(
                "block의 첫 Query만 보고 건너뛰었습니다. 마지막 Query가 볼 Key가 하나라도 있으면 계산해야 합니다.",
                "A block is skipped by its first Query alone. If its last Query may see one Key, it has to be computed.",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            variant(
                causal_blocks,
                "judged_by_its_last_query",
                ("left <= last, right <= first", "left <= last, right <= last"),
            ),
            Text(
                "block의 마지막 Query만 보고 '모두 보임'이라고 했습니다. 첫 Query도 마지막 Key를 볼 수 있어야 2입니다.",
                "A block counts as all visible by its last Query alone. It is 2 only if the first Query sees its last Key.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "judged_by_its_first_key",
                ("left <= last, right <= first", "left <= last, left <= first"),
            ),
            Text(
                "block의 첫 Key만 보고 '모두 보임'이라고 했습니다. 마지막 Key까지 보여야 2입니다.",
                "A block counts as all visible by its first Key alone. It is 2 only if its last Key is visible, too.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "diagonal_skipped",
                ("np.add(left <= last, right <= first, dtype=int)", "np.where(right <= first, 2, 0)"),
            ),
            Text(
                "일부만 보이는 block을 0으로 두었습니다. 그 안에도 볼 수 있는 Keys가 있습니다.",
                "A block that is visible in part is 0 here. It holds Keys that may be seen.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "nothing_partial",
                ("np.add(left <= last, right <= first, dtype=int)", "np.where(left <= last, 2, 0)"),
            ),
            Text(
                "일부만 보이는 block을 2로 두었습니다. 그 안에서는 mask가 여전히 필요합니다.",
                "A block that is visible in part is 2 here. Inside it, the mask is still needed.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "numbers_of_blocks_compared",
                (
                    "first = np.arange(0, n_q, block_q)[:, None]",
                    "first = np.arange(-(-n_q // block_q))[:, None]",
                ),
                (
                    "last = np.minimum(np.arange(0, n_q, block_q) + block_q, n_q)[:, None] - 1",
                    "last = np.arange(-(-n_q // block_q))[:, None]",
                ),
                ("left = np.arange(0, n_k, block_k)", "left = np.arange(-(-n_k // block_k))"),
                ("right = np.minimum(left + block_k, n_k) - 1", "right = left + 1"),
            ),
            Text(
                "block의 번호끼리 비교했습니다. 크기가 다르거나 offset이 있으면 위치로 비교해야 합니다.",
                "Numbers of blocks are compared. With unequal sizes or an offset, positions have to be.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "last_key_block_not_cut",
                ("np.minimum(left + block_k, n_k) - 1", "left + block_k - 1"),
            ),
            Text(
                "마지막 block의 끝이 n_k를 넘습니다. 있는 Keys만 모두 보이면 2입니다.",
                "The end of the last block lies beyond n_k. It is 2 once all Keys that exist are visible.",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            variant(
                causal_blocks,
                "last_query_block_not_cut",
                (
                    "np.minimum(np.arange(0, n_q, block_q) + block_q, n_q)[:, None]",
                    "(np.arange(0, n_q, block_q) + block_q)[:, None]",
                ),
            ),
            Text(
                "마지막 Query block의 끝이 n_q를 넘습니다. 없는 Query는 아무 Key도 보지 않습니다.",
                "The end of the last Query block lies beyond n_q. A Query that doesn't exist sees no Key.",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            variant(
                causal_blocks,
                "offset_subtracted",
                ("block_q)[:, None] + offsets", "block_q)[:, None] - offsets"),
                ("- 1 + offsets", "- 1 - offsets"),
            ),
            OFFSET_SUBTRACTED,
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "offset_not_used",
                ("block_q)[:, None] + offsets[", "block_q)[:, None] + 0 * offsets["),
                ("- 1 + offsets[", "- 1 + 0 * offsets["),
            ),
            Text("offset을 쓰지 않았습니다.", "The offsets are not used."),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "first_offset_for_all",
                ("    first =", "    offsets = np.full_like(offsets, offsets.flat[0])\n    first ="),
            ),
            Text(
                "모든 경우에 첫 offset을 썼습니다. offset마다 자기 지도가 있습니다.",
                "The first offset serves all cases. Each has a map of its own.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "future_visible",
                ("left <= last, right <= first", "right >= first, left >= last"),
            ),
            Text(
                "미래를 열었습니다. Query는 자기보다 앞선 Keys를 봅니다.",
                "The future is open. A Query attends to Keys before it.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "visible_or_not",
                ("np.add(left <= last, right <= first, dtype=int)", "left <= last"),
            ),
            Text(
                "boolean을 돌려주었습니다. 모두 보이는 block(2)과 일부만 보이는 block(1)을 구별하세요.",
                "Booleans come back. Tell blocks that are visible throughout (2) from those visible in part (1).",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "blocks_transposed",
                (
                    "return np.add(left <= last, right <= first, dtype=int)",
                    "return np.swapaxes(np.add(left <= last, right <= first, dtype=int), -1, -2)",
                ),
            ),
            Text(
                "결과가 뒤집혔습니다. row는 Query blocks, column은 Key blocks입니다.",
                "The result is transposed. Rows are blocks of Queries, columns blocks of Keys.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "last_blocks_not_cut",
                ("np.minimum(left + block_k, n_k) - 1", "left + block_k - 1"),
                (
                    "np.minimum(np.arange(0, n_q, block_q) + block_q, n_q)[:, None]",
                    "(np.arange(0, n_q, block_q) + block_q)[:, None]",
                ),
            ),
            Text(
                "마지막 blocks의 끝이 n_q와 n_k를 넘습니다. 실제로 있는 Queries와 Keys에서 끝나게 하세요: min(start + size, n).",
                "The last blocks end beyond n_q and n_k. Let them end with the Queries and Keys that exist: min(start + size, n).",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            blocks_of_one_offset,
            Text(
                "offset 하나에 대한 식입니다. offsets는 배열이므로 if로 물을 수 없습니다. offsets[..., None, None]으로 한꺼번에 비교하거나, offset마다 지도를 "
                "그리세요.",
                "This serves a single offset. offsets is an array, which an if can't ask: compare all at once with "
                "offsets[..., None, None], or draw a map for each.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(causal_blocks, "last_sight_hidden", ("left <= last", "left < last")),
            Text(
                "block의 첫 Key가 마지막 Query의 자리와 같을 때가 빠졌습니다. j <= i + offset은 같을 때도 봅니다 (<= 와 <).",
                "A block whose first Key stands just where its last Query does is left out. j <= i + offset holds where they are equal, too (<=, not <).",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            variant(causal_blocks, "last_key_hidden", ("right <= first", "right < first")),
            Text(
                "block의 마지막 Key가 첫 Query의 자리와 같으면 모두 보입니다. j <= i + offset은 같을 때도 봅니다 (<= 와 <).",
                "A block whose last Key stands just where its first Query does is visible throughout. j <= i + offset holds where they are equal, too (<=, not <).",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            variant(
                causal_blocks,
                "ends_beyond_the_block",
                (", n_q)[:, None] - 1 +", ", n_q)[:, None] +"),
                ("np.minimum(left + block_k, n_k) - 1", "np.minimum(left + block_k, n_k)"),
            ),
            Text(
                "block의 끝을 하나 지나서 잡았습니다. 마지막 Query와 마지막 Key의 위치는 min(start + size, n) − 1입니다.",
                "The ends lie one beyond the block. Its last Query and last Key stand at min(start + size, n) − 1.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(causal_blocks, "judged_by_its_last_key", ("left <= last, right", "right <= last, right")),
            Text(
                "block의 마지막 Key만 보고 건너뛰었습니다. 첫 Key를 볼 Query가 하나라도 있으면 계산해야 합니다.",
                "A block is skipped by its last Key alone. If a Query may see its first one, it has to be computed.",
            ),
            everywhere(BLOCK_PARTS) - {"square"},
        ),
        Mistake(
            variant(
                causal_blocks,
                "all_not_told_from_part",
                ("np.add(left <= last, right <= first, dtype=int)", "(left <= last).astype(int)"),
            ),
            Text(
                "모두 보이는 block도 1로 두었습니다. 모두 보이면 2, 일부만 보이면 1입니다.",
                "Blocks that are visible throughout are 1, too. They are 2; those visible in part are 1.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "offsets_without_axes",
                ("[:, None] + offsets[..., None, None]", "[:, None] + offsets"),
                ("- 1 + offsets[..., None, None]", "- 1 + offsets"),
            ),
            Text(
                "offsets의 축이 block의 축과 겹쳤습니다. offsets[..., None, None]으로 두 축을 더해 모든 block과 비교하세요.",
                "The axes of the offsets meet those of the blocks. Give them two more, offsets[..., None, None], to compare each with all blocks.",
            ),
            everywhere(BLOCK_PARTS),
        ),
        Mistake(
            variant(
                causal_blocks,
                "squeezed_map",
                (
                    "np.add(left <= last, right <= first, dtype=int)",
                    "np.add(left <= last, right <= first, dtype=int).squeeze()",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"unequal"}),
        ),
        Mistake(
            variant(
                causal_blocks,
                "part_and_all_exchanged",
                (
                    "np.add(left <= last, right <= first, dtype=int)",
                    "np.where(right <= first, 1, np.where(left <= last, 2, 0))",
                ),
            ),
            Text(
                "1과 2가 바뀌었습니다. 일부가 보이면 1, 모두 보이면 2입니다.",
                "1 and 2 have changed places. A block visible in part is 1, one visible throughout is 2.",
            ),
            frozenset({"square", "unequal", "offsets"}),
        ),
        Mistake(
            variant(
                causal_blocks,
                "map_aligned_at_the_end",
                ("    first =", "    offsets = offsets + n_k - n_q\n    first ="),
            ),
            ALIGNED_AT_THE_END,
            frozenset({"square", "unequal", "offsets"}),
        ),
    ),
    right_answers=(blocks_from_the_mask, blocks_by_reduceat, blocks_in_lists, blocks_in_torch),
)


# --- Task 5: causal_attention ---------------------------------------------------------------------------------


def causal_attention(q, k, v, block_size, offset=0):
    """q (..., n_q, d_k), k (..., n_k, d_k), v (..., n_k, d_v) -> O (..., n_q, d_v): Query i reads Keys j <= i + offset"""
    n_q, n_k = q.shape[-2], k.shape[-2]
    output = np.zeros((*q.shape[:-1], v.shape[-1]))
    for top in range(0, n_q, block_size):
        rows = np.arange(top, min(top + block_size, n_q))
        highest, total, mixture = -np.inf, 0.0, 0.0
        for start in range(0, min(rows[-1] + offset + 1, n_k), block_size):
            keys = np.arange(start, min(start + block_size, n_k))
            logits = q[..., rows, :] @ np.swapaxes(k[..., keys, :], -1, -2) / np.sqrt(q.shape[-1])
            logits = np.where(keys <= rows[:, None] + offset, logits, -np.inf)
            before, highest = highest, np.maximum(highest, logits.max(axis=-1, keepdims=True))
            subtracted = np.where(np.isneginf(highest), 0.0, highest)
            exponentials, kept = np.exp(logits - subtracted), np.exp(before - subtracted)
            total = total * kept + exponentials.sum(axis=-1, keepdims=True)
            mixture = mixture * kept + exponentials @ v[..., keys, :]
        output[..., rows, :] = mixture / np.where(total == 0, 1.0, total)
    return output


def random_causal(rng, n_q, n_k, batch=()):
    shapes = {"q": (n_q, 3), "k": (n_k, 3), "v": (n_k, 2)}
    return {name: rng.normal(size=(*batch, *shape)) for name, shape in shapes.items()}


def draw_whole_blocks(rng):
    size = int(rng.choice([2, 5]))
    return [{**with_a_winner(random_causal(rng, 2 * size, 3 * size), key=2 * size - 1), "block_size": size}]


def draw_ragged_sequences(rng):
    return [
        {**random_causal(rng, *rng.permutation([7, 11]).tolist()), "block_size": size}
        for size in (3, 5, 1, 13)
    ]


def draw_sequence_batches(rng):
    return [
        {**random_causal(rng, 5, 7, (13,)), "block_size": 3},
        {**random_causal(rng, 7, 5, (11, 1)), "block_size": 2, "offset": 1},
    ]


def draw_offset_sequences(rng):
    # The first Queries of a negative offset may attend to no Key, some of them beside others that may.
    offsets = [(7, 11, 4), (5, 13, 6), (11, 7, int(rng.choice([-2, -4])))]
    return [
        {**random_causal(rng, n_q, n_k), "block_size": 3, "offset": offset} for n_q, n_k, offset in offsets
    ]


def draw_unwritten_future(rng):
    # NaN begins with a block, and offsets are whole blocks: whoever skips blocks never meets it.
    inputs = random_causal(rng, 11, 7)
    start = int(rng.choice([3, 6]))
    beyond = with_a_winner(random_causal(rng, 5, 13), key=4)
    beyond["k"][6:], beyond["v"][6:] = np.nan, np.nan
    inputs["v"][start:] = np.nan
    # The last Query block is short: a whole one would reach the NaN.
    short = random_causal(rng, 5, 11)
    short["v"][6:] = np.nan
    # Nothing is written yet, and the first Queries may not look for it.
    empty = random_causal(rng, 5, 7)
    empty["k"][:], empty["v"][:] = np.nan, np.nan
    return [
        {**beyond, "block_size": 3},
        {**inputs, "block_size": 3},
        {**{name: value.copy() for name, value in inputs.items()}, "block_size": 3, "offset": -3},
        {**short, "block_size": 3, "offset": 1},
        {**empty, "block_size": 3, "offset": -3},
    ]


def draw_high_scores(rng):
    # The largest score wins by far, so that the answer is exact in every precision that does not overflow. The last
    # Keys that are visible win, so that a wrong diagonal shows.
    inputs = random_causal(rng, 5, 7)
    inputs["q"] = rng.integers(1, 4, (5, 3)).astype(float)
    order = np.concatenate([rng.permutation(4), [4, 5, 6]])
    levels = (order - 3.0, order - 7.0)
    return [
        {**inputs, "k": 1e4 * level[:, None] * np.ones((7, 3)), "block_size": 2, "offset": 1}
        for level in levels
    ]


CAUSAL_PARTS = (
    Part(
        "whole",
        1,
        Text("같은 크기의 blocks", "blocks of one size"),
        draw_whole_blocks,
    ),
    Part("ragged", 1, Text("나누어떨어지지 않는 크기", "sizes that don't divide"), draw_ragged_sequences),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_sequence_batches),
    Part(
        "offset",
        2,
        Text("offset, 볼 Key가 없는 Query", "an offset, Queries that may attend to no Key"),
        draw_offset_sequences,
    ),
    Part(
        "future", 2, Text("아직 쓰이지 않은 미래", "a future that is not written yet"), draw_unwritten_future
    ),
    Part(
        "extremes", 1, Text("아주 크거나 작은 scores", "very large and very small scores"), draw_high_scores
    ),
)


def every_block_computed(q, k, v, block_size, offset=0):
    allowed = np.arange(k.shape[-2]) <= np.arange(q.shape[-2])[:, None] + offset
    return blocked_attention(q, k, v, block_size, mask=allowed)


def half_precision_causal(q, k, v, block_size, offset=0):
    return causal_attention(*(x.astype(np.float16) for x in (q, k, v)), block_size, offset)


def causal_row_by_row(q, k, v, block_size, offset=0):
    output = np.zeros((*q.shape[:-1], v.shape[-1]))
    for i in range(q.shape[-2]):
        seen = max(i + offset + 1, 0)
        if seen and k.shape[-2]:
            logits = np.einsum("...d,...jd->...j", q[..., i, :], k[..., :seen, :]) * q.shape[-1] ** -0.5
            shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
            mixture = np.einsum("...j,...jd->...d", shares, v[..., :seen, :])
            output[..., i, :] = mixture / shares.sum(axis=-1, keepdims=True)
    return output


def causal_by_the_map(q, k, v, block_size, offset=0):
    n_q, n_k, d_v = q.shape[-2], k.shape[-2], v.shape[-1]
    visible = causal_blocks(n_q, n_k, block_size, block_size, np.array(offset))
    highest = np.full((*q.shape[:-1], 1), -np.inf)
    sums = np.zeros((*q.shape[:-1], d_v + 1))
    v = np.concatenate([v, np.ones((*v.shape[:-1], 1))], axis=-1)
    for row, column in np.argwhere(visible):
        rows = np.arange(row * block_size, min((row + 1) * block_size, n_q))
        keys = np.arange(column * block_size, min((column + 1) * block_size, n_k))
        logits = np.einsum("...id,...jd->...ij", q[..., rows, :], k[..., keys, :]) / np.sqrt(q.shape[-1])
        if visible[row, column] == 1:
            logits[..., keys > rows[:, None] + offset] = -np.inf
        new = np.maximum(highest[..., rows, :], logits.max(axis=-1, keepdims=True))
        base = np.nan_to_num(new, neginf=0.0)
        sums[..., rows, :] *= np.exp(highest[..., rows, :] - base)
        sums[..., rows, :] += np.exp(logits - base) @ v[..., keys, :]
        highest[..., rows, :] = new
    with np.errstate(invalid="ignore"):
        return np.where(sums[..., -1:] == 0, 0.0, sums[..., :-1] / sums[..., -1:])


def causal_of_prefixes(q, k, v, block_size, offset=0):
    strips = []
    for top in range(0, q.shape[-2], block_size):
        rows = np.arange(top, min(top + block_size, q.shape[-2]))
        # Beyond the last Query's Keys there is nothing to read; a whole block is taken for the rest.
        seen = min(max(int(rows[-1]) + offset + 1, 0), k.shape[-2])
        if seen:
            mask = np.arange(seen) <= rows[:, None] + offset
            strip = all_scores_at_once(q[..., rows, :], k[..., :seen, :], v[..., :seen, :], block_size, mask)
        else:
            strip = np.zeros((*q.shape[:-2], len(rows), v.shape[-1]))
        strips.append(strip)
    return np.concatenate(strips, axis=-2)


def causal_in_torch(q, k, v, block_size, offset=0):
    import torch

    q, k, v = (torch.as_tensor(x) for x in (q, k, v))
    outputs = []
    for rows in torch.arange(q.shape[-2]).split(block_size):
        highest, total, mixture = (
            torch.tensor(-torch.inf),
            torch.tensor(0.0),
            torch.zeros(*q.shape[:-2], len(rows), v.shape[-1]),
        )
        for keys in torch.arange(k.shape[-2]).split(block_size):
            if keys[0] > rows[-1] + offset:
                break
            logits = q[..., rows, :] @ k[..., keys, :].mT / q.shape[-1] ** 0.5
            logits = logits.masked_fill(keys > rows[:, None] + offset, -torch.inf)
            new = torch.maximum(highest, logits.amax(dim=-1, keepdim=True))
            base = torch.where(new == -torch.inf, 0.0, new)
            kept, exponentials = (highest - base).exp(), (logits - base).exp()
            total = total * kept + exponentials.sum(dim=-1, keepdim=True)
            mixture = mixture * kept + exponentials @ v[..., keys, :]
            highest = new
        outputs.append(mixture / torch.where(total == 0, 1.0, total))
    return torch.cat(outputs, dim=-2)


CAUSAL_MASK_INVERTED = Text(
    "mask를 반대로 읽었습니다. j <= i + offset인 Keys의 logits가 남고, 나머지가 −∞입니다.",
    "The mask is inverted. The logits of Keys j <= i + offset stay, the others become −∞.",
)


CAUSAL_ATTENTION = Task(
    name="causal_attention",
    reference=causal_attention,
    parts=CAUSAL_PARTS,
    see="long-sequences.html#causal-blocks",
    forbidden=FUSED,
    mistakes=(
        Mistake(
            variant(
                causal_attention,
                "every_nan_replaced",
                ("    output =", "    k, v = np.nan_to_num(k), np.nan_to_num(v)\n    output ="),
            ),
            Text(
                "NaN을 모두 지웠습니다. 볼 수 있는 Query에는 나타나야 합니다. 볼 수 없는 blocks를 읽지 않으면 됩니다.",
                "Every NaN is replaced. Queries that may attend to it have to see it: simply don't read the blocks that nobody may see.",
            ),
            frozenset({"future"}),
        ),
        Mistake(
            every_block_computed,
            Text(
                "보이지 않는 blocks까지 계산했습니다. weight가 0이어도 0 × NaN은 NaN입니다. 그런 block은 읽지도 말고 건너뛰세요.",
                "Blocks that nobody may see are computed as well. Even at weight 0, 0 × NaN is NaN. Skip such a block "
                "without reading it.",
            ),
            frozenset({"future"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "no_mask_inside_a_block",
                ("np.where(keys <= rows[:, None] + offset, logits, -np.inf)", "1.0 * logits"),
            ),
            Text(
                "blocks는 건너뛰었지만 대각선이 지나는 block 안의 mask가 없습니다. 거기서는 일부만 보입니다.",
                "Blocks are skipped, but inside a block that the diagonal crosses nothing is masked. Only a "
                "part of it shows.",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "diagonal_skipped",
                ("min(rows[-1] + offset + 1, n_k)", "min(rows[0] + offset, n_k)"),
            ),
            Text(
                "대각선이 지나는 block까지 건너뛰었습니다. block의 마지막 Query가 볼 Key가 있으면 계산해야 합니다.",
                "The blocks that the diagonal crosses are skipped, too. Compute a block if its last Query may see a Key.",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "stops_with_its_first_query",
                ("min(rows[-1] + offset + 1, n_k)", "min(rows[0] + offset + 1, n_k)"),
            ),
            Text(
                "block의 첫 Query에서 멈추었습니다. 마지막 Query는 더 많은 Keys를 봅니다.",
                "The walk stops with the block's first Query. Its last one may see more Keys.",
            ),
            frozenset({"batches", "offset", "future", "extremes"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "next_key_visible",
                ("rows[-1] + offset + 1", "rows[-1] + offset + 2"),
                ("<= rows[:, None] + offset", "<= rows[:, None] + offset + 1"),
            ),
            Text(
                "Key 하나를 더 봅니다. i + offset의 다음 Key는 아직 미래입니다.",
                "One Key too many is visible: the one after i + offset is still the future.",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(causal_attention, "itself_hidden", ("keys <= rows", "keys < rows")),
            Text(
                "자기 위치를 가렸습니다. Key i + offset까지, 그것도 포함해서 봅니다 (<= 와 <).",
                "A position is hidden from itself. Keys up to i + offset may be read, that one included (<=, not <).",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "mask_of_each_block",
                ("keys <= rows[:, None] + offset", "keys - start <= rows[:, None] - top + offset"),
            ),
            Text(
                "mask를 block 안의 번호로 만들었습니다. 전체에서의 위치(top + i, start + j)로 비교하세요.",
                "The mask is made of numbers within the block. Compare positions in the whole: top + i, start + j.",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "offset_not_used",
                ("rows[-1] + offset + 1", "rows[-1] + 1"),
                ("rows[:, None] + offset", "rows[:, None]"),
            ),
            Text("offset을 쓰지 않았습니다.", "The offset is not used."),
            everywhere(CAUSAL_PARTS) - {"whole", "ragged"},
        ),
        Mistake(
            variant(
                causal_attention,
                "offset_subtracted",
                ("rows[-1] + offset + 1", "rows[-1] - offset + 1"),
                ("rows[:, None] + offset", "rows[:, None] - offset"),
            ),
            OFFSET_SUBTRACTED,
            everywhere(CAUSAL_PARTS) - {"whole", "ragged"},
        ),
        Mistake(
            variant(
                causal_attention,
                "aligned_at_the_end",
                ("    output = np.zeros", "    offset = offset + n_k - n_q\n    output = np.zeros"),
            ),
            ALIGNED_AT_THE_END,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "empty_query_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
            ),
            Text(
                "볼 Key가 없는 Query에서 −∞ − (−∞) = NaN이 되었습니다. 그 output은 0입니다.",
                "For a Query that may attend to no Key, −∞ − (−∞) is NaN. Its output is 0.",
            ),
            frozenset({"offset"}),
        ),
        Mistake(
            variant(
                causal_attention, "nothing_rescaled", ("total * kept", "total"), ("mixture * kept", "mixture")
            ),
            NOTHING_RESCALED,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "last_queries_dropped",
                ("range(0, n_q, block_size)", "range(0, max(n_q - block_size, 0) + 1, block_size)"),
            ),
            Text(
                "모자라는 마지막 Query block을 빠뜨렸습니다. 그 output은 0으로 남았습니다.",
                "The last block of Queries, which is shorter, is left out. Its output stayed 0.",
            ),
            everywhere(CAUSAL_PARTS) - {"whole"},
        ),
        Mistake(
            variant(
                causal_attention,
                "maximum_not_subtracted",
                ("np.maximum(highest, logits.max(axis=-1, keepdims=True))", "0.0"),
                ("highest, total, mixture = -np.inf", "highest, total, mixture = 0.0"),
            ),
            MAXIMUM_NOT_SUBTRACTED,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(causal_attention, "not_scaled", (" / np.sqrt(q.shape[-1])", "")),
            NOT_SCALED,
            everywhere(CAUSAL_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(causal_attention, "divided_by_d_k", ("np.sqrt(q.shape[-1])", "q.shape[-1]")),
            DIVIDED_BY_D_K,
            everywhere(CAUSAL_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(causal_attention, "scaled_by_d_v", ("np.sqrt(q.shape[-1])", "np.sqrt(v.shape[-1])")),
            SCALED_BY_D_V,
            everywhere(CAUSAL_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                causal_attention,
                "softmax_over_queries",
                ("logits.max(axis=-1", "logits.max(axis=-2"),
                ("exponentials.sum(axis=-1", "exponentials.sum(axis=-2"),
            ),
            SOFTMAX_OVER_QUERIES,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(causal_attention, "future_instead_of_past", ("keys <= rows", "keys >= rows")),
            Text(
                "과거 대신 미래를 열었습니다. Key j <= i + offset을 봅니다.",
                "The future is open instead of the past. Keys j <= i + offset may be read.",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "mask_multiplied",
                (
                    "np.where(keys <= rows[:, None] + offset, logits, -np.inf)",
                    "logits * (keys <= rows[:, None] + offset)",
                ),
            ),
            MASK_MULTIPLIED,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "masked_after_the_sum",
                ("np.where(keys <= rows[:, None] + offset, logits, -np.inf)", "1.0 * logits"),
                (
                    "            mixture = mixture * kept",
                    "            exponentials = exponentials * (keys <= rows[:, None] + offset)\n"
                    "            mixture = mixture * kept",
                ),
            ),
            MASKED_AFTER_THE_SUM,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            half_precision_causal,
            HALF_PRECISION,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(causal_attention, "empty_query_uniform", ("logits, -np.inf)", "logits, -1e9)")),
            Text(
                "−1e9로 가려 볼 Key가 없는 Query가 가려진 Values의 평균을 읽었습니다. -np.inf를 쓰세요.",
                "Masked with −1e9, a Query that may attend to no Key reads the mean of masked Values. Write -np.inf.",
            ),
            frozenset({"offset"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "first_batch_for_all",
                (
                    "    output = np.zeros",
                    "    k, v = k.reshape(-1, *k.shape[-2:])[0], v.reshape(-1, *v.shape[-2:])[0]\n    output = np.zeros",
                ),
            ),
            FIRST_BATCH_FOR_ALL,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "output_transposed",
                ("    return output", "    return np.swapaxes(output, -1, -2)"),
            ),
            OUTPUT_TRANSPOSED,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "queries_overwritten",
                ("    output = np.zeros", "    q /= np.sqrt(q.shape[-1])\n    output = np.zeros"),
                (" / np.sqrt(q.shape[-1])", ""),
            ),
            Text(
                "입력 q를 제자리에서 바꾸었습니다 (/=). 새 배열에 계산하세요.",
                "The input q is changed in place (/=). Compute into a new array.",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "axis_lost",
                ("logits.max(axis=-1, keepdims=True)", "logits.max(axis=-1)"),
                ("exponentials.sum(axis=-1, keepdims=True)", "exponentials.sum(axis=-1)"),
            ),
            AXIS_LOST,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention,
                "last_block_not_cut",
                ("np.arange(top, min(top + block_size, n_q))", "np.arange(top, top + block_size)"),
                ("np.arange(start, min(start + block_size, n_k))", "np.arange(start, start + block_size)"),
            ),
            Text(
                "마지막 block의 번호가 n_q나 n_k를 넘습니다. slice는 알아서 짧아지지만 np.arange의 번호는 min(start + block_size, n)에서 멈추어야 합니다.",
                "The numbers of the last block go beyond n_q or n_k. A slice is cut by itself, np.arange has to stop at "
                "min(start + block_size, n).",
            ),
            everywhere(CAUSAL_PARTS) - {"whole"},
        ),
        Mistake(
            variant(
                causal_attention,
                "mask_not_cut",
                (
                    "keys <= rows[:, None] + offset",
                    "start + np.arange(block_size) <= top + np.arange(block_size)[:, None] + offset",
                ),
            ),
            Text(
                "block의 mask가 늘 block_size × block_size입니다. 마지막 block은 짧으니 mask도 실제로 있는 rows와 keys만큼만 만드세요.",
                "The mask of a block is always block_size × block_size. The last block is shorter: make its mask for the rows "
                "and keys that exist.",
            ),
            everywhere(CAUSAL_PARTS) - {"whole"},
        ),
        Mistake(
            variant(causal_attention, "sum_not_rescaled", ("total * kept", "total")),
            SUM_NOT_RESCALED,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(causal_attention, "output_not_rescaled", ("mixture * kept", "mixture")),
            OUTPUT_NOT_RESCALED,
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention, "never_divided", ("mixture / np.where(total == 0, 1.0, total)", "mixture")
            ),
            NEVER_DIVIDED,
            everywhere(CAUSAL_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                causal_attention,
                "maximum_of_masked_keys_too",
                ("np.where(keys <= rows[:, None] + offset, logits, -np.inf)", "1.0 * logits"),
                (
                    "np.exp(logits - subtracted), np",
                    "np.exp(logits - subtracted) * (keys <= rows[:, None] + offset), np",
                ),
            ),
            MAXIMUM_OF_MASKED_KEYS,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "one_block_too_far",
                ("rows[-1] + offset + 1", "rows[-1] + offset + 1 + block_size"),
            ),
            Text(
                "한 block을 더 읽었습니다. block의 첫 Key가 마지막 Query + offset보다 뒤이면 읽지 말고 건너뛰세요.",
                "One block too many is read. Where a block's first Key comes after the last Query + offset, skip it without reading it.",
            ),
            frozenset({"future"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "last_query_not_cut",
                ("rows[-1] + offset + 1", "top + block_size + offset"),
            ),
            Text(
                "마지막 Query block은 짧을 수 있습니다. 없는 Query까지 세면 아무도 볼 수 없는 block을 읽게 됩니다. 마지막 Query는 min(top + block_size, n_q) − 1입니다.",
                "The last block of Queries may be short. Counting Queries that don't exist, a block is read that nobody may see: the last Query is min(top + block_size, n_q) − 1.",
            ),
            frozenset({"future"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "first_block_always_read",
                ("min(rows[-1] + offset + 1, n_k)", "min(max(rows[-1] + offset, 0) + 1, n_k)"),
            ),
            Text(
                "첫 block은 늘 읽었습니다. offset이 음수이면 처음 Queries에게는 그것도 보이지 않습니다. 읽지 말고 건너뛰세요.",
                "The first block is always read. With a negative offset the first Queries may not see it either: skip it, too.",
            ),
            frozenset({"future"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "nan_of_the_output_replaced",
                ("    return output", "    return np.nan_to_num(output)"),
            ),
            Text(
                "output의 NaN을 0으로 바꾸었습니다. 볼 수 있는 Query에는 NaN이 나타나야 합니다.",
                "NaN of the output is replaced by 0. Queries that may attend to NaN have to see it.",
            ),
            frozenset({"future"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "all_axes_reversed",
                ("np.swapaxes(k[..., keys, :], -1, -2)", "k[..., keys, :].T"),
            ),
            ALL_AXES_REVERSED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "as_wide_as_the_queries",
                ("np.zeros((*q.shape[:-1], v.shape[-1]))", "np.zeros_like(q)"),
            ),
            Text(
                "output의 폭을 Query에서 가져왔습니다 (zeros_like(q)). output의 폭은 Value와 같은 d_v입니다.",
                "The output takes its width from the Queries (zeros_like(q)). It is as wide as a Value: d_v.",
            ),
            everywhere(CAUSAL_PARTS),
        ),
        Mistake(
            variant(
                causal_attention, "squeezed_sequences", ("    return output", "    return output.squeeze()")
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "empty_query_divided",
                ("-np.inf, 0.0, 0.0", "-np.inf, np.float64(0.0), 0.0"),
                ("mixture / np.where(total == 0, 1.0, total)", "mixture / total"),
            ),
            Text(
                "볼 Key가 없는 Query는 exp의 합이 0이고 (그 앞에 −∞ − (−∞)가 있었다면 NaN이고), 그것으로 나누면 NaN입니다. 그 output은 0입니다.",
                "For a Query that may attend to no Key the sum of exponentials is 0 (or NaN, after −∞ − "
                "(−∞)), and dividing by it gives NaN. Its output is 0.",
            ),
            frozenset({"offset", "future"}),
        ),
        Mistake(
            variant(
                causal_attention, "one_block_too_many", ("rows[-1] + offset + 1", "rows[-1] + offset + 2")
            ),
            Text(
                "아무도 볼 수 없는 block을 하나 더 읽었습니다. 마지막 Query + offset까지만 갑니다: start <= rows[-1] + offset.",
                "One block that nobody may see is read as well. The walk ends with the last Query + offset: "
                "start <= rows[-1] + offset.",
            ),
            frozenset({"future"}),
        ),
        Mistake(
            variant(
                causal_attention, "offset_left_out_of_the_walk", ("rows[-1] + offset + 1", "rows[-1] + 1")
            ),
            Text(
                "mask에는 offset을 썼지만 어디서 멈출지에는 쓰지 않았습니다. 마지막 Query + offset까지 갑니다.",
                "The mask has the offset, the end of the walk has not. It ends with the last Query + offset.",
            ),
            frozenset({"batches", "offset", "future", "extremes"}),
        ),
        Mistake(
            variant(
                causal_attention, "offset_left_out_of_the_mask", ("rows[:, None] + offset", "rows[:, None]")
            ),
            Text(
                "어디서 멈출지에는 offset을 썼지만 mask에는 쓰지 않았습니다: j <= i + offset.",
                "The end of the walk has the offset, the mask has not: j <= i + offset.",
            ),
            frozenset({"batches", "offset", "future", "extremes"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "negative_offset_taken_for_zero",
                ("    output = np.zeros", "    offset = max(offset, 0)\n    output = np.zeros"),
            ),
            Text(
                "음수인 offset을 0으로 바꾸었습니다. 그때 첫 Queries는 볼 Key가 없습니다.",
                "A negative offset is made 0. With one, the first Queries may attend to no Key.",
            ),
            frozenset({"offset", "future"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "blocks_of_keys_added_up",
                (
                    "mixture = mixture * kept + exponentials @ v[..., keys, :]",
                    "sums = exponentials.sum(axis=-1, keepdims=True)\n            mixture = mixture + exponentials / np.where(sums == 0, 1.0, sums) @ v[..., keys, :]",
                ),
                ("mixture / np.where(total == 0, 1.0, total)", "mixture"),
            ),
            BLOCKS_ADDED_UP,
            frozenset({"whole", "ragged", "batches", "offset", "future", "extremes"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "causal_mask_inverted",
                (
                    "np.where(keys <= rows[:, None] + offset, logits, -np.inf)",
                    "np.where(keys <= rows[:, None] + offset, -np.inf, logits)",
                ),
            ),
            CAUSAL_MASK_INVERTED,
            frozenset({"whole", "ragged", "batches", "offset", "future", "extremes"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "causal_mask_inverted_and_finite",
                (
                    "np.where(keys <= rows[:, None] + offset, logits, -np.inf)",
                    "np.where(keys <= rows[:, None] + offset, -1e9, logits)",
                ),
            ),
            CAUSAL_MASK_INVERTED,
            frozenset({"whole", "ragged", "batches", "offset", "future", "extremes"}),
        ),
        Mistake(
            variant(
                causal_attention,
                "last_keys_dropped",
                ("min(rows[-1] + offset + 1, n_k)", "min(rows[-1] + offset + 1, n_k - n_k % block_size)"),
            ),
            LAST_BLOCK_DROPPED,
            frozenset({"ragged", "batches", "offset", "future"}),
        ),
    ),
    right_answers=(causal_row_by_row, causal_by_the_map, causal_of_prefixes, causal_in_torch),
)

BANK = Bank("ps6", (MERGE, RUNNING_STATES, BLOCKED_ATTENTION, CAUSAL_BLOCKS, CAUSAL_ATTENTION))
