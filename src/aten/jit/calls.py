"""From calls in a function's source to terms: what is called, and with what."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from aten.jit import names
from aten.jit import state as jit_state
from aten.jit.sources import MISSING
from aten.jit.terms import Parameter, Term, constant
from aten.jit.types import ANY, BOOL, INT, MODULE, NONE, TENSOR, Type, fits, list_of
from aten.nn.modules.module import Module

if TYPE_CHECKING:
    from aten.jit.frontend import Expressions


def called(own: Expressions, node: ast.Call) -> Term:
    """The term of a call. Raises ScriptError for what cannot be called."""
    for one in node.keywords:
        if one.arg is None:
            raise own.error(node, "unpacking with ** cannot be scripted")
    static = own.static(node.func)
    if static is not MISSING:
        return _of_object(own, node, static)
    if isinstance(node.func, ast.Attribute):
        return _of_attribute(own, node, node.func)
    value = own.expression(node.func)
    if value.head == "self":
        return _own_method(own, node, value, "forward")
    if value.type not in (MODULE, ANY):
        raise own.error(node, f"a {value.type} cannot be called")
    return Term("call_module", (value, *_arguments(own, node)), ANY)


def _arguments(own: Expressions, node: ast.Call) -> tuple[Any, ...]:
    return (
        own.several(node.args),
        tuple(str(one.arg) for one in node.keywords),
        own.several([one.value for one in node.keywords]),
    )


def _of_object(own: Expressions, node: ast.Call, target: Any) -> Term:
    if target in (jit_state.is_scripting, jit_state.is_tracing):
        return constant(target is jit_state.is_scripting)
    if target is isinstance:
        return _instance(own, node)
    name = names.name_of(target)
    if name is not None:
        args, keywords, values = _arguments(own, node)
        kinds = tuple(one.type for one in args)
        return Term("call_function", (name, args, keywords, values), _result(name, kinds))
    if isinstance(target, FunctionType):
        if jit_state.mark_of(target) in ("ignore", "unused"):
            raise own.error(node, f"{target.__name__} is marked not to be scripted")
        scripted, parameters, returned = own.program.function(target, own, node)
        arguments = _arguments(own, node)
        _check(own, node, target.__name__, parameters, arguments)
        return Term("call_scripted", (scripted, *arguments), returned)
    scripted_function = jit_state.source_function(target)
    if scripted_function is not None:
        scripted, parameters, returned = own.program.function(scripted_function, own, node)
        arguments = _arguments(own, node)
        _check(own, node, scripted, parameters, arguments)
        return Term("call_scripted", (scripted, *arguments), returned)
    called_name = getattr(target, "__name__", type(target).__name__)
    raise own.error(node, f"{called_name!r} cannot be called by a scripted function")


def _result(name: str, kinds: tuple[Type, ...]) -> Type:
    if name in ("list", "sorted", "reversed") and kinds and kinds[0].name == "List":
        return kinds[0]
    if name in ("enumerate", "zip"):
        items = [one.args[0] if one.name == "List" and one.args else _item(one) for one in kinds]
        if name == "enumerate":
            return list_of(Type("Tuple", (INT, *items[:1])))
        return list_of(Type("Tuple", tuple(items)))
    return names.result_type(name, kinds)


def _item(kind: Type) -> Type:
    return TENSOR if kind == TENSOR else ANY


def _instance(own: Expressions, node: ast.Call) -> Term:
    """`isinstance` with types by their names."""
    if len(node.args) != 2 or node.keywords:
        raise own.error(node, "isinstance takes a value and a type")
    value = own.expression(node.args[0])
    second = node.args[1]
    listed = second.elts if isinstance(second, ast.Tuple) else [second]
    kinds = []
    for one in listed:
        found = own.static(one)
        name = getattr(found, "__name__", "")
        if name not in names.KINDS:
            raise own.error(one, "isinstance of this type cannot be scripted")
        kinds.append(constant(name))
    return Term("call_function", ("isinstance", (value, *kinds), (), ()), BOOL)


def _of_attribute(own: Expressions, node: ast.Call, func: ast.Attribute) -> Term:
    found = own.member_value(func)
    owner_object = own.member_value(func.value)
    if isinstance(found, Module):
        return Term("call_module", (own.expression(func), *_arguments(own, node)), ANY)
    if isinstance(owner_object, Module):
        kept = inspect.getattr_static(type(owner_object), func.attr, None)
        if isinstance(kept, staticmethod):
            return _of_object(own, node, kept.__func__)
        if found is MISSING or not callable(found):
            raise own.error(
                node, f"{type(owner_object).__name__} has no method {func.attr!r} to call"
            )
        return _own_method(own, node, own.expression(func.value), func.attr, owner_object)
    owner = own.expression(func.value)
    if owner.type == MODULE:
        raise own.error(node, "methods of modules are called by their path from self")
    return _value_method(own, node, owner, func.attr)


def _own_method(
    own: Expressions, node: ast.Call, owner: Term, name: str, module: Module | None = None
) -> Term:
    parameters, returned = own.program.method(module, name, own, node)
    arguments = _arguments(own, node)
    _check(own, node, name, parameters, arguments)
    return Term("call_own", (owner, name, *arguments), returned)


def _value_method(own: Expressions, node: ast.Call, owner: Term, name: str) -> Term:
    arguments = _arguments(own, node)
    kind = owner.type
    by_name = {"List": list, "Dict": dict, "str": str, "Tuple": tuple}.get(kind.name)
    if by_name is not None:
        if name not in names.METHODS[by_name]:
            raise own.error(node, f"a {kind} has no method {name!r} that can be scripted")
        return Term(
            "call_method",
            (owner, name, *arguments),
            _container_result(own, node, owner, name, arguments[0]),
        )
    if kind in (TENSOR, ANY) or kind.name == "Optional":
        known = names.is_tensor_method(name)
        if not known and (kind == TENSOR or not any(name in one for one in names.METHODS.values())):
            raise own.error(node, f"a Tensor has no method {name!r} that can be scripted")
        kinds = tuple(one.type for one in arguments[0])
        result = names.result_type(f"Tensor.{name}", kinds) if kind == TENSOR else ANY
        if name == "size" and arguments[0]:
            result = INT
        return Term("call_method", (owner, name, *arguments), result)
    raise own.error(node, f"a {kind} has no methods")


def _container_result(
    own: Expressions, node: ast.Call, owner: Term, name: str, args: Sequence[Term]
) -> Type:
    kind = owner.type
    inner = kind.args[-1] if kind.args else ANY
    if kind.name == "List" and name in ("append", "insert") and args:
        added = args[-1].type
        if not fits(added, inner):
            raise own.error(node, f"a {kind} cannot take a {added}")
        if inner == ANY and owner.head == "local":
            # An empty list learns what is in it.
            own.locals[owner.parts[0]] = list_of(added)
        return NONE
    if name == "pop":
        return inner
    if kind.name == "Dict":
        pair = kind.args or (ANY, ANY)
        return {
            "items": list_of(Type("Tuple", tuple(pair))),
            "keys": list_of(pair[0]),
            "values": list_of(pair[1]),
        }.get(name, ANY)
    if kind.name == "List" and name == "copy":
        return kind
    return ANY


def _check(
    own: Expressions,
    node: ast.Call,
    name: str,
    parameters: Sequence[Parameter],
    arguments: tuple[Any, ...],
) -> None:
    """Arguments against parameters: how many, which, and of what types."""
    given, keywords, values = arguments
    positional = [one for one in parameters if not one.keyword_only]
    if len(given) > len(positional):
        raise own.error(
            node, f"{name}() takes {len(positional)} positional arguments, got {len(given)}"
        )
    pairs = {one.name: term for one, term in zip(positional, given, strict=False)}
    by_name = {one.name: one for one in parameters}
    for keyword, value in zip(keywords, values, strict=True):
        if keyword not in by_name or keyword in pairs:
            raise own.error(node, f"{name}() got an unexpected argument {keyword!r}")
        pairs[keyword] = value
    for one in parameters:
        if one.name not in pairs:
            if not one.has_default:
                raise own.error(node, f"{name}() misses the argument {one.name!r}")
        elif not fits(pairs[one.name].type, one.type):
            raise own.error(
                node, f"{name}(): {one.name} is a {one.type}, got a {pairs[one.name].type}"
            )
