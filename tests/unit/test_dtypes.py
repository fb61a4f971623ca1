"""Element types: identity, properties, promotion, casts, the default."""

import copy
import itertools
import pickle

import pytest

import aten
from aten._core.base.dtypes import DTYPES, dtype, dtype_by_code

CATEGORIES = {"bool": 0, "signed": 1, "unsigned": 1, "float": 2, "complex": 3}
PROMOTING = [
    element
    for element in DTYPES.values()
    if element.kind in CATEGORIES and element.itemsize and not element.name.startswith("float8")
]
PROMOTING = [element for element in PROMOTING if element.name[-1] in "0123456789l"]


@pytest.fixture
def default_dtype():
    before = aten.get_default_dtype()
    yield
    aten.set_default_dtype(before)


def test_each_dtype_is_one_object():
    for name, element in DTYPES.items():
        assert getattr(aten, name) is element
        assert dtype_by_code(element.code) is element
        assert pickle.loads(pickle.dumps(element)) is element
        assert copy.copy(element) is copy.deepcopy(element) is element
    assert aten.float is aten.float32
    assert len({hash(element) for element in DTYPES.values()}) == len(DTYPES)


@pytest.mark.parametrize(
    ("name", "itemsize", "floating", "complex_", "signed", "scalar_type"),
    [
        ("bool", 1, False, False, False, "Bool"),
        ("uint8", 1, False, False, False, "Byte"),
        ("int64", 8, False, False, True, "Long"),
        ("bfloat16", 2, True, False, True, "BFloat16"),
        ("float32", 4, True, False, True, "Float"),
        ("complex64", 8, False, True, True, "ComplexFloat"),
        ("float8_e4m3fn", 1, True, False, True, "Float8_e4m3fn"),
    ],
)
def test_properties(name, itemsize, floating, complex_, signed, scalar_type):
    element = DTYPES[name]
    assert (element.itemsize, element.is_floating_point) == (itemsize, floating)
    assert (element.is_complex, element.is_signed) == (complex_, signed)
    assert element.scalar_type_name == scalar_type


def test_real_and_complex_counterparts():
    assert aten.complex64.to_real() is aten.float32
    assert aten.float16.to_complex() is aten.complex32
    assert aten.float32.to_real() is aten.float32


def test_promotion_is_commutative_and_reaches_both():
    for left, right in itertools.combinations_with_replacement(PROMOTING, 2):
        try:
            common = aten.promote_types(left, right)
        except RuntimeError:
            assert {left.kind, right.kind} & {"unsigned"}
            continue
        assert common is aten.promote_types(right, left)
        assert aten.promote_types(common, left) is common
        assert aten.promote_types(left, left) is left


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("uint8", "int8", "int16"),
        ("int64", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
        ("bool", "uint8", "uint8"),
        ("float64", "complex64", "complex128"),
    ],
)
def test_common_types(left, right, common):
    assert aten.promote_types(DTYPES[left], DTYPES[right]) is DTYPES[common]


def test_types_without_a_common_one_are_named():
    with pytest.raises(RuntimeError, match=r"[Ff]loat8_e4m3fn"):
        aten.promote_types(aten.float8_e4m3fn, aten.int8)


def test_casts_go_up_in_category_only():
    assert aten.can_cast(aten.float64, aten.float16)
    assert aten.can_cast(aten.int64, aten.bool) is False
    assert aten.can_cast(aten.int64, aten.float16)
    assert not aten.can_cast(aten.float16, aten.int64)
    assert not aten.can_cast(aten.complex64, aten.float64)


def test_the_default_decides_what_python_floats_become(default_dtype):
    assert aten.tensor(1.5).dtype is aten.float32
    aten.set_default_dtype(aten.float64)
    assert aten.get_default_dtype() is aten.float64
    assert aten.tensor([1.5]).dtype is aten.float64
    assert aten.tensor([1]).dtype is aten.int64
    with pytest.raises(TypeError, match="only floating-point types"):
        aten.set_default_dtype(aten.int64)


def test_dtypes_are_not_constructed():
    with pytest.raises(TypeError, match="not constructed"):
        dtype()
