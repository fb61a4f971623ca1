"""What a profile is shown as: tables, traces, stacks and flame graphs of events that are fixed."""

from __future__ import annotations

import gzip
import json
import re
import threading
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import aten
from aten.cli import main
from aten.profiler import (
    EventList,
    FunctionEvent,
    profile,
    record_function,
    tensorboard_trace_handler,
)
from aten.profiler.averages import FunctionEventAvg
from aten.profiler.chrome import trace
from aten.profiler.details import Details
from aten.profiler.flame_graph import flame_graph
from aten.profiler.stacks import path_of
from aten.profiler.units import format_amount, format_bytes, format_time

THREADS = [(701, "MainThread"), (702, "reader")]


def details(shapes=(), stack=()):
    made = Details()
    made.shapes, made.stack = list(shapes), list(stack)
    return made


def fixed_events():
    """A step of two threads: a block with a composite in it, and an operator beside it."""
    lines = ["net.py(7): forward", "run.py(3): <module>"]
    block = FunctionEvent(
        0, "step <1>", 1, 0, 2_000_000, is_user_annotation=True, details=details((), lines[1:])
    )
    linear = FunctionEvent(
        1,
        *("aten::linear", 1, 100_000, 1_600_500),
        parent=block,
        details=details([[8, 64], [32, 64], [32]], lines),
    )
    FunctionEvent(2, "aten::t", 1, 110_000, 112_000, parent=linear, details=details([[32, 64]]))
    addmm = FunctionEvent(
        3,
        *("aten::addmm", 1, 120_000, 1_590_000),
        parent=linear,
        allocated=4096,
        freed=1024,
        peak_bytes=4096,
        details=details([[32], [8, 64], [64, 32], [], []], lines),
    )
    addmm.flops = linear.flops = block.flops = 2 * 8 * 64 * 32
    relu = FunctionEvent(
        4, "aten::relu", 1, 1_700_000, 1_700_900, parent=block, overload_name="x", allocated=3 << 20
    )
    relu.peak_bytes = 3 << 20
    read = FunctionEvent(5, "aten::copy_", 2, 500_000, 1_500_000_000)
    t = linear.cpu_children[0]
    return [block, linear, t, addmm, relu, read]


def fixed_list(**options):
    return EventList(fixed_events(), duration_us=1_500_123.0, **options)


def test_the_table(golden):
    golden("profiler_table", fixed_list().key_averages().table())


def test_the_table_of_everything(golden):
    events = fixed_list(peak_bytes=3 << 20, outside=(2, 512, 2 << 30), with_flops=True)
    averages = events.key_averages(group_by_input_shape=True, group_by_stack_n=1)
    golden(
        "profiler_table_of_everything",
        averages.table(
            "flops",
            header="A step",
            time_unit="ms",
            max_name_column_width=10,
            max_shapes_column_width=20,
            max_src_column_width=15,
        ),
    )


def test_the_table_of_events(golden):
    golden("profiler_table_of_events", fixed_list().table(row_limit=3))


def test_what_is_marked():
    marked = [
        line.split()[1]
        for line in fixed_list().key_averages().table().splitlines()
        if line.startswith("* ") and "%" in line and "more than" not in line
    ]
    assert marked == ["aten::copy_"]
    slow = EventList([FunctionEvent(0, "a", 1, 0, 95), FunctionEvent(1, "b", 1, 100, 105)])
    (_, _, _, first, second, *_) = slow.table().splitlines()
    assert first.startswith("*  a")
    assert second.startswith("   b")
    over = EventList([FunctionEvent(0, "a", 1, 0, 94), FunctionEvent(1, "b", 1, 100, 106)])
    assert all(line.startswith("*") for line in over.table().splitlines()[3:5])


