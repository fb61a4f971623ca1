"""Kernels that are Python functions: composites, factories, library calls; and compiled views.

Here too: in-place and out= variants of operators that only know how to make fresh results. They
compute the result and copy it to where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import can_cast, dtype
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.shielding import ShieldedKernel
from aten._core.tensor import memory
from aten._core.tensor.tensor import Tensor
from aten._core.views import views
from aten.backends import fast_paths
from aten.backends.cpu.kernels.filling import factories
from aten.backends.lazy_views import skip_laziness
from aten.ops.definition import Options, load_function, options_of, place_of
from aten.registry import operator, ops

_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]
# What a factory takes from its out= tensor where the functional overload is asked for it.
_TENSOR_OPTIONS = ("dtype", "layout", "device")


def install_composite(op: OpOverload) -> None:
    """Operators that call others: they run under every key, autograd included."""
    if _install_fast_path(op, DispatchKey.CompositeImplicitAutograd):
        return
    if is_variant(op):
        install_variant(op, DispatchKey.CompositeImplicitAutograd)
        return
    _install_function(op, DispatchKey.CompositeImplicitAutograd, op.entry.function)


def install_factory(op: OpOverload) -> None:
    """Factories: one function, or one compiled kernel, for all backends."""
    key = DispatchKey.CompositeExplicitAutograd
    _install_fast_path(op, DispatchKey.CPU)
    native = op.entry.options.get("native")
    if native in factories.NAMES and not is_variant(op):
        kernel = factories.FactoryKernel(op, str(native))
        op.register(key, kernel, kernel.place)
        return
    _install_at(op, key, op.entry.function)


def install_explicit(op: OpOverload) -> None:
    """Operators defined by other operators: a function for all backends, and for the CPU a
    compiled kernel or a function of its own, where there is one."""
    key = DispatchKey.CompositeExplicitAutograd
    if fast_paths.is_derived_view(op) and _install_fast_path(op, key):
        skip_laziness(op)
        return
    install_definition(op)
    location = str(op.entry.options.get("cpu", ""))
    keys = [DispatchKey.CPU]
    if location and options_of(location).knows_meta:
        keys.append(DispatchKey.Meta)
    for key in keys:
        if fast_paths.has_fast_path(op):
            _install_fast_path(op, key, location)
        elif location:
            _install_at(op, key, location)


def install_definition(op: OpOverload) -> None:
    """The function, over other operators, that serves backends without a kernel."""
    _install_at(op, DispatchKey.CompositeExplicitAutograd, op.entry.function)


def install_kernel(op: OpOverload) -> None:
    """Operators that need a kernel for each device: the CPU's, which knows metadata, too."""
    location = str(op.entry.options.get("cpu", op.entry.function))
    for key in (DispatchKey.CPU, DispatchKey.Meta):
        if not _install_fast_path(op, key, location):
            _install_at(op, key, location)


def _install_at(op: OpOverload, key: DispatchKey, location: str) -> None:
    """Put the function at `location` in place, or what makes a variant of the functional form."""
    writes_first = options_of(location).inplace if location else ""
    if is_variant(op) and not (op.entry.variant == "inplace" and writes_first):
        install_variant(op, key, location)
        return
    if writes_first and op.entry.variant == "functional":
        op.register(key, _on_copy(location), place_of(load_function(location)))
        return
    _install_function(op, key, location)


def _install_fast_path(op: OpOverload, key: DispatchKey, location: str = "") -> bool:
    """Put a compiled kernel in front of the operator's function, if the table names one."""
    if not fast_paths.has_fast_path(op):
        return False
    location = location or op.entry.function
    function = load_function(location)
    writes = options_of(location).inplace and op.entry.variant == "functional"
    general = _on_copy(location) if writes else _shielded(function)
    op.register(key, fast_paths.with_fast_path(op, general), place_of(function))
    return True


def install_view(op: OpOverload) -> None:
    """Views: a compiled kernel for all backends, which look at metadata only."""
    if op.entry.variant == "inplace":
        op.register(
            DispatchKey.CompositeExplicitAutograd,
            ShieldedKernel(_becoming(op)),
            "aten/backends/composite.py",
        )
        return
    native = op.entry.options.get("native")
    if native:
        kernel = views.ViewKernel(op, str(native))
        op.register(DispatchKey.CompositeExplicitAutograd, kernel, kernel.place)
        skip_laziness(op)
        return
    install_composite(op)


def install_copy(op: OpOverload) -> None:
    """Copies of what the view of the same name without "_copy" shows, in row-major order."""
    if is_variant(op):
        install_variant(op)
        return
    view = operator(op.entry.base.replace("_copy", "", 1))

    def copy(*arguments: Any, **keywords: Any) -> Any:
        shown = view(*arguments, **keywords)
        if isinstance(shown, Tensor):
            return shown.clone(memory_format=_CONTIGUOUS)
        return tuple(piece.clone(memory_format=_CONTIGUOUS) for piece in shown)

    key = DispatchKey.CompositeExplicitAutograd
    op.register(key, ShieldedKernel(copy), "aten/backends/composite.py")


