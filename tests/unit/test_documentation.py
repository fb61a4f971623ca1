"""Every public function says what it does, and shows an example that gives what it says."""

import doctest
import importlib
import inspect
import pydoc
import subprocess
import sys
import types

import pytest

import aten
from aten.documentation.sections import parsed, sections
from aten.registry import packet

# What people call; `Tensor` stands for its methods and attributes.
NAMESPACES = (
    *("aten", "aten.fft", "aten.linalg", "aten.masked", "aten.memory", "aten.nn.functional"),
    *(
        "aten.export",
        "aten.jit",
        "aten.profiler",
        "aten.random",
        "aten.safetensors",
        "aten.signal.windows",
        "aten.special",
    ),
)
FUNCTIONS = (
    *("function", "cython_function_or_method", "builtin_function_or_method"),
    *("OpOverloadPacket", "MethodDescriptor", "getset_descriptor", "property"),
)


def is_public(name, value, namespace):
    if name.startswith("_") or type(value).__name__ not in FUNCTIONS:
        return False
    place = getattr(value, "__module__", None) or ""
    # What a module merely uses is not its own.
    return namespace in ("aten", "aten.nn.functional", "aten.export", "aten.jit") or not (
        isinstance(value, types.FunctionType) and place not in (namespace, "aten.random")
    )


def public_functions():
    """(name, function) of all that users call, each once."""
    found = {}
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        for name in dir(module):
            value = getattr(module, name)
            if is_public(name, value, namespace) and name != "wrap_dimension":
                found.setdefault(id(value), (f"{namespace}.{name}", value))
    for name, value in vars(aten.Tensor).items():
        if is_public(name, value, "aten"):
            found.setdefault(id(value), (f"aten.Tensor.{name}", value))
    return list(found.values())


def test_every_public_function_has_documentation_with_an_example():
    found = public_functions()
    bare = [name for name, one in found if ">>>" not in (inspect.getdoc(one) or "")]
    print(f"{len(found) - len(bare)} of {len(found)} public functions have an example")
    assert len(found) > 1000
    assert bare == []


def test_every_example_gives_what_it_shows(capsys):
    runner = doctest.DocTestRunner(verbose=False)
    parser = doctest.DocTestParser()
    for name, one in public_functions():
        text = inspect.getdoc(one) or ""
        runner.run(parser.get_doctest(text, {"aten": aten}, name, None, 0))
    failed, run = runner.summarize(verbose=False)
    assert failed == 0, capsys.readouterr().out[-3000:]
    assert run > 1000


def test_every_text_belongs_to_an_operator():
    """None is left over from an operator that is gone."""
    for name in sections():
        namespace, _, short = name.rpartition(".")
        owner = aten.Tensor if namespace == "Tensor" else aten
        for part in namespace.replace("Tensor", "").split("."):
            owner = getattr(owner, part) if part else owner
        assert hasattr(owner, short), name


@pytest.mark.parametrize("name", sorted(aten.ops.aten.__dir__())[::7])
def test_other_operators_describe_themselves_too(name):
    text = packet("aten", name).__doc__
    assert name in text
    assert "Schemas:" in text


def test_help_is_of_the_operator():
    text = pydoc.plain(pydoc.render_doc(aten.softmax))
    assert "softmax(input: Tensor, dim: int, dtype" in text
    assert "divided by its sum along" in text
    assert "aten.softmax(aten.tensor([1.0, 2.0, 3.0]), dim=0)" in text
    assert "IndexError" in text
    assert "aten/ops/normalization/normalization.py" in text
    assert "softmax(self, dim: int" in pydoc.plain(pydoc.render_doc(aten.Tensor.softmax))


def test_documentation_tells_shapes_dtypes_and_results():
    assert "broadcast" in aten.add.__doc__
    assert "the default floating dtype" in aten.exp.__doc__
    assert "shares the input's memory" in aten.transpose.__doc__
    assert "names values, indices" in aten.topk.__doc__
    assert "`add`, written into the tensor itself" in aten.Tensor.add_.__doc__
    assert "Another name of `acos`" in aten.arccos.__doc__


def test_signatures():
    assert list(inspect.signature(aten.softmax).parameters) == ["input", "dim", "dtype", "out"]
    method = inspect.signature(aten.Tensor.softmax)
    assert list(method.parameters) == ["self", "dim", "dtype"]
    assert list(inspect.signature(aten.ones(2).softmax).parameters) == ["dim", "dtype"]
    assert inspect.signature(aten.add).parameters["alpha"].default == 1
    assert inspect.signature(aten.softmax).parameters["dim"].default is inspect.Parameter.empty


def test_a_users_operator_describes_itself():
    with aten.library._scoped_library("documented", "DEF") as library:
        library.define("scale(Tensor x, float by=2.0) -> Tensor")
        assert "scale(x: Tensor, by: float = 2.0) -> Tensor" in aten.ops.documented.scale.__doc__


def test_nothing_is_described_before_somebody_asks():
    code = "import aten, sys; print([m for m in sys.modules if m.startswith('aten.documentation')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_sections_are_read_as_they_are_written():
    text = "a\n    Text,\n    more.\n\n    >>> 1\n    1\n\nb\n    >>> 2\n    2\n"
    found = dict(parsed(text))
    assert found["a"] == ("Text,\nmore.", ">>> 1\n1")
    assert found["b"] == ("", ">>> 2\n2")
