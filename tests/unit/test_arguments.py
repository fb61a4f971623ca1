"""Argument parsers: which Python calls fit a schema, and what the kernel gets."""

import array
import json
import math
import sys
from pathlib import Path

import pytest

from aten._core.base.device import LAYOUTS, MEMORY_FORMATS, device
from aten._core.base.dtypes import DTYPES
from aten._core.base.sizes import Size
from aten._core.dispatch.arguments import ArgumentParser
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.schema import FunctionSchema

DATA = Path(__file__).parent.parent / "data"
FACTS = json.loads((DATA / "native_functions_schemas.json").read_text())


class TensorSubclass(Tensor):
    pass


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        if self.value is None:
            raise ZeroDivisionError("from __index__")
        return self.value


def integers(*sizes):
    count = math.prod(sizes)
    return tensor_from_buffer(array.array("q", range(count)), DTYPES["int64"], sizes)


@pytest.fixture
def tensor():
    return integers(2)


def parser(arguments, *, numbers_as_tensors=False):
    schema = FunctionSchema.parse(f"test::f({arguments}) -> ()")
    return ArgumentParser(schema, numbers_as_tensors)


def takes(type, value, **options):
    """What an argument of this type makes of a value."""
    return parser(f"{type} value", **options).bind(value)[0]


def test_every_schema_compiles():
    for fact in FACTS:
        schema = FunctionSchema.parse(fact["schema"])
        compiled = ArgumentParser(schema)
        assert compiled.count == len(schema.arguments)
        assert compiled.positional_count == len(schema.positional)
        assert compiled.keyword_only_names == tuple(a.name for a in schema.keyword_only)


def test_defaults_and_keywords(tensor):
    add = parser("Tensor self, Tensor other, *, Scalar alpha=1")
    other = TensorSubclass.__new__(TensorSubclass)
    assert add.bind(tensor, other) == (tensor, other, 1)
    assert add.bind(tensor, other=other, alpha=2.5) == (tensor, other, 2.5)
    assert add.bind(alpha=2, other=other, self=tensor) == (tensor, other, 2)


def test_keywords_need_not_be_interned(tensor):
    name = "".join(["al", "pha"])
    assert name is not sys.intern("alpha")
    assert parser("Tensor self, *, Scalar alpha=1").bind(tensor, **{name: 3})[1] == 3


def test_other_names_for_keywords(tensor):
    reduce = parser("Tensor self, int[1]? dim, bool keepdim=False")
    assert reduce.bind(input=tensor, axis=0, keepdims=True) == (tensor, (0,), True)
    assert reduce.bind(x=tensor, dim=0) == (tensor, (0,), False)
    with pytest.raises(TypeError, match="got multiple values for argument 'axis'"):
        reduce.bind(tensor, dim=0, axis=1)
    # An argument's own name comes before another one's alias.
    both = parser("Tensor self, Tensor input")
    other = integers(3)
    assert both.bind(input=other, self=tensor) == (tensor, other)


def test_functional_overloads_ignore_out_none(tensor):
    relu = parser("Tensor self")
    assert relu.bind(tensor, out=None) == (tensor,)
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        relu.bind(tensor, out=tensor)


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("Scalar", 2, 2),
        ("Scalar", 2.5, 2.5),
        ("Scalar", True, True),
        ("Scalar", 1j, 1j),
        ("Scalar?", None, None),
        ("int", 3, 3),
        ("int", Index(3), 3),
        ("SymInt", Index(3), 3),
        ("int?", None, None),
        ("float", 2.5, 2.5),
        ("float", 2, 2.0),
        ("float", True, 1.0),
        ("bool", True, True),
        ("bool?", None, None),
        ("str", "tanh", "tanh"),
        ("str?", None, None),
        ("int[]", (1, 2), (1, 2)),
        ("int[]", [1, 2], (1, 2)),
        ("int[]", (), ()),
        ("int[]", [Index(1), 2], (1, 2)),
        ("SymInt[]", (0, True), (0, 1)),
        ("int[2]", 3, (3, 3)),
        ("int[2]", (3,), (3,)),
        ("int[1]?", 0, (0,)),
        ("int[1]?", None, None),
        ("float[]?", [1, 2.5], (1.0, 2.5)),
        ("bool[2]", (True, False), (True, False)),
        ("Scalar[]", [1, 2.5], (1, 2.5)),
        ("Tensor?", None, None),
        ("Tensor[]", (), ()),
        ("ScalarType", DTYPES["int8"], DTYPES["int8"]),
        ("ScalarType", float, DTYPES["float64"]),
        ("ScalarType?", bool, DTYPES["bool"]),
        ("Device", device("meta"), device("meta")),
        ("Device?", "cpu", device("cpu")),
        ("Device?", "cuda:1", device("cuda", 1)),
        ("Layout", LAYOUTS["strided"], LAYOUTS["strided"]),
        ("MemoryFormat?", MEMORY_FORMATS["channels_last"], MEMORY_FORMATS["channels_last"]),
    ],
)
def test_values_that_fit(type, value, expected):
    taken = takes(type, value)
    assert taken == expected
    assert taken.__class__ is expected.__class__


