"""Weights of mapped files: what is laid out anew is read, and takes no memory of the process."""

from __future__ import annotations

import os
import sys

import pytest

import aten
from aten import nn
from aten.compiler import ready
from aten.export import export, load, save
from aten.graph import mapping
from aten.graph.errors import ArchiveError
from aten.graph.mapping import MappedFile, map_file, pieces, reread

on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux says which pages of a file were written to"
)


@pytest.fixture
def saved(tmp_path):
    """A program with one large weight, and a small one."""
    path = tmp_path / "program.pt2"
    layer = nn.Sequential(nn.Linear(600, 700), nn.ReLU(), nn.Linear(700, 3)).eval()
    save(export(layer, (aten.randn(4, 600),)), str(path))
    return str(path)


def resident(path):
    """The kilobytes of a file's mappings that are this process's memory."""
    with open("/proc/self/smaps") as file:
        lines = file.read().splitlines()
    total, inside = 0, False
    for line in lines:
        first = line.split(" ", 1)[0]
        if not first.endswith(":"):
            inside = line.endswith(path)
        elif inside and first == "Rss:":
            total += int(line.split()[1])
    return total


def weight_of(program):
    return program.state_dict["0.weight"]


@on_linux
def test_checked_and_laid_out_weights_take_no_pages(saved):
    program = load(saved)
    compiled = aten.compile(program.module())
    x = aten.randn(4, 600)
    with aten.no_grad():
        for run in (compiled, compiled, *[program.module()] * 3):
            run(x)
            assert resident(saved) < 700
        weight_of(program).sum()
    assert resident(saved) > 1600


@on_linux
def test_a_copy_is_read(saved):
    weight = weight_of(load(saved))
    copied = reread(weight)
    assert copied is not weight
    assert copied.stride() == weight.stride()
    assert copied.untyped_storage().data_ptr() != weight.untyped_storage().data_ptr()
    assert aten.equal(copied, weight)
    part = weight[3:90, 5:].t()
    assert aten.equal(reread(part), part)


@on_linux
@pytest.mark.parametrize("count", [(1 << 20) + 3, (3 << 20) + 1])
def test_all_threads_read_a_large_copy(tmp_path, count, monkeypatch):
    path = tmp_path / "weights.safetensors"
    aten.safetensors.save_file({"one": aten.arange(count)}, str(path))
    loaded = aten.safetensors.load_file(str(path))["one"]
    places = []

    def read(descriptor, buffers, place, *, preadv=os.preadv):
        places.append(place)
        return preadv(descriptor, [one[:1000003] for one in buffers], place)

    monkeypatch.setattr(os, "preadv", read)
    threads = aten.get_num_threads()
    try:
        for number in (1, 2, 3):
            aten.set_num_threads(number)
            assert aten.equal(reread(loaded), aten.arange(count))
    finally:
        aten.set_num_threads(threads)
    assert len(places) >= 3 * 8 * count // 1000003

    def fail(descriptor, buffers, place):
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        reread(loaded)
    monkeypatch.setattr(os, "preadv", lambda *_: 0)
    assert reread(loaded) is loaded


def test_what_was_written_to_is_not_read(saved):
    for write in (
        lambda weight: weight.detach()[699, 599].fill_(7.0),
        lambda weight: memoryview(weight.untyped_storage()).__setitem__(-1, 64),
    ):
        weight = weight_of(load(saved))
        write(weight)
        assert reread(weight) is weight


@on_linux
@pytest.mark.parametrize(
    ("factor", "in_place"),
    [
        (aten.rand(700, 1) + 0.5, True),
        (aten.rand(()), True),
        (aten.rand(600), True),
        (aten.rand(1, 700, 1), False),
        (aten.rand(700, 1, dtype=aten.float64), False),
        (aten.rand(700, 1) > 0.5, False),
        (aten.rand(700, 1, dtype=aten.complex64), False),
    ],
)
def test_a_copy_is_scaled_where_it_lies(saved, factor, in_place, monkeypatch):
    weight = weight_of(load(saved))
    before = weight.clone()
    copies = []
    monkeypatch.setattr(ready, "reread", lambda one: copies.append(reread(one)) or copies[-1])
    made = ready.scaled(weight, factor)
    assert aten.equal(made, before * factor)
    assert made.dtype is (before * factor).dtype
    assert made.is_set_to(copies[0]) is in_place
    assert aten.equal(weight, before)


