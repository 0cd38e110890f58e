"""Every public function, called: with what the array API standard has and no more, and with nonsense.

One argument that makes no sense is answered, or refused by a ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch

import course_lib as lib

# Each function with arguments that it takes, every option among them: 3 tokens of width 4, in 2 heads.
X, W = np.ones((3, 4)), np.ones((4, 4))
OPTIONS = {
    "mask": np.ones((3, 3), dtype=bool),
    "causal": True,
    "align": "top-left",
    "window": (1, 1),
    "scale": 0.5,
    "softcap": 5.0,
}
ATTENTION = {"q": X, "k": X, "v": X, **OPTIONS}
HEADS = {"x": X, "w_q": W, "w_k": W, "w_v": W, "w_o": W, "heads": 2, "memory": X, "prepare": lib.qk_norm}
LATENT = lib.LatentWeights(w_dkv=W, w_uk=W, w_uv=W, w_kr=np.ones((4, 2)), w_uq=W, w_qr=W, w_o=W, w_dq=W)
CACHED = lib.latent_cache(X, LATENT)
FFN = partial(lib.swiglu, w_gate=W, w_up=W, w_down=W)
BLOCK = {"x": X, "attention": FFN, "ffn": FFN, "attention_norm": lib.rms_norm, "ffn_norm": lib.layer_norm}
CALLS: dict[str, dict[str, Any]] = {
    "additive_mask": {"mask": OPTIONS["mask"], "dtype": np.float32},
    "attention": {**ATTENTION, "enable_gqa": False},
    "attention_cost": {"n": 3, "d_model": 4, "heads": 2, "kv_heads": 1, "d_k": 2, "d_v": 2, "n_k": 5},
    "block_steps": BLOCK,
    "causal_mask": {"n_q": 3, "n_k": 5, "align": "top-left", "like": X},
    "explain": {**ATTENTION, "enable_gqa": False},
    "feed_forward": {"x": X, "w_up": W, "w_down": W, "b_up": X[0], "b_down": X[0], "activation": "relu"},
    "feed_forward_cost": {"n": 3, "d_model": 4, "d_ff": 8},
    "grouped_query_attention": {**HEADS, "kv_heads": 2, **OPTIONS},
    "kv_cache_bytes": {"n": 3, "layers": 2, "kv_heads": 2, "d_k": 2, "d_v": 2, "itemsize": 2},
    "latent_attention": {
        "x": X,
        "weights": LATENT,
        "heads": 2,
        "cache": CACHED,
        "positions": np.arange(3),
        "base": 100.0,
        **OPTIONS,
    },
    "latent_attention_cost": {
        "n": 3,
        "d_model": 4,
        "heads": 2,
        "d_head": 2,
        "d_rope": 2,
        "d_c": 4,
        "d_v": 2,
        "d_q": 4,
    },
    "latent_cache": {"x": X, "weights": LATENT, "positions": np.arange(3), "base": 100.0},
    "latent_cache_bytes": {"n": 3, "layers": 2, "d_c": 4, "d_rope": 2, "itemsize": 2},
    "layer_norm": {"x": X, "gain": X[0], "bias": X[0], "eps": 1e-5},
    "merge_heads": {"x": np.ones((2, 3, 4))},
    "mixture_of_experts": {"x": X, "w_router": np.ones((4, 2)), "experts": [FFN, FFN], "top_k": 1},
    "mixture_of_experts_cost": {
        "n": 3,
        "d_model": 4,
        "expert": lib.feed_forward_cost(1, 4),
        "experts": 2,
        "top_k": 1,
    },
    "multi_head_attention": {**HEADS, **OPTIONS},
    "padding_mask": {"lengths": np.array([1, 3]), "n_k": 3},
    "qk_norm": {"q": X, "k": X, "kind": "rms", "q_gain": X[0], "k_gain": X[0], "eps": 1e-5},
    "residual": {"x": X, "sublayer": FFN, "norm": lib.rms_norm},
    "rms_norm": {"x": X, "gain": X[0], "eps": 1e-5},
    "rotary": {"x": X, "positions": np.arange(3), "base": 100.0, "interleaved": False},
    "scale_and_mask": {"scores": X, "scale": 0.5, "mask": np.ones(4, dtype=bool), "softcap": 5.0},
    "scores": {"q": X, "k": X},
    "soft_cap": {"scores": X, "cap": 5.0},
    "softmax": {"logits": X},
    "split_heads": {"x": X, "heads": 2},
    "swiglu": {"x": X, "w_gate": W, "w_up": W, "w_down": W},
    "swiglu_cost": {"n": 3, "d_model": 4, "d_ff": 8},
    "transformer_block": BLOCK,
    "weighted_sum": {"weights": np.ones((2, 3)), "v": X},
    "window_mask": {"n_q": 3, "n_k": 5, "window": (1, 0), "align": "top-left", "like": X},
}
# Those that are given arrays.
COMPUTING = {
    name for name, call in CALLS.items() if any(isinstance(one, np.ndarray) for one in call.values())
}
# They take nothing, or hold what functions return.
WITHOUT = {"best_device", "Cost", "Explanation", "LatentCache", "LatentWeights"}

NONSENSE = [
    None,
    "x",
    0,
    -1,
    1.5,
    float("nan"),
    True,
    [],
    [[1, 2]],
    (1, "x"),
    {},
    object(),
    lambda *_: None,
    np.float64(0.5),
    np.array(3.0),
    np.ones(0),
    np.ones(7),
    np.ones((2, 7)),
    np.ones((3, 4), dtype=int),
    np.ones((3, 4), dtype=bool),
    np.ones((3, 4)) + 1j,
    np.ones((2, 5, 3, 4)),
    np.array("x"),
    np.array([1, "x"], dtype=object),
    np.array(["2020-01-01"], dtype="M8[D]"),
    np.ma.ones((3, 4)),
    torch.ones(3, 4),
    torch.ones(3, 4, dtype=torch.complex64),
]


def test_nonsense_reaches_every_public_function() -> None:
    assert set(CALLS) | WITHOUT == set(lib.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_call_makes_sense_before_it_does_not(name: str) -> None:
    getattr(lib, name)(**CALLS[name])


def replaced(value: Any, array: Callable[[Any], Any]) -> Any:
    """Each NumPy array in the arguments of a call, replaced."""
    if isinstance(value, np.ndarray):
        return array(value)
    if isinstance(value, partial):
        return partial(value.func, **replaced(value.keywords, array))
    if isinstance(value, dict):
        return {key: replaced(one, array) for key, one in value.items()}
    if isinstance(value, list):
        return [replaced(one, array) for one in value]
    if isinstance(value, lib.LatentCache):
        return lib.LatentCache(*(array(part) for part in value))
    if isinstance(value, lib.LatentWeights):
        return lib.LatentWeights(**replaced(vars(value), array))
    return value


@pytest.mark.parametrize("name", sorted(COMPUTING))
def test_every_function_uses_only_what_the_standard_has(name: str) -> None:
    call = replaced(CALLS[name], array_api_strict.asarray)
    found = getattr(lib, name)(**call | ({"dtype": array_api_strict.float32} if "dtype" in call else {}))
    expected = getattr(lib, name)(**CALLS[name])
    pairs = zip(parts(found), parts(expected), strict=True)
    assert all(isinstance(ours, type(array_api_strict.ones(1))) for ours in parts(found))
    for ours, right in pairs:
        np.testing.assert_allclose(np.asarray(ours), right, rtol=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e-308])
@pytest.mark.parametrize("name", sorted(COMPUTING))
def test_no_state_of_numpy_s_errors_changes_an_answer(name: str, size: float) -> None:
    call = replaced(CALLS[name], lambda array: size * array if array.dtype.kind == "f" else array)
    expected = parts(getattr(lib, name)(**call))
    with np.errstate(all="raise"):
        found = parts(getattr(lib, name)(**call))
    for ours, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, right)


def parts(output: Any) -> tuple[Any, ...]:
    """The arrays that a function returns."""
    if isinstance(output, lib.Explanation):
        return output.scores, output.logits, output.weights, output.output
    return output if isinstance(output, tuple) else (output,)


@pytest.mark.parametrize(("name", "argument"), [(name, one) for name, call in CALLS.items() for one in call])
def test_nonsense_is_answered_by_a_sentence(name: str, argument: str) -> None:
    unclear = [answer for value in NONSENSE if (answer := complaint(name, argument, value))]
    assert unclear == []


def complaint(name: str, argument: str, value: object) -> str | None:
    """What is wrong with the answer to a value: another error than ValueError, or one that doesn't say what came.

    What is nonsense anywhere is named; of arguments that don't fit each other, one.
    """
    try:
        getattr(lib, name)(**{**CALLS[name], argument: value})
    except Exception as error:
        names = CALLS[name] if hasattr(value, "shape") or value is True else [argument]
        named = re.search(rf"\b({'|'.join(names)})\b", str(error))
        if not isinstance(error, ValueError) or ": " not in str(error) or not named:
            return f"{argument}={value!r} raises {error!r}"
    return None
