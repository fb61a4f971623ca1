"""Functions of functions, under torch's names."""

from aten.func.stateless import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from aten.transforms.batching import vmap
from aten.transforms.batching.wrapping import debug_unwrap
from aten.transforms.functionalization import functionalize
from aten.transforms.gradients import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
