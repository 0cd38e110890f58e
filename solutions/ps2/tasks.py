"""Problem set 2, Scaling: the bank of its tasks."""

import numpy as np

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Mistake, Part, Task, Written, everywhere, variant
from course_lib.grading.draws import random_mask
from course_lib.grading.hints import (
    AXES_OF_LENGTH_1_DROPPED,
    AXIS_LOST,
    COMPARED_AS_A_WHOLE,
    DIVIDED_BY_SCALE,
    EXPONENTIAL_OVERFLOWS,
    FIRST_MASK_FOR_ALL,
    HALF_PRECISION,
    MASK_ADDED,
    MASK_INVERTED,
    MASK_MULTIPLIED,
    MASK_NOT_USED,
    MASK_OF_NONE,
    MASK_REQUIRED,
    MASKED_AFTER_SOFTMAX,
    MASKED_BEFORE_SCALING,
    NOT_THE_MAXIMUM_SUBTRACTED,
    ONE_MAXIMUM_FOR_ALL,
    QUERIES_OVERWRITTEN,
    SET_BY_INDEX,
    SHARED_AGAIN,
    SHARED_AGAIN_UNGUARDED,
    SOFTMAX_OVER_QUERIES,
    SOFTMAX_UNGUARDED,
    TRUTH_OF_AN_ARRAY,
)

# --- Task 1: score_variances ----------------------------------------------------------------------------------


def score_variances(q, k, valid=None):
    """q, k (..., pairs, d_k), valid (..., pairs) -> (..., 2): the variance of q·k, and of q·k / sqrt(d_k)"""
    products = (q * k).sum(axis=-1)
    if valid is None:
        valid = np.ones(products.shape, dtype=bool)
    count = valid.sum(axis=-1, keepdims=True)
    mean = np.where(valid, products, 0.0).sum(axis=-1, keepdims=True) / np.maximum(count, 1)
    squares = np.where(valid, (products - mean) ** 2, 0.0).sum(axis=-1, keepdims=True)
    variance = np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)
    return np.concatenate([variance, variance / q.shape[-1]], axis=-1)


def random_pairs(rng, shape):
    # Means other than 0, so that the mean of the squares is not the variance.
    return {"q": rng.normal(1.0, 1.0, shape), "k": rng.normal(1.0, 1.5, shape)}


def with_valid(rng, inputs, valid):
    # What stands in padding is no number, or any: it must not reach a result, nor tell what is missing.
    missing = np.argwhere(~valid)
    for n, place in enumerate(rng.permutation(missing)):
        for name in ("q", "k"):
            inputs[name][tuple(place)] = 100.0 if n % 2 else np.nan
    return {**inputs, "valid": valid}


def draw_one_experiment(rng):
    # The products of the second leave the range of float16.
    large = {name: 256 * value for name, value in random_pairs(rng, (13, 11)).items()}
    return [random_pairs(rng, (17, 3)), large]


def draw_experiments(rng):
    return [random_pairs(rng, (5, 13, 7)), random_pairs(rng, (2, 1, 11, 5))]


def draw_padded_pairs(rng):
    valid = np.arange(13) < rng.permutation(np.arange(3, 12))[:5, None]
    return [with_valid(rng, random_pairs(rng, (5, 13, 7)), rng.permuted(valid, axis=1))]


def draw_too_few_pairs(rng):
    valid = np.arange(11) < rng.permutation(np.array([0, 1, 2, 4, 11]))[:, None]
    return [with_valid(rng, random_pairs(rng, (5, 11, 3)), rng.permuted(valid, axis=1))]


VARIANCE_PARTS = (
    Part("one", 1, Text("실험 하나", "one experiment"), draw_one_experiment),
    Part("batches", 1, Text("여러 실험", "several experiments"), draw_experiments),
    Part("padding", 2, Text("빠진 쌍이 있는 실험", "experiments with missing pairs"), draw_padded_pairs),
    Part(
        "too_few",
        1,
        Text("쌍이 둘보다 적은 실험", "experiments with fewer than two pairs"),
        draw_too_few_pairs,
    ),
)
WITH_VALID = frozenset({"padding", "too_few"})
SEVERAL_EXPERIMENTS = WITH_VALID | {"batches"}
EVERY_EXPERIMENT = everywhere(VARIANCE_PARTS)


def variances_of_all_together(q, k, valid=None):
    products = (q * k).sum(axis=-1)
    variance = np.var(products if valid is None else products[valid], ddof=1)
    return np.array([variance, variance / q.shape[-1]])


def every_query_with_every_key(q, k, valid=None):
    products = q @ np.swapaxes(k, -1, -2)
    if valid is not None:
        products = np.where(valid[..., :, None] & valid[..., None, :], products, np.nan)
    variance = np.nanvar(products.reshape(*products.shape[:-2], -1), axis=-1, ddof=1)
    return np.stack([variance, variance / q.shape[-1]], axis=-1)


def every_query_with_every_key_and_all_counted(q, k, valid=None):
    variance = (q @ np.swapaxes(k, -1, -2)).var(axis=(-2, -1), ddof=1)
    return np.stack([variance, variance / q.shape[-1]], axis=-1)


def half_precision_variances(q, k, valid=None):
    return score_variances(q.astype(np.float16), k.astype(np.float16), valid)


def variances_by_nanvar(q, k, valid=None):
    products = np.einsum("...d,...d->...", q, k)
    if valid is not None:
        products = np.where(valid, products, np.nan)
    scaled = products / np.sqrt(q.shape[-1])
    return np.stack([np.nanvar(x, axis=-1, ddof=1) for x in (products, scaled)], axis=-1)


def variances_by_loops(q, k, valid=None):
    d_k = q.shape[-1]
    result = np.full((*q.shape[:-2], 2), np.nan)
    for experiment in np.ndindex(q.shape[:-2]):
        kept = range(q.shape[-2]) if valid is None else np.flatnonzero(valid[experiment])
        products = [sum(q[experiment][i] * k[experiment][i]) for i in kept]
        if len(products) >= 2:
            mean = sum(products) / len(products)
            variance = sum((x - mean) ** 2 for x in products) / (len(products) - 1)
            result[experiment] = variance, variance / d_k
    return result


def variances_by_moments(q, k, valid=None):
    weights = np.ones(q.shape[:-1]) if valid is None else valid.astype(float)
    products = np.nan_to_num((q * k).sum(-1)) * weights
    n, total, squares = weights.sum(-1), products.sum(-1), (products**2).sum(-1)
    with np.errstate(all="ignore"):
        variance = np.where(n < 2, np.nan, (squares - total**2 / n) / (n - 1))
    return np.moveaxis(np.array([variance, variance / q.shape[-1]]), 0, -1)


def variances_in_torch(q, k, valid=None):
    import torch

    products = (torch.as_tensor(q) * torch.as_tensor(k)).sum(-1)
    rows = products.reshape(-1, products.shape[-1])
    kept = torch.ones_like(rows, dtype=torch.bool)
    if valid is not None:
        kept = torch.as_tensor(valid).reshape(rows.shape)
    variance = torch.stack([row[keep].var() for row, keep in zip(rows, kept, strict=True)])
    return torch.stack([variance, variance / q.shape[-1]], dim=-1).reshape(*products.shape[:-1], 2)


def variances_in_float32(q, k, valid=None):
    return score_variances(q.astype(np.float32), k.astype(np.float32), valid)


BY_THE_COUNT = ("count - 1, 1)", "count, 1)")
OVER_N = Text(
    "쌍의 수 n으로 나누었습니다 (np.var의 기본값). 평균도 표본에서 구했으므로 n − 1로 나눕니다 (ddof=1).",
    "This divides by the number of pairs n (the default of np.var). The mean comes from the sample too, so divide by "
    "n − 1 (ddof=1).",
)


EVERY_WITH_EVERY = Text(
    "모든 Query를 모든 Key와 짝지었습니다. 여기서는 i번째 Query와 i번째 Key가 한 쌍입니다.",
    "Every Query meets every Key here. In this task, Query i and Key i make one pair.",
)


def alone_and_over_n(name, edit, hint, loses=EVERY_EXPERIMENT):
    """The mistake by itself, and together with the default of np.var."""
    both = Text(f"{hint.ko} 그리고 {OVER_N.ko}", f"{hint.en} And: {OVER_N.en}")
    return (
        Mistake(variant(score_variances, name, edit), hint, loses),
        Mistake(variant(score_variances, f"{name}_over_n", edit, BY_THE_COUNT), both, EVERY_EXPERIMENT),
    )


