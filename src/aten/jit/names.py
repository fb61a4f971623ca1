"""What scripted functions may call: operators, functions of layers, and some of Python's.

Files name functions. Nothing else than what is here is looked up for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from aten import registry
from aten._core.base.device import device
from aten._core.tensor.tensor import Tensor
from aten.jit.types import ANY, BOOL, DTYPE, FLOAT, INT, STR, TENSOR, Type, list_of

# They read or make files, or are of no use without an object that is no value here.
_REFUSED = frozenset({"from_file", "_cuda_getCurrentRawStream"})
_MODULES = {
    "aten": "aten",
    "aten.nn.functional": "aten.nn.functional",
    "aten.linalg": "aten.linalg",
    "aten.special": "aten.special",
    "aten.fft": "aten.fft",
}
# Functions of `aten` that are no operators.
_MADE_BY = ("tensor", "as_tensor", "is_tensor", "device", "manual_seed", "is_grad_enabled")
_MATH = (
    *("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "floor", "ceil", "trunc", "fabs", "pow", "gcd", "isnan", "isinf"),
    *("degrees", "radians", "prod", "hypot", "erf", "gamma", "lgamma", "factorial"),
)
KINDS: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "Tensor": Tensor,
}


def _is_instance(value: Any, *kinds: str) -> bool:
    """`isinstance`, with types by their names; a bool is no int."""
    return any(
        isinstance(value, KINDS[one]) and not (one == "int" and isinstance(value, bool))
        for one in kinds
        if one in KINDS
    )


_BUILTINS: dict[str, Callable[..., Any]] = {
    "len": len,
    "range": range,
    "min": min,
    "max": max,
    "abs": abs,
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "round": round,
    "sum": sum,
    "print": print,
    "enumerate": lambda rows, start=0: list(enumerate(rows, start)),
    "zip": lambda *rows: list(zip(*rows, strict=False)),
    "reversed": lambda rows: list(reversed(rows)),
    "sorted": sorted,
    "list": list,
    "tuple": tuple,
    "all": all,
    "any": any,
    "divmod": divmod,
    "isinstance": _is_instance,
}
BUILTIN_NAMES = frozenset(_BUILTINS)

# Methods of values that are no tensors, by the value's type.
METHODS: dict[type, frozenset[str]] = {
    list: frozenset(
        {"append", "extend", "insert", "pop", "remove", "reverse", "sort", "count", "index"}
        | {"copy", "clear"}
    ),
    dict: frozenset({"get", "items", "keys", "values", "pop", "update", "setdefault", "copy"}),
    str: frozenset(
        {"lower", "upper", "strip", "split", "join", "startswith", "endswith", "replace", "find"}
    ),
    tuple: frozenset({"count", "index"}),
}
# What of a tensor's no scripted function gets: objects of other libraries, hooks, addresses.
_HIDDEN = frozenset(
    {
        *("numpy", "data_ptr", "map_", "map2_", "apply_", "register_hook", "share_memory_"),
        *("register_post_accumulate_grad_hook", "untyped_storage", "storage", "typed_storage"),
        *("set_", "as_subclass", "module_load", "grad_fn", "imag_hook", "backward", "retain_grad"),
    }
)
ATTRIBUTES = frozenset(
    {
        *("shape", "dtype", "device", "ndim", "T", "mT", "H", "mH", "real", "imag", "grad"),
        *("requires_grad", "is_leaf", "layout", "itemsize", "nbytes", "is_cpu", "is_meta", "data"),
    }
)

_RESULTS: dict[str, Type] = {
    **dict.fromkeys(("size", "stride"), list_of(INT)),
    **dict.fromkeys(("dim", "ndimension", "numel", "nelement", "element_size"), INT),
    **dict.fromkeys(("is_floating_point", "is_complex", "is_contiguous", "equal"), BOOL),
    **dict.fromkeys(("split", "chunk", "unbind", "tensor_split"), list_of(TENSOR)),
}
_ATTRIBUTE_TYPES = {
    "shape": list_of(INT),
    "ndim": INT,
    "dtype": DTYPE,
    "requires_grad": BOOL,
    "is_leaf": BOOL,
}
_UNKNOWN = frozenset(
    {"item", "tolist", "max", "min", "sort", "topk", "mode", "median", "kthvalue", "cummax"}
    | {"cummin", "aminmax", "std_mean", "var_mean", "device", "manual_seed", "is_grad_enabled"}
)


def is_tensor_method(name: str) -> bool:
    return (
        not name.startswith("_") and name not in _HIDDEN and callable(getattr(Tensor, name, None))
    )


@cache
def function(name: str) -> Callable[..., Any] | None:
    """The function of that name, or None where it is none that may be called."""
    namespace, _, short = name.rpartition(".")
    if not namespace:
        return _BUILTINS.get(short)
    if short.startswith("_") or short in _REFUSED:
        return None
    if namespace == "math":
        return getattr(math, short) if short in _MATH else None
    if namespace not in _MODULES:
        return None
    if namespace == "aten" and short not in _MADE_BY and not _is_operator(short):
        return None
    if namespace == "aten" and short == "device":
        return device
    found: Any = getattr(import_module(_MODULES[namespace]), short, None)
    own = getattr(found, "__module__", "") or ""
    if not callable(found) or isinstance(found, type):
        return None
    is_own = own.startswith("aten") or (namespace == "aten" and _is_operator(short))
    made: Callable[..., Any] = found
    return made if is_own else None


def _is_operator(name: str) -> bool:
    return hasattr(registry.ops.aten, name)


def name_of(target: Any) -> str | None:
    """The name of a function that may be called."""
    return _names().get(id(target))


@cache
def _names() -> dict[int, str]:
    found: dict[int, str] = {id(one): name for name, one in _BUILTINS.items()}
    found.update({id(one): name for name, one in _builtin_objects().items()})
    found.update({id(getattr(math, name)): f"math.{name}" for name in _MATH})
    for namespace, path in _MODULES.items():
        module = import_module(path)
        for short in dir(module):
            if short.startswith("_"):
                continue
            target = function(f"{namespace}.{short}")
            if target is not None:
                found.setdefault(id(target), f"{namespace}.{short}")
    return found


def _builtin_objects() -> dict[str, Any]:
    """Python's own functions, some of which are others here."""
    names = ("enumerate", "zip", "reversed", "isinstance")
    builtins = import_module("builtins")
    return {name: getattr(builtins, name) for name in names}


def result_type(name: str, args: tuple[Type, ...]) -> Type:
    """The type of what a function or a tensor's method gives, as far as its name tells."""
    namespace, _, short = name.rpartition(".")
    if namespace == "math":
        if short in ("floor", "ceil", "trunc", "gcd", "factorial"):
            return INT
        return BOOL if short in ("isnan", "isinf") else FLOAT
    if not namespace:
        known = {"len": INT, "int": INT, "float": FLOAT, "bool": BOOL, "str": STR}
        known |= {"isinstance": BOOL, "all": BOOL, "any": BOOL, "range": list_of(INT)}
        if short in ("abs", "min", "max") and args and all(one == args[0] for one in args):
            inner = args[0]
            return inner.args[0] if inner.name == "List" and inner.args else inner
        return known.get(short, ANY)
    if short in _UNKNOWN:
        return ANY
    return _RESULTS.get(short, TENSOR if short not in ("is_tensor",) else BOOL)


def attribute_type(name: str) -> Type:
    return _ATTRIBUTE_TYPES.get(name, TENSOR if name in ("T", "mT", "H", "mH") else ANY)
