"""When a profile records: steps, cycles, activities."""

from __future__ import annotations

import pytest
from profiled_programs import X, names, tree

import aten
from aten._core.dispatch.recording import active_session
from aten.profiler import ProfilerAction, ProfilerActivity, profile, schedule


def test_a_schedule():
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    named = [plan(step).name for step in range(11)]
    cycle = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
    assert named == ["NONE", *cycle, *cycle, "NONE", "NONE"]
    forever = schedule(wait=0, warmup=0, active=1)
    assert {forever(step) for step in range(9)} == {ProfilerAction.RECORD_AND_SAVE}
    hurried = schedule(wait=2, warmup=0, active=1, skip_first_wait=1)
    assert [hurried(step).name for step in range(4)] == [
        *("RECORD_AND_SAVE", "NONE", "NONE", "RECORD_AND_SAVE")
    ]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"wait": -1, "warmup": 0, "active": 1}, "'wait' must not be negative, but it is -1"),
        ({"wait": 0, "warmup": 0, "active": 0}, "'active' must be at least 1"),
    ],
)
def test_schedules_that_mean_nothing(numbers, words):
    with pytest.raises(ValueError, match=words):
        schedule(**numbers)


def test_steps_of_a_scheduled_profile():
    ready, steps = [], []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)

    def on_trace_ready(prof):
        assert active_session() is None
        ready.append(tree(prof.events()))
        steps.append([one.trace_name for one in prof.events() if one.is_user_annotation])

    with profile(schedule=plan, on_trace_ready=on_trace_ready) as prof:
        for step in range(12):
            assert (active_session() is not None) == (step % 4 != 0 and step < 8)
            (X.neg if step % 2 else X.exp)()
            prof.step()
    inside = [("aten::exp", []), ("aten::neg", [])]
    assert ready == [[("ProfilerStep*", inside[:1]), ("ProfilerStep*", inside[1:])]] * 2
    assert steps == [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]
    assert tree(prof.events()) == ready[-1]


def test_events_of_all_cycles():
    plan = schedule(wait=1, warmup=0, active=1, repeat=3)
    with profile(schedule=plan, acc_events=True) as prof:
        for _ in range(8):
            X.neg()
            prof.step()
    assert names(prof.events()) == [
        *("ProfilerStep*", "aten::neg", "ProfilerStep*", "aten::neg"),
        *("ProfilerStep*", "aten::neg"),
    ]
    starts = [event.start_ns for event in prof.events()]
    assert starts == sorted(starts)
    assert {event.thread for event in prof.events()} == {1}


def test_a_schedule_that_ends_within_a_cycle_is_shown():
    ready = []
    plan = schedule(wait=0, warmup=0, active=5)
    with profile(schedule=plan, on_trace_ready=ready.append) as prof:
        X.neg()
    assert ready == [prof]
    assert names(prof.events()) == ["ProfilerStep*", "aten::neg"]


def test_a_schedule_of_ones_own_that_forgets_to_save():
    plan = [ProfilerAction.RECORD, ProfilerAction.NONE].__getitem__
    with profile(schedule=plan) as prof:
        X.neg()
        with pytest.warns(UserWarning, match="RECORD followed by NONE"):
            prof.step()
    assert names(prof.events()) == ["ProfilerStep*", "aten::neg"]


def test_an_error_of_the_trace_handler_leaves_nothing_behind():
    def fail(_):
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"), profile(on_trace_ready=fail):
        X.neg()
    assert active_session() is None
    X.neg()


def test_activities():
    assert aten.profiler.supported_activities() == {ProfilerActivity.CPU}
    with pytest.warns(UserWarning, match="no CUDA here"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with (
        pytest.warns(UserWarning, match="no CUDA here"),
        pytest.raises(ValueError, match="no valid activities"),
    ):
        profile(activities=[ProfilerActivity.CUDA])
    with pytest.raises(ValueError, match="'cpu' is no ProfilerActivity"):
        profile(activities=["cpu"])