SCORE_VARIANCES = Task(
    name="score_variances",
    reference=score_variances,
    parts=VARIANCE_PARTS,
    see="scaling.html#scaling-experiment",
    rtol=1e-4,
    mistakes=(
        Mistake(
            variant(score_variances, "divided_by_the_count", BY_THE_COUNT),
            OVER_N,
            EVERY_EXPERIMENT,
        ),
        Mistake(
            variant(
                score_variances,
                "nanvar_over_n",
                (
                    "np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)",
                    "np.where(count > 0, squares / np.maximum(count, 1), np.nan)",
                ),
            ),
            Text(
                f"{OVER_N.ko} np.nanvar도 그렇고, 쌍이 하나이면 np.nan이 아니라 0을 줍니다.",
                f"{OVER_N.en} So does np.nanvar, and it gives 0 in place of np.nan for a single pair.",
            ),
            EVERY_EXPERIMENT,
        ),
        *alone_and_over_n(
            "mean_taken_for_zero",
            ("(products - mean) ** 2", "products**2"),
            Text(
                "평균을 빼지 않고 제곱의 평균을 구했습니다. 평균이 0일 때만 variance와 같습니다.",
                "These are mean squares, without the mean subtracted. They are the variance only where the mean is 0.",
            ),
        ),
        *alone_and_over_n(
            "standard_deviations",
            (
                "[variance, variance / q.shape[-1]]",
                "[np.sqrt(variance), np.sqrt(variance / q.shape[-1])]",
            ),
            Text(
                "표준편차입니다. 과제는 그 제곱인 variance를 묻습니다.",
                "These are standard deviations. The task asks for their squares, the variances.",
            ),
        ),
        *alone_and_over_n(
            "variance_divided_by_root",
            ("variance / q.shape[-1]]", "variance / np.sqrt(q.shape[-1])]"),
            Text(
                "variance를 √d_k로 나누었습니다. score를 c로 나누면 variance는 c²으로 나뉩니다.",
                "The variance is divided by √d_k. Dividing a score by c divides its variance by c².",
            ),
        ),
        *alone_and_over_n(
            "scores_divided_by_d_k",
            ("variance / q.shape[-1]]", "variance / q.shape[-1] ** 2]"),
            Text(
                "score를 √d_k가 아니라 d_k로 나누었습니다. variance가 d_k²으로 나뉘었습니다.",
                "The scores are divided by d_k where √d_k is asked, so the variance is divided by d_k².",
            ),
        ),
        *alone_and_over_n(
            "mean_over_components",
            ("(q * k).sum(axis=-1)", "(q * k).mean(axis=-1)"),
            Text(
                "components를 더하지 않고 평균했습니다. dot product는 d_k 축을 따라 더한 합입니다.",
                "The components are averaged. A dot product is their sum over the d_k axis.",
            ),
        ),
        Mistake(
            variances_of_all_together,
            Text(
                "모든 실험의 쌍을 한데 모았습니다. variance는 실험마다, 곧 pairs 축(마지막에서 둘째)에서만 구합니다.",
                "The pairs of all experiments are thrown together. Each experiment has its own variance, over the pairs "
                "axis alone.",
            ),
            SEVERAL_EXPERIMENTS,
        ),
        Mistake(every_query_with_every_key, EVERY_WITH_EVERY, EVERY_EXPERIMENT),
        Mistake(
            every_query_with_every_key_and_all_counted,
            Text(
                f"{EVERY_WITH_EVERY.ko} valid도 쓰지 않았습니다. 없는 쌍은 세지 않습니다.",
                f"{EVERY_WITH_EVERY.en} Nor is valid used: a missing pair doesn't count.",
            ),
            EVERY_EXPERIMENT,
        ),
        *alone_and_over_n(
            "missing_pairs_as_zero",
            (
                "    count =",
                "    products, valid = np.where(valid, products, 0.0), np.ones_like(valid)\n    count =",
            ),
            Text(
                "빠진 쌍을 0으로 놓고 함께 세었습니다. 세는 수와 평균에서도 빼야 합니다.",
                "Missing pairs are set to 0 and counted. Leave them out of the count and of the mean as well.",
            ),
            WITH_VALID,
        ),
        *alone_and_over_n(
            "missing_pairs_as_nan",
            ("    if valid is None:\n        valid", "    if True:\n        valid"),
            Text(
                "빠진 쌍의 NaN이 결과에 남았습니다. valid를 쓰지 않았거나 곱했습니다. NaN은 0을 곱해도 NaN이니 np.where로 고르세요.",
                "NaN of missing pairs is left in the result: valid is not used, or multiplied. NaN stays NaN when multiplied by 0: "
                "select with np.where.",
            ),
            WITH_VALID,
        ),
        Mistake(
            variant(
                score_variances,
                "valid_not_used",
                (
                    "    if valid is None:\n        valid = np.ones(products.shape, dtype=bool)",
                    "    valid = np.ones(products.shape, dtype=bool)\n    products = np.nan_to_num(products, nan=1.0)",
                ),
            ),
            Text(
                "NaN을 다른 수로 바꾸고 valid를 쓰지 않았습니다. False인 쌍은 아예 세지 않습니다.",
                "NaN is replaced by a number, and valid is not used. A pair that is False doesn't count at all.",
            ),
            WITH_VALID,
        ),
        Mistake(
            variant(
                score_variances,
                "numbers_taken_for_valid",
                (
                    "        valid = np.ones(products.shape, dtype=bool)",
                    "        pass\n    valid = np.isfinite(products)",
                ),
            ),
            Text(
                "NaN이 아닌 쌍을 모두 세었습니다. 없는 쌍의 자리에 수가 들어 있을 수도 있으니 valid로 고르세요.",
                "Every pair that isn't NaN counts here. A number may stand in the place of a missing pair: select by valid.",
            ),
            WITH_VALID,
        ),
        Mistake(
            variant(
                score_variances,
                "mean_over_all_pairs",
                ("/ np.maximum(count, 1)", "/ products.shape[-1]"),
            ),
            Text(
                "평균을 구할 때 빠진 쌍까지 세어 나누었습니다. valid인 쌍의 수로 나누세요.",
                "The mean is divided by the number of all pairs, missing ones too. Divide by the number that are valid.",
            ),
            WITH_VALID,
        ),
        Mistake(
            variant(
                score_variances,
                "squares_over_all_pairs",
                ("np.maximum(count - 1, 1)", "(products.shape[-1] - 1)"),
            ),
            Text(
                "제곱의 합을 빠진 쌍까지 센 n − 1로 나누었습니다. n은 valid인 쌍의 수입니다.",
                "The sum of squares is divided by n − 1 with missing pairs counted. n is the number of valid pairs.",
            ),
            WITH_VALID,
        ),
        *alone_and_over_n(
            "order_exchanged",
            ("[variance, variance / q.shape[-1]]", "[variance / q.shape[-1], variance]"),
            Text(
                "두 variance의 순서가 바뀌었습니다. dot product의 variance가 먼저입니다.",
                "The two variances have changed places. That of the dot product comes first.",
            ),
        ),
        Mistake(
            variant(
                score_variances,
                "valid_inverted",
                ("dtype=bool)", "dtype=bool)\n    else:\n        valid = ~valid"),
            ),
            Text(
                "valid를 반대로 읽었습니다. True인 쌍을 셉니다.",
                "valid is read the wrong way round. The pairs that are True count.",
            ),
            WITH_VALID,
        ),
        Mistake(
            half_precision_variances,
            HALF_PRECISION,
            EVERY_EXPERIMENT,
        ),
        Mistake(
            variant(score_variances, "too_few_as_zero", ("np.nan)", "0.0)")),
            Text(
                "쌍이 둘보다 적으면 variance를 알 수 없습니다. 0은 '흩어지지 않는다'는 뜻이므로 np.nan을 두세요.",
                "With fewer than two pairs the variance is unknown. 0 would claim that nothing varies: put np.nan.",
            ),
            frozenset({"too_few"}),
        ),
        Mistake(
            variant(
                score_variances,
                "empty_experiment_unnoticed",
                ("np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)", "squares / (count - 1)"),
            ),
            Text(
                "쌍이 하나도 없는 실험이 0 / (−1) = 0이 되었습니다. 쌍이 하나일 때만이 아니라 없을 때도 np.nan입니다.",
                "An experiment without any pair gives 0 / (−1) = 0 here. Put np.nan there too, as with a single pair.",
            ),
            frozenset({"too_few"}),
        ),
        Mistake(
            variant(
                score_variances,
                "valid_required",
                ("    if valid is None:\n        valid = np.ones(products.shape, dtype=bool)\n", ""),
            ),
            Text(
                "valid=None일 때 실패합니다. 주지 않으면 모든 쌍을 셉니다.",
                "This fails for valid=None. Where it is not given, all pairs count.",
            ),
            frozenset({"one", "batches"}),
        ),
        Mistake(
            variant(
                score_variances,
                "queries_overwritten",
                (
                    "products = (q * k).sum(axis=-1)",
                    "q *= k\n    products = q.sum(axis=-1)",
                ),
            ),
            QUERIES_OVERWRITTEN,
            EVERY_EXPERIMENT,
        ),
        Mistake(
            variant(score_variances, "axis_lost", ("products - mean)", "products - mean[..., 0])")),
            AXIS_LOST,
            SEVERAL_EXPERIMENTS,
        ),
        *alone_and_over_n(
            "stacked_in_front",
            (
                "return np.concatenate([variance, variance / q.shape[-1]], axis=-1)",
                "return np.stack([variance[..., 0], variance[..., 0] / q.shape[-1]])",
            ),
            Text(
                "두 variance를 첫 축에 쌓았습니다. 마지막 축에 쌓아 (..., 2)로 만드세요: np.stack(..., axis=-1).",
                "The two variances are stacked along the first axis. Stack them along the last, (..., 2): "
                "np.stack(..., axis=-1).",
            ),
            SEVERAL_EXPERIMENTS,
        ),
        Mistake(
            variant(score_variances, "truth_of_valid", ("if valid is None", "if not valid")),
            TRUTH_OF_AN_ARRAY,
            WITH_VALID,
        ),
        Mistake(
            variant(
                score_variances,
                "missing_pairs_in_the_deviations",
                (
                    "np.where(valid, (products - mean) ** 2, 0.0)",
                    "((np.where(valid, products, 0.0) - mean) ** 2)",
                ),
            ),
            Text(
                "빠진 쌍을 평균에서는 뺐지만, 제곱의 합에는 (0 − 평균)²이 남았습니다. 평균을 뺀 다음에 np.where로 고르세요.",
                "Missing pairs are left out of the mean, but each leaves (0 − mean)² in the sum of squares. Select with np.where "
                "after the mean is subtracted.",
            ),
            WITH_VALID,
        ),
        Mistake(
            variant(
                score_variances,
                "set_by_its_index",
                (
                    "    variance = np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)",
                    "    variance = (squares / np.maximum(count - 1, 1))[..., 0][()]\n"
                    "    variance[count[..., 0] < 2] = np.nan\n"
                    "    variance = variance[..., None]",
                ),
            ),
            SET_BY_INDEX,
            frozenset({"one"}),
        ),
        Mistake(
            variant(
                score_variances,
                "missing_pairs_in_the_deviations_unguarded",
                (
                    "np.where(valid, (products - mean) ** 2, 0.0)",
                    "((np.where(valid, products, 0.0) - mean) ** 2)",
                ),
                ("np.maximum(count, 1)", "count"),
                ("np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)", "squares / (count - 1)"),
            ),
            Text(
                "빠진 쌍을 평균에서는 뺐지만, 제곱의 합에는 (0 − 평균)²이 남았습니다. 평균을 뺀 다음에 np.where로 고르세요. "
                "쌍이 둘보다 적은 실험은 np.nan으로 따로 정하세요.",
                "Missing pairs are left out of the mean, but each leaves (0 − mean)² in the sum of squares: select with np.where after the "
                "mean is subtracted. Settle experiments with fewer than two pairs apart: np.nan.",
            ),
            WITH_VALID,
        ),
        Mistake(
            variant(
                score_variances,
                "score_variances_squeezed",
                (
                    "return np.concatenate([variance, variance / q.shape[-1]], axis=-1)",
                    "return np.squeeze(np.concatenate([variance, variance / q.shape[-1]], axis=-1))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        variances_by_nanvar,
        variances_by_loops,
        variances_by_moments,
        variances_in_torch,
        variances_in_float32,
    ),
)


# --- Task 2: unit_scale ---------------------------------------------------------------------------------------


def unit_scale(std_q, std_k, mean_q=0.0, mean_k=0.0):
    """std_q, std_k, mean_q, mean_k (..., d_k) -> (...): the factor that gives the score variance 1"""
    variances = (std_q * std_k) ** 2 + (mean_q * std_k) ** 2 + (std_q * mean_k) ** 2
    variance = variances.sum(axis=-1)
    varies = variance > 0
    return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), np.nan)


def random_spread(rng, shape, size=1.0):
    return {"std_q": size * rng.uniform(0.5, 3.0, shape), "std_k": size * rng.uniform(0.5, 3.0, shape)}


def random_means(rng, shape):
    signs = rng.choice([-1.0, 1.0], (2, *shape))
    mean_q, mean_k = signs * rng.uniform(0.5, 3.0, (2, *shape))
    return {"mean_q": mean_q, "mean_k": mean_k}


def draw_spreads(rng):
    # Once with a variance above 1, once with one below.
    return [random_spread(rng, (int(rng.choice([3, 11, 13])),)), random_spread(rng, (7,), size=0.1)]


def draw_means(rng):
    return [{**random_spread(rng, (7,)), **random_means(rng, (7,))}]


def draw_layers(rng):
    broadcast = {"std_q": rng.uniform(0.5, 3.0, (3, 1, 5)), "std_k": rng.uniform(0.5, 3.0, (2, 5))}
    single = random_spread(rng, (2, 1, 7))
    return [{**random_spread(rng, (2, 5)), **random_means(rng, (2, 5))}, broadcast, single]


def draw_constants(rng):
    # Whole numbers, so that every way to write the variance gives 0 exactly.
    means = [rng.integers(1, 6, (3, 5)).astype(float) for _ in range(2)]
    spread = random_spread(rng, (3, 5))
    quiet = rng.integers(3)
    for name in ("std_q", "std_k"):
        spread[name][quiet] = 0.0
    spread["std_q"][(quiet + 1) % 3] = 0.0
    return [{**spread, "mean_q": means[0], "mean_k": means[1]}]


SCALE_PARTS = (
    Part("spread", 1, Text("평균 0, 여러 표준편차", "mean 0, various standard deviations"), draw_spreads),
    Part("means", 1, Text("0이 아닌 평균", "means other than 0"), draw_means),
    Part("batches", 1, Text("여러 경우를 한 번에", "several cases at once"), draw_layers),
    Part("constant", 1, Text("변하지 않는 score", "a score that never varies"), draw_constants),
)
WITH_MEANS = frozenset({"means", "batches", "constant"})


def one_over_root_d_k(std_q, std_k, mean_q=0.0, mean_k=0.0):
    return 1 / np.sqrt(std_q.shape[-1])


def one_over_root_d_k_each(std_q, std_k, mean_q=0.0, mean_k=0.0):
    return np.full(std_q.shape[:-1], 1 / np.sqrt(std_q.shape[-1]))


def one_over_root_of_the_length(std_q, std_k, mean_q=0.0, mean_k=0.0):
    return 1 / np.sqrt(len(std_q))


def sums_multiplied(std_q, std_k, mean_q=0.0, mean_k=0.0):
    return 1 / np.sqrt((std_q**2).sum(axis=-1) * (std_k**2).sum(axis=-1))


def moments_averaged_first(std_q, std_k, mean_q=0.0, mean_k=0.0):
    var_q, var_k, m_q, m_k = (
        np.mean(np.broadcast_to(x, std_q.shape), axis=-1)
        for x in (std_q**2, std_k**2, np.square(mean_q), np.square(mean_k))
    )
    return 1 / np.sqrt(std_q.shape[-1] * (var_q * var_k + m_q * var_k + var_q * m_k))


def deviations_squared_in_place(std_q, std_k, mean_q=0.0, mean_k=0.0):
    std_q **= 2
    std_k **= 2
    return unit_scale(np.sqrt(std_q), np.sqrt(std_k), mean_q, mean_k)


def scale_by_second_moments(std_q, std_k, mean_q=0.0, mean_k=0.0):
    squares_q, squares_k = std_q**2 + mean_q**2, std_k**2 + mean_k**2
    variance = np.sum(squares_q * squares_k - mean_q**2 * mean_k**2, axis=-1)
    with np.errstate(divide="ignore"):
        scale = variance**-0.5
    return np.where(np.isinf(scale), np.nan, scale)


def scale_by_loops(std_q, std_k, mean_q=0.0, mean_k=0.0):
    std_q, std_k, mean_q, mean_k = np.broadcast_arrays(std_q, std_k, mean_q, mean_k)
    result = np.full(std_q.shape[:-1], np.nan)
    for case in np.ndindex(result.shape):
        variance = 0.0
        for s, t, m, n in zip(std_q[case], std_k[case], mean_q[case], mean_k[case], strict=True):
            variance += (s * t) ** 2 + (m * t) ** 2 + (s * n) ** 2
        if variance:
            result[case] = variance**-0.5
    return result


def scale_by_einsum(std_q, std_k, mean_q=0.0, mean_k=0.0):
    a, b, c, d = np.broadcast_arrays(*(np.square(x) for x in (std_q, std_k, mean_q, mean_k)))
    variance = np.einsum("...i,...i->...", a + c, b) + np.einsum("...i,...i->...", a, d)
    return 1 / np.sqrt(np.where(variance == 0, np.nan, variance))


def scale_in_torch(std_q, std_k, mean_q=0.0, mean_k=0.0):
    import torch

    std_q, std_k, mean_q, mean_k = (torch.as_tensor(x) for x in (std_q, std_k, mean_q, mean_k))
    variance = (std_q**2 * (std_k**2 + mean_k**2) + mean_q**2 * std_k**2).sum(dim=-1)
    return torch.where(variance > 0, variance.rsqrt(), torch.nan)


def scale_in_float32(std_q, std_k, mean_q=0.0, mean_k=0.0):
    return unit_scale(*(np.asarray(x, dtype=np.float32) for x in (std_q, std_k, mean_q, mean_k)))


WHATEVER_COMES = Text(
    "언제나 1/√d_k입니다. 이 값은 모든 표준편차가 1이고 평균이 0일 때만 맞습니다.",
    "This is 1/√d_k whatever comes. That is right only where all standard deviations are 1 and means 0.",
)
MULTIPLIED_APART = Text(
    "Query와 Key를 따로 더하거나 평균한 다음 곱했습니다. q_i는 k_i와 짝이므로 i마다 곱한 뒤에 더합니다.",
    "Queries and Keys are summed or averaged apart and multiplied then. q_i belongs to k_i: multiply for each i, then add.",
)

UNIT_SCALE = Task(
    name="unit_scale",
    reference=unit_scale,
    parts=SCALE_PARTS,
    see="scaling.html#scaling-variance",
    mistakes=(
        *(
            Mistake(answer, WHATEVER_COMES, everywhere(SCALE_PARTS))
            for answer in (one_over_root_d_k, one_over_root_d_k_each, one_over_root_of_the_length)
        ),
        Mistake(
            variant(
                unit_scale,
                "deviations_added",
                ("variance = variances.sum(axis=-1)", "variance = np.sqrt(variances).sum(axis=-1) ** 2"),
            ),
            Text(
                "표준편차를 더했습니다. 독립인 항의 합에서 더해지는 것은 variance입니다. 더한 뒤에 제곱근을 구하세요.",
                "Standard deviations are added. In a sum of independent terms, variances add up: take the root afterwards.",
            ),
            everywhere(SCALE_PARTS),
        ),
        Mistake(
            variant(unit_scale, "one_over_variance", ("1 / np.sqrt(", "1 / (")),
            Text(
                "variance로 나누었습니다. score를 c로 나누면 variance는 c²으로 나뉘므로 표준편차로 나눕니다.",
                "This divides by the variance. Dividing a score by c divides its variance by c²: divide by the standard "
                "deviation.",
            ),
            everywhere(SCALE_PARTS),
        ),
        Mistake(
            variant(unit_scale, "divisor_instead_of_factor", ("1 / np.sqrt(", "np.sqrt(")),
            Text(
                "나눌 수를 돌려주었습니다. scale은 곱하는 수입니다 (1/√d_k처럼).",
                "This is the number to divide by. A scale is the factor to multiply with, as 1/√d_k is.",
            ),
            everywhere(SCALE_PARTS),
        ),
        Mistake(
            variant(
                unit_scale,
                "deviations_not_squared",
                (
                    "(std_q * std_k) ** 2 + (mean_q * std_k) ** 2 + (std_q * mean_k) ** 2",
                    "std_q * std_k + mean_q**2 * std_k + std_q * mean_k**2",
                ),
            ),
            Text(
                "표준편차를 variance처럼 썼습니다. variance는 표준편차의 제곱입니다.",
                "Standard deviations are used as if they were variances. Square them.",
            ),
            everywhere(SCALE_PARTS),
        ),
        Mistake(
            variant(
                unit_scale,
                "means_ignored",
                (" + (mean_q * std_k) ** 2 + (std_q * mean_k) ** 2", ""),
            ),
            Text(
                "평균을 쓰지 않았습니다. 평균이 0이 아니면 Var(q_i k_i)에 항이 둘 더 남습니다.",
                "The means are not used. Where they are not 0, two more terms of Var(q_i k_i) remain.",
            ),
            WITH_MEANS,
        ),
        Mistake(
            variant(
                unit_scale,
                "mean_square_kept",
                ("+ (std_q * mean_k) ** 2", "+ (std_q * mean_k) ** 2 + (mean_q * mean_k) ** 2"),
            ),
            Text(
                "E[(q_i k_i)²]까지만 구했습니다. variance는 여기에서 평균의 제곱 (E[q_i] E[k_i])²을 뺀 것입니다.",
                "This stops at E[(q_i k_i)²]. For the variance, subtract the squared mean (E[q_i] E[k_i])².",
            ),
            WITH_MEANS,
        ),
        Mistake(
            variant(
                unit_scale,
                "only_query_mean",
                (" + (std_q * mean_k) ** 2", ""),
            ),
            Text(
                "Query의 평균만 들어 있습니다. Key의 평균도 같은 모양의 항을 하나 만듭니다.",
                "Only the Query's means are in it. The Key's means make a term of the same form.",
            ),
            WITH_MEANS,
        ),
        Mistake(
            variant(
                unit_scale,
                "mean_not_squared",
                (
                    "(std_q * std_k) ** 2 + (mean_q * std_k) ** 2 + (std_q * mean_k) ** 2",
                    "(std_q**2 + mean_q**2) * (std_k**2 + mean_k**2) - mean_q * mean_k",
                ),
            ),
            Text(
                "E[q_i] E[k_i]를 제곱하지 않고 뺐습니다. Var(x) = E[x²] − (E[x])²입니다.",
                "E[q_i] E[k_i] is subtracted without its square. Var(x) = E[x²] − (E[x])².",
            ),
            WITH_MEANS,
        ),
        Mistake(
            variant(unit_scale, "variances_averaged", ("variances.sum(", "variances.mean(")),
            Text(
                "components의 variance를 평균했습니다. 독립인 항의 합에서는 variance가 더해집니다.",
                "The components' variances are averaged. In a sum of independent terms, variances add up.",
            ),
            everywhere(SCALE_PARTS),
        ),
        *(
            Mistake(answer, MULTIPLIED_APART, everywhere(SCALE_PARTS))
            for answer in (moments_averaged_first, sums_multiplied)
        ),
        Mistake(
            variant(unit_scale, "summed_over_everything", ("variances.sum(axis=-1)", "variances.sum()")),
            Text(
                "모든 축을 더했습니다. 마지막 축(d_k)만 더하면 경우마다 수 하나가 남습니다.",
                "All axes are summed. Sum the last one (d_k) alone: one number a case remains.",
            ),
            frozenset({"batches", "constant"}),
        ),
        Mistake(
            variant(unit_scale, "first_axis_summed", ("variances.sum(axis=-1)", "variances.sum(axis=0)")),
            Text(
                "axis=0은 입력이 vector 하나일 때만 d_k 축입니다. 마지막 축은 axis=-1입니다.",
                "axis=0 is the d_k axis only of a single vector. The last axis is axis=-1.",
            ),
            frozenset({"batches", "constant"}),
        ),
        Mistake(
            deviations_squared_in_place,
            Text(
                "입력 std_q와 std_k를 제자리에서 바꾸었습니다 (**=). 새 배열에 계산하세요.",
                "The inputs std_q and std_k are changed in place (**=). Compute into new arrays.",
            ),
            everywhere(SCALE_PARTS),
        ),
        Mistake(
            variant(unit_scale, "infinite_scale", ("variance, 1.0)), np.nan)", "variance, 1.0)), np.inf)")),
            Text(
                "변하지 않는 score는 무엇을 곱해도 variance가 0입니다. ∞도 답이 아니므로 np.nan을 두세요.",
                "A score that never varies has variance 0 under any factor. ∞ is no answer either: put np.nan.",
            ),
            frozenset({"constant"}),
        ),
        Mistake(
            variant(
                unit_scale,
                "set_by_its_index",
                (
                    "    return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), np.nan)",
                    "    scale = 1 / np.sqrt(np.where(varies, variance, 1.0))\n    scale[~varies] = np.nan\n    return scale",
                ),
            ),
            SET_BY_INDEX,
            frozenset({"spread", "means"}),
        ),
        Mistake(
            variant(unit_scale, "zero_for_a_constant", ("np.nan", "0.0")),
            Text(
                "0을 곱해도 variance는 1이 아니라 0입니다. 어떤 수도 답이 아니므로 np.nan을 두세요.",
                "Multiplying by 0 gives the variance 0, not 1. No number is the answer: put np.nan.",
            ),
            frozenset({"constant"}),
        ),
        Mistake(
            variant(
                unit_scale,
                "asked_of_an_array",
                (
                    "    varies = variance > 0\n",
                    "    if variance == 0:\n        return np.nan\n    varies = variance > 0\n",
                ),
            ),
            COMPARED_AS_A_WHOLE,
            frozenset({"batches", "constant"}),
        ),
        Mistake(
            variant(
                unit_scale, "variance_returned", ("1 / np.sqrt(np.where(varies, variance, 1.0))", "variance")
            ),
            Text(
                "score의 variance를 돌려주었습니다. 구하는 것은 그것을 1로 만드는 배수, 1/√variance입니다.",
                "This is the score's variance. Asked for is the factor that makes it 1: 1/√variance.",
            ),
            everywhere(SCALE_PARTS),
        ),
        Mistake(
            variant(
                unit_scale,
                "unit_scale_squeezed",
                (
                    "return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), np.nan)",
                    "return np.squeeze(np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), np.nan))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        scale_by_second_moments,
        scale_by_loops,
        scale_by_einsum,
        scale_in_torch,
        scale_in_float32,
    ),
)


# --- Task 3: softmax_jacobian ---------------------------------------------------------------------------------


def softmax_jacobian(scores, scale=1.0):
    """scores (..., n_k), scale > 0 -> J (..., n_k, n_k): J[..., i, j] = d weight_i / d score_j"""
    logits = scale * scores
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1.0, total)
    identity = np.eye(weights.shape[-1])
    return scale * weights[..., :, None] * (identity - weights[..., None, :])


def draw_one_row(rng):
    return [{"scores": rng.normal(size=5)}, {"scores": rng.normal(size=7)}]


def draw_row_batches(rng):
    return [{"scores": rng.normal(size=(5, 7))}, {"scores": rng.normal(size=(2, 1, 3))}]


def draw_masked_rows(rng):
    mask = random_mask(rng, 5, 7, dead_row=True)
    return [{"scores": np.where(mask, rng.normal(size=(5, 7)), -np.inf)}]


def draw_far_rows(rng):
    # Whole numbers: their differences are exact in float32, so that only an overflow can go wrong.
    near = rng.permuted(np.tile(np.array([0.0, 1.0, 1.0, 2.0, 3.0]), (3, 1)), axis=1)
    # The first and the mean of a row lie far below its largest.
    mixed = near[:, [0, 1, 2, 2]] + 1e4 * np.array([-1.0, 1.0, 1.0, 0.0])
    return [{"scores": near + 1e4 * np.array([[1.0], [-1.0], [0.0]])}, {"scores": mixed[:, [0, 1, 3, 2, 3]]}]


def draw_scaled_rows(rng):
    return [{"scores": rng.normal(size=(3, 5)), "scale": scale} for scale in (0.25, 2.0)]


JACOBIAN_PARTS = (
    Part("one", 1, Text("row 하나", "one row"), draw_one_row),
    Part("batches", 1, Text("여러 row", "several rows"), draw_row_batches),
    Part(
        "masked",
        1,
        Text("가려진 자리와 모두 가려진 row", "masked places, and a row of them"),
        draw_masked_rows,
    ),
    Part("large", 1, Text("±10000 근처의 scores", "scores around ±10000"), draw_far_rows),
    Part("scale", 1, Text("주어진 scale", "a given scale"), draw_scaled_rows),
)
SEVERAL_ROWS = frozenset({"batches", "masked", "large", "scale"})


def scores_shifted_in_place(scores, scale=1.0):
    highest = scores.max(axis=-1, keepdims=True)
    scores -= np.where(np.isneginf(highest), 0.0, highest)
    return softmax_jacobian(scores, scale)


def rows_as_one_vector(scores, scale=1.0):
    weights = row_weights(scores, scale).reshape(-1, 1)
    return scale * (np.diagflat(weights) - weights @ weights.T)


def rows_as_one_vector_unguarded(scores, scale=1.0):
    exponentials = np.exp(scale * scores)
    weights = (exponentials / exponentials.sum(axis=-1, keepdims=True)).reshape(-1, 1)
    return scale * (np.diagflat(weights) - weights @ weights.T)


def one_row_in_loops(scores, scale=1.0):
    weights, n_k = row_weights(scores, scale), scores.shape[-1]
    result = np.zeros((n_k, n_k))
    for i, j in np.ndindex(n_k, n_k):
        result[i, j] = scale * weights[..., i] * ((i == j) - weights[..., j])
    return result


def row_weights(scores, scale=1.0):
    """Softmax over the last axis; a row of -inf only becomes 0."""
    shifted = scale * (scores - np.nan_to_num(scores.max(axis=-1, keepdims=True), neginf=0.0))
    exponentials = np.exp(shifted)
    return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300)


def jacobian_by_loops(scores, scale=1.0):
    weights = row_weights(scores, scale)
    result = np.zeros((*scores.shape, scores.shape[-1]))
    for *row, i, j in np.ndindex(result.shape):
        p_i, p_j = weights[(*row, i)], weights[(*row, j)]
        result[(*row, i, j)] = scale * (p_i * (1 - p_i) if i == j else -p_i * p_j)
    return result


def jacobian_by_einsum(scores, scale=1.0):
    weights = row_weights(scores, scale)
    diagonal = np.einsum("...i,ij->...ij", weights, np.eye(weights.shape[-1]))
    return scale * (diagonal - np.einsum("...i,...j->...ij", weights, weights))


def jacobian_by_differences(scores, scale=1.0, step=1e-4):
    columns = []
    for j in range(scores.shape[-1]):
        nudge = step * (np.arange(scores.shape[-1]) == j)
        columns.append((row_weights(scores + nudge, scale) - row_weights(scores - nudge, scale)) / (2 * step))
    return np.stack(columns, axis=-1)


def jacobian_by_autograd(scores, scale=1.0):
    import torch

    def weights(row):
        return torch.softmax(scale * row, dim=-1)

    rows = torch.as_tensor(scores).reshape(-1, scores.shape[-1])
    each = [torch.autograd.functional.jacobian(weights, row) for row in rows]
    return torch.stack(each).nan_to_num(0.0).reshape(*scores.shape, scores.shape[-1])


def jacobian_in_float32(scores, scale=1.0):
    return softmax_jacobian(scores.astype(np.float32), scale).astype(np.float32)


JOINED_ROWS = Text(
    "모든 row를 vector 하나로 이었습니다 (np.diagflat, reshape). row마다 (n_k, n_k)이니 weights[..., :, None]과 "
    "weights[..., None, :]를 쓰세요.",
    "All rows are joined into one vector (np.diagflat, reshape). Each row has its own (n_k, n_k): use "
    "weights[..., :, None] and weights[..., None, :].",
)

SCALE_IGNORED = Text("scale 인자를 쓰지 않았습니다.", "The argument scale is not used.")
SCORES_OVERWRITTEN = Text(
    "입력 scores를 제자리에서 바꾸었습니다 (-=). 새 배열에 계산하세요.",
    "The input scores are changed in place (-=). Compute into a new array.",
)


ONE_OF_TWO_WEIGHTS = Text(
    "p_i와 p_j 가운데 하나만 썼습니다. J_ij = c p_i (δ_ij − p_j)이므로 대각선 밖은 −c p_i p_j이고, J는 대칭입니다.",
    "Only one of p_i and p_j is in it. J_ij = c p_i (δ_ij − p_j): off the diagonal that is −c p_i p_j, and J is symmetric.",
)

SOFTMAX_JACOBIAN = Task(
    name="softmax_jacobian",
    reference=softmax_jacobian,
    parts=JACOBIAN_PARTS,
    see="scaling.html#scaling-gradient",
    mistakes=(
        Mistake(
            variant(
                softmax_jacobian,
                "diagonal_alone",
                ("(identity - weights[..., None, :])", "identity * (1 - weights[..., None, :])"),
            ),
            Text(
                "대각선 p(1−p)만 있습니다. 한 logit은 다른 weights도 바꾸므로 대각선 밖은 −p_i p_j입니다.",
                "Only the diagonal p(1−p) is there. A logit changes the other weights too: off the diagonal stands "
                "−p_i p_j.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "diagonal_as_a_vector",
                (
                    "weights[..., :, None] * (identity - weights[..., None, :])",
                    "weights * (1 - weights)",
                ),
            ),
            Text(
                "대각선만 vector로 돌려주었습니다. Jacobian은 row마다 (n_k, n_k) matrix입니다.",
                "This is the diagonal as a vector. The Jacobian is a matrix (n_k, n_k) for each row.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(softmax_jacobian, "sign_lost", ("(identity - weights", "(identity + weights")),
            Text(
                "대각선 밖의 부호가 틀렸습니다. weights의 합이 1로 남아야 하므로 한 row의 합은 0입니다.",
                "The sign off the diagonal is wrong. The weights go on summing to 1, so each row of J sums to 0.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "minus_forgotten",
                (
                    "weights[..., :, None] * (identity - weights[..., None, :])",
                    "np.abs(weights[..., :, None] * (identity - weights[..., None, :]))",
                ),
            ),
            Text(
                "대각선 밖에 − 부호가 빠졌습니다. i ≠ j이면 −p_i p_j이고, 한 weight가 커지면 다른 weights는 작아집니다.",
                "The − off the diagonal is missing: −p_i p_j where i ≠ j. As one weight grows, the others shrink.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "ones_for_identity",
                ("np.eye(weights.shape[-1])", "np.ones(weights.shape[-1])"),
            ),
            Text(
                "모든 자리가 p_i (1 − p_j)입니다. 1은 i = j일 때만 있습니다 (δ_ij).",
                "Every entry is p_i (1 − p_j) here. The 1 stands only where i = j (δ_ij).",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(softmax_jacobian, "numerator_held_fixed", ("np.eye(weights.shape[-1])", "0.0")),
            Text(
                "분모만 미분했습니다. i = j일 때는 분자 e^ℓ_i도 함께 변합니다.",
                "Only the denominator is differentiated. Where i = j, the numerator e^ℓ_i changes as well.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(softmax_jacobian, "of_the_log_weights", ("weights[..., :, None] * (", "(")),
            Text(
                "δ_ij − p_j는 log p_i의 미분입니다. p_i의 미분은 여기에 p_i를 곱한 것입니다.",
                "δ_ij − p_j is the derivative of log p_i. That of p_i has a factor p_i more.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "one_row_expected",
                (
                    "weights[..., :, None] * (identity - weights[..., None, :])",
                    "(np.diag(weights) - np.outer(weights, weights))",
                ),
            ),
            Text(
                "np.diag와 np.outer는 vector 하나에서만 맞습니다. weights[..., :, None]과 weights[..., None, :]를 쓰세요.",
                "np.diag and np.outer fit a single vector only. Use weights[..., :, None] and weights[..., None, :].",
            ),
            SEVERAL_ROWS,
        ),
        *(
            Mistake(answer, JOINED_ROWS, SEVERAL_ROWS)
            for answer in (rows_as_one_vector, rows_as_one_vector_unguarded)
        ),
        Mistake(
            one_row_in_loops,
            Text(
                "결과가 row 하나의 (n_k, n_k)뿐이라 여러 row를 담지 못합니다. shape는 (..., n_k, n_k)입니다: result[..., i, j].",
                "The result has room for one row's (n_k, n_k) alone. Its shape is (..., n_k, n_k): result[..., i, j].",
            ),
            SEVERAL_ROWS,
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "softmax_over_first_axis",
                ("logits.max(axis=-1", "logits.max(axis=0"),
                ("sum(axis=-1", "sum(axis=0"),
            ),
            Text(
                "Softmax가 첫 축을 따라 계산되었습니다. Keys는 마지막 축입니다 (axis=-1).",
                "Softmax runs along the first axis here. The Keys are the last one (axis=-1).",
            ),
            SEVERAL_ROWS,
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "softmax_unguarded",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            SOFTMAX_UNGUARDED,
            frozenset({"masked", "large"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "no_maximum_subtracted",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
            ),
            Text(
                "exp(10000)은 overflow이고 exp(−10000)은 0입니다. row의 최댓값을 먼저 빼세요.",
                "exp(10000) overflows and exp(−10000) is 0. Subtract the row's maximum first.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "dead_row_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "모두 가려진 row가 NaN입니다. 그 weights는 언제나 0이므로 미분도 0입니다.",
                "A row that is masked throughout became NaN. Its weights are always 0, and so are their derivatives.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "dead_row_uniform",
                ("    highest =", "    logits = np.maximum(logits, -1e9)\n    highest ="),
            ),
            Text(
                "모두 가려진 row에 한 수(−1e9나 0)가 놓여 고르게 나뉘었습니다. 그 row의 weights와 미분은 0입니다.",
                "A row that is masked throughout holds one number, −1e9 or 0, and became uniform. Its weights and "
                "derivatives are 0.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "half_precision_jacobian",
                ("logits = scale * scores", "logits = (scale * scores).astype(np.float16)"),
            ),
            Text(
                "float16으로 계산했습니다. 10000 근처에서는 8씩 건너뛰는 수뿐이라 scores의 차이가 사라집니다.",
                "This is computed in float16. Around 10000 its numbers are 8 apart, and the scores' differences are lost.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(softmax_jacobian, "chain_rule_forgotten", ("return scale * weights", "return weights")),
            Text(
                "logit에 대한 미분입니다. score에 대한 미분에는 chain rule로 scale이 한 번 더 곱해집니다.",
                "This is the derivative by the logit. By the chain rule, the one by the score has a factor scale more.",
            ),
            frozenset({"scale"}),
        ),
        Mistake(
            variant(softmax_jacobian, "scale_only_outside", ("logits = scale * scores", "logits = scores")),
            Text(
                "weights를 구할 때 scale을 쓰지 않았습니다. 먼저 scores에 곱하고 Softmax를 취합니다.",
                "The weights are computed without the scale. It multiplies the scores before Softmax.",
            ),
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "scale_not_used",
                ("logits = scale * scores", "logits = 1.0 * scores"),
                ("return scale * weights", "return weights"),
            ),
            SCALE_IGNORED,
            frozenset({"scale"}),
        ),
        Mistake(
            scores_shifted_in_place,
            SCORES_OVERWRITTEN,
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(softmax_jacobian, "axis_lost", ("sum(axis=-1, keepdims=True)", "sum(axis=-1)")),
            AXIS_LOST,
            SEVERAL_ROWS,
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "sign_reversed",
                ("(identity - weights[..., None, :])", "(weights[..., None, :] - identity)"),
            ),
            Text(
                "부호가 반대입니다. 자기 score가 커지면 weight도 커지므로 대각선은 0보다 작지 않습니다: δ_ij − p_j.",
                "The sign is reversed. A weight grows with its own score, so the diagonal is never below 0: δ_ij − p_j.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "divided_by_the_scale",
                ("logits = scale * scores", "logits = scores / scale"),
                ("return scale *", "return 1 / scale *"),
            ),
            DIVIDED_BY_SCALE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "first_factor_missing",
                (
                    "weights[..., :, None] * (identity - weights[..., None, :])",
                    "(identity - weights[..., :, None] * weights[..., None, :])",
                ),
            ),
            Text(
                "δ_ij에 p_i를 곱하지 않았습니다. p_i (δ_ij − p_j)에서 p_i는 두 항에 모두 곱해집니다.",
                "δ_ij is not multiplied by p_i. In p_i (δ_ij − p_j), p_i multiplies both terms.",
            ),
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "first_logit_subtracted",
                ("logits.max(axis=-1, keepdims=True)", "logits[..., :1]"),
            ),
            NOT_THE_MAXIMUM_SUBTRACTED,
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "mean_subtracted",
                ("logits.max(axis=-1, keepdims=True)", "logits.mean(axis=-1, keepdims=True)"),
            ),
            NOT_THE_MAXIMUM_SUBTRACTED,
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "one_weight_for_both",
                (
                    "weights[..., :, None] * (identity - weights[..., None, :])",
                    "weights[..., None, :] * (identity - weights[..., None, :])",
                ),
            ),
            ONE_OF_TWO_WEIGHTS,
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "one_weight_for_both_in_rows",
                (
                    "weights[..., :, None] * (identity - weights[..., None, :])",
                    "weights[..., :, None] * (identity - weights[..., :, None])",
                ),
            ),
            ONE_OF_TWO_WEIGHTS,
            everywhere(JACOBIAN_PARTS),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "one_maximum_for_all",
                ("logits.max(axis=-1, keepdims=True)", "logits.max()"),
            ),
            ONE_MAXIMUM_FOR_ALL,
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "one_maximum_for_all_unguarded",
                ("logits.max(axis=-1, keepdims=True)", "logits.max()"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            ONE_MAXIMUM_FOR_ALL,
            frozenset({"masked", "large"}),
        ),
        Mistake(
            variant(
                softmax_jacobian,
                "softmax_jacobian_squeezed",
                (
                    "return scale * weights[..., :, None] * (identity - weights[..., None, :])",
                    "return np.squeeze(scale * weights[..., :, None] * (identity - weights[..., None, :]))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        jacobian_by_loops,
        jacobian_by_einsum,
        jacobian_by_differences,
        jacobian_by_autograd,
        jacobian_in_float32,
    ),
)


# --- Task 4: attention_entropy --------------------------------------------------------------------------------


def attention_entropy(scores, scale=1.0, mask=None):
    """scores (..., n_q, n_k), mask (..., n_q, n_k) or None -> H (..., n_q), in nats"""
    logits = scale * scores
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1.0, total)
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)


def draw_entropy_batches(rng):
    return [{"scores": rng.normal(size=(5, 7))}, {"scores": 2 * rng.normal(size=(2, 3, 5, 7)), "scale": 0.25}]


def draw_entropy_masks(rng):
    scores, mask = rng.normal(size=(5, 7)), random_mask(rng, 5, 7)
    return [
        # Beside what is masked, the weights of what is open would vanish.
        {"scores": np.where(mask, scores, scores + 1000.0), "mask": mask},
        {"scores": rng.normal(size=(2, 1, 5, 7)), "mask": random_mask(rng, 2, 7)[:, None, None, :]},
    ]


def draw_entropy_dead_row(rng):
    return [{"scores": rng.normal(size=(5, 7)), "mask": random_mask(rng, 5, 7, dead_row=True)}]


def draw_saturated(rng):
    # Whole numbers: exact in float32. Where m Keys tie for the largest, the entropy is log m.
    # One row far below another: each needs its own maximum.
    tied = np.arange(7) < rng.permutation([1, 2, 3, 5])[:3, None]
    rows = np.where(tied, 4, rng.integers(0, 4, (3, 7))) - rng.permutation(3)[:, None]
    return [{"scores": rng.permuted(rows.astype(float), axis=1), "scale": 1e4}]


def draw_no_scale(rng):
    return [{"scores": rng.normal(size=(5, 7)), "scale": 0.0, "mask": random_mask(rng, 5, 7)}]


ENTROPY_PARTS = (
    Part("batches", 1, Text("mask 없이, 여러 batch", "no mask, several batches"), draw_entropy_batches),
    Part("masked", 1, Text("mask", "a mask"), draw_entropy_masks),
    Part("dead_row", 1, Text("모두 가려진 row", "a row that is masked throughout"), draw_entropy_dead_row),
    Part("saturated", 1, Text("scale 10000: 포화", "scale 10000: saturation"), draw_saturated),
    Part("uniform", 1, Text("scale 0: 모두 같은 weights", "scale 0: uniform weights"), draw_no_scale),
)
WITH_MASK = frozenset({"masked", "dead_row", "uniform"})


def softmax_then_mask(scores, scale=1.0, mask=None):
    weights = row_weights(scores, scale)
    weights = weights if mask is None else weights * mask
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)


def nan_left_out_of_the_sum(scores, scale=1.0, mask=None):
    logits = scale * scores if mask is None else np.where(mask, scale * scores, -np.inf)
    weights = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    return -np.nansum(weights * np.log(weights), axis=-1)


def shared_again_unguarded(scores, scale=1.0, mask=None):
    logits = scale * scores
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True)) * (1.0 if mask is None else mask)
    weights = shares / shares.sum(axis=-1, keepdims=True)
    return -(weights * np.log(np.where(weights == 0, 1.0, weights))).sum(axis=-1)


def weights_shared_again(scores, scale=1.0, mask=None):
    weights = row_weights(scores, scale) * (1.0 if mask is None else mask)
    weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)