def test_sorting_and_rows():
    averages = fixed_list().key_averages()

    def order(**options):
        rows = averages.table(**options).splitlines()[3:]
        return [re.sub(r"^\*? +", "", row).split("  ")[0] for row in rows if "%  " in row]

    by_self = ["aten::copy_", "aten::addmm", "step <1>", "aten::linear", "aten::t", "aten::relu"]
    assert order() == by_self
    by_total = ["aten::copy_", "step <1>", "aten::linear", "aten::addmm", "aten::t", "aten::relu"]
    assert order(sort_by="cpu_time_total") == by_total
    assert order(sort_by="self_cpu_memory_usage")[:2] == ["aten::relu", "aten::addmm"]
    assert order(row_limit=2) == by_self[:2]
    assert "(4 more)" in averages.table(row_limit=2)
    assert order(row_limit=-1) == by_self
    assert fixed_list().table(top_level_events_only=True).count("aten::") == 1
    with pytest.raises(ValueError, match=r"sort_by must be one of cpu_time, .*, not 'cuda_time'"):
        averages.table(sort_by="cuda_time")
    with pytest.raises(ValueError, match="time_unit must be one of s, ms, us, not 'h'"):
        averages.table(time_unit="h")


def test_averages_of_events():
    events = fixed_list(outside=(1, 64, 0))
    total = events.key_averages().total_average()
    assert isinstance(total, FunctionEventAvg)
    assert total.count == 7
    assert total.cpu_time_total == total.self_cpu_time_total == events.self_cpu_time_total
    assert total.allocated_bytes == 4096 + (3 << 20) + 64
    linear = events.key_averages()[1]
    assert (linear.key, linear.count, linear.cpu_time) == ("aten::linear", 1, 1500.5)
    assert linear.self_cpu_time_total == pytest.approx(1500.5 - 2 - 1470)
    assert linear.self_cpu_memory_usage == 0
    assert linear.cpu_memory_usage == 3072
    assert linear.cpu_time_total_str == "1.500ms"
    assert repr(linear) == (
        "<FunctionEventAvg key=aten::linear self_cpu_time=28.500us cpu_time=1.500ms count=1>"
    )
    assert repr(events[2]) == (
        "<FunctionEvent aten::t thread=1 cpu_time=2.000us self_cpu_time=2.000us>"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_time(0), "0.000us"),
        (format_time(999.9994), "999.999us"),
        (format_time(1000), "1.000ms"),
        (format_time(2.5e6), "2.500s"),
        (format_time(2.5e6, "us"), "2500000.000us"),
        (format_bytes(0), "0 B"),
        (format_bytes(-1023), "-1023 B"),
        (format_bytes(-1536), "-1.50 KiB"),
        (format_bytes(5 << 30), "5.00 GiB"),
        (format_amount(999, "FLOP"), "999 FLOP"),
        (format_amount(2.5e12, "FLOP/s"), "2.50 TFLOP/s"),
    ],
)
def test_units(text, expected):
    assert text == expected


# Traces


def check_trace(content):
    """The fields that viewers need, and events of a thread each within or beside the others."""
    threads = {}
    for event in content["traceEvents"]:
        assert event["ph"] in ("X", "M", "C")
        assert {"name", "pid", "tid", "ts", "args"} <= set(event)
        if event["ph"] != "X":
            continue
        assert event["dur"] >= 0
        assert event["cat"] in ("cpu_op", "user_annotation")
        start = round(1000 * event["ts"])
        threads.setdefault(event["tid"], []).append((start, start + round(1000 * event["dur"])))
    for spans in threads.values():
        open_ends = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)
    return threads


