# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Views: other sizes, strides and offsets over the same storage.

They look at metadata only, so one compiled kernel serves every strided backend. The table names
each by `native:`.
"""

from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t, uint64_t

from aten._core.base.device cimport META
from aten._core.base.dtypes cimport dtype, item_size
from aten._core.base.keys cimport recording_bit
from aten._core.base.sizes cimport MAXIMUM_DIMS, read_sizes
from aten._core.base.strides cimport contiguous_strides, storage_extent
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.memory.storage cimport is_aligned
from aten._core.tensor.making cimport make_alias, make_tensor
from aten._core.tensor.making import is_fake
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, conjugate_bit, is_lazy, keys_of_views,
                                            negative_bit, note_base, part_from_base,
                                            share_versions, wrap_dim)

ctypedef Tensor (*ViewFunction)(TensorImpl base, PyObject** stack, Py_ssize_t count)


cdef class ViewKernel(Kernel):
    """Runs a compiled view. Raises LookupError where no view has the name."""

    def __init__(self, OpOverload op not None, str native not None):
        if native not in _FUNCTIONS:
            raise LookupError(f"{op.name}: no compiled view is called {native!r}")
        self.native = native
        self.function = <void*><size_t>_FUNCTIONS[native]
        self.place = f"aten/_core/views/views.pyx:{native}"

    def describe(self):
        return f"compiled view {self.native}"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        return (<ViewFunction>self.function)(<TensorImpl>stack[0], stack, op.count)


cdef inline uint64_t _keys_of_view(TensorImpl base) noexcept:
    # With the bit of recording, whether or not the view is recorded: a write to it has to be.
    return keys_of_views(base) | base.keys & recording_bit()


cdef Tensor view_of(TensorImpl base, int rank, const int64_t* sizes, const int64_t* strides,
                    int64_t offset):
    """A view; the caller vouches that it stays inside the storage."""
    cdef Tensor made = make_tensor(base.storage, base.dtype_code, rank, sizes, strides, offset)
    made.keys = _keys_of_view(base)
    share_versions(made, base)
    note_base(made, base)
    return made


cdef Tensor _alias(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef Tensor made = make_alias(base)
    made.keys = _keys_of_view(base)
    return made


cdef Tensor _detached(TensorImpl base, PyObject** stack, Py_ssize_t count):
    """The same window, apart from the graph: what is written to it is nobody else's history."""
    cdef Tensor made = make_alias(base)
    part_from_base(made)
    return made


cdef Tensor _conjugated(TensorImpl base, PyObject** stack, Py_ssize_t count):
    """Reads as the complex conjugate; of a lazy conjugate, as what is in memory."""
    cdef Tensor made = _alias(base, stack, count)
    made.keys ^= conjugate_bit()
    return made


