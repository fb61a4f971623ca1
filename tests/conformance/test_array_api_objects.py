"""What the standard asks of the namespace and of arrays: names, signatures, dtypes, indexing."""

import copy
import inspect
import math
import operator
import pickle

import numpy as np
import pytest
from array_api_cases import (
    ALL,
    DTYPES,
    FLOATS,
    INTEGERS,
    NUMERIC,
    REAL,
    agree,
    arrays,
    broadcasting,
    compare,
    few,
    numbers,
    shapes,
    strict,
)
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import aten
from aten import array_api as xp

pytestmark = pytest.mark.usefixtures("double")

EXTENSIONS = ("linalg", "fft")
FLAGS = {"ArrayAPIStrictFlags", "Device", "ModuleType"}


def public(namespace):
    return [
        name
        for name in dir(namespace)
        if callable(getattr(namespace, name)) and name[0] != "_" and "strict" not in name
    ]


FUNCTIONS = [
    *(name for name in public(strict) if name not in FLAGS and name not in ALL),
    *(f"{part}.{name}" for part in EXTENSIONS for name in getattr(strict, part).__all__),
    "linalg.eig",
    "linalg.eigvals",
]


def find(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name):
    """Arguments in the same places, of the same kinds, with the same defaults."""
    ours = inspect.signature(find(xp, name)).parameters
    theirs = inspect.signature(find(strict, name)).parameters
    assert [*ours] == [*theirs]
    for argument, other in theirs.items():
        assert ours[argument].kind == other.kind, argument
        default = other.default
        if getattr(default, "name", "") != "UNDEF":
            assert ours[argument].default == default, argument


def test_functions_are_documented():
    for name in FUNCTIONS:
        assert find(xp, name).__doc__, name
        assert find(xp, name).__name__ == name.split(".")[-1]


def test_constants_and_dtypes():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)
    assert xp.__array_api_version__ == "2025.12"
    for name in ALL:
        assert getattr(xp, name) is getattr(aten, name)


METHODS = [
    name
    for name, value in vars(type(strict.asarray(1.0))).items()
    if inspect.isfunction(value)
    and (name.startswith("__") or name[0] != "_")
    and name not in ("__new__", "__str__", "__repr__", "__hash__", "__buffer__", "__array__")
]


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    """Arrays have the methods, and those that Python calls as operators the right arguments."""
    ours = getattr(xp.ones((1, 1)), name)
    theirs = getattr(strict.ones((1, 1)), name)
    try:
        mine = inspect.signature(ours).parameters
    except ValueError:
        return
    for argument, other in inspect.signature(theirs).parameters.items():
        if argument in mine and argument != "stream":  # by keyword only in the standard
            assert mine[argument].kind == other.kind, argument


def test_namespace_of_tensors():
    for value in (aten.ones(2), xp.ones(2)):
        assert value.__array_namespace__() is xp
        for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            assert value.__array_namespace__(api_version=version) is xp
        with pytest.raises(ValueError, match=r"2019\.10"):
            value.__array_namespace__(api_version="2019.10")


def test_inspection():
    for info in (xp.__array_namespace_info__(), aten.__array_namespace_info__()):
        assert info.capabilities() == {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }
        assert info.default_device() == aten.device("cpu")
        assert info.devices() == (aten.device("cpu"),)
        assert info.default_dtypes(device=info.default_device()) == {
            "real floating": aten.float64,
            "complex floating": aten.complex128,
            "integral": aten.int64,
            "indexing": aten.int64,
        }
        assert [*info.dtypes()] == ALL[:1] + INTEGERS + FLOATS + DTYPES["complex"]
        assert xp.ones([1] * 64).ndim == 64
        with pytest.raises(ValueError, match="kind"):
            info.dtypes(kind="real")
        with pytest.raises(RuntimeError):
            info.dtypes(device="nowhere")


KINDS = {
    "bool": DTYPES["bool"],
    "signed integer": DTYPES["signed"],
    "unsigned integer": DTYPES["unsigned"],
    "integral": INTEGERS,
    "real floating": FLOATS,
    "complex floating": DTYPES["complex"],
    "numeric": NUMERIC,
}


