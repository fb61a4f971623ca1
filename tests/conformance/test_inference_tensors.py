"""Tensors of inference mode beside torch's: what they are, and what is refused outside."""

import copy

import numpy as np
import pytest
import torch

import aten


def _made(t):
    with t.inference_mode():
        return t.ones(3)


IS_INFERENCE = {
    "made": lambda t: _made(t),
    "view": lambda t: _made(t).view(-1),
    "element": lambda t: _made(t)[0],
    "detached": lambda t: _made(t).detach(),
    "data": lambda t: _made(t).data,
    "itself": lambda t: _made(t).to(t.float32).contiguous(),
    "sum": lambda t: _made(t) + 1,
    "clone": lambda t: _made(t).clone(),
    "deep copy": lambda t: copy.deepcopy(_made(t)),
    "joined": lambda t: t.cat([_made(t), t.ones(2)]),
    "copied from": lambda t: t.ones(3).copy_(_made(t)),
}


@pytest.mark.parametrize("name", IS_INFERENCE)
def test_outside(name):
    found, wanted = (IS_INFERENCE[name](library) for library in (aten, torch))
    assert found.is_inference() == wanted.is_inference() == aten.is_inference(found)
    assert found.tolist() == wanted.tolist()


INSIDE = {
    "view of another": lambda t, x: x[1:],
    "written": lambda t, x: x.add_(1),
    "detached": lambda t, x: x.detach(),
    "computed": lambda t, x: x + 1,
    "clone": lambda t, x: x.clone(),
    "leaf": lambda t, x: t.ones(2, requires_grad=True),
    "parameter": lambda t, x: t.nn.Parameter(t.ones(2)),
    "joined": lambda t, x: t.stack([x, x]),
    "sorted": lambda t, x: x.sort()[0],
    "no elements": lambda t, x: t.empty(0),
    "deep": lambda t, x: t.ones(1, 1, 1, 1, 1, 1, 2).transpose(0, 6),
}


@pytest.mark.parametrize("name", INSIDE)
def test_inside(name):
    def run(library):
        x = library.zeros(3)
        with library.inference_mode():
            return INSIDE[name](library, x).is_inference()

    assert run(aten) == run(torch)


def test_modes_within():
    def run(library):
        with library.inference_mode(), library.inference_mode(False):
            x = library.ones(2, requires_grad=True) * 2
            return (
                x.is_inference(),
                x.requires_grad,
                library.is_grad_enabled(),
                library.is_inference_mode_enabled(),
            )

    assert run(aten) == run(torch)


WEIGHT = [[1.0, 2.0, 3.0]]
REFUSED = {
    "add_": lambda t, x: x.add_(1),
    "zero_": lambda t, x: x.zero_(),
    "copy_": lambda t, x: x.copy_(t.zeros(3)),
    "setitem": lambda t, x: x.__setitem__(0, 1.0),
    "out": lambda t, x: t.add(t.ones(3), 1, out=x),
    "resize_": lambda t, x: x.resize_(4),
    "set_": lambda t, x: x.set_(t.ones(2)),
    "written view": lambda t, x: x[0].fill_(2),
    "foreach": lambda t, x: t._foreach_add_([x], 1.0),
    "requires_grad_": lambda t, x: x.requires_grad_(),
    "_version": lambda t, x: x._version,
    "saved": lambda t, x: x * t.ones(3, requires_grad=True),
    "saved layer": lambda t, x: t.nn.functional.linear(x, t.tensor(WEIGHT, requires_grad=True)),
    "saved in place": lambda t, x: (t.ones(3, requires_grad=True) * 1).mul_(x),
    "parameter": lambda t, x: t.nn.Parameter(x),
    "without gradients": lambda t, x: t.no_grad()(lambda: x.add_(1))(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    x = _made(aten)
    with pytest.raises(RuntimeError):
        REFUSED[name](torch, _made(torch))
    with pytest.raises(RuntimeError):
        REFUSED[name](aten, x)
    assert x.tolist() == [1, 1, 1]


def test_allowed():
    def run(library):
        x, leaf = _made(library), library.ones(3, requires_grad=True)
        (leaf + x).sum().backward()
        with library.inference_mode():
            x.add_(1)
            view = leaf.detach()[:2]
        view.add_(1)
        return x.tolist(), leaf.grad.tolist(), view.tolist(), x.requires_grad_(False).tolist()

    assert run(aten) == run(torch)


ASKED = {
    "__dlpack__": lambda t, x: x.__dlpack__(),
    "from_dlpack": lambda t, x: t.from_dlpack(x),
    "numpy's from_dlpack": lambda t, x: np.from_dlpack(x),
    "asarray": lambda t, x: np.asarray(x),
    "array": lambda t, x: np.array(x, copy=True),
    "numpy": lambda t, x: x.numpy(),
    "of a product": lambda t, x: np.asarray(x * 2),
}


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_memory_of_what_requires_gradients(name, recorded):
    def run(library):
        x = library.ones(3, requires_grad=True)
        with library.set_grad_enabled(recorded):
            try:
                ASKED[name](library, x)
            except Exception as error:
                return type(error)

    assert run(aten) is run(torch)
