"""Functions run again on the way back, beside torch."""

import contextlib

import pytest
import torch
import torch.utils.checkpoint

import aten
import aten.utils.checkpoint

LIBRARIES = {"aten": aten, "torch": torch}


def gradients(lib, reentrant, use):
    x = (lib.arange(6.0).reshape(2, 3) / 6).requires_grad_()
    w = (lib.arange(9.0).reshape(3, 3) / 9).requires_grad_()
    calls = []

    def block(x, w):
        calls.append(1)
        return (x @ w).sin() * x.exp()

    if use:
        y = lib.utils.checkpoint.checkpoint(block, x, w, use_reentrant=reentrant)
    else:
        y = block(x, w)
    (y * y).sum().backward()
    return x.grad.tolist(), w.grad.tolist(), len(calls)


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients(reentrant):
    *plain, _ = gradients(aten, reentrant, False)
    *ours, calls = gradients(aten, reentrant, True)
    *theirs, their_calls = gradients(torch, reentrant, True)
    assert calls == their_calls == 2
    assert plain == ours
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other))


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers(reentrant, preserve):
    def run(lib):
        lib.manual_seed(3)
        seen = []

        def block(x):
            noise = lib.rand(3)
            seen.append(noise.tolist())
            return x * noise

        x = lib.ones(3, requires_grad=True)
        y = lib.utils.checkpoint.checkpoint(
            block, x, use_reentrant=reentrant, preserve_rng_state=preserve
        )
        y.sum().backward()
        return seen, x.grad.tolist(), lib.rand(1).item()

    ours, theirs = run(aten), run(torch)
    assert ours == theirs
    assert (ours[0][0] == ours[0][1]) is preserve


def test_nested_and_keywords():
    def run(lib):
        point = lib.utils.checkpoint.checkpoint

        def inner(x, *, by):
            return (x * by).sin()

        def outer(x):
            return point(inner, x.exp(), use_reentrant=False, by=2.0).cos()

        x = lib.tensor([0.5, 1.0], requires_grad=True)
        y = point(outer, x, use_reentrant=False)
        (slope,) = lib.autograd.grad(y.sum(), x)
        return slope.tolist()

    assert run(aten) == pytest.approx(run(torch), rel=1e-6)


def test_contexts_of_both_runs():
    def run(lib):
        seen = []

        @contextlib.contextmanager
        def noted(name):
            seen.append(name)
            yield

        x = lib.ones(2, requires_grad=True)
        y = lib.utils.checkpoint.checkpoint(
            lambda x: x.sin(), x, use_reentrant=False,
            context_fn=lambda: (noted("first"), noted("again")),
        )  # fmt: skip
        y.sum().backward()
        return seen

    assert run(aten) == run(torch) == ["first", "again"]


def test_autocast_is_as_it_was():
    def run(lib):
        seen = []

        def block(x):
            y = x @ x
            seen.append(str(y.dtype)[-8:])
            return y

        x = lib.ones(2, 2, requires_grad=True)
        for reentrant in (True, False):
            with lib.autocast("cpu"):
                y = lib.utils.checkpoint.checkpoint(block, x, use_reentrant=reentrant)
            y.sum().backward()
        return seen

    assert run(aten) == run(torch)


@pytest.mark.parametrize("name", LIBRARIES)
def test_wrong_use(name):
    lib = LIBRARIES[name]
    point = lib.utils.checkpoint
    x = lib.ones(2, requires_grad=True)
    sizes = iter((2, 3))

    def changing(x):
        return x.sum() * lib.ones(next(sizes)).exp() * x.sum().exp()

    y = point.checkpoint(changing, x, use_reentrant=False, early_stop=False)
    with pytest.raises(point.CheckpointError):
        y.sum().backward()
    with pytest.raises(ValueError, match="keyword"):
        point.checkpoint(lib.sin, x, use_reentrant=True, out=None)
    with pytest.warns(UserWarning, match=r"requires? grad|require gradients|requires_grad"):
        point.checkpoint(lib.sin, lib.ones(2), use_reentrant=True)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_segments(reentrant, segments):
    def run(lib):
        layers = [lib.sin, lib.exp, lib.cos, lib.tanh, lib.sqrt]
        x = lib.tensor([0.1, 0.2], requires_grad=True)
        y = lib.utils.checkpoint.checkpoint_sequential(
            layers[:-1], segments, x, use_reentrant=reentrant
        )
        y.sum().backward()
        return x.grad.tolist()

    assert run(aten) == pytest.approx(run(torch), rel=1e-6)


def test_unknown_checks_are_refused():
    x = aten.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="determinism_check must be"):
        aten.utils.checkpoint.checkpoint(aten.sin, x, use_reentrant=False, determinism_check="all")


def test_graphs_are_walked_twice():
    x = aten.tensor([0.5], requires_grad=True)
    y = aten.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    (first,) = aten.autograd.grad(y, x, retain_graph=True)
    (second,) = aten.autograd.grad(y, x)
    assert first.item() == second.item()
