"""LLVM IR for scans along rows: several rows in turn, since each step waits for the one before."""

from __future__ import annotations

from dataclasses import dataclass

from aten.backends.cpu.folds import Folder
from aten.backends.cpu.reductions import RowSchedule
from aten.backends.cpu.scalar import register_type
from aten.loops.program import Block, Program

# Rows that take turns.
_TOGETHER = 4


def only_scans(program: Program) -> bool:
    """Whether a program has scans, and no folds."""
    instructions = [one for block in program.blocks for one in block.instructions]
    return any(one.is_scan for one in instructions) and not any(one.is_fold for one in instructions)


@dataclass(slots=True)
class _Row:
    """A kept point: where its operands are, and the values computed for it."""

    points: list[str]
    values: dict[int, object]


class ScanSchedule(RowSchedule):
    """A row schedule without folds, that goes through a few rows in step."""

    def write_line(self, points: list[str], strides: list[str]) -> None:
        """The `n0` kept points from `points` on: groups of rows, then what is left of them."""
        writer = self.writer
        groups = writer.let(f"sdiv i64 %n0, {_TOGETHER}")
        done = writer.let(f"mul nsw i64 {groups}, {_TOGETHER}")
        rest = writer.let(f"sub nsw i64 %n0, {done}")
        self._write_groups(points, strides, groups, _TOGETHER)
        self._write_groups(self.places(points, done, strides), strides, rest, 1)

    def _write_groups(
        self, points: list[str], strides: list[str], count: str, together: int
    ) -> None:
        writer = self.writer
        before = writer.values
        loop = writer.begin_loop(count)
        first = writer.let(f"mul nsw i64 {loop.index}, {together}")
        rows = []
        for place in range(together):
            index = writer.let(f"add nsw i64 {first}, {place}")
            rows.append(_Row(self.places(points, index, strides), dict(before)))
        for block in self.program.blocks:
            if any(one.is_scan for one in block.instructions):
                self._scan_loop(block, rows)
                continue
            for row in rows:
                writer.values = row.values
                self.write_block(block, row.points)
        writer.values = before
        writer.end_loop(loop)

    def _scan_loop(self, block: Block, rows: list[_Row]) -> None:
        """The loop over the dimension that is scanned."""
        writer = self.writer
        for row in rows:
            writer.values = row.values
            self.load_unmoved(block, row.points)
        scanners = [Folder(writer, one) for one in block.instructions if one.is_scan]
        starts = [
            (register_type(scanner.wide), part)
            for scanner in scanners
            for part in scanner.identity(scanner.wide)
        ]
        loop = writer.begin_loop(self.sizes[-1], carried=starts * len(rows))
        after: list[str] = []
        for place, row in enumerate(rows):
            writer.values = row.values
            running = loop.carried[place * len(starts) : (place + 1) * len(starts)]
            after += self.write_element(block, row.points, loop.index, [], "", scanners, running)
        writer.end_loop(loop, after)
