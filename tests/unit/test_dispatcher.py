"""Calls of operators: their rows, keys, fallthrough, redispatch, traces and errors."""

import os
import subprocess
import sys
import threading
from collections import Counter

import pytest
from dispatched_operators import GOLDEN, answer, make_operator, make_tensor, named

import aten
from aten import dispatch
from aten._core.base.keys import device_type_of_backend, thread_included
from aten._core.dispatch.packets import MethodDescriptor, OpOverloadPacket
from aten._core.dispatch.python_kernel import PythonKernel
from aten._core.tensor.tensor import Tensor
from aten.dispatch import DispatchKey, DispatchKeySet, FallthroughKernel
from aten.registry import ops
from aten.schema import FunctionSchema


@pytest.fixture
def tensor():
    return make_tensor()


# Calls


def test_a_call_reaches_the_kernel_with_every_argument(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, lambda x, by, *, negate: (x, by, negate))
    assert op(tensor) == (tensor, 2.0, False)
    assert op(tensor, 3.0, negate=True) == (tensor, 3.0, True)
    assert op(x=tensor, by=4.0) == (tensor, 4.0, False)


def test_kernels_need_no_parameters_for_arguments_at_their_defaults(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, lambda x: x)
    assert op(tensor) is tensor
    with pytest.raises(TypeError, match="positional argument"):
        op(tensor, 3.0)


def test_kernels_may_ask_for_the_key_set_and_the_operator(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, PythonKernel(lambda *args: args, with_keyset=True, with_op=True))
    keys, called, x, by = op(tensor)[:4]
    assert keys.highest_priority() is DispatchKey.CPU
    assert (called, x, by) == (op, tensor, 2.0)


def test_an_exception_in_a_kernel_reaches_the_caller_and_leaks_nothing(tensor):
    op = make_operator()

    def fail(x, by, *, negate):
        raise KeyError(by)

    op.register(DispatchKey.CPU, fail)
    for call in (op, OpOverloadPacket("", "scale", lambda packet: [op])):
        before = sys.getrefcount(tensor)
        for _ in range(10):
            with pytest.raises(KeyError):
                call(tensor)
        assert sys.getrefcount(tensor) == before


def test_calls_keep_no_references(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, lambda x, by, *, negate: None)
    marker = 1e300
    before = sys.getrefcount(tensor), sys.getrefcount(marker)
    for _ in range(100):
        op(tensor, marker, negate=False)
    assert (sys.getrefcount(tensor), sys.getrefcount(marker)) == before


def test_more_arguments_than_fit_on_the_c_stack(tensor):
    arguments = ", ".join(f"int a{number}={number}" for number in range(100))
    op = make_operator(f"many(Tensor x, {arguments}) -> Any")
    op.register(DispatchKey.CPU, lambda x, *rest: rest)
    packet = OpOverloadPacket("", "many", lambda packet: [op])
    assert op(tensor) == packet(tensor) == tuple(range(100))


@pytest.mark.parametrize("schema", ["f(Tensor[] x) -> Any", "f(Tensor?[] x) -> Any"])
def test_tensors_in_lists_give_their_keys(schema, tensor):
    op = make_operator(schema)
    op.register(DispatchKey.CPU, answer("cpu"))
    assert op([tensor, tensor]) == "cpu"
    assert op((tensor,)) == "cpu"


def test_without_tensors_the_device_argument_decides_and_cpu_is_the_default():
    op = make_operator("make(int n, *, Device? device=None) -> Any")
    op.register(DispatchKey.CPU, answer("cpu"))
    op.register(DispatchKey.Meta, answer("meta"))
    op.register(DispatchKey.PrivateUse1, answer("mine"))
    assert op(3) == "cpu"
    assert op(3, device="meta") == "meta"
    assert op(3, device="privateuseone:1") == "mine"


def test_endless_recursion_is_an_error_not_a_crash(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, lambda x, by, *, negate: op(x))
    packet = OpOverloadPacket("test", "scale", lambda packet: [op])
    op_through_packet = make_operator()
    op_through_packet.register(DispatchKey.CPU, lambda x, by, *, negate: packet(x))
    for call in (op, op_through_packet):
        with pytest.raises(RecursionError):
            call(tensor)


