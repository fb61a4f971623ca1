"""How operators serve a whole batch at once, by family. What has no rule is called row by row.

A rule gets the call and gives the results as rows. Rows of the batch lie along the first dimension
of its operands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from aten._core.base.dtypes import dtype, promote_types
from aten._core.base.errors import DataDependentOutputException
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.autograd.derivation import CHOOSING
from aten.graph.pytree import map_tensors
from aten.library.vmap_rules import vmap_rule_of
from aten.ops.indexing.indexing import MASK_TYPES
from aten.registry import USER_DEFINED, operator, ops
from aten.transforms.batching.call import (
    COMPOSITE,
    Call,
    argument_names,
    arranged,
    has_out,
    is_composite,
    one_by_one,
    writes,
)
from aten.transforms.batching.functions import by_rule
from aten.transforms.batching.matrices import MATRICES
from aten.transforms.batching.windows import WINDOWS

Rule = Callable[[Call], Any]

# Types from those that give way to those that others become.
_CATEGORIES = {"bool": 0, "signed": 1, "unsigned": 1, "complex": 3}
_POINTWISE = frozenset({"pointwise", "prim elementwise"})
_DIMENSIONS = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "dimension"})

# By name of the operator, without the ending of what writes in place or copies; the operands that
# are alike for every row where they are no rows, the first one if nothing is said.
_ALONG: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "select slice narrow transpose swapaxes swapdims diagonal unfold unbind split "
            "split_with_sizes chunk unsafe_chunk tensor_split flip sort argsort topk "
            "kthvalue median nanmedian mode cumsum cumprod cummax cummin logcumsumexp softmax "
            "log_softmax _softmax _log_softmax sum mean nansum prod amax amin aminmax max min all "
            "any argmax argmin count_nonzero logsumexp var std var_mean std_mean "
            "linalg_vector_norm index_select index_fill squeeze _fft_c2c _fft_c2r _fft_r2c "
            "detach alias _conj _neg_view view_as_complex diag_embed tril triu "
            "constant_pad_nd pixel_shuffle pixel_unshuffle lift_fresh "
        ).split(),
        ("self",),
    ),
    **dict.fromkeys(
        ("gather", "scatter", "scatter_add", "scatter_reduce"), ("self", "index", "src")
    ),
    **dict.fromkeys(("cat", "stack", "_stack"), ("tensors",)),
    **dict.fromkeys(
        ("_softmax_backward_data", "_log_softmax_backward_data"), ("grad_output", "output")
    ),
    **dict.fromkeys(("index_add", "index_copy", "index_reduce"), ("self", "source")),
    **dict.fromkeys(("select_scatter", "slice_scatter", "diagonal_scatter"), ("self", "src")),
}
# Of a matrix, with any number of dimensions before its two.
_OF_MATRICES = frozenset(
    "cholesky cholesky_inverse cholesky_solve _linalg_svd _linalg_eigh linalg_eig linalg_eigvals "
    "_linalg_eigvals _linalg_det _linalg_slogdet linalg_inv_ex linalg_cholesky_ex linalg_qr "
    "linalg_lu linalg_lu_factor_ex linalg_ldl_factor_ex linalg_solve_triangular "
    "linalg_householder_product linalg_matrix_exp geqrf lu_unpack triangular_solve".split()
)
# What folds all dimensions, by what folds those that are named.
_FOLDS_ALL = {
    "sum": "sum.dim_IntList",
    "mean": "mean.dim",
    "prod": "prod.dim_int",
    "all": "all.dims",
    "any": "any.dims",
    "max": "amax",
    "min": "amin",
    "count_nonzero": "count_nonzero.dim_IntList",
    "std": "std.correction",
    "var": "var.correction",
    "std_mean": "std_mean.correction",
    "var_mean": "var_mean.correction",
}


def _stem(op: OpOverload) -> str:
    name = op.name
    if writes(op) and name.endswith("_"):
        name = name[:-1]
    return name.removesuffix("_copy") if op.entry.kind == "copy" else name


@cache
def rule_of(op: OpOverload) -> Rule:
    """The rule that serves an operator."""
    if has_out(op):
        return refuse_out
    stem = _stem(op)
    if stem in _OWN:
        return _OWN[stem]
    if stem in _ALONG and "other" not in argument_names(op):
        return along
    kind = op.entry.kind
    if kind == USER_DEFINED:
        return own_rule
    if kind in _POINTWISE or op.namespace == "gradient":
        return elementwise
    if stem in _OF_MATRICES:
        return of_matrices
    return through if is_composite(op) else one_by_one


def own_rule(call: Call) -> Any:
    """What `register_vmap` was given for a user's operator; else a call for each row."""
    rule = vmap_rule_of(call.op)
    if rule is None:
        return one_by_one(call)
    args, kwargs = arranged(call.op, call.given)
    if writes(call.op) or any(call.has_any(value) for value in kwargs.values()):
        return one_by_one(call)
    return by_rule(rule, call.op.qualified_name, tuple(args), kwargs)