def test_a_trace_of_fixed_events():
    content = json.loads(
        json.dumps(trace(fixed_list(), [(1.5, 64, 64), (3.0, -64, 0)], {"model": "m"}, THREADS))
    )
    spans = check_trace(content)
    assert {tid: len(found) for tid, found in spans.items()} == {701: 5, 702: 1}
    assert content["model"] == "m"
    named = {
        event["tid"]: event["args"]["name"]
        for event in content["traceEvents"]
        if event["name"] == "thread_name"
    }
    assert named == dict(THREADS)
    counters = [event for event in content["traceEvents"] if event["ph"] == "C"]
    assert [(one["ts"], one["args"]) for one in counters] == [
        (1.5, {"Total Allocated": 64}),
        (3.0, {"Total Allocated": 0}),
    ]
    linear = next(one for one in content["traceEvents"] if one["name"] == "aten::linear")
    assert (linear["ts"], linear["dur"]) == (100.0, 1500.5)
    assert linear["args"] == {
        "External id": 1,
        "Input Dims": [[8, 64], [32, 64], [32]],
        "Call stack": "net.py(7): forward;\nrun.py(3): <module>",
        "Allocated bytes": 4096,
        "Freed bytes": 1024,
        "FLOPs": 32768,
    }


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_of_a_program(tmp_path, name):
    def work():
        for _ in range(20):
            aten.nn.functional.linear(aten.ones(3, 4), aten.ones(2, 4)).softmax(1)

    thread = threading.Thread(target=work, name='the "other" one')
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        prof.add_metadata("who", "a test")
        prof.add_metadata_json("sizes", "[1, 2]")
        thread.start()
        with record_function('block "1" <&> ü\n'):
            work()
        thread.join()
    path = tmp_path / name
    prof.export_chrome_trace(str(path))
    with gzip.open(path, "rt") if name.endswith("gz") else open(path) as file:
        content = json.load(file)
    spans = check_trace(content)
    assert sum(map(len, spans.values())) == len(prof.events())
    assert sorted(map(len, spans.values()))[1] == sorted(map(len, spans.values()))[0] + 1
    assert content["who"] == "a test"
    assert content["sizes"] == [1, 2]
    found = {event["name"] for event in content["traceEvents"]}
    assert {'block "1" <&> ü\n', "aten::linear", "memory"} <= found
    with pytest.raises(ValueError):
        prof.add_metadata_json("bad", "{")


def test_the_handler_writes_a_trace_for_each_cycle(tmp_path):
    plan = aten.profiler.schedule(wait=0, warmup=0, active=1, repeat=2)
    handler = tensorboard_trace_handler(str(tmp_path / "runs"), "one", use_gzip=True)
    with profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(3):
            aten.ones(2)
            prof.step()
    written = sorted((tmp_path / "runs").iterdir())
    assert len(written) == 2
    for place, path in enumerate(written):
        assert re.fullmatch(r"one\.\d+\.pt\.trace\.json\.gz", path.name)
        with gzip.open(path, "rt") as file:
            content = json.load(file)
        names = [event["name"] for event in content["traceEvents"] if event["ph"] == "X"]
        assert names == [f"ProfilerStep#{place}", "aten::ones"]


# Stacks and flame graphs


def test_paths_say_lines_once():
    block, linear, t, addmm, _, read = fixed_events()
    lines = ["run.py(3): <module>", "step <1>", "net.py(7): forward", "aten::linear"]
    assert path_of(block) == lines[:2]
    assert path_of(linear) == lines
    assert path_of(t) == [*lines, "aten::t"]
    assert path_of(addmm) == [*lines, "aten::addmm"]
    assert path_of(read) == ["aten::copy_"]


def test_stacks(tmp_path):
    path = tmp_path / "stacks.txt"
    fixed_list().export_stacks(str(path))
    assert path.read_text().splitlines() == [
        "run.py(3):_<module>;step_<1> 498",
        "run.py(3):_<module>;step_<1>;net.py(7):_forward;aten::linear 28",
        "run.py(3):_<module>;step_<1>;net.py(7):_forward;aten::linear;aten::t 2",
        "run.py(3):_<module>;step_<1>;net.py(7):_forward;aten::linear;aten::addmm 1470",
        "aten::copy_ 1499500",
    ]
    with pytest.raises(ValueError, match="metric must be one of self_cpu_time_total, not 'x'"):
        fixed_list().export_stacks(str(path), "x")


def boxes_of(text):
    """(what is said, left, top, width) of each box of a flame graph."""
    space = {"svg": "http://www.w3.org/2000/svg"}
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    found = []
    for group in root.findall("svg:g", space):
        box = group.find("svg:rect", space)
        place = (float(box.get(name)) for name in ("x", "y", "width"))
        found.append((group.find("svg:title", space).text, *place))
    return root, found


def test_a_flame_graph_of_fixed_events():
    events = fixed_events()[:-1]
    text = flame_graph(events, THREADS[:1], 'a "model" <&>')
    root, boxes = boxes_of(text)
    assert 'a "model" <&>' in [one.text for one in root.iter() if one.tag.endswith("text")]
    said = [one[0] for one in boxes]
    assert said == [
        "all: 2.000ms (100.00 %), itself 0.000us",
        "run.py(3): <module>: 2.000ms (100.00 %), itself 0.000us",
        "step <1>: 2.000ms (100.00 %), itself 498.600us, 1 calls",
        "net.py(7): forward: 1.500ms (75.03 %), itself 0.000us",
        "aten::linear: 1.500ms (75.03 %), itself 28.500us, 1 calls",
        "aten::t: 2.000us (0.10 %), itself 2.000us, 1 calls",
        "aten::addmm: 1.470ms (73.50 %), itself 1.470ms, 1 calls",
        "aten::relu: 0.900us (0.04 %), itself 0.900us, 1 calls",
    ]
    check_boxes(boxes)
    assert "<script" not in text
    assert not re.search(r"(href|src|url)", text)


