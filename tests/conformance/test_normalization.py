"""Group, instance, layer, RMS and weight norm, and what `nn.functional` has of them."""

from __future__ import annotations

import itertools

import pytest
from comparison import assert_same, compare, torch, translated

import aten

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-11}
CHANNELS = 6


def numbers(*shape: int, element: str = "float32"):
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randn(shape, generator=generator) + 0.5).to(getattr(torch, element))


def same(expression, *operands, element: str = "float32", **options):
    limit = TOLERANCE[element]
    compare(expression, *operands, tolerance=limit, absolute=limit, **options)


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("shape", [(4, CHANNELS), (2, CHANNELS, 5), (2, CHANNELS, 3, 4)], ids=str)
def test_group_norm(shape, element):
    input, vector = numbers(*shape, element=element), numbers(CHANNELS, element=element)
    layouts = [input, input.transpose(0, -1).contiguous().transpose(0, -1)]
    if input.dim() == 4:
        layouts.append(input.contiguous(memory_format=torch.channels_last))
    parameters = [(None, None), (vector, vector), (vector, None), (vector.float(), vector.float())]
    for one, groups, (weight, bias) in itertools.product(layouts, (1, 3), parameters):

        def grouped(library, input, weight, bias, groups=groups):
            count = input.numel() // (input.shape[0] * CHANNELS)
            sizes = (input.shape[0], CHANNELS, count, groups)
            return library.native_group_norm(input, weight, bias, *sizes, 1e-5)

        def through_nn(library, input, weight, bias, groups=groups):
            return library.nn.functional.group_norm(input, groups, weight, bias)

        if one is not layouts[1]:  # torch wants it contiguous here
            same(grouped, one, weight, bias, element=element)
        same(through_nn, one, weight, bias, element=element)


def test_sizes_that_do_not_go_together():
    input, vector = numbers(2, CHANNELS, 3), numbers(CHANNELS + 1)
    for groups, weight in [(4, None), (0, None), (2, vector)]:
        compare(
            lambda library, *given: library.group_norm(given[0], groups, given[1]), input, weight
        )
    for shape in [(3, CHANNELS), (), (CHANNELS + 1,)]:
        for name in ("layer_norm", "rms_norm"):
            compare(lambda library, x: getattr(library, name)(x, shape), input)
            compare(lambda library, x, w: getattr(library, name)(x, (3,), w), input, vector)
    for name in ("batch_norm", "instance_norm"):
        one = numbers(1, CHANNELS, 1)

        def normalized(library, input, name=name):
            return getattr(library.nn.functional, name)(input, None, None, **FORCED[name])

        compare(normalized, one)


FORCED = {"batch_norm": {"training": True}, "instance_norm": {}}


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_rows(element):
    layouts = [numbers(3, 4, 5), numbers(5, 4, 3).transpose(0, 2), numbers(0, 5), numbers(2, 0)]
    for input in (one.to(getattr(torch, element)) for one in layouts):
        last = input.shape[-1:]
        for weight in (None, numbers(*last, element=element), numbers(*last)):

            def layered(library, input, weight):
                return library.native_layer_norm(input, input.shape[-1:], weight, weight, 1e-5)

            def by_root(library, input, weight):
                return library._fused_rms_norm(input, list(input.shape[-1:]), weight, None)

            same(layered, input, weight, element=element)
            same(by_root, input, weight, element=element)


@pytest.mark.parametrize("use_input_stats", [True, False])
def test_instance_norm(use_input_stats):
    input, vector = numbers(3, CHANNELS, 4), numbers(CHANNELS).abs()
    for mean, var, weight in itertools.product((vector, None), (vector, None), (vector, None)):

        def run(library, input, mean, var, weight):
            stored = [None if one is None else one.clone() for one in (mean, var)]
            out = library.nn.functional.instance_norm(
                input, *stored, weight, weight, use_input_stats=use_input_stats
            )
            return out, *(one for one in stored if one is not None)

        same(run, input, mean, var, weight)


