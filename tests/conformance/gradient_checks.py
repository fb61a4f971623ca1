"""Whether the gradients of an entry of torch's operator database are torch's.

Every sample is called with operands that require gradients; the results that have a graph get the
same random gradients in both libraries, and those of all operands are compared, with `second` those
of the gradients, too.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from database_checks import to_torch
from database_translation import Translator

import aten

# Tolerances of torch's own comparisons of gradients: of float64 as it is, of others by dtype.
_TOLERANCE = {
    torch.float32: (1e-4, 1e-4),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1e-4, 1e-4),
    torch.complex128: (1e-7, 1e-7),
}
# Gradients of torch's that are no derivatives: finite differences judge in their place.
_OVERWRITTEN = "torch has gradients for elements that others in the same place overwrote"
_UNREAD = "torch has gradients for the triangle of the factor that is not read"
FIRST_BY_DIFFERENCES = {
    "nn.functional.max_unpool1d": _OVERWRITTEN,
    "nn.functional.max_unpool2d": _OVERWRITTEN,
    "nn.functional.max_unpool3d": _OVERWRITTEN,
    "istft": "torch's entry cuts the window from the graph before the call",
    "cholesky_inverse": _UNREAD,
    "cholesky_solve": _UNREAD,
    "as_strided_scatter": "torch's gradient of what is written into is where it was overwritten",
}
SECOND_BY_DIFFERENCES = {
    **FIRST_BY_DIFFERENCES,
    "masked.logaddexp": "torch's gradients are NaN where all is masked",
    "nn.functional.linear_cross_entropy.chunked": "torch's gradients are constants, made forward",
}
_WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}


def name_of(entry: Any) -> str:
    """The entry's name, with that of its variant."""
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def check(entry: Any, dtype: Any, limit: int | None = None, *, second: bool = False) -> str | None:
    """What is wrong with the gradients of an entry, or None.

    Where single precision differs from torch's, torch's in double precision has the word.
    """
    if name_of(entry) in (SECOND_BY_DIFFERENCES if second else FIRST_BY_DIFFERENCES):
        return check_differences(entry, limit, second=second, dtype=_WIDER.get(dtype, dtype))
    ours = Translator()(entry.op)
    samples = itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=True), limit)
    for number, sample in enumerate(samples):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _compare_or_widen(entry, ours, sample, dtype, second)
        except Exception as failure:
            return f"sample {number}: {type(failure).__name__}: {failure}"[:600]
    return None


def _compare_or_widen(entry: Any, ours: Any, sample: Any, dtype: Any, second: bool) -> None:
    try:
        _compare(entry, ours, sample, second)
    except AssertionError:
        if second or dtype not in _WIDER:
            raise
        _compare(entry, ours, sample, second, _WIDER[dtype])


def left_out(entry: Any, *, second: bool = False, forward: bool = False) -> bool:
    """Whether torch's own tests leave the entry's comparison with differences out, in float64."""
    supported = entry.supports_gradgrad if second else True
    if forward:
        supported = entry.supports_fwgrad_bwgrad if second else entry.supports_forward_ad
    names = {
        (False, False): ("TestBwdGradients", "test_fn_grad"),
        (True, False): ("TestBwdGradients", "test_fn_gradgrad"),
        (False, True): ("TestFwdGradients", "test_forward_mode_AD"),
        (True, True): ("TestFwdGradients", "test_fn_fwgrad_bwgrad"),
    }
    group, test = names[second, forward]
    return not supported or any(
        getattr(one, "cls_name", None) == group
        and one.test_name in (None, test)
        and (one.dtypes is None or torch.float64 in one.dtypes)
        for one in entry.decorators
    )


def check_differences(
    entry: Any,
    limit: int | None = None,
    *,
    second: bool = False,
    forward: bool = False,
    dtype: Any = torch.float64,
) -> str | None:
    """What `gradcheck`, or with `second` `gradgradcheck`, says of an entry, or None.

    With `forward` derivatives, with `second` those of the way back, are those of forward mode.
    """
    try:
        ours = Translator()(entry.op)
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = entry.sample_inputs("cpu", dtype, requires_grad=True)
        for number, sample in enumerate(itertools.islice(samples, limit)):
            try:
                _differ(entry, ours, sample, second, forward)
            except Exception as failure:
                return f"sample {number}: {type(failure).__name__}: {failure}"[:600]
    return None