def install_variant(
    op: OpOverload,
    key: DispatchKey = DispatchKey.CompositeExplicitAutograd,
    location: str | None = None,
) -> None:
    """Make the in-place or out= overload `op` from the functional one.

    A function with a parameter `out` writes there itself.
    """
    if location is None:
        location = op.entry.function
    if op.entry.variant == "out" and location:
        function = load_function(location)
        code = function.__code__
        if "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            with_op = code.co_varnames[:1] == ("called",)
            op.register(key, ShieldedKernel(function, with_op=with_op), place_of(function))
            return
    op.register(key, ShieldedKernel(variant_function(op, location)), "aten/backends/composite.py")


def variant_function(op: OpOverload, location: str) -> Callable[..., Any]:
    """What the in-place or out= overload `op` does: it calls the functional one, and copies."""
    options = options_of(location) if location else Options()
    made = _writing_out(op, options) if op.entry.variant == "out" else _in_place(op)
    if op.entry.variant == "out" and (
        options.writes or "!)" in operator(op.entry.base).schema_text
    ):
        return _restoring(op, made, options.writes)
    return made


def is_variant(op: OpOverload) -> bool:
    """Whether the table has no entry of its own for the overload, which follows from another."""
    base = op.entry.base
    return bool(base) and bool(base != op.qualified_name.partition("::")[2])


def _install_function(op: OpOverload, key: DispatchKey, location: str) -> None:
    if not location:
        return
    function = load_function(location)
    op.register(key, _shielded(function), place_of(function))


def _shielded(function: Any) -> ShieldedKernel:
    """The function as a kernel; one that serves several operators asks for the one called."""
    code = function.__code__
    return ShieldedKernel(function, with_op=code.co_varnames[: code.co_argcount][:1] == ("called",))


def _on_copy(location: str) -> ShieldedKernel:
    """The functional form of an operator whose function writes to its first argument."""
    function = load_function(location)
    layout = MEMORY_FORMATS[options_of(location).inplace]

    def run_on_copy(self: Tensor, *arguments: Any, **keywords: Any) -> Any:
        return function(self.clone(memory_format=layout), *arguments, **keywords)

    return ShieldedKernel(run_on_copy)


def _writing_out(op: OpOverload, options: Options) -> Callable[..., Any]:
    """The out= overload `op`: the functional results, cast and copied into the given tensors.

    Raises RuntimeError where a result cannot be cast to its tensor's dtype, or is elsewhere.
    """
    base = operator(op.entry.base)
    exact = options.exact_out or op.entry.kind == "foreach"
    row_major = options.row_major_out
    spared = 1 if options.inplace else 0

    def write_out(*arguments: Any, **keywords: Any) -> Any:
        names = _written_names(op)
        outs = [keywords.pop(name) for name in names]
        if isinstance(outs[0], (list, tuple)):
            results = base(*arguments, **keywords)
            if exact:
                results = tuple(result.contiguous() for result in results)
                _require_types(op.name, outs[0], results)
            _fill_list(op.name, outs[0], results)
            return None
        if exact:
            same = spared if arguments and arguments[0] is outs[0] else 0
            others = (*arguments[same:], *keywords.values())
            _require_apart(op.name, outs[0], others)
        if "device" in _keyword_names(base) and "device" not in keywords:
            keywords.update({name: getattr(outs[0], name) for name in _TENSOR_OPTIONS})
        elif "dtype" in keywords and keywords["dtype"] is None and len(outs) == 1:
            keywords["dtype"] = _computed_in(outs[0], arguments)
        results = base(*arguments, **keywords)
        if not isinstance(results, tuple):
            results = (results,)
        _require_computed(op.name, names, results)
        if exact or len(outs) > 1:
            _require_types(op.name, outs, results)
        if row_major is True or (row_major and arguments[0].is_complex()):
            results = tuple(result.contiguous() for result in results)
        pairs = list(zip(outs, results, strict=True))
        for out, result in pairs:
            _check_takes(op.name, out, result)
            if exact:
                _require_apart(op.name, _resized(out, result), others)
        if options.gaps_out:
            for out, result in pairs:
                _give_gaps(out, result)
        memory.write_outs(op.name, tuple(outs), results, ops.aten.copy_.default)
        return outs[0] if len(outs) == 1 else tuple(outs)

    return write_out