cdef Tensor _negated(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef Tensor made = _alias(base, stack, count)
    made.keys ^= negative_bit()
    return made


cdef Tensor _t(TensorImpl base, PyObject** stack, Py_ssize_t count):
    if base.rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {base.rank}D")
    if base.rank < 2:
        return _alias(base, stack, count)
    return swapped(base, 0, 1)


cdef Tensor swapped(TensorImpl base, int first, int second):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int dim
    for dim in range(base.rank):
        sizes[dim] = base.sizes[dim]
        strides[dim] = base.strides[dim]
    sizes[first], sizes[second] = sizes[second], sizes[first]
    strides[first], strides[second] = strides[second], strides[first]
    return view_of(base, base.rank, sizes, strides, base.offset)


cdef Tensor _transpose(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int first = wrap_dim(<object>stack[1], base.rank)
    cdef int second = wrap_dim(<object>stack[2], base.rank)
    if base.rank == 0:
        return _alias(base, stack, count)
    return swapped(base, first, second)


cdef Tensor _permute(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int64_t dims[MAXIMUM_DIMS]
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef bint seen[MAXIMUM_DIMS]
    cdef int dim, position
    cdef Py_ssize_t given = read_sizes(<object>stack[1], dims, MAXIMUM_DIMS)
    if given != base.rank:
        raise RuntimeError(
            f"permute: number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {base.rank} is not "
            f"equal to len(dims) = {given}")
    for position in range(base.rank):
        seen[position] = False
    for position in range(base.rank):
        dim = wrap_dim(dims[position], base.rank)
        if seen[dim]:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        seen[dim] = True
        sizes[position] = base.sizes[dim]
        strides[position] = base.strides[dim]
    return view_of(base, base.rank, sizes, strides, base.offset)


cdef Tensor _unsqueeze(TensorImpl base, PyObject** stack, Py_ssize_t count):
    return unsqueezed(base, wrap_dim(<object>stack[1], base.rank + 1))


cdef Tensor unsqueezed(TensorImpl base, int place):
    cdef int64_t sizes[MAXIMUM_DIMS + 1]
    cdef int64_t strides[MAXIMUM_DIMS + 1]
    cdef int dim
    if base.rank == MAXIMUM_DIMS:
        raise RuntimeError(f"unsqueeze: tensors have at most {MAXIMUM_DIMS} dimensions")
    for dim in range(base.rank):
        sizes[dim + (dim >= place)] = base.sizes[dim]
        strides[dim + (dim >= place)] = base.strides[dim]
    sizes[place] = 1
    strides[place] = base.sizes[place] * base.strides[place] if place < base.rank else 1
    return view_of(base, base.rank + 1, sizes, strides, base.offset)


cdef Tensor _squeeze(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef bint chosen[MAXIMUM_DIMS + 1]
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int dim, rank = 0
    cdef object given = <object>stack[1] if count > 1 else None
    for dim in range(base.rank + 1):
        chosen[dim] = given is None
    if isinstance(given, int):
        chosen[wrap_dim(given, base.rank)] = True
    elif given is not None:
        for one in given:
            if chosen[wrap_dim(one, base.rank)]:
                raise RuntimeError(f"dim {one} appears multiple times in the list of dims")
            chosen[wrap_dim(one, base.rank)] = True
    for dim in range(base.rank):
        if chosen[dim] and base.sizes[dim] == 1:
            continue
        sizes[rank] = base.sizes[dim]
        strides[rank] = base.strides[dim]
        rank += 1
    return view_of(base, rank, sizes, strides, base.offset)


cdef Tensor _expand(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int64_t wanted[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int rank = <int>read_sizes(<object>stack[1], wanted, MAXIMUM_DIMS)
    cdef int dim, source
    if rank < base.rank:
        raise RuntimeError(
            f"expand({base.dtype.name}{list(base.size())}, size={list(<object>stack[1])}): the "
            f"number of sizes provided ({rank}) must be greater or equal to the number of "
            f"dimensions in the tensor ({base.rank})")
    for dim in range(rank):
        source = dim - (rank - base.rank)
        if source < 0:
            if wanted[dim] < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted[dim]}) isn't allowed in a leading, "
                    f"non-existing dimension {dim}")
            strides[dim] = 0
            continue
        if wanted[dim] == -1:
            wanted[dim] = base.sizes[source]
        strides[dim] = base.strides[source]
        if wanted[dim] == base.sizes[source]:
            continue
        if base.sizes[source] != 1 or wanted[dim] < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[dim]}) must match the existing size "
                f"({base.sizes[source]}) at non-singleton dimension {dim}.  Target sizes: "
                f"{list(<object>stack[1])}.  Tensor sizes: {list(base.size())}")
        strides[dim] = 0
    if base.rank > 0:
        # New dimensions of one element have the stride that a row-major tensor would have there.
        for dim in range(rank - base.rank - 1, -1, -1):
            if wanted[dim] == 1:
                strides[dim] = wanted[dim + 1] * strides[dim + 1]
    return view_of(base, rank, wanted, strides, base.offset)


