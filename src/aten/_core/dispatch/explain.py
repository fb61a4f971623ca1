"""What the dispatcher says when a call cannot be served, and other parts no fast call reaches."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NoReturn

from aten._core.dispatch import legacy_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aten._core.base.keys import DispatchKey
    from aten._core.dispatch.dispatcher import OpOverload
    from aten._core.dispatch.packets import MethodDescriptor, OpOverloadPacket

    Called = OpOverload | OpOverloadPacket | MethodDescriptor
    # Positional parameters (None: any number), and keyword names (None: any).
    Parameters = tuple[int | None, frozenset[str] | None]

_TENSOR_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory", "requires_grad"})
# What `numpy.min(x)` hands to the method `min` of what is no array of its own.
_NUMPY_DEFAULTS = frozenset({"axis", "dtype", "out"})
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def raise_missing(op: OpOverload, key: DispatchKey) -> NoReturn:
    """No kernel serves `key`: names the operator, the key and what is registered."""
    kernels = op.registrations.kernels
    registered = sorted(kernels, key=lambda registered_key: registered_key.value)
    places = ", ".join(f"{one.name} ({kernels[one][-1].provenance})" for one in registered)
    raise NotImplementedError(
        f"{op.qualified_name}: no kernel for the dispatch key {key.name}; "
        f"kernels are registered for: {places or 'no key'}"
    )


def call_without_match(
    called: Called,
    candidates: tuple[OpOverload, ...],
    args: Sequence[object],
    kwargs: dict[str, Any],
) -> Any:
    """No candidate's schema fits: the call may be written in a form of long ago, or say too much.

    NumPy's functions name defaults that say nothing.

    Factories may be told beside out= what `out` says itself. Raises TypeError for all other calls,
    RuntimeError where it is not what `out` says, and NotImplementedError for gradients.
    """
    unsaid = {name for name in _NUMPY_DEFAULTS.intersection(kwargs) if kwargs[name] is None}
    if unsaid:
        return called(*args, **{name: kwargs[name] for name in kwargs if name not in unsaid})
    name = _name_of(called)
    rewritten = legacy_calls.read(name, candidates, args, kwargs)
    if rewritten is not None:
        return called(*rewritten[0], **rewritten[1])
    if kwargs.get("requires_grad") is True and any(map(_is_factory, candidates)):
        without = {name: value for name, value in kwargs.items() if name != "requires_grad"}
        return called(*args, **without).requires_grad_()
    _refuse_names(called, candidates, kwargs)
    told = _TENSOR_OPTIONS.intersection(kwargs)
    if not told or kwargs.get("out") is None or not any(map(_is_factory, candidates)):
        raise_no_match(called, candidates, args, kwargs)
    for name in told:
        value, found = kwargs.pop(name), getattr(kwargs["out"], name, False)
        if value is not None and (type(found)(value) if name == "device" else value) != found:
            raise RuntimeError(f"{_name_of(called)}: {name} is {value}, but that of out is {found}")
    return called(*args, **kwargs)


def _name_of(called: Called) -> str:
    # A descriptor has its packet's name as Python's functions have theirs.
    return called.packet.name if hasattr(called, "packet") else called.name


def _refuse_names(
    called: Called, candidates: tuple[OpOverload, ...], kwargs: dict[str, Any]
) -> None:
    if not any(map(_is_factory, candidates)):
        return
    if kwargs.get("names") is not None:
        raise TypeError(f"{_name_of(called)}(): names=…: dimensions have no names here")


def _is_factory(op: OpOverload) -> bool:
    return op.entry is not None and op.entry.kind == "factory"


def raise_no_match(
    called: Called,
    candidates: tuple[OpOverload, ...],
    args: Sequence[object],
    kwargs: dict[str, object],
) -> NoReturn:
    """No candidate's schema fits the arguments; each candidate knows why its parser refused."""
    name = _name_of(called)
    as_method = hasattr(called, "packet")
    writes_out = kwargs.get("out") is not None
    likely = tuple(op for op in candidates if (op._schema.kind == "out") == writes_out)
    candidates = likely or candidates
    if len(candidates) == 1:
        reason = candidates[0].reason_for(as_method)
        colon = ":" if reason.startswith("argument") else ""
        raise TypeError(f"{name}(){colon} {reason}")
    given = [type(value).__name__ for value in args[as_method:]]
    given += [f"{keyword}={type(value).__name__}" for keyword, value in kwargs.items()]
    expected = "\n".join(
        f" * ({signature(op, as_method)})\n      didn't match because {op.reason_for(as_method)}"
        for op in candidates
    )
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(given)}), "
        f"but expected one of:\n{expected}"
    )


def signature(op: OpOverload, as_method: bool = False) -> str:
    """The arguments as callers know them: "Tensor input, Tensor other, *, Scalar alpha=1"."""
    text = op.schema_text
    listed = text[text.index("(") + 1 : text.rindex(") ->")].split(", ")
    for place, one in enumerate(listed):
        if as_method and one.endswith(" self"):
            return ", ".join([*listed[:place], *listed[place + 1 :]])
    return ", ".join("Tensor input" if one == "Tensor self" else one for one in listed)


def parameters_of(function: Callable[..., Any]) -> Parameters:
    """What `function` can be called with. One that does not say is taken to take everything."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None, None
    positional = [one for one in parameters if one.kind in _POSITIONAL]
    keywords = frozenset(one.name for one in parameters if one.kind in _BY_NAME)
    kinds = {one.kind for one in parameters}
    return (
        None if inspect.Parameter.VAR_POSITIONAL in kinds else len(positional),
        None if inspect.Parameter.VAR_KEYWORD in kinds else keywords,
    )


def takes_all(parameters: Parameters, op: OpOverload, leading: int) -> bool:
    """Whether there is a parameter for each of the operator's arguments."""
    positional, keywords = parameters
    schema = op._schema
    if positional is not None and len(schema.positional) + leading > positional:
        return False
    return keywords is None or all(one.name in keywords for one in schema.keyword_only)


def leave_out_defaults(
    parameters: Parameters,
    op: OpOverload,
    leading: int,
    args: list[Any],
    kwargs: dict[str, Any],
) -> None:
    """Takes off, in place, arguments at their defaults that the function has no parameters for."""
    positional, keywords = parameters
    arguments = {argument.name: argument for argument in op._schema.arguments}
    if positional is not None:
        names = [argument.name for argument in op._schema.positional]
        while len(args) + leading > positional and _is_default(arguments[names.pop()], args[-1]):
            args.pop()
    if keywords is not None:
        for name in [name for name in kwargs if name not in keywords]:
            if _is_default(arguments[name], kwargs[name]):
                del kwargs[name]


def _is_default(argument: Any, value: object) -> bool:
    if not argument.has_default or type(value) is not type(argument.default):
        return False
    return bool(value == argument.default)