@pytest.mark.parametrize("kind", [*KINDS, ("bool", "real floating"), ()])
def test_kinds(kind):
    expected = {
        name for one in (kind if isinstance(kind, tuple) else (kind,)) for name in KINDS[one]
    }
    assert {*xp.__array_namespace_info__().dtypes(kind=kind)} == expected
    for name in ALL:
        assert xp.isdtype(getattr(xp, name), kind) is (name in expected)


def test_isdtype_of_dtypes():
    assert xp.isdtype(xp.float32, xp.float32)
    assert xp.isdtype(xp.float32, (xp.int8, "real floating"))
    assert not xp.isdtype(xp.float32, (xp.int8, "bool"))
    with pytest.raises(ValueError, match="kind must be"):
        xp.isdtype(xp.float32, "floating")
    with pytest.raises(TypeError):
        xp.isdtype(xp.float32, float)


@pytest.mark.parametrize("left", ALL)
@pytest.mark.parametrize("right", ALL)
def test_promotion(left, right):
    ours = getattr(xp, left), getattr(xp, right)
    theirs = getattr(strict, left), getattr(strict, right)
    assert xp.can_cast(*ours) == (
        strict.can_cast(*theirs)
        if promotes(left, right)
        else ours[0] is ours[1] or left == "bool" or mixes(left, right)
    )
    if not promotes(left, right):
        return
    expected = str(strict.result_type(*theirs)).split(".")[-1]
    assert xp.result_type(*ours) is getattr(xp, expected)
    assert xp.result_type(ours[0], xp.ones((), dtype=ours[1])) is getattr(xp, expected)
    if left != "bool":
        assert (xp.ones(2, dtype=ours[0]) + xp.ones((), dtype=ours[1])).dtype is getattr(
            xp, expected
        )


def mixes(left, right):
    """Integers become floats and complex numbers, which the standard leaves open."""
    return left in INTEGERS and right in FLOATS + DTYPES["complex"]


def promotes(left, right):
    try:
        strict.result_type(getattr(strict, left), getattr(strict, right))
    except TypeError:
        return False
    return True


def test_unsigned_64_and_signed_do_not_mix():
    with pytest.raises(TypeError, match="no dtype holds both"):
        xp.ones(1, dtype=xp.uint64) + xp.ones(1, dtype=xp.int8)
    assert not xp.can_cast(xp.uint64, xp.int64)


@pytest.mark.parametrize("name", ALL)
def test_result_type_with_numbers(name):
    element = getattr(xp, name)
    x = xp.ones(2, dtype=element)
    kind = next(kind for kind, names in DTYPES.items() if name in names)
    numbers_of = {
        "bool": [True],
        "signed": [1],
        "unsigned": [1],
        "float": [1, 1.0],
        "complex": [1, 1.0, 1j],
    }
    for value in numbers_of[kind]:
        assert xp.result_type(x, value) is element
        assert xp.result_type(value, element) is element
    if kind == "float":
        assert xp.result_type(x, 1j) is element.to_complex()
    assert xp.result_type(1, True) is xp.int64
    assert xp.result_type(1.0) is xp.float64
    assert xp.result_type(1j, 1) is xp.complex128
    with pytest.raises(ValueError, match="at least one"):
        xp.result_type()


@few
@given(data=st.data())
def test_astype(data):
    left, right = data.draw(st.sampled_from(ALL)), data.draw(st.sampled_from(ALL))
    if left in DTYPES["complex"] and right not in DTYPES["complex"]:
        return  # the standard forbids it
    limits = {"finite": True}
    if right in INTEGERS and left not in ("bool",):
        info = np.iinfo(right)
        low, high = (
            (0, min(2**24, info.max))
            if right in DTYPES["unsigned"]
            else (max(-(2**24), info.min), min(2**24, info.max))
        )
        if left in INTEGERS:
            low, high = max(low, np.iinfo(left).min), min(high, np.iinfo(left).max)
        limits |= {"low": low, "high": high}
    x = data.draw(arrays(left, **limits))
    with np.errstate(all="ignore"):
        agree("astype", x, np.dtype(right))
    given_array = xp.asarray(x)
    same = xp.astype(given_array, given_array.dtype, copy=False)
    assert same.data_ptr() == given_array.data_ptr()
    if x.size:
        assert xp.astype(given_array, given_array.dtype).data_ptr() != given_array.data_ptr()


