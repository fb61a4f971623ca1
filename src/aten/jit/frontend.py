"""From the source of a function to terms: expressions. Statements are in `statements`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.jit import names
from aten.jit.calls import called
from aten.jit.sources import MISSING, Source
from aten.jit.terms import Term, constant
from aten.jit.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    MODULE,
    NONE,
    NUMBERS,
    STR,
    TENSOR,
    Type,
    fits,
    joined,
    list_of,
    type_of,
)
from aten.nn.modules.module import Module

BINARY: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_UNARY: dict[type, str] = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not", ast.Invert: "~"}
_PLAIN = (bool, int, float, str, dtype, device, layout, memory_format)


class Expressions:
    """Makes terms of the expressions of one function.

    Attributes:
        locals: the type of each variable that is there for certain.
        missing: why another one may not be there.
    """

    def __init__(self, program: Any, source: Source, owner: str | None) -> None:
        self.program = program
        self.source = source
        self.owner = owner  # what the method calls its module
        self.locals: dict[str, Type] = {}
        self.missing: dict[str, str] = {}

    def error(self, node: ast.AST, message: str) -> Exception:
        return self.source.error(node, message)

    def expression(self, node: ast.expr) -> Term:
        maker = _EXPRESSIONS.get(type(node))
        if maker is None:
            raise self.error(node, f"{described(node)} cannot be scripted")
        made = maker(self, node)
        return made if made.line else made._replace(line=self.source.line(node))

    def optional(self, node: ast.expr | None) -> Term:
        return constant(None) if node is None else self.expression(node)

    def several(self, nodes: Sequence[ast.expr]) -> tuple[Term, ...]:
        for one in nodes:
            if isinstance(one, ast.Starred):
                raise self.error(one, "unpacking with * cannot be scripted")
        return tuple(self.expression(one) for one in nodes)

    def constant(self, node: ast.Constant) -> Term:
        if node.value is not None and not isinstance(node.value, _PLAIN):
            raise self.error(node, f"a {type(node.value).__name__} cannot be scripted")
        return constant(node.value)

    def name(self, node: ast.Name) -> Term:
        if node.id == self.owner:
            return Term("self", (), MODULE)
        if node.id in self.locals:
            return Term("local", (node.id,), self.locals[node.id])
        if node.id in self.missing:
            raise self.error(node, self.missing[node.id])
        return self.value(node, self.static(node), node.id)

    def value(self, node: ast.AST, found: Any, name: str) -> Term:
        """A value from around the function, which becomes a constant."""
        if found is MISSING:
            raise self.error(node, f"the name {name!r} is not defined")
        if isinstance(found, (list, tuple)) and not hasattr(found, "_fields"):
            parts = tuple(self.value(node, one, name) for one in found)
            return Term("list" if isinstance(found, list) else "tuple", (parts,), type_of(found))
        if found is None or isinstance(found, _PLAIN):
            return constant(found)
        raise self.error(
            node, f"{name!r} is a {type(found).__name__} from outside, which cannot be scripted"
        )

    def static(self, node: ast.expr) -> Any:
        """What an expression stands for while scripting: a name from outside, or part of it."""
        if isinstance(node, ast.Name):
            if node.id in self.locals or node.id in self.missing or node.id == self.owner:
                return MISSING
            return self.source.lookup(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value)
            if isinstance(owner, ModuleType) or _is_namespace(owner):
                return getattr(owner, node.attr, MISSING)
        return MISSING

    def member_value(self, node: ast.expr) -> Any:
        """The object that `self.a.b` is while scripting."""
        if isinstance(node, ast.Name):
            return self.program.module if node.id == self.owner else MISSING
        if isinstance(node, ast.Attribute):
            owner = self.member_value(node.value)
            return getattr(owner, node.attr, MISSING) if isinstance(owner, Module) else MISSING
        if isinstance(node, ast.Subscript):
            return _item(self.member_value(node.value), node.slice)
        return MISSING

    def attribute(self, node: ast.Attribute) -> Term:
        static = self.static(node)
        if static is not MISSING:
            return self.value(node, static, node.attr)
        owner = self.expression(node.value)
        if owner.type == MODULE:
            return self.member(node, owner)
        if owner.type not in (TENSOR, ANY) and owner.type.name != "Optional":
            raise self.error(node, f"a {owner.type} has no attribute {node.attr!r}")
        if owner.type == ANY and not node.attr.startswith("_"):
            # Results of operators have names: `x.max(1).values`.
            return Term("attribute", (owner, node.attr), ANY)
        if node.attr not in names.ATTRIBUTES:
            raise self.error(node, f"a Tensor's {node.attr!r} cannot be scripted")
        return Term("attribute", (owner, node.attr), names.attribute_type(node.attr))

    def member(self, node: ast.Attribute, owner: Term) -> Term:
        found = self.member_value(node)
        known = self.member_value(node.value)
        if isinstance(known, Module) and found is MISSING:
            raise self.error(node, f"{type(known).__name__} has no attribute {node.attr!r}")
        kept = inspect.getattr_static(type(known), node.attr, None)
        if isinstance(kept, property):
            raise self.error(node, f"the property {node.attr!r} cannot be scripted")
        if found is not MISSING and not _is_member(found):
            raise self.error(
                node,
                f"the attribute {node.attr!r} is a {type(found).__name__}, which cannot be "
                f"scripted",
            )
        kind = ANY if found is MISSING or found is None else type_of(found)
        return Term("member", (owner, node.attr), kind)

    def sequence(self, node: ast.Tuple | ast.List) -> Term:
        parts = self.several(node.elts)
        kinds = tuple(one.type for one in parts)
        if isinstance(node, ast.Tuple):
            return Term("tuple", (parts,), Type("Tuple", kinds))
        return Term("list", (parts,), list_of(self.common(node, kinds, "a list")))

    def common(self, node: ast.AST, kinds: Sequence[Type], what: str) -> Type:
        if not kinds:
            return ANY
        made = kinds[0]
        for one in kinds[1:]:
            both = ANY if {made, one} <= set(NUMBERS) else joined(made, one)
            if both is None:
                raise self.error(node, f"{what} has items of one type, got {made} and {one}")
            made = both
        return made

    def dictionary(self, node: ast.Dict) -> Term:
        keys = []
        for key in node.keys:
            if key is None:
                raise self.error(node, "unpacking with ** cannot be scripted")
            keys.append(self.expression(key))
        values = self.several(node.values)
        kind = (
            self.common(node, [one.type for one in keys], "the keys of a dict"),
            self.common(node, [one.type for one in values], "a dict"),
        )
        return Term("dict", (tuple(keys), values), Type("Dict", kind))

    def binary(self, node: ast.BinOp) -> Term:
        left, right = self.expression(node.left), self.expression(node.right)
        sign = BINARY[type(node.op)]
        return Term(
            "binary", (sign, left, right), self.binary_type(node, sign, left.type, right.type)
        )

    def binary_type(self, node: ast.AST, sign: str, left: Type, right: Type) -> Type:
        if TENSOR in (left, right):
            other = right if left == TENSOR else left
            if other in (STR, NONE) or other.name in ("List", "Dict", "Tuple"):
                raise self.error(node, f"{sign} of {left} and {right} is not defined")
            return TENSOR
        if left in NUMBERS and right in NUMBERS:
            if sign == "/" or FLOAT in (left, right):
                return FLOAT
            return BOOL if (left, right) == (BOOL, BOOL) and sign in "&|^" else INT
        if ANY in (left, right) or "Optional" in (left.name, right.name):
            return ANY
        if sign == "+" and left.name == right.name and left.name in ("List", "str", "Tuple"):
            if left.name == "Tuple":
                return Type("Tuple", (*left.args, *right.args))
            return joined(left, right) or Type(left.name)
        if sign == "*" and {left.name, right.name} & {"List", "str"} and INT in (left, right):
            return right if left == INT else left
        if sign == "%" and left == STR:
            return STR
        raise self.error(node, f"{sign} of {left} and {right} is not defined")

    def unary(self, node: ast.UnaryOp) -> Term:
        operand = self.expression(node.operand)
        sign = _UNARY[type(node.op)]
        if operand.head == "constant" and sign == "-" and operand.type in (INT, FLOAT):
            return constant(-operand.parts[0])
        if sign != "not" and (operand.type in (STR, NONE) or operand.type.name in ("List", "Dict")):
            raise self.error(node, f"{sign} of {operand.type} is not defined")
        return Term("unary", (sign, operand), BOOL if sign == "not" else operand.type)

    def comparison(self, node: ast.Compare) -> Term:
        operands = self.several([node.left, *node.comparators])
        signs = tuple(_COMPARISONS[type(one)] for one in node.ops)
        for sign, left, right in zip(signs, operands, operands[1:], strict=False):
            if (
                sign in ("<", "<=", ">", ">=")
                and (STR in (left.type, right.type))
                and (left.type != right.type and ANY not in (left.type, right.type))
            ):
                raise self.error(node, f"{sign} of {left.type} and {right.type} is not defined")
        elements = TENSOR in [one.type for one in operands] and not {
            "is",
            "is not",
            "in",
            "not in",
        } & set(signs)
        return Term("compare", (signs, operands), TENSOR if elements else BOOL)

    def logical(self, node: ast.BoolOp) -> Term:
        head = "and" if isinstance(node.op, ast.And) else "or"
        values = self.several(node.values)
        made = values[0].type
        for one in values[1:]:
            made = joined(made, one.type) or ANY
        return Term(head, (values,), made)

    def choice(self, node: ast.IfExp) -> Term:
        test = self.expression(node.test)
        parts = self.expression(node.body), self.expression(node.orelse)
        kind = joined(parts[0].type, parts[1].type)
        if kind is None and {parts[0].type, parts[1].type} <= set(NUMBERS):
            kind = FLOAT
        if kind is None:
            raise self.error(
                node, f"both cases have one type, got {parts[0].type} and {parts[1].type}"
            )
        return Term("choose", (test, *parts), kind)

    def subscript(self, node: ast.Subscript) -> Term:
        value = self.expression(node.value)
        index = self.expression(node.slice)
        return Term("subscript", (value, index), self.element_type(node, value.type, index))

    def element_type(self, node: ast.AST, kind: Type, index: Term) -> Type:
        if kind in (TENSOR, MODULE):
            return kind
        if kind in NUMBERS or kind == NONE:
            raise self.error(node, f"a {kind} has no elements")
        if index.head == "slice":
            return ANY if kind.name == "Tuple" else kind
        if kind.name == "List" and kind.args:
            return kind.args[0]
        if kind.name == "Dict" and kind.args:
            return kind.args[1]
        if kind.name == "Tuple" and index.head == "constant":
            place = index.parts[0]
            if not isinstance(place, int) or not -len(kind.args) <= place < len(kind.args):
                raise self.error(node, f"there is no item {place!r} in a {kind}")
            return kind.args[place]
        return STR if kind == STR else ANY

    def slice(self, node: ast.Slice) -> Term:
        parts = (self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        return Term("slice", parts)

    def text(self, node: ast.JoinedStr) -> Term:
        parts = []
        for one in node.values:
            if isinstance(one, ast.FormattedValue):
                if one.format_spec is not None or one.conversion != -1:
                    raise self.error(node, "formats in f-strings cannot be scripted")
                parts.append(self.expression(one.value))
            else:
                parts.append(self.expression(one))
        return Term("format", (tuple(parts),), STR)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> Term:
        if len(node.generators) != 1:
            raise self.error(node, "comprehensions with several loops cannot be scripted")
        [loop] = node.generators
        rows = self.expression(loop.iter)
        kept = dict(self.locals)
        target = self.bound(loop.target, self.item_type(loop.iter, rows.type))
        tests = self.several(loop.ifs)
        if isinstance(node, ast.DictComp):
            parts: tuple[Any, ...] = (self.expression(node.key), self.expression(node.value))
            made = Term(
                "dict_of", (*parts, target, rows, tests), Type("Dict", tuple(p.type for p in parts))
            )
        else:
            element = self.expression(node.elt)
            made = Term("list_of", (element, target, rows, tests), list_of(element.type))
        self.locals = kept
        return made

    def item_type(self, node: ast.AST, kind: Type) -> Type:
        """What a loop's variable is for a value that is looped over."""
        if kind == TENSOR:
            return TENSOR
        if kind.name == "List":
            return kind.args[0] if kind.args else ANY
        if kind.name == "Tuple":
            return self.common(node, kind.args, "a tuple that is looped over") if kind.args else ANY
        if kind.name == "Dict":
            return kind.args[0] if kind.args else ANY
        if kind in (ANY, MODULE) or kind.name == "Optional":
            return ANY
        if kind == STR:
            return STR
        raise self.error(node, f"a {kind} cannot be looped over")

    def bound(self, node: ast.expr, kind: Type) -> Term:
        """A variable, or a tuple of them, that gets a value of a type."""
        if isinstance(node, ast.Name):
            if node.id == self.owner:
                raise self.error(node, f"{node.id!r} cannot be assigned to")
            self.assign_type(node, node.id, kind)
            return Term("local", (node.id,), self.locals[node.id], self.source.line(node))
        if isinstance(node, (ast.Tuple, ast.List)):
            if kind.name == "Tuple" and kind.args and len(kind.args) != len(node.elts):
                raise self.error(
                    node, f"{len(kind.args)} values cannot be unpacked into {len(node.elts)}"
                )
            inner = kind.args if kind.name == "Tuple" and kind.args else ()
            item = TENSOR if kind == TENSOR else ANY
            if kind.name == "List" and kind.args:
                item = kind.args[0]
            kinds = inner or (item,) * len(node.elts)
            parts = tuple(self.bound(one, each) for one, each in zip(node.elts, kinds, strict=True))
            return Term("tuple", (parts,), kind, self.source.line(node))
        raise self.error(node, f"{described(node)} cannot be assigned to")

    def assign_type(self, node: ast.AST, name: str, kind: Type) -> None:
        known = self.locals.get(name)
        if known is not None and not fits(kind, known):
            both = joined(known, kind)
            if both is None:
                raise self.error(
                    node, f"the variable {name!r} is a {known}, and cannot become a {kind}"
                )
            kind = both
        elif known is not None and ANY not in (kind, known):
            kind = known
        self.locals[name] = kind
        self.missing.pop(name, None)

    def call(self, node: ast.Call) -> Term:
        return called(self, node)


