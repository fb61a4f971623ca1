"""The collector of cycles rests while programs are made, and goes on as it was."""

import gc
import os
import threading
import warnings

import pytest

import aten
from aten._core.memory.collecting import Resting, resting


@pytest.fixture
def collects():
    before = gc.isenabled()
    yield
    (gc.enable if before else gc.disable)()


def test_it_goes_on_when_the_last_one_leaves(collects):
    gc.enable()
    made = Resting()
    with made:
        assert not gc.isenabled()
        with made:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off(collects):
    gc.disable()
    with Resting():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_it_goes_on_after_an_error(collects):
    gc.enable()
    with pytest.raises(KeyError), Resting():
        raise KeyError
    assert gc.isenabled()


def test_threads_that_overlap(collects):
    gc.enable()
    made, inside, leave = Resting(), threading.Event(), threading.Event()

    def work():
        with made:
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=work)
    with made:
        other.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    other.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_child_does_not_wait_for_threads_that_it_does_not_have(collects):
    gc.enable()
    inside, leave = threading.Event(), threading.Event()

    def work():
        with resting:
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=work)
    other.start()
    assert inside.wait(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        collects_now = gc.isenabled()
        with resting:
            rests = not gc.isenabled()
        os._exit(0 if collects_now and rests and gc.isenabled() else 1)
    leave.set()
    other.join()
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()


def test_programs_leave_it_as_it_was(collects):
    gc.enable()
    program = aten.export.load("digits_cnn.pt2")
    assert gc.isenabled()
    compiled = aten.compile(lambda x: program.module()(x).exp())
    for _ in range(2):
        compiled(aten.ones(2, 1, 8, 8))
        assert gc.isenabled()
    failing = aten.compile(lambda x: x.relu() @ x, fullgraph=True)
    with pytest.raises(RuntimeError):
        failing(aten.ones(2, 3))
    assert gc.isenabled()
    assert resting._count == 0
