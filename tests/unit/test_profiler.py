"""What a profile records: every operator, inside of what called it, and nothing when off."""

from __future__ import annotations

import doctest
import gc
import inspect
import subprocess
import sys
import threading

import pytest
from profiled_programs import BIAS, WEIGHT, X, check_nesting, names, recorded, tree

import aten
import aten.nn.functional as functional
from aten._core.dispatch import registrations
from aten._core.dispatch.recording import RecordingKernel, active_session
from aten.dispatch import (
    DispatchKey,
    DispatchKeySet,
    IncludeDispatchKeyGuard,
    check_invariants,
    dump_registrations,
    trace_dispatch,
)
from aten.library import _scoped_library
from aten.profiler import profile, record_function
from aten.registry import materialized, operator


def test_operators_are_recorded_however_they_are_called():
    tensors = [aten.ones(2), aten.ones(2)]

    def program():
        tensors[0] + tensors[1]
        tensors[0].add(tensors[1])
        aten.add(*tensors)
        aten.ops.aten.add.Tensor(*tensors)
        tensors[0].add_(1.0)
        2.0 - tensors[0]
        tensors[0][0]
        tensors[0][0] = 3.0

    assert names(recorded(program).events()) == [
        *["aten::add"] * 4,
        "aten::add_",
        "aten::rsub",
        "aten::select",
        "aten::select",
        "aten::fill_",
    ]


def test_what_a_composite_calls_is_inside_of_it():
    events = recorded(lambda: functional.linear(X, WEIGHT, BIAS)).events()
    assert tree(events) == [("aten::linear", [("aten::t", []), ("aten::addmm", [])])]
    check_nesting(events)
    linear, _, addmm = events
    assert list(addmm.ancestors()) == [linear]
    assert linear.self_cpu_time_total < linear.cpu_time_total


def test_compiled_composites_may_be_left_whole():
    functional.linear(X, WEIGHT, BIAS)
    prof = recorded(lambda: functional.linear(X, WEIGHT, BIAS), split_composites=False)
    assert tree(prof.events()) == [("aten::linear", [])]


def test_nested_events_of_a_larger_program():
    def program():
        image = aten.ones(2, 3, 8, 8)
        functional.conv2d(image, aten.ones(4, 3, 3, 3)).relu().mean((2, 3)).softmax(1)
        functional.scaled_dot_product_attention(*[aten.ones(1, 2, 4, 4)] * 3)
        aten.einsum("ij,jk->ik", X, X.t())

    prof = recorded(program)
    check_nesting(prof.events())
    assert {"aten::conv2d", "aten::convolution", "aten::_softmax", "aten::mm"} <= set(
        names(prof.events())
    )
    roots = sum(event.cpu_time_total for event in prof.events() if event.cpu_parent is None)
    assert prof.events().self_cpu_time_total == pytest.approx(roots)


@pytest.mark.parametrize("options", [{}, {"record_shapes": True}, {"with_stack": True}])
@pytest.mark.parametrize("split", [True, False])
def test_results_are_the_same_as_without(options, split):
    def program():
        x = aten.linspace(-3, 3, 60).reshape(3, 4, 5)
        y = x.reshape(3, 20)
        y[:, 1:3] = functional.gelu(y[:, 4:6])
        z = functional.layer_norm(functional.linear(x, aten.ones(7, 5)), [7])
        return [x, y, z, x.softmax(1), x.view(-1), x.transpose(0, 2).contiguous(), x.std(1)]

    def facts(tensors):
        pointers = [one.untyped_storage().data_ptr() for one in tensors]
        return [
            (one.tolist(), one.stride(), one.dtype, pointers.index(pointer))
            for one, pointer in zip(tensors, pointers, strict=True)
        ]

    expected = facts(program())
    with profile(profile_memory=True, split_composites=split, **options):
        assert facts(program()) == expected


def rows():
    return {op.qualified_name: op.row_contents() for op in materialized()}


def recording_kernels():
    return [one for one in gc.get_objects() if type(one) is RecordingKernel]


