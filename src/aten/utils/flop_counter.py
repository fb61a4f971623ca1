"""A mode that counts the floating-point operations of products, by module and operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any, Self
from warnings import warn

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.packets import OpOverloadPacket
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import DispatchMode, without_defaults
from aten.profiler.details import details_of_call
from aten.profiler.flops import flops_of, formula_of
from aten.profiler.units import format_amount
from aten.utils._pytree import tree_map
from aten.utils.module_tracker import GLOBAL, ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]

# Registered formulas, by operator; they come before the library's own.
flop_registry: dict[OpOverloadPacket, Formula] = {}


def _of_shapes(formula: Formula) -> Formula:
    """A formula that gets tensors, of one that gets their sizes."""

    @wraps(formula)
    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(_shape_of, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return counted


def _shape_of(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Says how many operations a call of `targets`, an operator or a list of them, takes.

    The decorated function gets the call's arguments with sizes in the place of tensors, and the
    sizes of the results as `out_shape`; with `get_raw` the tensors, and the results as `out_val`.

    Raises:
        ValueError: a target is no operator (`aten.ops.NAMESPACE.NAME`).

    Example:

        >>> from aten.utils.flop_counter import flop_registry
        >>> @aten.utils.flop_counter.register_flop_formula(aten.ops.aten.sin)
        ... def sin_flops(shape, *, out_shape=None):
        ...     return 10 * shape.numel()
        >>> with aten.utils.flop_counter.FlopCounterMode(display=False) as counter:
        ...     y = aten.sin(aten.ones(4))
        >>> counter.get_total_flops()
        40
        >>> del flop_registry[aten.ops.aten.sin]
    """
    listed = targets if isinstance(targets, (list, tuple)) else [targets]
    for target in listed:
        if not isinstance(target, OpOverloadPacket):
            raise ValueError(
                f"register_flop_formula: expected an operator, as aten.ops.aten.mm, got {target!r}"
            )

    def register(formula: Formula) -> Formula:
        for target in listed:
            flop_registry[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


class FlopCounterMode:
    """A context that counts the operations of products: matrices, convolutions, attention.

    A multiplication and an addition are two; other operators count where a formula is registered
    or given in `custom_mapping`, a dictionary by operator (see `register_flop_formula`). Gradients
    are counted as well, for the module that they go back through. When it is left, it prints a
    table down to `depth` names of modules, unless `display` is false. `mods` is not needed.

    Example:

        >>> layer = aten.nn.Linear(3, 4)
        >>> with aten.utils.flop_counter.FlopCounterMode(display=False) as counter:
        ...     layer(aten.ones(2, 3)).sum().backward()
        >>> counter.get_total_flops()
        96
        >>> counter.get_flop_counts()["Linear"]
        {aten.addmm: 48, aten.mm: 48}
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Formula] | None = None,
    ) -> None:
        if mods is not None:
            warn("FlopCounterMode: mods is not needed, and not looked at", stacklevel=2)
        self.depth = depth
        self.display = display
        self.mod_tracker = ModuleTracker()
        self._own = {
            target: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self._counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._mode = _Counting(self)

    def __enter__(self) -> Self:
        self.mod_tracker.__enter__()
        self._counts.clear()
        self._mode.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._mode.__exit__(*exc_info)
        self.mod_tracker.__exit__(*exc_info)
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self) -> int:
        """Operations of everything."""
        return sum(self._counts[GLOBAL].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Operations by name of a module, then by operator; "Global" has them all."""
        return {name: dict(counts) for name, counts in self._counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module down to `depth` names, and in it one for each operator."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = [("module", "FLOPs", "share")]
        for name in sorted(self._counts, key=lambda name: (name != GLOBAL, name)):
            level = 0 if name == GLOBAL else name.count(".") + 1
            if level > depth:
                continue
            counts = self._counts[name]
            rows.append(_row("  " * level + name, sum(counts.values()), total))
            rows += [_row("  " * level + f" - {op}", n, total) for op, n in counts.items()]
        width = max(len(name) for name, _, _ in rows)
        return "\n".join(f"{name:{width}}  {count:>12}  {share:>8}" for name, count, share in rows)

    def count(self, op: OpOverload, args: Any, kwargs: Any, results: Any) -> None:
        """Adds what a call took to the modules that it was made for."""
        packet = op.overloadpacket
        formula = self._own.get(packet) or self._own.get(op) or flop_registry.get(packet)
        if formula is not None:
            given, named = without_defaults(op, args, kwargs)
            found = formula(*given, **named, out_val=results)
        elif formula_of(op) is not None:
            found = flops_of(op, details_of_call(op, args, kwargs, results)) or 0
        else:
            return
        for name in self.mod_tracker.parents:
            self._counts[name][packet] += found


def _row(name: str, count: int, total: int) -> tuple[str, str, str]:
    share = f"{count / total:.2%}" if total else "--"
    return name, format_amount(count, "").rstrip(), share


class _Counting(DispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self._counter = counter

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results = op(*args, **kwargs)
        self._counter.count(op, args, kwargs, results)
        return results
