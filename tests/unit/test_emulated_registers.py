"""Kernels of convolution, attention and products that use tile registers, on any processor with
vectors of 64 bytes and bfloat16: the kernels themselves, with emulated registers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

import aten

COMPILER = shutil.which("cc")
HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src" / "aten"
KERNELS = SOURCES / "backends" / "cpu" / "kernels"
# Of C: a long, and an address.
LONG, ADDRESS = ctypes.c_int64, ctypes.c_void_p

PROGRAM = """
#include <stddef.h>
#include <immintrin.h>
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbsud
#define _tile_loadconfig emulated_loadconfig
#define _tile_release emulated_release
#include "emulated_tiles.h"
#include "_core/base/vector_widths.h"
#define ATEN_KNOWS_TILE_REGISTERS
#include "windows/convolution_registers.h"
#include "matrix/attention_registers.h"
#include "matrix/panel_levels.h"
int has_vectors(void)
{ return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw"); }
void copy_line(const aten_register_line *work) { aten_register_copy_line(work); }
void copy_run(const aten_register_run *work) { aten_register_copy_run(work); }
void pack_weights(const aten_register_weights *work) { aten_register_pack_weights(work); }
void convolve(const aten_register_block *work)
{
    aten_register_begin();
    aten_register_multiply(work);
    aten_register_end();
}
void score(const aten_register_keys *work) { aten_registers_of_attention.score(work); }
void split(float *weights, int64_t count) { aten_registers_of_attention.split(weights, count); }
void weigh(const aten_register_values *work) { aten_registers_of_attention.multiply(work); }
int weigh_scores(const aten_register_scores *work)
{ return aten_registers_of_attention.weigh(work); }
void weigh_row(float *row, int64_t count, int64_t room, float scale, float *largest, float *total)
{
    const aten_attention_mask mask = {0};
    aten_attention_rows_64.weigh(row, count, room, scale, &mask, largest, total);
}
void round_strip(const aten_panel_tile *tile, const aten_panel_rounding *rounding, int64_t rows,
                 int64_t columns)
{ aten_panel_tiles_brains_amx.rounded(tile, rounding, rows, columns, 0); }
void sum_lines(const aten_panel_lines *work) { aten_sum_panel_lines(work); }
void sum(const aten_register_lines *work) { aten_registers_of_attention.sum(work); }
"""


def structure(name: str, **fields) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


Line = structure(
    "Line", lines=ADDRESS * 32, places=LONG * 32, step=LONG, length=LONG, count=LONG, to=ADDRESS
)
Run = structure(
    "Run",
    line=ADDRESS,
    channels=LONG,
    place=LONG,
    step=LONG,
    apart=LONG,
    length=LONG,
    count=LONG,
    to=ADDRESS,
)
Weights = structure(
    "Weights",
    weights=ADDRESS,
    row=LONG,
    outputs=LONG,
    neighbours=LONG,
    first=LONG * 16,
    second=LONG * 16,
    to=ADDRESS,
)
Piece = structure("Piece", lane=LONG, count=LONG, out=LONG)
Block = structure(
    "Block",
    image=ADDRESS,
    weights=ADDRESS,
    offsets=ADDRESS,
    steps=LONG,
    downs=LONG,
    vectors=LONG,
    outputs=LONG,
    bias=ADDRESS,
    bias_step=LONG,
    out=ADDRESS,
    out_channel=LONG,
    out_position=LONG,
    last=ctypes.c_int,
    pieces=LONG * 2,
    piece=(Piece * 16) * 2,
)
Keys = structure(
    "Keys",
    queries=ADDRESS,
    queries_row=LONG,
    rows=LONG,
    steps=LONG,
    keys=ADDRESS,
    count=LONG,
    out=ADDRESS,
    out_row=LONG,
)
Values = structure(
    "Values",
    weights=ADDRESS,
    weights_row=LONG,
    rows=LONG,
    steps=LONG,
    values=ADDRESS,
    width=LONG,
    first=LONG,
    out=ADDRESS,
    out_row=LONG,
)
Scores = structure(
    "Scores",
    scores=ADDRESS,
    scores_row=LONG,
    rows=LONG,
    steps=LONG,
    keeps=ctypes.c_int,
    counts=ADDRESS,
    largest=ADDRESS,
    scale=ctypes.c_float,
    values=ADDRESS,
    width=LONG,
    totals=ADDRESS,
    out=ADDRESS,
    out_row=LONG,
)
Lines = structure(
    "Lines",
    weights=ADDRESS,
    weights_row=LONG,
    rows=LONG,
    keys=LONG,
    values=ADDRESS,
    step=LONG,
    width=LONG,
    out=ADDRESS,
    out_row=LONG,
)


PanelLines = structure(
    "PanelLines",
    rows=LONG,
    steps=LONG,
    columns=LONG,
    left=ADDRESS,
    right=ADDRESS,
    left_row=LONG,
    right_step=LONG,
    out=ADDRESS,
    out_row=LONG,
    begins=ctypes.c_int,
)


Tile = structure(
    "Tile",
    units=LONG,
    left=ADDRESS,
    right=ADDRESS,
    left_row=LONG,
    left_step=LONG,
    right_step=LONG,
    start=ADDRESS,
    base=ADDRESS,
    addend=ADDRESS,
    out=ADDRESS,
    out_row=LONG,
)
Rounding = structure(
    "Rounding",
    alpha=ctypes.c_float,
    beta=ctypes.c_float,
    addend=ADDRESS,
    out=ADDRESS,
    addend_step=LONG,
    out_step=LONG,
    turned=ctypes.c_int,
)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("the kernels are compiled by a C compiler")
    folder = tmp_path_factory.mktemp("registers")
    (folder / "kernels.c").write_text(PROGRAM)
    library = folder / "kernels.so"
    options = ["-O1", "-std=gnu11", "-Wno-unused-function", "-shared", "-fPIC"]
    paths = [f"-I{path}" for path in (KERNELS, SOURCES, HERE)]
    command = [COMPILER, *options, *paths, "-o", library, folder / "kernels.c"]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    if made.returncode and "amx" in made.stderr:
        pytest.skip("the C compiler knows no such instructions")
    assert made.returncode == 0, made.stderr
    loaded = ctypes.CDLL(str(library))
    if not loaded.has_vectors():
        pytest.skip("the processor has no vectors of bfloat16")
    return loaded


def drawn(*shape: int, seed: int = 0) -> aten.Tensor:
    generator = aten.Generator().manual_seed(seed)
    return aten.randn(*shape, generator=generator).to(aten.bfloat16)


def bits(tensor: aten.Tensor) -> aten.Tensor:
    return tensor.view(aten.int16 if tensor.element_size() == 2 else aten.int32)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("place", [-3, 0, 2])
def test_lines_of_channels(kernels, step, place):
    """Positions of some channels, with the zeros around them."""
    count, length, channels = 37, 50, 21
    image = drawn(channels, length)
    made = aten.full((count, 32), 7.0, dtype=aten.bfloat16)
    work = Line(step=step, length=length, count=count, to=made.data_ptr())
    for channel in range(channels):
        work.lines[channel] = image[channel].data_ptr()
        work.places[channel] = place
    kernels.copy_line(ctypes.byref(work))
    expected = aten.zeros(count, 32, dtype=aten.bfloat16)
    last = image.t().contiguous()
    for position in range(count):
        if 0 <= place + step * position < length:
            expected[position, :channels] = last[place + step * position]
    assert aten.equal(made, expected)
    run = Run(
        line=last.data_ptr(),
        channels=channels,
        place=place,
        step=step,
        apart=channels,
        length=length,
        count=count,
        to=made.fill_(7).data_ptr(),
    )
    kernels.copy_run(ctypes.byref(run))
    assert aten.equal(made, expected)


@pytest.mark.parametrize("taps", [1, 6])
@pytest.mark.parametrize(("outputs", "inputs"), [(16, 32), (5, 19), (16, 2)])
def test_weights_as_pairs(kernels, taps, outputs, inputs):
    weight = drawn(outputs, inputs, taps)
    for tap in range(taps):
        made = aten.full((16, 16, 2), 7.0, dtype=aten.bfloat16)
        work = Weights(
            weights=weight.data_ptr(), row=inputs * taps, outputs=outputs, to=made.data_ptr()
        )
        for pair in range(16):
            first, second = (
                channel * taps + tap if channel < inputs else -1
                for channel in (2 * pair, 2 * pair + 1)
            )
            work.first[pair], work.second[pair] = first, second
        expected = aten.zeros(32, 16, dtype=aten.bfloat16)
        expected[:inputs, :outputs] = weight[:, :, tap].t()
        expected = expected.view(16, 2, 16).transpose(1, 2)
        kernels.pack_weights(ctypes.byref(work))
        assert aten.equal(made, expected)
        if taps == 1:
            work.neighbours = inputs
            made.fill_(7)
            kernels.pack_weights(ctypes.byref(work))
            assert aten.equal(made, expected)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("downs", "vectors"), [(1, 1), (1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("biased", [False, True])
def test_blocks_of_a_convolution(kernels, last, downs, vectors, biased):
    """Positions that see others of the copy, of which some are not the result's."""
    steps, positions, outputs = 3, 16 * downs, 16 * vectors - 5
    copy = drawn(positions + 40, 32)
    weight = drawn(steps, 32, 16 * vectors, seed=1)
    packed = weight.view(steps, 16, 2, vectors, 16).permute(0, 3, 1, 4, 2).contiguous()
    offsets = aten.tensor([0, 5, 23])
    in_bytes = offsets * 64
    bias = aten.randn(outputs) if biased else None
    out = aten.full((outputs, positions), 7.0, dtype=aten.bfloat16)
    work = Block(
        image=copy.data_ptr(),
        weights=packed.data_ptr(),
        offsets=in_bytes.data_ptr(),
        steps=steps,
        downs=downs,
        vectors=vectors,
        outputs=outputs,
        bias=bias.data_ptr() if biased else None,
        bias_step=1,
        out=out.data_ptr(),
        out_channel=1 if last else positions,
        out_position=outputs if last else 1,
        last=last,
    )
    expected = aten.full((positions, outputs), 7.0, dtype=aten.float64)
    for down in range(downs):
        work.pieces[down] = 2
        for index, (lane, count) in enumerate(((0, 7), (9, 7 - down))):
            place = 16 * down + lane
            work.piece[down][index] = Piece(
                lane=lane, count=count, out=place * (outputs if last else 1)
            )
            for position in range(place, place + count):
                total = aten.zeros(outputs, dtype=aten.float64) + (bias.double() if biased else 0)
                for step in range(steps):
                    seen = copy[position + int(offsets[step])].double()
                    total += seen @ weight[step, :, :outputs].double()
                expected[position] = total
    kernels.convolve(ctypes.byref(work))
    made = out.view(positions, outputs) if last else out.t()
    # A sum of 97 terms, rounded to float32 each time, and once to bfloat16.
    error = (made.double() - expected).abs()
    assert bool((error <= 2.0**-8 * expected.abs() + 97 * 2.0**-24 * 100).all())


@pytest.mark.parametrize("rows", [1, 16, 17, 32, 40])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_scores(kernels, rows, steps):
    count, room = 50, 96
    queries, keys = drawn(64, 32 * steps), drawn(64, 32 * steps, seed=1)
    packed = keys.view(4, 16, steps, 16, 2).permute(0, 2, 3, 1, 4).contiguous()
    out = aten.zeros(64, room)
    work = Keys(
        queries=queries.data_ptr(),
        queries_row=64 * steps,
        rows=rows,
        steps=steps,
        keys=packed.data_ptr(),
        count=count,
        out=out.data_ptr(),
        out_row=room,
    )
    kernels.score(ctypes.byref(work))
    expected = queries.double() @ keys.double().t()
    magnitudes = queries.double().abs() @ keys.double().abs().t()
    error = (out[:rows, :count].double() - expected[:rows, :count]).abs()
    assert bool((error <= 32 * steps * 2.0**-24 * magnitudes[:rows, :count]).all())


def paired(values: aten.Tensor) -> aten.Tensor:
    """Values of whole steps, those of two keys beside each other."""
    keys, width = values.shape
    filled = aten.zeros(-(-keys // 32) * 32, width, dtype=aten.bfloat16)
    filled[:keys] = values
    return filled.view(-1, 2, width).transpose(1, 2).contiguous()


def weighed(kernels, weights, values, rows, by_lines):
    """Sums of values by weights, either by registers or as rows lie."""
    keys, width = values.shape
    steps = -(-keys // 32)
    split = aten.zeros(32 * -(-rows // 32), 32 * steps)
    split[: weights.shape[0], :keys] = weights
    for row in range(split.shape[0]):
        kernels.split(ctypes.c_void_p(split[row].data_ptr()), LONG(32 * steps))
    out = aten.zeros(rows, width)
    if by_lines:
        for first in range(0, rows, 4):
            work = Lines(
                weights=split[first].data_ptr(),
                weights_row=128 * steps,
                rows=min(4, rows - first),
                keys=keys,
                values=values.data_ptr(),
                step=2 * width,
                width=width,
                out=out[first].data_ptr(),
                out_row=width,
            )
            kernels.sum(ctypes.byref(work))
        return out
    pairs = paired(values)
    work = Values(
        weights=split.data_ptr(),
        weights_row=128 * steps,
        rows=rows,
        steps=steps,
        values=pairs.data_ptr(),
        width=width,
        out=out.data_ptr(),
        out_row=width,
    )
    kernels.weigh(ctypes.byref(work))
    return out


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 16, 17, 33])
@pytest.mark.parametrize("width", [16, 32, 64, 80])
@pytest.mark.parametrize("keys", [1, 31, 64, 77])
def test_weighed_values(kernels, rows, width, keys):
    generator = aten.Generator().manual_seed(rows * width + keys)
    weights = aten.rand(rows, keys, generator=generator)
    values = drawn(keys, width)
    made = weighed(kernels, weights, values, rows, by_lines=False)
    assert aten.equal(bits(made), bits(weighed(kernels, weights, values, rows, by_lines=True)))
    expected = weights.double() @ values.double()
    magnitudes = weights.double() @ values.double().abs()
    # Both parts of a weight are rounded to eight bits, and sums to float32.
    bound = (2.0**-17 + 2 * keys * 2.0**-24) * magnitudes
    assert bool(((made.double() - expected).abs() <= bound).all())


def weighed_by_scores(kernels, scores, counts, largest, scale, values):
    """Sums of values by the weights of scores, the sums of these, and whether all are numbers.

    Of more than 64 columns the others are summed by the weights that have become of scores."""
    rows, room = scores.shape
    width, steps = values.shape[1], -(-values.shape[0] // 32)
    pairs, totals, out = paired(values), aten.zeros(rows), aten.full((rows, width + 16), 7.0)
    work = Scores(
        scores=scores.data_ptr(),
        scores_row=room,
        rows=rows,
        steps=steps,
        keeps=width > 64,
        counts=counts.data_ptr(),
        largest=largest.data_ptr(),
        scale=scale,
        values=pairs.data_ptr(),
        width=width,
        totals=totals.data_ptr(),
        out=out.data_ptr(),
        out_row=width + 16,
    )
    ordered = bool(kernels.weigh_scores(ctypes.byref(work)))
    assert bool((out[:, min(width, 64) :] == 7).all())
    if width > 64:
        others = Values(
            weights=scores.data_ptr(),
            weights_row=4 * room,
            rows=rows,
            steps=steps,
            values=pairs.data_ptr(),
            width=width,
            first=64,
            out=out.data_ptr(),
            out_row=width + 16,
        )
        kernels.weigh(ctypes.byref(others))
    assert bool((out[:, width:] == 7).all())
    return out[:, :width], totals, ordered


@pytest.mark.parametrize("rows", [1, 15, 16, 37])
@pytest.mark.parametrize("width", [16, 32, 48, 64, 80, 128])
@pytest.mark.parametrize("keys", [1, 31, 64, 77, 100])
def test_values_weighed_by_scores(kernels, rows, width, keys):
    """They have the bits of weights that are kept; what a row does not see is not looked at."""
    generator = aten.Generator().manual_seed(rows * width + keys)
    room = 32 * -(-keys // 32) + 16
    # There is memory for whole registers of rows.
    scores = (5 * aten.randn(48, room, generator=generator))[:rows]
    counts = aten.randint(0, keys + 1, (rows,), generator=generator)
    counts[-1] = keys
    largest, weights, totals = aten.zeros(rows), aten.zeros(rows, keys), aten.zeros(rows)
    for row in range(rows):
        count, most, total = int(counts[row]), ctypes.c_float(), ctypes.c_float()
        scores[row, count:] = float("nan")
        largest[row] = scores[row, :count].max() if count else 0.0
        kept = scores[row].clone()
        kernels.weigh_row(
            ctypes.c_void_p(kept.data_ptr()),
            LONG(count),
            LONG(keys),
            ctypes.c_float(0.3),
            ctypes.byref(most),
            ctypes.byref(total),
        )
        weights[row], totals[row] = kept[:keys], total.value
    values = drawn(keys, width)
    made, sums, ordered = weighed_by_scores(kernels, scores, counts, largest, 0.3, values)
    assert ordered
    assert aten.equal(bits(sums), bits(totals))
    assert aten.equal(bits(made), bits(weighed(kernels, weights, values, rows, by_lines=False)))


@pytest.mark.parametrize("place", [0, 15, 16, 63])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_values_that_make_no_numbers(kernels, place, value):
    """Where they are to be found among weights that are kept, a kernel says so."""
    scores, counts = aten.zeros(20, 80), aten.full((20,), 40)
    values = drawn(40, 64)
    values[3, place] = value
    assert not weighed_by_scores(kernels, scores, counts, aten.zeros(20), 1.0, values)[2]


def test_infinite_values(kernels):
    weights = aten.tensor([[0.25, 0.5, 0.1], [1.0, 0.3, 0.7]])
    values = aten.ones(3, 16, dtype=aten.bfloat16)
    values[0, 1], values[2, 2], values[1, 3] = float("inf"), -float("inf"), float("nan")
    for by_lines in (False, True):
        made = weighed(kernels, weights, values, 2, by_lines)
        assert bool((made[:, 1] == float("inf")).all())
        assert bool((made[:, 2] == -float("inf")).all())
        assert bool(made[:, 3].isnan().all())
        assert bool(made[:, [0, *range(4, 16)]].isfinite().all())


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("steps", [1, 17, 32])
@pytest.mark.parametrize("columns", [5, 16, 40, 70])
def test_lines_of_few_rows(kernels, rows, steps, columns):
    """They are added to what is there in the order of registers: pairs first, each number apart."""
    left, right = drawn(rows, steps), drawn(steps, columns, seed=1)
    out = aten.ones(rows, columns + 3)
    work = PanelLines(
        rows=rows,
        steps=steps,
        columns=columns,
        left=left.data_ptr(),
        right=right.data_ptr(),
        left_row=2 * steps,
        right_step=2 * columns,
        out=out.data_ptr(),
        out_row=columns + 3,
    )
    kernels.sum_lines(ctypes.byref(work))
    apart = [aten.zeros(rows, columns), aten.zeros(rows, columns)]
    for step in range(steps):
        # Products of two numbers of bfloat16 are exact in float32, so nothing is rounded twice.
        apart[step % 2] += left[:, step : step + 1].float() * right[step].float()
    expected = 1 + (apart[0] + apart[1])
    assert aten.equal(bits(out[:, :columns]), bits(expected))
    assert bool((out[:, columns:] == 1).all())
    work.begins = 1
    kernels.sum_lines(ctypes.byref(work))
    assert aten.equal(bits(out[:, :columns]), bits(apart[0] + apart[1]))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 2.0**-126])
@pytest.mark.parametrize("beta", [None, 1.0, 0.5])
@pytest.mark.parametrize("shape", [(1, 1), (16, 48), (37, 33), (20, 16)], ids=str)
@pytest.mark.parametrize("goes_on", [False, True])
def test_strips_that_are_rounded(kernels, turned, alpha, beta, shape, goes_on):
    """Rows or columns of results beside each other, which start at sums that are there; numbers of
    a few bits, whose sums are exact, and the smallest ones there are."""
    rows, columns = shape
    units, lanes = 19, (columns + 15) // 16 * 16
    left = drawn(rows, 2 * units).mul(4).round()
    right = drawn(2 * units, columns, seed=1).mul(4).round()
    pairs = aten.zeros(units, lanes, 2, dtype=aten.bfloat16)
    pairs[:, :columns] = right.view(units, 2, columns).transpose(1, 2)
    start = drawn(rows, lanes, seed=2).float().mul(4).round()
    addend = drawn(rows, columns, seed=3) * alpha
    out = aten.full((rows, columns), 7.0, dtype=aten.bfloat16)
    if turned:
        addend, out = (one.t().contiguous().t() for one in (addend, out))
    tile = Tile(
        units=units,
        left=left.data_ptr(),
        right=pairs.data_ptr(),
        left_row=4 * units,
        left_step=4,
        right_step=4 * lanes,
        start=start.data_ptr() if goes_on else None,
        out_row=lanes,
    )
    rounding = Rounding(
        alpha=alpha,
        beta=beta or 0.0,
        addend=None if beta is None else addend.data_ptr(),
        out=out.data_ptr(),
        addend_step=2 * addend.stride(turned),
        out_step=2 * out.stride(turned),
        turned=turned,
    )
    kernels.round_strip(
        ctypes.byref(tile), ctypes.byref(rounding), ctypes.c_int64(rows), ctypes.c_int64(columns)
    )
    sums = left.float() @ right.float()
    if goes_on:
        sums = sums + start[:, :columns]
    expected = alpha * sums
    if beta is not None:
        expected = expected + beta * addend.float()
    assert aten.equal(out, expected.bfloat16())
