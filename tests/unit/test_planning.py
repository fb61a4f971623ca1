"""Plans: operations, bytes and memory of programs that are not run."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from program_files import DATA, DIGITS

import aten
from aten.cli import main
from aten.export import load
from aten.graph.tensor_files import read_tensors
from aten.profiler import plan_of, plan_program, profile
from aten.transforms import FakeTensorMode, record

GIBIBYTE = 2**30


def test_the_numbers_of_a_small_program() -> None:
    weight = aten.ones(8, 16)

    def program(x: Any) -> Any:
        hidden = x @ weight
        return (hidden + 1).relu_().view(-1)

    plan = plan_of(program, aten.ones(4, 8), weights=(weight,))
    assert (plan.parameters, plan.weight_bytes) == (128, 512)
    mm, add, relu, view = (
        plan.operators[name]
        for name in ("aten::mm", "aten::add.Tensor", "aten::relu_", "aten::view")
    )
    assert (mm.calls, mm.flops, mm.read, mm.written) == (1, 2 * 4 * 8 * 16, 128 + 512, 256)
    assert mm.peak == 512 + 128 + 256
    assert (add.flops, add.read, add.written, add.peak) == (64, 256, 256, mm.peak + 256)
    assert (relu.flops, relu.written, relu.peak) == (64, 256, add.peak)
    assert (view.read, view.written) == (0, 0)
    assert plan.peak == add.peak
    assert plan.flops == 1024 + 128


def test_a_program_takes_what_the_profiler_counts() -> None:
    program = load(DATA / "resnet18.pt2")
    data = read_tensors(str(DATA / "resnet18.npz"))
    inputs = [data[name] for name in sorted(data) if name.startswith("in_")]
    with profile(with_flops=True) as measured:
        program.flat_call(inputs)
    counted = sum(
        event.flops or 0 for event in measured.events() if event.name == "aten::convolution"
    )
    plan = plan_program(program, inputs[0].shape[0])
    assert plan.operators["aten::convolution"].flops == counted
    assert plan.parameters == sum(one.numel() for one in program.state_dict.values())


def test_seventy_billion_parameters_in_seconds() -> None:
    layers, width, inner, words = 80, 8192, 28672, 32000
    weights: list[Any] = []

    def weight(*sizes: int) -> Any:
        weights.append(aten.empty(sizes, dtype=aten.bfloat16))
        return weights[-1]

    def norm(x: Any, scale: Any) -> Any:
        return x * aten.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * scale

    started = perf_counter()
    with FakeTensorMode():
        table = weight(words, width)
        parts = [
            [
                *(weight(width), weight(width, width), weight(2048, width), weight(width, width)),
                *(weight(width), weight(inner, width), weight(inner, width), weight(width, inner)),
            ]
            for _ in range(layers)
        ]
        head = weight(words, width)

        def model(tokens: Any) -> Any:
            linear = aten.nn.functional.linear
            x = aten.nn.functional.embedding(tokens, table)
            for first, q, kv, out, second, gate, up, down in parts:
                y = norm(x, first)
                query = linear(y, q).view(1, -1, 64, 128).transpose(1, 2)
                key, value = linear(y, kv).view(1, -1, 2, 8, 128).permute(2, 0, 3, 1, 4).unbind(0)
                key, value = (one.repeat_interleave(8, 1) for one in (key, value))
                y = aten.nn.functional.scaled_dot_product_attention(
                    query, key, value, is_causal=True
                )
                x = x + linear(y.transpose(1, 2).reshape(1, -1, width), out)
                y = norm(x, second)
                x = x + linear(aten.nn.functional.silu(linear(y, gate)) * linear(y, up), down)
            return linear(x, head)

        tokens = aten.zeros(1, 512, dtype=aten.int64)
        graph = record(model, tokens)
    plan = plan_of(graph, tokens, weights=tuple(weights))
    assert perf_counter() - started < 20
    assert 68e9 < plan.parameters < 71e9
    assert plan.weight_bytes == 2 * plan.parameters
    assert plan.weight_bytes < plan.peak < plan.weight_bytes + GIBIBYTE
    products = 2 * 512 * (plan.parameters - words * width - 2 * layers * width)
    named = ("aten::mm", "aten::_scaled_dot_product_flash_attention_for_cpu")
    attention = layers * 64 * 2 * (2 * 512 * 512 * 128)
    taken = sum(plan.operators[name].flops for name in named)
    assert taken == products + attention


def test_a_plan_from_the_command_line(capsys: Any) -> None:
    arguments = ["run", str(DIGITS / "digits_cnn.pt2"), "--plan", "--batch", "3"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("weights    38,476 parameters, ")
    assert lines[1].split() == ["operator", "calls", "FLOPs", "read", "written", "peak", "memory"]
    assert lines[2].startswith("aten::convolution")
    assert lines[-1].startswith("all")