def scores_scaled_in_place(scores, scale=1.0, mask=None):
    scores *= scale
    return attention_entropy(scores, 1.0, mask)


def entropy_by_logsumexp(scores, scale=1.0, mask=None):
    """H = log Z - sum of weight times logit, with the row's largest logit moved to 0."""
    logits = scores * scale + (0.0 if mask is None else np.where(mask, 0.0, -np.inf))
    shifted = logits - np.nan_to_num(logits.max(axis=-1, keepdims=True), neginf=0.0)
    total = np.exp(shifted).sum(axis=-1)
    mean = (np.exp(shifted) * np.nan_to_num(shifted, neginf=0.0)).sum(axis=-1)
    return np.where(total > 0, np.log(np.maximum(total, 1)) - mean / np.maximum(total, 1), 0.0)


def entropy_by_loops(scores, scale=1.0, mask=None):
    allowed = np.broadcast_to(True if mask is None else mask, scores.shape)
    result = np.zeros(scores.shape[:-1])
    for row in np.ndindex(result.shape):
        logits = [scale * s for s, open_ in zip(scores[row], allowed[row], strict=True) if open_]
        shares = [np.exp(x - max(logits)) for x in logits]
        for share in shares:
            p = share / sum(shares)
            if p > 0:
                result[row] -= p * np.log(p)
    return result


