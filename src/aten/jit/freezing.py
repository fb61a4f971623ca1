"""Scripted and traced modules whose parameters and plain attributes are constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.jit.modules import ScriptModule
from aten.jit.terms import SHAPES, TERM, TERMS, Function, Term, constant
from aten.jit.tracing import TracedModule
from aten.nn.modules.module import Module

_FOLDED = (bool, int, float, str, type(None))


def frozen(module: Module, preserved: Sequence[str]) -> Module:
    """See `aten.jit.freeze`."""
    if isinstance(module, TracedModule):
        module._bring_up_to_date()
        return TracedModule(module.program, module.original_name, frozen=True).eval()
    return _Freezer(frozenset(preserved)).module(module, root=True)


class _Freezer:
    def __init__(self, preserved: frozenset[str]) -> None:
        self.preserved = preserved
        self.made: dict[int, Module] = {}

    def module(self, module: Module, root: bool) -> Module:
        """A module like it, whose parameters are buffers that need no gradients."""
        if id(module) in self.made:
            return self.made[id(module)]
        made = Module.__new__(type(module))
        made.__dict__.update(module.__dict__)
        self.made[id(module)] = made
        own = made.__dict__
        own["_parameters"] = {}
        own["_buffers"] = {
            **{name: _plain(one) for name, one in module._parameters.items()},
            **module._buffers,
        }
        own["_modules"] = {
            name: None if one is None else self.module(one, root=False)
            for name, one in module._modules.items()
        }
        if isinstance(made, ScriptModule):
            methods, functions = module._terms
            kept = self.preserved if root else frozenset()
            values = {
                name: one
                for name, one in own.items()
                if isinstance(one, _FOLDED) and name not in kept and not name.startswith("_")
            }
            for name in _assigned(methods.values()):
                values.pop(name, None)
            made._adopt({name: _folded(one, values) for name, one in methods.items()}, functions)
        return made


def _plain(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach().as_subclass(Tensor)


def _assigned(methods: Any) -> set[str]:
    """Attributes of the module that its methods assign to."""
    found: set[str] = set()

    def look(term: Term) -> None:
        target = {"assign": 0, "augment": 1}.get(term.head)
        if target is not None and term.parts[target].head == "member":
            found.add(term.parts[target].parts[1])
        for kind, part in zip(SHAPES[term.head], term.parts, strict=True):
            for one in part if kind == TERMS else [part] if kind == TERM else []:
                look(one)

    for method in methods:
        for term in method.body:
            look(term)
    return found


def _folded(function: Function, values: dict[str, Any]) -> Function:
    return function._replace(body=_block(function.body, values))


def _block(body: Sequence[Term], values: dict[str, Any]) -> tuple[Term, ...]:
    """Statements with the module's attributes as constants; of an if on one, the case it takes."""
    made: list[Term] = []
    for term in body:
        one = _term(term, values)
        if one.head == "if" and one.parts[0].head == "constant":
            made += one.parts[1] if one.parts[0].parts[0] else one.parts[2]
        else:
            made.append(one)
    return tuple(made)


def _term(term: Term, values: dict[str, Any]) -> Term:
    if term.head == "member" and term.parts[0].head == "self" and term.parts[1] in values:
        return constant(values[term.parts[1]], term.line)
    parts: list[Any] = []
    bodies = term.head in ("if", "while", "for")
    for kind, part in zip(SHAPES[term.head], term.parts, strict=True):
        if kind == TERM:
            parts.append(_term(part, values))
        elif kind == TERMS:
            parts.append(
                _block(part, values) if bodies else tuple(_term(one, values) for one in part)
            )
        else:
            parts.append(part)
    made = term._replace(parts=tuple(parts))
    if made.head == "unary" and made.parts[0] == "not" and made.parts[1].head == "constant":
        return constant(not made.parts[1].parts[0], term.line)
    return made
