"""What cannot be scripted, by file, line and column; and what scripted programs do."""

# ruff: noqa: F821, F841, RET503, SIM108, UP045 (mistakes are what they are here for)

from __future__ import annotations

import inspect
import io
from typing import Any, Optional

import pytest

import aten
from aten import nn
from aten.export import ArchiveError, InputError
from aten.jit import ScriptError

limit = 3


def undefined(x):
    return x + nothing


def other_type(x, n: int):
    y = n
    y = "text"
    return x + 1


def one_case(x, n: int):
    if n > 1:
        y = x
    return y


def two_types(x, n: int):
    if n > 1:
        y = x
    else:
        y = [n]
    return y


def only_in_loop(x, n: int):
    for i in range(n):
        y = x + i
    return y


def wrong_return(x) -> int:
    return x.sum()


def may_end(x, n: int) -> aten.Tensor:
    if n > 1:
        return x


def with_lambda(x):
    return (lambda y: y)(x)


def with_try(x):
    try:
        return x
    except ValueError:
        return x


def unknown_method(x):
    return x.frobnicate()


def numpy_method(x):
    return x.numpy()


def unknown_function(x):
    return id(x)


def star(*x):
    return x[0]


def adds_text(x):
    return x + "text"


def takes(x, n: int):
    return x * n


def wrong_call(x):
    return takes(x, "n")


def missing_argument(x):
    return takes(x)


def from_outside(x):
    return x + marker


marker = object()

WRONG = [
    (undefined, "nothing", "'nothing' is not defined"),
    (other_type, '"text"', "'y' is a int, and cannot become a str"),
    (one_case, "return y", "not there in both cases"),
    (two_types, "return y", "a Tensor in one case"),
    (only_in_loop, "return y", "only where the loop"),
    (wrong_return, "return", "returns int, not Tensor"),
    (may_end, "def may_end", "may end without a return"),
    (with_lambda, "lambda", "a lambda cannot be scripted"),
    (with_try, "try", "try cannot be scripted"),
    (unknown_method, "x.frobnicate", "no method 'frobnicate'"),
    (numpy_method, "x.numpy", "no method 'numpy'"),
    (unknown_function, "id(x)", "'id' cannot be called"),
    (star, "def star", "cannot be scripted"),
    (adds_text, 'x + "text"', "of Tensor and str"),
    (wrong_call, "takes", "n is a int, got a str"),
    (missing_argument, "takes", "misses the argument 'n'"),
    (from_outside, "marker", "a object from outside"),
]


@pytest.mark.parametrize(
    ("function", "text", "message"), WRONG, ids=lambda one: getattr(one, "__name__", "")
)
def test_errors_name_the_place(function: Any, text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        aten.jit.script(function)
    assert message in str(caught.value)
    lines, start = inspect.getsourcelines(function)
    found = [
        (number, one.index(text) + 1) for number, one in enumerate(lines, start) if text in one
    ]
    error = caught.value
    assert error.file == __file__
    assert error.line in [line for line, _ in found]
    assert str(error).startswith(f"{__file__}:{error.line}:{error.column}: ")
    assert lines[error.line - start].rstrip() in str(error)


def fails(x: aten.Tensor, n: int) -> aten.Tensor:
    assert n > 0, f"n is {n}"
    if n > limit:
        raise ValueError("too large")
    return x.view(n)


def test_errors_of_running_name_the_line() -> None:
    scripted = aten.jit.script(fails)
    _, start = inspect.getsourcelines(fails)
    for n, kind, line in ((0, AssertionError, 1), (4, ValueError, 3), (2, RuntimeError, 4)):
        with pytest.raises(kind) as caught:
            scripted(aten.ones(3), n)
        assert caught.value.__notes__ == [f"in the script: {__file__}:{start + line}"]
    with pytest.raises(TypeError, match="unexpected argument 'm'"):
        scripted(aten.ones(3), m=1)
    with pytest.raises(TypeError, match="misses the argument 'n'"):
        scripted(aten.ones(3))


def where_it_runs(x: aten.Tensor) -> aten.Tensor:
    if aten.jit.is_scripting():
        return x + 1
    return eval("x + 2")


def test_what_is_decided_while_scripting() -> None:
    scripted = aten.jit.script(where_it_runs)
    assert scripted(aten.zeros(1)).item() == 1
    assert "eval" not in scripted.code


def recursion(n: int) -> int:
    if n < 2:
        return n
    return recursion(n - 1) + recursion(n - 2)


def test_functions_may_call_themselves() -> None:
    assert aten.jit.script(recursion)(10) == 55


class Marked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.names = ["a", "b"]

    def forward(self, x: aten.Tensor) -> aten.Tensor:
        return self.layer(x)

    @aten.jit.export
    def count(self, extra: Optional[int] = None) -> int:
        return len(self.names) if extra is None else len(self.names) + extra

    @aten.jit.unused
    def python_only(self) -> Any:
        return eval("1")


def test_exported_and_unused_methods() -> None:
    module = Marked()
    scripted = aten.jit.script(module)
    assert (scripted.count(), scripted.count(3)) == (2, 5)
    assert not hasattr(scripted, "python_only")
    assert scripted.layer is module.layer
    assert [name for name, _ in scripted.named_parameters()] == ["layer.weight", "layer.bias"]
    assert aten.jit.script(scripted) is scripted


def test_gradients_go_through() -> None:
    scripted = aten.jit.script(Marked())
    scripted(aten.ones(1, 2)).sum().backward()
    assert scripted.layer.bias.grad.tolist() == [1, 1]


def test_scripted_modules_are_exported() -> None:
    program = aten.export.export(aten.jit.script(Marked()), (aten.ones(1, 2),))
    assert program.graph_signature.parameters == ("layer.weight", "layer.bias")
    assert program.graph.targets()["aten.addmm.default"] == 1


def test_traces_check_themselves_and_their_arguments() -> None:
    calls: list[int] = []

    def changing(x: aten.Tensor) -> aten.Tensor:
        calls.append(1)
        return x * len(calls)

    with pytest.raises(aten.jit.TracingCheckError, match="does not do the same"):
        aten.jit.trace(changing, aten.ones(2))
    traced = aten.jit.trace(lambda x, n: x * n, (aten.ones(2), 3))
    with pytest.raises(InputError, match="fixed when the program was exported"):
        traced(aten.ones(2), 4)
    with pytest.raises(InputError, match="no tensor"):
        traced(2, 3)


def test_freezing_needs_evaluation() -> None:
    with pytest.raises(RuntimeError, match="eval"):
        aten.jit.freeze(aten.jit.script(Marked()))
    frozen = aten.jit.freeze(aten.jit.script(Marked()).eval())
    assert not list(frozen.parameters())
    assert "2" in frozen.code or "names" in frozen.code
    with pytest.raises(TypeError):
        aten.jit.freeze(nn.Linear(1, 1))


def test_other_files_are_refused() -> None:
    with pytest.raises(ArchiveError):
        aten.jit.load(io.BytesIO(b"no zip"))
    buffer = io.BytesIO()
    aten.save({"a": aten.ones(1)}, buffer)
    buffer.seek(0)
    with pytest.raises(ArchiveError):
        aten.jit.load(buffer)
    with pytest.raises(TypeError):
        aten.jit.save(nn.Linear(1, 1), io.BytesIO())
    with pytest.raises(NotImplementedError):
        aten.jit.script(Marked)
    with pytest.raises(TypeError):
        aten.jit.script(len)