def entropy_with_epsilon(scores, scale=1.0, mask=None):
    logits = scores * scale if mask is None else np.where(mask, scores * scale, -np.inf)
    weights = np.nan_to_num(row_weights(logits))
    return -np.sum(weights * np.log(weights + 1e-12), axis=-1)


def entropy_in_torch(scores, scale=1.0, mask=None):
    import torch

    logits = torch.as_tensor(scores) * scale
    if mask is not None:
        logits = logits.masked_fill(~torch.as_tensor(mask), -torch.inf)
    return torch.special.entr(logits.softmax(dim=-1).nan_to_num(0.0)).sum(dim=-1)


def entropy_in_float32(scores, scale=1.0, mask=None):
    return attention_entropy(np.float32(scores), np.float32(scale), mask)


ATTENTION_ENTROPY = Task(
    name="attention_entropy",
    reference=attention_entropy,
    parts=ENTROPY_PARTS,
    see="scaling.html#scaling-entropy",
    mistakes=(
        Mistake(
            variant(attention_entropy, "sign_missing", ("return -(weights", "return (weights")),
            Text(
                "부호가 빠졌습니다. log p ≤ 0이므로 entropy는 앞에 − 를 붙여 0 이상이 됩니다.",
                "The sign is missing. log p ≤ 0, so that the entropy, with its −, is never below 0.",
            ),
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(attention_entropy, "in_bits", ("np.log(", "np.log2(")),
            Text(
                "밑이 2인 로그입니다 (bits). 과제는 자연로그(nats)를 씁니다.",
                "The logarithm has base 2 (bits). The task asks for nats, the natural logarithm.",
            ),
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(
                attention_entropy,
                "zero_times_infinity",
                ("np.where(weights > 0, weights, 1.0)", "weights"),
            ),
            Text(
                "weight 0에서 0 · log 0 = 0 · (−∞) = NaN이 되었습니다. p → 0의 극한에 따라 0 log 0 = 0입니다.",
                "At weight 0 this gives 0 · log 0 = 0 · (−∞) = NaN. By the limit p → 0, 0 log 0 counts as 0.",
            ),
            WITH_MASK | {"saturated"},
        ),
        Mistake(
            variant(
                attention_entropy,
                "share_of_the_maximum",
                (".sum(axis=-1)", ".sum(axis=-1) / np.log(weights.shape[-1])"),
            ),
            Text(
                "log n_k로 나누어 0과 1 사이로 만들었습니다. 과제는 나누지 않은 entropy를 묻습니다.",
                "This is divided by log n_k to lie between 0 and 1. The task asks for the entropy itself.",
            ),
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(attention_entropy, "mean_over_keys", ("1.0))).sum(axis=-1)", "1.0))).mean(axis=-1)")),
            Text(
                "Keys에 대해 평균했습니다. entropy는 −p log p를 모두 더한 것입니다.",
                "This averages over the Keys. The entropy is the sum of all −p log p.",
            ),
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(attention_entropy, "summed_over_queries", ("1.0))).sum(axis=-1)", "1.0))).sum(axis=-2)")),
            Text(
                "Query 축을 더했습니다. Query마다 수 하나, shape는 (..., n_q)입니다.",
                "The Query axis is summed. One number a Query: the shape is (..., n_q).",
            ),
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(
                attention_entropy,
                "impurity",
                (
                    "-(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)",
                    "(weights * (1 - weights)).sum(axis=-1)",
                ),
            ),
            Text(
                "p(1−p)의 합입니다. 이것도 퍼진 정도를 재지만 entropy는 −p log p의 합입니다.",
                "This is the sum of p(1−p). It measures spread as well, but the entropy is the sum of −p log p.",
            ),
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(
                attention_entropy,
                "queries_share_weight",
                ("logits.max(axis=-1", "logits.max(axis=-2"),
                ("exponentials.sum(axis=-1", "exponentials.sum(axis=-2"),
            ),
            SOFTMAX_OVER_QUERIES,
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(
                attention_entropy,
                "dead_row_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
                ("np.where(weights > 0, weights, 1.0)", "np.where(weights == 0, 1.0, weights)"),
            ),
            Text(
                "모두 가려진 row가 NaN입니다. 그 weights는 모두 0이므로 entropy도 0입니다.",
                "A row that is masked throughout became NaN. Its weights are all 0, and so is its entropy.",
            ),
            frozenset({"dead_row"}),
        ),
        Mistake(
            variant(attention_entropy, "dead_row_uniform", ("logits, -np.inf", "logits, -1e9")),
            Text(
                "모두 가려진 row에 한 수(−1e9나 0)가 놓여 entropy가 log n_k가 되었습니다. 아무것도 읽지 않는 row이므로 0입니다.",
                "A row that is masked throughout holds one number, −1e9 or 0, and gets entropy log n_k. It reads nothing: 0.",
            ),
            frozenset({"dead_row"}),
        ),
        Mistake(
            variant(
                attention_entropy,
                "softmax_unguarded",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
                ("np.where(total == 0, 1.0, total)", "total"),
                ("np.where(weights > 0, weights, 1.0)", "np.where(weights == 0, 1.0, weights)"),
            ),
            SOFTMAX_UNGUARDED,
            frozenset({"dead_row", "saturated"}),
        ),
        Mistake(
            variant(
                attention_entropy,
                "exponential_overflows",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
            ),
            EXPONENTIAL_OVERFLOWS,
            frozenset({"saturated"}),
        ),
        Mistake(
            variant(
                attention_entropy,
                "masked_before_scaling",
                ("    logits = scale * scores\n", "    logits = scores\n"),
                ("    highest =", "    logits = scale * logits\n    highest ="),
            ),
            MASKED_BEFORE_SCALING,
            frozenset({"uniform"}),
        ),
        Mistake(
            softmax_then_mask,
            MASKED_AFTER_SOFTMAX,
            frozenset({"masked", "dead_row", "uniform"}),
        ),
        Mistake(
            weights_shared_again,
            SHARED_AGAIN,
            frozenset({"masked"}),
        ),
        Mistake(
            nan_left_out_of_the_sum,
            Text(
                "NaN을 합에서 빼거나 0으로 바꾸었습니다 (np.nansum, np.nan_to_num). scale이 크면 exp가 넘쳐 생긴 NaN까지 가려집니다. 먼저 row의 최댓값을 빼세요.",
                "NaN is left out of the sum or replaced by 0 (np.nansum, np.nan_to_num). With a large scale that hides where exp "
                "has overflowed. Subtract the row's maximum first.",
            ),
            frozenset({"saturated"}),
        ),
        Mistake(
            variant(attention_entropy, "boolean_added", ("np.where(mask, logits, -np.inf)", "logits + mask")),
            MASK_ADDED,
            WITH_MASK,
        ),
        Mistake(
            variant(attention_entropy, "scale_not_used", ("scale * scores", "1.0 * scores")),
            SCALE_IGNORED,
            frozenset({"batches", "saturated", "uniform"}),
        ),
        Mistake(
            variant(attention_entropy, "mask_inverted", ("logits, -np.inf", "-np.inf, logits")),
            MASK_INVERTED,
            WITH_MASK,
        ),
        Mistake(
            variant(attention_entropy, "mask_not_used", ("np.where(mask, logits, -np.inf)", "1.0 * logits")),
            MASK_NOT_USED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention_entropy,
                "mask_multiplied",
                ("np.where(mask, logits, -np.inf)", "logits * mask"),
            ),
            MASK_MULTIPLIED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention_entropy,
                "first_mask_for_all",
                ("np.where(mask", "np.where(mask.reshape(-1, *mask.shape[-2:])[0]"),
            ),
            FIRST_MASK_FOR_ALL,
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                attention_entropy,
                "half_precision_entropy",
                ("logits = scale * scores", "logits = np.float16(scale) * scores.astype(np.float16)"),
            ),
            Text(
                "float16으로 계산했습니다. 자릿수가 모자라 entropy의 셋째 자리부터 틀립니다.",
                "This is computed in float16, which has too few digits: the entropy is wrong from its third on.",
            ),
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            scores_scaled_in_place,
            Text(
                "입력 scores를 제자리에서 바꾸었습니다 (*=). 새 배열에 계산하세요.",
                "The input scores are changed in place (*=). Compute into a new array.",
            ),
            frozenset({"batches", "saturated", "uniform"}),
        ),
        Mistake(
            variant(
                attention_entropy,
                "mask_required",
                (
                    "    if mask is not None:\n        logits = np.where(mask, logits, -np.inf)",
                    "    logits = np.where(~mask, -np.inf, logits)",
                ),
            ),
            MASK_REQUIRED,
            frozenset({"batches", "saturated"}),
        ),
        Mistake(
            variant(
                attention_entropy,
                "mask_of_none",
                (
                    "    if mask is not None:\n        logits = np.where(mask, logits, -np.inf)",
                    "    logits = np.where(mask, logits, -np.inf)",
                ),
            ),
            MASK_OF_NONE,
            frozenset({"batches", "saturated"}),
        ),
        Mistake(
            variant(attention_entropy, "divided_by_scale", ("scale * scores", "scores / scale")),
            DIVIDED_BY_SCALE,
            frozenset({"batches", "saturated", "uniform"}),
        ),
        Mistake(
            variant(
                attention_entropy, "zero_scale_taken_for_none", ("scale * scores", "(scale or 1.0) * scores")
            ),
            Text(
                "scale=0을 '없음'으로 읽었습니다 (scale or ...). 0도 하나의 scale이고 weights는 고르게 됩니다.",
                "scale=0 is taken for 'not given' (scale or ...). 0 is a scale as well, and makes the weights uniform.",
            ),
            frozenset({"uniform"}),
        ),
        Mistake(
            variant(attention_entropy, "axis_lost", ("sum(axis=-1, keepdims=True)", "sum(axis=-1)")),
            AXIS_LOST,
            everywhere(ENTROPY_PARTS),
        ),
        Mistake(
            variant(attention_entropy, "truth_of_the_mask", ("if mask is not None", "if mask")),
            TRUTH_OF_AN_ARRAY,
            WITH_MASK,
        ),
        Mistake(
            shared_again_unguarded,
            SHARED_AGAIN_UNGUARDED,
            frozenset({"masked", "dead_row"}),
        ),
        Mistake(
            variant(
                attention_entropy,
                "attention_entropy_squeezed",
                (
                    "return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)",
                    "return np.squeeze(-(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"masked"}),
        ),
    ),
    right_answers=(
        entropy_by_logsumexp,
        entropy_by_loops,
        entropy_with_epsilon,
        entropy_in_torch,
        entropy_in_float32,
    ),
)