def _differ(entry: Any, ours: Any, sample: Any, second: bool, forward: bool) -> None:
    given = (sample.input, *sample.args)
    wrapper = entry.gradcheck_wrapper
    wrapper = _numbers if "masked" in wrapper.__name__ else Translator()(wrapper)
    given_flat = list(tensors((given, sample.kwargs)))
    places = [place for place, one in enumerate(given_flat) if one.requires_grad]
    translated = Translator()(_detached((given, sample.kwargs)))
    flat = list(tensors(translated))
    for place in places:
        flat[place].requires_grad_()

    def function(*leaves: Any) -> tuple[Any, ...]:
        changed = dict(zip(map(id, (flat[place] for place in places)), leaves, strict=True))
        positional, keywords = _replaced(translated, changed)
        aten.manual_seed(0)
        made = wrapper(ours, *positional, **keywords)
        return tuple(_results(entry, made, sample))

    checked: Any = aten.autograd.gradgradcheck if second else aten.autograd.gradcheck
    modes: dict[str, bool] = {}
    if forward and second:
        modes = {"check_fwd_over_rev": True, "check_rev_over_rev": False}
    elif forward:
        modes = {"check_forward_ad": True, "check_backward_ad": False}
    leaves = [flat[place] for place in places]
    leaves = [leaf.contiguous().detach().requires_grad_() for leaf in leaves]
    if leaves and function(*leaves):
        modes["check_undefined_grad"] = not (forward and second)
        checked(function, leaves, fast_mode=True, nondet_tol=entry.gradcheck_nondet_tol, **modes)


def _numbers(op: Any, *args: Any, **kwargs: Any) -> Any:
    """The result with zeros in the place of what the mask has left nothing for."""
    made = op(*args, **kwargs)
    hidden = [aten.where(one.detach().isfinite(), one, 0) for one in tensors(made)]
    return hidden[0] if isinstance(made, aten.Tensor) else tuple(hidden)


def _replaced(value: Any, changed: dict[int, Any]) -> Any:
    if isinstance(value, (torch.Tensor, aten.Tensor)):
        return changed.get(id(value), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(one, changed) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(one, changed) for one in value)
    if isinstance(value, dict):
        return {key: _replaced(one, changed) for key, one in value.items()}
    return value


