"""Exports the hand-written programs of this folder. Needs torch; run it in this folder.

python make_programs.py
"""

import json
import zipfile
from pathlib import Path

import torch
from torch.export import Dim, export, save


class Kinds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(3.0))
        self.register_buffer("count", torch.zeros(3))
        self.register_buffer("scale", torch.ones(2), persistent=False)
        self.constant = torch.tensor([1.0, 2.0])

    def forward(self, x, table, *, factor=2, mode=None):
        self.count.add_(1)
        x.mul_(factor)
        flat = x.reshape(-1)
        half = flat[: flat.shape[0] // 2]
        zeros = torch.zeros(max(x.shape[0], table["a"].shape[0]))
        head, tail = x.split([2, x.shape[0] - 2])
        best = flat.topk(2)
        state = self.count.sum() + self.constant.sum() + self.scale.sum() + self.weight.sum()
        total = x.sum(0) + state + best.values.sum() + head.sum() + tail.sum()
        joined = torch.cat([flat, table["a"].reshape(-1)])
        return {"half": half, "zeros": zeros}, (joined, total), x.shape[0] + 1, None, 3


class ControlFlow(torch.nn.Module):
    def forward(self, x, y):
        size = x.shape[0]
        chosen = torch.cond(x.sum() > 0, lambda z: z + 1, lambda z: z - 1, (x,))
        if size > 7:
            chosen = chosen + 1
        with torch.no_grad():
            doubled = x * 2
        found = y.nonzero()
        _, grown = torch.while_loop(
            lambda i, z: i < 3, lambda i, z: (i + 1, z * 2), (torch.tensor(0), x)
        )
        infinite = torch.full((size,), float("inf"))
        rotated = x.to(torch.complex64) * (1 + 2j)
        return chosen, doubled, found * 2, grown, infinite, rotated, x[size // 3 :], x[: size % 5]


def without_positions(value):
    """The JSON value without the places of the machine that exported it."""
    if isinstance(value, list):
        return [without_positions(item) for item in value]
    if not isinstance(value, dict):
        return value
    dropped = ("stack_trace", "nn_module_stack", "torch_fn")
    return {key: without_positions(item) for key, item in value.items() if key not in dropped}


def write(program, name):
    save(program, name)
    with zipfile.ZipFile(name) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with Path(name).open("wb") as file, zipfile.ZipFile(file, "w") as archive:
        for member, content in members.items():
            if member.endswith("models/model.json"):
                content = json.dumps(without_positions(json.loads(content))).encode()
            info = zipfile.ZipInfo(member)
            padding = -(file.tell() + 30 + len(member) + 4) % 64  # as torch aligns members
            info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            archive.writestr(info, content)


def main():
    rows = Dim("rows", min=6, max=64)
    other = Dim("other", min=8, max=128)
    torch.manual_seed(0)
    kinds = export(
        Kinds(),
        (torch.randn(10, 4), {"a": torch.randn(8, 3)}),
        {"factor": 2, "mode": None},
        dynamic_shapes={
            "x": {0: rows},
            "table": {"a": {0: other}},
            "factor": None,
            "mode": None,
        },
    )
    write(kinds, "kinds.pt2")
    write(kinds.run_decompositions(), "kinds.core.pt2")
    control_flow = export(
        ControlFlow(),
        (torch.randn(10, 4), torch.randn(6)),
        dynamic_shapes={"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}},
    )
    write(control_flow, "control_flow.pt2")


if __name__ == "__main__":
    main()
