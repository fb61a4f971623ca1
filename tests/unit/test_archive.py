"""The archive reader: real files whole, and every kind of bad one refused with a reason."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest
from program_files import DATA, PROGRAMS, members_of, write_archive

from aten.graph.archive import Archive
from aten.graph.errors import ArchiveError

SMALL = DATA / "static_kv_cache_decode.pt2"


def broken(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "broken.pt2"
    path.write_bytes(data)
    return path


def patched(data: bytes, position: int, format: str, *values: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(format, changed, position, *values)
    return bytes(changed)


@pytest.mark.parametrize("name", PROGRAMS)
def test_reads_members_as_zipfile_does(name: str) -> None:
    archive = Archive(DATA / name)
    expected = members_of(DATA / name)
    assert {member: archive.read(member) for member in archive.members} == expected


def test_members_are_views_of_one_mapping_and_writes_stay_private() -> None:
    before = SMALL.read_bytes()
    archive = Archive(SMALL)
    name = next(name for name in archive.members if name.endswith("weight_0"))
    view = archive.view(name)
    view[:4] = b"\xff\xff\xff\xff"
    assert bytes(archive.view(name)[:4]) == b"\xff\xff\xff\xff"
    assert SMALL.read_bytes() == before


def test_reads_from_a_file_object() -> None:
    data = SMALL.read_bytes()
    assert Archive(io.BytesIO(data)).members == Archive(SMALL).members


@pytest.mark.parametrize("damaged", [(), (3,), (0, 5, 7)])
def test_large_members_are_verified_by_all_threads(
    tmp_path: Path, damaged: tuple[int, ...]
) -> None:
    contents = {f"m/{index}": bytes([index]) * ((index + 1) << 20) for index in range(8)}
    data = write_archive(tmp_path / "large.pt2", contents).read_bytes()
    for index in damaged:
        data = data.replace(bytes([index]) * 1000, b"x" * 1000, 1)
    archive = Archive(broken(tmp_path, data))
    names = [*contents, "m/none", *contents]
    if not damaged:
        archive.verify_all(names)
        return
    with pytest.raises(ArchiveError, match=rf"m/[{''.join(map(str, damaged))}]' is damaged"):
        archive.verify_all(names)
    whole = [name for index, name in enumerate(contents) if index not in damaged]
    archive.verify_all(whole)


def test_what_reading_raises_in_a_thread_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {f"m/{index}": bytes(1 << 23) for index in range(4)}
    archive = Archive(write_archive(tmp_path / "large.pt2", contents))

    def fails(name: str) -> None:
        raise OSError(5, f"no {name}")

    monkeypatch.setattr(archive, "verify", fails)
    with pytest.raises(OSError, match="no m/"):
        archive.verify_all(contents)


def test_zip64_records_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.zip"
    with (
        zipfile.ZipFile(path, "w") as archive,
        archive.open(zipfile.ZipInfo("a/b"), "w", force_zip64=True) as member,
    ):
        member.write(b"content")
    data = path.read_bytes()
    end = data.rfind(b"PK\x05\x06")
    count, size, start = struct.unpack_from("<H2I", data, end + 10)
    record = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    marked = patched(data[end:], 8, "<2H2I", 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    archive_read = Archive(broken(tmp_path, data[:end] + record + locator + marked))
    assert archive_read.read("a/b") == b"content"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"P", "not a zip"),
        (b"\x80\x02}q\x00.", "not a zip"),
        (b"hello, world\n" * 100, "not a zip"),
        (b"PK\x03\x04" + bytes(100), "cut short"),
        (b"PK\x05\x06" + bytes(17), "cut short"),
    ],
)
def test_refuses_what_is_no_zip(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(ArchiveError, match=reason):
        Archive(broken(tmp_path, data))


def test_refuses_a_file_cut_short_anywhere(tmp_path: Path) -> None:
    data = SMALL.read_bytes()
    for length in {1, 2, 30, 100, 4095, *range(5000, len(data), 997), len(data) - 1}:
        with pytest.raises(ArchiveError, match=r"cut short|not a zip|damaged|empty"):
            Archive(broken(tmp_path, data[:length]))


def test_refuses_compressed_members(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.pt2", members_of(SMALL), zipfile.ZIP_DEFLATED)
    with pytest.raises(ArchiveError, match=r"'static.*' is compressed; only stored members"):
        Archive(path)


def test_damaged_content_is_found_when_read(tmp_path: Path) -> None:
    archive = Archive(SMALL)
    name = next(name for name in archive.members if name.endswith("model.json"))
    data = bytearray(SMALL.read_bytes())
    data[archive.find(name).offset + 5] ^= 1
    damaged = Archive(broken(tmp_path, bytes(data)))
    with pytest.raises(ArchiveError, match=r"model\.json' is damaged: its CRC-32"):
        damaged.read(name)


def directory_of(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, data.rfind(b"PK\x05\x06") + 16)[0])


@pytest.mark.parametrize(
    ("field", "format", "value", "reason"),
    [
        (0, "<I", 0, "directory is damaged"),
        (8, "<H", 1, "encrypted"),
        (10, "<H", 8, "compressed"),
        (20, "<I", 7, "two different sizes"),
        (20, "<2I", [0x7FFFFFFF, 0x7FFFFFFF], "beyond the data"),
        (28, "<H", 0xFFFF, "directory is cut short"),
        (30, "<H", 0xFFFF, "directory is cut short"),
        (42, "<I", 0x7FFFFFFF, "outside the file"),
        (42, "<I", 13, "header of member .* is damaged"),
        (46, "<B", 0xFF, "not UTF-8"),
        (46, "<B", 0, "control characters"),
    ],
)
def test_refuses_nonsense_in_the_directory(
    tmp_path: Path, field: int, format: str, value: int | list[int], reason: str
) -> None:
    data = SMALL.read_bytes()
    values = value if isinstance(value, list) else [value]
    data = patched(data, directory_of(data) + field, format, *values)
    with pytest.raises(ArchiveError, match=reason):
        Archive(broken(tmp_path, data))


@pytest.mark.parametrize(
    ("field", "format", "value", "reason"),
    [
        (4, "<H", 1, "split"),
        (8, "<2H", [3, 3], "longer than its entries"),
        (8, "<2H", [999, 999], "cut short"),
        (12, "<I", 0x7FFFFFFF, "outside the file"),
        (16, "<I", 0x7FFFFFFF, "outside the file"),
    ],
)
def test_refuses_nonsense_in_the_end_record(
    tmp_path: Path, field: int, format: str, value: int | list[int], reason: str
) -> None:
    data = SMALL.read_bytes()
    values = value if isinstance(value, list) else [value]
    data = patched(data, data.rfind(b"PK\x05\x06") + field, format, *values)
    with pytest.raises(ArchiveError, match=reason):
        Archive(broken(tmp_path, data))


def test_refuses_overlapping_members(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"1" * 100, "b": b"2" * 10})
    data = path.read_bytes()
    data = patched(data, directory_of(data) + 20, "<2I", 120, 120)
    with pytest.raises(ArchiveError, match="'a' and 'b' overlap"):
        Archive(broken(tmp_path, data))


def test_refuses_two_members_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    write_archive(path, {"a": b"1"})
    with (
        zipfile.ZipFile(path, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("a", b"2")
    with pytest.raises(ArchiveError, match="two members are named 'a'"):
        Archive(path)


def test_names_a_missing_member() -> None:
    with pytest.raises(ArchiveError, match="has no member 'nothing'"):
        Archive(SMALL).find("nothing")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Archive(tmp_path / "nothing.pt2")
    with pytest.raises(IsADirectoryError):
        Archive(tmp_path)
