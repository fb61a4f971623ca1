"""Long loop bodies cut into stages.

A processor looks some hundred operations ahead. Where the steps of one element fill that, it waits
for each of them in turn; a loop over fewer steps has those of the next elements to go on with. So
a long body becomes several loops over the same stretch of elements, and what a later one needs of
an earlier one rests in a buffer between them. The cuts are where the least has to rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aten.loops.program import Instruction

# Operations of a body worth cutting, and of a stage: at least and at most.
_LONG = 72
_SHORTEST, _LONGEST = 24, 52


@dataclass(slots=True)
class Stage:
    """Instructions of one loop, and the buffers by which values come from others and go there."""

    body: list[Instruction]
    taken: list[tuple[int, Instruction]] = field(default_factory=list)
    left: list[tuple[int, Instruction]] = field(default_factory=list)

    @property
    def most_resting(self) -> int:
        """How many buffers its values need."""
        return max((slot + 1 for slot, _ in (*self.taken, *self.left)), default=0)


def stages_of(body: list[Instruction]) -> list[Stage]:
    """`body` in stages, in order; as one stage where that is as good."""
    computed = [one for one in body if one.operation not in ("constant", "store")]
    if len(computed) < _LONG or any(one.dtype.is_complex for one in body):
        return [Stage(body)]
    stores = [one for one in body if one.operation == "store"]
    steps = [*computed, *stores]
    constants = [one for one in body if one.operation == "constant"]
    last_use = {id(operand): place for place, one in enumerate(steps) for operand in one.operands}
    ends = _cuts(steps, last_use)
    stages: list[Stage] = []
    slots: dict[int, int] = {}
    begin = 0
    for end in [*ends, len(steps)]:
        part = steps[begin:end]
        inside = {id(one) for one in part}
        used = {id(operand) for one in part for operand in one.operands}
        stage = Stage([*(one for one in constants if id(one) in used), *part])
        stage.taken = [
            (slots[key], one) for key, one in _by_id(steps) if key in used - inside and key in slots
        ]
        for key in [key for key in slots if last_use[key] < end]:
            del slots[key]
        for one in part:
            if last_use.get(id(one), -1) >= end:
                busy = set(slots.values()) | {slot for slot, _ in stage.taken}
                slots[id(one)] = next(slot for slot in range(len(steps)) if slot not in busy)
                stage.left.append((slots[id(one)], one))
        stages.append(stage)
        begin = end
    return stages


def _by_id(steps: list[Instruction]) -> list[tuple[int, Instruction]]:
    return [(id(one), one) for one in steps]


def _cuts(steps: list[Instruction], last_use: dict[int, int]) -> list[int]:
    """Where to cut: from one cut on, where the fewest values are alive between shortest and longest."""
    alive = [0] * (len(steps) + 1)
    for place, one in enumerate(steps):
        for cut in range(place + 1, last_use.get(id(one), place) + 1):
            alive[cut] += 1
    cuts: list[int] = []
    begin = 0
    while len(steps) - begin > _LONGEST:
        choices = range(begin + _SHORTEST, min(begin + _LONGEST, len(steps) - _SHORTEST // 2) + 1)
        begin = min(choices, key=lambda cut: (alive[cut], -cut))
        cuts.append(begin)
    return cuts
