"""Problem set 3, Worked example: the bank of its tasks."""

from fractions import Fraction

import numpy as np

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Mistake, Part, Task, everywhere, variant
from course_lib.grading.draws import extreme_qkv, masked_qkv, random_mask, random_qkv
from course_lib.grading.hints import (
    ALL_AXES_REVERSED,
    AXES_OF_LENGTH_1_DROPPED,
    AXIS_LOST,
    DIVIDED_BY_D_K,
    FIRST_BATCH_FOR_ALL,
    HALF_PRECISION,
    MASK_ADDED,
    MASK_INVERTED,
    MASK_MULTIPLIED,
    MASK_NOT_USED,
    MASK_OF_NONE,
    MASK_REQUIRED,
    MASKED_AFTER_SOFTMAX,
    NOT_SCALED,
    READS_THE_MEAN,
    SCALED_BY_D_V,
    SECOND_AXIS_FOR_THE_LAST,
    SHARED_AGAIN_UNGUARDED,
    SOFTMAX_OVER_QUERIES,
    TRUTH_OF_AN_ARRAY,
)


def random_weights(rng, *shape):
    """Rows that sum to 1, each with its stress on a Key of its own, so that none is nearly a mixture of others."""
    weights = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    places = rng.permutation(shape[-1])[np.arange(shape[-2]) % shape[-1]]
    return 0.5 * weights + 0.5 * np.eye(shape[-1])[places]


# --- Task 1: contributions ------------------------------------------------------------------------------------


def contributions(weights, v):
    """weights (..., n_q, n_k), v (..., n_k, d_v) -> what each Value adds (..., n_q, n_k, d_v)"""
    shares = weights[..., None]
    return np.where(shares == 0, 0.0, shares * v[..., None, :, :])


def draw_contributions(rng):
    return [{"weights": random_weights(rng, 5, 7), "v": rng.normal(size=(7, 3))}]


def draw_contribution_batches(rng):
    return [
        {"weights": random_weights(rng, 2, 5, 7), "v": rng.normal(size=(2, 7, 3))},
        {"weights": random_weights(rng, 2, 3, 5, 7), "v": rng.normal(size=(3, 7, 11))},
        {"weights": random_weights(rng, 5, 7), "v": rng.normal(size=(2, 1, 7, 3))},
        {"weights": random_weights(rng, 2, 1, 5, 7), "v": rng.normal(size=(7, 3))},
    ]


def draw_broken_values(rng):
    weights, v = random_weights(rng, 5, 7), rng.normal(size=(7, 3))
    nobody, infinite, somebody = rng.permutation(7)[:3]
    weights[:, [nobody, infinite]] = 0.0
    weights[:3, somebody], weights[3:, somebody] = 0.0, 0.5
    weights[rng.integers(3)] = 0.0
    weights[rng.integers(3, 5), somebody] = 1e-12
    v[nobody], v[infinite], v[somebody] = np.nan, np.inf, np.nan
    return [{"weights": weights, "v": v}]


CONTRIBUTION_PARTS = (
    Part("queries", 2, Text("Query 여럿", "several Queries"), draw_contributions),
    Part("batches", 1, Text("broadcast되는 batch", "batches that broadcast"), draw_contribution_batches),
    Part(
        "masked", 1, Text("weight 0인 자리의 NaN과 ∞", "NaN and ∞ where the weight is 0"), draw_broken_values
    ),
)


def nan_removed_in_place(weights, v):
    v[~np.isfinite(v)] = 0.0
    return weights[..., None] * v[..., None, :, :]


def einsum_of_one_matrix(weights, v):
    return np.where((weights == 0)[..., None], 0.0, np.einsum("ij,jd->ijd", weights, v))


def half_precision_contributions(weights, v):
    return contributions(weights.astype(np.float16), v.astype(np.float16))


def contributions_by_einsum(weights, v):
    with np.errstate(invalid="ignore"):
        product = np.einsum("...ij,...jd->...ijd", weights, v)
    return np.where((weights > 0)[..., None], product, 0.0)


def contributions_by_loops(weights, v):
    batch = np.broadcast_shapes(weights.shape[:-2], v.shape[:-2])
    weights = np.broadcast_to(weights, batch + weights.shape[-2:])
    v = np.broadcast_to(v, batch + v.shape[-2:])
    result = np.zeros((*weights.shape, v.shape[-1]))
    for *b, i, j in np.ndindex(weights.shape):
        if weights[(*b, i, j)] != 0:
            result[(*b, i, j)] = weights[(*b, i, j)] * v[(*b, j)]
    return result


def contributions_query_by_query(weights, v):
    """One Query after another, its weights beside the Values as a column, unread Values replaced before."""

    def of_one_query(i):
        column = weights[..., i, :, None]
        return column * np.where(column == 0, 0.0, v)

    return np.stack([of_one_query(i) for i in range(weights.shape[-2])], axis=-3)


def contributions_in_torch(weights, v):
    import torch

    shares, v = torch.as_tensor(weights).unsqueeze(-1), torch.as_tensor(v).unsqueeze(-3)
    return (shares * v).masked_fill(shares == 0, 0.0)


def contributions_in_float32(weights, v):
    return contributions(weights.astype(np.float32), v.astype(np.float32))