def through(call: Call) -> Any:
    """The operators that it calls; row by row where it looks at a row's data."""
    args, kwargs = arranged(call.op, call.given)
    try:
        return call.op.redispatch(COMPOSITE, *args, **kwargs)
    except DataDependentOutputException:
        if writes(call.op):
            raise
        return one_by_one(call)


def refuse_out(call: Call) -> Any:
    """Raises RuntimeError: rows have no memory of their own that could be resized."""
    raise RuntimeError(f"{call.op.name}: out= is not supported under vmap; use the result")


def refuse_data(call: Call) -> Any:
    """Raises RuntimeError: what comes out depends on the data of each row."""
    raise RuntimeError(
        f"{call.op.name}: under vmap a row has no data of its own: neither a Python number nor the "
        f"sizes of a result can depend on it; aten.where chooses between values instead"
    )


# Elements


def elementwise(call: Call) -> Any:
    """All operands with as many dimensions as the result, and the batch before them."""
    call.raise_unless_writable()
    names = call.tensors()
    rank = max(call.given[name].dim() for name in names)
    common = _common_type([call.given[name] for name in names if name not in CHOOSING], call)
    changed = {}
    for name in names:
        value = call.given[name]
        found = call.inner(value)
        if common is not None and value.dim() == 0 and name not in CHOOSING and not writes(call.op):
            found = ops.aten.to(found, common)
        if call.has(value):
            for _ in range(rank - value.dim()):
                found = ops.aten.unsqueeze(found, 1)
        changed[name] = found
    return call.run(**changed)


def _common_type(values: list[Tensor], call: Call) -> dtype | None:
    """The type that numbers (tensors without dimensions) have to get, since in a batch they have
    one; None where they need none."""
    numbers = [value for value in values if value.dim() == 0]
    if not any(call.has(value) for value in numbers):
        return None
    if all(value.dtype is values[0].dtype for value in values):
        return None
    weak = _promoted([value.dtype for value in numbers])
    arrays = [value.dtype for value in values if value.dim() > 0]
    if weak is None or not arrays:
        return weak
    strong = _promoted(arrays)
    assert strong is not None
    if _category(weak) <= _category(strong):
        return strong
    return strong.to_complex() if strong.is_floating_point else promote_types(strong, weak)


def _promoted(types: list[dtype]) -> dtype | None:
    found: dtype | None = None
    for one in types:
        found = one if found is None else promote_types(found, one)
    return found


def _category(of: dtype) -> int:
    return _CATEGORIES.get(of.kind, 2)


# Along dimensions


def along(call: Call) -> Any:
    """Dimensions counted from the second one on."""
    call.raise_unless_writable()
    stem = _stem(call.op)
    carrying = _ALONG[stem]
    operands = {name: call.given[name] for name in carrying if _has_tensors(call.given.get(name))}
    others = [name for name in call.given if name not in operands]
    if any(call.has_any(call.given[name]) for name in others):
        return one_by_one(call)
    ranks = {one.dim() for value in operands.values() for one in _listed(value)}
    if len(ranks) != 1:
        return one_by_one(call)
    rank = ranks.pop()
    changed = {name: call.front(value) for name, value in operands.items()}
    op = call.op
    if not _names_dimensions(op) and stem in _FOLDS_ALL:
        return _fold_all(call, operator(f"aten::{_FOLDS_ALL[stem]}"), rank, changed)
    if stem in ("median", "nanmedian") and not _names_dimensions(op):
        flat = ops.aten.flatten(changed["self"], 1) if rank else changed["self"].unsqueeze(1)
        return call.rows(operator(f"aten::{stem}.dim")(flat, 1)[0])
    extra = stem in ("stack", "_stack", "diag_embed")
    if rank == 0 and not extra and _names_dimensions(op):
        return _of_numbers(call, changed)
    for argument in op._schema.arguments:
        if argument.name in _DIMENSIONS and argument.name in call.given:
            given = call.given[argument.name]
            changed[argument.name] = _shifted(call, given, rank + extra)
            if given is None and not _is_list(argument):
                return _of_flat(call, changed)
    if stem == "squeeze" and not _names_dimensions(op):
        ones = [
            place + 1
            for place, size in enumerate(_listed(call.given["self"])[0].shape)
            if size == 1
        ]
        return call.rows(ops.aten.squeeze(changed["self"], ones))
    return call.run(**changed)


