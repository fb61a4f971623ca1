"""The kinds of operators, and how operands' dtypes become a result's, in words."""

KINDS = {
    "pointwise": "each element of the result depends on the same element of the operands",
    "reduction": "dimensions are folded away, or folded and spread again (softmax)",
    "scan": "each element depends on those before it along a dimension",
    "view": "the result shares the operand's storage",
    "copy": "a copy of what the view of the same name without _copy shows",
    "factory": "makes a tensor from sizes and values",
    "composite": "calls other operators",
    "explicit": "calls other operators; has a derivative of its own, and perhaps kernels",
    "foreach": "calls an operator for each element of lists",
    "kernel": "has a kernel for each device",
}
PROMOTIONS = {
    "default": "the operands' common dtype",
    "number": "as default; for bool, int64",
    "exact": "the common dtype, computed in it: half types are not widened",
    "division": "as float where `rounding_mode` is None, else as default",
    "float": "the common dtype; for bool and integers, the default floating dtype",
    "long": "the common dtype; for bool and integers, int64",
    "bool": "computed in the common dtype, the result is bool",
    "real": "computed in the common dtype; for complex, the result has the real dtype",
    "same": "operands are taken as they are",
}