def test_a_missing_kernel_names_operator_key_and_what_is_registered(tensor):
    op = make_operator()
    op.register(DispatchKey.CUDA, answer(1), "cuda.py:7")
    with pytest.raises(NotImplementedError) as caught:
        op(tensor)
    assert str(caught.value) == (
        f"{op.namespace}::scale: no kernel for the dispatch key CPU; "
        "kernels are registered for: CUDA (cuda.py:7)"
    )


# Packets and methods


def test_the_first_overload_that_fits_is_called(tensor):
    first = make_operator("pick.Tensor(Tensor x, Tensor y) -> Any")
    second = make_operator("pick.str(Tensor x, str y) -> Any")
    packet = OpOverloadPacket("test", "pick", lambda packet: [first, second])
    first.register(DispatchKey.CPU, answer("Tensor"))
    second.register(DispatchKey.CPU, answer("str"))
    assert packet(tensor, tensor) == "Tensor"
    assert packet(tensor, "a") == "str"
    assert packet.overloads() == ["Tensor", "str"]
    assert packet.Tensor is first
    assert packet.__doc__ == f"{first.__doc__}\n{second.__doc__}"


@pytest.mark.parametrize("first", [2, 2.5, aten.ones(2)], ids=str)
def test_number_slots_reach_the_overload_that_takes_the_operands(first):
    """Whatever kind of operand the slot learns from, and as methods and functions would."""
    ops.aten.rsub.refresh()
    ops.aten.pow.refresh()
    x, other = aten.tensor([1.0, 3.0]), aten.tensor([2.0, 2.0])
    x.__rsub__(first), x**first
    lines = []
    with dispatch.trace_dispatch(lines):
        for operand in (3, 0.5, other, 3, aten.tensor(2.0)):
            given = aten.tensor(operand) if not isinstance(operand, aten.Tensor) else operand
            assert aten.equal(x.__rsub__(operand), given - x)
            assert aten.equal(x**operand, aten.pow(x, operand))
    called = Counter(line.split()[0] for line in lines if line.endswith("(direct)"))
    assert (called["aten::rsub.Scalar"], called["aten::rsub.Tensor"]) == (3, 2)
    assert (called["aten::pow.Tensor_Scalar"], called["aten::pow.Tensor_Tensor"]) == (6, 4)


def test_no_overload_fits(tensor):
    first = make_operator("pick.Tensor(Tensor x, Tensor y) -> Any")
    second = make_operator("pick.str(Tensor x, str y) -> Any")
    packet = OpOverloadPacket("test", "pick", lambda packet: [first, second])
    with pytest.raises(TypeError) as caught:
        packet(tensor, y=3.5)
    assert str(caught.value) == (
        "pick() received an invalid combination of arguments - got (Tensor, y=float), "
        "but expected one of:\n"
        " * (Tensor x, Tensor y)\n"
        "      didn't match because argument 'y' must be Tensor, not float\n"
        " * (Tensor x, str y)\n"
        "      didn't match because argument 'y' must be str, not float"
    )