def check_boxes(boxes):
    """Each box but the lowest stands on another one, and beside those of its row."""
    rows = {}
    for _, left, top, width in boxes:
        rows.setdefault(top, []).append((left, left + width))
    levels = sorted(rows, reverse=True)
    for top in levels:
        row = sorted(rows[top])
        for (_, end), (start, _) in pairwise(row):
            assert end <= start + 0.02
    for below, above in pairwise(levels):
        for left, right in rows[above]:
            assert any(low <= left + 0.02 and right <= high + 0.02 for low, high in rows[below])


def test_threads_have_rows_of_their_own():
    _, boxes = boxes_of(flame_graph(fixed_events(), THREADS))
    second = [said for said, _, top, _ in boxes if top == boxes[0][2] - 18]
    assert {said.partition(":")[0] for said in second} == {"reader", "MainThread"}
    check_boxes(boxes)


def test_names_with_what_pictures_and_lines_cannot_hold(tmp_path):
    with profile() as prof, record_function("a\x00b\nc\ud800;d"):
        aten.ones(2)
    prof.export_flame_graph(str(tmp_path / "f.svg"), "\x01")
    said = [one[0] for one in boxes_of((tmp_path / "f.svg").read_text())[1]]
    assert any(one.startswith("a?b?c?;d: ") for one in said)
    prof.export_stacks(str(tmp_path / "s.txt"))
    lines = (tmp_path / "s.txt").read_text().splitlines()
    assert all(line.startswith("a?b?c?_d") for line in lines)
    assert "  a?b?c?;d  " in prof.key_averages().table()
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    names = [one["name"] for one in json.loads((tmp_path / "t.json").read_text())["traceEvents"]]
    assert "a\x00b\nc\ud800;d" in names


def test_a_flame_graph_of_a_program(tmp_path):
    with profile(with_stack=True) as prof:
        for _ in range(3):
            aten.nn.functional.linear(aten.ones(3, 4), aten.ones(2, 4)).softmax(1)
    path = tmp_path / "flame.svg"
    prof.export_flame_graph(str(path))
    _, boxes = boxes_of(path.read_text())
    check_boxes(boxes)
    assert any(said.startswith("aten::linear: ") and "3 calls" in said for said, *_ in boxes)
    assert boxes_of(flame_graph([]))[1][0][0] == "all: 0.000us (0.00 %), itself 0.000us"


# The command line


def test_the_command_line(tmp_path, capsys):
    trace_file, picture = tmp_path / "t.json", tmp_path / "f.svg"
    arguments = ["run", "digits_cnn.pt2", "--random", "--repeat", "3", "--profile"]
    arguments += ["--profile-trace", str(trace_file), "--flame-graph", str(picture)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    table = out[out.index("Name  ") :].splitlines()
    assert {"Self CPU %", "CPU total", "# of Calls"} <= set(re.split(r"\s{2,}", table[0]))
    (convolution,) = [line for line in table if "aten::convolution" in line]
    assert convolution.split()[-1] == "2"
    assert "* more than 5 % of the time" in out
    content = json.loads(trace_file.read_text())
    check_trace(content)
    steps = [one["name"] for one in content["traceEvents"] if "Step" in one["name"]]
    assert steps == ["ProfilerStep#2"]
    assert "digits_cnn.pt2" in picture.read_text()
    check_boxes(boxes_of(picture.read_text())[1])


def test_a_trace_alone_prints_no_table(tmp_path, capsys):
    path = tmp_path / "t.json"
    assert main(["run", "digits_cnn.pt2", "--random", "--profile-trace", str(path)]) == 0
    assert "Self CPU" not in capsys.readouterr().out
    assert check_trace(json.loads(path.read_text()))
