"""The numbers of the chapters once more, from their definitions in plain Python: no NumPy, no library.

`test_book.py` sees to it that no number is typed in prose. Here stands what each of them has to be: the cells could be
wrong, or the library that they call. What a chapter measures is held against what it was derived to be.
"""

from __future__ import annotations

import re
from functools import cache
from math import atanh, exp, log, sqrt, tanh
from typing import Any

import pytest
from test_book import ROOT, execute, spans

TEXT = ROOT / "book" / "en"


def shares(*logits: float) -> list[float]:
    exponentials = [exp(logit) for logit in logits]
    return [each / sum(exponentials) for each in exponentials]


def mixed(weights: list[float], *values: tuple[float, float]) -> list[float]:
    return [sum(weight * value[at] for weight, value in zip(weights, values, strict=True)) for at in (0, 1)]


def entropy(weights: list[float]) -> float:
    return -sum(weight * log(weight) for weight in weights)


# What stands in the chapters, and in the configurations of the models that they name.
BEFORE, AFTER = shares(16, 8, 0), shares(2, 1, 0)
V = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)
WEIGHTS, SHARP = shares(1, 0, 0.5), shares(10, 0, 5)
HIDDEN = shares(1, 0.5)
N, D = 1024, 768
ATTENTION, FFN = 8 * N * D**2 + 4 * N**2 * D, 16 * N * D**2
TOKENS, LAYERS, HEADS, WIDTH = 32_768, 32, 32, 128
CACHES = {  # in numbers of two bytes
    "MHA": 2 * HEADS * WIDTH, "GQA": 2 * 8 * WIDTH, "MQA": 2 * WIDTH, "MLA": 512 + 64,
}  # fmt: skip
EXPERT = 3 * 4096 * 14_336
OUTSIDE = 32 * (2 * 4096**2 + 2 * 4096 * 8 * 128 + 4096 * 8) + 2 * 32_000 * 4096 + 65 * 4096

