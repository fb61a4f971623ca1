"""What fills up vectors of operands: zeros, and not what memory held before.

A processor takes a hundred times as long for numbers too small to be normal. It also notes that it
met one, which is what these tests look at.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import platform

import pytest

import aten
from aten.nn import functional

# Where the C library's `fenv_t` has the state of vector instructions, and a flag there.
STATE = slice(28, 32)
DENORMAL_OPERAND = 0x02
# An upper half of many addresses, and as a float 3e-41.
WORD = 0x00005555
SIZES = [1 << power for power in range(6, 22)]

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="asks glibc for the flags of an x86-64 processor",
)


@pytest.fixture(scope="module")
def library():
    found = ctypes.CDLL(None)
    mathematics = ctypes.CDLL(ctypes.util.find_library("m"))
    found.malloc.restype = ctypes.c_void_p
    found.malloc.argtypes = [ctypes.c_size_t]
    found.free.argtypes = [ctypes.c_void_p]
    return found, mathematics


@pytest.fixture
def meets_denormals(library, one_thread):
    """Whether a function's processor meets numbers that its operands do not have."""
    memory, mathematics = library

    def meets(function):
        function()
        spoil(memory)
        environment = bytearray(64)
        place = (ctypes.c_char * len(environment)).from_buffer(environment)
        mathematics.fegetenv(place)
        state = int.from_bytes(environment[STATE], "little") & ~DENORMAL_OPERAND
        environment[STATE] = state.to_bytes(4, "little")
        mathematics.fesetenv(place)
        function()
        mathematics.fegetenv(place)
        return bool(int.from_bytes(environment[STATE], "little") & DENORMAL_OPERAND)

    return meets


@pytest.fixture
def one_thread():
    before = aten.get_num_threads()
    aten.set_num_threads(1)
    yield
    aten.set_num_threads(before)


def spoil(memory):
    """Fill memory that is free with small numbers: the allocator's and the C library's."""
    word = WORD.to_bytes(4, "little")
    places = []
    for size in SIZES * 2:
        place = memory.malloc(size)
        ctypes.memmove(place, word * (size // 4), size)
        places.append(place)
    for place in places:
        memory.free(place)
    kept = [aten.full((size,), WORD, dtype=aten.int32) for size in SIZES * 2]
    del kept


def numbers(*shape, dtype="float32"):
    made = aten.linspace(1, 2, max(1, aten.Size(shape).numel()), dtype=aten.float64).reshape(shape)
    return made.to(getattr(aten, dtype))


def test_the_flag_is_seen(meets_denormals):
    small = aten.full((64,), WORD, dtype=aten.int32).view(aten.float32)
    other = numbers(64)
    assert meets_denormals(lambda: small * other)
    assert not meets_denormals(lambda: other * other)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "complex64"])
@pytest.mark.parametrize("sizes", [(64, 64, 10), (33, 70, 101), (7, 30, 37), (128, 128, 20)])
def test_products(meets_denormals, dtype, sizes):
    rows, depth, columns = sizes
    left, right = numbers(rows, depth, dtype=dtype), numbers(depth, columns, dtype=dtype)
    turned = numbers(columns, depth, dtype=dtype)
    lying = numbers(depth, rows, dtype=dtype).T
    assert not meets_denormals(lambda: left @ right)
    assert not meets_denormals(lambda: functional.linear(left, turned))
    assert not meets_denormals(lambda: lying @ right)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("sizes", [(8, 12, 12), (2, 197, 64), (4, 100, 50)])
def test_attention(meets_denormals, dtype, sizes):
    given = numbers(1, *sizes, dtype=dtype)
    assert not meets_denormals(lambda: functional.scaled_dot_product_attention(given, given, given))


LAYERS = pytest.mark.parametrize(
    ("channels", "outputs", "window", "groups"),
    [
        (3, 10, 3, 1),
        (10, 21, 3, 1),
        (20, 37, 1, 1),
        (30, 30, 3, 30),
        (17, 19, 5, 1),
        (6, 9, 3, 3),
        (1, 1, 3, 1),
    ],
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("memory_format", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("side", [7, 19])
@LAYERS
def test_convolutions(
    meets_denormals, dtype, memory_format, side, channels, outputs, window, groups
):
    order = getattr(aten, memory_format)
    image = numbers(2, channels, side, side, dtype=dtype).contiguous(memory_format=order)
    weight = numbers(outputs, channels // groups, window, window, dtype=dtype)
    assert not meets_denormals(lambda: functional.conv2d(image, weight, groups=groups))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("stride", [1, 2])
@LAYERS
def test_gradients_of_convolutions(
    meets_denormals, dtype, stride, channels, outputs, window, groups
):
    image = numbers(2, channels, 9, 9, dtype=dtype)
    weight = numbers(outputs, channels // groups, window, window, dtype=dtype)
    given = numbers(
        *functional.conv2d(image, weight, None, stride, 0, 1, groups).shape, dtype=dtype
    )
    geometry = ([stride] * 2, [0, 0], [1, 1], False, [0, 0], groups, [True, True, True])
    assert not meets_denormals(
        lambda: aten.ops.aten.convolution_backward(given, image, weight, [outputs], *geometry)
    )


def test_batches_and_factors(meets_denormals):
    left, right = numbers(16, 20, 30), numbers(16, 30, 21)
    assert not meets_denormals(lambda: left @ right)
    square = aten.eye(19) * 3 + 0.1
    assert not meets_denormals(lambda: aten.linalg.solve(square, square))
    lines = numbers(37, 19)
    assert not meets_denormals(lambda: aten.fft.fft(lines, dim=0))
