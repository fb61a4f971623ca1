"""Registrations: precedence, overriding, fallbacks, and the rows and texts made of them."""

import itertools
import re
import sys
import threading
import warnings

import pytest
from dispatched_operators import GOLDEN, SCALE, answer, make_operator, make_tensor, named, names

from aten import dispatch
from aten._core.dispatch import registrations
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import PythonKernel
from aten._core.dispatch.registrations import registrations_of
from aten.dispatch import DispatchKey, FallthroughKernel


def row_text(op):
    """The row without places, which change with this file."""
    return re.sub(r"  \S*:\d+", "", dispatch.table(op).partition("\n")[2])


@pytest.fixture
def tensor():
    return make_tensor()


@pytest.fixture
def code_generators():
    before = dispatch.code_generators()
    yield
    for backend in dispatch.code_generators() - before:
        dispatch.set_code_generator(backend, False)
    for backend in before:
        dispatch.set_code_generator(backend, True)


def kernels_of(op, *keys):
    """What serves each of `keys`: the name of the kernel's key, or why there is none."""
    served = {}
    for name in keys:
        kernel, reason = op.registrations.resolve(DispatchKey.__members__[name])
        named_kernel = isinstance(kernel, PythonKernel)
        served[name] = kernel.function.__qualname__ if named_kernel else reason
    return served


LOOKED_AT = ("CPU", "CUDA", "XLA", "SparseCPU", "AutogradCPU", "AutogradCUDA", "ZeroTensor")
SKIPPED, MISSING = "skipped by default", "missing"


@pytest.mark.parametrize(
    ("registered", "expected"),
    [
        ([], (MISSING, MISSING, MISSING, MISSING, SKIPPED, SKIPPED, MISSING)),
        (["CPU"], ("CPU", MISSING, MISSING, MISSING, SKIPPED, SKIPPED, MISSING)),
        (
            ["CPU", "CompositeImplicitAutograd"],
            # The composite would lose the derivative of the CPU kernel.
            (
                "CPU",
                *["CompositeImplicitAutograd"] * 3,
                SKIPPED,
                "CompositeImplicitAutograd",
                MISSING,
            ),
        ),
        (
            ["CompositeImplicitAutograd", "Autograd"],
            (*["CompositeImplicitAutograd"] * 6, MISSING),
        ),
        (
            ["CPU", "CompositeImplicitAutograd", "Autograd"],
            (
                "CPU",
                *["CompositeImplicitAutograd"] * 3,
                "Autograd",
                "CompositeImplicitAutograd",
                MISSING,
            ),
        ),
        (
            ["CompositeExplicitAutograd", "CompositeImplicitAutograd", "Autograd", "AutogradCPU"],
            (*["CompositeExplicitAutograd"] * 4, "AutogradCPU", "Autograd", MISSING),
        ),
        (
            ["CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"],
            (
                *["CompositeExplicitAutogradNonFunctional"] * 2,
                *["CompositeExplicitAutograd"] * 2,
                SKIPPED,
                SKIPPED,
                MISSING,
            ),
        ),
        (
            ["Structured", "CompositeExplicitAutograd", "CompositeImplicitAutograd"],
            ("Structured", *["CompositeExplicitAutograd"] * 3, SKIPPED, SKIPPED, MISSING),
        ),
        (
            ["Structured", "CPU", "CUDA", "ZeroTensor"],
            ("CPU", "CUDA", MISSING, MISSING, SKIPPED, SKIPPED, "ZeroTensor"),
        ),
    ],
)
def test_registration_commutes(registered, expected, code_generators):
    for backend in dispatch.code_generators() - {"CPU"}:
        dispatch.set_code_generator(backend, False)
    dispatch.set_code_generator("CPU", True)
    tables, dumps = set(), set()
    for order in itertools.permutations(registered):
        op = make_operator()
        for key in order:
            op.register(DispatchKey.__members__[key], named(key))
        assert kernels_of(op, *LOOKED_AT) == dict(zip(LOOKED_AT, expected, strict=True))
        tables.add(row_text(op))
        dumps.add(dispatch.dump_registrations(op).partition("\n")[2])
    assert len(tables) == len(dumps) == 1


