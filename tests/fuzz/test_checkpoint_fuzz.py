"""Hostile checkpoints: whatever a file says, it is read or refused, and nothing is executed."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import zipfile
from collections import OrderedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aten

bounded = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def archive(pickled: bytes, **members: bytes) -> io.BytesIO:
    """A checkpoint with a pickle and storages."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", pickled)
        for number, data in members.items():
            made.writestr(f"archive/data/{number.removeprefix('_')}", data)
    return io.BytesIO(file.getvalue())


def load(pickled: bytes, **members: bytes):
    return aten.load(archive(pickled, **members))


def named(name: str) -> bytes:
    module, _, last = name.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def number(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def numbers(values) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def storage(count: int = 4, kind: str = "torch.FloatStorage", key: str = "0") -> bytes:
    return b"(" + text("storage") + named(kind) + text(key) + text("cpu") + number(count) + b"tQ"


def tensor(made: bytes, offset: int, sizes, strides) -> bytes:
    window = number(offset) + numbers(sizes) + numbers(strides) + b"\x89"
    hooks = named("collections.OrderedDict") + b")R"
    return named("torch._utils._rebuild_tensor_v2") + b"(" + made + window + hooks + b"tR"


def whole(body: bytes) -> bytes:
    return b"\x80\x02" + body + b"."


class Call:
    """What pickles as a call."""

    def __init__(self, function, *arguments):
        self.made = function, arguments

    def __reduce__(self):
        return self.made


CALLS = [
    Call(os.system, "false"),
    Call(eval, "1"),
    Call(exec, "1"),
    Call(getattr, OrderedDict, "fromkeys"),
    Call(subprocess.Popen, ["false"]),
    Call(__import__, "os"),
    Call(open, "/dev/null"),
    Call(bytearray, 1 << 40),
    Call(print, 1),
]


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("call", CALLS)
def test_calls_are_refused_by_name(call, protocol, monkeypatch):
    function = call.made[0]
    monkeypatch.setattr(os, "system", lambda *given: pytest.fail("it was called"))
    with pytest.raises(pickle.UnpicklingError, match=function.__name__):
        load(pickle.dumps([1, {"a": Call(function, *call.made[1])}], protocol))


@pytest.mark.parametrize(
    "name",
    [
        *("os.system", "posix.system", "builtins.eval", "torch.load", "torch.nn.Linear"),
        *("aten.load", "collections.defaultdict", "functools.partial", "operator.attrgetter"),
        *("torch._utils", "collections.OrderedDict.fromkeys", "builtins.set.__init__", "numpy.x"),
    ],
)
def test_names_are_refused(name):
    with pytest.raises(pickle.UnpicklingError, match=name.rpartition(".")[2]):
        load(whole(named(name)))
    module, _, last = name.rpartition(".")
    with pytest.raises(pickle.UnpicklingError, match=last):
        load(b"\x80\x04" + text(module) + text(last) + b"\x93.")


def test_what_is_read():
    """The pieces that the others damage make a tensor together."""
    made = load(whole(tensor(storage(), 1, [2], [1])), _0=bytes(16))
    assert made.tolist() == [0, 0]


WINDOWS = [
    (4, [1], [1]),
    (0, [5], [1]),
    (0, [2], [4]),
    (0, [1 << 40], [1]),
    (0, [1 << 40, 1 << 40], [1, 1]),
    (0, [1 << 40, 1 << 40], [0, 0]),
    (0, [1 << 62], [1 << 62]),
    (0, [1 << 70], [1]),
    (1 << 62, [1], [1]),
    (1 << 70, [1], [1]),
    (-1, [1], [1]),
    (0, [-1], [1]),
    (3, [2], [-1]),
    (0, [2], [1, 1]),
    (0, [1] * 70, [1] * 70),
]


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_that_leave_their_storage(window):
    with pytest.raises(pickle.UnpicklingError):
        load(whole(tensor(storage(), *window)), _0=bytes(16))


@pytest.mark.parametrize(
    ("made", "data"),
    [
        (storage(4), bytes(15)),
        (storage(4), bytes(17)),
        (storage(4), b""),
        (storage(-4), bytes(16)),
        (storage(1 << 70), bytes(16)),
        (storage(4, "torch.DoubleStorage"), bytes(16)),
        (storage(4, "torch.Tensor"), bytes(16)),
        (storage(4, "torch.Size"), bytes(16)),
        (storage(4, key="1"), bytes(16)),
        (storage(4, key="../data.pkl"), bytes(16)),
    ],
)
def test_storages_of_wrong_sizes(made, data):
    with pytest.raises(pickle.UnpicklingError):
        load(whole(tensor(made, 0, [1], [1])), _0=data)


def test_storages_of_two_types():
    both = tensor(storage(), 0, [1], [1]) + tensor(storage(4, "torch.IntStorage"), 0, [1], [1])
    with pytest.raises(pickle.UnpicklingError, match="float32 and of"):
        load(whole(both + b"\x86"), _0=bytes(16))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"N",
        b"0",
        b"t",
        b"1",
        b"(",
        b"\x87",
        b"R",
        b"NNR",
        b"a",
        b"NNa",
        b"(NNs",
        b"}(Nu",
        b"h\x05",
        b"j\xff\xff\xff\xff",
        b"Q",
        b"NQ",
        b")Q",
        b"X\xff\xff\xff\xffab",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x8b\xff\xff\xff\xff",
        b"X\x01\x00\x00\x00\xff",
        b"\x80\x07",
        b"I1\n",
        b"P0\n",
        b"(lp0\n",
        b"}N}b",
        b"\x81",
        b"\x82\x01",
        b"\xff",
        b"cos\n",
        b"}]Ns",
        b"}}Ns",
        b"\x8f(]\x90",
        b"NN\x93",
        named("collections.OrderedDict") + b")RNb",
        named("collections.OrderedDict") + b")\x81",
        named("collections.OrderedDict") + b"N\x85R",
        named("collections.OrderedDict") + b")R}" + text("items") + b"NsbN",
        named("collections.OrderedDict") + b")R}" + text("__class__") + b"Nsb",
        named("torch.Size") + text("ab") + b"\x85R",
        named("torch.FloatStorage") + b")R",
        named("torch.device") + text("nowhere") + b"\x85R",
        named("builtins.complex") + b"NN\x86R",
        named("torch._utils._rebuild_parameter") + b"NNN\x87R",
        named("torch._utils._rebuild_tensor_v2") + b")R",
        named("torch._tensor._rebuild_from_type_v2") * 2 + b")N\x87N\x86R",
    ],
)
def test_damaged_instructions(body):
    with pytest.raises(pickle.UnpicklingError):
        load(b"\x80\x02" + body + (b"" if body in (b"", b"N") else b"."))