# --- Task 5: scale_for_weight ---------------------------------------------------------------------------------


def scale_for_weight(scores, target):
    """scores (..., n_k), target -> (...): the smallest scale >= 0 whose largest weight reaches target"""
    highest = scores.max(axis=-1, keepdims=True)
    gaps = np.where(np.isneginf(highest), 0.0, highest) - scores
    count, tied = np.isfinite(gaps).sum(axis=-1), (gaps == 0).sum(axis=-1)
    # Halving the exponent of 2 keeps as many digits of a tiny scale as of a large one.
    low, high = np.full(count.shape, -100.0), np.full(count.shape, 100.0)
    for _ in range(40):
        middle = (low + high) / 2
        total = np.exp(-(2.0 ** middle[..., None]) * gaps).sum(axis=-1)
        too_even = total * target > 1  # the largest weight is 1 / total
        low, high = np.where(too_even, middle, low), np.where(too_even, high, middle)
    limits = [count == 0, count * target <= 1, tied * target >= 1]
    return np.select(limits, [np.inf, 0.0, np.inf], default=2.0**high)


def rows_of_gaps(rng, n_rows, n_k):
    """Scores whose largest Key is alone, ahead by 0.5 at least, and first in no more than one row."""
    scores = -rng.uniform(0.5, 3.0, (n_rows, n_k))
    scores[:, 0] = 0.0
    places = rng.permutation(np.arange(1, n_k))[:n_rows]
    for row, place in zip(scores, places, strict=True):
        row[[0, place]] = row[[place, 0]]
    return scores + rng.normal(size=(n_rows, 1))


