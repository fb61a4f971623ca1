"""Products by tile registers, on any processor: the kernels themselves, with emulated registers."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import aten

COMPILER = shutil.which("cc")
HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "src" / "aten"
SOURCES = PACKAGE / "backends" / "cpu" / "kernels" / "matrix"
BRAINS, QUADS = "brains", "quads"

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the kernels are compiled by a C compiler")


class Tile(ctypes.Structure):
    """`aten_panel_tile`."""

    _fields_ = (
        ("units", ctypes.c_int64),
        ("left", ctypes.c_void_p),
        ("right", ctypes.c_void_p),
        ("left_row", ctypes.c_int64),
        ("left_step", ctypes.c_int64),
        ("right_step", ctypes.c_int64),
        ("start", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("addend", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("out_row", ctypes.c_int64),
    )


class Rounding(ctypes.Structure):
    """`aten_panel_rounding`."""

    _fields_ = (
        ("alpha", ctypes.c_float),
        ("beta", ctypes.c_float),
        ("addend", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("addend_step", ctypes.c_int64),
        ("out_step", ctypes.c_int64),
        ("turned", ctypes.c_int),
    )


class Columns(ctypes.Structure):
    """`aten_panel_columns`."""

    _fields_ = (
        ("units", ctypes.c_int64),
        ("columns", ctypes.c_int64),
        ("left", ctypes.c_void_p),
        ("right", ctypes.c_void_p),
        ("left_row", ctypes.c_int64),
        ("right_column", ctypes.c_int64),
        ("ahead", ctypes.c_int64),
        ("out", ctypes.c_void_p),
        ("out_row", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        ("adds", ctypes.c_int),
    )


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The kernels, compiled for any processor."""
    folder = tmp_path_factory.mktemp("tiles")
    shapes = PACKAGE / "_core" / "base" / "tile_registers.h"
    for path in (shapes, SOURCES / "panel_amx.h", SOURCES / "panel_amx_strips.h"):
        text = re.sub(r"__attribute__\(\(target\([^)]*\)\)\)", "", path.read_text())
        text = re.sub(r"#include (<immintrin|\"_core).*", "", text)
        (folder / path.name).write_text(text)
    (folder / "kernels.c").write_text(
        """
        #include <stddef.h>
        #include "emulated_tiles.h"
        #include "panel_structures.h"
        int has_tiles, refuses;
        long asked[3];
        #define ATEN_MAY_USE(bytes, name) has_tiles
        enum { SYS_arch_prctl = 7 };
        static long syscall(long number, long request, long component)
        {
            asked[0] = number, asked[1] = request, asked[2] = component;
            return -refuses;
        }
        #define ATEN_KNOWS_TILE_REGISTERS
        #include "tile_registers.h"
        /* Of numbers of a few bits, which bfloat16 has as they are. */
        static void aten_round_brain_rows(const aten_panel_rounding *rounding, const float *sums,
                                          int64_t step, int64_t rows, int64_t columns)
        {
            const int64_t across = rounding->turned ? rounding->out_step : 2;
            const int64_t down = rounding->turned ? 2 : rounding->out_step;
            int64_t row, column;
            for (row = 0; row < rows; row++)
                for (column = 0; column < columns; column++)
                    memcpy(rounding->out + row * down + column * across,
                           (const char *)(sums + row * step + column) + 2, 2);
        }
        #include "panel_amx.h"
        void rounded(const aten_panel_tile *tile, const aten_panel_rounding *rounding, int64_t rows,
                     int64_t columns, int64_t group)
        { aten_amx_brains_rounded(tile, rounding, rows, columns, group); }
        void brains(const aten_panel_tile *tile, int64_t rows, int64_t columns, int64_t group)
        { aten_amx_brains_strip(tile, rows, columns, group); }
        void quads(const aten_panel_tile *tile, int64_t rows, int64_t columns, int64_t group)
        { aten_amx_quads_strip(tile, rows, columns, group); }
        void columns(const aten_panel_columns *work) { aten_amx_columns(work); }
        int may_use(void) { return aten_may_use_amx(); }
        """
    )
    library = folder / "kernels.so"
    options = ["-O1", "-std=gnu11", "-Wall", "-Werror", "-Wno-unused-function", "-shared", "-fPIC"]
    paths = [f"-I{folder}", f"-I{SOURCES}", f"-I{HERE}"]
    command = [COMPILER, *options, *paths, "-o", library, folder / "kernels.c"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def operands(kind: str, rows: int, units: int, columns: int) -> tuple[aten.Tensor, aten.Tensor]:
    """(rows, depth) and (depth, columns), as the kernels' elements."""
    generator = aten.Generator().manual_seed(rows * 1000 + units * 50 + columns)
    if kind == QUADS:
        left = aten.randint(-128, 128, (rows, 4 * units), dtype=aten.int8, generator=generator)
        right = aten.randint(0, 256, (4 * units, columns), dtype=aten.uint8, generator=generator)
        return left, right
    left = aten.randn(rows, 2 * units, generator=generator).to(aten.bfloat16)
    return left, aten.randn(2 * units, columns, generator=generator).to(aten.bfloat16)


def strip_of(right: aten.Tensor, group: int) -> aten.Tensor:
    """Units of each step side by side, filled up to whole vectors of columns."""
    depth, columns = right.shape
    width = -(-columns // 16) * 16
    filled = aten.zeros(depth, width, dtype=right.dtype)
    filled[:, :columns] = right
    return filled.view(depth // group, group, width).transpose(1, 2).contiguous()


def laid_out(kind, left, right, *, grouped):
    """A tile, the bytes of a group of rows, and the tensors that hold the operands."""
    rows, depth = left.shape
    group = 4 if kind == QUADS else 2
    units = depth // group
    width = -(-right.shape[1] // 16) * 16
    strip = strip_of(right, group)
    tile = Tile(units=units, right=strip.data_ptr(), right_step=width * 4)
    if grouped:
        filled = aten.zeros(-(-rows // 16) * 16, depth, dtype=left.dtype)
        filled[:rows] = left
        held = filled.view(-1, 16, units, group).transpose(1, 2).contiguous()
        tile.left_row, tile.left_step = 4, 64
    else:
        held = left.contiguous()
        tile.left_row, tile.left_step = units * 4, 4
    tile.left = held.data_ptr()
    return tile, 64 * units if grouped else 0, (strip, held)


def run(kernels, kind, left, right, *, grouped=False, start=None, base=None, row_gap=0):
    """The product as a strip kernel makes it, of rows that may lie in groups of sixteen."""
    rows, columns = left.shape[0], right.shape[1]
    width = -(-columns // 16) * 16
    tile, group, held = laid_out(kind, left, right, grouped=grouped)
    tile.out_row = width + row_gap
    made = aten.full(
        (rows, width + row_gap), 77, dtype=aten.int32 if kind == QUADS else aten.float32
    )
    if start is not None:
        begun = aten.zeros_like(made)
        begun[:, :columns] = start
        tile.start = begun.data_ptr()
    if base is not None:
        tile.base = base.data_ptr()
    tile.out = made.data_ptr()
    getattr(kernels, kind)(
        ctypes.byref(tile),
        *(ctypes.c_int64(one) for one in (rows, columns, group)),
    )
    del held
    assert bool((made[:, width:] == 77).all())
    return made[:, :columns]


SIZES = [
    (1, 1, 1),
    (3, 16, 16),
    (16, 16, 48),
    (17, 15, 33),
    (20, 33, 40),
    (37, 128, 48),
    (5, 31, 7),
]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("sizes", [*SIZES, (33, 256, 48), (16, 255, 20)])
def test_bytes_are_exact(kernels, sizes, grouped):
    left, right = operands(QUADS, *sizes)
    expected = left.to(aten.int64) @ right.to(aten.int64)
    assert aten.equal(run(kernels, QUADS, left, right, grouped=grouped), expected.to(aten.int32))
    base = aten.randint(-(2**20), 2**20, (sizes[0],), dtype=aten.int32)
    start = aten.randint(-(2**31), 2**31, expected.shape, dtype=aten.int64)
    for given, total in (
        ({"base": base}, expected + base[:, None]),
        ({"start": start.to(aten.int32)}, expected + start),
        ({"start": start.to(aten.int32), "base": base}, expected + start),
    ):
        made = run(kernels, QUADS, left, right, grouped=grouped, row_gap=16, **given)
        # What 32 bits hold of the sum.
        assert aten.equal(made, (total & 0xFFFFFFFF).to(aten.int32))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_rows_of_pairs_have_their_own_bits(kernels, sizes, grouped):
    left, right = operands(BRAINS, *sizes)
    made = run(kernels, BRAINS, left, right, grouped=grouped)
    exact = left.double() @ right.double()
    # Of sums in float32, each of at most 2 * units products.
    bound = 2 * sizes[1] * 2.0**-23 * (left.double().abs() @ right.double().abs())
    assert bool(((made.double() - exact).abs() <= bound).all())
    for row in range(0, sizes[0], 5):
        assert aten.equal(run(kernels, BRAINS, left[row : row + 1], right)[0], made[row])
    # A depth in two parts of sixteens, the second of which begins with the sums of the first.
    cut = sizes[1] // 32 * 32
    if cut and cut < 2 * sizes[1]:
        begun = run(kernels, BRAINS, left[:, :cut], right[:cut])
        assert aten.equal(run(kernels, BRAINS, left[:, cut:], right[cut:], start=begun), made)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_strips_are_rounded_where_they_lie(kernels, sizes, grouped, turned):
    """Rows of a strip, in memory one after the other or, turned, beside each other."""
    left, right = (one.sign() for one in operands(BRAINS, *sizes))
    tile, group, held = laid_out(BRAINS, left, right, grouped=grouped)
    made = aten.full((sizes[0], sizes[2] + 3), 77, dtype=aten.bfloat16)
    if turned:
        made = made.t().contiguous().t()
    rounding = Rounding(
        alpha=1, out=made.data_ptr(), out_step=2 * made.stride(int(turned)), turned=turned
    )
    numbers = (ctypes.c_int64(one) for one in (sizes[0], sizes[2], group))
    kernels.rounded(ctypes.byref(tile), ctypes.byref(rounding), *numbers)
    del held
    assert aten.equal(made[:, : sizes[2]].float(), left.float() @ right.float())
    assert bool((made[:, sizes[2] :] == 77).all())


@pytest.mark.parametrize("rows", [1, 2, 7, 16])
@pytest.mark.parametrize("units", [1, 16, 40])
def test_columns_have_the_bits_of_strips(kernels, rows, units):
    left, right = operands(BRAINS, rows, units, 39)
    runs = right.T.contiguous()
    made = aten.empty(rows, 48)
    work = Columns(
        units=units,
        columns=39,
        left=left.data_ptr(),
        right=runs.data_ptr(),
        left_row=units * 4,
        right_column=units * 4,
        out=made.data_ptr(),
        out_row=48,
        rows=rows,
    )
    kernels.columns(ctypes.byref(work))
    expected = run(kernels, BRAINS, left, right)
    assert aten.equal(made[:, :39], expected)
    work.adds = 1
    kernels.columns(ctypes.byref(work))
    assert aten.equal(made[:, :39], run(kernels, BRAINS, left, right, start=expected))


@pytest.mark.parametrize("refuses", [0, 1])
@pytest.mark.parametrize("has_tiles", [0, 1])
def test_the_kernel_is_asked_for_registers(kernels, has_tiles, refuses):
    """ARCH_REQ_XCOMP_PERM for XTILEDATA, of a processor that has them."""
    ctypes.c_int.in_dll(kernels, "has_tiles").value = has_tiles
    ctypes.c_int.in_dll(kernels, "refuses").value = refuses
    asked = (ctypes.c_long * 3).in_dll(kernels, "asked")
    asked[:] = [0, 0, 0]
    assert kernels.may_use() == (has_tiles and not refuses)
    assert asked[:] == ([7, 0x1023, 18] if has_tiles else [0, 0, 0])
