"""What is asked of one entry of torch's operator database, and whether aten does it.

`check` compares an entry's forms with torch on all its samples of one dtype:

    function   the result's values, dtypes and shapes, which operands it shares memory with, and
               that operands are left as torch leaves them
    method, inplace, operator   likewise, where the entry has them
    out        into tensors of the right layout, of another, of none, and of another dtype: the
               values are those of the function, whatever torch does there; a dtype to which the
               result cannot be cast is refused, and what torch takes is taken
    fake       on tensors without data: dtypes, sizes and strides; only where it is asked for
    compiled   in a program that is compiled: what the program gives eagerly; likewise
    errors     samples that torch refuses: the same type of exception, operands untouched

Values agree within torch.testing's own tolerance for the dtype; or they are at most twice as far
from the float64 result as torch's are, relative to their own and the mean size of the elements.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import compile_checks
import fake_checks
import torch
from database_translation import DEVICE, MissingError, Translator

import aten

DTYPES = ("float32", "int64", "bool")
EVERY_DTYPE = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)
FORMS = ("function", "method", "inplace", "operator", "out", "errors")
# Entries whose elements are whatever memory held.
_WITHOUT_VALUES = ("empty", "new_empty", "resize_")
# Where torch itself writes past the end of its memory: aten is asked alone.
_TORCH_CRASHES = frozenset({("lu_unpack", "reversed"), ("linalg.lu", "reversed")})
_WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
    # Of operands that are not all as wide themselves.
    torch.float64: torch.float64,
    torch.complex128: torch.complex128,
}
_OTHER_DTYPES = (torch.int32, torch.float64, torch.complex64)


# Where the argument `dim` stands of what chooses elements and leaves open which of equal ones.
_DIMENSION_OF_CHOICE = {"sort": 1, "argsort": 1, "mode": 1, "topk": 2, "kthvalue": 2}


def dtypes_of(entry: Any, among: Iterable[str] = DTYPES) -> tuple[Any, ...]:
    """The dtypes an entry is judged by: those among these it has, or the first of its own."""
    supported = entry.supported_dtypes("cpu")
    wanted = tuple(one for name in among if (one := getattr(torch, name)) in supported)
    return wanted or tuple(sorted(supported, key=str)[:1])


def has_samples(entry: Any, dtype: Any) -> bool:
    return next(iter(entry.sample_inputs("cpu", dtype)), None) is not None


def check(
    entry: Any, dtype: Any, limit: int | None = None, forms: Iterable[str] = FORMS
) -> dict[str, str]:
    """What is wrong with an entry for one dtype, by form. At most `limit` samples are taken."""
    found: dict[str, str] = {}
    for form in forms:
        try:
            with warnings.catch_warnings(), _oracle(entry):
                warnings.simplefilter("ignore")
                _CHECKS[form](entry, dtype, limit)
        except MissingError as missing:
            found[form] = f"missing: {missing}"
        except Exception as failure:
            found[form] = f"{type(failure).__name__}: {failure}"[:400]
    return found


def _oracle(entry: Any) -> contextlib.AbstractContextManager[Any]:
    """In which torch's results do not depend on the processor.

    Where there are tile registers (AMX) its products of eight-bit floating-point numbers are
    oneDNN's, and what is too large for them is NaN; elsewhere it is the largest number.
    """
    if entry.name.startswith("torch._scaled_mm"):
        return torch.backends.mkldnn.flags(enabled=False)
    return contextlib.nullcontext()


def _samples(entry: Any, dtype: Any, limit: int | None) -> list[Any]:
    # The first ones, so that what is run is a part of what is run without a limit.
    found = list(itertools.islice(entry.sample_inputs("cpu", dtype), limit))
    for sample in found:
        if "_random_samples" in sample.kwargs:
            # From [0, 1), as documented: torch draws one outside, and says nothing.
            sample.kwargs["_random_samples"] = sample.kwargs["_random_samples"].abs().frac()
    return found


def _check_calls(
    entry: Any, theirs: Any, dtype: Any, limit: int | None, *, inplace: bool = False
) -> None:
    if theirs is None:
        return
    ours = Translator()(theirs)
    for number, sample in enumerate(_samples(entry, dtype, limit)):
        if inplace and sample.broadcasts_input:
            continue
        with _named(f"sample {number}"):
            _compare_call(entry, ours, theirs, sample, inplace)


def _compare_call(entry: Any, ours: Any, theirs: Any, sample: Any, inplace: bool) -> None:
    translate = Translator()
    arguments = (sample.input, *sample.args)
    keywords = sample.kwargs
    our_arguments, our_keywords = translate(arguments), translate(keywords)
    originals = cloned((arguments, keywords))
    torch.manual_seed(0)
    try:
        expected = theirs(*arguments, **keywords)
    except Exception as error:
        _check_raises(type(error), lambda: ours(*our_arguments, **our_keywords))
        return
    aten.manual_seed(0)
    given = ours(*our_arguments, **our_keywords)
    values = not entry.name.startswith(_WITHOUT_VALUES)
    if DEVICE != "cpu" and entry.name in _DIMENSION_OF_CHOICE and not keywords.get("stable"):
        given = _chosen(entry.name, our_arguments, our_keywords, given)
        expected = _chosen(entry.name, arguments, keywords, expected)
    compare(given, expected, values, lambda: wide_result(theirs, originals))
    if values:
        written = None if _draws(theirs) else lambda: wide_operands(theirs, originals)
        compare((our_arguments, our_keywords), (arguments, keywords), True, written)
    compare_sharing((our_arguments, our_keywords, given), (arguments, keywords, expected))
    if inplace and isinstance(arguments[0], torch.Tensor) and expected is arguments[0]:
        assert given is our_arguments[0], "an in-place call returns its first operand"


def _chosen(name: str, arguments: Any, keywords: Any, results: Any) -> Any:
    """Results with the elements that they chose in the place of indices.

    Which of equal elements are chosen is left open, and depends on the device.
    """
    operand, place = arguments[0], _DIMENSION_OF_CHOICE[name]
    dim = keywords.get("dim", arguments[place] if len(arguments) > place else -1)
    if operand.dim() == 0 or operand.numel() == 0:
        return results

    def elements(one: Any) -> Any:
        if "int64" not in str(one.dtype) or one is first:
            return one
        dropped = one.dim() < operand.dim()
        found = operand.gather(dim, one.unsqueeze(dim) if dropped else one)
        return found.squeeze(dim) if dropped else found

    made = results if isinstance(results, tuple) else (results,)
    first = made[0] if len(made) > 1 else None
    return [elements(one) for one in made]


def wide_result(function: Any, originals: Any) -> Any:
    """The result on operands of twice the precision; None where it depends on random numbers.

    Those are others in another dtype. Whole numbers become float64, too.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        made = [_seeded(function, originals, seed) for seed in range(1 + _draws(function))]
    finally:
        torch.set_default_dtype(before)
    first, last = (list(tensors_in(one)) for one in (made[0], made[-1]))
    same = all(one.equal(other) for one, other in zip(first, last, strict=True))
    return made[0] if len(made) == 1 or same else None


