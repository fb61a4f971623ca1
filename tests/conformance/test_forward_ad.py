"""`autograd.forward_ad` against torch's."""

import warnings

import numpy as np
import pytest
import torch

import aten


def _views(t, x):
    y = x * 1
    y[0].mul_(2)
    y[:, 1] = 3
    y.t()[2].add_(x[0, 0])
    return y


def _into(t, x):
    made = t.zeros(3, 4, dtype=t.float64)
    made[1:].copy_(x[1:])
    return made * x


PROGRAMS = {
    "product": lambda t, x: x * x,
    "matrices": lambda t, x: (x @ x.t()).tanh(),
    "views": lambda t, x: x.t()[0].exp(),
    "written": lambda t, x: (x * 2).add_(x).mul_(3),
    "views written": _views,
    "written into": _into,
    "softmax": lambda t, x: t.softmax(x, 1),
    "linear": lambda t, x: t.nn.functional.linear(x, x[:2], x[0, :2]),
    "sorted": lambda t, x: x.sort(1)[0],
    "chosen": lambda t, x: t.where(x > 0.5, x * x, x),
    "detached": lambda t, x: x.detach() * 2,
    "number": lambda t, x: x * x.sum().item(),
    "joined": lambda t, x: t.cat([x, x * 2]),
    "split": lambda t, x: x.split(2, 1)[1] * x.unbind(1)[0][:, None],
    "layer norm": lambda t, x: t.nn.functional.layer_norm(x, (4,)),
    "convolution": lambda t, x: t.nn.functional.conv1d(x[None], x[:2, None, :2].expand(2, 3, 2)),
    "compared": lambda t, x: x > 0.5,
    "no tangent": lambda t, x: t.ones(2) * 3,
}


def _run(library, program):
    forward = library.autograd.forward_ad
    generator = np.random.default_rng(0)
    x = library.tensor(generator.random((3, 4)))
    tangent = library.tensor(generator.random((3, 4)))
    with forward.dual_level():
        dual = forward.make_dual(x, tangent)
        primal, change = forward.unpack_dual(program(library, dual))
        return primal.numpy(), None if change is None else change.numpy()


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(program):
    # torch compiles parts of forward mode by a way that it warns of.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _run(torch, program)
    found = _run(aten, program)
    np.testing.assert_allclose(found[0], expected[0], 1e-12)
    if expected[1] is None:
        assert found[1] is None
    else:
        np.testing.assert_allclose(found[1], expected[1], 1e-9, 1e-12)


def test_tangents_are_gone_behind_their_level():
    forward = aten.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(aten.ones(2), aten.ones(2))
        assert forward.unpack_dual(x * 2).tangent.tolist() == [2.0, 2.0]
    assert forward.unpack_dual(x).tangent is None
    assert (x * 2).tolist() == [2.0, 2.0]
    with forward.dual_level():
        assert forward.unpack_dual(x * 2).tangent is None


def test_gradients_of_changes():
    def run(library):
        forward = library.autograd.forward_ad
        x = library.tensor([1.0, 2.0], requires_grad=True)
        with forward.dual_level():
            change = forward.unpack_dual(forward.make_dual(x, library.ones(2)) ** 3).tangent
        change.sum().backward()
        return x.grad.tolist()

    assert run(aten) == run(torch) == [6.0, 12.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda t, f: f.make_dual(t.ones(2), t.ones(2)),
        lambda t, f: f.exit_dual_level(),
        lambda t, f: _within(f, lambda: f.enter_dual_level()),
        lambda t, f: _within(f, lambda: f.make_dual(t.ones(2), t.ones(3))),
        lambda t, f: _within(f, lambda: f.make_dual(t.ones(2).long(), t.ones(2).long())),
    ],
)
def test_wrong_calls(call):
    with pytest.raises((RuntimeError, ValueError)) as expected:
        call(torch, torch.autograd.forward_ad)
    with pytest.raises(expected.type):
        call(aten, aten.autograd.forward_ad)


def _within(forward, function):
    with forward.dual_level():
        function()


def test_tensors_of_other_classes():
    class Other(aten.Tensor):
        pass

    forward = aten.autograd.forward_ad
    with forward.dual_level(), pytest.raises(RuntimeError, match="another class"):
        forward.make_dual(aten.ones(2), aten.ones(2)).as_subclass(Other) * 2


def _functions(library):
    """Functions with a `jvp` of their own, written for either library."""

    class Scaled(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, factor):
            ctx.save_for_forward(x, y)
            ctx.factor = factor
            return x * y * factor, x.sum(0)

        @staticmethod
        def jvp(ctx, x_change, y_change, factor_change):
            assert factor_change is None
            x, y = ctx.saved_tensors
            # Seven times too much: that it is asked shows.
            return 7 * ctx.factor * (x_change * y + x * y_change), 7 * x_change.sum(0)

    class Doubled(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, change):
            return change.mul_(2)

    return Scaled, Doubled


def test_functions_say_their_tangents():
    found = {}
    for library in (aten, torch):
        forward_ad = library.autograd.forward_ad
        scaled, doubled = _functions(library)
        x, y = library.tensor([1.0, 2.0]), library.tensor([3.0, 5.0])
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, library.tensor([10.0, 20.0]))
            results = [*scaled.apply(dual, y, 2), *scaled.apply(y, dual, 3)]
            again = doubled.apply(dual)
            assert again is dual
            unpacked = [forward_ad.unpack_dual(one) for one in (*results, dual)]
            found[library.__name__] = [
                (primal.tolist(), tangent.tolist()) for primal, tangent in unpacked
            ]
            for change, wrong in (((x, x, x), "2 tangents"), ((x, x), "of shape")):
                scaled.jvp = staticmethod(lambda ctx, *changes, change=change: change)
                with pytest.raises(RuntimeError, match=wrong if library is aten else None):
                    scaled.apply(dual, y, 2)
    assert found["aten"] == found["torch"]


def test_functions_without_jvp_are_gone_back_through_twice():
    class Rounded(aten.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3

    forward_ad = aten.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(aten.tensor([1.2]), aten.tensor([10.0]))
        primal, tangent = forward_ad.unpack_dual(Rounded.apply(dual) * 2)
    assert (primal.tolist(), tangent.tolist()) == ([2.0], [60.0])


def test_views_like_a_tensor_with_a_tangent():
    forward_ad = aten.autograd.forward_ad
    whole = aten.arange(12.0).view(3, 4)
    with forward_ad.dual_level():
        pattern = forward_ad.make_dual(whole[1:], aten.ones(2, 4))
        plain = aten.slice_inverse(whole, pattern, 0, 1)
        assert forward_ad.unpack_dual(plain).tangent is None
        dual = forward_ad.make_dual(whole, whole * 2)
        primal, tangent = forward_ad.unpack_dual(aten.slice_inverse(dual, pattern, 0, 1))
    assert plain.tolist() == primal.tolist() == whole[1:].tolist()
    assert tangent.tolist() == (whole[1:] * 2).tolist()
