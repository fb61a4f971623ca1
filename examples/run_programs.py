"""Run exported programs, and compare with what the program that saved them computed.

    python examples/run_programs.py FOLDER

For each NAME.pt2 in the folder there is a NAME.npz with inputs in_0, in_1, … and the outputs out_0,
out_1, … that are expected; NAME.core.pt2 is the same program in Core ATen operators.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import aten

wrong = 0
for recorded in sorted(Path(sys.argv[1]).glob("*.npz")):
    data = np.load(recorded)
    inputs = [aten.from_numpy(data[name]) for name in sorted(data) if name.startswith("in_")]
    for flavour in (".pt2", ".core.pt2"):
        outputs = aten.export.load(recorded.with_suffix(flavour)).flat_call(inputs)
        expected = [data[f"out_{place}"] for place in range(len(outputs))]
        worst = max(
            float(np.abs(mine.numpy() - theirs).max())
            for mine, theirs in zip(outputs, expected, strict=True)
        )
        agrees = worst < 1e-4
        wrong += not agrees
        print(f"{recorded.stem}{flavour}: {'agrees' if agrees else f'differs by {worst:.1e}'}")
raise SystemExit(wrong)