@pytest.mark.parametrize("name", [*FLOATS, *DTYPES["complex"]])
def test_finfo(name):
    for asked in (getattr(xp, name), xp.ones(1, dtype=getattr(xp, name))):
        found, expected = xp.finfo(asked), np.finfo(name)
        for attribute in ("bits", "eps", "max", "min", "smallest_normal"):
            value = getattr(found, attribute)
            assert value == getattr(expected, attribute)
            assert type(value) is (int if attribute == "bits" else float)
        assert found.dtype is getattr(xp, name).to_real()
    with pytest.raises(TypeError):
        xp.finfo(xp.int8)


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name):
    for asked in (getattr(xp, name), xp.ones(1, dtype=getattr(xp, name))):
        found, expected = xp.iinfo(asked), np.iinfo(name)
        for attribute in ("bits", "max", "min"):
            assert getattr(found, attribute) == getattr(expected, attribute)
            assert type(getattr(found, attribute)) is int
        assert found.dtype is getattr(xp, name)
    with pytest.raises(TypeError):
        xp.iinfo(xp.float32)


@few
@given(data=st.data())
def test_indexing(data):
    name = data.draw(st.sampled_from(ALL))
    x = data.draw(arrays(name, shapes(min_side=1)))
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, max_dims=6))
    found = xp.asarray(x)[key]
    compare("getitem", found, strict.asarray(np.asarray(x[key])))
    target, expected = xp.asarray(x, copy=True), x.copy()
    value = data.draw(numbers(name))
    target[key] = value.item()
    expected[key] = value
    np.testing.assert_array_equal(np.asarray(target), expected)
    values = data.draw(arrays(name, np.asarray(expected[key]).shape))
    target[key] = xp.asarray(values)
    expected[key] = values
    np.testing.assert_array_equal(np.asarray(target), expected)


@few
@given(data=st.data())
def test_indexing_by_masks(data):
    name = data.draw(st.sampled_from(ALL))
    x = data.draw(arrays(name, shapes()))
    dims = data.draw(st.integers(0, x.ndim))
    kept = data.draw(st.lists(st.booleans(), min_size=dims, max_size=dims))
    shape = tuple(size if keep else 0 for size, keep in zip(x.shape, kept, strict=False))
    mask = data.draw(arrays("bool", shape))
    found = xp.asarray(x)[xp.asarray(mask)]
    count = int(mask.sum()) if mask.size else 0
    assert found.shape == (count, *x.shape[dims:])
    if shape == x.shape[:dims]:
        np.testing.assert_array_equal(np.asarray(found), x[mask])
        target = xp.asarray(x, copy=True)
        target[xp.asarray(mask)] = xp.zeros((), dtype=target.dtype)
        expected = x.copy()
        expected[mask] = 0
        np.testing.assert_array_equal(np.asarray(target), expected)


@pytest.mark.parametrize("shape", [(2,), (3, 2), (3, 4, 1), (3, 4, 5, 1)])
def test_masks_of_other_shapes_are_refused(shape):
    with pytest.raises(IndexError):
        xp.ones((3, 4, 5))[xp.ones(shape, dtype=xp.bool)]


@pytest.mark.parametrize("name", INTEGERS)
def test_indexing_by_integers_of_any_type(name):
    x = xp.reshape(xp.arange(24), (2, 3, 4))
    places = xp.asarray([[0, 1], [1, 0]], dtype=getattr(xp, name))
    expected = np.arange(24).reshape(2, 3, 4)[np.array([[0, 1], [1, 0]])]
    np.testing.assert_array_equal(np.asarray(x[places]), expected)
    np.testing.assert_array_equal(
        np.asarray(x[::-1, places, ::-2]), np.asarray(x).copy()[::-1, [[0, 1], [1, 0]], ::-2]
    )
    np.testing.assert_array_equal(
        np.asarray(x[..., places, 0, None]), np.asarray(x)[..., [[0, 1], [1, 0]], 0, None]
    )


