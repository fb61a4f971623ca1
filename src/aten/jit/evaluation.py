"""Runs scripted functions: terms become Python closures once, which calls run.

What a term names is looked up here, and nowhere else: operators and functions in `names`, methods
of values by their types, attributes of modules among what the modules hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.jit import names
from aten.jit.terms import Function, Term
from aten.nn.modules.module import Module

Frame = dict[str, Any]
Run = Callable[[Frame], Any]

_SELF = "0"  # no variable is called so
_BREAK, _CONTINUE = object(), object()

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "@": operator.imatmul,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "<<": operator.ilshift,
    ">>": operator.irshift,
}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda one, many: one in many,
    "not in": lambda one, many: one not in many,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_RAISED: dict[str, type[Exception]] = {
    one.__name__: one
    for one in (
        *(RuntimeError, ValueError, TypeError, NotImplementedError, AssertionError),
        *(IndexError, KeyError, Exception),
    )
}
_INDEXED = (Tensor, list, tuple, dict, str, range)
_LOOPED = (Tensor, list, tuple, dict, str, range, Module)
_INTERNAL = frozenset(Module().__dict__) - {"training"} | {"_methods", "_terms"}


class ForeignNameError(RuntimeError):
    """A program names something that scripted functions do not get."""


class Returned:
    """What a statement gives where the function returns."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Prepared:
    """A function ready to run.

    Args:
        function: its terms.
        functions: the scripted functions of its program, by name.
    """

    def __init__(self, function: Function, functions: Mapping[str, Prepared]) -> None:
        self.function = function
        self.functions = functions
        self.body: Run | None = None

    def __call__(self, owner: Module | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Raises TypeError for arguments that it does not take, and what its statements raise."""
        frame = self.bind(args, kwargs)
        frame[_SELF] = owner
        left = self.prepare()(frame)
        return left.value if isinstance(left, Returned) else None

    def prepare(self) -> Run:
        """What runs the body; the first call makes it otherwise.

        Raises ForeignNameError where the function names what scripted functions do not get.
        """
        if self.body is None:
            self.body = _Maker(self.functions, self.function.file).block(self.function.body)
        return self.body

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Frame:
        name = self.function.name
        parameters = self.function.parameters
        positional = [one for one in parameters if not one.keyword_only]
        if len(args) > len(positional):
            raise TypeError(f"{name}() takes {len(positional)} arguments, got {len(args)}")
        frame: Frame = {one.name: value for one, value in zip(positional, args, strict=False)}
        known = {one.name for one in parameters}
        for key, value in kwargs.items():
            if key not in known or key in frame:
                raise TypeError(f"{name}() got an unexpected argument {key!r}")
            frame[key] = value
        for one in parameters:
            if one.name not in frame:
                if not one.has_default:
                    raise TypeError(f"{name}() misses the argument {one.name!r}")
                frame[one.name] = one.default
        return frame


class _Maker:
    """Makes closures of terms."""

    def __init__(self, functions: Mapping[str, Prepared], file: str) -> None:
        self.functions = functions
        self.file = file

    def make(self, term: Term) -> Run:
        maker: Callable[..., Run] = getattr(self, f"make_{term.head}")
        try:
            return maker(*term.parts)
        except KeyError as error:
            raise ForeignNameError(f"{error} is no operator of scripted functions") from None

    def all(self, terms: Sequence[Term]) -> list[Run]:
        return [self.make(one) for one in terms]

    def block(self, terms: Sequence[Term]) -> Run:
        steps = [(self.make(one), one.line) for one in terms]
        file = self.file

        def run(frame: Frame) -> Any:
            line = 0
            try:
                for step, line in steps:  # noqa: B007 (the note of an error says it)
                    left = step(frame)
                    if left is not None:
                        return left
            except Exception as error:
                if not getattr(error, "__notes__", None):
                    error.add_note(f"in the script: {file}:{line}")
                raise
            return None

        return run

    def arguments(
        self, args: Sequence[Term], keywords: Sequence[str], values: Sequence[Term]
    ) -> Callable[[Frame], tuple[list[Any], dict[str, Any]]]:
        given = self.all(args)
        named = list(zip(keywords, self.all(values), strict=True))
        return lambda frame: (
            [one(frame) for one in given],
            {key: one(frame) for key, one in named},
        )

    def make_constant(self, value: Any) -> Run:
        return lambda frame: value

    def make_local(self, name: str) -> Run:
        def local(frame: Frame) -> Any:
            try:
                return frame[name]
            except KeyError:
                raise UnboundLocalError(f"the variable {name!r} has no value") from None

        return local

    def make_self(self) -> Run:
        return lambda frame: frame[_SELF]

    def make_member(self, owner: Term, name: str) -> Run:
        of = self.make(owner)
        return lambda frame: member(of(frame), name)

    def make_tuple(self, terms: Sequence[Term]) -> Run:
        parts = self.all(terms)
        return lambda frame: tuple([one(frame) for one in parts])

    def make_list(self, terms: Sequence[Term]) -> Run:
        parts = self.all(terms)
        return lambda frame: [one(frame) for one in parts]

    def make_dict(self, keys: Sequence[Term], values: Sequence[Term]) -> Run:
        pairs = list(zip(self.all(keys), self.all(values), strict=True))
        return lambda frame: {key(frame): value(frame) for key, value in pairs}

    def make_binary(self, sign: str, left: Term, right: Term) -> Run:
        function, one, other = _BINARY[sign], self.make(left), self.make(right)
        return lambda frame: function(one(frame), other(frame))

    def make_unary(self, sign: str, operand: Term) -> Run:
        function, one = _UNARY[sign], self.make(operand)
        return lambda frame: function(one(frame))

    def make_compare(self, signs: Sequence[str], operands: Sequence[Term]) -> Run:
        functions, parts = [_COMPARED[sign] for sign in signs], self.all(operands)

        def compare(frame: Frame) -> Any:
            left = parts[0](frame)
            made: Any = True
            for function, part in zip(functions, parts[1:], strict=True):
                right = part(frame)
                made = function(left, right)
                if len(functions) > 1 and not made:
                    return made
                left = right
            return made

        return compare

    def make_and(self, terms: Sequence[Term]) -> Run:
        return self.logical(terms, stops_at=False)

    def make_or(self, terms: Sequence[Term]) -> Run:
        return self.logical(terms, stops_at=True)

    def logical(self, terms: Sequence[Term], stops_at: bool) -> Run:
        *first, last = self.all(terms)

        def run(frame: Frame) -> Any:
            for one in first:
                value = one(frame)
                if bool(value) is stops_at:
                    return value
            return last(frame)

        return run

    def make_choose(self, test: Term, chosen: Term, otherwise: Term) -> Run:
        holds, one, other = self.make(test), self.make(chosen), self.make(otherwise)
        return lambda frame: one(frame) if holds(frame) else other(frame)

    def make_subscript(self, value: Term, index: Term) -> Run:
        of, at = self.make(value), self.make(index)

        def subscript(frame: Frame) -> Any:
            owner = of(frame)
            if isinstance(owner, Module):
                return _item_of_module(owner, at(frame))
            if not isinstance(owner, _INDEXED):
                raise TypeError(f"a {type(owner).__name__} has no elements")
            return owner[at(frame)]

        return subscript

    def make_slice(self, lower: Term, upper: Term, step: Term) -> Run:
        parts = [self.make(one) for one in (lower, upper, step)]
        return lambda frame: slice(*[one(frame) for one in parts])

    def make_attribute(self, value: Term, name: str) -> Run:
        of_tensor = name in names.ATTRIBUTES
        if name.startswith("_") or (not of_tensor and hasattr(Tensor, name)):
            raise ForeignNameError(f"the attribute {name!r} is not there in scripted functions")
        of = self.make(value)

        def attribute(frame: Frame) -> Any:
            owner = of(frame)
            is_tensor = of_tensor and isinstance(owner, Tensor)
            is_result = isinstance(owner, tuple) and name in getattr(type(owner), "_fields", ())
            if not is_tensor and not is_result:
                raise AttributeError(f"a {type(owner).__name__} has no attribute {name!r}")
            return getattr(owner, name)

        return attribute

    def make_call_function(self, name: str, *given: Any) -> Run:
        function, arguments = names.function(name), self.arguments(*given)
        if function is None:
            raise ForeignNameError(f"the function {name!r} is not there in scripted functions")

        def run(frame: Frame) -> Any:
            args, kwargs = arguments(frame)
            return function(*args, **kwargs)

        return run

    def make_call_method(self, value: Term, name: str, *given: Any) -> Run:
        of, arguments = self.make(value), self.arguments(*given)
        of_tensor = names.is_tensor_method(name)

        def run(frame: Frame) -> Any:
            owner = of(frame)
            args, kwargs = arguments(frame)
            if isinstance(owner, Tensor):
                allowed = of_tensor
            else:
                allowed = name in names.METHODS.get(type(owner), ())
            if not allowed:
                raise ForeignNameError(
                    f"a {type(owner).__name__} has no method {name!r} in scripted functions"
                )
            made = getattr(owner, name)(*args, **kwargs)
            # Views of a dict's items are no values that other functions take.
            return list(made) if type(owner) is dict and name in _DICT_VIEWS else made

        return run

    def make_call_scripted(self, name: str, *given: Any) -> Run:
        arguments = self.arguments(*given)
        if name not in self.functions:
            raise ForeignNameError(f"there is no scripted function {name!r}")

        def run(frame: Frame) -> Any:
            args, kwargs = arguments(frame)
            return self.functions[name](None, args, kwargs)

        return run

    def make_call_own(self, owner: Term, name: str, *given: Any) -> Run:
        of, arguments = self.make(owner), self.arguments(*given)

        def run(frame: Frame) -> Any:
            module = of(frame)
            args, kwargs = arguments(frame)
            methods = module.__dict__.get("_methods", {}) if isinstance(module, Module) else {}
            if name in methods:
                return methods[name](module, args, kwargs)
            if name == "forward" and isinstance(module, Module):
                return module(*args, **kwargs)
            raise ForeignNameError(f"there is no scripted method {name!r}")

        return run

    def make_call_module(self, value: Term, *given: Any) -> Run:
        of, arguments = self.make(value), self.arguments(*given)

        def run(frame: Frame) -> Any:
            module = of(frame)
            if not isinstance(module, Module):
                raise TypeError(f"a {type(module).__name__} is no module, and cannot be called")
            args, kwargs = arguments(frame)
            return module(*args, **kwargs)

        return run

    def rows(self, target: Term, rows: Term, tests: Sequence[Term]) -> Callable[[Frame], Any]:
        """For each row that all tests hold for, the frame with the target bound to it."""
        bind, of, conditions = self.binder(target), self.make(rows), self.all(tests)

        def loop(frame: Frame) -> Any:
            inner = dict(frame)
            for row in _rows(of(frame)):
                bind(inner, row)
                if all(one(inner) for one in conditions):
                    yield inner

        return loop

    def make_list_of(self, element: Term, target: Term, rows: Term, tests: Sequence[Term]) -> Run:
        one, loop = self.make(element), self.rows(target, rows, tests)
        return lambda frame: [one(inner) for inner in loop(frame)]

    def make_dict_of(
        self, key: Term, value: Term, target: Term, rows: Term, tests: Sequence[Term]
    ) -> Run:
        one, other, loop = self.make(key), self.make(value), self.rows(target, rows, tests)
        return lambda frame: {one(inner): other(inner) for inner in loop(frame)}

    def make_format(self, terms: Sequence[Term]) -> Run:
        parts = self.all(terms)
        return lambda frame: "".join([str(one(frame)) for one in parts])

    def binder(self, target: Term) -> Callable[[Frame, Any], None]:
        """Stores a value where an assignment's target says."""
        if target.head not in ("local", "tuple", "subscript", "member"):
            raise ForeignNameError(f"a {target.head} cannot be assigned to")
        maker: Callable[..., Callable[[Frame, Any], None]] = getattr(self, f"bind_{target.head}")
        return maker(*target.parts)

    def bind_local(self, name: str) -> Callable[[Frame, Any], None]:
        def bind(frame: Frame, value: Any) -> None:
            frame[name] = value

        return bind

    def bind_tuple(self, targets: Sequence[Term]) -> Callable[[Frame, Any], None]:
        binders = [self.binder(one) for one in targets]

        def bind(frame: Frame, value: Any) -> None:
            values = list(_rows(value))
            if len(values) != len(binders):
                raise ValueError(f"{len(values)} values cannot be unpacked into {len(binders)}")
            for one, each in zip(binders, values, strict=True):
                one(frame, each)

        return bind

    def bind_subscript(self, owner: Term, index: Term) -> Callable[[Frame, Any], None]:
        of, at = self.make(owner), self.make(index)

        def bind(frame: Frame, value: Any) -> None:
            held = of(frame)
            if not isinstance(held, (Tensor, list, dict)):
                raise TypeError(f"elements of a {type(held).__name__} cannot be assigned to")
            held[at(frame)] = value

        return bind

    def bind_member(self, owner: Term, name: str) -> Callable[[Frame, Any], None]:
        of = self.make(owner)

        def bind(frame: Frame, value: Any) -> None:
            module = of(frame)
            member(module, name)  # there has to be one
            setattr(module, name, value)

        return bind

    def make_assign(self, target: Term, value: Term) -> Run:
        bind, of = self.binder(target), self.make(value)
        return lambda frame: bind(frame, of(frame))

    def make_augment(self, sign: str, target: Term, value: Term) -> Run:
        function, bind = _IN_PLACE[sign], self.binder(target)
        now, of = self.make(target), self.make(value)
        return lambda frame: bind(frame, function(now(frame), of(frame)))

    def make_evaluate(self, value: Term) -> Run:
        of = self.make(value)

        def evaluate(frame: Frame) -> None:
            of(frame)

        return evaluate

    def make_if(self, test: Term, body: Sequence[Term], orelse: Sequence[Term]) -> Run:
        holds, one, other = self.make(test), self.block(body), self.block(orelse)
        return lambda frame: one(frame) if holds(frame) else other(frame)

    def make_while(self, test: Term, body: Sequence[Term]) -> Run:
        holds, run = self.make(test), self.block(body)

        def loop(frame: Frame) -> Any:
            while holds(frame):
                left = run(frame)
                if left is _BREAK:
                    break
                if isinstance(left, Returned):
                    return left
            return None

        return loop

    def make_for(self, target: Term, rows: Term, body: Sequence[Term]) -> Run:
        bind, of, run = self.binder(target), self.make(rows), self.block(body)

        def loop(frame: Frame) -> Any:
            for row in _rows(of(frame)):
                bind(frame, row)
                left = run(frame)
                if left is _BREAK:
                    break
                if isinstance(left, Returned):
                    return left
            return None

        return loop

    def make_return(self, value: Term) -> Run:
        of = self.make(value)
        return lambda frame: Returned(of(frame))

    def make_break(self) -> Run:
        return lambda frame: _BREAK

    def make_continue(self) -> Run:
        return lambda frame: _CONTINUE

    def make_pass(self) -> Run:
        return lambda frame: None

    def make_raise(self, name: str, message: Term) -> Run:
        kind, of = _RAISED.get(name), self.make(message)
        if kind is None:
            raise ForeignNameError(f"the exception {name!r} is not there in scripted functions")

        def fail(frame: Frame) -> None:
            raise kind(str(of(frame)))

        return fail

    def make_assert(self, test: Term, message: Term) -> Run:
        holds, of = self.make(test), self.make(message)

        def check(frame: Frame) -> None:
            if not holds(frame):
                said = of(frame)
                raise AssertionError("" if said is None else str(said))

        return check


_DICT_VIEWS = frozenset({"items", "keys", "values"})


def member(module: Any, name: str) -> Any:
    """What a module holds under a name. Raises AttributeError where it holds nothing."""
    if isinstance(module, Module) and name not in _INTERNAL:
        held = module.__dict__
        for place in ("_parameters", "_buffers", "_modules"):
            if name in held[place]:
                return held[place][name]
        if name in held and not name.startswith("__"):
            return held[name]
    raise AttributeError(f"{type(module).__name__} holds nothing called {name!r}")


def _rows(value: Any) -> Any:
    if not isinstance(value, _LOOPED):
        raise TypeError(f"a {type(value).__name__} cannot be looped over")
    return list(value._modules.values()) if isinstance(value, Module) else value


def _item_of_module(module: Module, index: Any) -> Any:
    if isinstance(index, str):
        return module._modules[index]
    return list(module._modules.values())[index]