def test_nothing_is_left_behind():
    functional.linear(X, WEIGHT, BIAS)
    before, registered = rows(), dump_registrations("addmm")
    with profile():
        functional.linear(X, WEIGHT, BIAS)
        assert rows()["aten::linear"] == before["aten::linear"]
        check_invariants()
        assert recording_kernels()
        assert not operator("aten::addmm").is_plain(X)
    after = rows()
    assert {name: after[name] for name in before} == before
    assert dump_registrations("addmm") == registered
    assert active_session() is None
    assert recording_kernels() == []
    assert operator("aten::addmm").is_plain(X)
    check_invariants()


def test_nothing_is_left_behind_by_an_exception():
    before = rows()

    def program():
        X + 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        recorded(program, profile_memory=True)
    after = rows()
    assert {name: after[name] for name in before} == before
    assert active_session() is None
    with profile() as prof:
        X + 1
    assert names(prof.events()) == ["aten::add"]


def test_an_interrupt_while_a_profile_ends_leaves_kernels_that_pass_calls_on(monkeypatch):
    x = aten.ones(3)
    exchange = registrations.change_rows

    def interrupted(function):
        if function.__name__ == "_recorded":
            raise KeyboardInterrupt
        exchange(function)

    prof = profile()
    monkeypatch.setattr(registrations, "change_rows", interrupted)
    with pytest.raises(KeyboardInterrupt), prof:
        x + 1
    del prof
    gc.collect()
    assert recording_kernels()
    assert (x + 1).tolist() == [2, 2, 2]
    monkeypatch.undo()
    with profile() as prof:
        x + 1
    assert names(prof.events()) == ["aten::add"]
    assert recording_kernels() == []
    check_invariants()


def test_calls_find_no_kernel_anew_after_a_profile(monkeypatch):
    """The rows are as they were, so that the next call is as fast as the one before."""
    functional.linear(X, WEIGHT, BIAS)
    with profile():
        functional.linear(X, WEIGHT, BIAS)
    asked = []
    resolve = registrations.Registrations.resolve
    monkeypatch.setattr(
        registrations.Registrations,
        "resolve",
        lambda self, key: asked.append(key) or resolve(self, key),
    )
    functional.linear(X, WEIGHT, BIAS)
    assert asked == []


def test_an_operator_that_raises_ends_its_event():
    with profile() as prof:
        with pytest.raises(RuntimeError):
            aten.mm(X, X)
        with pytest.raises(RuntimeError):
            functional.linear(X, X.t())
        X + 1
    assert tree(prof.events())[-1] == ("aten::add", [])
    assert tree(prof.events())[0] == ("aten::mm", [])
    check_nesting(prof.events())