@pytest.fixture
def untransformed(monkeypatch):
    """Without the fallbacks that transformations bring when one is first used."""
    plain = {
        key: kernels
        for key, kernels in registrations._fallbacks.items()
        if not key.name.startswith("FuncTorch")
    }
    monkeypatch.setattr(registrations, "_fallbacks", plain)


@pytest.mark.usefixtures("untransformed")
def test_the_table_as_text():
    op = make_operator()
    op.register(DispatchKey.CPU, named("on_cpu"), "kernels.py:1")
    op.register(DispatchKey.CompositeExplicitAutograd, named("anywhere"), "kernels.py:2")
    op.register(DispatchKey.AutogradCPU, FallthroughKernel(), "kernels.py:3")
    op.register(DispatchKey.Tracer, named("traced"), "kernels.py:4")
    text = (GOLDEN / "dispatch_table.txt").read_text(encoding="utf-8")
    assert dispatch.table(op).replace(op.namespace, "test") + "\n" == text


def test_registrations_as_text():
    op = make_operator()
    op.register(DispatchKey.Autograd, named("derivative"), "kernels.py:1")
    op.register(DispatchKey.CPU, named("old"), "kernels.py:2")
    with pytest.warns(UserWarning, match="overridden"):
        op.register(DispatchKey.CPU, named("new"), "kernels.py:3")
    assert dispatch.dump_registrations(op) == (
        f"{op.namespace}::{SCALE}\n"
        "  CPU  Python function new  kernels.py:3\n"
        "  CPU  Python function old  kernels.py:2  (overridden)\n"
        "  Autograd  Python function derivative  kernels.py:1"
    )


def test_registrations_know_their_place():
    op = make_operator()
    op.register(DispatchKey.CPU, answer(1))
    line = test_registrations_know_their_place.__code__.co_firstlineno + 2
    (kernel,) = op.registrations.kernels[DispatchKey.CPU]
    assert kernel.provenance == f"{__file__}:{line}"


def test_a_second_kernel_warns_with_both_places_and_serves_until_destroyed(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, answer("old"), "first.py:1")
    with pytest.warns(UserWarning, match=r"CPU registered at first\.py:1 .* second\.py:2"):
        handle = op.register(DispatchKey.CPU, answer("new"), "second.py:2")
    assert op(tensor) == "new"
    handle.destroy()
    assert op(tensor) == "old"
    handle.destroy()
    assert op(tensor) == "old"


def test_taking_the_last_kernel_back_leaves_the_key_free(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, answer(1)).destroy()
    assert not op.has_kernel_for_dispatch_key(DispatchKey.CPU)
    with pytest.raises(NotImplementedError, match="kernels are registered for: no key"):
        op(tensor)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op.register(DispatchKey.CPU, answer(2))
    assert op(tensor) == 2


def test_the_same_kernel_twice_is_two_registrations(tensor):
    op = make_operator()
    kernel = PythonKernel(answer(1))
    op.register(DispatchKey.CPU, kernel)
    with pytest.warns(UserWarning, match="overridden"):
        again = op.register(DispatchKey.CPU, kernel)
    again.destroy()
    assert op(tensor) == 1


def test_two_operators_of_one_name_see_each_others_registrations(tensor):
    namespace = next(names)
    first, second = (OpOverload(namespace, "scale", "", SCALE) for _ in range(2))
    handle = first.register(DispatchKey.CPU, answer(1))
    assert first(tensor) == second(tensor) == 1
    handle.destroy()
    for op in (first, second):
        with pytest.raises(NotImplementedError):
            op(tensor)


def test_a_kernel_may_take_its_own_registration_back(tensor):
    op = make_operator()
    handles = []

    def once(x, by, *, negate):
        handles.pop().destroy()
        return "done"

    handles.append(op.register(DispatchKey.CPU, once))
    del once
    assert op(tensor) == "done"
    with pytest.raises(NotImplementedError):
        op(tensor)


@pytest.mark.parametrize("key", ["Undefined", "Dense", "AutogradFunctionality"])
def test_keys_without_kernels_are_refused(key):
    with pytest.raises(ValueError, match=f"no kernel can be registered for {key}"):
        make_operator().register(DispatchKey.__members__[key], answer(1))


def test_bad_registrations_are_refused():
    op = make_operator()
    with pytest.raises(TypeError, match="must be callable, not int"):
        op.register(DispatchKey.CPU, 3)
    with pytest.raises(TypeError):
        op.register("CPU", answer(1))