def test_writing_backwards():
    x = np.arange(24).reshape(2, 3, 4)
    for key in (
        np.s_[::-1],
        np.s_[..., ::-2],
        np.s_[1, ::-1, 1:3],
        np.s_[::-1, ::-1, ::-1],
        np.s_[2:2:-1],
    ):
        ours, theirs = xp.asarray(x, copy=True), x.copy()
        values = np.arange(100, 100 + theirs[key].size).reshape(theirs[key].shape)
        ours[key] = xp.asarray(values)
        theirs[key] = values
        np.testing.assert_array_equal(np.asarray(ours), theirs)
        ours[key] = -1
        theirs[key] = -1
        np.testing.assert_array_equal(np.asarray(ours), theirs)


CONVERSIONS = [(bool, ALL), (int, ALL), (float, ALL), (complex, ALL), (operator.index, INTEGERS)]


@pytest.mark.parametrize(("convert", "names"), CONVERSIONS)
@few
@given(data=st.data())
def test_numbers_from_arrays(convert, names, data):
    name = data.draw(st.sampled_from(names))
    value = data.draw(arrays(name, ()))[()]
    array = xp.asarray(np.asarray(value))
    if name in DTYPES["complex"] and convert in (int, float):
        with pytest.raises(TypeError, match="complex"):
            convert(array)
    elif convert is int and not np.isfinite(value):
        with pytest.raises(OverflowError if np.isinf(value) else ValueError):
            convert(array)
    else:
        found, expected = convert(array), convert(value.item())
        assert type(found) is type(expected)
        assert found == expected or expected != expected


def test_indices_are_integers():
    for name in (*FLOATS, *DTYPES["complex"], "bool"):
        with pytest.raises(TypeError):
            operator.index(xp.ones((), dtype=getattr(xp, name)))


def test_attributes():
    x = xp.ones((2, 3, 4))
    assert (x.ndim, x.size, x.shape, x.dtype) == (3, 24, (2, 3, 4), xp.float64)
    assert isinstance(x.size, int)
    assert x.device == aten.device("cpu")
    assert x.size() == (2, 3, 4)
    assert x.size(1) == 3
    assert type(pickle.loads(pickle.dumps(x.size))) is int
    assert x.mT.shape == (2, 4, 3)
    assert x[0].T.shape == (4, 3)
    for bad in (x, x[0, 0]):
        with pytest.raises(ValueError, match="two dimensions"):
            bad.T  # noqa: B018
    with pytest.raises(ValueError, match="two dimensions"):
        x[0, 0].mT  # noqa: B018


def test_devices():
    x = xp.ones(2)
    assert x.to_device("cpu") is x or x.to_device("cpu").data_ptr() == x.data_ptr()
    assert aten.ones(2).to_device(aten.device("cpu")).device == aten.device("cpu")
    assert x.to_device("meta").device == aten.device("meta")
    for value in (x, aten.ones(2)):
        with pytest.raises(ValueError, match="stream"):
            value.to_device("cpu", stream=1)
    assert xp.zeros(2, device="meta").device == aten.device("meta")
    assert xp.astype(x, xp.float32, device="meta").device == aten.device("meta")
    assert xp.add(xp.ones(2, device="reference"), 1).device == aten.device("reference")


def test_tensors_and_arrays_together():
    tensor, array = aten.ones(2, dtype=aten.float32), xp.ones((), dtype=xp.float64)
    for result in (tensor + array, array + tensor, xp.add(tensor, array), tensor * array):
        assert type(result) is xp.Array
        assert result.dtype is xp.float64
    assert type(tensor == array) is xp.Array
    assert type(tensor + tensor) is aten.Tensor
    shared = xp.asarray(tensor)
    shared[0] = 5
    assert tensor[0] == 5


