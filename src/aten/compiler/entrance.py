"""`aten.compile` itself, and what it says of what it gave."""

from __future__ import annotations

import sys
from typing import Any

from aten.compiler.functions import MODES, CompiledFunction, functions

# Names for the one way of compiling, and for none.
_BACKENDS = ("aten", "inductor", "eager")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str = "aten",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """`model`, a function or module, captured when it is called and replayed with fused operators.

    The first call with arguments of a kind (structure, dtypes, sizes, strides, values of what is no
    tensor) captures what the function calls, without data; later ones replay it. What a function
    does by Python alone, printing say, is done once. Calls that cannot be captured as a whole run
    eagerly, and `aten.compiler.explain` says which and why. Without a model, a decorator.

    Args:
        fullgraph: raise RuntimeError in the place of running eagerly.
        dynamic: True lets a program serve all sizes from the first call on, and False has each
            size a program of its own. Without either, sizes that were not always the same are left
            open when a function is captured again. Programs with gradients are of one size.
        backend: "aten"; torch's "inductor" is taken for it, and "eager" compiles nothing.
        mode: with "max-autotune" both ways are measured where programs of fixed sizes without
            gradients could be computed in two, once for each kind of layer; else rules say which.
            torch's other modes are taken for the default.
        options: not used.
        disable: give the model itself.

    Raises:
        ValueError: there is no backend of the name.
        RuntimeError: there is no mode of the name.

    Example:

        >>> @aten.compile
        ... def normalized(x, weight):
        ...     hidden = aten.nn.functional.gelu(x * weight)
        ...     return hidden / hidden.norm(dim=-1, keepdim=True)
        >>> normalized(aten.ones(2, 4), aten.ones(4))
        tensor([[0.5000, 0.5000, 0.5000, 0.5000],
                [0.5000, 0.5000, 0.5000, 0.5000]])
    """
    if backend not in _BACKENDS:
        raise ValueError(f"aten.compile: expected a backend of {_BACKENDS}, got {backend!r}")

    if mode not in MODES:
        names = [one for one in MODES if one is not None]
        raise RuntimeError(f"aten.compile: expected a mode of {names}, got {mode!r}")

    def compiled(function: Any) -> Any:
        if disable or backend == "eager":
            return function
        made = CompiledFunction(function, fullgraph, dynamic, mode)
        return _with_attributes(function, made) if _is_module(function) else made

    return compiled if model is None else compiled(model)


def explain(compiled: Any) -> str:
    """What was fused, what was not and why, and which calls ran eagerly, as text.

    Args:
        compiled: what `aten.compile` gave.

    Example:

        >>> doubled = aten.compile(lambda x: (x + x).relu())
        >>> _ = doubled(aten.ones(3))
        >>> print(aten.compiler.explain(doubled))
        program 1: 2 operators in 1 call
          one kernel for add, relu
    """
    from aten.compiler.explaining import explained

    function = getattr(compiled, "__dict__", {}).get("_compiled", compiled)
    if not isinstance(function, CompiledFunction):
        raise TypeError(
            f"aten.compiler.explain: expected what aten.compile gave, got {type(compiled).__name__}"
        )
    return explained(function.programs(), function.breaks, function.recompilations)


def reset() -> None:
    """Forget all captured programs.

    Example:

        >>> aten.compiler.reset()
    """
    for one in list(functions):
        one.forget()


def _is_module(value: Any) -> bool:
    """Whether it is a module; modules are imported by whoever has one."""
    modules = sys.modules.get("aten.nn.modules.module")
    return modules is not None and isinstance(value, modules.Module)


def _with_attributes(module: Any, compiled: CompiledFunction) -> Any:
    """What a module's calls are replayed by, as a module with its attributes."""
    from aten.compiler.modules import CompiledModule

    return CompiledModule(module, compiled)


compile.explain = explain  # type: ignore[attr-defined]