cdef Tensor _select(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int dim
    if base.rank == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(<object>stack[1], base.rank)
    return selected(base, dim, <object>stack[2])


cdef Tensor selected(TensorImpl base, int dim, int64_t index):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t size = base.sizes[dim]
    cdef int position
    if index < -size or index >= size:
        raise IndexError(f"select(): index {index} out of range for tensor of size "
                         f"{list(base.size())} at dimension {dim}")
    if index < 0:
        index += size
    for position in range(base.rank - 1):
        sizes[position] = base.sizes[position + (position >= dim)]
        strides[position] = base.strides[position + (position >= dim)]
    return view_of(base, base.rank - 1, sizes, strides, base.offset + index * base.strides[dim])


cdef void slice_bounds(int64_t size, object start, object stop, int64_t* first,
                       int64_t* end) except *:
    """`start` and `stop` counted from the front and clamped to 0 … size, in this order."""
    first[0] = 0 if start is None else _clamped(start, size)
    end[0] = size if stop is None else _clamped(stop, size)
    if end[0] < first[0]:
        end[0] = first[0]


cdef int64_t _clamped(object bound, int64_t size) except -1:
    cdef int64_t value
    try:
        value = bound
    except OverflowError:
        return 0 if bound < 0 else size
    if value < 0:
        value += size
    return 0 if value < 0 else (size if value > size else value)


cdef Tensor _slice(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t first, end, step = <object>stack[4]
    cdef int dim, position
    if base.rank == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(<object>stack[1], base.rank)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    slice_bounds(base.sizes[dim], <object>stack[2], <object>stack[3], &first, &end)
    for position in range(base.rank):
        sizes[position] = base.sizes[position]
        strides[position] = base.strides[position]
    sizes[dim] = (end - first) // step + ((end - first) % step != 0)
    if sizes[dim] > 1:
        strides[dim] = base.strides[dim] * step
    else:
        strides[dim] = base.strides[dim] * (step if step < (1 << 31) else 1)
    return view_of(base, base.rank, sizes, strides, base.offset + first * base.strides[dim])


cdef int inferred_sizes(TensorImpl base, object wanted, int64_t* sizes) except -1:
    """`wanted` with -1 filled in. Raises RuntimeError where the elements do not fit."""
    cdef int rank = <int>read_sizes(wanted, sizes, MAXIMUM_DIMS)
    cdef int dim, missing = -1
    cdef int64_t known = 1
    for dim in range(rank):
        if sizes[dim] == -1:
            if missing >= 0:
                raise RuntimeError("only one dimension can be inferred")
            missing = dim
        elif sizes[dim] < 0:
            raise RuntimeError(f"invalid shape dimension {sizes[dim]} at index {dim} of shape "
                               f"{list(wanted)}")
        elif sizes[dim] > 0 and known > INT64_MAX // sizes[dim]:
            raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {base.count}")
        else:
            known *= sizes[dim]
    if missing >= 0:
        if known == 0 and base.count == 0:
            raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(wanted)} "
                               f"because the unspecified dimension size -1 can be any value and "
                               f"is ambiguous")
        if known == 0 or base.count % known:
            raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {base.count}")
        sizes[missing] = base.count // known
    elif known != base.count:
        raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {base.count}")
    return rank


cdef bint view_strides(TensorImpl base, int rank, const int64_t* sizes, int64_t* strides) except -1:
    """Strides that give `base` other sizes without moving elements; False where there are none.

    Runs of dimensions that lie evenly in memory are cut anew, from the innermost outwards. The
    stride of a last dimension of one element, which may be any, is passed on.
    """
    cdef int dim = base.rank - 1, place = rank - 1
    cdef int64_t chunk, chunk_stride, taken
    if base.count == 0 or (base.contiguous and (dim < 0 or base.strides[dim] == 1)):
        contiguous_strides(rank, sizes, strides)
        if base.count == 0 and base.rank == rank:
            for place in range(rank):
                if base.sizes[place] != sizes[place]:
                    return True
            for place in range(rank):
                strides[place] = base.strides[place]
        return True
    while dim >= 0:
        chunk = base.sizes[dim]
        chunk_stride = base.strides[dim]
        while dim > 0 and (base.sizes[dim - 1] == 1
                           or base.strides[dim - 1] == chunk * chunk_stride):
            dim -= 1
            chunk *= base.sizes[dim]
        taken = 1
        while place >= 0 and (taken < chunk or sizes[place] == 1):
            strides[place] = taken * chunk_stride
            taken *= sizes[place]
            place -= 1
        if taken != chunk:
            return False
        dim -= 1
    return place < 0