CONTRIBUTIONS = Task(
    name="contributions",
    reference=contributions,
    parts=CONTRIBUTION_PARTS,
    see="worked-example.html#worked-example-output",
    mistakes=(
        Mistake(
            variant(
                contributions,
                "summed_already",
                ("np.where(shares == 0, 0.0, shares * v[..., None, :, :])", "weights @ v"),
            ),
            Text(
                "이미 더한 output입니다. 더하기 전에 Key마다 하나씩, shape는 (..., n_q, n_k, d_v)입니다.",
                "This is the output, summed already. Before the sum there is one a Key: (..., n_q, n_k, d_v).",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            variant(contributions, "query_axis_of_values_missing", ("v[..., None, :, :]", "v")),
            Text(
                "v에 batch 축이 있으면 그 축이 Query 축과 맞물립니다. v[..., None, :, :]로 Query 자리를 비워 두세요.",
                "Where v has batch axes, they meet the Query axis here. Leave room for it: v[..., None, :, :].",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                contributions,
                "one_query_expected",
                (
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "np.swapaxes(weights, -1, -2) * v",
                ),
            ),
            Text(
                "Query가 하나일 때의 식(weights.T * v)입니다. 여럿이면 Query 축이 따로 있어야 합니다: weights[..., None].",
                "This is the formula for a single Query (weights.T * v). Several need an axis of their own: "
                "weights[..., None].",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            variant(
                contributions,
                "keys_before_queries",
                (
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "np.swapaxes(np.where(shares == 0, 0.0, shares * v[..., None, :, :]), -3, -2)",
                ),
            ),
            Text(
                "Key 축이 Query 축보다 앞에 있습니다. 순서는 (..., n_q, n_k, d_v)입니다.",
                "The Key axis comes before the Query axis. The order is (..., n_q, n_k, d_v).",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            variant(
                contributions,
                "zero_times_nan",
                ("np.where(shares == 0, 0.0, shares * v[..., None, :, :])", "shares * v[..., None, :, :]"),
            ),
            Text(
                "0 × NaN은 NaN이고 0 × ∞도 NaN입니다. weight가 0이면 기여는 0입니다. np.where로 고르세요.",
                "0 × NaN is NaN, and so is 0 × ∞. Where the weight is 0 the contribution is 0: select with np.where.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                contributions,
                "every_nan_hidden",
                (
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "shares * np.nan_to_num(v)[..., None, :, :]",
                ),
            ),
            Text(
                "모든 NaN을 0으로 바꾸었습니다. 읽는 Query에게는 NaN이 보여야 합니다. weight가 0인 자리만 0입니다.",
                "Every NaN is replaced. A Query that does read the Value must see it; 0 belongs only where the weight is 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                contributions,
                "shares_of_the_output",
                (
                    "return np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "parts = np.where(shares == 0, 0.0, shares * v[..., None, :, :])\n"
                    "    return parts / parts.sum(axis=-2, keepdims=True)",
                ),
            ),
            Text(
                "output으로 나눈 비율입니다. 기여는 더하면 output이 되는 값 그대로입니다.",
                "These are shares, divided by the output. A contribution is what is added, as it is.",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            variant(
                contributions,
                "weights_rounded_first",
                ("weights[..., None]", "np.round(weights, 2)[..., None]"),
            ),
            Text(
                "두 자리로 반올림한 weights로 계산했습니다. 반올림은 보여 줄 때만 합니다.",
                "This computes with weights rounded to two decimals. Round for showing only.",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            variant(
                contributions,
                "running_sums",
                (
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "np.cumsum(np.where(shares == 0, 0.0, shares * v[..., None, :, :]), axis=-2)",
                ),
            ),
            Text(
                "Keys를 따라 쌓은 합입니다. Key마다 자기 기여만 적습니다.",
                "These are sums that grow along the Keys. Each Key has its own contribution alone.",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            variant(
                contributions,
                "lengths_of_contributions",
                (
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "np.linalg.norm(np.where(shares == 0, 0.0, shares * v[..., None, :, :]), axis=-1)",
                ),
            ),
            Text(
                "기여의 길이(norm)입니다. 기여는 d_v 개의 성분을 가진 vector입니다.",
                "These are the contributions' lengths. A contribution is a vector with d_v components.",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            half_precision_contributions,
            Text(
                "float16으로 계산했습니다. 자릿수가 모자라 넷째 자리부터 틀립니다.",
                "This is computed in float16, which has too few digits: the fourth is wrong already.",
            ),
            everywhere(CONTRIBUTION_PARTS),
        ),
        Mistake(
            nan_removed_in_place,
            Text(
                "입력 v의 NaN을 제자리에서 지웠습니다. 입력은 그대로 두고, 결과에서 weight가 0인 자리만 0으로 두세요.",
                "NaN is removed from the input v itself. Leave the input as it is; in the result, put 0 where the weight "
                "is 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            einsum_of_one_matrix,
            Text(
                'einsum의 "ij,jd->ijd"는 행렬 하나에만 맞습니다. batch 축은 ...으로 적습니다: "...ij,...jd->...ijd".',
                'einsum\'s "ij,jd->ijd" fits a single matrix only. Write ... for batch axes: "...ij,...jd->...ijd".',
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                contributions,
                "infinity_forgotten",
                ("shares == 0", "(shares == 0) & np.isnan(v[..., None, :, :])"),
            ),
            Text(
                "weight가 0인 자리에서 v의 NaN만 살폈습니다. 0 × ∞도 NaN입니다. v에 무엇이 있든 weight가 0이면 0을 고르세요.",
                "Where the weight is 0, only NaN in v is looked for. 0 × ∞ is NaN too: select 0 there whatever v holds.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(contributions, "small_taken_for_zero", ("shares == 0", "np.isclose(shares, 0)")),
            Text(
                "아주 작은 weight를 0으로 보았습니다 (np.isclose). 0이 아닌 weight로 읽는 Value의 NaN은 나타나야 합니다. == 0으로 확인하세요.",
                "A very small weight is taken for 0 (np.isclose). A Value that is read with any other weight shows its NaN: ask == 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                contributions,
                "only_unread_values_replaced",
                (
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "shares * np.where((weights != 0).any(axis=-2)[..., None], v, 0.0)[..., None, :, :]",
                ),
            ),
            Text(
                "아무도 읽지 않는 Value만 0으로 바꾸었습니다. 다른 Query가 읽는 Value의 NaN도, weight가 0인 Query의 기여에는 나타나지 않아야 합니다.",
                "Only Values that nobody reads are replaced. NaN in a Value that others read must not show in the contribution to a Query whose weight is 0, either.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                contributions,
                "contributions_squeezed",
                (
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :])",
                    "np.where(shares == 0, 0.0, shares * v[..., None, :, :]).squeeze()",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        contributions_by_einsum,
        contributions_by_loops,
        contributions_query_by_query,
        contributions_in_torch,
        contributions_in_float32,
    ),
)


# --- Task 2: sharpen ------------------------------------------------------------------------------------------


def sharpen(logits, factors):
    """logits (..., n_q, n_k), factors (n,) -> weights (n, ..., n_q, n_k); a factor np.inf means the limit"""
    allowed = ~np.isneginf(logits)
    largest = allowed & (logits == logits.max(axis=-1, keepdims=True))
    finite = np.where(allowed, logits, 0.0)
    results = []
    for factor in factors:
        if np.isinf(factor):
            exponentials = np.where(largest, 1.0, 0.0)
        else:
            multiplied = np.where(allowed, factor * finite, -np.inf)
            highest = multiplied.max(axis=-1, keepdims=True)
            exponentials = np.exp(multiplied - np.where(np.isneginf(highest), 0.0, highest))
        total = exponentials.sum(axis=-1, keepdims=True)
        results.append(exponentials / np.where(total == 0, 1.0, total))
    return np.stack(results)


def distinct_logits(rng, *shape):
    """Eighths, exact in every precision, and no two alike in a row."""
    return rng.permuted(np.broadcast_to(np.arange(-8, 9) / 8, (*shape[:-1], 17)), axis=-1)[..., : shape[-1]]


def draw_factors(rng):
    return [
        {"logits": distinct_logits(rng, 5, 7), "factors": np.array([1.0, 10.0, float(rng.integers(2, 6))])}
    ]


def draw_logit_batches(rng):
    return [
        {"logits": distinct_logits(rng, 2, 5, 7), "factors": np.array([0.5, 3.0, 10.0])},
        {"logits": distinct_logits(rng, 2, 1, 5, 7), "factors": np.array([2.0])},
    ]


# What float32 holds, no finite factor that people write brings to its limit: the smallest differences, times 1e9 or
# the largest float32, are next to nothing still; the largest, times the largest float64, are beyond it.
CLOSE, FAR = 2.0**-126, 2.0**100


def draw_limit(rng):
    tied = np.array([[4.0, 4, 1, 2, 0], [4, 4, 4, 1, 3], [4, 1, 2, 3, 0]])
    # Every row has another maximum, and np.isclose takes all numbers around a million for one.
    rows = tied - rng.permutation([1, 2, 3])[:, None]
    around = 2.0**20 + tied - rng.permutation([1, 2, 3])[:, None]
    drawn = [rows, np.broadcast_to(rows, (7, 3, 5)), CLOSE * rows, FAR * rows, around]
    factors = [[np.inf, 1.0], [1.0, np.inf], [np.inf, 1.0], [np.inf], [np.inf]]
    return [
        {"logits": rng.permuted(logits, axis=-1), "factors": np.array(some)}
        for logits, some in zip(drawn, factors, strict=True)
    ]


def draw_masked_logits(rng):
    # All above 0: whoever multiplies by np.inf gets ∞ − ∞, whatever else is done.
    mask = random_mask(rng, 5, 7, dead_row=True)
    logits = np.where(mask, distinct_logits(rng, 5, 7) + 1.125, -np.inf)
    return [{"logits": logits, "factors": rng.permutation([0.0, -1.0, np.inf])}]


def draw_huge_factors(rng):
    # Whole numbers times a whole number: exact in float32. The winner takes all, or two share.
    logits = rng.permuted(np.array([[3.0, 3, 1, 2, -4], [3, 0, 1, -4, -4], [2, 2, 1, -1, 0]]), axis=1)
    return [{"logits": logits, "factors": np.array([1e4, -1e4])}]


SHARP_PARTS = (
    Part("factors", 1, Text("여러 배", "several factors"), draw_factors),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_logit_batches),
    Part("limit", 1, Text("극한과 비긴 Keys", "the limit, and tied Keys"), draw_limit),
    Part(
        "masked", 1, Text("가려진 Keys; 0배, 음수 배", "masked Keys; factors 0 and below"), draw_masked_logits
    ),
    Part("huge", 1, Text("±10000배", "factors of ±10000"), draw_huge_factors),
)


def first_of_the_tied(logits, factors):
    weights = sharpen(logits, factors)
    first = np.arange(logits.shape[-1]) == logits.argmax(axis=-1)[..., None]
    return np.where(np.isinf(factors).reshape(-1, *[1] * logits.ndim), first & ~np.isneginf(logits), weights)


def factors_for_one_matrix(logits, factors):
    multiplied = factors[:, None, None] * logits
    exponentials = np.exp(multiplied - multiplied.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def sharpened_in_place(logits, factors):
    results = []
    for factor in factors:
        results.append(sharpen(logits, [factor])[0])
        logits -= np.where(np.isneginf(logits), 0.0, 1.0)
    return np.stack(results)


def sharpen_by_power(logits, factors):
    """Ratios of weights to a power: exp of a gap times the factor, measured from whichever Key wins."""
    open_ = np.isfinite(logits)
    results = np.zeros((len(factors), *logits.shape))
    for result, factor in zip(results, factors, strict=True):
        winner = np.where(open_, logits * np.sign(factor) if factor else 0.0, -np.inf).max(-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            gap = np.where(open_, winner - (logits * np.sign(factor) if factor else 0.0), np.inf)
            power = np.where(gap == 0, 1.0, np.exp(-abs(factor) * gap) if factor else 0.0)
        result[:] = power * open_ / np.maximum((power * open_).sum(-1, keepdims=True), 1)
    return results


def sharpen_by_loops(logits, factors):
    results = np.zeros((len(factors), *logits.shape))
    for n, *row in np.ndindex(len(factors), *logits.shape[:-1]):
        row, factor = tuple(row), factors[n]
        keys = [j for j in range(logits.shape[-1]) if logits[row][j] > -np.inf]
        if factor == np.inf:
            top = max((logits[row][j] for j in keys), default=None)
            shares = [float(logits[row][j] == top) for j in keys]
        else:
            multiplied = [factor * logits[row][j] for j in keys]
            shares = [np.exp(x - max(multiplied)) for x in multiplied]
        for j, share in zip(keys, shares, strict=True):
            results[(n, *row, j)] = share / sum(shares)
    return results


def sharpen_at_once(logits, factors):
    """All factors in one array; the limit as so large a factor that exp of the next gap is 0."""
    column = np.reshape(np.where(np.isinf(factors), 1e300, factors), (-1, *[1] * logits.ndim))
    shift = np.max(np.where(np.isfinite(logits), logits, -1e300), axis=-1, keepdims=True)
    least = np.min(np.where(np.isfinite(logits), logits, 1e300), axis=-1, keepdims=True)
    gaps = np.where(np.isfinite(logits), logits - np.where(column < 0, least, shift), 0.0)
    shares = np.where(np.isfinite(logits), np.exp(np.clip(column * gaps, -1e4, 0.0)), 0.0)
    return np.nan_to_num(shares / shares.sum(axis=-1, keepdims=True))


def sharpen_in_torch(logits, factors):
    import torch

    logits = torch.as_tensor(logits)
    masked = torch.isneginf(logits)
    results = []
    for factor in factors.tolist():
        if factor == float("inf"):
            multiplied = torch.zeros_like(logits).masked_fill(
                logits < logits.amax(-1, keepdim=True), -torch.inf
            )
        else:
            multiplied = factor * logits.masked_fill(masked, 0.0)
        results.append(multiplied.masked_fill(masked, -torch.inf).softmax(-1).nan_to_num(0.0))
    return torch.stack(results)


def sharpen_in_float32(logits, factors):
    return sharpen(logits.astype(np.float32), factors.astype(np.float32))


def power_of_the_weights(logits, factors):
    weights = sharpen(logits, [1.0])[0]
    powers = np.stack([weights**factor for factor in factors])
    return powers / powers.sum(axis=-1, keepdims=True)


def power_with_guards(logits, factors):
    weights, limits = sharpen(logits, [1.0])[0], sharpen(logits, [np.inf])[0]
    results = []
    for factor in factors:
        with np.errstate(divide="ignore"):
            powers = np.where(np.isneginf(logits), 0.0, weights**factor)
        total = powers.sum(axis=-1, keepdims=True)
        results.append(limits if np.isinf(factor) else powers / np.where(total == 0, 1.0, total))
    return np.stack(results)


softmax_of_the_product = variant(
    sharpen,
    "softmax_of_the_product",
    ("if np.isinf(factor)", "if False"),
    ("np.where(allowed, factor * finite, -np.inf)", "factor * logits"),
    ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
    ("np.where(total == 0, 1.0, total)", "total"),
)


def nan_replaced_at_the_end(logits, factors):
    return np.nan_to_num(softmax_of_the_product(logits, factors))


MULTIPLIED_AS_THEY_COME = Text(
    "Softmax는 맞지만 배수를 그대로 곱했습니다. ∞ × 0, ∞ − ∞, 0 × (−∞)가 NaN입니다. 극한과 가려진 자리를 따로 다루세요.",
    "The Softmax is right, but factors are multiplied as they come: ∞ × 0, ∞ − ∞ and 0 × (−∞) are NaN. "
    "Treat the limit and masked places apart.",
)


INFINITY_MULTIPLIED = Text(
    "np.inf를 곱하면 ∞ − ∞, ∞ / ∞, ∞ × 0이 NaN이 됩니다. 극한은 식으로 따로 정하세요.",
    "Multiplying by np.inf meets ∞ − ∞, ∞ / ∞ or ∞ × 0, which are NaN. Settle the limit apart.",
)
MASKED_MULTIPLIED = Text(
    "−∞에도 배수를 곱했습니다. 0 × (−∞)는 NaN, −1 × (−∞)는 +∞입니다. 가려진 자리는 −∞로 남깁니다.",
    "−∞ is multiplied as well: 0 × (−∞) is NaN, and −1 × (−∞) is +∞. A masked place stays −∞.",
)
NUMBER_FOR_INFINITY = Text(
    "극한 대신 큰 수를 곱했습니다. logits가 아주 가까우면 그 수로도 모자라고, 멀면 곱이 넘쳐 ∞ − ∞ = NaN이 됩니다. 가장 큰 logit인 자리에 1을 두고 "
    "그런 자리의 수로 나누세요.",
    "A large number is multiplied in place of the limit. It is too small for logits that lie very close, and far apart the "
    "product overflows: ∞ − ∞ = NaN. Put 1 where the logit is the largest, and divide by how many there are.",
)
POWER_OF_THE_WEIGHTS = Text(
    "weights를 거듭제곱했습니다. 큰 배수에서는 모두 0이 되고 (0/0 = NaN), 가려진 자리는 0⁰ = 1로 열립니다. 배수는 logits에 곱하세요.",
    "This raises the weights to a power. Large ones make all of them 0 (0/0 = NaN), and a masked place opens, as 0⁰ = 1. "
    "Multiply the logits.",
)


SHARPEN = Task(
    name="sharpen",
    reference=sharpen,
    parts=SHARP_PARTS,
    see="worked-example.html#worked-example-sharpening",
    mistakes=(
        Mistake(
            variant(
                sharpen,
                "weights_multiplied",
                ("factor * finite", "finite"),
                (
                    "results.append(exponentials / np.where(total == 0, 1.0, total))",
                    "results.append(factor * exponentials / np.where(total == 0, 1.0, total))",
                ),
            ),
            Text(
                "weights를 곱했습니다. 배수는 Softmax 앞의 logits에 곱해야 하고, 그러면 row의 합은 여전히 1입니다.",
                "The weights are multiplied. The factor belongs on the logits, before Softmax, and rows go on summing to 1.",
            ),
            everywhere(SHARP_PARTS),
        ),
        Mistake(
            variant(sharpen, "divided_by_factor", ("factor * finite", "finite / factor")),
            Text(
                "logits를 배수로 나누었습니다(temperature). 곱하면 sharp해지고 나누면 고르게 펴집니다.",
                "The logits are divided by the factor (a temperature). Multiplying sharpens; dividing evens out.",
            ),
            everywhere(SHARP_PARTS) - {"limit"},
        ),
        Mistake(
            variant(sharpen, "factors_last", ("np.stack(results)", "np.stack(results, axis=-1)")),
            Text(
                "배수의 축이 마지막에 있습니다. 맨 앞입니다: (n, ..., n_q, n_k).",
                "The axis of the factors comes last. It comes first: (n, ..., n_q, n_k).",
            ),
            everywhere(SHARP_PARTS),
        ),
        Mistake(
            variant(sharpen, "factors_second", ("np.stack(results)", "np.stack(results, axis=1)")),
            Text(
                "배수의 축이 두 번째에 있습니다 (axis=1). 맨 앞입니다: (n, ..., n_q, n_k).",
                "The axis of the factors comes second (axis=1). It comes first: (n, ..., n_q, n_k).",
            ),
            everywhere(SHARP_PARTS),
        ),
        Mistake(
            variant(sharpen, "sign_lost", ("factor * finite", "abs(factor) * finite")),
            Text(
                "배수의 부호가 사라졌습니다 (abs). 0보다 작은 배수는 순서를 뒤집습니다.",
                "The factor's sign is lost (abs). A factor below 0 reverses the ranking.",
            ),
            frozenset({"masked", "huge"}),
        ),
        Mistake(
            variant(sharpen, "first_factor_only", ("np.stack(results)", "results[0]")),
            Text(
                "첫 배수의 결과만 돌려주었습니다. 배수마다 하나씩 쌓습니다.",
                "Only the first factor's result comes back. Stack one for each factor.",
            ),
            everywhere(SHARP_PARTS),
        ),
        Mistake(
            variant(
                sharpen,
                "infinity_multiplied",
                ("if np.isinf(factor)", "if False"),
            ),
            INFINITY_MULTIPLIED,
            frozenset({"limit", "masked"}),
        ),
        Mistake(
            first_of_the_tied,
            Text(
                "argmax로 첫 Key 하나만 골랐습니다. 가장 큰 logit이 m 개로 비기면 극한에서도 저마다 1/m입니다.",
                "argmax picks the first Key alone. Where m logits tie for the largest, each keeps 1/m in the limit.",
            ),
            frozenset({"limit"}),
        ),
        Mistake(
            variant(
                sharpen,
                "one_for_each_of_the_tied",
                (
                    "total = exponentials.sum(axis=-1, keepdims=True)",
                    "total = 1.0 if np.isinf(factor) else exponentials.sum(axis=-1, keepdims=True)",
                ),
            ),
            Text(
                "비긴 Keys가 저마다 1을 받았습니다. row의 합은 극한에서도 1이므로 나누어 가집니다.",
                "Each of the tied Keys got 1. A row sums to 1 in the limit too, so they share it.",
            ),
            frozenset({"limit"}),
        ),
        Mistake(
            variant(sharpen, "dead_row_in_the_limit", ("largest = allowed & (logits", "largest = (logits")),
            Text(
                "모두 가려진 row에서는 −∞ == −∞이므로 모든 Keys가 '가장 크다'고 나옵니다. 볼 수 있는 Key 가운데서만 고르세요.",
                "In a row that is masked throughout, −∞ == −∞ makes every Key the largest. Choose among allowed Keys only.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "masked_multiplied",
                ("np.where(allowed, factor * finite, -np.inf)", "factor * logits"),
            ),
            MASKED_MULTIPLIED,
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "masked_multiplied_and_guarded",
                ("np.where(allowed, factor * finite, -np.inf)", "factor * logits"),
                (
                    "np.where(np.isneginf(highest), 0.0, highest)",
                    "np.where(np.isfinite(highest), highest, 0.0)",
                ),
            ),
            MASKED_MULTIPLIED,
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "even_over_all_at_zero",
                (
                    "np.where(allowed, factor * finite, -np.inf)",
                    "np.where(allowed | (factor == 0), factor * finite, -np.inf)",
                ),
            ),
            Text(
                "0배에서 가려진 Keys도 비중을 받았습니다. 고르게 나누되 볼 수 있는 Keys 사이에서만 나눕니다.",
                "With factor 0, masked Keys took weight. The even share goes to allowed Keys alone.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "softmax_unguarded",
                ("if np.isinf(factor)", "if False"),
                ("np.where(allowed, factor * finite, -np.inf)", "factor * logits"),
                ("multiplied - np.where(np.isneginf(highest), 0.0, highest)", "multiplied"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "배수를 곱해 그대로 exp에 넣었습니다. 큰 배수에서 넘치고, ∞와 −∞와 모두 가려진 row에서 NaN이 됩니다.",
                "The product goes into exp as it is: large factors overflow, and ∞, −∞ and rows that are masked throughout give NaN.",
            ),
            frozenset({"limit", "masked", "huge"}),
        ),
        Mistake(
            softmax_of_the_product,
            MULTIPLIED_AS_THEY_COME,
            frozenset({"limit", "masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "product_in_a_safe_softmax",
                ("if np.isinf(factor)", "if False"),
                ("np.where(allowed, factor * finite, -np.inf)", "factor * logits"),
            ),
            MULTIPLIED_AS_THEY_COME,
            frozenset({"limit", "masked"}),
        ),
        Mistake(
            nan_replaced_at_the_end,
            Text(
                "NaN을 나중에 0으로 지웠습니다 (np.nan_to_num). 그 row는 0이 아니라, 볼 수 있는 Keys가 1을 나누어 가져야 합니다. 극한과 가려진 "
                "자리를 따로 다루어 NaN이 나오지 않게 하세요.",
                "NaN is replaced by 0 at the end (np.nan_to_num). Such a row isn't 0: its allowed Keys share 1. Treat the limit and "
                "masked places apart, so that no NaN comes up.",
            ),
            frozenset({"limit", "masked"}),
        ),
        Mistake(
            variant(
                sharpen, "large_number_for_infinity", ("in factors:\n", "in np.minimum(factors, 1e4):\n")
            ),
            NUMBER_FOR_INFINITY,
            frozenset({"limit"}),
        ),
        Mistake(
            variant(
                sharpen, "huge_number_for_infinity", ("in factors:\n", "in np.minimum(factors, 1e300):\n")
            ),
            NUMBER_FOR_INFINITY,
            frozenset({"limit"}),
        ),
        Mistake(
            variant(
                sharpen,
                "largest_number_for_infinity",
                ("in factors:\n", "in np.minimum(factors, np.finfo(float).max):\n"),
            ),
            NUMBER_FOR_INFINITY,
            frozenset({"limit", "masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "nearly_equal_taken_for_tied",
                (
                    "logits == logits.max(axis=-1, keepdims=True)",
                    "np.isclose(logits, logits.max(axis=-1, keepdims=True))",
                ),
            ),
            Text(
                "거의 같은 logits를 비긴 것으로 보았습니다 (np.isclose). 극한에서는 조금이라도 크면 1을 모두 받습니다. ==로 비교하세요.",
                "Logits that are nearly equal are taken for tied (np.isclose). In the limit the larger takes all, by however little: "
                "compare with ==.",
            ),
            frozenset({"limit"}),
        ),
        Mistake(
            variant(
                sharpen,
                "largest_of_all_rows",
                ("logits == logits.max(axis=-1, keepdims=True)", "logits == logits.max()"),
            ),
            Text(
                "극한에서 배열 전체의 최댓값과 비교했습니다. 최댓값은 row마다 다릅니다 (axis=-1, keepdims=True).",
                "In the limit, logits are compared with the maximum of the whole array. Each row has its own (axis=-1, keepdims=True).",
            ),
            frozenset({"limit", "masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "one_maximum_for_all_rows",
                ("multiplied.max(axis=-1, keepdims=True)", "multiplied.max()"),
            ),
            Text(
                "배열 전체의 최댓값을 뺐습니다. 그보다 훨씬 작은 row에서는 exp가 모두 0이 됩니다. row의 최댓값을 빼세요 (axis=-1, keepdims=True).",
                "The maximum of the whole array is subtracted. In a row far below it every exp is 0. Subtract the row's own "
                "(axis=-1, keepdims=True).",
            ),
            frozenset({"huge"}),
        ),
        Mistake(
            variant(sharpen, "joined_along_an_axis", ("np.stack(results)", "np.concatenate(results)")),
            Text(
                "배수마다 얻은 결과를 있던 축으로 이어 붙였습니다 (np.concatenate, np.vstack). 배수의 축을 새로 만드세요 (np.stack): (n, ..., n_q, n_k).",
                "The results are joined along an axis that was there (np.concatenate, np.vstack). Give the factors an axis of their own "
                "(np.stack): (n, ..., n_q, n_k).",
            ),
            everywhere(SHARP_PARTS),
        ),
        Mistake(power_of_the_weights, POWER_OF_THE_WEIGHTS, frozenset({"limit", "masked", "huge"})),
        Mistake(power_with_guards, POWER_OF_THE_WEIGHTS, frozenset({"huge"})),
        Mistake(
            variant(
                sharpen,
                "no_maximum_subtracted",
                ("multiplied - np.where(np.isneginf(highest), 0.0, highest)", "multiplied"),
            ),
            Text(
                "최댓값을 빼지 않아 exp가 넘치거나 모두 0이 되었습니다. 배수나 logit이 클수록 먼저 일어나는 일입니다.",
                "Without the maximum subtracted, exp overflows or vanishes, the sooner the larger the factor or the logits.",
            ),
            frozenset({"huge"}),
        ),
        Mistake(
            variant(
                sharpen,
                "maximum_before_multiplying",
                (
                    "multiplied - np.where(np.isneginf(highest), 0.0, highest)",
                    "multiplied - factor * np.max(finite, axis=-1, keepdims=True, initial=-9.0, where=allowed)",
                ),
            ),
            Text(
                "곱하기 전의 최댓값을 뺐습니다. 음수를 곱하면 순서가 뒤집혀 exp가 넘칩니다. 곱한 뒤의 최댓값을 빼세요.",
                "The maximum from before multiplying is subtracted. A negative factor reverses the order, and exp "
                "overflows. Subtract the maximum of what is multiplied.",
            ),
            frozenset({"huge"}),
        ),
        Mistake(
            variant(
                sharpen,
                "softmax_over_queries",
                ("multiplied.max(axis=-1", "multiplied.max(axis=-2"),
                ("exponentials.sum(axis=-1", "exponentials.sum(axis=-2"),
            ),
            SOFTMAX_OVER_QUERIES,
            everywhere(SHARP_PARTS),
        ),
        Mistake(
            variant(
                sharpen,
                "second_axis",
                ("multiplied.max(axis=-1", "multiplied.max(axis=1"),
                ("exponentials.sum(axis=-1", "exponentials.sum(axis=1"),
            ),
            SECOND_AXIS_FOR_THE_LAST,
            frozenset({"batches", "limit"}),
        ),
        Mistake(
            variant(
                sharpen,
                "dead_row_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "모두 가려진 row가 NaN입니다. 배수가 무엇이든 그 weights는 0입니다.",
                "A row that is masked throughout became NaN. Its weights are 0 whatever the factor.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "dead_row_uniform",
                ("np.where(allowed, factor * finite, -np.inf)", "np.where(allowed, factor * finite, -1e9)"),
            ),
            Text(
                "모두 가려진 row에 한 수(−1e9나 0)가 놓여 고르게 나뉘었습니다. 아무것도 읽지 않는 row이므로 weights는 0입니다.",
                "A row that is masked throughout holds one number, −1e9 or 0, and became uniform. It reads nothing: its weights are 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            sharpened_in_place,
            Text(
                "입력 logits를 제자리에서 바꾸었습니다 (-=, *=). 배수마다 처음 logits에서 다시 시작하세요.",
                "The input logits are changed in place (-=, *=). Start from the given logits for each factor.",
            ),
            everywhere(SHARP_PARTS),
        ),
        Mistake(
            variant(sharpen, "axis_lost", ("sum(axis=-1, keepdims=True)", "sum(axis=-1)")),
            AXIS_LOST,
            everywhere(SHARP_PARTS),
        ),
        Mistake(
            variant(
                sharpen,
                "masks_forgotten",
                ("largest = allowed & (logits", "largest = (logits"),
                ("np.where(allowed, factor * finite, -np.inf)", "factor * logits"),
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "가려진 Keys를 살피지 않았습니다. 0 × (−∞)는 NaN, −1 × (−∞)는 +∞이고, 모두 가려진 row에서는 −∞ == −∞가 True입니다.",
                "Masked Keys are not looked at: 0 × (−∞) is NaN, −1 × (−∞) is +∞, and in a row that is masked throughout "
                "−∞ == −∞ is True.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            factors_for_one_matrix,
            Text(
                "factors[:, None, None]은 행렬 하나에만 맞고, ∞ × 0, ∞ − ∞, 0 × (−∞)가 NaN입니다. batch 축이 몇 개든 되게 배수마다 따로 "
                "계산하고, 극한과 가려진 자리를 따로 다루세요.",
                "factors[:, None, None] fits a single matrix only, and ∞ × 0, ∞ − ∞ and 0 × (−∞) are NaN. Compute factor by factor, "
                "whatever the batch axes, and treat the limit and masked places apart.",
            ),
            frozenset({"batches", "limit", "masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "infinity_multiplied_and_guarded",
                ("if np.isinf(factor)", "if False"),
                (
                    "np.where(np.isneginf(highest), 0.0, highest)",
                    "np.where(np.isfinite(highest), highest, 0.0)",
                ),
            ),
            INFINITY_MULTIPLIED,
            frozenset({"limit", "masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "dead_row_undefined_but_in_the_limit",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
            ),
            Text(
                "유한한 배수에서 모두 가려진 row가 NaN입니다 (최댓값을 뺄 때 −∞ − (−∞), 또는 나눌 때 0 / 0). 그 weights는 0입니다.",
                "With finite factors, a row that is masked throughout became NaN: −∞ − (−∞) where its maximum is subtracted, or 0 / 0 where its sum divides. Its weights are 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "dead_row_undefined_in_the_limit",
                (
                    "np.where(total == 0, 1.0, total)",
                    "np.where((total == 0) & np.isfinite(factor), 1.0, total)",
                ),
            ),
            Text(
                "극한에서 모두 가려진 row가 0 / 0 = NaN이 되었습니다. 1을 둘 자리가 없는 row의 weights는 0입니다.",
                "In the limit, a row that is masked throughout became 0 / 0 = NaN. A row with no place for a 1 has weights 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                sharpen,
                "finite_fill_multiplied",
                ("    allowed =", "    logits = np.where(np.isneginf(logits), -1e9, logits)\n    allowed ="),
            ),
            Text(
                "−∞를 −1e9로 바꾼 다음 배수를 곱했습니다. 0배에서는 0이 되고 음수 배에서는 가장 커져, 가려진 Key를 읽습니다. 곱한 다음에 −∞를 두세요.",
                "−∞ is replaced by −1e9 and then multiplied: by 0 it becomes 0, by a negative factor the largest, and masked Keys are read. Put −∞ there after multiplying.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(sharpen, "sharpen_squeezed", ("np.stack(results)", "np.squeeze(results)")),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches", "limit"}),
        ),
    ),
    right_answers=(
        sharpen_by_power,
        sharpen_by_loops,
        sharpen_at_once,
        sharpen_in_torch,
        sharpen_in_float32,
    ),
)


# --- Task 3: attention_in_columns -----------------------------------------------------------------------------


def attention_in_columns(q, k, v, mask=None):
    """q (..., d_k, n_q), k (..., d_k, n_k), v (..., d_v, n_k), mask (..., n_k, n_q) -> (..., d_v, n_q)"""
    logits = np.swapaxes(k, -1, -2) @ q / np.sqrt(q.shape[-2])
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    highest = logits.max(axis=-2, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-2, keepdims=True)
    return v @ (exponentials / np.where(total == 0, 1.0, total))


def in_columns(inputs):
    """The same arrays with a column for each row."""
    return {name: rows.T.copy() for name, rows in inputs.items()}


def draw_columns(rng):
    wide = {"q": rng.normal(size=(11, 5)), "k": rng.normal(size=(11, 7)), "v": rng.normal(size=(2, 7))}
    return [in_columns(random_qkv(rng)), wide]


def draw_column_batches(rng):
    return [
        {"q": rng.normal(size=(2, 3, 5)), "k": rng.normal(size=(2, 3, 7)), "v": rng.normal(size=(2, 11, 7))},
        {
            "q": rng.normal(size=(2, 3, 13, 5)),
            "k": rng.normal(size=(3, 13, 11)),
            "v": rng.normal(size=(7, 11)),
        },
        {"q": rng.normal(size=(3, 5)), "k": rng.normal(size=(2, 1, 3, 7)), "v": rng.normal(size=(11, 7))},
        {
            "q": rng.normal(size=(2, 3, 5)),
            "k": rng.normal(size=(2, 3, 7)),
            "v": rng.normal(size=(2, 11, 7)),
            "mask": np.stack([random_mask(rng, 5, 7).T for _ in range(2)]),
        },
    ]


def draw_masked_columns(rng):
    # Padding is the same for all Queries.
    padding = rng.permutation([True, True, True, True, False, False, False])[:, None]
    return [in_columns(masked_qkv(rng)), {**in_columns(random_qkv(rng)), "mask": padding}]


def draw_dead_column(rng):
    return [in_columns({**random_qkv(rng), "mask": random_mask(rng, 5, 7, dead_row=True)})]


def draw_extreme_columns(rng):
    return [in_columns(inputs) for inputs in extreme_qkv(rng)]


COLUMN_PARTS = (
    Part("plain", 1, Text("mask 없이", "no mask"), draw_columns),
    Part("batches", 1, Text("broadcast되는 batch", "batches that broadcast"), draw_column_batches),
    Part("masked", 1, Text("mask (n_k, n_q)", "a mask (n_k, n_q)"), draw_masked_columns),
    Part("dead", 1, Text("볼 Key가 없는 Query", "a Query that may attend to no Key"), draw_dead_column),
    Part(
        "extremes",
        1,
        Text("아주 크거나 작은 scores", "very large and very small scores"),
        draw_extreme_columns,
    ),
)
MODERATE = everywhere(COLUMN_PARTS) - {"extremes"}
WITH_MASK = everywhere(COLUMN_PARTS) - {"plain"}


def attention_in_rows(q, k, v, mask=None):
    """The usual four operations, for rows (..., n, d)."""
    logits = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    shifted = np.exp(logits - np.nan_to_num(logits.max(axis=-1, keepdims=True), neginf=0.0))
    return shifted / np.maximum(shifted.sum(axis=-1, keepdims=True), 1e-300) @ v


def rows_taken_for_columns(q, k, v, mask=None):
    return attention_in_rows(q, k, v, mask)


def weights_masked_afterwards(q, k, v, mask=None):
    logits = np.swapaxes(k, -1, -2) @ q / np.sqrt(q.shape[-2])
    exponentials = np.exp(logits - logits.max(axis=-2, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-2, keepdims=True)
    return v @ (weights if mask is None else weights * mask)


def shared_again_unguarded(q, k, v, mask=None):
    logits = np.swapaxes(k, -1, -2) @ q / np.sqrt(q.shape[-2])
    shares = np.exp(logits - logits.max(axis=-2, keepdims=True)) * (1.0 if mask is None else mask)
    return v @ (shares / shares.sum(axis=-2, keepdims=True))


def mask_left_as_it_is(q, k, v, mask=None):
    q, k, v = (np.swapaxes(x, -1, -2) for x in (q, k, v))
    return np.swapaxes(attention_in_rows(q, k, v, mask), -1, -2)


def half_precision_columns(q, k, v, mask=None):
    return attention_in_columns(*(x.astype(np.float16) for x in (q, k, v)), mask)


def through_rows(q, k, v, mask=None):
    q, k, v = (np.moveaxis(x, -1, -2) for x in (q, k, v))
    mask = None if mask is None else np.swapaxes(mask, -1, -2)
    return np.swapaxes(attention_in_rows(q, k, v, mask), -1, -2)


def columns_by_loops(q, k, v, mask=None):
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (q, k, v))
    n_k, n_q = k.shape[-1], q.shape[-1]
    allowed = np.broadcast_to(True if mask is None else mask, (*batch, n_k, n_q))
    output = np.zeros((*batch, v.shape[-2], n_q))
    for *b, i in np.ndindex((*batch, n_q)):
        b = tuple(b)
        keys = [j for j in range(n_k) if allowed[b][j, i]]
        logits = [k[b][:, j] @ q[b][:, i] / q.shape[-2] ** 0.5 for j in keys]
        shares = [np.exp(x - max(logits)) for x in logits]
        for share, j in zip(shares, keys, strict=True):
            output[b][:, i] += share / sum(shares) * v[b][:, j]
    return output


def columns_by_einsum(q, k, v, mask=None):
    logits = np.einsum("...dj,...di->...ji", k, q) * q.shape[-2] ** -0.5
    allowed = np.ones_like(logits, dtype=bool) if mask is None else np.broadcast_to(mask, logits.shape)
    highest = np.max(logits, axis=-2, keepdims=True, where=allowed, initial=-1e300)
    shares = np.where(allowed, np.exp(np.where(allowed, logits - highest, 0.0)), 0.0)
    weights = shares / np.maximum(shares.sum(axis=-2, keepdims=True), 1)
    return np.einsum("...ej,...ji->...ei", v, weights)


def columns_in_torch(q, k, v, mask=None):
    import torch

    q, k, v = (torch.as_tensor(x) for x in (q, k, v))
    logits = k.transpose(-1, -2) @ q / q.shape[-2] ** 0.5
    if mask is not None:
        logits = logits.masked_fill(~torch.as_tensor(mask), -torch.inf)
    return v @ logits.softmax(dim=-2).nan_to_num(0.0)


def columns_in_float32(q, k, v, mask=None):
    return attention_in_columns(*(x.astype(np.float32) for x in (q, k, v)), mask)


FINITE_FILL = Text(
    "−1e9로 채우면 그보다 작은 score와 모두 가려진 column에서 가려진 Value를 읽습니다. -np.inf를 쓰세요.",
    "Filling with −1e9 reads masked Values where scores are smaller or a column is masked throughout. Write -np.inf.",
)


ATTENTION_IN_COLUMNS = Task(
    name="attention_in_columns",
    reference=attention_in_columns,
    parts=COLUMN_PARTS,
    see="worked-example.html#worked-example-notation",
    mistakes=(
        Mistake(
            variant(
                attention_in_columns,
                "softmax_over_queries",
                ("logits.max(axis=-2", "logits.max(axis=-1"),
                ("exponentials.sum(axis=-2", "exponentials.sum(axis=-1"),
            ),
            Text(
                "Softmax가 마지막 축, 곧 Query 축을 따라 계산되었습니다. KᵀQ에서 Key 축은 axis=-2입니다.",
                "Softmax runs over the last axis, which holds the Queries. In KᵀQ the Keys are axis=-2.",
            ),
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            variant(attention_in_columns, "scaled_by_n_q", ("np.sqrt(q.shape[-2])", "np.sqrt(q.shape[-1])")),
            Text(
                "√n_q로 나누었습니다. column 표기에서 d_k는 q.shape[-2]입니다.",
                "This divides by √n_q. With columns, d_k is q.shape[-2].",
            ),
            MODERATE,
        ),
        Mistake(
            variant(attention_in_columns, "scaled_by_n_k", ("np.sqrt(q.shape[-2])", "np.sqrt(k.shape[-1])")),
            Text(
                "√n_k로 나누었습니다. column 표기에서 k.shape[-1]은 Keys의 수이고, d_k는 k.shape[-2]입니다.",
                "This divides by √n_k. With columns, k.shape[-1] is the number of Keys, and d_k is k.shape[-2].",
            ),
            MODERATE,
        ),
        Mistake(
            variant(attention_in_columns, "mask_added", ("np.where(mask, logits, -np.inf)", "logits + mask")),
            MASK_ADDED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention_in_columns,
                "first_axis_for_keys",
                ("logits.max(axis=-2", "logits.max(axis=0"),
                ("exponentials.sum(axis=-2", "exponentials.sum(axis=0"),
            ),
            Text(
                "axis=0은 행렬 하나일 때만 Key 축입니다. batch가 있으면 뒤에서 둘째 축 axis=-2입니다.",
                "axis=0 is the Key axis of a single matrix only. With batch axes it is the last but one, axis=-2.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(attention_in_columns, "scaled_by_d_k", ("np.sqrt(q.shape[-2])", "q.shape[-2]")),
            DIVIDED_BY_D_K,
            MODERATE,
        ),
        Mistake(
            variant(attention_in_columns, "scaled_by_d_v", ("np.sqrt(q.shape[-2])", "np.sqrt(v.shape[-2])")),
            SCALED_BY_D_V,
            MODERATE,
        ),
        Mistake(
            variant(attention_in_columns, "not_scaled", (" / np.sqrt(q.shape[-2])", "")),
            NOT_SCALED,
            MODERATE,
        ),
        Mistake(
            variant(
                attention_in_columns,
                "output_in_rows",
                (
                    "v @ (exponentials / np.where(total == 0, 1.0, total))",
                    "np.swapaxes(v @ (exponentials / np.where(total == 0, 1.0, total)), -1, -2)",
                ),
            ),
            Text(
                "output이 rows로 나왔습니다. Query마다 column 하나, shape는 (..., d_v, n_q)입니다.",
                "The output comes in rows. There is one column a Query: (..., d_v, n_q).",
            ),
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            mask_left_as_it_is,
            Text(
                "q, k, v는 rows로 뒤집고 mask는 뒤집지 않았습니다. mask도 (n_k, n_q)로 옵니다.",
                "q, k and v are turned into rows, and the mask is not. It comes as (n_k, n_q) too.",
            ),
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention_in_columns,
                "first_batch_for_all",
                (
                    "    logits = np.swapaxes",
                    "    k, v = k.reshape(-1, *k.shape[-2:])[0], v.reshape(-1, *v.shape[-2:])[0]\n    logits = np.swapaxes",
                ),
            ),
            FIRST_BATCH_FOR_ALL,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                attention_in_columns, "mask_not_used", ("np.where(mask, logits, -np.inf)", "1.0 * logits")
            ),
            MASK_NOT_USED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention_in_columns, "mask_multiplied", ("np.where(mask, logits, -np.inf)", "logits * mask")
            ),
            MASK_MULTIPLIED,
            WITH_MASK,
        ),
        Mistake(
            weights_masked_afterwards,
            MASKED_AFTER_SOFTMAX,
            WITH_MASK,
        ),
        Mistake(
            half_precision_columns,
            HALF_PRECISION,
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            variant(attention_in_columns, "all_axes_reversed", ("np.swapaxes(k, -1, -2)", "k.T")),
            ALL_AXES_REVERSED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "mask_as_an_index",
                ("logits = np.where(mask, logits, -np.inf)", "logits[~mask] = -np.inf"),
            ),
            Text(
                "logits[~mask] = …는 mask와 logits의 shape가 꼭 같을 때만 됩니다. mask는 broadcast될 수 있으니 np.where로 고르세요.",
                "logits[~mask] = … needs a mask of just the shape of the logits. The mask may broadcast: select with np.where.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "finite_number_added",
                ("np.where(mask, logits, -np.inf)", "logits + np.where(mask, 0, -1e9)"),
            ),
            FINITE_FILL,
            frozenset({"dead", "extremes"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "einsum_of_one_pair",
                ("np.swapaxes(k, -1, -2) @ q", 'np.einsum("dk,dq->kq", k, q)'),
            ),
            Text(
                'einsum의 "dk,dq->kq"는 행렬 하나에만 맞습니다. batch 축은 ...으로 적습니다: "...dk,...dq->...kq".',
                'einsum\'s "dk,dq->kq" fits a single matrix only. Write ... for batch axes: "...dk,...dq->...kq".',
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(attention_in_columns, "mask_inverted", ("logits, -np.inf", "-np.inf, logits")),
            MASK_INVERTED,
            WITH_MASK,
        ),
        Mistake(
            variant(attention_in_columns, "finite_fill", ("-np.inf)", "-1e9)")),
            FINITE_FILL,
            frozenset({"dead", "extremes"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "finite_fill_masked_afterwards",
                ("-np.inf)", "-1e9)"),
                (
                    "v @ (exponentials / np.where(total == 0, 1.0, total))",
                    "v @ np.where(True if mask is None else mask, exponentials / total, 0.0)",
                ),
            ),
            FINITE_FILL,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "dead_query_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "볼 Key가 없는 Query의 column이 NaN입니다. 아무것도 읽지 않으므로 0입니다.",
                "The column of a Query that may attend to no Key is NaN. It reads nothing: 0.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "softmax_unguarded",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "column의 최댓값도 빼지 않고 합이 0인 column도 살피지 않은 Softmax입니다. 큰 값에서 넘치고, 모두 가려진 column은 0/0이 됩니다.",
                "This Softmax neither subtracts the column's maximum nor looks for columns whose sum is 0: large values overflow, and a column that is masked throughout becomes 0/0.",
            ),
            frozenset({"dead", "extremes"}),
        ),
        Mistake(
            variant(
                attention_in_columns, "first_axis_for_d_k", ("np.sqrt(q.shape[-2])", "np.sqrt(q.shape[0])")
            ),
            Text(
                "q.shape[0]은 batch가 없을 때만 d_k입니다. q.shape[-2]를 쓰세요.",
                "q.shape[0] is d_k only where there is no batch axis. Use q.shape[-2].",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "exponential_overflows",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
            ),
            Text(
                "column의 최댓값을 빼지 않아 exp가 넘치거나 모두 0이 되었습니다.",
                "Without the column's maximum subtracted, exp overflows or vanishes.",
            ),
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "mask_required",
                (
                    "    if mask is not None:\n        logits = np.where(mask, logits, -np.inf)",
                    "    logits = np.where(~mask, -np.inf, logits)",
                ),
            ),
            MASK_REQUIRED,
            frozenset({"plain", "batches", "extremes"}),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "mask_of_none",
                (
                    "    if mask is not None:\n        logits = np.where(mask, logits, -np.inf)",
                    "    logits = np.where(mask, logits, -np.inf)",
                ),
            ),
            MASK_OF_NONE,
            frozenset({"plain", "batches", "extremes"}),
        ),
        Mistake(
            rows_taken_for_columns,
            Text(
                "row 표기의 식 QKᵀ를 그대로 썼습니다. column 표기에서는 d_k 축이 앞에 있으므로 KᵀQ입니다.",
                "This is the formula for rows, QKᵀ, as it stands. With columns the d_k axis comes first: KᵀQ.",
            ),
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "keys_overwritten",
                (
                    "    logits = np.swapaxes(k, -1, -2) @ q / np.sqrt(q.shape[-2])",
                    "    k /= np.sqrt(q.shape[-2])\n    logits = np.swapaxes(k, -1, -2) @ q",
                ),
            ),
            Text(
                "입력 k를 제자리에서 바꾸었습니다 (/=). 새 배열에 계산하세요.",
                "The input k is changed in place (/=). Compute into a new array.",
            ),
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "axis_lost",
                ("max(axis=-2, keepdims=True)", "max(axis=-2)"),
                ("sum(axis=-2, keepdims=True)", "sum(axis=-2)"),
            ),
            Text(
                "최댓값과 합에서 Key 축이 사라졌습니다. axis=-2에서는 행렬 하나일 때만 우연히 맞고, batch가 있으면 축이 어긋납니다: "
                "keepdims=True.",
                "Maximum and sum have lost the Key axis. With axis=-2 a single matrix happens to fit; with batch axes "
                "others meet: keepdims=True.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(attention_in_columns, "truth_of_the_mask", ("if mask is not None", "if mask")),
            TRUTH_OF_AN_ARRAY,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention_in_columns,
                "axes_of_rows",
                ("np.sqrt(q.shape[-2])", "np.sqrt(q.shape[-1])"),
                ("logits.max(axis=-2", "logits.max(axis=-1"),
                ("exponentials.sum(axis=-2", "exponentials.sum(axis=-1"),
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "KᵀQ는 맞지만 축은 row 표기의 것입니다. 여기서 q.shape[-1]은 n_q이고 마지막 축은 Queries입니다. d_k는 q.shape[-2], "
                "Softmax는 axis=-2입니다.",
                "KᵀQ is right, but the axes are those of rows: here q.shape[-1] is n_q, and the last axis holds the Queries. "
                "d_k is q.shape[-2], and Softmax runs over axis=-2.",
            ),
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "dead_query_reads_the_mean",
                (
                    "    highest =",
                    "    logits = np.where(np.isneginf(logits).all(axis=-2, keepdims=True), 0.0, logits)\n    highest =",
                ),
            ),
            READS_THE_MEAN,
            frozenset({"dead"}),
        ),
        Mistake(
            shared_again_unguarded,
            SHARED_AGAIN_UNGUARDED,
            frozenset({"dead", "extremes"}),
        ),
        Mistake(
            variant(attention_in_columns, "maximum_over_queries", ("max(axis=-2", "max(axis=-1")),
            Text(
                "최댓값을 Query 축(axis=-1)을 따라 구했습니다. 한 column에서 서로 다른 수를 빼면 weights가 달라집니다. 합과 같은 axis=-2입니다.",
                "The maximum runs over the Queries (axis=-1). Within a column, different numbers are then subtracted, which changes the weights. Take axis=-2, as in the sum.",
            ),
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "weights_returned",
                (
                    "v @ (exponentials / np.where(total == 0, 1.0, total))",
                    "exponentials / np.where(total == 0, 1.0, total)",
                ),
            ),
            Text(
                "weights를 돌려주었습니다. output은 Values를 weights로 섞은 것입니다: V A.",
                "These are the weights. The output mixes the Values with them: V A.",
            ),
            everywhere(COLUMN_PARTS),
        ),
        Mistake(
            variant(
                attention_in_columns,
                "attention_in_columns_squeezed",
                (
                    "return v @ (exponentials / np.where(total == 0, 1.0, total))",
                    "return np.squeeze(v @ (exponentials / np.where(total == 0, 1.0, total)))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        through_rows,
        columns_by_loops,
        columns_by_einsum,
        columns_in_torch,
        columns_in_float32,
    ),
)


# --- Task 4: shown_weights ------------------------------------------------------------------------------------


def shown_weights(weights, decimals=2):
    """weights (..., n_q, n_k) -> the same shape: rounded to `decimals`, and each row still has its sum"""
    unit = 10**decimals
    exact = weights * unit
    shown = np.floor(exact)
    missing = np.rint(exact.sum(axis=-1, keepdims=True) - shown.sum(axis=-1, keepdims=True))
    # Stable, so that the earlier of two equal remainders comes first.
    order = np.argsort(shown - exact, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1)
    return (shown + (rank < missing)) / unit


# Weights in 4096ths: they, and their products with 10, 100 and 1000, are exact in float32.
PARTS_OF_ONE = 4096


def telling_row(rng, n_k, unit, parts=PARTS_OF_ONE):
    """A row on which np.round misses the sum, two units at least are missing, and no two remainders are alike."""
    while True:
        row = rng.multinomial(parts, rng.dirichlet(np.ones(n_k)))
        remainders = row * unit % parts
        rounded = np.round(row * unit / parts).sum()
        if rounded != unit and remainders.sum() >= 2 * parts and len(set(remainders)) == n_k:
            return row / parts


def inexact_row(rng, n_k, unit, side):
    """Such a row of three decimals, of which no number is exact: however its missing units, an integer, are counted,
    they come out below it (side -1) or above it (side 1)."""
    while True:
        row = telling_row(rng, n_k, unit, parts=1000)
        exact, shown = row * unit, np.floor(row * unit)
        missing = np.array([sum(exact) - sum(shown), sum(exact - shown), sum(row) * unit - sum(shown)])
        if (exact % 1).all() and (np.sign(missing - np.rint(missing)) == side).all():
            return row


def telling_rows(rng, *shape, unit=100):
    return np.array([telling_row(rng, shape[-1], unit) for _ in range(np.prod(shape[:-1]))]).reshape(shape)


def draw_shown_rows(rng):
    return [{"weights": telling_rows(rng, 5, 7)}]


def draw_decimals(rng):
    return [
        {"weights": telling_rows(rng, 5, 7, unit=1000), "decimals": 3},
        {"weights": np.array([inexact_row(rng, 5, 10, side) for side in (-1, -1, 1)]), "decimals": 1},
    ]


def draw_shown_batches(rng):
    return [{"weights": telling_rows(rng, 2, 3, 5, 7)}, {"weights": telling_rows(rng, 2, 1, 5, 7)}]


# More equal remainders than the 16 numbers that an unstable sort happens to keep in order; in the second row they lie
# above one half, so that whoever rounds first has units to take back.
MANY_EQUAL = np.array([[3.0] * 31 + [6] * 5 + [5], [2] * 30 + [10] * 5 + [9] * 2]) / 128


def draw_equal_remainders(rng):
    # Only equal weights have equal remainders: in others rounding may tell them apart, by however one counts.
    rows = np.array([[4.0, 4, 4, 2, 2], [2, 2, 2, 5, 5], [2, 2, 2, 2, 8]]) / 16
    while True:
        weights = rng.permuted(rows, axis=1)
        # Of the first row one unit is missing: whoever takes the order for the ranks gives it to another Key.
        order = np.argsort(-(weights[0] * 100 % 1), kind="stable")
        if order[order[0]] != 0:
            return [{"weights": weights}, {"weights": rng.permuted(MANY_EQUAL, axis=1)}]


def draw_unread_rows(rng):
    weights = np.zeros((5, 11))
    weights[:, rng.permutation(11)[:7]] = telling_rows(rng, 5, 7)
    weights[rng.integers(5)] = 0.0
    return [{"weights": weights}]


SHOWN_PARTS = (
    Part("rows", 2, Text("소수 둘째 자리", "two decimals"), draw_shown_rows),
    Part("decimals", 1, Text("다른 자릿수", "other numbers of decimals"), draw_decimals),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_shown_batches),
    Part(
        "ties",
        1,
        Text("같은 나머지: 앞의 Key가 먼저", "equal remainders: the earlier Key first"),
        draw_equal_remainders,
    ),
    Part(
        "masked", 1, Text("가려진 Keys와 모두 가려진 row", "masked Keys, and a row of them"), draw_unread_rows
    ),
)


def rounded_and_mended_at_the_largest(weights, decimals=2):
    shown = np.round(weights, decimals)
    off = 1 - shown.sum(axis=-1)
    np.put_along_axis(shown, shown.argmax(-1)[..., None], (shown.max(-1) + off)[..., None], axis=-1)
    return shown


def last_key_completes_the_sum(weights, decimals=2):
    shown = np.round(weights, decimals)
    shown[..., -1] = 1 - shown[..., :-1].sum(axis=-1)
    return shown


def all_from_a_remainder_on(weights, decimals=2):
    unit = 10**decimals
    shown = np.floor(weights * unit)
    remainders = weights * unit - shown
    for row in np.ndindex(weights.shape[:-1]):
        missing = round(remainders[row].sum())
        if missing:
            shown[row] += remainders[row] >= np.sort(remainders[row])[-missing]
    return shown / unit


def rounded_and_mended_by_errors(weights, decimals=2):
    unit = 10**decimals
    shown = np.round(weights * unit)
    for row in np.ndindex(weights.shape[:-1]):
        missing = round((weights[row] * unit).sum() - shown[row].sum())
        errors = (weights[row] * unit - shown[row]) * np.sign(missing)
        shown[row][np.argsort(-errors, kind="stable")[: abs(missing)]] += np.sign(missing)
    return shown / unit


def scaled_in_place(weights, decimals=2):
    weights *= 10**decimals
    return shown_weights(weights / 10**decimals, decimals)


def shown_one_unit_at_a_time(weights, decimals=2):
    """Whoever lacks most gets the next unit, until the row's sum is reached."""
    shown = np.floor(weights * 10**decimals)
    for row in np.ndindex(weights.shape[:-1]):
        while shown[row].sum() < round(weights[row].sum() * 10**decimals):
            shown[row][np.argmax(weights[row] * 10**decimals - shown[row])] += 1
    return shown / 10**decimals


def shown_in_fractions(weights, decimals=2):
    unit, result = 10**decimals, np.zeros(weights.shape)
    for row in np.ndindex(weights.shape[:-1]):
        exact = [Fraction(float(x)) * unit for x in weights[row]]
        whole = [x.numerator // x.denominator for x in exact]
        missing = round(sum(exact)) - sum(whole)
        ahead = sorted(range(len(exact)), key=lambda j: (whole[j] - exact[j], j))[:missing]
        result[row] = [(n + (j in ahead)) / unit for j, n in enumerate(whole)]
    return result


def shown_by_lexsort(weights, decimals=2):
    unit = 10.0**decimals
    whole, rest = np.divmod(weights * unit, 1.0)
    keys = np.broadcast_to(np.arange(weights.shape[-1]), weights.shape)
    order = np.lexsort((keys, -rest), axis=-1)
    extra = np.arange(weights.shape[-1]) < np.round(rest.sum(axis=-1))[..., None]
    np.put_along_axis(whole, order, np.take_along_axis(whole, order, -1) + extra, axis=-1)
    return whole / unit


def shown_in_torch(weights, decimals=2):
    import torch

    exact = torch.as_tensor(weights) * 10**decimals
    rest = exact - exact.floor()
    order = rest.argsort(dim=-1, descending=True, stable=True)
    rank = order.argsort(dim=-1)
    return (exact.floor() + (rank < rest.sum(dim=-1, keepdim=True).round())) / 10**decimals


def shown_in_float32(weights, decimals=2):
    return shown_weights(weights.astype(np.float32), decimals)


SHOWN_WEIGHTS = Task(
    name="shown_weights",
    reference=shown_weights,
    parts=SHOWN_PARTS,
    see="worked-example.html#worked-example-softmax",
    mistakes=(
        Mistake(
            variant(
                shown_weights,
                "each_rounded_alone",
                ("(shown + (rank < missing)) / unit", "np.round(weights, decimals)"),
            ),
            Text(
                "하나하나 반올림했습니다(np.round). 보이는 수의 합이 1이 아닌 row가 생깁니다.",
                "Each weight is rounded on its own (np.round), and some rows shown no longer sum to 1.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(shown_weights, "cut_off", ("(shown + (rank < missing))", "shown")),
            Text(
                "뒷자리를 버리기만 했습니다. 버린 만큼을 한 단위씩 나누어 주어야 합이 남습니다.",
                "The further digits are only cut off. Hand out what was cut, a unit each, and the sum stays.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "normalised_again",
                (
                    "return (shown + (rank < missing)) / unit",
                    "shown = np.round(weights, decimals)\n"
                    "    total = shown.sum(axis=-1, keepdims=True)\n"
                    "    return shown / np.where(total == 0, 1.0, total)",
                ),
            ),
            Text(
                "반올림한 다음 합으로 나누었습니다. 합은 1이지만 더는 정해진 자릿수의 수가 아닙니다.",
                "This rounds and divides by the sum. It sums to 1, but has no longer the decimals asked for.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "missing_units_cut",
                (
                    "np.rint(exact.sum(axis=-1, keepdims=True) - shown.sum(axis=-1, keepdims=True))",
                    "(exact.sum(axis=-1, keepdims=True) - shown.sum(axis=-1, keepdims=True)).astype(int)",
                ),
            ),
            Text(
                "모자란 단위의 수를 정수로 잘랐습니다(int, //). 소수는 정확히 저장되지 않아 2가 1.9999…로 나오고, 자르면 1이 됩니다. np.rint로 반올림하세요.",
                "The number of missing units is cut to an integer (int, //). Decimals are not stored exactly: 2 comes out as 1.9999…, "
                "which cutting makes 1. Round it with np.rint.",
            ),
            frozenset({"decimals"}),
        ),
        Mistake(
            variant(shown_weights, "missing_units_rounded_up", ("np.rint(exact", "np.ceil(exact")),
            Text(
                "모자란 단위의 수를 올렸습니다(np.ceil). 소수는 정확히 저장되지 않아 2가 2.0000…1로도 나오고, 올리면 3이 됩니다. np.rint로 반올림하세요.",
                "The number of missing units is rounded up (np.ceil). Decimals are not stored exactly: 2 may come out as 2.0000…1, "
                "which is 3 then. Round it with np.rint.",
            ),
            frozenset({"decimals"}),
        ),
        Mistake(
            rounded_and_mended_at_the_largest,
            Text(
                "반올림하고 어긋난 만큼을 가장 큰 weight에서 고쳤습니다. 나머지가 가장 큰 Keys가 한 단위씩 받습니다.",
                "This rounds and mends the sum at the largest weight. The Keys with the largest remainders get a unit each.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            all_from_a_remainder_on,
            Text(
                "가장 작은 받을 나머지와 같은 Keys가 모두 받아 합이 넘쳤습니다 (>=). 같은 나머지 가운데서는 앞의 Key부터, 모자란 수만큼만 줍니다.",
                "All Keys with the smallest remainder that still gets a unit have one (>=), and the sum is too large. Of equal "
                "remainders the earlier come first, as many as are missing.",
            ),
            frozenset({"ties"}),
        ),
        Mistake(
            rounded_and_mended_by_errors,
            Text(
                "반올림한 다음 넘친 단위를 도로 가져왔습니다. 나머지가 같으면 뒤의 Key에서 가져와야 하는데 앞에서 가져왔습니다. 내림에서 시작하면 나누어 "
                "주기만 하면 됩니다.",
                "This rounds, and takes back what is too much. Of equal remainders the later Keys would have to give back, and here the "
                "earlier do. Start by rounding down, and there is only handing out.",
            ),
            frozenset({"ties"}),
        ),
        Mistake(
            variant(
                shown_weights,
                "all_to_the_first",
                ("(rank < missing)", "missing * (rank == 0)"),
            ),
            Text(
                "모자란 단위를 모두 한 Key에 주었습니다. 나머지가 큰 차례로 한 단위씩 나눕니다.",
                "One Key gets all missing units. Give one each, in the order of the remainders.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            last_key_completes_the_sum,
            Text(
                "마지막 Key를 '1에서 나머지를 뺀 값'으로 정했습니다. 한 Key가 모든 오차를 떠안습니다.",
                "The last Key is '1 minus the others', and bears all the error alone.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights, "largest_weights_first", ("np.argsort(shown - exact", "np.argsort(-exact")
            ),
            Text(
                "weight가 큰 차례로 나누어 주었습니다. 기준은 버린 나머지(exact − floor)입니다.",
                "The units go by the size of the weights. What counts is the remainder cut off (exact − floor).",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "smallest_remainders_first",
                ("np.argsort(shown - exact", "np.argsort(exact - shown"),
            ),
            Text(
                "나머지가 작은 차례로 나누어 주었습니다. 큰 차례입니다.",
                "The units go to the smallest remainders. The largest come first.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "later_of_equals_first",
                (
                    'np.argsort(shown - exact, axis=-1, kind="stable")',
                    'np.argsort(exact - shown, axis=-1, kind="stable")[..., ::-1]',
                ),
            ),
            Text(
                '나머지가 같을 때 뒤의 Key가 먼저 받았습니다. 앞의 Key가 먼저입니다 (kind="stable").',
                'Of equal remainders, the later Key came first. The earlier comes first (kind="stable").',
            ),
            frozenset({"ties"}),
        ),
        Mistake(
            variant(
                shown_weights,
                "dead_row_filled",
                ("exact.sum(axis=-1, keepdims=True) -", "unit -"),
            ),
            Text(
                "모두 가려진 row에도 단위를 나누어 주었습니다. 그 row의 합은 1이 아니라 0이므로 그대로 0입니다.",
                "A row that is masked throughout was given units. Its sum is 0, not 1: it stays 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(shown_weights, "always_two_decimals", ("10**decimals", "100")),
            Text(
                "decimals 인자를 쓰지 않고 늘 두 자리입니다.",
                "The argument decimals is not used: there are always two.",
            ),
            frozenset({"decimals"}),
        ),
        Mistake(
            variant(shown_weights, "in_units", ("(rank < missing)) / unit", "(rank < missing))")),
            Text(
                "단위의 수(퍼센트 따위)를 돌려주었습니다. 다시 10**decimals로 나누세요.",
                "These are numbers of units (per cent, say). Divide by 10**decimals again.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "missing_of_all_rows",
                (
                    "exact.sum(axis=-1, keepdims=True) - shown.sum(axis=-1, keepdims=True)",
                    "exact.sum() - shown.sum()",
                ),
            ),
            Text(
                "모든 row에서 모자란 수를 한데 더했습니다. row마다 따로 셉니다 (axis=-1, keepdims=True).",
                "What is missing is summed over all rows. Count it row by row (axis=-1, keepdims=True).",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(shown_weights, "rounded_up", ("np.floor(exact)", "np.ceil(exact)")),
            Text(
                "올림에서 시작했습니다. 합이 넘쳐 나누어 줄 것이 없습니다. 내림(np.floor)에서 시작하세요.",
                "This starts by rounding up, so that the sum is too large already. Start from np.floor.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            scaled_in_place,
            Text(
                "입력 weights를 제자리에서 바꾸었습니다 (*=). 새 배열에 계산하세요.",
                "The input weights are changed in place (*=). Compute into a new array.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "axis_lost",
                ("exact.sum(axis=-1, keepdims=True)", "exact.sum(axis=-1)"),
                ("shown.sum(axis=-1, keepdims=True)", "shown.sum(axis=-1)"),
            ),
            AXIS_LOST,
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(shown_weights, "order_for_rank", ("np.argsort(order, axis=-1)", "order")),
            Text(
                "argsort가 주는 것은 등수가 아니라, 큰 차례로 늘어놓은 Keys의 번호입니다. 한 번 더 argsort하면 등수가 됩니다.",
                "What argsort gives are not ranks but the Keys' numbers in order. Sorted once more by argsort, they become ranks.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "all_to_the_largest_weight",
                (
                    "(rank < missing)",
                    "missing * (np.arange(weights.shape[-1]) == weights.argmax(axis=-1)[..., None])",
                ),
            ),
            Text(
                "모자란 단위를 모두 가장 큰 weight에 주었습니다. 나머지가 가장 큰 Keys에 하나씩 줍니다.",
                "All missing units go to the largest weight. Give one each to the Keys with the largest remainders.",
            ),
            everywhere(SHOWN_PARTS),
        ),
        Mistake(
            variant(
                shown_weights,
                "shown_weights_squeezed",
                ("(shown + (rank < missing)) / unit", "np.squeeze((shown + (rank < missing)) / unit)"),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        shown_one_unit_at_a_time,
        shown_in_fractions,
        shown_by_lexsort,
        shown_in_torch,
        shown_in_float32,
    ),
)


# --- Task 5: lost_numbers -------------------------------------------------------------------------------------


def lost_numbers(weights, d_v):
    """weights (..., n_q, n_k) -> (...): of the n_k * d_v numbers in V, how many the output leaves free"""
    rank = np.linalg.matrix_rank(weights)
    return (weights.shape[-1] - rank) * d_v


def dyadic_weights(rng, *shape):
    """Rows in 64ths, each with its stress on a Key of its own: exact in float32, sums and halves included."""
    spread = rng.multinomial(28, np.ones(shape[-1]) / shape[-1], shape[:-1])
    places = rng.permutation(shape[-1])[np.arange(shape[-2]) % shape[-1]]
    return (spread + 36 * np.eye(shape[-1])[places]) / 64


# How many rows are independent differs from draw to draw: nobody can tell it by the shape.


def draw_few_queries(rng):
    some, few = dyadic_weights(rng, 5, 11), dyadic_weights(rng, 3, 7)
    some[rng.permutation(5)[: rng.integers(1, 4)]] = 0.0
    few[rng.permutation(3)[: rng.integers(0, 3)]] = 0.0
    return [{"weights": some, "d_v": 2}, {"weights": few, "d_v": int(rng.choice([2, 5]))}]


def draw_dependent_queries(rng):
    known, means = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    rows = dyadic_weights(rng, 5, 7)
    same = rows[np.concatenate([np.arange(known), rng.integers(0, known, 5 - known)])]
    rows[:means] = (rows[2 : 2 + means] + rows[3 : 3 + means]) / 2
    return [
        {"weights": rng.permutation(same), "d_v": 3},
        {"weights": rng.permutation(rows), "d_v": int(rng.choice([2, 5]))},
    ]


def draw_many_queries(rng):
    hidden, known = dyadic_weights(rng, 11, 5), int(rng.integers(2, 5))
    hidden[:, rng.permutation(5)[: rng.integers(1, 4)]] = 0.0
    rows = dyadic_weights(rng, known, 5)
    many = rows[np.concatenate([np.arange(known), rng.integers(0, known, 7 - known)])]
    many[known] = 0.0
    return [{"weights": rng.permutation(many), "d_v": 2}, {"weights": hidden, "d_v": 3}]


def draw_weight_batches(rng):
    weights, known = dyadic_weights(rng, 2, 5, 3, 7), rng.permutation([1, 2, 3, 1, 2, 3, 1, 2, 3, 2])
    for place, count in zip(np.ndindex(2, 5), known, strict=True):
        weights[place][count:] = weights[place][0]
    return [{"weights": weights, "d_v": 11}, {"weights": weights[:, 1:2], "d_v": 5}]


LOST_PARTS = (
    Part(
        "few",
        1,
        Text(
            "Query가 Key보다 적고, 읽는 것이 없는 Query도 있을 때",
            "fewer Queries than Keys, and some that read nothing",
        ),
        draw_few_queries,
    ),
    Part(
        "dependent", 1, Text("서로 겹치는 Queries", "Queries that repeat one another"), draw_dependent_queries
    ),
    Part("many", 1, Text("많은 Queries, 가려진 자리", "many Queries, masked places"), draw_many_queries),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_weight_batches),
)


def different_rows_counted(weights, d_v):
    rows = weights.reshape(-1, *weights.shape[-2:])
    counts = [len(np.unique(matrix[matrix.any(axis=1)], axis=0)) for matrix in rows]
    known = np.minimum(counts, weights.shape[-1]).reshape(weights.shape[:-2])
    return (weights.shape[-1] - known) * d_v


def lost_by_singular_values(weights, d_v):
    values = np.linalg.svd(weights, compute_uv=False)
    return d_v * (weights.shape[-1] - (values > 1e-5).sum(axis=-1))


def lost_by_gram_matrix(weights, d_v):
    gram = np.swapaxes(weights, -1, -2) @ weights
    return d_v * np.sum(np.linalg.eigvalsh(gram) < 1e-6, axis=-1)


def lost_by_elimination(weights, d_v):
    """Row by row: what is left of it when the rows before it are taken out, in exact fractions."""
    result = np.zeros(weights.shape[:-2], dtype=int)
    for place in np.ndindex(result.shape):
        basis = []
        for row in weights[place]:
            rest = [Fraction(float(x)) for x in row]
            for pivot, other in basis:
                rest = [x - rest[pivot] * y for x, y in zip(rest, other, strict=True)]
            pivot = next((j for j, x in enumerate(rest) if x), None)
            if pivot is not None:
                basis.append((pivot, [x / rest[pivot] for x in rest]))
        result[place] = (weights.shape[-1] - len(basis)) * d_v
    return result


def lost_in_torch(weights, d_v):
    import torch

    return (weights.shape[-1] - torch.linalg.matrix_rank(torch.as_tensor(weights))) * d_v


def lost_in_float32(weights, d_v):
    return np.float32(lost_numbers(weights.astype(np.float32), d_v))


LOST_NUMBERS = Task(
    name="lost_numbers",
    reference=lost_numbers,
    parts=LOST_PARTS,
    see="worked-example.html#worked-example-mixture",
    mistakes=(
        Mistake(
            variant(
                lost_numbers, "second_axis_for_n_k", ("weights.shape[-1] - rank", "weights.shape[1] - rank")
            ),
            Text(
                "weights.shape[1]은 batch가 없을 때만 n_k입니다. weights.shape[-1]을 쓰세요.",
                "weights.shape[1] is n_k only where there is no batch axis. Use weights.shape[-1].",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                lost_numbers,
                "queries_counted",
                ("np.linalg.matrix_rank(weights)", "np.full(weights.shape[:-2], weights.shape[-2])"),
            ),
            Text(
                "n_k − n_q로 세었습니다. 겹치거나 비어 있는 Query는 새로 알려 주는 것이 없고, n_q > n_k이면 음수가 됩니다.",
                "This counts n_k − n_q. A Query that repeats others or reads nothing tells nothing new, and with n_q > n_k "
                "the count falls below 0.",
            ),
            everywhere(LOST_PARTS),
        ),
        Mistake(
            variant(
                lost_numbers,
                "never_below_zero",
                (
                    "np.linalg.matrix_rank(weights)",
                    "np.full(weights.shape[:-2], min(weights.shape[-2:]))",
                ),
            ),
            Text(
                "min(n_q, n_k)를 rank로 썼거나, singular values를 0과 꼭 같은지 비교했습니다 (계산하면 0 대신 1e-17이 남습니다). rank는 서로 독립인 "
                "row의 수입니다.",
                "min(n_q, n_k) is taken for the rank; or singular values are compared with 0 exactly, where 1e-17 is left of it. "
                "The rank is the number of independent rows.",
            ),
            everywhere(LOST_PARTS),
        ),
        Mistake(
            variant(lost_numbers, "what_is_left", ("(weights.shape[-1] - rank)", "rank")),
            Text(
                "알 수 있는 수를 세었습니다. 묻는 것은 정해지지 않는 수, 곧 n_k − rank 쪽입니다.",
                "This counts what is known. The question is what stays free: n_k − rank.",
            ),
            everywhere(LOST_PARTS),
        ),
        Mistake(
            variant(lost_numbers, "one_column_only", ("rank) * d_v", "rank)")),
            Text(
                "V의 column 하나만 세었습니다. column은 d_v 개이고 저마다 같은 수를 잃습니다.",
                "One column of V is counted. There are d_v, and each loses as many.",
            ),
            frozenset({"few", "dependent", "many", "batches"}),
        ),
        Mistake(
            variant(
                lost_numbers, "rows_minus_rank", ("weights.shape[-1] - rank", "weights.shape[-2] - rank")
            ),
            Text(
                "n_q − rank는 군더더기 Query의 수입니다. V에는 row가 n_k 개 있습니다.",
                "n_q − rank counts superfluous Queries. V has n_k rows.",
            ),
            everywhere(LOST_PARTS),
        ),
        Mistake(
            variant(
                lost_numbers,
                "unread_keys_counted",
                ("(weights.shape[-1] - rank)", "(weights == 0).all(axis=-2).sum(axis=-1)"),
            ),
            Text(
                "아무도 읽지 않는 Key만 세었습니다. 읽힌 Values도 섞이면 하나하나 되찾을 수 없습니다.",
                "Only Keys that nobody reads are counted. Values that are read can't be told apart either, once mixed.",
            ),
            everywhere(LOST_PARTS),
        ),
        Mistake(
            different_rows_counted,
            Text(
                "서로 다른 row의 수를 세었습니다. 다른 두 row의 평균인 row도 새로 알려 주는 것이 없습니다.",
                "Different rows are counted. A row that is the mean of two others tells nothing new either.",
            ),
            frozenset({"dependent", "many"}),
        ),
        Mistake(
            variant(
                lost_numbers,
                "all_batches_together",
                ("matrix_rank(weights)", "matrix_rank(weights.reshape(-1, weights.shape[-1]))"),
            ),
            Text(
                "모든 batch의 rows를 한 matrix로 쌓았습니다. batch마다 따로 세고 결과는 (...)입니다.",
                "The rows of all batch entries are stacked in one matrix. Each entry has its own count: (...).",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                lost_numbers,
                "sum_of_weights_known",
                ("np.linalg.matrix_rank(weights)", "np.ones(weights.shape[:-2], dtype=int)"),
            ),
            Text(
                "언제나 Query 하나인 것처럼 n_k − 1로 세었습니다. 다른 비중으로 읽는 Query가 늘 때마다 하나씩 더 알 수 있습니다.",
                "This is n_k − 1, as with a single Query. Each Query with other weights makes one more number known.",
            ),
            everywhere(LOST_PARTS),
        ),
        Mistake(
            variant(
                lost_numbers,
                "rank_of_one_column",
                ("(weights.shape[-1] - rank) * d_v", "weights.shape[-1] * d_v - rank"),
            ),
            Text(
                "rank를 한 번만 뺐습니다. V의 column d_v 개가 저마다 rank 개씩 알려집니다: (n_k − rank) · d_v.",
                "The rank is subtracted once. Each of the d_v columns of V becomes known in rank numbers: (n_k − rank) · d_v.",
            ),
            everywhere(LOST_PARTS),
        ),
        Mistake(
            variant(
                lost_numbers,
                "summed_over_the_batch",
                ("(weights.shape[-1] - rank) * d_v", "np.sum((weights.shape[-1] - rank) * d_v)"),
            ),
            Text(
                "batch를 모두 더했습니다. 결과는 batch마다 수 하나, (...)입니다.",
                "All of the batch is added up. The result is one number for each entry: (...).",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                lost_numbers,
                "lost_numbers_squeezed",
                ("(weights.shape[-1] - rank) * d_v", "np.squeeze((weights.shape[-1] - rank) * d_v)"),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        lost_by_singular_values,
        lost_by_gram_matrix,
        lost_by_elimination,
        lost_in_torch,
        lost_in_float32,
    ),
)


# --- Task 6: other_values -------------------------------------------------------------------------------------


def other_values(weights, v, wish=None):
    """weights (..., n_q, n_k), v and wish (..., n_k, d_v) -> V' nearest to wish with the output of v"""
    if wish is None:
        wish = np.zeros_like(v)
    difference = weights @ v - weights @ wish
    return wish + np.linalg.pinv(weights, rcond=1e-5) @ difference


def random_values(rng, *shape):
    return rng.normal(size=shape)


def draw_smallest(rng):
    return [{"weights": random_weights(rng, 3, 7), "v": random_values(rng, 7, 2)}]


def draw_wishes(rng):
    return [
        {
            "weights": random_weights(rng, 3, 7),
            "v": random_values(rng, 7, 2),
            "wish": random_values(rng, 7, 2),
        }
    ]


def draw_value_batches(rng):
    return [
        {
            "weights": random_weights(rng, 2, 3, 7),
            "v": random_values(rng, 2, 7, 5),
            "wish": random_values(rng, 2, 7, 5),
        },
        {"weights": random_weights(rng, 3, 2, 7), "v": random_values(rng, 3, 7, 5)},
        {"weights": random_weights(rng, 2, 1, 3, 7), "v": random_values(rng, 2, 1, 7, 5)},
    ]


def draw_values_with_dead_query(rng):
    weights = random_weights(rng, 3, 7)
    weights[rng.integers(3)] = 0.0
    weights[:, weights.sum(axis=0).argmin()] = (
        0.0  # nobody's main Key, so that the rows stay far from one another
    )
    return [{"weights": weights, "v": random_values(rng, 7, 5), "wish": random_values(rng, 7, 5)}]


VALUE_PARTS = (
    Part("smallest", 1, Text("wish 없이: 가장 작은 V'", "without a wish: the smallest V'"), draw_smallest),
    Part("wish", 2, Text("wish에 가장 가까운 V'", "V' nearest to a wish"), draw_wishes),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_value_batches),
    Part(
        "dead",
        1,
        Text(
            "아무것도 읽지 않는 Query, 아무도 읽지 않는 Key",
            "a Query that reads nothing, a Key that nobody reads",
        ),
        draw_values_with_dead_query,
    ),
)
WITH_WISH = frozenset({"wish", "batches", "dead"})


def output_repeated(weights, v, wish=None):
    return np.repeat(weights @ v, v.shape[-2], axis=-2)


def output_left_out(weights, v, wish=None):
    seen = np.linalg.pinv(weights) @ weights
    return seen @ v if wish is None else wish - seen @ wish


def by_one_least_squares(weights, v, wish=None):
    wish = np.zeros_like(v) if wish is None else wish
    return wish + np.linalg.lstsq(weights, weights @ (v - wish), rcond=None)[0]


def wish_overwritten(weights, v, wish=None):
    if wish is None:
        return other_values(weights, v)
    wish += np.linalg.pinv(weights) @ (weights @ (v - wish))
    return wish


def projection(weights):
    """(..., n_k, n_k): keeps of every column what the Queries see of it."""
    _, values, rows = np.linalg.svd(weights, full_matrices=False)
    seen = rows * (values > 1e-5)[..., None]
    return np.swapaxes(seen, -1, -2) @ seen


def values_by_projection(weights, v, wish=None):
    seen = projection(weights)
    kept = seen @ v
    return kept if wish is None else kept + wish - seen @ wish


def values_by_loops(weights, v, wish=None):
    result = np.zeros_like(v) if wish is None else wish.copy()
    for batch in np.ndindex(v.shape[:-2]):
        target = weights[batch] @ (v[batch] - result[batch])
        result[batch] += np.linalg.lstsq(weights[batch], target, rcond=1e-5)[0]
    return result


class Seen:
    """An orthonormal basis of the rows of one matrix of weights, found row by row (Gram-Schmidt)."""

    def __init__(self, weights):
        self.basis = []
        for row in weights:
            rest = row - sum((row @ b) * b for b in self.basis)
            length = np.sqrt(rest @ rest)
            if length > 1e-5:
                self.basis.append(rest / length)

    def replace(self, wish, v):
        return wish + sum(np.outer(b, b @ (v - wish)) for b in self.basis)


def values_by_gram_schmidt(weights, v, wish=None):
    wish = np.zeros(v.shape) if wish is None else wish
    result = np.empty(v.shape)
    for batch in np.ndindex(v.shape[:-2]):
        result[batch] = Seen(weights[batch]).replace(wish[batch], v[batch])
    return result


def values_by_steps(weights, v, wish=None):
    """Walks from the wish towards the right output along the rows of weights; the rest of the wish never moves."""
    values = np.zeros(v.shape) if wish is None else wish.copy()
    for _ in range(500):
        values = values + np.swapaxes(weights, -1, -2) @ (weights @ (v - values))
    return values


def values_in_torch(weights, v, wish=None):
    import torch

    weights, v = torch.as_tensor(weights), torch.as_tensor(v)
    wish = torch.zeros_like(v) if wish is None else torch.as_tensor(wish)
    return wish + torch.linalg.pinv(weights) @ (weights @ (v - wish))


def values_in_float32(weights, v, wish=None):
    weights, v = weights.astype(np.float32), v.astype(np.float32)
    return other_values(weights, v, None if wish is None else wish.astype(np.float32))


WISH_REQUIRED = Text(
    "wish=None일 때 실패합니다. 주지 않으면 0에 가장 가까운 V'입니다.",
    "This fails for wish=None. Where it is not given, V' is the nearest to 0.",
)


OTHER_VALUES = Task(
    name="other_values",
    reference=other_values,
    parts=VALUE_PARTS,
    see="worked-example.html#worked-example-mixture",
    rtol=1e-4,
    atol=1e-4,
    mistakes=(
        Mistake(
            variant(
                other_values,
                "same_values_again",
                ("return wish + np.linalg.pinv(weights, rcond=1e-5) @ difference", "return v.copy()"),
            ),
            Text(
                "v를 그대로 돌려주었습니다. output은 같지만 wish에 가장 가까운 V'은 아닙니다.",
                "This is v itself. Its output is right, but there is a V' nearer to the wish.",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            variant(
                other_values,
                "wish_as_it_is",
                ("return wish + np.linalg.pinv(weights, rcond=1e-5) @ difference", "return wish.copy()"),
            ),
            Text(
                "wish를 그대로 돌려주었습니다. A V'이 A V와 같아야 합니다.",
                "This is the wish itself. A V' has to equal A V.",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            variant(
                other_values,
                "transpose_for_inverse",
                ("np.linalg.pinv(weights, rcond=1e-5)", "np.swapaxes(weights, -1, -2)"),
            ),
            Text(
                "Aᵀ는 A의 역이 아닙니다. 길이까지 맞추는 것은 pseudoinverse A⁺입니다 (np.linalg.pinv).",
                "Aᵀ is no inverse of A. What gets the lengths right is the pseudoinverse A⁺ (np.linalg.pinv).",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            variant(
                other_values,
                "inverse_of_a_rectangle",
                ("np.linalg.pinv(weights, rcond=1e-5)", "np.linalg.inv(weights)"),
            ),
            Text(
                "A는 정사각이 아니어서 역행렬이 없습니다. pseudoinverse(np.linalg.pinv)를 쓰세요.",
                "A is not square and has no inverse. Use the pseudoinverse (np.linalg.pinv).",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            variant(
                other_values,
                "gram_matrix_inverted",
                (
                    "np.linalg.pinv(weights, rcond=1e-5)",
                    "np.swapaxes(weights, -1, -2) @ np.linalg.inv(weights @ np.swapaxes(weights, -1, -2))",
                ),
            ),
            Text(
                "(A Aᵀ)⁻¹은 rows가 서로 독립일 때만 있습니다. 아무것도 읽지 않는 Query가 있으면 없습니다. np.linalg.pinv를 쓰세요.",
                "(A Aᵀ)⁻¹ exists only where the rows are independent; a Query that reads nothing breaks it. Use "
                "np.linalg.pinv.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                other_values,
                "wish_not_used",
                ("    if wish is None:\n        wish", "    wish"),
            ),
            Text(
                "wish를 쓰지 않고 늘 가장 작은 V'을 구했습니다.",
                "The wish is not used: this is the smallest V' whatever comes.",
            ),
            WITH_WISH,
        ),
        Mistake(
            variant(
                other_values,
                "wish_taken_for_a_direction",
                (
                    "difference = weights @ v - weights @ wish\n    return wish +",
                    "difference = -(weights @ wish)\n    return v + wish +",
                ),
            ),
            Text(
                "v에서 wish 방향으로 움직였습니다. output은 같지만 wish에 가장 가까운 V'은 wish에서 출발합니다.",
                "This moves from v in the direction of the wish. The output is right, but the V' nearest to the wish "
                "starts from the wish.",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            variant(
                other_values,
                "moved_where_the_output_sees_it",
                (
                    "difference = weights @ v - weights @ wish\n    return wish +",
                    "difference = weights @ wish - weights @ v\n    return v +",
                ),
            ),
            Text(
                "v를 wish 쪽으로 옮겼지만, A⁺A(wish − v)는 output이 보는 부분이라 A V'이 A·wish가 됩니다. wish에서 출발해 모자란 output만 더하세요.",
                "v is moved towards the wish, but A⁺A(wish − v) is the part that the output sees: A V' becomes A·wish. Start from the "
                "wish, and add what its output lacks.",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            variant(
                other_values,
                "all_axes_reversed",
                (
                    "np.linalg.pinv(weights, rcond=1e-5)",
                    "weights.T @ np.linalg.pinv(weights @ weights.T, rcond=1e-5)",
                ),
            ),
            Text(
                ".T는 batch 축까지 뒤집습니다. 마지막 두 축만 바꾸거나 (np.swapaxes), np.linalg.pinv(weights)를 그대로 쓰세요.",
                ".T reverses the batch axes as well. Swap the last two only (np.swapaxes), or use np.linalg.pinv(weights) as it is.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                other_values,
                "difference_the_other_way",
                ("weights @ v - weights @ wish", "weights @ wish - weights @ v"),
            ),
            Text(
                "차이의 부호가 반대입니다. 모자란 만큼, 곧 A V − A·wish를 더합니다.",
                "The difference has the wrong sign. Add what is lacking: A V − A·wish.",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            output_left_out,
            Text(
                "wish에서 output이 보는 부분을 덜어 내기만 해서 A V'이 0이 됩니다. A V만큼을 더해야 합니다.",
                "The part of the wish that the output sees is only taken off: A V' becomes 0. Add what gives A V.",
            ),
            WITH_WISH,
        ),
        Mistake(
            variant(
                other_values,
                "output_added_whole",
                ("weights @ v - weights @ wish", "weights @ v"),
            ),
            Text(
                "wish에 A⁺A V를 모두 더했습니다. wish가 이미 내는 output A·wish 만큼은 빼야 합니다.",
                "All of A⁺A V is added to the wish. Take off the output A·wish that the wish gives already.",
            ),
            WITH_WISH,
        ),
        Mistake(
            output_repeated,
            Text(
                "output을 n_k 번 되풀이했습니다. Query 하나에는 통하지만 여럿이면 row가 너무 많고, wish에 가장 가깝지도 않습니다.",
                "The output is repeated n_k times. That serves a single Query; with several there are too many rows, and it "
                "isn't the nearest to the wish.",
            ),
            everywhere(VALUE_PARTS),
        ),
        Mistake(
            by_one_least_squares,
            Text(
                "np.linalg.lstsq는 matrix 하나만 받습니다. batch가 있으면 batch마다 부르거나 np.linalg.pinv를 쓰세요.",
                "np.linalg.lstsq takes a single matrix. With batch axes, call it for each entry or use np.linalg.pinv.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                other_values,
                "wish_required",
                ("    if wish is None:\n        wish = np.zeros_like(v)\n", ""),
            ),
            WISH_REQUIRED,
            frozenset({"smallest", "batches"}),
        ),
        Mistake(
            variant(
                other_values,
                "wish_required_in_a_difference",
                ("    if wish is None:\n        wish = np.zeros_like(v)\n", ""),
                ("weights @ v - weights @ wish", "weights @ (v - wish)"),
            ),
            WISH_REQUIRED,
            frozenset({"smallest", "batches"}),
        ),
        Mistake(
            wish_overwritten,
            Text(
                "입력 wish를 제자리에서 바꾸었습니다 (+=). 새 배열에 계산하세요.",
                "The input wish is changed in place (+=). Compute into a new array.",
            ),
            WITH_WISH,
        ),
        Mistake(
            variant(other_values, "truth_of_the_wish", ("if wish is None", "if not wish")),
            TRUTH_OF_AN_ARRAY,
            WITH_WISH,
        ),
        Mistake(
            variant(
                other_values,
                "other_values_squeezed",
                (
                    "wish + np.linalg.pinv(weights, rcond=1e-5) @ difference",
                    "np.squeeze(wish + np.linalg.pinv(weights, rcond=1e-5) @ difference)",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        values_by_projection,
        values_by_loops,
        values_by_gram_schmidt,
        values_by_steps,
        values_in_torch,
        values_in_float32,
    ),
)

BANK = Bank(
    "ps3",
    (CONTRIBUTIONS, SHARPEN, ATTENTION_IN_COLUMNS, SHOWN_WEIGHTS, LOST_NUMBERS, OTHER_VALUES),
)