def test_a_single_signature_says_what_is_wrong_with_it(tensor):
    functional = make_operator("relu(Tensor self) -> Any")
    out = make_operator("relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
    packet = OpOverloadPacket("test", "relu", lambda packet: [functional, out])
    for call in (packet, functional):
        with pytest.raises(TypeError, match=r"^relu\(\): argument 'input' \(position 1\) must be"):
            call("x")
        with pytest.raises(TypeError, match=r"^relu\(\) missing 1 required argument"):
            call()


def test_methods_and_packets(tensor):
    op = make_operator("shift(Tensor self, int by=1) -> Any")
    op.register(DispatchKey.CPU, lambda self, by: (self, by))
    method = MethodDescriptor(OpOverloadPacket("test", "shift", lambda packet: [op]))
    holder = type("Holder", (), {"shift": method})
    assert holder.shift is method
    assert method(tensor, 3) == (tensor, 3)
    assert method.__get__(tensor, Tensor)(by=4) == (tensor, 4)
    with pytest.raises(TypeError, match="must be Tensor, not Holder"):
        holder().shift()


def test_names_and_representations():
    op = make_operator("add.Tensor(Tensor self, Tensor other) -> Any")
    space = op.namespace
    assert op.name == op._opname == "add"
    assert op.qualified_name == f"{space}::add.Tensor"
    assert op.__name__ == "add.Tensor"
    assert repr(op) == f"<OpOverload(op='{space}.add', overload='Tensor')>"
    assert str(op._schema.name) == f"{space}::add.Tensor"
    assert make_operator()._overloadname == "default"


def test_refreshed_packets_ask_again(tensor):
    overloads = [make_operator()]
    packet = OpOverloadPacket("test", "scale", lambda packet: overloads)
    assert packet.overloads() == ["default"]
    overloads.append(make_operator("scale.other(Tensor x) -> Any"))
    packet.refresh()
    assert packet.overloads() == ["default", "other"]
    with pytest.raises(AttributeError, match="has no overload name 'third'"):
        packet.third  # noqa: B018
    # Found once, an overload is an attribute until the packet is refreshed.
    packet.kept = "the user's"
    assert packet.other is overloads[1]
    assert vars(packet) == {"kept": "the user's", "other": overloads[1]}
    del overloads[1]
    packet.refresh()
    with pytest.raises(AttributeError, match="has no overload name 'other'"):
        packet.other  # noqa: B018
    assert vars(packet) == {"kept": "the user's"}


# Keys


def test_autograd_without_a_kernel_is_skipped_and_with_one_is_first(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, answer("cpu"))
    assert op(tensor) == "cpu"

    def derivative(keys, x, *args, **kwargs):
        after = DispatchKeySet.full_after(DispatchKey.AutogradCPU)
        return "autograd", op.redispatch(keys & after, x, *args, **kwargs)

    op.register(DispatchKey.Autograd, PythonKernel(derivative, with_keyset=True))
    assert op(tensor) == ("autograd", "cpu")
    with dispatch.ExcludeDispatchKeyGuard(DispatchKey.AutogradCPU):
        pass
    with dispatch.ExcludeDispatchKeyGuard(
        DispatchKeySet(DispatchKey.__members__["AutogradFunctionality"])
    ):
        assert op(tensor) == "cpu"


def test_included_keys_join_every_call(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, answer("cpu"))
    op.register(DispatchKey.Tracer, answer("tracer"))
    assert op(tensor) == "cpu"
    with dispatch.IncludeDispatchKeyGuard(DispatchKey.Tracer):
        assert op(tensor) == "tracer"
        with dispatch.ExcludeDispatchKeyGuard(DispatchKey.Tracer):
            assert op(tensor) == "cpu"


def test_fallthrough_goes_on_to_the_next_key(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, answer("cpu"))
    op.register(DispatchKey.Tracer, FallthroughKernel())
    op.register(DispatchKey.AutogradCPU, FallthroughKernel())
    # Not all backends fall through here, so the mask cannot take autograd off.
    op.register(DispatchKey.AutogradCUDA, answer("autograd"))
    with dispatch.IncludeDispatchKeyGuard(DispatchKey.Tracer):
        assert op(tensor) == "cpu"


def test_nothing_left_after_fallthrough_is_an_error(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, FallthroughKernel())
    with pytest.raises(NotImplementedError, match="no kernel for the dispatch key Undefined"):
        op(tensor)


def test_a_layer_that_changes_meaning_is_not_skipped(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, answer("cpu"))
    with (
        dispatch.IncludeDispatchKeyGuard(DispatchKey.ZeroTensor),
        pytest.raises(NotImplementedError, match="ZeroTensor"),
    ):
        op(tensor)


def test_redispatch_uses_the_given_keys_only(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, lambda x, by, *, negate: ("cpu", by, negate))
    op.register(DispatchKey.PrivateUse1, lambda x, by, *, negate: ("mine", by, negate))
    keys = DispatchKeySet(DispatchKey.PrivateUse1)
    assert op.redispatch(keys, tensor, 3.0, negate=True) == ("mine", 3.0, True)
    with pytest.raises(TypeError, match=r"scale\(\) missing"):
        op.redispatch(keys)


def test_threads_dispatch_on_their_own_sets(tensor):
    op = make_operator()
    op.register(DispatchKey.CPU, answer("cpu"))
    op.register(DispatchKey.Tracer, answer("tracer"))
    seen = []
    with dispatch.IncludeDispatchKeyGuard(DispatchKey.Tracer):
        thread = threading.Thread(target=lambda: seen.append(op(tensor)))
        thread.start()
        thread.join()
        assert op(tensor) == "tracer"
    assert seen == ["cpu"]
    assert not thread_included()


def test_device_types_of_backends():
    assert device_type_of_backend("CPU") == 0
    with pytest.raises(ValueError, match="unknown backend component"):
        device_type_of_backend("cpu")


# Traces


def traced_example(tensor):
    inner, outer = make_operator("inner(Tensor x) -> Any"), make_operator()
    inner.register(DispatchKey.CPU, named("on_cpu"), "kernels.py:1")

    def composite(x):
        return inner(x)

    outer.register(DispatchKey.CompositeImplicitAutograd, composite, "kernels.py:2")
    outer.register(DispatchKey.Tracer, FallthroughKernel(), "kernels.py:3")
    with dispatch.IncludeDispatchKeyGuard(DispatchKey.Tracer):
        outer(tensor)
    return inner.namespace, outer.namespace


def test_a_trace_shows_every_key_the_kernel_its_place_and_why(tensor):
    lines = []
    with dispatch.trace_dispatch(lines):
        inner, outer = traced_example(tensor)
    text = "\n".join(lines).replace(f"{inner}::", "test::").replace(f"{outer}::", "test::")
    assert text + "\n" == (GOLDEN / "dispatch_trace.txt").read_text(encoding="utf-8")


def test_traces_nest_stop_and_go_to_files(tensor, tmp_path, capsys):
    op = make_operator()
    op.register(DispatchKey.CPU, answer(1))
    outer, inner = [], []
    with dispatch.trace_dispatch(outer):
        with dispatch.trace_dispatch(inner):
            op(tensor)
        op(tensor)
    op(tensor)
    assert outer == inner
    path = tmp_path / "trace.txt"
    with path.open("w") as file, dispatch.trace_dispatch(file):
        op(tensor)
    assert path.read_text().splitlines() == outer
    with dispatch.trace_dispatch():
        op(tensor)
    assert capsys.readouterr().err.splitlines() == outer


def test_a_trace_shows_that_a_kernel_is_missing_and_recovers_its_depth(tensor):
    op = make_operator()
    failing = make_operator()

    def fail(x, by, *, negate):
        raise KeyError

    failing.register(DispatchKey.CPU, fail, "kernels.py:1")
    lines = []
    with dispatch.trace_dispatch(lines):
        with pytest.raises(NotImplementedError):
            op(tensor)
        with pytest.raises(KeyError):
            failing(tensor)
        with pytest.raises(KeyError):
            failing(tensor)
    assert lines[1] == f"{op.qualified_name}  CPU  no kernel  (missing)"
    assert not any(line.startswith(" ") for line in lines)


def test_the_environment_variable_traces_every_thread():
    program = (
        "import threading\n"
        "from aten import dispatch\n"
        "from aten._core.dispatch.dispatcher import OpOverload\n"
        "op = OpOverload('test', 'make', '', 'make(int n) -> Any')\n"
        "op.register(dispatch.DispatchKey.CPU, lambda n: n, 'kernels.py:1')\n"
        "thread = threading.Thread(target=op, args=(1,))\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    for value, expected in (("1", 2), ("0", 0)):
        finished = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ATEN_SHOW_DISPATCH_TRACE": value},
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(finished.stderr.splitlines()) == expected


def test_a_call_in_the_middle_of_the_first_one_finds_a_whole_operator(monkeypatch):
    # As when other threads make the first calls as well.
    op = make_operator("pick(Tensor? x, Tensor y) -> Any")
    for key in (DispatchKey.CPU, DispatchKey.Meta):
        op.register(key, answer(key.name))
    there = aten.empty(2, device="meta")
    type_class = type(FunctionSchema.parse("any::one(Tensor x) -> Any").arguments[0].type)
    text, calls = type_class.__str__, []

    def overtaken(self):
        if len(calls) < 20:
            place = len(calls)
            calls.append(None)
            calls[place] = op(None, there)
        return text(self)

    monkeypatch.setattr(type_class, "__str__", overtaken)
    assert op(None, there) == "Meta"
    assert set(calls) == {"Meta"}