def shuffled(rng, rows):
    """The rows, each in another order; in the first, the first Key is not the largest."""
    rows = rng.permuted(rows, axis=1)
    lowest = rows[0].argmin()
    rows[0, [0, lowest]] = rows[0, [lowest, 0]]
    return rows


def draw_two_keys(rng):
    return [{"scores": rows_of_gaps(rng, 1, 2)[0], "target": float(rng.uniform(0.6, 0.95))}]


def draw_one_query(rng):
    return [
        {"scores": rows_of_gaps(rng, 1, 7)[0], "target": target}
        for target in (0.3, float(rng.uniform(0.5, 0.95)))
    ]


def draw_queries(rng):
    scores = np.stack([rows_of_gaps(rng, 5, 7) for _ in range(3)])
    target = float(rng.uniform(0.5, 0.9))
    return [
        {"scores": scores[0], "target": 0.8},
        {"scores": scores, "target": target},
        {"scores": scores[:, :1], "target": target},
    ]


def draw_masked_scores(rng):
    scores = rows_of_gaps(rng, 5, 7)
    order = np.argsort(scores, axis=-1)
    np.put_along_axis(scores, order[:, :3], -np.inf, axis=-1)
    alone, dead = rng.permutation(5)[:2]
    scores[alone, order[alone, :-1]] = scores[dead] = -np.inf
    return [{"scores": scores, "target": float(rng.uniform(0.5, 0.9))}]