def test_deep_nesting():
    depth = 300_000
    found = load(whole(b"]" * depth + b"a" * (depth - 1)))
    for _ in range(depth - 1):
        found = found[0]
    assert found == []
    found = load(whole(b")" + b"\x85" * depth))
    for _ in range(depth):
        (found,) = found
    assert found == ()


def test_keys_cannot_be_deep_or_wide():
    deep = b")" + b"\x85" * 100_000
    wide = b")" + b"".join(b"q\x00h\x00\x86" for _ in range(60))
    for key in (deep, wide, b"]", b"}"):
        for body in (b"}" + key + b"Ns", b"\x8f(" + key + b"\x90"):
            with pytest.raises(pickle.UnpicklingError, match="key"):
                load(whole(body))


def test_a_memo_may_be_written_twice():
    """The later one holds; and two tensors may be one."""
    assert load(whole(b"]q\x00K\x07q\x00h\x00\x87".replace(b"\x87", b"\x86h\x00\x86"))) is not None
    made = load(whole(tensor(storage(), 0, [4], [1]) + b"q\x00h\x00\x86"), _0=bytes(16))
    assert made[0] is made[1]


def checkpoint() -> bytes:
    file = io.BytesIO()
    weights = aten.arange(12.0).reshape(3, 4)
    state = OrderedDict(a=weights, b=weights[1:], c=aten.nn.Parameter(aten.ones(2)))
    aten.save({"state": state, "epoch": 3, "names": ["x", (1, 2.5)], "kind": aten.float16}, file)
    return file.getvalue()


SAVED = checkpoint()


def read(data: bytes) -> None:
    try:
        found = aten.load(io.BytesIO(data))
        repr(found)
    except (pickle.UnpicklingError, RuntimeError):
        pass


@bounded
@given(
    st.lists(st.tuples(st.integers(0, len(SAVED) - 1), st.integers(0, 255)), min_size=1, max_size=6)
)
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(SAVED)
    for place, value in changes:
        damaged[place] = value
    read(bytes(damaged))


@bounded
@given(st.integers(0, len(SAVED) - 1))
def test_cut_short(length: int) -> None:
    with pytest.raises(RuntimeError):
        aten.load(io.BytesIO(SAVED[:length]))


def pickled_part() -> bytes:
    with zipfile.ZipFile(io.BytesIO(SAVED)) as made:
        return made.read("archive/data.pkl")


PICKLED = pickled_part()


@bounded
@given(
    st.lists(
        st.tuples(st.integers(2, len(PICKLED) - 1), st.binary(min_size=0, max_size=4)),
        min_size=1,
        max_size=5,
    )
)
def test_changed_instructions(changes: list[tuple[int, bytes]]) -> None:
    damaged = bytearray(PICKLED)
    for place, data in changes:
        damaged[place : place + len(data)] = data
    read(archive(bytes(damaged), _0=bytes(48), _1=bytes(8)).getvalue())


@bounded
@given(st.binary(max_size=60))
def test_random_instructions(body: bytes) -> None:
    read(archive(b"\x80\x02" + body + b".").getvalue())