def test_py_impl_decorates(tensor):
    op = make_operator()

    @op.py_impl(DispatchKey.CPU)
    def kernel(x, by, *, negate):
        return by

    assert op(tensor, 5.0) == kernel(tensor, 5.0, negate=False) == 5.0


def test_rows_follow_code_generators(code_generators):
    op = make_operator("make(*, Device? device=None) -> Any")
    op.register(DispatchKey.Structured, answer("structured"))
    op.register(DispatchKey.CompositeExplicitAutograd, answer("composite"))
    dispatch.set_code_generator("PrivateUse2", False)
    assert op(device="privateusetwo") == "composite"
    dispatch.set_code_generator("PrivateUse2", True)
    assert op(device="privateusetwo") == "structured"
    with pytest.raises(ValueError, match="unknown backend component: Abacus"):
        dispatch.set_code_generator("Abacus", True)


def test_kernels_may_come_before_the_operator(tensor):
    namespace = next(names)
    registrations = registrations_of(f"{namespace}::scale")
    from aten._core.dispatch.python_kernel import register_kernel

    register_kernel(registrations, DispatchKey.CPU, answer("early"))
    assert OpOverload(namespace, "scale", "", SCALE)(tensor) == "early"


# Fallbacks


def test_fallbacks_serve_operators_without_a_kernel(tensor):
    with_kernel, without = make_operator(), make_operator()
    for op in (with_kernel, without):
        op.register(DispatchKey.CPU, answer("cpu"))
    with_kernel.register(DispatchKey.ZeroTensor, answer("own"))
    handle = dispatch.register_fallback(DispatchKey.ZeroTensor, lambda op, *args, **kwargs: op)
    try:
        with dispatch.IncludeDispatchKeyGuard(DispatchKey.ZeroTensor):
            assert with_kernel(tensor) == "own"
            assert without(tensor) is without
    finally:
        handle.destroy()
    with (
        dispatch.IncludeDispatchKeyGuard(DispatchKey.ZeroTensor),
        pytest.raises(NotImplementedError),
    ):
        without(tensor)


def test_a_fallback_of_a_functionality_serves_all_backends_after_their_own():
    op = make_operator()
    wide = dispatch.register_fallback(DispatchKey.Quantized, named("wide"))
    own = dispatch.register_fallback(DispatchKey.QuantizedCUDA, named("own"))
    try:
        assert kernels_of(op, "QuantizedCPU", "QuantizedCUDA", "CPU") == {
            "QuantizedCPU": "wide",
            "QuantizedCUDA": "own",
            "CPU": "missing",
        }
    finally:
        wide.destroy()
        own.destroy()
    assert kernels_of(op, "QuantizedCPU") == {"QuantizedCPU": "missing"}


def test_fallbacks_for_aliases_are_refused():
    with pytest.raises(ValueError, match="no fallback can be registered for Autograd"):
        dispatch.register_fallback(DispatchKey.Autograd, answer(1))


def test_a_kernel_that_goes_while_it_is_looked_up_is_not_kept(tensor, monkeypatch):
    # As when another thread takes its registration back in the middle of a first call.
    op = make_operator()
    cpu = DispatchKey.CPU
    handles = [op.register(cpu, lambda *_: "gone")]
    registrations = type(op.registrations)
    resolve = registrations.resolve

    def overtaken(self, key):
        found = resolve(self, key)
        while handles and self is op.registrations:
            handles.pop().destroy()
            op.register(cpu, lambda *_: "there")
        return found

    monkeypatch.setattr(registrations, "resolve", overtaken)
    assert op(tensor) == "there"
    assert op(tensor) == "there"


def test_registrations_of_many_threads_are_all_kept(tensor):
    op = make_operator()
    names = ["CPU", "CUDA", "AutogradCPU", "SparseCPU", "Meta", "XLA", "AutogradCUDA", "MPS"]
    keys = [DispatchKey.__members__[name] for name in names]
    failures = []

    def register(key):
        try:
            for _ in range(300):
                handle = op.register(key, lambda *_: key.name)
                op.registrations.resolve(DispatchKey.CPU)
                dispatch.table(op)
                handle.destroy()
            op.register(key, lambda *_: key.name)
        except BaseException as failure:
            failures.append(failure)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=register, args=(key,)) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    assert set(op.registrations.kernels) == set(keys)