def draw_limits(rng):
    ties = np.array([1, 1, 2, 3, 7])[:, None]
    tied = np.where(np.arange(7) < ties, 4.0, rng.integers(0, 4, (5, 7))) - rng.integers(0, 3)
    tied = rng.permutation(shuffled(rng, tied))
    pairs = rng.permutation(shuffled(rng, np.array([[4.0, 1], [3, 2], [4, 4]])))
    return [{"scores": tied, "target": target} for target in (0.125, 0.3, 0.5, 0.75)] + [
        {"scores": pairs, "target": 0.5}
    ]


def draw_far_scores(rng):
    # Whole numbers times a power of 2: exact in float32.
    gaps = rng.permuted(np.tile(np.arange(1.0, 8), (3, 1)), axis=1)[:, :4]
    rows = shuffled(rng, np.concatenate([np.zeros((3, 1)), gaps], axis=1))
    return [
        {"scores": 2.0**22 * rows, "target": 0.75},
        {"scores": 2.0**-22 * rows, "target": 0.75},
        {"scores": rows + np.array([[8192.0], [-8192.0], [0.0]]), "target": 0.75},
    ]


TARGET_PARTS = (
    Part("two_keys", 1, Text("Key 둘", "two Keys"), draw_two_keys),
    Part("one_query", 2, Text("Key 여럿", "several Keys"), draw_one_query),
    Part("batches", 1, Text("Query 여럿", "several Queries"), draw_queries),
    Part("masked", 1, Text("가려진 Keys", "masked Keys"), draw_masked_scores),
    Part("limits", 1, Text("비긴 Keys와 두 극한", "tied Keys, and the two limits"), draw_limits),
    Part("far", 1, Text("아주 크거나 작은 차이", "very large and very small differences"), draw_far_scores),
)
MANY_QUERIES = frozenset({"batches", "masked", "limits", "far"})


def target_of_two_keys(scores, target):
    ranked = np.sort(scores, axis=-1)
    gap = ranked[..., -1] - ranked[..., -2]
    return np.log(target / (1 - target)) / gap


def wide_scale_on_the_whole(scores, target):
    return scale_for_weight(np.ravel(scores), target)


def stopped_at_a_width(scores, target):
    """What halving down to a width of 1e-6 leaves, whatever the size of the scale."""
    scale = scale_for_weight(scores, target)
    return np.where(np.isfinite(scale), np.ceil(scale * 1e6) / 1e6, scale)


def limit_taken_for_reached(scores, target):
    """Asks the computed weights alone, in which the tail of a tie vanishes once exp has become too small."""
    low, high = np.full(scores.shape[:-1], -90.0), np.full(scores.shape[:-1], 90.0)
    for _ in range(40):
        middle = (low + high) / 2
        reached = row_weights(scores * np.exp(middle)[..., None]).max(axis=-1) >= target
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    even = row_weights(np.where(np.isneginf(scores), scores, 0.0)).max(axis=-1)
    return np.where(even >= target, 0.0, np.where(high < 90, np.exp(high), np.inf))


def exponentials_without_maximum(scores, target):
    low, high = np.zeros(scores.shape[:-1]), np.full(scores.shape[:-1], 100.0)
    count = np.isfinite(scores).sum(axis=-1)
    tied = (scores == scores.max(axis=-1, keepdims=True)).sum(axis=-1)
    for _ in range(40):
        middle = (low + high) / 2
        exponentials = np.exp(scores * middle[..., None])
        reached = exponentials.max(axis=-1) / exponentials.sum(axis=-1) >= target
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.select(
        [count == 0, count * target <= 1, tied * target >= 1], [np.inf, 0.0, np.inf], default=high
    )


def scale_by_rows(scores, target):
    """Each row on its own: an upper bound from the nearest rival, then a plain bisection below it."""
    result = np.full(scores.shape[:-1], np.inf)
    for row in np.ndindex(result.shape):
        open_ = scores[row][np.isfinite(scores[row])]
        gaps = sorted(max(open_) - s for s in open_) if len(open_) else []
        tied = gaps.count(0.0)
        if gaps and len(gaps) * target <= 1:
            result[row] = 0.0
        elif gaps and tied * target < 1:
            low, high = 0.0, np.log((len(gaps) - tied) / (1 / target - tied)) / gaps[tied]
            while high - low > 1e-9 * high:
                middle = (low + high) / 2
                total = sum(np.exp(-middle * gap) for gap in gaps)
                low, high = (middle, high) if total > 1 / target else (low, middle)
            result[row] = high
    return result


class Row:
    """The gaps of one row to its largest score."""

    def __init__(self, scores):
        self.gaps = max(scores) - scores[np.isfinite(scores)]
        self.tied = int((self.gaps == 0).sum())

    def reach(self, target):
        if not len(self.gaps):
            return np.inf
        if len(self.gaps) * target <= 1:
            return 0.0
        return np.inf if self.tied * target >= 1 else self.newton(target)

    def newton(self, target):
        """Newton on log total(scale) = -log target; the left side is convex and falls, so that 0 is a safe start."""
        scale = 0.0
        for _ in range(30):
            shares = np.exp(-scale * self.gaps)
            slope = -(shares * self.gaps).sum() / shares.sum()
            scale -= (np.log(shares.sum()) + np.log(target)) / slope
        return scale


def scale_by_newton(scores, target):
    flat = [Row(scores[row]).reach(target) for row in np.ndindex(scores.shape[:-1])]
    return np.array(flat).reshape(scores.shape[:-1])


def scale_by_doubling(scores, target):
    highest = np.nan_to_num(scores.max(axis=-1), neginf=0.0)
    gaps = highest[..., None] - scores
    allowed = gaps < np.inf
    shares = np.where(allowed, gaps, 0.0)

    def reached(scale):
        return (np.exp(-scale[..., None] * shares) * allowed).sum(axis=-1) <= 1 / target

    low, high = np.zeros(highest.shape), np.full(highest.shape, 1e-6)
    for _ in range(60):
        high = np.where(reached(high), high, 2 * high)
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = np.where(reached(middle), low, middle), np.where(reached(middle), middle, high)
    tied, count = np.sum(allowed & (gaps == 0), axis=-1), np.sum(allowed, axis=-1)
    high = np.where(tied * target >= 1, np.inf, high)
    return np.where(count == 0, np.inf, np.where(count * target <= 1, 0.0, high))


def scale_in_torch(scores, target):
    import torch

    scores = torch.as_tensor(scores)
    gaps = scores.amax(dim=-1, keepdim=True).nan_to_num(neginf=0.0) - scores
    count, tied = gaps.isfinite().sum(-1), (gaps == 0).sum(-1)
    low, high = torch.full(count.shape, -90.0).double(), torch.full(count.shape, 90.0).double()
    for _ in range(40):
        middle = (low + high) / 2
        reached = torch.exp(-middle.exp()[..., None] * gaps).sum(-1) <= 1 / target
        low, high = torch.where(reached, low, middle), torch.where(reached, middle, high)
    scale = torch.where(tied * target >= 1, torch.inf, high.exp())
    return torch.where(count == 0, torch.inf, torch.where(count * target <= 1, 0.0, scale))


def scale_for_weight_in_float32(scores, target):
    return scale_for_weight(scores.astype(np.float32), target)


