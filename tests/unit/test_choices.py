"""Which of two ways a stretch of a compiled program takes: by rules, and by measuring."""

import pytest

import aten
from aten.compiler import functions, tuning
from aten.compiler.rewrites.choosing import Choices
from aten.nn import BatchNorm2d, Conv2d, Linear, ReLU6, Sequential

EXPANDED = {"fused.expanded_convolution.default", "fused.inverted_residual.default"}
STRIPS = "fused.strips_convolution.default"


def block(inputs, inner, outputs):
    """An expansion, what sees its channels one by one, and a projection."""
    return Sequential(
        Conv2d(inputs, inner, 1, bias=False),
        BatchNorm2d(inner),
        ReLU6(),
        Conv2d(inner, inner, 3, padding=1, groups=inner),
        ReLU6(),
        Conv2d(inner, outputs, 1),
    ).eval()


def targets(compiled):
    return {node.target for node in compiled._compiled.programs()[-1].graph.nodes}


@pytest.fixture
def forced(monkeypatch):
    """Programs whose choices are all the same."""

    def compiled(module, wanted):
        class Forced(Choices):
            def fuses(self, kind, nodes, steady, rule):
                self.notes.append(f"{kind}: {len(nodes)} nodes, {rule}")
                return wanted

        monkeypatch.setattr(functions, "chooser", lambda mode: Forced)
        return aten.compile(module, mode="default")

    return compiled


@pytest.mark.parametrize("size", [8, 40])
def test_both_ways_give_the_same(forced, size):
    module, image = block(6, 36, 9), aten.randn(2, 6, size, size)
    with aten.no_grad():
        expected = module(image)
        for wanted in (True, False):
            compiled = forced(module, wanted)
            aten.testing.assert_close(compiled(image), expected, rtol=1e-4, atol=1e-4)
            assert bool(EXPANDED & targets(compiled)) == wanted
            assert "expansion: 3 nodes" in aten.compiler.explain(compiled)


def test_weights_in_strips_are_a_choice(forced):
    module, image = Sequential(Conv2d(64, 80, 1)), aten.randn(1, 64, 7, 7)
    with aten.no_grad():
        for wanted in (True, False):
            compiled = forced(module, wanted)
            aten.testing.assert_close(compiled(image), module(image), rtol=1e-4, atol=1e-4)
            assert (STRIPS in targets(compiled)) == wanted


def test_measured_once(monkeypatch):
    """Equal stretches of one program and of others are measured once, each way."""
    measured = []
    original = tuning._compared

    def counted(fused, apart, before_each):
        measured.append((fused(), apart()))
        return original(fused, apart, before_each)

    monkeypatch.setattr(tuning, "_compared", counted)
    monkeypatch.setattr(tuning, "_known", {})
    module = Sequential(block(6, 36, 6), block(6, 36, 6))
    image = aten.randn(1, 6, 40, 40)
    state = aten.get_rng_state()
    with aten.no_grad():
        expected = module(image)
        for _ in range(2):
            compiled = aten.compile(module, mode="max-autotune")
            aten.testing.assert_close(compiled(image), expected, rtol=1e-4, atol=1e-4)
    assert aten.equal(aten.get_rng_state(), state)
    # The images of both blocks have the same strides.
    assert len(measured) == 1
    for (fused,), (apart,) in measured:
        aten.testing.assert_close(fused, apart, rtol=1e-4, atol=1e-4)
    notes = [one for one in aten.compiler.explain(compiled).splitlines() if "measured" in one]
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("fused", "apart", "rule", "wanted"),
    [
        (1.0, 2.0, False, True),
        (2.0, 1.0, True, False),
        (1.0, 1.01, False, False),
        (1.01, 1.0, True, True),
    ],
)
def test_rules_are_left_for_what_is_clearly_faster(monkeypatch, fused, apart, rule, wanted):
    monkeypatch.setattr(tuning, "_known", {})
    seconds = tuning._Seconds(fused, apart)
    monkeypatch.setattr(tuning, "_compared", lambda *_: seconds)
    monkeypatch.setattr("aten.compiler.rewrites.expansions._is_large", lambda _: rule)
    compiled = aten.compile(block(6, 36, 6), mode="max-autotune")
    with aten.no_grad():
        compiled(aten.randn(1, 6, 40, 40))
    assert bool(EXPANDED & targets(compiled)) == wanted


def test_sizes_that_are_not_known_follow_the_rule(monkeypatch):
    def never(*_):
        raise AssertionError("measured")

    monkeypatch.setattr(tuning, "_measured", never)
    module = block(6, 36, 6)
    compiled = aten.compile(module, mode="max-autotune", dynamic=True)
    with aten.no_grad():
        for batch in (2, 5):
            image = aten.randn(batch, 6, 40, 40)
            aten.testing.assert_close(compiled(image), module(image), rtol=1e-4, atol=1e-4)


def test_programs_without_a_choice_and_in_inference_mode():
    module = Linear(5, 3)
    compiled = aten.compile(module, mode="max-autotune")
    with aten.inference_mode():
        x = aten.randn(2, 5)
        aten.testing.assert_close(compiled(x), module(x))
        image, convolution = aten.randn(1, 8, 5, 5), Conv2d(8, 8, 1)
        tuned = aten.compile(convolution, mode="max-autotune")
        aten.testing.assert_close(tuned(image), convolution(image))


def test_modes():
    for mode in (None, "default", "reduce-overhead", "max-autotune-no-cudagraphs"):
        assert aten.compile(lambda x: x + 1, mode=mode)(aten.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"expected a mode of .*'max-autotune'.*got 'fastest'"):
        aten.compile(lambda x: x, mode="fastest")