def _restoring(
    op: OpOverload, write_out: Callable[..., Any], unsaid: tuple[str, ...]
) -> Callable[..., Any]:
    """`write_out` of an operator that writes to operands, too: failing changes none of them.

    `unsaid` names those that the schema does not mark.
    """

    def call(*arguments: Any, **keywords: Any) -> Any:
        parameters = zip(op._schema.arguments, arguments, strict=False)
        written = [
            tensor
            for argument, tensor in parameters
            if tensor is not None and (argument.is_write or argument.name in unsaid)
        ]
        kept = [(tensor, tensor.clone()) for tensor in written]
        try:
            return write_out(*arguments, **keywords)
        except Exception:
            for tensor, elements in kept:
                tensor.copy_(elements)
            raise

    return call


def _computed_in(out: Tensor, operands: tuple[Any, ...]) -> dtype | None:
    """The dtype to compute in; None, for the operator's own, where a complex operand would lose
    its imaginary part before a norm is taken."""
    if out.is_complex() or not any(
        isinstance(one, Tensor) and one.is_complex() for one in operands
    ):
        return out.dtype
    return None


def _require_apart(name: str, out: Tensor, arguments: tuple[Any, ...]) -> None:
    """Raises RuntimeError where `out` overlaps itself or an argument."""
    memory.check_writable(out)
    for argument in arguments:
        for one in argument if isinstance(argument, (list, tuple)) else (argument,):
            if isinstance(one, Tensor) and memory.overlaps(out, one):
                raise RuntimeError(
                    f"{name}: unsupported operation: out shares memory with an argument"
                )


def _resized(out: Tensor, result: Tensor) -> Tensor:
    """What `out` will be once it has the result's sizes, where its memory is large enough."""
    if out.shape == result.shape:
        return out
    try:
        return out.as_strided(result.shape, result.stride(), out.storage_offset())
    except RuntimeError:
        return result


def _give_gaps(out: Tensor, result: Tensor) -> None:
    """Make an empty `out` as large as the memory that `result` is spread over, in its order."""
    if out.numel() or result.numel() < 2:
        return
    pairs = zip(result.shape, result.stride(), strict=True)
    extent = 1 + sum((size - 1) * step for size, step in pairs)
    if extent > result.numel():
        out.resize_((extent,))
        ops.aten.as_strided_(out, result.shape, result.stride(), out.storage_offset())


def _fill_list(name: str, outs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    if len(outs) != len(results):
        raise RuntimeError(f"{name}: expected {len(results)} tensors as out, got {len(outs)}")
    pairs = list(zip(outs, results, strict=True))
    for out, result in pairs:
        _check_takes(name, out, result)
    memory.write_outs(name, tuple(outs), tuple(results), ops.aten.copy_.default)


def _becoming(op: OpOverload) -> Callable[..., Tensor]:
    """The in-place overload `op` of a view: the tensor becomes what the view of it shows."""
    base = operator(op.entry.base)

    def become(self: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        memory.become(self, base(self, *arguments, **keywords))
        memory.mark_written(self)
        return self

    return become


def _in_place(op: OpOverload) -> Callable[..., Tensor]:
    """The in-place overload `op`: the functional result, cast and copied into the first argument.

    Raises RuntimeError where the result has another shape, or cannot be cast.
    """
    base = operator(op.entry.base)

    def write_in_place(self: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        result = base(memory.before_write(self), *arguments, **keywords)
        if result.shape != self.shape:
            raise RuntimeError(
                f"{op.name}: output with shape {list(self.shape)} doesn't match the result's "
                f"shape {list(result.shape)}"
            )
        _check_takes(op.name, self, result)
        memory.write_out(op.name, self, result, ops.aten.copy_.default)
        return self

    return write_in_place


def _require_computed(name: str, outs: Sequence[str], results: Sequence[Tensor | None]) -> None:
    """Raises RuntimeError where an output_mask leaves out what is to be written."""
    for out, result in zip(outs, results, strict=True):
        if result is None:
            raise RuntimeError(
                f"{name}: {out} was given, but the call leaves out the result it is for"
            )


def _require_types(name: str, outs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Raises RuntimeError where a result would have to be cast."""
    for out, result in zip(outs, results, strict=False):
        if out.dtype is not result.dtype:
            raise RuntimeError(f"{name}: out= must be of {result.dtype}, but is of {out.dtype}")


@cache
def _written_names(op: OpOverload) -> tuple[str, ...]:
    return tuple(argument.name for argument in op._schema.arguments if argument.is_out)


@cache
def _keyword_names(op: OpOverload) -> tuple[str, ...]:
    return tuple(argument.name for argument in op._schema.keyword_only)


def _check_takes(name: str, out: Tensor, result: Tensor) -> None:
    if not can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"{name}: result type {result.dtype.scalar_type_name} can't be cast to the desired "
            f"output type {out.dtype.scalar_type_name}"
        )
    if out.device != result.device:
        raise RuntimeError(
            f"{name}: expected out on device {result.device}, but it is on {out.device}"
        )