@pytest.mark.parametrize(
    ("type", "value", "reason"),
    [
        ("Tensor", 1, "must be Tensor, not int"),
        ("Tensor", None, "must be Tensor, not NoneType"),
        ("Scalar", "a", "must be Number, not str"),
        ("int", True, "must be int, not bool"),
        ("int", 1.0, "must be int, not float"),
        ("float", "a", "must be float, not str"),
        ("float", 1j, "must be float, not complex"),
        ("bool", 1, "must be bool, not int"),
        ("str", 1, "must be str, not int"),
        ("int[]", 1.5, "must be tuple of ints, not float"),
        ("int[2]", True, "must be tuple of ints, not bool"),
        ("int[2]", (1, 2.0), "but found element of type float at pos 1"),
        ("int[]", (True, 1), "but found element of type bool at pos 0"),
        ("float[]", 1.0, "must be tuple of floats, not float"),
        ("Tensor[]", [None], "but found element of type NoneType at pos 0"),
        ("ScalarType", "float32", "must be aten.dtype, not str"),
        ("ScalarType", list, "must be aten.dtype, not type"),
        ("Device", 3, "must be aten.device, not int"),
        ("Layout", 0, "must be aten.layout, not int"),
        ("MemoryFormat", None, "must be aten.memory_format, not NoneType"),
        ("Generator", 1, "must be aten.Generator, not int"),
    ],
)
def test_values_that_do_not_fit(type, value, reason):
    with pytest.raises(TypeError) as caught:
        takes(type, value)
    assert str(caught.value).startswith("argument 'value' (position 1) must be ")
    assert str(caught.value).endswith(reason)


@pytest.mark.parametrize("value", [1, 2.5, True, 1j])
def test_numbers_where_tensors_are_asked_for(tensor, value):
    assert takes("Tensor", value, numbers_as_tensors=True) is value
    with pytest.raises(TypeError, match="must be Tensor"):
        takes("Tensor", value)
    with pytest.raises(TypeError, match="must be Tensor, not str"):
        takes("Tensor", "a", numbers_as_tensors=True)
    inplace = ArgumentParser(FunctionSchema.parse("f_(Tensor(a!) self) -> Tensor(a!)"), True)
    with pytest.raises(TypeError, match="must be Tensor"):
        inplace.bind(value)


def test_lists_of_tensors(tensor):
    assert takes("Tensor[]", [tensor, tensor]) == (tensor, tensor)
    assert takes("Tensor?[]", [None, tensor]) == (None, tensor)
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        takes("Tensor[]", tensor)


def test_tensors_without_dimensions_are_scalars(tensor):
    scalar = integers()
    assert takes("Scalar", scalar) is scalar
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        takes("Scalar", tensor)
    with pytest.raises(TypeError, match="must be int, not Tensor"):
        takes("int", tensor)


def test_sizes_are_taken_as_they_are(tensor):
    assert takes("int[]", tensor.shape) == (2,)
    assert isinstance(takes("int[]", tensor.shape), Size)


def test_numpy_scalars():
    numpy = pytest.importorskip("numpy")
    assert takes("int", numpy.int64(3)) == 3
    assert takes("Scalar", numpy.float32(2.5)) == 2.5
    assert takes("float", numpy.float64(2.5)) == 2.5
    assert takes("Tensor", numpy.float32(2.5), numbers_as_tensors=True) == 2.5
    with pytest.raises(TypeError, match="not ndarray"):
        takes("Scalar", numpy.zeros(()))


