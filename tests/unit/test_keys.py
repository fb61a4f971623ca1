"""Dispatch keys, key sets and the thread's include and exclude sets."""

import pickle
import threading

import pytest

from aten._core.base.keys import (
    BACKENDS,
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    parse_dispatch_key,
    runtime_keys,
    thread_excluded,
    thread_included,
)


def test_names_are_torchs():
    for name in ("CPU", "SparseCsrCUDA", "QuantizedMeta", "AutogradPrivateUse1", "ADInplaceOrView"):
        assert getattr(DispatchKey, name).name == name
    assert str(DispatchKey.CPU) == "DispatchKey.CPU"
    assert parse_dispatch_key("AutocastCPU") is DispatchKey.AutocastCPU
    with pytest.raises(ValueError, match="could not parse dispatch key: Cpu"):
        parse_dispatch_key("Cpu")


def test_every_runtime_key_has_its_own_slot_and_is_highest_in_its_own_set():
    for slot, key in enumerate(runtime_keys()):
        assert key.slot == slot
        assert DispatchKeySet(key).highest_priority() is key


def test_members_are_distinct_and_cannot_be_made():
    values = [key.value for key in DispatchKey.__members__.values()]
    assert len(set(values)) == len(values)
    with pytest.raises(TypeError, match="fixed set of members"):
        DispatchKey()


@pytest.mark.parametrize(
    ("keys", "highest"),
    [
        (["CPU", "CUDA"], "CUDA"),
        (["CPU", "Meta"], "Meta"),
        (["CPU", "AutogradCPU"], "AutogradCPU"),
        (["CPU", "SparseCUDA"], "SparseCUDA"),
        (["AutogradCPU", "Python"], "AutogradCPU"),
        (["AutogradCPU", "Functionalize", "PythonDispatcher"], "PythonDispatcher"),
        (["CPU", "ADInplaceOrView", "AutogradCPU"], "AutogradCPU"),
        (["CPU", "Functionalize", "ADInplaceOrView"], "ADInplaceOrView"),
        ([], "Undefined"),
        (["Dense"], "Undefined"),
    ],
)
def test_priority(keys, highest):
    bits = DispatchKeySet(*(parse_dispatch_key(name) for name in keys))
    assert bits.highest_priority().name == highest


def test_set_operations():
    both = DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutogradCPU)
    assert repr(both) == "DispatchKeySet(CPU, AutogradCPU)"
    assert [key.name for key in both] == ["AutogradCPU", "CPU"]
    assert both.has(DispatchKey.CPU)
    assert not both.has(DispatchKey.CUDA)
    assert both - DispatchKeySet(DispatchKey.AutogradCPU) == DispatchKeySet(DispatchKey.CPU)
    assert both & DispatchKeySet(DispatchKey.Sparse) == DispatchKeySet()
    assert DispatchKeySet.from_raw_repr(both.raw_repr()) == both
    assert len({both, DispatchKeySet.from_raw_repr(both.raw_repr())}) == 1
    assert pickle.loads(pickle.dumps(both)) == both
    assert pickle.loads(pickle.dumps(DispatchKey.Meta)) is DispatchKey.Meta


def test_removing_a_functionality_keeps_the_backend():
    keys = DispatchKeySet(DispatchKey.CPU, DispatchKey.AutogradCPU)
    assert keys.remove(DispatchKey.AutogradCPU) == DispatchKeySet(DispatchKey.CPU)
    assert keys.remove(DispatchKey.CPU).highest_priority() is DispatchKey.AutogradCPU


def test_full_after_leaves_what_a_kernel_redispatches_to():
    after = DispatchKeySet.full_after(DispatchKey.AutogradCPU)
    keys = DispatchKeySet(DispatchKey.AutogradCUDA, DispatchKey.CUDA, DispatchKey.Tracer)
    assert (keys & after) == DispatchKeySet(DispatchKey.CUDA)


def test_aliases_do_not_fit_into_a_set():
    with pytest.raises(ValueError, match="CompositeImplicitAutograd is an alias"):
        DispatchKeySet(DispatchKey.CompositeImplicitAutograd)
    with pytest.raises(TypeError, match="expected DispatchKeySet or DispatchKey, not str"):
        DispatchKeySet("CPU")


def test_every_backend_has_every_per_backend_functionality():
    for backend, _ in BACKENDS:
        for prefix in ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd"):
            assert parse_dispatch_key(prefix + backend).backend == backend


def test_guards_nest_and_restore():
    python, tracer = DispatchKey.Python, DispatchKey.Tracer
    with IncludeDispatchKeyGuard(python), ExcludeDispatchKeyGuard(tracer):
        assert thread_included() == DispatchKeySet(python)
        assert thread_excluded() == DispatchKeySet(tracer)
        with IncludeDispatchKeyGuard(DispatchKeySet(python, tracer)):
            assert thread_included() == DispatchKeySet(python, tracer)
        assert thread_included() == DispatchKeySet(python)
    assert not thread_included()
    assert not thread_excluded()


def test_one_guard_can_be_entered_twice():
    guard = IncludeDispatchKeyGuard(DispatchKey.Python)
    with guard:
        with guard:
            pass
        assert thread_included().has(DispatchKey.Python)
    assert not thread_included()


def test_guards_restore_after_an_exception():
    with pytest.raises(KeyError), IncludeDispatchKeyGuard(DispatchKey.Python):
        raise KeyError
    assert not thread_included()


def test_threads_have_their_own_sets():
    seen = []
    with IncludeDispatchKeyGuard(DispatchKey.Python):
        thread = threading.Thread(target=lambda: seen.append(thread_included()))
        thread.start()
        thread.join()
    assert seen == [DispatchKeySet()]