def _item(owner: Any, index: ast.expr) -> Any:
    """An item of a module that holds others, by a number or name that stands in the source."""
    try:
        place = ast.literal_eval(index)
    except ValueError:
        return MISSING
    if not isinstance(owner, Module):
        return MISSING
    held = owner._modules
    if isinstance(place, str):
        return held.get(place, MISSING)
    listed = list(held.values())
    inside = isinstance(place, int) and -len(listed) <= place < len(listed)
    return listed[place] if inside else MISSING


def _is_namespace(value: Any) -> bool:
    """Whether a value stands for names, as `aten.ops.aten` does."""
    return type(value).__module__.startswith("aten") and type(value).__name__ in (
        "_OpNamespace",
        "OpNamespace",
        "Namespace",
        "_Namespaces",
    )


def _is_member(value: Any) -> bool:
    """Whether a module's attribute is one that a scripted module keeps."""
    if isinstance(value, (list, tuple)):
        return all(_is_member(one) for one in value)
    if isinstance(value, dict):
        return all(isinstance(key, (str, int)) and _is_member(one) for key, one in value.items())
    return value is None or isinstance(value, (*_PLAIN, Tensor, Module))


def described(node: ast.AST) -> str:
    words = {
        "Lambda": "a lambda",
        "Await": "await",
        "Yield": "yield",
        "YieldFrom": "yield",
        "NamedExpr": "an assignment in an expression",
        "SetComp": "a set",
        "Set": "a set",
        "Try": "try",
        "With": "with",
        "Global": "global",
        "Nonlocal": "nonlocal",
        "Import": "an import",
        "ImportFrom": "an import",
        "FunctionDef": "a function in a function",
        "ClassDef": "a class in a function",
        "Delete": "del",
        "Starred": "unpacking with *",
    }
    return words.get(type(node).__name__, f"this ({type(node).__name__})")


_EXPRESSIONS: dict[type, Callable[[Expressions, Any], Term]] = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.name,
    ast.Attribute: Expressions.attribute,
    ast.Tuple: Expressions.sequence,
    ast.List: Expressions.sequence,
    ast.Dict: Expressions.dictionary,
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.Compare: Expressions.comparison,
    ast.BoolOp: Expressions.logical,
    ast.IfExp: Expressions.choice,
    ast.Subscript: Expressions.subscript,
    ast.Slice: Expressions.slice,
    ast.JoinedStr: Expressions.text,
    ast.ListComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension,
    ast.Call: Expressions.call,
}
