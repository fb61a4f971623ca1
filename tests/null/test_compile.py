"""Every operator made of loops compiles for every element type it takes; nothing is run."""

import llvmlite.binding as llvm
import pytest

from aten._core.base.dtypes import DTYPES
from aten._generated.table import OPERATORS
from aten.backends.cpu import jit
from aten.backends.cpu.codegen import compile_program, llvm_ir
from aten.backends.cpu.explanation import example_programs

ELEMENTS = [
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]
NAMES = [
    name
    for name, (_, kind, variant, _, function, _) in OPERATORS.items()
    if kind in ("pointwise", "reduction") and variant == "functional" and function
]
# What operators raise for element types they do not take.
REFUSED = (TypeError, RuntimeError, NotImplementedError)
EVERYWHERE = ["add.Tensor", "mul.Tensor", "eq.Tensor", "sum", "ne.Scalar"]
FLOATING = ["_softmax", "native_layer_norm", "exp", "gelu", "tanh", "var.correction"]


def modules_for(name, element):
    """LLVM IR of the operator's programs; nothing where it does not take the type."""
    try:
        programs = example_programs(name, DTYPES[element])[1]
        return [llvm_ir(program) for program in programs]
    except REFUSED:
        return []


@pytest.mark.parametrize("name", NAMES)
def test_the_code_is_well_formed(name):
    """LLVM takes the module, types and all, for each element type."""
    jit.session()  # knows the target
    taken = 0
    for element in ELEMENTS:
        for module in modules_for(name, element):
            llvm.parse_assembly(module).verify()
            taken += 1
    assert taken


@pytest.mark.parametrize("name", EVERYWHERE)
def test_arithmetic_takes_every_element_type(name):
    assert all(modules_for(name, element) for element in ELEMENTS)


@pytest.mark.parametrize("name", FLOATING)
def test_functions_take_every_floating_type(name):
    floating = [element for element in ELEMENTS if "float" in element]
    assert all(modules_for(name, element) for element in floating)


@pytest.mark.parametrize("name", EVERYWHERE + FLOATING)
@pytest.mark.parametrize("element", ["float32", "float64", "bfloat16"])
def test_machine_code_comes_out(name, element):
    for program in example_programs(name, DTYPES[element])[1]:
        assert compile_program(program).address