def test_batch_norm_entries():
    input, vector = numbers(3, CHANNELS, 4), numbers(CHANNELS).abs()

    def functional(library, input, vector, training):
        name = library.ops.aten._native_batch_norm_legit_functional
        return name(input, vector, vector, vector, vector, training, 0.1, 1e-5)

    def updating(library, input, vector):
        stored = vector.clone(), vector.clone()
        name = library.ops.aten._batch_norm_with_update
        return *name(input, vector, vector, *stored, 0.1, 1e-5), *stored

    def updating_functional(library, input, vector):
        name = library.ops.aten._batch_norm_with_update_functional
        return name(input, vector, vector, vector, vector, 0.1, 1e-5)

    def by_stored(library, input, vector):
        name = library.ops.aten._batch_norm_no_update
        return name(input, vector, vector, vector, vector, 0.1, 1e-5)

    for training in (True, False):
        same(lambda library, *given: functional(library, *given, training), input, vector)
    for expression in (updating, updating_functional, by_stored):
        same(expression, input, vector)


def test_out_is_a_tuple_though_an_argument_has_its_name():
    input, vector = numbers(3, CHANNELS, 4), numbers(CHANNELS).abs()
    ours = [translated(one) for one in (input, vector)]
    expected = torch.native_batch_norm(input, vector, vector, None, None, True, 0.1, 1e-5)
    outs = tuple(aten.empty(0) for _ in range(3))
    given = ours[0], ours[1], ours[1], None, None, True, 0.1, 1e-5
    result = aten.native_batch_norm(*given, out=outs)
    for one, out, other in zip(result, outs, expected, strict=True):
        assert one is out
        assert_same(out, other, tolerance=1e-5, absolute=1e-5)
    with pytest.raises(TypeError):
        aten.native_batch_norm(*given, out=outs[:2])


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_weight_norm(dim):
    v = numbers(3, 4, 5)
    sizes = [size if axis == dim else 1 for axis, size in enumerate(v.shape)]
    g = numbers(*sizes)
    same(lambda library, v, g: library._weight_norm(v, g, dim), v, g)
    if dim in (0, 2):
        same(lambda library, v, g: library._weight_norm_interface(v, g, dim), v, g)
        norms = torch._weight_norm_interface(v, g, dim)[1]

        def backward(library, v, g, norms):
            return library.ops.aten._weight_norm_interface_backward(v + 1, v, g, norms, dim)

        same(backward, v, g, norms.contiguous())


def test_neighbours_and_lengths():
    for shape, size in itertools.product([(2, 5, 3), (2, 5, 3, 2), (0, 5, 3)], (1, 2, 3, 4)):
        same(
            lambda library, x, size=size: library.nn.functional.local_response_norm(x, size, 0.5),
            numbers(*shape),
        )
    for p, dim in itertools.product((1.0, 2.0, 0.5, float("inf")), (0, 1, (0, 1))):

        def normalized(library, x, p=p, dim=dim):
            return library.nn.functional.normalize(x, p=p, dim=dim)

        for input in (numbers(3, 4), numbers(3, 4) * 0, numbers(3, 4).to(torch.complex64)):
            same(normalized, input)


def test_softmax_of_rows_that_are_hidden():
    rows = numbers(3, 4)
    rows[1] = -float("inf")
    rows[2, 1:] = -float("inf")
    for dim, element in itertools.product((0, 1, -1), (None, torch.float64)):
        same(lambda library, x, e: library.ops.aten._safe_softmax(x, dim, dtype=e), rows, element)


def test_bilinear():
    first, second, weight = numbers(4, 2, 3), numbers(4, 2, 5), numbers(7, 3, 5)
    for bias in (None, numbers(7)):
        same(
            lambda library, *given: library.nn.functional.bilinear(*given),
            first,
            second,
            weight,
            bias,
        )
    for operands in [
        (first[0, 0], second[0, 0], weight),
        (first[:0], second[:0], weight),
        (first, first, weight),
        (first, second[:1], weight),
        (first, second, weight, numbers(3)),
        (first, second, weight[0]),
    ]:
        same(lambda library, *given: library.nn.functional.bilinear(*given), *operands)


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
@pytest.mark.parametrize("count", [1, 17, 4095, 4096, 4097, 9000])
def test_softmax_of_rows_that_fit_a_buffer_or_not(count, element):
    rows = numbers(3, count, element=element)
    rows[1, count // 2] = float("inf")
    for dim in (0, 1):
        same(lambda library, x, dim=dim: library.softmax(x, dim), rows, element=element)
        same(lambda library, x, dim=dim: library.softmax(x.t(), dim), rows, element=element)
