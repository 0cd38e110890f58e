"""The library against the ONNX operator `Attention`: the 93 node cases that onnx itself is tested with."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import numpy as np
import onnx
import pytest
from conftest import Backend, numpy
from onnx.backend.test.case import node as node_cases
from onnx.backend.test.case.node import attention as _adds_its_cases  # noqa: F401

from course_lib import attention, explain, scale_and_mask, window_mask

CASES = {
    case.name: case
    for case in node_cases._NodeTestCases
    if [node.op_type for node in case.model.graph.node] == ["Attention"]
}


def test_all_cases_of_the_operator_are_here() -> None:
    assert onnx.__version__ == "1.23.2"
    assert len(CASES) == 93


@pytest.mark.parametrize("name", CASES)
def test_attention_gives_what_the_onnx_operator_gives(backend: Backend, name: str) -> None:
    case = CASES[name]
    (node,) = case.model.graph.node
    ((inputs, outputs),) = case.data_sets
    tolerance = (2e-2, 2e-2) if inputs[0].dtype.itemsize == 2 else (case.rtol, case.atol)
    found = onnx_attention(
        **{key: as_array(backend, array) for key, array in present(node.input, inputs)},
        **{attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute},
    )
    for key, right in present(node.output, outputs):
        assert tuple(found[key].shape) == right.shape, key
        ours, right = numpy(found[key]).astype("float64"), right.astype("float64")
        np.testing.assert_allclose(ours, right, rtol=tolerance[0], atol=tolerance[1], err_msg=key)


def present(names: Any, values: Any) -> list[tuple[str, Any]]:
    """A node calls what it leaves out by an empty name, and has no value for it."""
    return list(zip([name for name in names if name], values, strict=True))


def as_array(backend: Backend, values: np.ndarray) -> Any:
    if values.dtype.name != "bfloat16":
        return backend.array(values)
    # NumPy has no bfloat16.
    exact = backend.array(values.astype(np.float32))
    return exact.bfloat16() if backend.name == "torch" else exact


def onnx_attention(
    Q: Any,  # noqa: N803 (the operator's own names)
    K: Any,  # noqa: N803
    V: Any,  # noqa: N803
    *,
    past_key: Any = None,
    past_value: Any = None,
    q_num_heads: int | None = None,
    kv_num_heads: int | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    qk_matmul_output_mode: int = 0,
    softmax_precision: int | None = None,  # ours is never below float32
    **masks: Any,
) -> dict[str, Any]:
    """All four outputs of the operator."""
    xp = array_api_compat.array_namespace(Q, K, V)
    q, k, v = (split(xp, a, h) for a, h in ((Q, q_num_heads), (K, kv_num_heads), (V, kv_num_heads)))
    past = 0
    if past_key is not None:
        k, v = xp.concat([past_key, k], axis=2), xp.concat([past_value, v], axis=2)
        past = past_key.shape[2]
    options: dict[str, Any] = masks_of(xp, q, k, past, **masks)
    options |= {"scale": scale, "softcap": softcap or None, "enable_gqa": True}
    output, shown = attention(q, k, v, **options), explain(q, k, v, **options)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    qk_matmul_output = [
        scale_and_mask(shown.scores, factor),
        scale_and_mask(shown.scores, factor, softcap=softcap or None),
        shown.logits,
        shown.weights,
    ][qk_matmul_output_mode]
    if Q.ndim == 3:
        output = xp.reshape(xp.permute_dims(output, (0, 2, 1, 3)), (*Q.shape[:2], -1))
    return {"Y": output, "present_key": k, "present_value": v, "qk_matmul_output": qk_matmul_output}


def split(xp: Any, array: Any, heads: int | None) -> Any:
    """(batch, n, heads * d) as (batch, heads, n, d)."""
    if array.ndim == 4:
        return array
    return xp.permute_dims(xp.reshape(array, (*array.shape[:2], heads, -1)), (0, 2, 1, 3))


def masks_of(
    xp: Any,
    q: Any,
    k: Any,
    past: int,
    *,
    attn_mask: Any = None,
    nonpad_kv_seqlen: Any = None,
    is_causal: int = 0,
    left_window_size: int = -1,
    right_window_size: int = -1,
) -> dict[str, Any]:
    """What `attention` is to be told: the operator's diagonal starts after the Keys that are already cached."""
    n_q, n_k = q.shape[2], k.shape[2]
    if attn_mask is not None and attn_mask.shape[-1] < n_k:
        hidden = False if xp.isdtype(attn_mask.dtype, "bool") else -np.inf
        missing = (*attn_mask.shape[:-1], n_k - attn_mask.shape[-1])
        attn_mask = xp.concat([attn_mask, xp.full(missing, hidden, dtype=attn_mask.dtype)], axis=-1)
    window = (left_window_size, right_window_size)
    if nonpad_kv_seqlen is None and past in (0, n_k - n_q):
        align = "bottom-right" if past else "top-left"
        return {"mask": attn_mask, "causal": bool(is_causal), "window": window, "align": align}
    window = (left_window_size, 0) if is_causal else window
    if nonpad_kv_seqlen is None:
        allowed = window_mask(past + n_q, n_k, window)[past:]
    else:
        # Each sequence of the batch has its own diagonal: the last Query sees the last of its Keys.
        allowed = np.zeros((q.shape[0], 1, n_q, n_k), dtype=bool)
        for entry, n in enumerate(nonpad_kv_seqlen.tolist()):
            allowed[entry, 0, :, :n] = window_mask(n_q, n, window, align="bottom-right")
    allowed = xp.asarray(allowed)
    if attn_mask is None:
        return {"mask": allowed}
    both = xp.isdtype(attn_mask.dtype, "bool")
    return {"mask": allowed & attn_mask if both else xp.where(allowed, attn_mask, -np.inf)}