def _listed(value: Any) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else list(value)


def _has_tensors(value: Any) -> bool:
    return isinstance(value, Tensor) or (
        isinstance(value, (list, tuple)) and len(value) > 0 and isinstance(value[0], Tensor)
    )


@cache
def _names_dimensions(op: OpOverload) -> bool:
    return any(argument.name in _DIMENSIONS for argument in op._schema.arguments)


def _is_list(argument: Any) -> bool:
    return "[" in str(argument.type)


def _shifted(call: Call, given: Any, rank: int) -> Any:
    if given is None or (isinstance(given, (list, tuple)) and not given):
        folds = call.op.entry.kind == "reduction" or _stem(call.op) == "linalg_vector_norm"
        return list(range(1, rank + 1)) if folds else given
    if isinstance(given, (list, tuple)):
        return [_shifted(call, one, rank) for one in given]
    if not -max(rank, 1) <= given < max(rank, 1):
        raise IndexError(
            f"{call.op.name}: expected a dimension from {-max(rank, 1)} to {max(rank, 1) - 1}, "
            f"got {given}"
        )
    return given if given < 0 else given + 1


def _fold_all(call: Call, op: OpOverload, rank: int, changed: dict[str, Any]) -> Any:
    value = changed["self"]
    dims: Any = list(range(1, rank + 1))
    if op.name == "prod":
        value = ops.aten.flatten(value, 1) if rank else ops.aten.unsqueeze(value, 1)
        dims = 1
    elif rank == 0:
        value, dims = ops.aten.unsqueeze(value, 1), [1]
    named = {"self": value, "dim": dims}
    if "unbiased" in call.given:
        named["correction"] = int(call.given["unbiased"])
    return call.run(op, **named)


def _of_flat(call: Call, changed: dict[str, Any]) -> Any:
    """Where no dimension is named all are gone through as one, in rows' order."""
    if call.given.get("keepdim"):
        return one_by_one(call)
    value = changed["self"]
    flat = ops.aten.flatten(value, 1) if value.dim() > 1 else ops.aten.unsqueeze(value, 1)
    return call.run(**{**changed, "self": flat, "dim": 1})


def _of_numbers(call: Call, changed: dict[str, Any]) -> Any:
    """Rows without dimensions, as with one of size one."""
    if writes(call.op):
        return one_by_one(call)
    for argument in call.op._schema.arguments:
        if argument.name in _DIMENSIONS and argument.name in call.given:
            given = call.given[argument.name]
            if given in (None, [], ()):
                changed[argument.name] = [1] if _is_list(argument) else 1
            else:
                changed[argument.name] = _shifted(call, given, 0)
    for name, value in changed.items():
        if isinstance(value, Tensor):
            changed[name] = ops.aten.unsqueeze(value, 1)
    if any(isinstance(value, (list, tuple)) and _has_tensors(value) for value in changed.values()):
        return one_by_one(call)
    return map_tensors(
        lambda one: ops.aten.squeeze(one, 0) if one.dim() else one, call.run(**changed)
    )


# Sizes


def expand(call: Call) -> Any:
    """The batch stays before the new dimensions."""
    value, size = call.inner(call.given["self"]), list(call.given["size"])
    for _ in range(len(size) - call.given["self"].dim()):
        value = ops.aten.unsqueeze(value, 1)
    return call.run(self=value, size=[call.size, *size])


def permute(call: Call) -> Any:
    """The dimensions after the batch in another order."""
    rank = call.given["self"].dim()
    return call.run(dims=[0, *(_shifted(call, dim, rank) for dim in call.given["dims"])])


def unsqueeze(call: Call) -> Any:
    """One more dimension, after the batch."""
    rank, dim = call.given["self"].dim() + 1, call.given["dim"]
    return call.run(dim=_shifted(call, dim, rank))


