"""Programs of many sizes, where Python code asks sizes for more than arithmetic."""

import pytest

import aten
from aten.export import Dim, export


def _pair(size):
    return (size, size) if isinstance(size, int) else size


ASKING = {
    "text": lambda x: x * len(str(x.shape[0]) * x.shape[0]),
    "formatted": lambda x: (x * 1, f"{x.shape[0]} {x.shape[0]:04d} {x.shape[0] / 2:.3f} {x.shape}"),
    "representation": lambda x: (x * 1, f"{x.shape[0]!r} {x.shape[0] / 3!r}"),
    "is_int": lambda x: x * _pair(x.shape[0])[1],
    "type": lambda x: x * (2 if type(x.shape[0]) is int else 3),
}
# These stay programs of many sizes.
COMPUTING = {
    "quotient": lambda x: aten.full((x.shape[0],), x.shape[0] / 2),
    "quotient_of_ints": lambda x: x.long() * (x.shape[0] / 2),
    "returned": lambda x: (x + 1, x.shape[0] / 2, x.shape[0]),
}


@pytest.mark.parametrize("name", [*ASKING, *COMPUTING])
def test_sizes_answer_as_numbers_do(name):
    function = (ASKING | COMPUTING)[name]
    compiled = aten.compile(function)
    for rows in (3, 4, 6, 5, 7, 10):
        x = aten.ones(rows, 3)
        assert repr(compiled(x)) == repr(function(x))
    assert name in ASKING or len(compiled.recompilations) == 1


def test_floats_of_sizes_of_exported_programs():
    class Filled(aten.nn.Module):
        def forward(self, x):
            return aten.full((x.shape[0],), float(x.shape[0])), x * 2

    rows = Dim("rows", min=2, max=100)
    program = export(Filled(), (aten.ones(3, 2),), dynamic_shapes={"x": {0: rows}}).module()
    compiled = aten.compile(program)
    for size in (3, 5, 7, 9):
        assert str(compiled(aten.ones(size, 2))) == str(program(aten.ones(size, 2)))
