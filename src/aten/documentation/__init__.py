"""Documentation of operators, made when somebody asks for it.

What `help`, `inspect.signature`, editors and the reference show is put together from schemas, from
the functions under `ops/` and from the texts in this folder; nothing of it is read at import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aten.documentation.writing import Described, name_for_users, operator_text
from aten.schema import FunctionSchema

if TYPE_CHECKING:
    import inspect

    from aten._core.dispatch.packets import OpOverloadPacket


def documentation_of(packet: OpOverloadPacket, *, is_method: bool = False) -> str:
    """What `help` shows of an operator, as a function or as a method of Tensor."""
    if any(op.entry is None for op in packet.op_overloads):
        # Of operators beside the registry nothing is known but their schemas.
        return "\n".join(str(op.__doc__) for op in packet.op_overloads)
    overloads = described(packet)
    if packet.namespace != "aten":
        called = f"ops.{packet.namespace}.{packet.name}"
    elif is_method:
        called = f"Tensor.{packet.name}"
    else:
        called = name_for_users(packet.name, is_function=_is_function(packet.name))
    return operator_text(called, overloads, is_method=is_method)


def signature_of(packet: OpOverloadPacket, *, is_method: bool = False) -> inspect.Signature:
    """What `inspect.signature` shows: the first overload's parameters, and `out`, if any has it."""
    from inspect import Parameter, Signature

    from aten.documentation.signatures import name_of

    overloads = described(packet)
    if is_method:
        named = [any(a.name == "self" for a in one.schema.positional) for one in overloads]
        overloads = [one for one, has_self in zip(overloads, named, strict=True) if has_self]
    found: list[Parameter] = []
    for argument in overloads[0].schema.arguments:
        own = is_method and argument.name == "self"
        default = argument.default if argument.has_default else Parameter.empty
        by_name = argument.keyword_only
        kind = Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD
        name = "self" if own else name_of(argument)
        if own:
            found.insert(0, Parameter(name, kind))
        else:
            annotation = str(argument.type)
            found.append(Parameter(name, kind, default=default, annotation=annotation))
    writes = any(one.is_out for each in overloads[1:] for one in each.schema.arguments)
    if writes and not is_method and all(one.name != "out" for one in found):
        found.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None))
    return Signature(found)


def described(packet: OpOverloadPacket) -> list[Described]:
    """The packet's overloads, in the order in which a call tries them."""
    return [
        Described(
            schema=FunctionSchema.parse(op.schema_text),
            kind=op.entry.kind,
            base=op.entry.base,
            function=op.entry.function,
            promotion=str(op.entry.options.get("promotion", "")),
            numbers_as_tensors=bool(op.entry.options.get("numbers_as_tensors")),
            alias_of=str(op.entry.options.get("alias_of", "")),
        )
        for op in packet.op_overloads
    ]


def _is_function(name: str) -> bool:
    from aten._generated.names import FUNCTIONS

    return name in FUNCTIONS
