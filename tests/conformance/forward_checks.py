"""Whether products with Jacobians of an entry of torch's operator database are torch's.

The results' changes for random changes of all operands that have gradients, by `func.jvp`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from database_checks import to_torch
from database_translation import Translator
from gradient_checks import check_differences, name_of, tensors

import aten

# Where torch's forward mode is not what its gradients say: these, gone back through twice, have the
# word.
_UNREAD = "torch's forward mode changes with the triangle that is not read"
_MASKED = "torch changes by NaN where all is masked, and the results are constants"
_HERMITIAN = "torch's forward mode takes a change that is not Hermitian for one that is"
BY_GRADIENTS = {
    "linalg.cholesky": _HERMITIAN,
    "linalg.cholesky_ex": _HERMITIAN,
    "linalg.eigh": _HERMITIAN,
    "logcumsumexp": "torch's forward mode scales by the largest of all, and loses what is small",
    "triangular_solve": _UNREAD,
}
# Where its gradients are no derivatives either: finite differences have the word.
BY_DIFFERENCES = {
    "cholesky_inverse": _UNREAD,
    "cholesky_solve": _UNREAD,
    "masked.logaddexp": _MASKED,
    "masked.logsumexp": _MASKED,
}

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-7, torch.complex128: 1e-7}


def check(entry: Any, dtype: Any, limit: int | None = None) -> tuple[str | None, int]:
    """What is wrong with the products of an entry, or None, and how many calls torch runs, too."""
    if name_of(entry) in BY_DIFFERENCES:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return check_differences(entry, limit, forward=True, dtype=wide), 1
    ours = Translator()(entry.op)
    compared = 0
    samples = itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=True), limit)
    for number, sample in enumerate(samples):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compared += _compare(entry, ours, sample, dtype)
        except Exception as failure:
            return f"sample {number}: {type(failure).__name__}: {failure}"[:600], compared
    return None, compared


def _compare(entry: Any, ours: Any, sample: Any, dtype: Any) -> bool:
    given = ((sample.input, *sample.args), sample.kwargs)
    chosen = [one.requires_grad for one in tensors(given)]
    primals = [one.detach() for one in tensors(given) if one.requires_grad]
    generator = torch.Generator().manual_seed(1)
    tangents = [torch.randn(one.shape, dtype=one.dtype, generator=generator) for one in primals]
    own = Translator()(_detached(given))
    # Before torch, which may write to its operands.
    mine = [Translator()(one) for one in primals]
    changes = [Translator()(one) for one in tangents]
    process = sample.output_process_fn_grad
    torch.manual_seed(0)
    try:
        function = _function(entry.op, _detached(given), chosen, process)
        if name_of(entry) in BY_GRADIENTS:
            expected = _gone_back_twice(function, primals, tangents)
        else:
            expected = torch.func.jvp(function, tuple(primals), tuple(tangents))[1]
    except Exception:
        return False
    if not expected:
        return False
    aten.manual_seed(0)
    found = aten.func.jvp(_function(ours, own, chosen, process), tuple(mine), tuple(changes))[1]
    assert len(found) == len(expected), f"{len(found)} results, not {len(expected)}"
    tolerance = max(TOLERANCE.get(one.dtype, TOLERANCE[dtype]) for one in primals)
    for place, (whole, wanted) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(
            to_torch(whole.detach()),
            wanted.detach().resolve_conj().resolve_neg(),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
            msg=lambda text, place=place: f"result {place}: {text}",
        )
    return True


def _gone_back_twice(function: Any, primals: list[Any], tangents: list[Any]) -> list[Any]:
    """The gradients of the primals are linear in those of the results: so they change."""
    leaves = [one.requires_grad_() for one in primals]
    results = function(*leaves)
    probes = [torch.ones_like(one, requires_grad=True) for one in results]
    back = torch.autograd.grad(results, leaves, probes, create_graph=True, allow_unused=True)
    pairs = [(one, t) for one, t in zip(back, tangents, strict=True) if one is not None]
    changing, changes = map(list, zip(*pairs, strict=True))
    return list(torch.autograd.grad(changing, probes, changes))


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_detached, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_detached, value))
    if isinstance(value, dict):
        return {key: _detached(one) for key, one in value.items()}
    return value


def _function(
    function: Callable[..., Any], given: Any, chosen: list[bool], process: Any
) -> Callable[..., Any]:
    """The function of the chosen tensors among what is given; its results that vary."""

    def run(*replaced: Any) -> Any:
        remaining = iter(replaced)
        places = iter(chosen)
        args, kwargs = _with_chosen(given, places, remaining)
        made = function(*args, **kwargs)
        if process is not None:
            made = process(made)
        return tuple(one for one in tensors(made) if one.is_floating_point() or one.is_complex())

    return run


def _with_chosen(value: Any, chosen: Iterator[bool], remaining: Iterator[Any]) -> Any:
    if isinstance(value, (torch.Tensor, aten.Tensor)):
        return next(remaining) if next(chosen) else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_chosen(one, chosen, remaining) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_with_chosen(one, chosen, remaining) for one in value)
    if isinstance(value, dict):
        return {key: _with_chosen(one, chosen, remaining) for key, one in value.items()}
    return value