END_TOO_LOW = Text(
    "찾는 구간의 위 끝을 100이나 10000 같은 수로 정해 두었습니다. 차이가 작으면 scale은 더 큽니다. 닿을 때까지 두 배로 늘리세요.",
    "The search ends at a fixed number, 100 or 10000 say. Where the differences are small the scale is larger: double "
    "the upper end until it reaches.",
)

DEAD_ROW_REACHES_NOTHING = Text(
    "모두 가려진 row에는 가장 큰 weight가 없으므로 어떤 scale로도 target에 닿지 않습니다: np.inf.",
    "A row that is masked throughout has no largest weight, and reaches the target at no scale: np.inf.",
)

SCALE_FOR_WEIGHT = Task(
    name="scale_for_weight",
    reference=scale_for_weight,
    parts=TARGET_PARTS,
    see="scaling.html#scaling-ranking",
    rtol=1e-4,
    atol=1e-9,
    mistakes=(
        Mistake(
            target_of_two_keys,
            Text(
                "가장 큰 두 Keys만 보았습니다. 이 식은 Key가 둘일 때만 맞습니다. 나머지 Keys도 분모에 들어갑니다.",
                "Only the two largest Keys are looked at. The formula holds for two Keys; the others are in the "
                "denominator too.",
            ),
            everywhere(TARGET_PARTS) - {"two_keys"},
        ),
        Mistake(
            variant(scale_for_weight, "temperature", ("return np.select(", "return 1 / np.select(")),
            Text(
                "score를 나눌 수(temperature)를 돌려주었습니다. scale은 곱하는 수, 곧 그 역수입니다.",
                "This is the number to divide by (a temperature). The scale multiplies: take its reciprocal.",
            ),
            everywhere(TARGET_PARTS),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "first_key_for_the_largest",
                ("highest = scores.max(axis=-1, keepdims=True)", "highest = scores[..., :1]"),
            ),
            Text(
                "첫 Key의 weight를 target에 맞추었습니다. row마다 score가 가장 큰 Key의 weight입니다.",
                "The first Key's weight is brought to the target. It is the weight of each row's largest score.",
            ),
            everywhere(TARGET_PARTS),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "one_maximum_for_all",
                ("highest = scores.max(axis=-1, keepdims=True)", "highest = scores.max()"),
            ),
            Text(
                "배열 전체의 최댓값을 썼습니다. row마다 자기 최댓값과의 차이입니다 (axis=-1, keepdims=True).",
                "The maximum of the whole array is used. Each row has its own (axis=-1, keepdims=True).",
            ),
            frozenset({"batches", "masked", "far"}),
        ),
        Mistake(
            wide_scale_on_the_whole,
            Text(
                "모든 row를 하나로 보고 scale 하나를 구했습니다. row마다 수 하나, shape는 (...)입니다.",
                "All rows are taken as one, with one scale. There is one number a row: the shape is (...).",
            ),
            MANY_QUERIES,
        ),
        *(
            Mistake(
                variant(
                    scale_for_weight,
                    f"scale_up_to_{end}",
                    ("default=2.0**high", f"default=np.minimum(2.0**high, {end})"),
                ),
                END_TOO_LOW,
                frozenset({"far"}),
            )
            for end in (10, 100, 1000, 10_000, 1_000_000)
        ),
        Mistake(
            stopped_at_a_width,
            Text(
                "구간의 폭이 0.000001이 되면 멈춘 것처럼 거칩니다. 0.0000005 같은 scale에는 모자라니 상대 오차로 멈추세요.",
                "This is as coarse as a search that stops at a width of 0.000001. A scale such as 0.0000005 needs more: stop by "
                "relative error.",
            ),
            frozenset({"far"}),
        ),
        Mistake(
            variant(scale_for_weight, "ties_counted_once", ("(gaps == 0).sum(axis=-1)", "1")),
            Text(
                "비긴 Keys를 하나로 세었습니다. m 개가 비기면 scale이 아무리 커도 저마다 1/m을 넘지 못합니다.",
                "Tied Keys are counted as one. With m of them, none gets beyond 1/m however large the scale.",
            ),
            frozenset({"limits"}),
        ),
        Mistake(
            limit_taken_for_reached,
            Text(
                "1/m은 극한일 뿐 유한한 scale은 닿지 못합니다. 컴퓨터에서 exp가 0이 되어 닿은 것처럼 보입니다.",
                "1/m is a limit that no finite scale reaches. It only looks reached once exp has become 0 in the "
                "computer.",
            ),
            frozenset({"limits"}),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "unreachable_as_nan",
                ("[np.inf, 0.0, np.inf]", "[np.nan, 0.0, np.nan]"),
            ),
            Text(
                "닿을 수 없는 target에 NaN을 두었습니다. 어떤 유한한 scale도 닿지 못하면 np.inf입니다.",
                "NaN stands where the target can't be reached. Where no finite scale reaches it, put np.inf.",
            ),
            frozenset({"masked", "limits"}),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "uniform_out_of_reach",
                ("[np.inf, 0.0, np.inf]", "[np.inf, np.inf, np.inf]"),
            ),
            Text(
                "scale 0에서 이미 닿은 target을 '닿을 수 없음'으로 답했습니다 (1/볼 수 있는 Key의 수 이하, Key가 하나뿐일 때도). 답은 0입니다.",
                "A target that scale 0 reaches already (1 / number of allowed Keys or less; with one Key, any) is called unreachable "
                "here. The answer is 0.",
            ),
            frozenset({"masked", "limits"}),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "masked_as_zero",
                ("    highest =", "    scores = np.where(np.isneginf(scores), 0.0, scores)\n    highest ="),
            ),
            Text(
                "−∞를 0으로 바꾸었습니다. score 0은 비중을 받습니다. 가려진 Key는 분모에 0을 더합니다.",
                "−∞ is replaced by 0, and a score of 0 takes weight. A masked Key adds 0 to the denominator.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            exponentials_without_maximum,
            Text(
                "score를 그대로 exp에 넣어 넘치거나 모두 0이 되었습니다. row의 최댓값과의 차이만 쓰세요.",
                "exp of the scores themselves overflows or vanishes. Use their differences to the row's maximum alone.",
            ),
            frozenset({"far"}),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "scores_overwritten",
                (
                    "    count, tied",
                    "    scores -= np.where(np.isneginf(highest), 0.0, highest)\n    count, tied",
                ),
            ),
            SCORES_OVERWRITTEN,
            everywhere(TARGET_PARTS),
        ),
        Mistake(
            variant(
                scale_for_weight, "axis_lost", ("scores.max(axis=-1, keepdims=True)", "scores.max(axis=-1)")
            ),
            AXIS_LOST,
            MANY_QUERIES,
        ),
        Mistake(
            variant(
                scale_for_weight,
                "asked_of_an_array",
                (
                    "        low, high = np.where(too_even, middle, low), np.where(too_even, high, middle)\n",
                    "        if too_even:\n            low = middle\n        else:\n            high = middle\n",
                ),
            ),
            COMPARED_AS_A_WHOLE,
            frozenset({"batches", "masked", "limits", "far"}),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "ties_taken_for_out_of_reach",
                ("tied * target >= 1", "(tied > 1) | (tied * target >= 1)"),
            ),
            Text(
                "비긴 scores가 있으면 늘 np.inf로 두었습니다. m개가 비기면 1/m보다 작은 target에는 유한한 scale이 닿습니다.",
                "Tied scores are always given np.inf here. Where m tie, a finite scale reaches a target below 1/m.",
            ),
            frozenset({"limits"}),
        ),
        Mistake(
            variant(scale_for_weight, "dead_row_as_zero", ("[np.inf, 0.0, np.inf]", "[0.0, 0.0, np.inf]")),
            DEAD_ROW_REACHES_NOTHING,
            frozenset({"masked"}),
        ),
        Mistake(
            variant(scale_for_weight, "dead_row_as_nan", ("[np.inf, 0.0, np.inf]", "[np.nan, 0.0, np.inf]")),
            DEAD_ROW_REACHES_NOTHING,
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                scale_for_weight,
                "scale_for_weight_squeezed",
                (
                    "return np.select(limits, [np.inf, 0.0, np.inf], default=2.0**high)",
                    "return np.squeeze(np.select(limits, [np.inf, 0.0, np.inf], default=2.0**high))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        scale_by_rows,
        scale_by_newton,
        scale_by_doubling,
        scale_in_torch,
        scale_for_weight_in_float32,
    ),
)


# --- Task 6: in words -----------------------------------------------------------------------------------------

SCALE_IN_WORDS = Written(
    name="scale_in_words",
    points=4,
    see="scaling.html#scaling-square-root",
    model_answer=Text(
        "components가 독립이고 평균 0, variance 1이면 곱 q_i k_i의 variance는 1이고 서로 covariance가 없어, dot product의 variance는 그 합인 "
        "d_k이다. 상수 c로 나누면 variance는 c²으로 나뉘므로 variance를 1로 만드는 것은 표준편차 √d_k다. d_k로 나누면 variance가 "
        "1/d_k가 되어 d_k가 클수록 logits가 서로 같아지고 weights가 고르게 펴진다. 나누지 않으면 차이가 커서 Softmax가 "
        "포화되고, p(1−p)가 0에 가까워 학습 신호가 약해진다. 이 결론은 initialization의 가정에서 나온 것이라 학습 뒤에 Q와 "
        "K의 norm이나 분포가 달라지면 성립하지 않는다. 표준편차가 둘 다 두 배가 되면 나눈 score의 variance는 1이 아니라 "
        "2⁴ = 16이다.",
        "With independent components of mean 0 and variance 1, each product q_i k_i has variance 1 and no covariance with "
        "the others, so the dot product's variance is their sum, d_k. Dividing by a constant c divides the variance by "
        "c²; what makes it 1 is the standard deviation √d_k. Dividing by d_k leaves variance 1/d_k: the wider the head, "
        "the more alike the logits and the more even the weights. Without dividing, the differences are large, Softmax "
        "saturates, and p(1−p) near 0 weakens the signal to learn from. All this rests on assumptions about the "
        "initialization; once training changes the norms or the distribution of Q and K, it no longer holds. If both "
        "standard deviations double, the scaled score has variance 2⁴ = 16 in place of 1.",
    ),
    rubric=Text(
        "1점: 세 가정에서 Var(q·k) = d_k. 1점: c로 나누면 c²으로 나뉘므로 √d_k. 1점: d_k로 나누거나 나누지 않을 때 weights와 "
        "기울기에 일어나는 일 (둘 중 하나면 된다). 1점: 학습 중의 norm과 분포는 보장하지 않음, 그리고 그 예의 variance 16.",
        "1 point: Var(q·k) = d_k from the three assumptions. 1 point: dividing by c divides the variance by c², hence "
        "√d_k. 1 point: what happens to weights and slopes when dividing by d_k, or not at all (either is enough). "
        "1 point: norms and distributions during training are not guaranteed, and the variance 16 of the example.",
    ),
)

BANK = Bank(
    "ps2",
    (SCORE_VARIANCES, UNIT_SCALE, SOFTMAX_JACOBIAN, ATTENTION_ENTROPY, SCALE_FOR_WEIGHT),
    (SCALE_IN_WORDS,),
)