def view(call: Call) -> Any:
    """Other sizes after the batch, or another type."""
    if "size" not in call.given:
        return same_type_view(call)
    size = list(call.given["size"])
    if -1 in size and call.size == 0:
        return one_by_one(call)
    return call.run(size=[call.size, *size])


def same_type_view(call: Call) -> Any:
    """Elements read as of another type, which are as many for each row as they were."""
    return one_by_one(call) if call.given["self"].dim() == 0 else call.run()


def view_as_real(call: Call) -> Any:
    """Both parts; a row does not know of a conjugate that has not been carried out."""
    return call.run(self=ops.aten.resolve_conj(call.inner(call.given["self"])))


def as_strided(call: Call) -> Any:
    """The same steps in each row, from where it begins."""
    value = call.inner(call.given["self"])
    offset = call.given["storage_offset"] or 0
    return call.run(
        size=[call.size, *call.given["size"]],
        stride=[value.stride(0), *call.given["stride"]],
        storage_offset=value.storage_offset() + offset,
    )


def from_sizes(call: Call) -> Any:
    """What goes back through a view, into a tensor of the sizes that are given."""
    if not call.has(call.given["grad_output"]):
        return one_by_one(call)
    sizes = call.given["input_sizes"]
    shifted = {
        name: _shifted(call, call.given[name], len(sizes))
        for name in ("dim", "dim1", "dim2")
        if name in call.given
    }
    return call.run(input_sizes=[call.size, *sizes], **shifted)


def repeat(call: Call) -> Any:
    """Each row as often as is said."""
    repeats = list(call.given["repeats"])
    value = call.inner(call.given["self"])
    for _ in range(len(repeats) - call.given["self"].dim()):
        value = ops.aten.unsqueeze(value, 1)
    return call.run(self=value, repeats=[1, *repeats])


def new(call: Call) -> Any:
    """A tensor of the sizes given for each row."""
    return call.run(size=[call.size, *call.given["size"]])


def like(call: Call) -> Any:
    """What is made as the whole batch is, but for memory formats, which tell dimensions apart."""
    if "channels_last" in str(call.given.get("memory_format")):
        return one_by_one(call)
    return call.run() if call.has(call.given[argument_names(call.op)[0]]) else one_by_one(call)


def fill(call: Call) -> Any:
    """A value that is a row is copied to all elements of its row."""
    if not call.has(call.given["value"]):
        return like(call)
    target = call.given["self"]
    return ops.aten.copy_(
        target if writes(call.op) else ops.aten.empty_like(target), call.given["value"]
    )


def masked_fill(call: Call) -> Any:
    """A value that is a row is chosen as by `where`."""
    value = call.given["value"]
    if not call.has(value):
        return elementwise(call)
    if value.dim() != 0:
        return one_by_one(call)
    target = call.given["self"]
    filled = ops.aten.where(call.given["mask"], ops.aten.to(value, target.dtype), target)
    return ops.aten.copy_(target, filled) if writes(call.op) else filled


def of_matrices(call: Call) -> Any:
    """The batch as one more dimension before those of the matrices."""
    names = call.tensors()
    if len({call.given[name].dim() for name in names}) != 1 or call.given[names[0]].dim() < 2:
        return one_by_one(call)
    return call.run(**{name: call.front(call.given[name]) for name in names})


# Indices


def index(call: Call) -> Any:
    """Elements by indices; where these are rows, too, with the number of the row before them."""
    indices = list(call.given["indices"])
    if any(_is_mask(one) for one in indices):
        return one_by_one(call) if call.has_any(indices) else _index_alike(call, indices)
    if not call.has_any(indices):
        return _index_alike(call, indices)
    places = [place for place, one in enumerate(indices) if one is not None]
    if places != list(range(len(places))):
        return one_by_one(call)
    value = call.front(call.given["self"])
    return call.run(self=value, indices=_with_batch(call, indices, value))


def _is_mask(given: Any) -> bool:
    return isinstance(given, Tensor) and given.dtype.name in MASK_TYPES


def _index_alike(call: Call, indices: list[Any]) -> Any:
    places = [place for place, one in enumerate(indices) if one is not None]
    if places != list(range(places[0], places[0] + len(places))):
        return one_by_one(call)
    return call.run(indices=[None, *indices])


