"""What the examples of operators' documentation show is what torch gives."""

import contextlib
import io
import re

import pytest
import torch

from aten.documentation.sections import sections

NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)\b|True|False")


def shown_by_torch(example):
    """What the example prints when `aten` is torch."""
    names, printed = {"aten": torch}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for line in example.splitlines():
            if line.startswith(">>> "):
                exec(compile(line[4:], "<example>", "single"), names)
    return printed.getvalue()


def values(text):
    """The numbers in a text; names of operators and results may have some, too."""
    text = re.sub(r"\b[A-Za-z_]\w*\d+\w*", "", text.replace("+0.j", "").replace("-0.j", ""))
    words = [{"True": "1", "False": "0"}.get(one, one) for one in NUMBER.findall(text)]
    return [float(one) for one in words]


@pytest.mark.parametrize("name", [name for name in sections() if not name.startswith("ops.")])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_examples_show_what_torch_gives(name):
    example = sections()[name].example
    shown = "\n".join(line for line in example.splitlines() if not line.startswith(">>> "))
    given = shown_by_torch(example)
    assert values(shown), name
    assert values(shown) == pytest.approx(values(given), abs=2e-4, nan_ok=True)
