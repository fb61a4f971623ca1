"""Weights of products in compiled functions."""

import pytest

import aten
from aten.nn import Linear


def right_operands(compiled):
    """What the products of its first program read on the right, as they run."""
    program = compiled.programs()[0]
    prepared = dict(
        zip(
            [node for node in program.graph.placeholders if node.name.startswith("prepared_")],
            program.preparation._values,
            strict=True,
        )
    )
    found = [node.args[-1] for node in program.graph.nodes if "mm" in node.target]
    return [prepared.get(node) for node in found]


@pytest.mark.parametrize("element", [aten.float32, aten.float64])
@pytest.mark.parametrize("columns", [48, 50])
def test_steady_weights_are_laid_out_by_rows(element, columns):
    layer = Linear(70, columns, dtype=element)
    compiled = aten.compile(lambda x: layer(x))
    image = aten.randn(33, 70, dtype=element)
    with aten.no_grad():
        aten.testing.assert_close(compiled(image), layer(image))
        (weight,) = right_operands(compiled)
        assert aten.equal(weight, layer.weight.t())
        row, column = weight.stride()
        assert column == 1
        assert row * weight.element_size() % 64 == 0


def test_weights_are_laid_out_again_when_they_were_written_to():
    layer = Linear(24, 16)
    compiled = aten.compile(lambda x: layer(x))
    image = aten.randn(5, 24)
    with aten.no_grad():
        compiled(image)
        layer.weight.mul_(2)
        aten.testing.assert_close(compiled(image), layer(image))
        (weight,) = right_operands(compiled)
        assert aten.equal(weight, layer.weight.t())


def test_a_weight_of_several_products_is_laid_out_once():
    layer = Linear(16, 16, bias=False)
    compiled = aten.compile(lambda x: layer(layer(x)))
    with aten.no_grad():
        compiled(aten.randn(4, 16))
    first, second = right_operands(compiled)
    assert first is second


def test_arguments_and_weights_of_inference_mode_stay_as_they_lie():
    with aten.inference_mode():
        weight = aten.randn(16, 24)
    compiled = aten.compile(lambda x: x @ weight.t())
    given = aten.compile(lambda x, y: x @ y.t())
    image = aten.randn(5, 24)
    with aten.no_grad():
        aten.testing.assert_close(compiled(image), image @ weight.t())
        given(image, aten.randn(16, 24))
    assert right_operands(compiled) == [None]
    assert right_operands(given) == [None]