EXACT: dict[str, dict[str, float | str]] = {
    "computation": {
        "raw-third": 3, "hidden-third": 0, "unmasked-third": shares(0.75, 1, 1.5)[2],
        "unscaled-third": shares(1.5, 2, 3)[2], "weight-first": shares(0.75, 1)[0],
        "weight-second": shares(0.75, 1)[1],
    },
    "scaling": {
        "pairs": 20_000, "few-pairs": 400, "repeats": 20, "derived-unscaled": 64, "derived-scaled": 1,
        **{f"before-{at}": weight for at, weight in enumerate(BEFORE, 1)},
        **{f"after-{at}": weight for at, weight in enumerate(AFTER, 1)},
        "ratio-before": exp(8), "ratio-after": exp(1), "slope-most": 1 / 4,
        "slope-before": BEFORE[0] * (BEFORE[1] + BEFORE[2]), "slope-after": AFTER[0] * (AFTER[1] + AFTER[2]),
        "slope-ratio": AFTER[0] * (1 - AFTER[0]) / (BEFORE[0] * (BEFORE[1] + BEFORE[2])),
        "slope-ratio-of-score": AFTER[0] * (1 - AFTER[0]) / (BEFORE[0] * (BEFORE[1] + BEFORE[2])) / 8,
        "entropy-before": entropy(BEFORE), "entropy-after": entropy(AFTER), "entropy-most": log(3),
        "linear-score": (1 / 3) ** 2, "wide-derived": 2**4 * 64, "wide-scaled": 2**4, "wide-one-sided": 2**2,
        "wide-assumed": 1, "narrow": 1 / 64, "narrow-root": 1, "narrow-spread": 1 / 8,
    },
    "worked-example": {
        **{f"weight-{at}": weight for at, weight in enumerate(WEIGHTS, 1)},
        **{f"sharp-{at}": weight for at, weight in enumerate(SHARP, 1)},
        **{f"output-{at}": entry for at, entry in enumerate(mixed(WEIGHTS, *V), 1)},
        **{f"sharp-output-{at}": entry for at, entry in enumerate(mixed(SHARP, *V), 1)},
        "rounded-sum": 0.51 + 0.19 + 0.31, "exact-sum": 1, "hidden-weight-1": HIDDEN[0], "hidden-weight-3": HIDDEN[1],
        **{f"hidden-output-{at}": entry for at, entry in enumerate(mixed(HIDDEN, V[0], V[2]), 1)},
        "output-of-mean": 1.5 / 3, "output-of-raw": mixed(shares(2, 0, 1), *V)[0], "output-of-first": 1,
    },
    "heads": {
        "first-token": 1 / 4, "previous": shares(5, 0, 0, 0)[0], "same-kind": shares(5, 0, 5, 0)[2],
        "latent-cached": 6 + 2, "mha-cached": 3 * (4 + 2), "rank": 6, "key-width": 3 * 4,
        "elements-mha": f"{2 * 128 * 128:,}", "elements-gqa": f"{2 * 8 * 128:,}", "elements-mqa": f"{2 * 128}",
        "elements-mla": f"{512 + 64}", "ratio": 2 * 128 * 128 / 576, "groups": 576 / (2 * 128),
        "check-d-k": 768 / 12, "check-right": 1 / sqrt(64), "check-naive": 1 / sqrt(768),
        "check-too-small": sqrt(12), "check-by-width": 1 / 64, "check-share": 32 / 8, "check-head": 2, "check-tiled": 7,
    },
    "score-control": {
        "bound": sqrt(64), "gain": 4, "hundred": 100, "tied": 50, "leak-cap": 5, "factor-shown": 8, "factor-last": 32,
        **{f"capped-{a}": 50 * tanh(a / 50) for a in (10, 200)}, "slope-200": 1 - tanh(4) ** 2,
        "leak": shares(5 * tanh(1 / 5), 5 * tanh(2 / 5), -5)[2], "ratio-exponent": int(100 / log(10)),
        # tanh is nearer to 1 than to the number before it from where 1 - tanh is a quarter of their distance at 1.
        "edge-single": int(50 * atanh(1 - 2**-25)) + 1, "edge-double": int(50 * 55 * log(2) / 2) + 1,
        "check-bound": sqrt(256) * 2 * 2, "check-bound-plain": 16, "check-bound-once": 32, "check-sixteenfold": 4**2,
        "check-fourfold": 4, "check-capped": 30 * tanh(0.1), "check-capped-large": 30 * tanh(3),
        "check-slope-large": 1 - tanh(3) ** 2, "check-cut": 30, "check-many": 90,
    },
    "attention-and-ffn": {
        "attention-flops": f"{ATTENTION:,}", "ffn-flops": f"{FFN:,}", "attention-parameters": f"{4 * D**2:,}",
        "ffn-parameters": f"{8 * D**2:,}", "crossing": 2 * D, "long": f"{TOKENS:,}",
        "long-ratio": (8 * D + 4 * TOKENS) / (16 * D),
        **{f"cache-{kind}": TOKENS * LAYERS * count * 2 / 1e9 for kind, count in CACHES.items()},
        **{f"token-{kind}": LAYERS * count * 2 / 1000 for kind, count in CACHES.items()},
        **{f"share-{kind}": CACHES["MHA"] / count for kind, count in CACHES.items()},
        "llama-multiple": 256, "llama-width": 11_008,
        "moe-total": (OUTSIDE + 32 * 8 * EXPERT) / 1e9, "moe-active": (OUTSIDE + 32 * 2 * EXPERT) / 1e9,
        "moe-share": (OUTSIDE + 32 * 2 * EXPERT) / (OUTSIDE + 32 * 8 * EXPERT),
        "check-crossing": 8192, "check-one-d": 4096, "check-four-d": 16_384, "check-ratio": 1 / 2 + 2048 / (4 * 4096),
        "check-batch": 16 * TOKENS * LAYERS * CACHES["GQA"] * 2 / 1e9,
        "check-batch-mha": 16 * TOKENS * LAYERS * CACHES["MHA"] * 2 / 1e9,
        "check-batch-keys": 16 * TOKENS * LAYERS * CACHES["GQA"] / 1e9, "check-width": 2048, "check-vanilla": 3072,
        "check-swiglu": f"{3 * 768 * 2048:,}",
    },
    "long-sequences": {
        "long": "65,536", "long-inputs": 65_536 * 64 * 4 / 1e6, "long-scores": 65_536**2 * 4 / 1e9, "long-ratio": 1024,
        "shrink-3": exp(-0.5), "z-2": 1 + exp(-0.5), "z-3": exp(-0.5) + exp(-1) + 1,
        "output-1": mixed(WEIGHTS, *V)[0], "output-2": mixed(WEIGHTS, *V)[1], "queries": 64, "keys": 2048,
        "block-bytes": 64 * 2048 * 4 / 1e6, "part-4": 10 / 16, "part-256": 257 / 512, "most-tokens": 4096,
        "check-shrink": exp(-3), "check-z": 3 * exp(-3) + 1.5, "check-added": 4.5, "check-swapped": 3 + 1.5 * exp(-3),
        "check-side": 64, "check-all": 64**2, "check-computed": sum(range(65)), "check-half": 64**2 / 2,
        "check-scores": 32 * 16_384**2 * 2 / 1e9, "check-one-head": 16_384**2 * 2 / 1e9,
        "check-gibi": 32 * 16_384**2 * 2 / 2**30,
        "check-mean": 0.5 * 2 + 0.3, "check-above": 2 - 1.3, "check-no-mean": 1,
        "check-grad-1": 0.5 * 0.7, "check-grad-2": -0.3 * 0.3, "check-grad-3": -0.2 * 1.3, "check-diagonal": 2 * 0.5**2,
    },
    "check": {
        "d-k": 64, "output-first": mixed(WEIGHTS, *V)[0], "output-second": mixed(WEIGHTS, *V)[1], "output-mean": 0.5,
        "share-of-others": 1 - WEIGHTS[0], "sharp-share-of-others": 1 - SHARP[0], "masked-score": 3, "masked-weight": 0,
        "large-score": 500, "capped-score": 50,
    },
}  # fmt: skip