cdef Tensor _view(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int rank = inferred_sizes(base, <object>stack[1], sizes)
    if not view_strides(base, rank, sizes, strides):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.")
    return view_of(base, rank, sizes, strides, base.offset)


def try_view(Tensor base not None, sizes):
    """A view of `base` with `sizes`, or None where elements would have to move.

    Of a fake tensor with symbolic sizes, the tensor itself stands for the view. Raises RuntimeError
    where the number of elements differs.
    """
    cdef int64_t size_values[MAXIMUM_DIMS]
    known = getattr(base, "_symbolic", None) if is_fake(base) else None
    if known is not None:
        return base if known.has_view(sizes) else None
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int rank = inferred_sizes(base, sizes, size_values)
    if not view_strides(base, rank, size_values, strides):
        return None
    return view_of(base, rank, size_values, strides, base.offset)


def inferred_shape(Tensor base not None, sizes):
    """`sizes` with -1 filled in. Raises RuntimeError where the elements do not fit."""
    cdef int64_t values[MAXIMUM_DIMS]
    cdef int rank = inferred_sizes(base, sizes, values)
    return tuple([values[dim] for dim in range(rank)])


cdef Tensor _as_strided(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int rank = <int>read_sizes(<object>stack[1], sizes, MAXIMUM_DIMS)
    cdef object given = <object>stack[3]
    cdef int64_t offset = base.offset if given is None else given
    cdef int64_t extent, held = base.storage.bytes // item_size(base.dtype_code)
    cdef int dim
    if read_sizes(<object>stack[2], strides, MAXIMUM_DIMS) != rank:
        raise RuntimeError("mismatch in length of strides and shape")
    for dim in range(rank):
        if sizes[dim] < 0:
            raise RuntimeError(f"Storage size calculation overflowed with sizes="
                               f"{list(<object>stack[1])} and strides={list(<object>stack[2])}")
        if strides[dim] < 0:
            raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got "
                               f"strides: {list(<object>stack[2])}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    extent = storage_extent(rank, sizes, strides)
    if base.device_type != META and (
            extent < 0 or (extent > 0 and (extent > held or offset > held - extent))):
        raise RuntimeError(
            f"setStorage: sizes {list(<object>stack[1])}, strides {list(<object>stack[2])}, "
            f"storage offset {offset}, and itemsize {item_size(base.dtype_code)} are out of "
            f"bounds for storage of size {base.storage.bytes}")
    return view_of(base, rank, sizes, strides, offset)


cdef Tensor _diagonal(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t offset = <object>stack[1], length, start = base.offset
    cdef int first = wrap_dim(<object>stack[2], base.rank)
    cdef int second = wrap_dim(<object>stack[3], base.rank)
    cdef int dim, rank = 0
    if base.rank < 2 or first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {<object>stack[2]}, "
                           f"{<object>stack[3]}")
    if offset >= 0:
        length = min(base.sizes[first], base.sizes[second] - offset)
    else:
        length = min(base.sizes[first] + offset, base.sizes[second])
    length = max(length, 0)
    if length > 0:
        start += offset * base.strides[second] if offset >= 0 else -offset * base.strides[first]
    for dim in range(base.rank):
        if dim != first and dim != second:
            sizes[rank] = base.sizes[dim]
            strides[rank] = base.strides[dim]
            rank += 1
    sizes[rank] = length
    strides[rank] = base.strides[first] + base.strides[second]
    return view_of(base, rank + 1, sizes, strides, start)


cdef Tensor _unfold(TensorImpl base, PyObject** stack, Py_ssize_t count):
    cdef int64_t sizes[MAXIMUM_DIMS + 1]
    cdef int64_t strides[MAXIMUM_DIMS + 1]
    cdef int64_t width = <object>stack[2], step = <object>stack[3], size
    cdef int dim = wrap_dim(<object>stack[1], base.rank), position
    size = base.sizes[dim] if base.rank else 1
    if width < 0 or width > size:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {size} but size is "
                           f"{width}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if base.rank == MAXIMUM_DIMS:
        raise RuntimeError(f"unfold: tensors have at most {MAXIMUM_DIMS} dimensions")
    for position in range(base.rank):
        sizes[position] = base.sizes[position]
        strides[position] = base.strides[position]
    sizes[base.rank] = width
    strides[base.rank] = base.strides[dim] if base.rank else 1
    if base.rank:
        sizes[dim] = (size - width) // step + 1
        strides[dim] = base.strides[dim] * step
    return view_of(base, base.rank + 1, sizes, strides, base.offset)


cdef Tensor _view_dtype(TensorImpl base, PyObject** stack, Py_ssize_t count):
    """The same bytes as elements of another type, which may make the last dimension longer or
    shorter.
    """
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef dtype wanted = <dtype?><object>stack[1]
    cdef int old = item_size(base.dtype_code), new = item_size(wanted.code)
    cdef int dim, last = base.rank - 1
    cdef int64_t offset = base.offset * old
    cdef Tensor made
    if wanted.code != base.dtype_code and is_lazy(base):
        raise RuntimeError("view: a lazy conjugate or negative has no bytes of its own to view as "
                           "another dtype; use resolve_conj() or resolve_neg() first")
    if base.count and not is_aligned(base.storage.data, new):
        raise RuntimeError(f"view: the memory begins at an address that is not a multiple of the "
                           f"{new} bytes of {wanted.scalar_type_name}; clone() the tensor first")
    for dim in range(base.rank):
        sizes[dim] = base.sizes[dim]
        strides[dim] = base.strides[dim]
    if old != new:
        what = f"to view {base.dtype.scalar_type_name} as {wanted.scalar_type_name}"
        if base.rank == 0:
            raise RuntimeError(f"self.dim() cannot be 0 {what} (different element sizes)")
        if strides[last] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {what} (different element sizes), but "
                               f"got {strides[last]}")
        if sizes[last] * old % new:
            raise RuntimeError(f"self.size(-1) must be divisible by {new // old} {what} "
                               f"(different element sizes), but got {sizes[last]}")
        if offset % new:
            raise RuntimeError(f"self.storage_offset() must be divisible by {new // old} {what} "
                               f"(different element sizes), but got {base.offset}")
        for dim in range(last):
            if strides[dim] * old % new:
                raise RuntimeError(f"self.stride({dim}) must be divisible by {new // old} {what} "
                                   f"(different element sizes), but got {strides[dim]}")
            strides[dim] = strides[dim] * old // new
        sizes[last] = sizes[last] * old // new
    made = make_tensor(base.storage, wanted.code, base.rank, sizes, strides, offset // new)
    made.keys = _keys_of_view(base)
    share_versions(made, base)
    note_base(made, base)
    return made


cdef dict _FUNCTIONS = {
    "alias": <size_t>_alias,
    "detach": <size_t>_detached,
    "t": <size_t>_t,
    "transpose": <size_t>_transpose,
    "permute": <size_t>_permute,
    "unsqueeze": <size_t>_unsqueeze,
    "squeeze": <size_t>_squeeze,
    "expand": <size_t>_expand,
    "select": <size_t>_select,
    "slice": <size_t>_slice,
    "view": <size_t>_view,
    "as_strided": <size_t>_as_strided,
    "diagonal": <size_t>_diagonal,
    "unfold": <size_t>_unfold,
    "view_dtype": <size_t>_view_dtype,
    "conjugate": <size_t>_conjugated,
    "negative": <size_t>_negated,
}
