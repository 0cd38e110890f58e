"""Torch's own ways to run a function: autocast, vmap, torch.func, compile, tensors without numbers, subclasses."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import oracle
import pytest
import torch
from conftest import close, numpy
from test_nonsense import CALLS, COMPUTING, parts, replaced
from torch._subclasses.fake_tensor import FakeTensorMode

import course_lib as lib
from course_lib import attention, explain, scores, weighted_sum

N_Q, N_K, D_K, D_V = 3, 5, 2, 7
MASK = torch.tensor([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool)
# The first two take torch's kernel, the rest the plain formula.
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "mask and causal": {"mask": MASK, "causal": True},
    "soft-cap": {"softcap": 2.0, "mask": MASK},
    "negative scale": {"scale": -0.5},
    "learned scale": {"scale": torch.tensor(0.5)},
    "floating mask": {"mask": torch.where(MASK, 0.5, -math.inf).half()},
}
every_way = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def qkv(*batch: int, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.normal(size=(*batch, *last)), dtype=dtype) for last in SHAPES]


SHAPES = ((N_Q, D_K), (N_K, D_K), (N_K, D_V))


# Autocast


@every_way
@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_changes_no_number(options: dict[str, Any], low: torch.dtype) -> None:
    inputs = qkv(2, dtype=torch.float32)
    # Products of 1e6 and a value of 1e5 are beyond float16, and the last Key is hidden from most.
    inputs[0] *= 1e3
    inputs[1] *= 1e3
    inputs[2][:, -1] = 1e5
    for array in inputs:
        array.requires_grad_()

    with torch.autocast("cpu", dtype=low):
        under = attention(*inputs, **options), explain(*inputs, **options)
    for ours, right in zip(
        everything(*under, inputs),
        everything(attention(*inputs, **options), explain(*inputs, **options), inputs),
        strict=True,
    ):
        assert ours.dtype == torch.float32
        assert torch.equal(ours, right)


def everything(output: torch.Tensor, shown: Any, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The output, its gradients, and the four steps. (Torch wants gradients asked for outside of autocast.)"""
    gradients = torch.autograd.grad(torch.sin(output).sum(), inputs)
    return [output, *gradients, shown.scores, shown.logits, shown.weights, shown.output]


def test_autocast_leaves_single_operations_in_float32() -> None:
    big = torch.full((4, 4), 200.0)
    poisoned = torch.cat([big, torch.full((1, 4), math.nan)])
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.all(scores(big, big) == 160000)
        assert torch.all(scores(big, poisoned)[:, :4] == 160000)
        assert torch.all(weighted_sum(big, big) == 160000)
        assert torch.all(weighted_sum(torch.tensor([[200.0] * 4 + [0.0]]), poisoned) == 160000)


# Tensors without numbers, and vmap, where nobody can look at them


# An expert is given as many tokens as chose it, which nobody knows without numbers; explain() shows them.
UNKNOWN = {"mixture_of_experts", "explain"}


def shapes_of(output: Any) -> list[tuple[int, ...]]:
    return [tuple(one.shape) for one in (output if isinstance(output, tuple) else (output,))]


@pytest.mark.parametrize("name", sorted(COMPUTING - UNKNOWN))
def test_shapes_are_known_on_the_meta_device(name: str) -> None:
    call, expected = getattr(lib, name), shapes_of(getattr(lib, name)(**CALLS[name]))
    on_meta = replaced(
        {key: value for key, value in CALLS[name].items() if key != "dtype"},
        lambda values: torch.tensor(values, device="meta"),
    )
    found = call(**on_meta)
    assert shapes_of(found) == expected
    assert {one.device.type for one in (found if isinstance(found, tuple) else (found,))} == {"meta"}


@every_way
def test_attention_of_fake_tensors_has_its_shape(options: dict[str, Any]) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        output = attention(*(torch.ones(2, *shape) for shape in SHAPES), **options)
    assert tuple(output.shape) == (2, N_Q, D_V)


@every_way
def test_vmap_gives_what_a_batch_axis_gives(options: dict[str, Any]) -> None:
    q, k, v = qkv(11)
    close(torch.vmap(partial(attention, **options))(q, k, v), attention(q, k, v, **options))
    close(torch.vmap(lambda q: attention(q, k[0], v[0], **options))(q), attention(q, k[0], v[0], **options))


@pytest.mark.parametrize("name", sorted(COMPUTING - UNKNOWN - {"causal_mask", "window_mask"}))
def test_every_function_runs_inside_vmap(name: str) -> None:
    call = replaced({key: one for key, one in CALLS[name].items() if key != "dtype"}, torch.tensor)
    first = next(key for key, one in call.items() if isinstance(one, torch.Tensor))
    numbers = call[first].is_floating_point()
    both = torch.stack([call[first], call[first] + 1 if numbers else call[first]])
    found = torch.vmap(lambda one: getattr(lib, name)(**call | {first: one}))(both)
    for i, one in enumerate(both):
        expected = getattr(lib, name)(**call | {first: one})
        for ours, right in zip(parts(found), parts(expected), strict=True):
            close(ours[i], right)


def test_vmap_over_a_mask_or_a_scale_gives_the_definition() -> None:
    (q, k, v), masks = qkv(), torch.stack([MASK, ~MASK])
    found = torch.vmap(lambda mask: attention(q, k, v, mask=mask, softcap=50.0))(masks)
    for ours, mask in zip(found, masks, strict=True):
        close(ours, oracle.attention(*map(numpy, (q, k, v)), allowed=numpy(mask), softcap=50.0))
    for ours, scale in zip(
        torch.vmap(lambda scale: attention(q, k, v, scale=scale))(v[0]), v[0], strict=True
    ):
        close(ours, oracle.attention(*map(numpy, (q, k, v)), scale=scale.item()))


