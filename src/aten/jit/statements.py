"""From the source of functions to terms: statements, and programs of several functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from aten.jit import state
from aten.jit.frontend import BINARY, Expressions, described
from aten.jit.sources import Source, annotation_of, parameters_of, source_of
from aten.jit.terms import Function, Parameter, Term, constant
from aten.jit.types import ANY, FLOAT, INT, NONE, Type, fits, joined
from aten.nn.modules.module import Module

_LEAVING = ("return", "raise", "break", "continue")
_EXCEPTIONS = (
    "RuntimeError",
    "ValueError",
    "TypeError",
    "NotImplementedError",
    "AssertionError",
    "IndexError",
    "KeyError",
    "Exception",
)


class Statements(Expressions):
    """Makes terms of the statements of one function.

    Attributes:
        returns: the type that is returned: declared, or of the returns so far.
    """

    def __init__(
        self, program: Program, source: Source, owner: str | None, declared: Type | None
    ) -> None:
        super().__init__(program, source, owner)
        self.declared = declared
        self.returns: Type | None = declared
        self.depth = 0  # loops that the statement is in

    def block(self, nodes: Sequence[ast.stmt]) -> tuple[Term, ...]:
        made: list[Term] = []
        for node in nodes:
            if made and made[-1].head in _LEAVING:
                break
            made += self.statement(node)
        return tuple(made)

    def statement(self, node: ast.stmt) -> list[Term]:
        maker = _STATEMENTS.get(type(node))
        if maker is None:
            raise self.error(node, f"{described(node)} cannot be scripted")
        line = self.source.line(node)
        return [one if one.line else one._replace(line=line) for one in maker(self, node)]

    def assign(self, node: ast.Assign) -> list[Term]:
        value = self.expression(node.value)
        made = []
        for target in node.targets:
            made.append(Term("assign", (self.target(target, value.type), value)))
            value = made[0].parts[0] if made[0].parts[0].head == "local" else value
        return made

    def annotated(self, node: ast.AnnAssign) -> list[Term]:
        kind = annotation_of(self.source, node.annotation)
        if node.value is None:
            return []
        value = self.expression(node.value)
        if not fits(value.type, kind):
            raise self.error(node, f"a {value.type} is no {kind}")
        if isinstance(node.target, ast.Name):
            self.locals.pop(node.target.id, None)
        return [Term("assign", (self.target(node.target, kind), value))]

    def target(self, node: ast.expr, kind: Type) -> Term:
        if isinstance(node, ast.Subscript):
            return self.subscript(node)._replace(line=self.source.line(node))
        if isinstance(node, ast.Attribute):
            owner = self.expression(node.value)
            if owner.head not in ("self", "member"):
                raise self.error(node, "only attributes of modules can be assigned to")
            return self.member(node, owner)._replace(line=self.source.line(node))
        return self.bound(node, kind)

    def augment(self, node: ast.AugAssign) -> list[Term]:
        target = self.expression(_loaded(node.target))
        value = self.expression(node.value)
        sign = BINARY[type(node.op)]
        kind = self.binary_type(node, sign, target.type, value.type)
        if isinstance(node.target, ast.Name):
            self.assign_type(node, node.target.id, kind)
        elif target.head not in ("subscript", "member"):
            raise self.error(node, f"{described(node.target)} cannot be assigned to")
        return [Term("augment", (sign, target, value))]

    def evaluate(self, node: ast.Expr) -> list[Term]:
        if isinstance(node.value, ast.Constant):
            return []  # a docstring
        return [Term("evaluate", (self.expression(node.value),))]

    def branch(self, node: ast.If) -> list[Term]:
        test = self.expression(node.test)
        if test.head == "constant":
            # Only the case that is taken has to be one that can be scripted.
            return list(self.block(node.body if test.parts[0] else node.orelse))
        before, missing = dict(self.locals), dict(self.missing)
        narrowed = _narrowed(node.test)
        self.narrow(narrowed, 0)
        body = self.block(node.body)
        after_body, missing_body = self.locals, self.missing
        self.locals, self.missing = dict(before), dict(missing)
        self.narrow(narrowed, 1)
        orelse = self.block(node.orelse)
        self.merge(
            node,
            (after_body, missing_body, _leaves(body)),
            (self.locals, self.missing, _leaves(orelse)),
        )
        return [Term("if", (test, body, orelse))]

    def narrow(self, narrowed: tuple[str | None, str | None], place: int) -> None:
        name = narrowed[place]
        known = self.locals.get(name) if name is not None else None
        if name is not None and known is not None and known.name == "Optional":
            self.locals[name] = known.args[0]

    def merge(
        self,
        node: ast.AST,
        one: tuple[dict[str, Type], dict[str, str], bool],
        other: tuple[dict[str, Type], dict[str, str], bool],
    ) -> None:
        """Variables after two cases: those that are there, whichever was taken."""
        if one[2] != other[2]:
            self.locals, self.missing = other[:2] if one[2] else one[:2]
            return
        line = self.source.line(node)
        made: dict[str, Type] = {}
        self.missing = {**one[1], **other[1]}
        for name in {**one[0], **other[0]}:
            if name not in one[0] or name not in other[0]:
                self.missing[name] = (
                    f"the variable {name!r} is not there in both cases of the if in line {line}"
                )
                continue
            kind = joined(one[0][name], other[0][name])
            if kind is None and {one[0][name], other[0][name]} == {INT, FLOAT}:
                kind = FLOAT
            if kind is None:
                self.missing[name] = (
                    f"the variable {name!r} is a {one[0][name]} in one case of the if in line "
                    f"{line}, and a {other[0][name]} in the other"
                )
                continue
            made[name] = kind
        self.locals = made

    def loop_body(self, node: ast.While | ast.For) -> tuple[Term, ...]:
        before = dict(self.locals)
        self.depth += 1
        # Types that change in the body are those of its next round, too.
        body = self.block(node.body)
        changed = {name: self.locals[name] for name in before if name in self.locals}
        if changed != {name: before[name] for name in changed}:
            self.locals = {**before, **changed}
            body = self.block(node.body)
        self.depth -= 1
        line = self.source.line(node)
        for name in set(self.locals) - set(before):
            self.missing[name] = (
                f"the variable {name!r} is there only where the loop in line {line} ran"
            )
        self.locals = {
            name: joined(kind, self.locals.get(name, kind)) or kind for name, kind in before.items()
        }
        if node.orelse:
            raise self.error(node, "a loop with else cannot be scripted")
        return body

    def while_loop(self, node: ast.While) -> list[Term]:
        test = self.expression(node.test)
        return [Term("while", (test, self.loop_body(node)))]

    def for_loop(self, node: ast.For) -> list[Term]:
        rows = self.expression(node.iter)
        before = dict(self.locals)
        target = self.bound(node.target, self.item_type(node.iter, rows.type))
        body = self.loop_body(node)
        line = self.source.line(node)
        for name in set(self.locals) - set(before):
            del self.locals[name]
            self.missing[name] = (
                f"the variable {name!r} is there only where the loop in line {line} ran"
            )
        return [Term("for", (target, rows, body))]

    def result(self, node: ast.Return) -> list[Term]:
        value = self.optional(node.value)
        if self.declared is not None:
            if not fits(value.type, self.declared):
                raise self.error(node, f"the function returns {self.declared}, not {value.type}")
        elif self.returns is None:
            self.returns = value.type
        else:
            kind = joined(self.returns, value.type)
            if kind is None:
                raise self.error(
                    node, f"one return gives a {self.returns}, and this one a {value.type}"
                )
            self.returns = kind
        return [Term("return", (value,))]

    def leave(self, node: ast.Break | ast.Continue) -> list[Term]:
        return [Term("break" if isinstance(node, ast.Break) else "continue")]

    def nothing(self, node: ast.Pass) -> list[Term]:
        return [Term("pass")]

    def fail(self, node: ast.Raise) -> list[Term]:
        raised = node.exc
        name = raised.func if isinstance(raised, ast.Call) else raised
        if not isinstance(name, ast.Name) or name.id not in _EXCEPTIONS:
            raise self.error(node, f"only {', '.join(_EXCEPTIONS)} can be raised")
        message = constant("")
        if isinstance(raised, ast.Call) and raised.args:
            message = self.expression(raised.args[0])
        return [Term("raise", (name.id, message))]

    def check(self, node: ast.Assert) -> list[Term]:
        return [Term("assert", (self.expression(node.test), self.optional(node.msg)))]


def _loaded(node: ast.expr) -> ast.expr:
    """The target of an assignment as an expression that is read."""
    return node


def _leaves(body: Sequence[Term]) -> bool:
    """Whether what follows a block is not reached from it."""
    if not body:
        return False
    last = body[-1]
    if last.head == "if":
        return _leaves(last.parts[1]) and _leaves(last.parts[2])
    return last.head in _LEAVING


def _narrowed(test: ast.expr) -> tuple[str | None, str | None]:
    """The variable that is not None where the test holds, and the one where it does not."""
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.left, ast.Name)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
    ):
        if isinstance(test.ops[0], ast.IsNot):
            return test.left.id, None
        if isinstance(test.ops[0], ast.Is):
            return None, test.left.id
    return None, None


_STATEMENTS: dict[type, Callable[[Statements, Any], list[Term]]] = {
    ast.Assign: Statements.assign,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augment,
    ast.Expr: Statements.evaluate,
    ast.If: Statements.branch,
    ast.While: Statements.while_loop,
    ast.For: Statements.for_loop,
    ast.Return: Statements.result,
    ast.Break: Statements.leave,
    ast.Continue: Statements.leave,
    ast.Pass: Statements.nothing,
    ast.Raise: Statements.fail,
    ast.Assert: Statements.check,
}


class Program:
    """Functions that are scripted together, each once, by name.

    Args:
        module: the module whose methods they are, or None.

    Attributes:
        methods: of the module.
        functions: those that are called besides.
        needed: methods of modules within that are called by their path.
    """

    def __init__(self, module: Module | None = None) -> None:
        self.module = module
        self.methods: dict[str, Function] = {}
        self.functions: dict[str, Function] = {}
        self.needed: list[tuple[Module, str]] = []
        self._signatures: dict[str, tuple[tuple[Parameter, ...], Type]] = {}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []

    def method(
        self, module: Module | None, name: str, own: Expressions, node: ast.AST
    ) -> tuple[tuple[Parameter, ...], Type]:
        """A method's parameters and what it returns; it is scripted if it has not been."""
        if module is not None and module is not self.module:
            self.needed.append((module, name))
            return self._of_other(module, name)
        if name not in self._signatures:
            self.add_method(name)
        return self._signatures[name]

    def _of_other(self, module: Module, name: str) -> tuple[tuple[Parameter, ...], Type]:
        source = source_of(getattr(type(module), name))
        parameters, returned = parameters_of(source, is_method=True)
        return parameters, ANY if returned is None else returned

    def add_method(self, name: str) -> None:
        """Scripts a method of the module."""
        method = getattr(type(self.module), name)
        self.methods[name] = self._scripted(method, name, is_method=True)

    def function(
        self, function: Any, own: Expressions, node: ast.AST
    ) -> tuple[str, tuple[Parameter, ...], Type]:
        """A function that another one calls: its name, its parameters, and what it returns."""
        name = self.add_function(function)
        return name, *self._signatures[f"function {name}"]

    def add_function(self, function: Any) -> str:
        """Scripts a function, and says under which name it is here."""
        known = self._names.get(id(function))
        if known is not None:
            return known
        name: str = function.__name__
        count = 0
        while name in self._names.values():
            count += 1
            name = f"{function.__name__}_{count}"
        self._names[id(function)] = name
        self._kept.append(function)
        self.functions[name] = self._scripted(function, name, is_method=False)
        return name

    def _scripted(self, function: Any, name: str, is_method: bool) -> Function:
        source = source_of(function)
        parameters, declared = parameters_of(source, is_method)
        key = name if is_method else f"function {name}"
        # A function that calls itself finds this.
        self._signatures[key] = (parameters, ANY if declared is None else declared)
        arguments = source.definition.args
        first = (arguments.posonlyargs + arguments.args)[:1] if is_method else []
        own = Statements(self, source, first[0].arg if first else None, declared)
        own.locals = {one.name: one.type for one in parameters}
        body = own.block(source.definition.body)
        returned = own.returns if own.returns is not None else NONE
        if not _leaves(body):
            if declared is not None and not fits(NONE, declared):
                raise source.error(
                    source.definition, f"{name} returns {declared}, and may end without a return"
                )
            if own.returns is not None and declared is None:
                returned = joined(own.returns, NONE) or ANY
        self._signatures[key] = (parameters, returned)
        line = source.line(source.definition)
        return Function(name, parameters, returned, body, source.file, line)


def is_marked(method: Any) -> bool:
    """Whether a method is to be scripted though nothing calls it."""
    return state.mark_of(method) == "export"
