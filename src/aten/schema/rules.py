"""What a schema must satisfy beyond being readable.

Rules of structure hold for every schema. Conventions tie an operator's name, its written arguments
and its returns together; they hold for ours (namespace `aten`, or none given yet), while users may
name their operators as they like.
"""

from __future__ import annotations

from aten.schema.errors import SchemaError

TYPE_CHECKING = False  # the name type checkers know, without the import of `typing`

if TYPE_CHECKING:
    from aten.schema.model import FunctionSchema


def check_schema(schema: FunctionSchema) -> None:
    """Raises SchemaError for the first rule broken."""
    _check_arguments(schema)
    if any(returned.annotation is not None for returned in schema.returns):
        _check_returned_aliases(schema)
    if schema.name.namespace not in ("", "aten"):
        return
    if schema.name.is_inplace:
        _check_inplace(schema)
    if any(argument.is_out for argument in schema.arguments):
        _check_out(schema)


def _check_arguments(schema: FunctionSchema) -> None:
    names: set[str] = set()
    defaulted = ""
    keyword_only = False
    for position, argument in enumerate(schema.arguments):
        if argument.name in names:
            raise SchemaError(f"argument {argument.name!r} is given twice", argument=position)
        names.add(argument.name)
        if argument.keyword_only:
            keyword_only = True
            continue
        if keyword_only:
            raise SchemaError(
                f"positional argument {argument.name!r} follows a keyword-only one",
                argument=position,
            )
        if argument.default_text:
            defaulted = argument.name
        elif defaulted:
            raise SchemaError(
                f"positional argument {argument.name!r} has no default, "
                f"but {defaulted!r} before it has",
                argument=position,
            )


def _check_returned_aliases(schema: FunctionSchema) -> None:
    known: set[str] = set()
    written: set[str] = set()
    for argument in schema.arguments:
        if argument.annotation is not None:
            known.update(argument.annotation.alias_set)
            if argument.annotation.is_write:
                written.update(argument.annotation.alias_set)
    for returned in schema.returns:
        if returned.annotation is None:
            continue
        for name in returned.annotation.alias_set:
            if name not in known and name != "*":
                raise SchemaError(f"return {str(returned)!r} aliases no argument")
        if returned.annotation.is_write and not written.issuperset(returned.annotation.alias_set):
            raise SchemaError(f"return {str(returned)!r} is written to, its argument is not")


def _check_inplace(schema: FunctionSchema) -> None:
    if not schema.arguments:
        raise SchemaError(f"in-place operator {schema.name.name!r} has no argument to write to")
    first = schema.arguments[0]
    if first.name != "self" or not first.is_write:
        raise SchemaError(
            f"in-place operator {schema.name.name!r} must take 'Tensor(a!) self' first, "
            f"not {str(first)!r}",
            argument=0,
        )
    if not schema.returns:
        return
    if len(schema.returns) != 1 or schema.returns[0].annotation != first.annotation:
        raise SchemaError(
            f"in-place operator {schema.name.name!r} must return its self, "
            f"'{first.type.annotated(first.annotation)}'"
        )


def _check_out(schema: FunctionSchema) -> None:
    out_arguments = schema.out_arguments
    if schema.arguments[-len(out_arguments) :] != out_arguments:
        position = len(schema.arguments) - 1
        raise SchemaError(
            f"argument {schema.arguments[position].name!r} follows out= argument "
            f"{out_arguments[0].name!r}",
            argument=position,
        )
    if not schema.returns:
        return
    expected = tuple(argument.annotation for argument in out_arguments)
    if tuple(returned.annotation for returned in schema.returns) != expected:
        types = ", ".join(
            argument.type.annotated(argument.annotation) for argument in out_arguments
        )
        raise SchemaError(f"an out= overload must return its out= arguments, ({types})")