def test_ints_one_by_one(tensor):
    view = parser("Tensor self, SymInt[] size")
    assert view.bind(tensor, 2, 3)[1] == (2, 3)
    assert view.bind(tensor, -1)[1] == (-1,)
    assert view.bind(tensor, (2, 3))[1] == (2, 3)
    assert view.bind(tensor, size=[2, 3])[1] == (2, 3)
    assert parser("SymInt[] size, *, bool? pin=None").bind(2, 3, pin=True) == ((2, 3), True)
    with pytest.raises(TypeError, match="found element of type str at pos 1"):
        view.bind(tensor, 2, "a")
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        view.bind(tensor, (2,), 3)
    with pytest.raises(TypeError, match="multiple values for argument 'size'"):
        view.bind(tensor, 2, 3, size=(2, 3))
    with pytest.raises(TypeError, match="must be tuple of ints, not bool"):
        view.bind(tensor, True)
    # Not the last positional argument: torch, too, takes the second int for what follows.
    with pytest.raises(TypeError, match=r"argument 'keepdim' \(position 3\) must be bool"):
        parser("Tensor self, int[1]? dim, bool keepdim=False").bind(tensor, 0, 1)


@pytest.mark.parametrize(
    ("arguments", "keywords", "reason"),
    [
        ((), {}, 'missing 2 required arguments: "input", "n"'),
        ((), {"n": 1}, 'missing 1 required argument: "input"'),
        (("T",), {}, 'missing 1 required argument: "n"'),
        (("T", 1, 2), {}, "takes 2 positional arguments but 3 were given"),
        (("T", 1), {"m": 1}, "got an unexpected keyword argument 'm'"),
        (("T", 1), {"n": 1}, "got multiple values for argument 'n'"),
        (("T", 1), {"alpha": "a"}, "argument 'alpha' must be Number, not str"),
        (("T",), {"n": 1.5}, "argument 'n' must be int, not float"),
        (("T", 1.5), {"alpha": 2}, "argument 'n' (position 2) must be int, not float"),
    ],
)
def test_calls_that_do_not_fit(tensor, arguments, keywords, reason):
    f = parser("Tensor self, int n, *, Scalar alpha=1")
    with pytest.raises(TypeError) as caught:
        f.bind(*[tensor if argument == "T" else argument for argument in arguments], **keywords)
    assert str(caught.value) == reason
    assert f.reason_for(False) == reason


def test_none_is_a_list_of_ints_that_is_empty_unless_given(tensor):
    f = parser("Tensor self, int[2] a=[], int[2] b=0, int[2]? c=[1, 2]")
    assert f.bind(tensor, None, 3, None) == (tensor, (), (3, 3), None)
    assert f.bind(tensor, a=None) == (tensor, (), (0, 0), (1, 2))
    with pytest.raises(TypeError, match=r"argument 'b' \(position 3\) must be tuple of ints"):
        f.bind(tensor, None, None)


def test_defaults_become_objects():
    defaults = parser(
        "MemoryFormat a=contiguous_format, MemoryFormat b=1, ScalarType c=long, ScalarType d=6, "
        "int[2] e=1, int[] f=[], Layout g=strided, float h=1"
    ).bind()
    assert defaults == (
        MEMORY_FORMATS["contiguous_format"],
        MEMORY_FORMATS["preserve_format"],
        DTYPES["int64"],
        DTYPES["float32"],
        (1, 1),
        (),
        LAYOUTS["strided"],
        1.0,
    )
    assert type(defaults[-1]) is float


def test_errors_of_the_values_themselves_pass_through(tensor):
    with pytest.raises(ZeroDivisionError, match="from __index__"):
        parser("Tensor self, int n").bind(tensor, Index(None))
    with pytest.raises(ZeroDivisionError, match="from __index__"):
        parser("Tensor self, int[] n").bind(tensor, 1, Index(None))
    with pytest.raises(ZeroDivisionError, match="from __index__"):
        parser("Tensor self, int n").bind(tensor, n=Index(None))
    with pytest.raises(RuntimeError, match="nowhere"):
        takes("Device", "nowhere")


def test_references_are_kept_and_released():
    f = parser("Tensor self, Scalar n, int[] size, *, Scalar alpha=1")
    tensor, number, size = integers(2), 12345.5, (1000, 2000)
    calls = [
        ((tensor, number, size), {}),
        ((tensor, number), {"size": size}),
        ((tensor, number, [1000, 2000]), {"alpha": number}),
        ((tensor, number, "a"), {}),
        ((tensor,), {"n": number, "size": "a"}),
        ((tensor, number), {"size": size, "beta": number}),
        ((tensor, number), {"size": [Index(None)]}),
        ((tensor,), {"n": number}),
    ]
    before = [sys.getrefcount(value) for value in (tensor, number, size)]
    for _ in range(50):
        for arguments, keywords in calls:
            try:
                f.bind(*arguments, **keywords)
            except (TypeError, ZeroDivisionError):
                continue
    del arguments, keywords
    assert [sys.getrefcount(value) for value in (tensor, number, size)] == before