def test_an_operator_of_ones_own_is_the_parent_of_what_it_calls():
    with _scoped_library("profiled", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CPU")
        prof = recorded(lambda: aten.ops.profiled.twice(X))
    assert tree(prof.events()) == [("profiled::twice", [("aten::add", [])])]


def test_a_call_that_is_handed_on_is_one_event():
    with _scoped_library("profiled", "DEF") as library:
        library.define("once(Tensor x) -> Tensor")
        library.impl("once", lambda x: x.neg(), "CPU")

        def before(keys, x):
            after = keys & DispatchKeySet.full_after(DispatchKey.PreDispatch)
            return aten.ops.profiled.once.default.redispatch(after, x)

        library.impl("once", before, "PreDispatch", with_keyset=True)
        with IncludeDispatchKeyGuard(DispatchKey.PreDispatch):
            prof = recorded(lambda: aten.ops.profiled.once(X))
    assert tree(prof.events()) == [("profiled::once", [("aten::neg", [])])]


def test_an_operator_that_calls_itself():
    with _scoped_library("profiled", "DEF") as library:
        library.define("down(Tensor x, int n) -> Tensor")
        down = aten.ops.profiled.down
        library.impl("down", lambda x, n: down(x, n - 1) if n else x + 1, "CPU")
        prof = recorded(lambda: down(X, 3))
    events = prof.events()
    assert names(events) == [*["profiled::down"] * 4, "aten::add"]
    check_nesting(events)
    entry = next(one for one in prof.key_averages() if one.key == "profiled::down")
    assert entry.count == 4
    assert entry.cpu_time_total == events[0].cpu_time_total
    assert entry.self_ns == sum(event.self_ns for event in events[:4])


def test_a_kernel_registered_meanwhile_is_recorded_and_stays():
    x = aten.ones(2)
    with profile() as prof, _scoped_library("aten", "IMPL") as library:
        x.cosh()
        with pytest.warns(UserWarning, match="overridden"):
            library.impl("cosh", lambda self: self.neg(), "CPU")
        assert x.cosh().tolist() == [-1, -1]
    assert tree(prof.events()) == [
        ("aten::cosh", []),
        ("aten::cosh", [("aten::neg", [])]),
    ]
    assert x.cosh().tolist() != [-1, -1]
    check_invariants()


def test_a_trace_and_a_profile_at_once():
    lines = []
    with profile() as prof, trace_dispatch(lines):
        functional.linear(X, WEIGHT, BIAS)
    assert names(prof.events()) == ["aten::linear", "aten::t", "aten::addmm"]
    assert any("aten::addmm  CPU" in line for line in lines)


def test_profiles_are_not_nested():
    with profile() as outer:
        X + 1
        with pytest.raises(RuntimeError, match="active already"), profile():
            pass
        inner = profile()
        with pytest.raises(RuntimeError, match="active already"):
            inner.start()
        with pytest.raises(RuntimeError, match="started already"):
            outer.start()
        X - 1
    assert names(outer.events()) == ["aten::add", "aten::sub"]


def test_events_are_shown_only_after_the_profile():
    prof = profile()
    with pytest.raises(RuntimeError, match="nothing to show"):
        prof.events()
    with prof, pytest.raises(RuntimeError, match="nothing to show"):
        prof.key_averages()
    assert prof.events() == []
    assert prof.key_averages().table(row_limit=-1).splitlines()[-2].startswith("Self CPU time")


def test_a_profile_may_be_started_again():
    prof = profile()
    for count in (1, 2):
        prof.start()
        for _ in range(count):
            X + 1
        prof.stop()
        prof.stop()
        assert len(prof.events()) == count


# Blocks


def test_blocks_hold_what_happens_in_them():
    @record_function("twice")
    def twice(x):
        return x + x

    def program():
        with record_function("outer", "some text"):
            twice(X)
            with record_function("inner"):
                X.neg()

    events = recorded(program).events()
    assert tree(events) == [
        ("outer", [("twice", [("aten::add", [])]), ("inner", [("aten::neg", [])])])
    ]
    assert [event.is_user_annotation for event in events] == [True, True, False, True, False]
    assert events[0].args == "some text"
    check_nesting(events)


def test_blocks_without_a_profile_do_nothing():
    with record_function("alone"):
        block = record_function("other")
        block.__enter__()
    with profile() as prof:
        block.__exit__(None, None, None)
    assert prof.events() == []
    with pytest.raises(TypeError, match="'name' must be str, not int"):
        record_function(1)


def test_a_block_that_raises_is_closed():
    with profile() as prof:
        with pytest.raises(KeyError), record_function("bad"):
            raise KeyError("bad")
        X + 1
    assert tree(prof.events()) == [("bad", []), ("aten::add", [])]


def test_blocks_left_out_of_order_stay_nested():
    with profile() as prof:
        outer, inner = record_function("outer"), record_function("inner")
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        X + 1
        inner.__exit__(None, None, None)
        X - 1
    assert tree(prof.events()) == [("outer", [("inner", [])]), ("aten::add", []), ("aten::sub", [])]
    check_nesting(prof.events())


def test_blocks_that_outlast_the_profile_end_with_it():
    block = record_function("open")
    with profile() as prof:
        block.__enter__()
        X + 1
    (event, inner) = prof.events()
    block.__exit__(None, None, None)
    assert event.end_ns >= inner.end_ns
    assert event.time_range.end == pytest.approx(prof.events().duration_us)
    X + 1
    assert len(prof.events()) == 2


def test_a_profile_that_begins_and_ends_inside_of_an_operator():
    prof = profile()
    with _scoped_library("profiled", "DEF") as library:
        library.define("begins(Tensor x) -> Tensor")
        library.define("ends(Tensor x) -> Tensor")

        def begins(x):
            prof.start()
            return x + 1

        def ends(x):
            prof.stop()
            return x - 1

        library.impl("begins", begins, "CPU")
        library.impl("ends", ends, "CPU")
        aten.ops.profiled.begins(X)
        aten.ops.profiled.ends(X)
    assert tree(prof.events()) == [("aten::add", []), ("profiled::ends", [])]
    check_nesting(prof.events())


# Threads


def test_each_thread_has_events_of_its_own():
    ready = threading.Barrier(3)

    def work(function):
        ready.wait(10)
        with record_function(function.__name__):
            for _ in range(200):
                function(X)

    functions = [aten.sin, aten.cos, aten.tanh]
    threads = [
        threading.Thread(target=work, args=(one,), name=f"of {one.__name__}") for one in functions
    ]
    with profile(profile_memory=True) as prof:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        X + 1
    check_nesting(prof.events())
    found = {root[0]: root[1] for root in tree(prof.events())}
    assert found == {
        **{one.__name__: [(f"aten::{one.__name__}", [])] * 200 for one in functions},
        "aten::add": [],
    }
    assert len({event.thread for event in prof.events()}) == 4
    counts = {entry.key: entry.count for entry in prof.key_averages()}
    assert counts["aten::sin"] == counts["aten::cos"] == counts["aten::tanh"] == 200


def test_a_thread_that_runs_already_is_recorded_while_the_profile_is_on():
    go, done, stop = threading.Event(), threading.Event(), threading.Event()

    def work():
        X.sinh()
        go.wait(10)
        X.cosh()
        done.set()
        stop.wait(10)
        X.tanh()

    thread = threading.Thread(target=work)
    thread.start()
    with profile() as prof:
        go.set()
        done.wait(10)
    stop.set()
    thread.join()
    assert "aten::cosh" in names(prof.events())
    assert "aten::tanh" not in names(prof.events())


def test_profiles_begin_and_end_while_other_threads_compute():
    end = threading.Event()
    problems = []

    def work():
        expected = functional.linear(X, WEIGHT, BIAS).tolist()
        while not end.is_set():
            with record_function("step"):
                if functional.linear(X, WEIGHT, BIAS).tolist() != expected:
                    problems.append("another result")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(60):
            with profile(profile_memory=turn % 2 == 0, record_shapes=turn % 3 == 0) as prof:
                X + 1
            check_nesting(prof.events())
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert problems == []
    assert active_session() is None
    check_invariants()


def test_operators_called_by_a_finalizer_are_inside_of_what_it_interrupts():
    class Last:
        def __del__(self):
            X.neg()

    def program():
        with record_function("block"):
            Last()
        X + 1

    assert tree(recorded(program, record_shapes=True).events()) == [
        ("block", [("aten::neg", [])]),
        ("aten::add", []),
    ]


def test_the_profiler_is_imported_when_it_is_asked_for():
    code = "import aten, sys; print([m for m in sys.modules if m.startswith('aten.profiler')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_names_of_torch_that_are_not_here():
    with pytest.raises(AttributeError, match="how torch works inside"):
        _ = aten.profiler.itt
    with pytest.raises(AttributeError, match="did you mean 'schedule'"):
        _ = aten.profiler.shedule


PUBLIC = [getattr(aten.profiler, name) for name in aten.profiler.__all__]


def test_examples_give_what_they_show(capsys):
    runner = doctest.DocTestRunner(verbose=False)
    finder = doctest.DocTestFinder(exclude_empty=False)
    bare = []
    for one in PUBLIC:
        module = inspect.getmodule(one)
        for example in finder.find(one, globs={"aten": aten}, module=module):
            inner = example.name.rpartition(".")[2]
            described = example.docstring and not inner.startswith("_")
            if not example.examples and described and _is_function(one, example.name):
                bare.append(example.name)
            runner.run(example)
    assert bare == []
    failed, run = runner.summarize(verbose=False)
    assert failed == 0, capsys.readouterr().out[-3000:]
    assert run > 40


def _is_function(owner, name):
    found = getattr(owner, name.rpartition(".")[2], owner)
    return inspect.isfunction(found) or (inspect.isclass(found) and found in PUBLIC[3:])
