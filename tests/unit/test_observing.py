"""The hook that tells of calls: each function once, compiled ones of some modules every time."""

from __future__ import annotations

import math
import sys

import pytest

from aten._core.dispatch.observing import CallObserver


def inner(x):
    return math.sqrt(x)


def outer(x):
    return inner(x) + inner(x)


class Log:
    """What an observer of this module's calls told."""

    def __init__(self, watches=lambda names: names is globals()):
        self.entered = []
        self.called = []
        self.observer = CallObserver(
            lambda frame, code: self.entered.append((frame.f_code is code, code.co_name)),
            lambda function: self.called.append(function),
            watches,
        )


def test_functions_are_told_once_and_compiled_ones_each_time():
    log = Log()
    log.observer.begin()
    outer(4.0)
    log.observer.end()
    outer(4.0)
    assert log.entered == [(True, "outer"), (True, "inner")]
    assert log.called.count(math.sqrt) == 2


def test_modules_that_are_not_watched():
    asked = []
    log = Log(lambda names: bool(asked.append(names)))
    log.observer.begin()
    outer(4.0)
    log.observer.end()
    assert [name for _, name in log.entered] == ["outer", "inner"]
    assert log.called == []
    assert asked == [globals()]


def test_the_profiler_of_before_is_back():
    seen = []

    def profiler(frame, event, argument):
        seen.append(event)

    sys.setprofile(profiler)
    try:
        log = Log()
        log.observer.begin()
        log.observer.end()
        assert sys.getprofile() is profiler
        inner(4.0)
    finally:
        sys.setprofile(None)
    assert "c_call" in seen


def test_observers_within_observers():
    first, second = Log(), Log()
    first.observer.begin()
    second.observer.begin()
    inner(4.0)
    second.observer.end()
    outer(4.0)
    first.observer.end()
    assert [name for _, name in second.entered] == ["inner"]
    assert [name for _, name in first.entered if name in ("outer", "inner")] == ["outer", "inner"]
    assert sys.getprofile() is None


@pytest.mark.parametrize("kind", ["entered", "called"])
def test_what_is_raised_is_raised_where_the_call_is(kind):
    class StopError(Exception):
        pass

    def refuse(*_):
        raise StopError

    told = {"entered": lambda *_: None, "called": lambda *_: None, kind: refuse}
    observer = CallObserver(told["entered"], told["called"], lambda names: names is globals())
    finalized = []

    class Held:
        def __del__(self):
            finalized.append(math.sqrt(4.0))

    def holding():
        held = Held()
        return inner(4.0), held

    def observed():
        observer.begin()
        try:
            holding()
        finally:
            observer.end()

    with pytest.raises(StopError):
        observed()
    assert sys.getprofile() is None
    assert outer(4.0) == 4.0