@on_linux
def test_folded_weights_are_those_of_memory(tmp_path):
    """A normalization's factors go to copies, not to what other results read."""
    path = str(tmp_path / "program.pt2")
    body = nn.Sequential(nn.Conv2d(256, 256, 3, padding=1), nn.BatchNorm2d(256)).eval()
    body[1].running_var.uniform_(0.5, 2.0)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = body

        def forward(self, x):
            return self.body(x), self.body[0].weight.sum(), aten.conv2d(x, self.body[0].weight)

    x = aten.randn(1, 256, 6, 6)
    save(export(Twice(), (x,)), path)
    with aten.no_grad():
        expected = aten.compile(Twice())(x)
        run = aten.compile(load(path).module())
        for _ in range(3):
            assert all(map(aten.equal, run(x), expected))


def test_what_lies_elsewhere_or_is_small_is_not_read(saved):
    program = load(saved)
    small = program.state_dict["2.weight"]
    assert reread(small) is small
    other = aten.randn(1000, 1000)
    assert reread(other) is other
    kept = weight_of(load(saved, mmap=False))
    assert reread(kept) is kept


def test_lazy_conjugates_stay_what_they_are(tmp_path):
    path = tmp_path / "weights.safetensors"
    aten.safetensors.save_file({"one": aten.randn(600, 600)}, str(path))
    loaded = aten.safetensors.load_file(str(path))["one"]
    pairs = aten.view_as_complex(loaded.view(300, 600, 2)).conj()
    assert aten.equal(reread(pairs), pairs)
    assert reread(loaded) is not loaded


def test_other_threads_map_meanwhile(saved):
    import threading

    weight = weight_of(load(saved))
    failed = []

    def map_files():
        try:
            for _ in range(200):
                map_file(saved)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=map_files) for _ in range(3)]
    for one in threads:
        one.start()
    for _ in range(40):
        assert aten.equal(reread(weight), weight)
    for one in threads:
        one.join()
    assert not failed


def test_compiled_programs_see_writes_to_weights(saved):
    program = load(saved)
    module = program.module()
    compiled = aten.compile(module)
    x = aten.randn(4, 600)
    with aten.no_grad():
        assert aten.allclose(compiled(x), module(x), rtol=1e-4, atol=1e-5)
        weight_of(program).mul_(2)
        assert aten.allclose(compiled(x), module(x), rtol=1e-4, atol=1e-5)
        again = aten.compile(module)
        assert aten.allclose(again(x), module(x), rtol=1e-4, atol=1e-5)


def test_nothing_is_read_where_pages_are_unknown(saved, monkeypatch):
    weight = weight_of(load(saved))

    def refused(*_, **__):
        raise PermissionError("no")

    monkeypatch.setattr(mapping, "open", refused, raising=False)
    assert reread(weight) is weight


def test_pieces_are_the_bytes(tmp_path):
    path = tmp_path / "bytes"
    content = bytes(range(256)) * 3000
    path.write_bytes(content)
    buffer = map_file(str(path))
    assert isinstance(buffer.obj, MappedFile)
    for place, count in ((0, len(content)), (5, 1), (7, 700_001), (len(content), 0)):
        expected = content[place : place + count]
        assert b"".join(map(bytes, pieces(buffer, place, count))) == expected
        assert b"".join(map(bytes, pieces(memoryview(content), place, count))) == expected
        if place:
            part = buffer[place - 3 : place + count]
            assert b"".join(map(bytes, pieces(part, 3, count))) == expected


def test_descriptors_are_closed(tmp_path):
    import gc
    import os

    path = tmp_path / "bytes"
    path.write_bytes(b"x" * 5000)
    gc.collect()
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for _ in range(20):
        map_file(str(path))
    gc.collect()
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == before


def test_damage_is_still_found(saved):
    with open(saved, "r+b") as file:
        content = file.read()
        place = content.index(b"PK\x03\x04", len(content) // 2)
        file.seek(place - 5000)
        file.write(b"\x01\x02\x03")
    with pytest.raises(ArchiveError, match="CRC-32"):
        load(saved)