def _with_batch(call: Call, indices: list[Any], value: Tensor) -> list[Any]:
    """Indices of a batch's elements: the number of the row first."""
    given = [one for one in indices if one is not None]
    rank = max(one.dim() for one in given)
    aligned = []
    for one in given:
        found = call.inner(one)
        if call.has(one):
            for _ in range(rank - one.dim()):
                found = ops.aten.unsqueeze(found, 1)
        aligned.append(found)
    rows = ops.aten.arange(call.size, device=value.device)
    return [ops.aten.view(rows, [call.size, *([1] * rank)]), *aligned]


def index_put(call: Call) -> Any:
    """As `index`, where the values are of the indices' dimensions and those after them."""
    call.raise_unless_writable()
    indices = list(call.given["indices"])
    places = [place for place, one in enumerate(indices) if one is not None]
    if any(_is_mask(one) for one in indices) or places != list(range(len(places))):
        return one_by_one(call)
    value = call.front(call.given["self"])
    found = _with_batch(call, indices, value)
    given = [one for one in indices if one is not None]
    rank = max(one.dim() for one in given) + call.given["self"].dim() - len(given)
    values = call.inner(call.given["values"])
    if call.has(call.given["values"]):
        for _ in range(rank - call.given["values"].dim()):
            values = ops.aten.unsqueeze(values, 1)
    return call.run(self=value, indices=found, values=values)


def embedding(call: Call) -> Any:
    """Rows of a table by a batch of indices; of a batch of tables one by one."""
    return one_by_one(call) if call.has(call.given["weight"]) else call.run()


def index_select(call: Call) -> Any:
    """Along a dimension; where the indices are rows, too, an element for each."""
    chosen = call.given["index"]
    if not call.has(chosen):
        return along(call)
    rank = call.given["self"].dim()
    if rank == 0 or chosen.dim() != 1:
        return one_by_one(call)
    dim = call.given["dim"] % rank
    found = call.inner(chosen)
    sizes = list(call.given["self"].shape)
    sizes[dim] = found.shape[1]
    for _ in range(dim):
        found = ops.aten.unsqueeze(found, 1)
    for _ in range(rank - dim - 1):
        found = ops.aten.unsqueeze(found, -1)
    value = call.front(call.given["self"])
    return call.rows(ops.aten.gather(value, dim + 1, ops.aten.expand(found, [call.size, *sizes])))


def roll(call: Call) -> Any:
    """Along the dimensions that are named; else of all as one."""
    if not call.given["dims"] or call.given["self"].dim() == 0:
        return one_by_one(call)
    return call.run(dims=_shifted(call, _as_list(call.given["dims"]), call.given["self"].dim()))


def _as_list(given: Any) -> list[int]:
    return [given] if isinstance(given, int) else list(given)


def layer_norm(call: Call) -> Any:
    """Rows are normalized as they are; weights that are rows come after."""
    weight, bias = call.given["weight"], call.given["bias"]
    if not call.has(call.given["input"]) or call.has_any((weight, bias)):
        return one_by_one(call)
    return call.run()


_NEW = ("new_empty", "new_zeros", "new_ones", "new_full")
_LIKE = (
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "rand_like",
    "randn_like",
    "_to_copy",
    "to",
    "contiguous",
    "_conj_physical",
    "zero",
    "bernoulli",
    "dropout",
    "native_dropout",
)
_OWN: dict[str, Rule] = {
    **MATRICES,
    **WINDOWS,
    **dict.fromkeys(_NEW, new),
    **dict.fromkeys(_LIKE, like),
    "expand": expand,
    "permute": permute,
    "unsqueeze": unsqueeze,
    "view": view,
    "_unsafe_view": view,
    "view_as_real": view_as_real,
    "as_strided": as_strided,
    **dict.fromkeys(("select_backward", "slice_backward", "diagonal_backward"), from_sizes),
    "repeat": repeat,
    "index": index,
    "_unsafe_index": index,
    "index_put": index_put,
    "_unsafe_index_put": index_put,
    "index_select": index_select,
    "embedding": embedding,
    "roll": roll,
    "native_layer_norm": layer_norm,
    "clone": like,
    "fill": fill,
    "masked_fill": masked_fill,
    "copy": elementwise,
    "where": elementwise,
    "lerp": elementwise,
    "gcd": elementwise,
    "igamma": elementwise,
    "igammac": elementwise,
    **dict.fromkeys(("item", "_local_scalar_dense", "is_nonzero", "equal", "resize"), refuse_data),
}