def test_vmap_keeps_poison_where_it_may_be_read() -> None:
    q, k, v = qkv(11)
    expected = attention(q, k, v, causal=True)
    k[:, 2], v[:, 2] = math.nan, math.inf
    found = torch.vmap(partial(attention, causal=True))(q, k, v)
    close(found[:, :2], expected[:, :2])
    assert torch.all(torch.isnan(found[:, 2]))


# torch.func and torch.compile


@every_way
def test_derivatives_of_torch_func_are_autograd_s(options: dict[str, Any]) -> None:
    q, k, v = qkv()
    call = lambda q: torch.sin(attention(q, k, v, **options)).sum()  # noqa: E731
    q.requires_grad_()
    (expected,) = torch.autograd.grad(call(q), q)
    close(torch.func.grad(call)(q.detach()), expected)
    per_sample = torch.vmap(torch.func.grad(call))(torch.stack([q.detach()] * 2))
    close(per_sample, torch.stack([expected] * 2))


# Torch warns of a part of its own.
@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
def test_forward_mode_and_second_derivatives_come_from_torch_s_own_plain_kernel() -> None:
    q, k, v = qkv()
    call = lambda q: torch.sin(attention(q, k, v, causal=True)).sum()  # noqa: E731
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        slope = torch.func.jvp(call, (q,), (torch.ones_like(q),))[1]
        hessian = torch.func.hessian(call)(q)
        close(slope, torch.func.grad(call)(q).sum())
    close(hessian, torch.func.hessian(lambda q: call_by_hand(q, k, v))(q), 1e-10)


def call_by_hand(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    logits = (q @ k.mT / math.sqrt(D_K)).masked_fill(~torch.ones(N_Q, N_K).tril().bool(), -math.inf)
    return torch.sin(torch.softmax(logits, dim=-1) @ v).sum()


# Torch warns of the caches of array_api_compat, and of a part of its own.
@pytest.mark.filterwarnings("ignore:Dynamo detected a call:UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, id=name, marks=[] if name == "plain" else pytest.mark.slow)
        for name, options in OPTIONS.items()
    ],
)
def test_compiled_attention_gives_the_same(options: dict[str, Any]) -> None:
    torch.compiler.reset()
    inputs = qkv(2)
    compiled = torch.compile(lambda q, k, v: attention(q, k, v, **options), backend="eager")
    close(compiled(*inputs), attention(*inputs, **options))


# Kinds of tensors


class Named(torch.Tensor):
    """A tensor of a class of its own, as libraries make them."""


@every_way
def test_parameters_subclasses_and_copies_give_the_same(options: dict[str, Any]) -> None:
    inputs = qkv(2)
    expected = attention(*inputs, **options)
    close(attention(*(torch.nn.Parameter(array) for array in inputs), **options), expected)
    close(attention(*(array.as_subclass(Named) for array in inputs), **options), expected)
    close(attention(inputs[0], *(torch.nn.Parameter(array) for array in inputs[1:]), **options), expected)
    close(attention(*copy.deepcopy(inputs), **options), expected)
    assert torch.equal(attention(*inputs, **options), expected)


@every_way
def test_any_inputs_may_learn_and_the_others_stay(options: dict[str, Any]) -> None:
    inputs = qkv(2)
    learning = [array.clone().requires_grad_() for array in inputs]
    expected = torch.autograd.grad(torch.sin(attention(*learning, **options)).sum(), learning)
    for chosen in range(1, 8):
        mixed = [(learning if chosen >> i & 1 else inputs)[i] for i in range(3)]
        wanted = [array for array in mixed if array.requires_grad]
        found = torch.autograd.grad(torch.sin(attention(*mixed, **options)).sum(), wanted)
        for ours, right in zip(found, (e for i, e in enumerate(expected) if chosen >> i & 1), strict=True):
            close(ours, right)
    with torch.no_grad():
        assert not attention(*learning, **options).requires_grad
    with torch.inference_mode():
        close(attention(*inputs, **options), attention(*learning, **options))


def jagged(array: torch.Tensor) -> torch.Tensor:
    """Rows of several lengths."""
    return torch.nested.nested_tensor([array, array[:1]], layout=torch.jagged)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sparse": torch.Tensor.to_sparse,
    "rows": torch.Tensor.to_sparse_csr,
    "jagged": jagged,
}


# Torch warns that it may still change these.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", sorted(COMPUTING))
def test_tensors_that_are_not_dense_are_refused_by_name(name: str, layout: str) -> None:
    call = replaced({key: one for key, one in CALLS[name].items() if key != "dtype"}, torch.tensor)
    given = {key: one for key, one in call.items() if isinstance(one, torch.Tensor) and one.ndim == 2}
    for key, one in given.items():
        with pytest.raises(ValueError, match=r"^[\w' ]+ must be a dense tensor: its layout is torch\.\w+$"):
            getattr(lib, name)(**call | {key: LAYOUTS[layout](one)})
        getattr(lib, name)(**call)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_numbers_of_eight_bits_are_refused(dtype: torch.dtype) -> None:
    q, k, v = qkv()
    text = f"must hold real numbers of 16 bits or more: its dtype is {dtype}"
    for call in (
        lambda: attention(q.to(dtype), k, v),
        lambda: scores(q.to(dtype), k),
        lambda: lib.rms_norm(q.to(dtype)),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(ValueError, match=f"mask must be boolean .* its dtype is {dtype}"):
        attention(q, k, v, mask=torch.zeros(N_Q, N_K).to(dtype), causal=True)