def _seeded(function: Any, originals: Any, seed: int) -> Any:
    arguments, keywords = mapped(cloned(originals), _widened)
    torch.manual_seed(seed)
    return function(*arguments, **keywords)


def wide_operands(function: Any, originals: Any) -> Any:
    """The operands of twice the precision, as the call leaves them."""
    arguments, keywords = operands = mapped(originals, _widened)
    function(*arguments, **keywords)
    return operands


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(_WIDER.get(value.dtype, value.dtype))
    return _WIDER.get(value, value) if isinstance(value, torch.dtype) else value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(one, change) for one in value))
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(mapped(one, change) for one in value)
    if isinstance(value, dict):
        return {key: mapped(one, change) for key, one in value.items()}
    return change(value)


def cloned(value: Any) -> Any:
    return mapped(value, lambda one: one.clone() if isinstance(one, torch.Tensor) else one)


def tensors_in(value: Any) -> Iterator[Any]:
    """Every tensor, of either library, in a nest of results or arguments."""
    if isinstance(value, (torch.Tensor, aten.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, slice):
        yield from tensors_in((value.start, value.stop, value.step))


def compare(given: Any, expected: Any, values: bool, wide: Callable[[], Any] | None) -> None:
    _compare_kinds(given, expected)
    ours, theirs = list(tensors_in(given)), list(tensors_in(expected))
    assert len(ours) == len(theirs), f"{len(ours)} tensors, expected {len(theirs)}"
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert one.dtype.name == str(other.dtype).removeprefix("torch."), (
            f"dtype {one.dtype}, expected {other.dtype}"
        )
        assert tuple(one.shape) == tuple(other.shape), (
            f"shape {tuple(one.shape)}, expected {tuple(other.shape)}"
        )
        if values:
            _compare_values(to_torch(one), other.detach(), place, wide)


def _compare_kinds(given: Any, expected: Any) -> None:
    """Everything that is no tensor."""
    if isinstance(expected, torch.Tensor):
        assert isinstance(given, aten.Tensor), f"{type(given).__name__}, expected a tensor"
    elif isinstance(expected, (list, tuple)):
        assert isinstance(given, (list, tuple)), f"{type(given).__name__}, expected a sequence"
        assert len(given) == len(expected), f"{len(given)} results, expected {len(expected)}"
        for one, other in zip(given, expected, strict=True):
            _compare_kinds(one, other)
    elif isinstance(expected, dict):
        for key, value in expected.items():
            _compare_kinds(given[key], value)
    elif isinstance(expected, torch.dtype):
        assert given.name == str(expected).removeprefix("torch."), f"{given}, expected {expected}"
    elif isinstance(expected, (float, complex)):
        torch.testing.assert_close(given, expected, equal_nan=True)
    elif isinstance(expected, (bool, int, str, type(None))):
        assert type(given) is type(expected), f"{type(given)}, expected {type(expected)}"
        assert given in (expected, DEVICE), f"{given}, expected {expected}"


def to_torch(tensor: Any) -> Any:
    """The elements of one of our tensors, as a tensor of torch."""
    element = getattr(torch, tensor.dtype.name)
    if tensor.numel() == 0:
        return torch.empty(tuple(tensor.shape), dtype=element)
    if hasattr(tensor, "resolve_conj"):
        tensor = tensor.resolve_conj().resolve_neg()
    packed = tensor.to("cpu").contiguous()
    # Of a single element, any stride is contiguous, and only a stride of one is bytes.
    row = packed.as_strided((packed.numel(),), (1,), packed.storage_offset())
    raw = row.view(aten.uint8).numpy().tobytes()
    return torch.frombuffer(bytearray(raw), dtype=element).reshape(tuple(tensor.shape))


def _compare_values(given: Any, expected: Any, place: int, wide: Callable[[], Any] | None) -> None:
    expected = expected.resolve_conj().resolve_neg()
    try:
        torch.testing.assert_close(given, expected, equal_nan=True, check_stride=False)
    except AssertionError:
        found = None if wide is None or expected.dtype not in _WIDER else wide()
        if found is None:
            raise
        exact = list(tensors_in(found))[place].resolve_conj()
        if not _as_near(given, expected, exact):
            raise


def _as_near(given: Any, expected: Any, exact: Any) -> bool:
    if exact.shape != expected.shape or not torch.equal(given.isfinite(), expected.isfinite()):
        return False
    finite = expected.isfinite() & exact.isfinite()

    def distance(values: Any) -> float:
        if not finite.any():
            return 0.0
        size = exact[finite].abs()
        error = (values[finite].to(exact.dtype) - exact[finite]).abs()
        return float((error / (size + size.mean()).clamp_min(1e-30)).max())

    agree = torch.equal(given[~finite].nan_to_num(), expected[~finite].nan_to_num())
    return agree and distance(given) <= 2 * distance(expected)


def _memory(tensor: Any) -> int:
    """What tells a tensor's memory from others'; 0 for one without."""
    if tensor.numel() == 0 or tensor.device.type not in ("cpu", DEVICE):
        return 0
    if isinstance(tensor, aten.Tensor):
        return id(tensor.untyped_storage())
    return int(tensor.untyped_storage()._cdata)


def compare_sharing(ours: Any, theirs: Any) -> None:
    """The same pairs of operands and results share memory."""
    our_memories = [_memory(one) for one in tensors_in(ours)]
    their_memories = [_memory(one) for one in tensors_in(theirs)]
    for one, other in itertools.combinations(range(len(our_memories)), 2):
        shared = 0 != our_memories[one] == our_memories[other]
        expected = 0 != their_memories[one] == their_memories[other]
        assert shared == expected, (
            f"tensors {one} and {other} of operands and results "
            f"{'share' if shared else 'do not share'} memory"
        )


def _check_raises(expected: type[BaseException], call: Callable[[], Any]) -> None:
    raised = _exception_of(call)
    assert raised is not None, f"raised nothing, expected {expected.__name__}"
    same = type(raised).__name__.lstrip("_") == expected.__name__.lstrip("_")
    assert same or isinstance(raised, expected), (
        f"raised {type(raised).__name__} ({raised}), expected {expected.__name__}"
    )


def _exception_of(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    try:
        yield
    except MissingError:
        raise
    except AttributeError as failure:
        if str(failure).startswith(("module 'aten", "type object 'aten", "'aten._core.tensor.T")):
            raise MissingError(str(failure)) from failure
        raise
    except Exception as failure:
        raise AssertionError(f"{what}: {type(failure).__name__}: {failure}") from failure


def _check_function(entry: Any, dtype: Any, limit: int | None) -> None:
    _check_calls(entry, entry.op, dtype, limit)


def _check_method(entry: Any, dtype: Any, limit: int | None) -> None:
    _check_calls(entry, entry.method_variant, dtype, limit)


def _check_inplace(entry: Any, dtype: Any, limit: int | None) -> None:
    _check_calls(entry, entry.inplace_variant, dtype, limit, inplace=True)


def _check_operator(entry: Any, dtype: Any, limit: int | None) -> None:
    _check_calls(entry, entry.operator_variant, dtype, limit)
    _check_calls(entry, entry.inplace_operator_variant, dtype, limit, inplace=True)


def _check_out(entry: Any, dtype: Any, limit: int | None) -> None:
    if not entry.supports_out:
        return
    ours = Translator()(entry.op)
    for number, sample in enumerate(_samples(entry, dtype, limit)):
        try:
            plain = entry.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # refused without out=, too; the function's check looks at that
            continue
        if not isinstance(plain, (torch.Tensor, tuple)) or "out" in sample.kwargs:
            continue
        for layout, make in _OUTS.items():
            if number >= 4 and layout != "given":
                break
            made = mapped(plain, lambda one, make=make: make(one))
            with _named(f"sample {number}, out= {layout}"):
                _compare_out(entry, ours, sample, plain, made, layout)


def _compare_out(entry: Any, ours: Any, sample: Any, plain: Any, out: Any, layout: str) -> None:
    translate = Translator()
    # A named tuple of results is given as a plain one.
    out = tuple(out) if isinstance(out, tuple) else out
    arguments = translate((sample.input, *sample.args))
    keywords = translate({**sample.kwargs, "out": out})
    places = [one.data_ptr() for one in tensors_in(keywords["out"])]
    originals = cloned(((sample.input, *sample.args), sample.kwargs))
    alone = (entry.name, layout) in _TORCH_CRASHES
    refused = (
        None
        if alone
        else _exception_of(
            lambda: entry.op(sample.input, *sample.args, **{**sample.kwargs, "out": out})
        )
    )
    pairs = list(zip(tensors_in(plain), tensors_in(out), strict=True))
    castable = all(torch.can_cast(one.dtype, other.dtype) for one, other in pairs)
    if refused is not None and not castable:
        _check_raises(type(refused), lambda: ours(*arguments, **keywords))
        return
    try:
        result = ours(*arguments, **keywords)
    except Exception:
        if refused is None:
            raise
        return
    # cumsum and the like compute in the dtype of out=, instead of casting to it. Random numbers are
    # drawn in that dtype, and in the order of that memory.
    cast = castable and not (refused is None and _draws(entry.op))
    expected = [one.to(other.dtype) if cast else other for one, other in pairs]
    given = list(tensors_in(keywords["out"]))
    values = not entry.name.startswith(_WITHOUT_VALUES)
    same = all(one.dtype is other.dtype for one, other in pairs)
    wide = (lambda: wide_result(entry.op, originals)) if same else None
    compare(given, expected, values, wide)
    for place, mine, theirs in zip(places, given, tensors_in(out), strict=True):
        resized = refused is not None or mine.shape != tuple(theirs.shape)
        assert resized or mine.numel() < 2 or mine.stride() == theirs.stride(), "strides of out="
        assert mine.data_ptr() == place or not place, "out= has been moved"
    assert all(map(operator.is_, tensors_in(result), given)), "out= is not returned"


def _draws(function: Any) -> bool:
    return "wrapper_set_seed" in getattr(function, "__code__", _draws.__code__).co_names


def _garbage(like: Any) -> Any:
    if like.dtype.is_floating_point or like.dtype.is_complex:
        return like.new_full((), float("nan"))
    return like.new_full((), True if like.dtype is torch.bool else torch.iinfo(like.dtype).max)


def _given(result: Any) -> Any:
    return (
        torch.empty_strided(result.shape, result.stride(), dtype=result.dtype).copy_(
            _garbage(result)
        )
        if _is_dense(result)
        else torch.empty_like(result).copy_(_garbage(result))
    )


def _is_dense(result: Any) -> bool:
    return bool(result.numel() and 0 not in result.stride())


def _reversed(result: Any) -> Any:
    order = list(reversed(range(result.dim())))
    return (
        torch.empty([result.shape[dim] for dim in order], dtype=result.dtype)
        .fill_(_garbage(result).item())
        .permute(order)
    )


def _of_another_dtype(result: Any) -> Any:
    other = next(dtype for dtype in _OTHER_DTYPES if dtype is not result.dtype)
    return torch.zeros(result.shape, dtype=other)


def _on_tensors(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda one: make(one) if isinstance(one, torch.Tensor) else one


_OUTS = {
    "given": _on_tensors(_given),
    "reversed": _on_tensors(_reversed),
    "empty": _on_tensors(lambda one: torch.empty((0,), dtype=one.dtype)),
    "another dtype": _on_tensors(_of_another_dtype),
}


def _check_errors(entry: Any, dtype: Any, limit: int | None) -> None:
    if entry.error_inputs_func is None:
        return
    ours = Translator()(entry.op)
    for number, wrong in enumerate(_error_inputs(entry)):
        sample = wrong.sample_input
        translate = Translator()
        try:
            arguments = translate((sample.input, *sample.args))
            keywords = translate(sample.kwargs)
        except RuntimeError as refused:  # a tensor of more dimensions than there are
            if not issubclass(wrong.error_type, RuntimeError):
                raise AssertionError(f"error input {number}: {refused}") from refused
            continue
        before = mapped((arguments, keywords), _copy_of_ours)
        try:
            entry.op(sample.input, *sample.args, **sample.kwargs)
        except Exception as error:
            with _named(f"error input {number}"):
                _check_raises(type(error), lambda: ours(*arguments, **keywords))
                for one, other in zip(
                    tensors_in((arguments, keywords)), tensors_in(before), strict=True
                ):
                    if one.is_meta:
                        continue
                    torch.testing.assert_close(
                        to_torch(one), to_torch(other), rtol=0, atol=0, equal_nan=True
                    )


def _copy_of_ours(value: Any) -> Any:
    return value.clone() if isinstance(value, aten.Tensor) else value


def _error_inputs(entry: Any) -> Iterable[Any]:
    return list(entry.error_inputs("cpu"))


def _check_compiled(entry: Any, dtype: Any, limit: int | None) -> None:
    # Functions that seed themselves do so when they are captured, and not when they are replayed.
    values = not _draws(entry.op) and not entry.name.startswith(_WITHOUT_VALUES)
    ours = Translator()(entry.op)
    for number, sample in enumerate(_samples(entry, dtype, limit)):
        translate = Translator()
        args, kwargs = translate((sample.input, *sample.args)), translate(sample.kwargs)
        with _named(f"sample {number}"):
            compile_checks.compare(ours, args, kwargs, values)


def _check_fake(entry: Any, dtype: Any, limit: int | None) -> None:
    ours = Translator()(entry.op)
    for number, sample in enumerate(_samples(entry, dtype, limit)):
        with _named(f"sample {number}"):
            fake_checks.compare(ours, entry.op, sample)


_CHECKS = {
    "function": _check_function,
    "method": _check_method,
    "inplace": _check_inplace,
    "operator": _check_operator,
    "out": _check_out,
    "errors": _check_errors,
    "fake": _check_fake,
    "compiled": _check_compiled,
}

__all__ = [
    *("DTYPES", "EVERY_DTYPE", "FORMS", "check", "cloned", "compare", "compare_sharing"),
    *("dtypes_of", "mapped", "tensors_in", "to_torch", "wide_operands", "wide_result"),
]