def test_arrays_go_where_tensors_go():
    x = xp.reshape(xp.arange(6.0), (2, 3))
    assert aten.nn.functional.softmax(x, 1).shape == (2, 3)
    assert aten.nn.functional.layer_norm(x, (3,)).shape == (2, 3)
    assert aten.linalg.svd(x).U.shape == (2, 2)
    assert x.sum().item() == 15
    assert x.view(3, 2).shape == (3, 2)


def test_copies():
    x = xp.reshape(xp.arange(6.0), (2, 3))[:, 1:]
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is xp.Array
        assert made.tolist() == x.tolist()
    assert copy.deepcopy(x).data_ptr() != x.data_ptr()


def test_in_place_keeps_dtype_and_shape():
    x = xp.ones(2, dtype=xp.float32)
    for other in (xp.ones(2, dtype=xp.float64), xp.ones((2, 2), dtype=xp.float32), 1j):
        with pytest.raises(TypeError, match="does not fit"):
            x += other
    view = x[1:]
    view *= 3
    assert x.tolist() == [1, 3]
    x[:] += x[::-1]
    assert x.tolist() == [4, 4]


@few
@given(data=st.data())
def test_unary_operators(data):
    name = data.draw(st.sampled_from(REAL))
    x = data.draw(arrays(name))
    for symbol in (operator.neg, operator.pos, operator.abs):
        if name in DTYPES["unsigned"] and symbol is operator.neg:
            continue
        with np.errstate(all="ignore"):
            expected = symbol(strict.asarray(x))
        compare(symbol.__name__, symbol(xp.asarray(x)), expected)


def test_others_answer_for_themselves():
    class Other:
        def __radd__(self, left):
            return "theirs"

        def __eq__(self, left):
            return "same"

    assert xp.ones(2) + Other() == "theirs"
    assert (xp.ones(2) == Other()) == "same"
    with pytest.raises(TypeError):
        xp.ones(2) - Other()
    with pytest.raises(TypeError):
        xp.ones(2) < "a"  # noqa: B015


@few
@given(data=st.data())
def test_broadcasting(data):
    given_shapes = data.draw(broadcasting(3))
    assert xp.broadcast_shapes(*given_shapes) == np.broadcast_shapes(*given_shapes)
    found = xp.broadcast_arrays(*(xp.ones(shape) for shape in given_shapes))
    assert type(found) is tuple
    assert {one.shape for one in found} == {np.broadcast_shapes(*given_shapes)}


def test_dlpack_arguments():
    x = xp.arange(4)
    assert x.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(x).tolist() == [0, 1, 2, 3]
    for keywords in (
        {},
        {"stream": None, "max_version": None, "dl_device": None, "copy": None},
        {"max_version": (0, 8)},
        {"max_version": (1, 3), "dl_device": (1, 0), "copy": False},
        {"max_version": (2, 0), "copy": True},
    ):
        capsule = x.__dlpack__(**keywords)
        assert xp.from_dlpack(Capsule(capsule)).tolist() == [0, 1, 2, 3]
    for keywords in ({"stream": 1}, {"dl_device": (2, 0)}, {"dl_device": (1, 1)}):
        with pytest.raises(BufferError):
            x.__dlpack__(**keywords)


class Capsule:
    """Hands a capsule over, whatever is asked."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **kwargs):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@few
@given(data=st.data())
def test_from_dlpack(data):
    name = data.draw(st.sampled_from(ALL))
    x = data.draw(arrays(name))
    ours = xp.asarray(x)
    for wanted in (None, False, True):
        made = xp.from_dlpack(ours, copy=wanted)
        assert type(made) is xp.Array
        assert made.dtype is ours.dtype
        np.testing.assert_array_equal(np.asarray(made), x)
        if x.size:
            assert (made.data_ptr() == ours.data_ptr()) is (wanted is not True)
    assert xp.from_dlpack(ours, device="cpu").device == aten.device("cpu")


def test_from_dlpack_refuses():
    with pytest.raises(AttributeError, match="__dlpack__"):
        xp.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="copy"):
        xp.from_dlpack(xp.ones(2), device="meta", copy=False)
    frozen = np.arange(3)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="copy"):
        xp.from_dlpack(frozen, copy=False)
    assert xp.from_dlpack(frozen).tolist() == [0, 1, 2]
