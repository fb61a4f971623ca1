"""`aten.func` against `torch.func`, nested in any order."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import aten

SIZES = (3, 4)


def of(library: Any) -> tuple[Any, Any, Any]:
    """The functions of functions, x of `SIZES` and a matrix that it can be multiplied with."""
    generator = np.random.default_rng(0)
    x = library.tensor(generator.random(SIZES) + 0.1)
    return library.func, x, library.tensor(generator.random((4, 2)))


def wave(x: Any) -> Any:
    return (x.sin() * x.exp()).sum()


def outer(x: Any) -> Any:
    return x.sin() @ x.mT


def layer(parameters: Any, row: Any) -> Any:
    return (row @ parameters["weight"] + parameters["bias"]).tanh().sum()


PROGRAMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "grad": lambda t, f, x, w: f.grad(wave)(x),
    "grad of two": lambda t, f, x, w: f.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x + 1),
    "grad with aux": lambda t, f, x, w: f.grad(lambda a: (wave(a), a * 2), has_aux=True)(x),
    "grad and value": lambda t, f, x, w: f.grad_and_value(wave)(x),
    "grad of grad": lambda t, f, x, w: f.vmap(f.vmap(f.grad(f.grad(lambda a: a.sin() * a))))(x),
    "gradients of rows": lambda t, f, x, w: f.vmap(f.grad(wave))(x),
    "grad of vmap": lambda t, f, x, w: f.grad(lambda a: f.vmap(wave)(a).sum())(x),
    "gradients of weights for rows": lambda t, f, x, w: f.vmap(f.grad(layer), in_dims=(None, 0))(
        {"weight": w, "bias": t.zeros(2, dtype=t.float64)}, x
    ),
    "inner and outer argument": lambda t, f, x, w: f.grad(
        lambda a: a * f.grad(lambda b: a + b)(t.tensor(1.0))
    )(t.tensor(1.0)),
    "vjp": lambda t, f, x, w: f.vjp(lambda a: a.tanh(), x)[1](x),
    "vjp of several": lambda t, f, x, w: f.vjp(lambda a, b: {"x": a * b, "y": b.sum()}, x, x + 1)[
        1
    ]({"x": x, "y": t.tensor(2.0, dtype=t.float64)}),
    "vmap of vjp": lambda t, f, x, w: f.vmap(f.vjp(lambda a: a.tanh().sum(0), x)[1])(
        t.eye(4, dtype=t.float64)
    ),
    "jvp": lambda t, f, x, w: f.jvp(lambda a: a.tanh(), (x,), (x * 2,)),
    "jvp of two": lambda t, f, x, w: f.jvp(lambda a, b: a @ b, (x, w), (x * 2, w + 1)),
    "jvp with aux": lambda t, f, x, w: f.jvp(
        lambda a: (a.tanh(), a + 1), (x,), (x * 2,), has_aux=True
    ),
    "jvp of grad": lambda t, f, x, w: f.jvp(f.grad(wave), (x,), (x * 2,)),
    "grad of jvp": lambda t, f, x, w: f.grad(
        lambda a: f.jvp(lambda b: b.tanh(), (a,), (a * 2,))[1].sum()
    )(x),
    "jvp of jvp": lambda t, f, x, w: f.jvp(
        lambda a: f.jvp(lambda b: b.tanh(), (a,), (x,))[1], (x,), (x * 3,)
    ),
    "vmap of jvp": lambda t, f, x, w: f.vmap(lambda a, b: f.jvp(lambda c: c.tanh(), (a,), (b,))[1])(
        x, x
    ),
    "linearize": lambda t, f, x, w: f.linearize(outer, x)[1](x),
    "jacrev": lambda t, f, x, w: f.jacrev(outer)(x),
    "jacrev in chunks": lambda t, f, x, w: f.jacrev(outer, chunk_size=2)(x),
    "jacfwd": lambda t, f, x, w: f.jacfwd(outer)(x),
    "jacrev of several": lambda t, f, x, w: f.jacrev(
        lambda a, b: (a * b, {"sum": b.sum(0)}), argnums=(0, 1)
    )(x, x + 1),
    "jacfwd of several": lambda t, f, x, w: f.jacfwd(
        lambda a, b: (a * b, {"sum": b.sum(0)}), argnums=(0, 1)
    )(x, x + 1),
    "vmap of jacrev": lambda t, f, x, w: f.vmap(f.jacrev(lambda a: a.sin() * a.sum()))(x),
    "hessian": lambda t, f, x, w: f.hessian(wave)(x),
    "jacrev of jacrev": lambda t, f, x, w: f.jacrev(f.jacrev(wave))(x[0]),
    "jacrev of jacfwd": lambda t, f, x, w: f.jacrev(f.jacfwd(wave))(x[0]),
    "jacfwd of jacfwd": lambda t, f, x, w: f.jacfwd(f.jacfwd(wave))(x[0]),
    "hessians of rows": lambda t, f, x, w: f.vmap(f.hessian(wave))(x),
    "third derivative": lambda t, f, x, w: f.jacfwd(f.jacrev(f.grad(wave)))(x[0, :2]),
    "convolution's weights for rows": lambda t, f, x, w: f.vmap(
        f.grad(lambda k, a: t.nn.functional.conv2d(a[None, None], k).tanh().sum()),
        in_dims=(None, 0),
    )(t.ones(2, 1, 2, 2, dtype=t.float64), x.reshape(1, 3, 4).expand(5, 3, 4)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(program):
    # torch compiles parts of forward mode by a way that it warns of.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = program(torch, *of(torch))
    found = program(aten, *of(aten))
    _same(found, expected)


def _same(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert set(found) == set(expected)
        for key, one in expected.items():
            _same(found[key], one)
    elif isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for mine, theirs in zip(found, expected, strict=True):
            _same(mine, theirs)
    else:
        assert not found.requires_grad
        assert tuple(found.shape) == tuple(expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), 1e-9, 1e-11)


def test_jacobians_of_complex_numbers():
    z = np.array([1 + 2j, 0.5 - 1j])

    def squares(library):
        return library.func.vjp(lambda a: a * a.conj() + a**3, library.tensor(z))[1](
            library.tensor(z)
        )

    _same(squares(aten), squares(torch))
    found = aten.func.jvp(lambda a: a**3, (aten.tensor(z),), (aten.tensor(z),))[1]
    np.testing.assert_allclose(found.numpy(), 3 * z**2 * z, 1e-12)


def test_what_the_function_uses_besides_goes_back_too():
    weight = aten.tensor([2.0, 3.0], requires_grad=True)
    found = aten.func.grad(lambda x: (x * x * weight).sum())(aten.tensor([1.0, 2.0]))
    assert found.requires_grad
    found.sum().backward()
    assert weight.grad.tolist() == [2.0, 4.0]


def test_gradients_outside_go_through():
    x = aten.tensor([1.0, 2.0], requires_grad=True)
    aten.func.grad(lambda a: (a**3).sum())(x).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_without_gradients_outside_nothing_is_recorded():
    x = aten.tensor([1.0, 2.0], requires_grad=True)
    with aten.no_grad():
        found = aten.func.grad(lambda a: (a**3).sum())(x)
    assert not found.requires_grad
    assert found.tolist() == [3.0, 12.0]
    with aten.no_grad():
        assert aten.func.grad(lambda a: a.detach().sum() + a.sum())(aten.ones(1)).tolist() == [1.0]


def test_modules_as_functions():
    expected = torch.nn.Linear(4, 3)
    module = aten.nn.Linear(4, 3)
    new = {"weight": aten.ones(3, 4), "bias": aten.zeros(3)}
    before = module.weight
    assert aten.func.functional_call(module, new, (aten.ones(4),)).tolist() == [4.0] * 3
    assert module.weight is before
    with pytest.raises(RuntimeError, match="lack"):
        aten.func.functional_call(module, {"bias": aten.zeros(3)}, aten.ones(4), strict=True)
    aten.func.functional_call(module, {"wei": aten.zeros(3)}, aten.ones(4))
    assert not hasattr(module, "wei")
    for name, kind in (("inner.weight", AttributeError), ("in_features", TypeError)):
        with pytest.raises(kind):
            aten.func.functional_call(module, {name: aten.zeros(3)}, aten.ones(4))
    with pytest.raises(RuntimeError):
        aten.func.functional_call(module, {"weight": aten.zeros(3, 3)}, aten.ones(4))
    assert module.weight is before
    assert expected.weight.shape == tuple(before.shape)


def test_ensembles():
    models = [aten.nn.Sequential(aten.nn.Linear(4, 3), aten.nn.Tanh()) for _ in range(5)]
    parameters, buffers = aten.func.stack_module_state(models)
    x = aten.rand(4)

    def run(parameters, buffers, x):
        return aten.func.functional_call(models[0], (parameters, buffers), (x,))

    found = aten.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    expected = aten.stack([model(x) for model in models])
    assert aten.allclose(found, expected)
    found.sum().backward()
    assert parameters["0.weight"].grad.shape == (5, 3, 4)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda f, x: f.grad(lambda a: a)(x), RuntimeError, "without dimensions"),
        (lambda f, x: f.grad(lambda a: a.sum())(x.long()), RuntimeError, "real or complex"),
        (lambda f, x: f.grad(lambda a: a.sum(), argnums=2)(x), RuntimeError, "argnums"),
        (lambda f, x: f.grad(lambda a: a.sum(), has_aux=True)(x), RuntimeError, "aux"),
        (lambda f, x: f.vjp(lambda a: a, x)[1](x[0]), RuntimeError, "shape"),
        (lambda f, x: f.jvp(lambda a: a, (x,), (x, x)), RuntimeError, "tangent"),
        (lambda f, x: f.jvp(lambda a: a, x, x), RuntimeError, "tuples"),
        (lambda f, x: f.jvp(lambda a: a, (x,), (x[0],)), RuntimeError, "shape"),
    ],
)
def test_wrong_calls(call, kind, text):
    with pytest.raises(kind, match=text):
        call(aten.func, aten.rand(2, 2))
    with pytest.raises((kind, AssertionError, TypeError)):
        call(torch.func, torch.rand(2, 2))


def _writing(write):
    def function(library):
        captured = library.zeros(3)

        def run(x):
            return write(library, captured, x).sum()

        return run

    return function


CAPTURED = {
    "the tensor": lambda lib, one, x: one.mul_(x),
    "a row": lambda lib, one, x: one[0].add_(x[0]),
    "a view": lambda lib, one, x: one.view(3).copy_(x),
    "detached": lambda lib, one, x: one.detach().mul_(x),
    "without the argument": lambda lib, one, x: one.add_(1) * x,
    "within another": lambda lib, one, x: lib.func.grad(lambda y: one.add_(y).sum())(x),
    "of the function around": lambda lib, one, x: (
        lambda own: lib.func.grad(lambda y: own.add_(y).sum())(x)
    )(lib.zeros(3)),
}


TRANSFORMS = {
    "grad": lambda f, run, x: f.grad(run)(x),
    "jvp": lambda f, run, x: f.jvp(run, (x,), (x,)),
    "vjp": lambda f, run, x: f.vjp(run, x),
    "hessian": lambda f, run, x: f.hessian(run)(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", CAPTURED)
def test_captured_tensors_are_not_written_to(name, transform):
    for library in (torch, aten):
        run, x = _writing(CAPTURED[name])(library), library.ones(3)
        with pytest.raises(RuntimeError, match=r"captured|did not make"):
            TRANSFORMS[transform](library.func, run, x)
        # The tensor is no part of a graph, and can be written to again.
        captured = library.zeros(3)
        assert not captured.add_(1).requires_grad


def test_what_the_function_makes_is_written_to():
    def run(library, x):
        made = library.zeros(3)
        made.add_(x)
        made[0].mul_(x[1])
        made[1:].copy_(x[1:] * 2)
        return (made * x.clone().mul_(x)).sum()

    found = [
        library.func.grad(lambda x, library=library: run(library, x))(
            library.tensor([1.0, 2.0, 3.0])
        )
        for library in (torch, aten)
    ]
    assert found[0].tolist() == found[1].tolist()


def _cube(library, generated):
    class Cube(library.autograd.Function):
        generate_vmap_rule = generated

        @staticmethod
        def forward(x, weight):
            return x**3 * weight

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            x, weight = ctx.saved_tensors
            return gradient * 3 * x**2 * weight, (gradient * x**3).sum()

        if not generated:

            @staticmethod
            def vmap(info, in_dims, x, weight):
                assert info.batch_size == 3
                if in_dims[0] is not None and in_dims[1] is not None:
                    weight = weight[:, None]
                return Cube.apply(x, weight), 0

    return Cube


@pytest.mark.parametrize("generated", [True, False])
def test_functions_with_derivatives_of_their_own(generated):
    def run(library):
        cube = _cube(library, generated)
        f, x, _ = of(library)
        weight = library.tensor(2.0, dtype=library.float64)
        return (
            f.vmap(cube.apply, in_dims=(0, None))(x, weight),
            f.grad(lambda a: cube.apply(a, weight).sum())(x),
            f.grad(lambda a: f.vmap(cube.apply, in_dims=(0, None))(a, weight).sum())(x),
            f.jacrev(lambda a: cube.apply(a, weight))(x[0]) if generated else x,
            f.vmap(f.grad(lambda a: cube.apply(a, weight).sum()))(x) if generated else x,
        )

    _same(run(aten), run(torch))


def test_generated_rules_without_all_gradients():
    """Of two results one has a gradient; a random forward draws as vmap says."""

    def run(library):
        class Both(library.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return x * 2, x * 3

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.set_materialize_grads(False)

            @staticmethod
            def backward(ctx, first, second):
                assert second is None
                return first * 2

        f, x, _ = of(library)
        return f.vmap(f.grad(lambda a: Both.apply(a)[0].sum()))(x)

    _same(run(aten), run(torch))


def test_functions_without_a_rule_are_refused():
    class Plain(aten.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    with pytest.raises(RuntimeError, match="generate_vmap_rule"):
        aten.vmap(Plain.apply)(aten.rand(3))
    assert aten.func.grad(lambda x: Plain.apply(x).sum())(aten.rand(3)).tolist() == [2.0] * 3


def test_gradients_in_batches():
    def run(library):
        _, x, w = of(library)
        x.requires_grad_()
        y = (x @ w).tanh() * x[:, :2].exp()
        rows = library.eye(6, dtype=library.float64).reshape(6, 3, 2)
        unused = library.ones(2, requires_grad=True)
        found = library.autograd.grad(
            y, (x, unused), rows, is_grads_batched=True, allow_unused=True, create_graph=True
        )
        assert found[1] is None
        (again,) = library.autograd.grad(found[0].sum(), x)
        return found[0].detach(), again

    _same(run(aten), run(torch))


def test_rows_stay_inside():
    kept = []
    aten.vmap(lambda row: kept.append(row) or row)(aten.ones(3))
    with pytest.raises(RuntimeError, match="outside"):
        kept[0] + 1


@pytest.mark.parametrize("lib", [aten, torch])
def test_statistics_of_all_rows_are_not_written_to(lib):
    rows = lib.rand(3, 4, 2)
    model = lib.nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError):
        lib.func.vmap(model)(rows)
    assert lib.func.vmap(model.eval())(rows).shape == (3, 4, 2)
    lib.func.replace_all_batch_norm_modules_(model.train())
    found = lib.func.vmap(model)(rows)
    assert lib.allclose(found[1], model(rows[1]), atol=1e-5)


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("transform", ["grad", "jvp", "jvp of grad", "vjp"])
def test_running_statistics_move_in_functions_being_differentiated(name, transform):
    def run(lib):
        _, x, _ = of(lib)
        x = lib.stack([x, x * x + 1, x.sin()])
        mean, var = lib.zeros(3, dtype=lib.float64), lib.ones(3, dtype=lib.float64)
        flags = {"training": True} if name == "batch_norm" else {}

        def function(x):
            return (getattr(lib.nn.functional, name)(x, mean, var, **flags) * x).sin().sum()

        def of_transform():
            if transform == "jvp":
                return lib.func.jvp(function, (x,), (x * 2,))
            if transform == "jvp of grad":
                return lib.func.jvp(lib.func.grad(function), (x,), (x * x,))
            if transform == "vjp":
                return lib.func.vjp(function, x)[1](lib.ones((), dtype=lib.float64))
            return lib.func.grad(function)(x)

        return of_transform(), mean, var

    found, expected = run(aten), run(torch)
    _same(found, expected)
    # Other tensors of before are protected after it, too.
    other = aten.ones(3)
    with pytest.raises(RuntimeError, match="did not make"):
        aten.func.grad(lambda x: (run(aten), other.add_(1), x.sum())[-1])(aten.ones(3))


def test_what_rows_stand_for():
    shapes = []

    def look(row):
        shapes.append(tuple(aten.func.debug_unwrap(row, recurse=False).shape))
        shapes.append(tuple(aten.func.debug_unwrap(row).shape))
        return row

    aten.vmap(aten.vmap(look))(aten.ones(3, 4, 2))
    assert shapes == [(4, 2), (3, 4, 2)]
