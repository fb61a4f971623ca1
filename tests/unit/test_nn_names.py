"""What checkers are told of `aten.nn` is what is there."""

import ast
from pathlib import Path

import aten.nn
from aten.nn import modules


def test_checkers_know_every_module():
    tree = ast.parse(Path(aten.nn.__file__).read_text())
    listed = next(
        ast.literal_eval(node.value) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)
    )
    made = {
        name
        for name, one in vars(modules).items()
        if isinstance(one, type) and one.__module__.startswith("aten.nn.modules")
    }
    assert set(listed) == made | {"Buffer", "Parameter"}
    assert all(isinstance(getattr(aten.nn, name), type) for name in listed)
