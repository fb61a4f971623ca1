"""What users do with graphs: edges, hooks of several tensors, what is saved; beside torch."""

from __future__ import annotations

import pytest
import torch

import aten

LIBRARIES = (aten, torch)


def both(program):
    """What a program gives with each library, as Python's numbers."""
    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours == theirs
    return ours


def refused(program):
    """The exception's type, which both libraries have to have in common."""
    found = []
    for lib in LIBRARIES:
        with pytest.raises(Exception) as caught:
            program(lib)
        found.append(caught.type)
    assert found[0] is found[1]
    return found[0]


def leaf(lib, *numbers):
    return lib.tensor(numbers or (-1.0, 0.5, 2.0), dtype=lib.float64, requires_grad=True)


def test_walks_begin_and_end_at_edges():
    def program(lib):
        x = leaf(lib)
        y = x * 2
        edge = lib.autograd.graph.get_gradient_edge(y)
        inner = lib.autograd.grad((y * y).sum(), edge)[0].tolist()
        lib.autograd.backward((edge,), (lib.ones(3, dtype=lib.float64),))
        return inner, x.grad.tolist()

    both(program)


def test_an_edge_needs_a_gradient():
    def program(lib):
        lib.autograd.backward((lib.autograd.graph.get_gradient_edge(leaf(lib) * 2),))

    assert refused(program) is RuntimeError


def test_hooks_of_several_tensors():
    def program(lib):
        x, y, z = (leaf(lib) * 1 for _ in range(3))
        seen = []
        register = lib.autograd.graph.register_multi_grad_hook
        handle = register(
            (x, y, z),
            lambda gradients: seen.append([g if g is None else g.tolist() for g in gradients]),
        )
        register((x, y), lambda gradient: seen.append(gradient.tolist()), mode="any")
        (x * y).sum().backward(retain_graph=True)
        lib.autograd.grad((x * y * z).sum(), (x, y), retain_graph=True)
        handle.remove()
        (x * y * z).sum().backward()
        return seen

    assert len(both(program)) == 5


def test_gradients_of_other_types_are_converted():
    def program(lib):
        x = leaf(lib)
        (x * 2).backward(lib.ones(3, dtype=lib.int64))
        return x.grad.tolist()

    assert both(program) == [2, 2, 2]


def test_hooks_keep_the_type():
    def program(lib):
        x = leaf(lib)
        x.register_hook(lambda gradient: gradient.to(lib.float32))
        x.sum().backward()

    assert refused(program) is RuntimeError


def test_numbers_are_gone_with_what_was_saved():
    def program(lib):
        y = (leaf(lib) * 2).sum()
        y.backward()
        y.backward()

    assert refused(program) is RuntimeError


def test_views_made_where_nothing_is_recorded():
    def program(lib):
        y = leaf(lib) * 1
        with lib.no_grad():
            view = y[:2]
        view.mul_(2)

    assert refused(program) is RuntimeError

    def allowed(lib):
        x = leaf(lib)
        y = x * 1
        with lib.no_grad():
            view = y[:2]
            view.mul_(2)
        y[:2].sum().backward()
        return x.grad.tolist()

    both(allowed)


def test_sizes_of_what_requires_gradients_stay():
    assert refused(lambda lib: leaf(lib).resize_(2)) is RuntimeError


@pytest.mark.parametrize("part", ["real", "imag", "view_as_real", "conj"])
def test_writes_to_parts_of_complex_numbers(part):
    def program(lib):
        z = lib.tensor([[1 + 2j, 3 - 1j], [0.5j, 2]], dtype=lib.complex128, requires_grad=True)
        y = z * 1
        if part == "view_as_real":
            lib.view_as_real(y)[:, 1, 0].mul_(3)
            lib.view_as_real(y)[0].add_(1)
        elif part == "conj":
            y.conj()[0].mul_(2 + 1j)
        else:
            getattr(y, part).mul_(3)
            getattr(y, part)[0].add_(2)
        (y * y.conj()).real.sum().backward()
        return lib.view_as_real(z.grad).tolist()

    ours, theirs = program(aten), program(torch)
    assert aten.allclose(aten.tensor(ours), aten.tensor(theirs))


def test_saved_tensors_by_name():
    def program(lib):
        x = leaf(lib)
        nodes = ((x * x.exp()).grad_fn, x.exp().grad_fn, (x**3).grad_fn)
        return [[name for name in dir(node) if name.startswith("_saved_")] for node in nodes]

    both(program)


def test_hooks_of_saved_tensors_keep_the_place_in_the_graph():
    def program(lib):
        x = leaf(lib)
        pack = lambda tensor: tensor.detach().clone()  # noqa: E731
        with lib.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
            y = ((x * 2) ** 3 * x).sum()
            (first,) = lib.autograd.grad(y, x, create_graph=True)
            (second,) = lib.autograd.grad(first.sum(), x)
        return first.tolist(), second.tolist()

    both(program)


def test_saving_hooks_are_refused():
    def program(lib):
        graph = lib.autograd.graph
        with graph.disable_saved_tensors_hooks("not here"), graph.save_on_cpu():
            pass

    assert refused(program) is RuntimeError

    def inside(lib):
        graph = lib.autograd.graph
        with graph.save_on_cpu(), graph.disable_saved_tensors_hooks("not here"):
            pass

    assert refused(inside) is RuntimeError
    with aten.autograd.graph.save_on_cpu():
        pass


def test_writes_to_what_is_saved():
    def program(lib):
        x = leaf(lib)
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            y = x * 1
            z = (y * y.exp()).sum()
            y.mul_(5)
            z.backward()
        return x.grad.tolist()

    ours, theirs = program(aten), program(torch)
    assert aten.allclose(aten.tensor(ours), aten.tensor(theirs))


def test_versions_are_counted_by_hand():
    def program(lib):
        x = lib.ones(2)
        lib.autograd.graph.increment_version(x)
        lib.autograd.graph.increment_version([x, x[:1]])
        return x._version

    both(program)


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode"])
def test_modes_are_there_by_torchs_other_names(name):
    assert getattr(aten.autograd, name) is getattr(aten, name)
    assert aten.autograd.profiler.record_function is aten.profiler.record_function