# What is drawn or measured: the least and the most that it may be.
MEASURED: dict[str, dict[str, tuple[float, float]]] = {
    "scaling": {
        "measured-unscaled": (62, 66), "measured-scaled": (0.97, 1.03), "widest-mean": (246, 266),
        "widest-scaled-low": (0.7, 1), "widest-scaled-high": (1, 1.3), "wide-measured": (16 * 62, 16 * 66),
    },
    "heads": {"loss-first": (1, 100), "loss-last": (0, 2)},
    "score-control": {
        "largest-normed": (0, 8), "same-direction": (7.9999, 8), "louder-normed": (0, 8), "gained": (127.99, 128),
        "louder-plain": (10_000, 40_000), "grown-logit": (1000, 4000),
        "grown-capped": (49.99, 50), "grown-weight": (0.99, 1),
        "tied-weight": (1 / 8, 0.3),
        "normed-weight": (1 / 8, 0.9),
    },
    "long-sequences": {
        "plain-mb": (3 * 67, 7 * 67), "blocks-mb": (1, 10), "copies": (3, 7), "saved": (40, 400), "apart": (0.1, 5),
    },
    "check": {"variance-raw": (62, 66), "variance-by-root": (0.97, 1.03), "variance-by-d": (0.015, 0.0163)},
}  # fmt: skip
CHAPTERS = [pytest.param(name, marks=pytest.mark.slow if name == "long-sequences" else ()) for name in EXACT]


@cache
def glued(chapter: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    text = (TEXT / f"{chapter}.md").read_text(encoding="utf-8")
    execute(
        [span.text for span in spans(text) if span.kind == "code"],
        glue=lambda name, value, display=True: values.update({name: value}),
    )
    return values


def shown(chapter: str) -> dict[str, str]:
    """The numbers of the prose, with the form in which they stand there last."""
    text = (TEXT / f"{chapter}.md").read_text(encoding="utf-8")
    return dict(re.findall(r"\{glue:text\}`([\w-]+)(?::([^`]*))?`", text))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_number_of_a_chapter_is_what_its_definition_gives(chapter: str) -> None:
    values, exact = glued(chapter), EXACT[chapter]
    measured = MEASURED.get(chapter, {})
    assert set(shown(chapter)) <= {*exact, *measured}
    for name, right in exact.items():
        got = values[name]
        assert got == (right if isinstance(right, str) else pytest.approx(right, rel=1e-9, abs=1e-15)), name
    for name, (least, most) in measured.items():
        got = values[name]
        assert least <= float(str(got).replace(",", "")) <= most, name


def test_counts_are_those_that_others_publish() -> None:
    """The FLOPs of nanoGPT's sizing, and the parameters of Mixtral 8x7B."""
    assert (ATTENTION, FFN) == (8_053_063_680, 9_663_676_416)
    assert (OUTSIDE + 32 * 8 * EXPERT, OUTSIDE + 32 * 2 * EXPERT) == (46_702_792_704, 12_879_925_248)
