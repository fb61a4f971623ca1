"""What a structural primitive is: one that moves, sorts, contracts or draws whole tensors.

A `Prim` is bound by functions of `Value`s and becomes part of a loop; these are called as
operators, `aten.ops.prims.gather(…)`, by functions of tensors. Each is one block: its schema, the
rule for its results' dtypes and shapes, and what it means on NumPy arrays. A device registers
kernels for them; `expansion` says in terms of the others what the ones mean that it may lack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from aten._core.base.dtypes import dtype
from aten.prims.prim import Shape

Described = tuple[dtype, Shape]


class StructuralPrim:
    """A structural primitive.

    `result(*arguments)` gets what the schema names, tensors of any device, and gives the dtype and
    shape of the result, or a list of them; it raises what a call with such arguments raises.
    `reference(*arguments)` gets NumPy arrays in the tensors' places and gives an array, or a tuple.
    `expansion(*arguments)` gets tensors and calls other primitives; None: there is no such way.
    `depends_on_values` says that the result's shape does, so that there is no rule for it.
    `jvp`, `transpose` and `batching` are places for the rules of transformations.
    """

    __slots__ = (
        "batching",
        "depends_on_values",
        "doc",
        "expansion",
        "jvp",
        "name",
        "reference",
        "result",
        "schema",
        "transpose",
    )

    table: ClassVar[dict[str, StructuralPrim]] = {}

    def __init__(
        self,
        schema: str,
        *,
        result: Callable[..., Described | list[Described]],
        depends_on_values: bool = False,
        reference: Callable[..., Any],
        expansion: Callable[..., Any] | None = None,
        doc: str,
    ) -> None:
        name = schema.partition("(")[0]
        if name in StructuralPrim.table:
            raise ValueError(f"prim {name!r} is defined twice")
        self.name = name
        self.schema = schema
        self.result = result
        self.depends_on_values = depends_on_values
        self.reference = reference
        self.expansion = expansion
        self.doc = doc
        self.jvp: Callable[..., Any] | None = None
        self.transpose: Callable[..., Any] | None = None
        self.batching: Callable[..., Any] | None = None
        StructuralPrim.table[name] = self

    def __repr__(self) -> str:
        return f"<StructuralPrim {self.name}>"