def tensors(value: Any) -> Iterator[Any]:
    """All tensors in nested containers, in order."""
    if isinstance(value, (torch.Tensor, aten.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors(one)


def _compare(entry: Any, ours: Any, sample: Any, second: bool, wider: Any = None) -> None:
    """With `wider` torch computes with operands of that dtype in the place of theirs."""
    given = (sample.input, *sample.args)
    translate = Translator()
    our_given, our_keywords = translate(_detached(given)), translate(_detached(sample.kwargs))
    if wider is not None:
        sample = _widened(sample, wider)
        given = (sample.input, *sample.args)
    leaves = [one for one in tensors((given, sample.kwargs)) if one.requires_grad]
    pairs = list(
        zip(tensors((given, sample.kwargs)), tensors((our_given, our_keywords)), strict=True)
    )
    for theirs, mine in pairs:
        if theirs.requires_grad:
            mine.requires_grad_()
    our_leaves = [mine for theirs, mine in pairs if theirs.requires_grad]
    torch.manual_seed(0)
    aten.manual_seed(0)
    try:
        expected = _results(entry, entry.op(*given, **sample.kwargs), sample)
    except RuntimeError as error:
        if "derivative" in str(error) or "requires_grad" in str(error):
            return
        raise
    found = _results(entry, ours(*our_given, **our_keywords), sample)
    assert len(found) == len(expected), f"{len(found)} results with gradients, not {len(expected)}"
    if not expected:
        return
    seeds = [_random_like(one) for one in expected]
    our_seeds = [translate(one).to(mine.dtype) for one, mine in zip(seeds, found, strict=True)]
    if second:
        # What is linear in operands has second derivatives beside the gradients that it is given.
        for one in (*seeds, *our_seeds):
            one.requires_grad_()
    try:
        first = _gradients(torch, expected, leaves, seeds, second)
    except (RuntimeError, NotImplementedError):
        return  # torch has none
    our_first = _gradients(aten, found, our_leaves, our_seeds, second)
    if wider is not None:
        narrow = {after: before for before, after in _WIDER.items()}
        first = [one if one is None else one.to(narrow.get(one.dtype)) for one in first]
    _same(our_first, first, "gradient")
    if second:
        _compare_second(
            (first, [*leaves, *seeds]),
            (our_first, [*our_leaves, *our_seeds]),
            lambda changes: _changes_in_torch(entry, sample, leaves, changes),
        )


def _changes_in_torch(entry: Any, sample: Any, leaves: list[Any], changes: list[Any]) -> list[Any]:
    """How torch's results change when the leaves do, by forward mode."""
    forward = torch.autograd.forward_ad
    torch.manual_seed(0)
    with forward.dual_level():
        duals = {
            id(leaf): forward.make_dual(leaf.detach(), change)
            for leaf, change in zip(leaves, changes, strict=True)
        }
        given, keywords = _replaced(((sample.input, *sample.args), sample.kwargs), duals)
        made = entry.op(*given, **keywords)
        if sample.output_process_fn_grad is not None:
            made = sample.output_process_fn_grad(made)
        found = [forward.unpack_dual(one).tangent for one in tensors(made)]
    return [one for one in found if one is not None]


def _widened(sample: Any, dtype: Any) -> Any:
    """The sample with operands of one precision in another."""

    def wide(one: Any) -> Any:
        if not isinstance(one, torch.Tensor) or one.dtype not in _WIDER:
            return one
        return one.detach().to(_WIDER[one.dtype]).requires_grad_(one.requires_grad)

    return sample.transform(wide)


def _compare_second(theirs: Any, ours: Any, changes_in_torch: Any) -> None:
    """Second gradients, from pairs of first ones and leaves.

    Those of the first gradients' own seeds are products with the Jacobian. Where torch's are no
    numbers, `changes_in_torch`, by forward mode, says what they are.
    """
    translate = Translator()
    first, leaves = theirs
    our_first, our_leaves = ours
    places = [place for place, one in enumerate(first) if _has_graph(one)]
    if not places:
        return
    seeds = [_random_like(first[place]) for place in places]
    try:
        twice = _gradients(torch, [first[place] for place in places], leaves, seeds, False)
    except (RuntimeError, NotImplementedError):
        return
    # A gradient that is constant has no graph here, where torch's has one that gives zeros.
    pairs = [
        (our_first[place], translate(seed))
        for place, seed in zip(places, seeds, strict=True)
        if _has_graph(our_first[place])
    ]
    if pairs:
        results, our_seeds = zip(*pairs, strict=True)
        our_twice = _gradients(aten, results, our_leaves, our_seeds, False)
    else:
        our_twice = [None] * len(our_leaves)
    if places == [*range(len(first))] and any(
        one is not None and one.isnan().any() for one in twice
    ):
        try:
            changes = changes_in_torch(seeds)
            twice[-len(changes) :] = changes
        except (RuntimeError, NotImplementedError):
            pass  # torch has none
    _same(our_twice, twice, "second gradient")


def _has_graph(tensor: Any) -> bool:
    return tensor is not None and tensor.requires_grad


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_detached, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_detached, value))
    if isinstance(value, dict):
        return {key: _detached(one) for key, one in value.items()}
    return value


def _results(entry: Any, made: Any, sample: Any) -> list[Any]:
    if sample.output_process_fn_grad is not None:
        made = sample.output_process_fn_grad(made)
    return [one for one in tensors(made) if one.requires_grad]


def _random_like(tensor: Any) -> Any:
    generator = torch.Generator().manual_seed(tensor.numel() + 1)
    return torch.randn(tuple(tensor.shape), dtype=tensor.dtype, generator=generator)


def _gradients(library: Any, results: Any, leaves: Any, seeds: Any, keep: bool) -> list[Any]:
    return list(
        library.autograd.grad(
            results, leaves, seeds, create_graph=keep, allow_unused=True, retain_graph=True
        )
    )


def _same(given: list[Any], expected: list[Any], what: str) -> None:
    for place, (mine, theirs) in enumerate(zip(given, expected, strict=True)):
        if theirs is None and mine is None:
            continue
        # None says that a gradient is zero; so may a sum of what cancels out.
        if theirs is None:
            theirs = torch.zeros_like(to_torch(mine.detach()))
        if mine is None:
            mine = aten.zeros_like(Translator()(theirs.detach()))
        relative, absolute = _TOLERANCE.get(theirs.dtype, (1e-2, 1e-2))
        torch.testing.assert_close(
            to_torch(mine.detach()),
            theirs.detach().resolve_conj().resolve_neg(),
            rtol=relative,
            atol=absolute,
            equal_nan=True,
            msg=lambda text, place=place: f"{what} {place}: {text}",
        )
