"""The grammar: lossless on every schema torch has, and precise about what is wrong."""

import copy
import json
import pickle
from pathlib import Path

import pytest

from aten.schema import (
    Annotation,
    Argument,
    BaseType,
    DictType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    SchemaError,
    parse_type,
)

DATA = Path(__file__).parent.parent / "data"
FACTS = json.loads((DATA / "native_functions_schemas.json").read_text())
KINDS = {"view": "functional", "mutating_other": "mutable"}


def test_facts_are_complete():
    assert len(FACTS) == 3110


def test_every_schema_prints_back_unchanged():
    texts = [fact["schema"] for fact in FACTS]
    texts += [text.removeprefix("aten::") for text in texts]
    texts += [fact["schema"] for fact in json.loads((DATA / "prims.json").read_text())]
    texts += [fact["schema"] for fact in json.loads((DATA / "core_aten.json").read_text())]
    assert [str(FunctionSchema.parse(text)) for text in texts] == texts


def test_every_schema_survives_reconstruction_from_its_records():
    for fact in FACTS:
        schema = FunctionSchema.parse(fact["schema"])
        again = FunctionSchema(schema.name, schema.arguments, schema.returns)
        assert again == schema
        assert hash(again) == hash(schema)


def test_kinds_are_those_of_the_facts():
    for fact in FACTS:
        schema = FunctionSchema.parse(fact["schema"])
        assert schema.kind == KINDS.get(fact["kind"], fact["kind"]), fact["schema"]
        assert schema.is_view == (fact["kind"] == "view"), fact["schema"]


def test_parts_of_a_schema():
    schema = FunctionSchema.parse(
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
    )
    assert schema.name == OperatorName("aten", "add", "out")
    assert schema.name.without_namespace == "add.out"
    assert [argument.name for argument in schema.positional] == ["self", "other"]
    assert [argument.name for argument in schema.keyword_only] == ["alpha", "out"]
    alpha, out = schema.keyword_only
    assert (alpha.type, alpha.default, alpha.has_default) == (BaseType("Scalar"), 1, True)
    assert not alpha.is_out
    assert out.is_out
    assert not out.has_default
    assert out.annotation == Annotation(("a",), True)
    assert schema.out_arguments == (out,)
    assert schema.returns == (Return(BaseType("Tensor"), Annotation(("a",), True)),)
    assert schema.kind == "out"


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("Tensor", BaseType("Tensor")),
        ("int?", OptionalType(BaseType("int"))),
        ("SymInt[2]", ListType(BaseType("SymInt"), 2)),
        ("Tensor?[]", ListType(OptionalType(BaseType("Tensor")))),
        ("int[1]?", OptionalType(ListType(BaseType("int"), 1))),
        ("bool[3]", ListType(BaseType("bool"), 3)),
        ("Dict(Tensor, Tensor)", DictType(BaseType("Tensor"), BaseType("Tensor"))),
    ],
)
def test_types(text, type):
    assert parse_type(text) == (type, None)
    assert str(type) == text


def test_questions_to_types():
    optional_list = parse_type("int[1]?")[0]
    assert (optional_list.base, optional_list.is_nullable, optional_list.is_list) == (
        "int",
        True,
        True,
    )
    tensors = parse_type("Tensor?[]")[0]
    assert (tensors.base, tensors.is_nullable, tensors.is_list) == ("Tensor", False, True)


@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        ("a", Annotation(("a",), False)),
        ("a!", Annotation(("a",), True)),
        ("a|b", Annotation(("a", "b"), False)),
        ("a -> *", Annotation(("a",), False, ("*",))),
        ("a! -> a|b", Annotation(("a",), True, ("a", "b"))),
    ],
)
def test_alias_annotations(text, annotation):
    assert Annotation.parse(text) == annotation
    assert str(annotation) == text
    assert parse_type(f"Tensor({text})[]") == (ListType(BaseType("Tensor")), annotation)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Tensor? x=None", None),
        ("bool x=True", True),
        ("int x=-100", -100),
        ("int reduction=Mean", 1),
        ("float x=1e-05", 1e-05),
        ("float x=0.33333333333333331", 1 / 3),
        ("Scalar x=1", 1),
        ("Scalar x=1.", 1.0),
        ("str x='none'", "none"),
        ('str x="a, \\"b\\"\\\\"', 'a, "b"\\'),
        ("int[] x=[]", ()),
        ("int[2] x=1", 1),
        ("int[1] x=[-2, -1]", (-2, -1)),
        ("MemoryFormat x=contiguous_format", "contiguous_format"),
        ("MemoryFormat x=0", 0),
        ("ScalarType x=long", "long"),
    ],
)
def test_defaults(text, value):
    argument = Argument.parse(text)
    assert argument.default == value
    assert type(argument.default) is type(value)
    assert argument.has_default
    assert str(argument) == text


def test_other_spacing_is_normalized():
    schema = FunctionSchema.parse(" my::f( Tensor  x,int n = 3,*,str m='a,)' )->(Tensor,Tensor y) ")
    assert str(schema) == "my::f(Tensor x, int n=3, *, str m='a,)') -> (Tensor, Tensor y)"


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("", "expected '(' after the operator's name", 0),
        ("add.Tensor", "expected '(' after the operator's name", 1),
        ("a b(Tensor self) -> Tensor", "'a b' is not a name for an operator", 1),
        ("add.(Tensor self) -> Tensor", "'add.' has no overload after its '.'", 1),
        ("::add(Tensor self) -> Tensor", "'::add' has no namespace before its '::'", 1),
        ("add(Tenso self) -> Tensor", "unknown type 'Tenso'", 5),
        ("add(Tensor) -> Tensor", "'Tensor' is not an argument: expected a type and a name", 5),
        ("add(Tensor self, Tensor self) -> Tensor", "argument 'self' is given twice", 18),
        ("f(int? ?x) -> ()", "'?x' is not a name for an argument", 3),
        ("f(int?? x) -> ()", "'int??' is optional twice", 3),
        ("f(int[x] y) -> ()", "'x' is not the size of a list", 3),
        ("f(int[0] y) -> ()", "a list of 0 elements", 3),
        ("f(int(a!) y) -> ()", "'int(a!)': only a Tensor can have an alias annotation", 3),
        ("f(Tensor(!) y) -> ()", "'' does not name an alias set", 3),
        ("f(int n=1.5) -> ()", "argument 'n' of type int cannot default to 1.5", 3),
        ("f(int n=True) -> ()", "argument 'n' of type int cannot default to True", 3),
        ("f(int n=None) -> ()", "argument 'n' of type int cannot default to None", 3),
        ("f(int[] n=1) -> ()", "argument 'n' of type int[] cannot default to 1", 3),
        ("f(int n=) -> ()", "argument 'n' has no value after its '='", 3),
        ("f(int n=1+1) -> ()", "'1+1' is not a default value", 3),
        ("f(str n='a) -> ()", "the string is never closed", 9),
        ("f(int a=1, int b) -> ()", "positional argument 'b' has no default", 12),
        ("f(int a, *) -> ()", "no argument follows '*'", 10),
        ("f(*, int a, *, int b) -> ()", "'*' stands a second time", 13),
        ("f(int a, , int b) -> ()", "nothing stands between two commas", 9),
        ("f(int a -> ()", "'(' is never closed", 2),
        ("f(int a] -> ()", "expected ')', found ']'", 8),
        ("f(int a)", "expected '->' and the returns after the arguments", 9),
        ("f(int a) -> ", "unknown type ''", 13),
        ("f(int a) -> () x", "unexpected text after the returns", 15),
        ("f(int a) -> (Tensor, Tenso)", "unknown type 'Tenso'", 22),
        ("f(Tensor a) -> Tensor(a)", "return 'Tensor(a)' aliases no argument", 16),
        ("f(Tensor(a) a) -> Tensor(a!)", "is written to, its argument is not", 19),
        ("f_(Tensor self) -> Tensor", "in-place operator 'f_' must take 'Tensor(a!) self'", 4),
        ("f_(Tensor(a!) self) -> Tensor", "'f_' must return its self, 'Tensor(a!)'", 24),
        ("f_() -> ()", "in-place operator 'f_' has no argument to write to", 5),
        ("f.out(*, Tensor(a!) out) -> Tensor", "must return its out= arguments", 29),
        (
            "f.out(*, Tensor(a!) out, int n) -> Tensor(a!)",
            "argument 'n' follows out= argument 'out'",
            26,
        ),
    ],
)
def test_errors_say_what_is_wrong_and_where(text, reason, column):
    with pytest.raises(SchemaError) as caught:
        FunctionSchema.parse(text)
    assert reason in caught.value.reason
    if column:
        assert caught.value.column == column
        assert f"column {column} of {text!r}" in str(caught.value)


@pytest.mark.parametrize(
    "text", [f"f(int{'[]' * 5000} x) -> ()", f"f(int[] x={'[' * 5000}{']' * 5000}) -> ()"]
)
def test_nesting_without_end_is_an_error(text):
    with pytest.raises(SchemaError, match="brackets nest too deeply"):
        FunctionSchema.parse(text)


def test_errors_name_their_source():
    with pytest.raises(SchemaError) as caught:
        FunctionSchema.parse("f(Tenso x) -> ()", source="native_functions.yaml:12")
    assert str(caught.value) == (
        "native_functions.yaml:12: unknown type 'Tenso' (column 3 of 'f(Tenso x) -> ()')"
    )


def test_conventions_bind_only_our_namespace():
    assert FunctionSchema.parse("mine::f_(Tensor x) -> Tensor").kind == "functional"
    with pytest.raises(SchemaError):
        FunctionSchema.parse("aten::f_(Tensor x) -> Tensor")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("add_", True), ("add", False), ("__iadd__", True), ("__and__", False), ("__invert__", False)],
)
def test_inplace_names(name, expected):
    assert OperatorName("", name).is_inplace is expected


def test_records_are_immutable_and_copy():
    schema = FunctionSchema.parse("mine::f(Tensor(a!) x, int n=3) -> Tensor(a!)")
    with pytest.raises(AttributeError, match="FunctionSchema is immutable"):
        schema.name = OperatorName("", "g")
    with pytest.raises(AttributeError, match="Argument is immutable"):
        del schema.arguments[0].name
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert copy.deepcopy(schema) == schema
    assert schema != FunctionSchema.parse("mine::f(Tensor(a!) x, int n=4) -> Tensor(a!)")
    assert schema != str(schema)
