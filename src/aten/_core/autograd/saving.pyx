# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""What nodes keep for the way back: operands and results as they were.

Results are kept without their own place in the graph, so that no node holds itself.
"""

import threading

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from aten._core.autograd.node cimport (
    AccumulateGrad, Node, edge_of, set_history, takes_gradients, version_of,
)
from aten._core.autograd.node import share_autograd
from aten._core.base.keys cimport DispatchKeySet, inference_bit, inference_bit_here
from aten._core.base.keys import DispatchKey
from aten._core.base.sizes cimport INLINE_DIMS
from aten._core.tensor.making cimport make_alias, make_tensor
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, has_own_versions, keys_of_views,
                                            part_from_base, set_versions)

# Of tensors that are more than their window: rows, those of subclasses, without data.
cdef uint64_t _unlike_others = (<DispatchKeySet>DispatchKeySet(
    DispatchKey.Python, DispatchKey.FuncTorchBatched, DispatchKey.InferenceTensor)).bits
# Packing and unpacking of what is saved, as the thread says.
cdef object _saving = threading.local()
# How many hooks all threads have, so that threads without any do not look; under the lock of the
# interpreter, as nothing runs between its being read and written.
cdef int _saving_users = 0


def refuse_saving_hooks(message):
    """Has `push_saving_hooks` in this thread raise RuntimeError with a message, or not with None.

    Returns the message of before. Raises RuntimeError with this one where there are hooks already.
    """
    if message is not None and getattr(_saving, "hooks", None):
        raise RuntimeError(message)
    before = getattr(_saving, "refusal", None)
    _saving.refusal = message
    return before


def push_saving_hooks(pack, unpack):
    """What operators save from now on in this thread goes through `pack`, and comes from `unpack`."""
    global _saving_users
    if getattr(_saving, "refusal", None) is not None:
        raise RuntimeError(_saving.refusal)
    if not hasattr(_saving, "hooks"):
        _saving.hooks = []
    _saving.hooks.append((pack, unpack))
    _saving_users += 1


def pop_saving_hooks():
    """Takes the last `push_saving_hooks` of this thread back."""
    global _saving_users
    _saving.hooks.pop()
    _saving_users -= 1


@cython.freelist(64)
cdef class SavedTensor:
    """A tensor that a node needs on the way back, as it was: later writes to it are an error."""

    cdef TensorImpl given(self, Node owner):
        cdef TensorImpl tensor
        if self.unpack is not None:
            tensor = <TensorImpl?>self.unpack(self.packed)
            if not self.is_result:
                return tensor if self.edge is None else _at_edge(tensor, self.edge, self.output)
            tensor = make_alias(tensor)
            part_from_base(tensor)
            set_history(tensor, owner, self.output)
            return tensor
        tensor = self.tensor
        if tensor is None:
            refuse_second_walk(owner)
        if version_of(tensor) != self.version:
            refuse_written(owner, tensor, self.version, self.output if self.is_result else -1)
        if self.is_result:
            tensor = make_alias(tensor)
            part_from_base(tensor)
            set_history(tensor, owner, self.output)
        return tensor


cdef int refuse_written(Node owner, TensorImpl tensor, uint32_t version,
                        Py_ssize_t output) except -1:
    raise RuntimeError(
        f"{owner.title} needs a tensor ({tensor.dtype}, {list(tensor.shape)}), "
        f"{'an operand of it' if output < 0 else 'its result ' + str(output)}, that was written to in "
        f"place since: it has version {version_of(tensor)}, and had {version}.{_hint_of(owner)}"
    )


@cython.freelist(64)
@cython.no_gc
@cython.final
cdef class SavedResult:
    """A result that its node needs on the way back, as it was."""

    cdef TensorImpl given(self, Node owner):
        cdef Tensor made = make_tensor(self.storage, self.dtype_code, self.rank, self.sizes,
                                       self.strides, self.offset)
        made.keys = self.keys
        made.device_index = self.device_index
        if self.versions is not None:
            set_versions(made, <PyObject*>self.versions)
        if version_of(made) != self.version:
            refuse_written(owner, made, self.version, self.output)
        set_history(made, owner, self.output)
        return made


cdef TensorImpl _at_edge(TensorImpl tensor, object edge, Py_ssize_t output):
    """The tensor, whoever made it, where the one was that it stands for."""
    cdef TensorImpl made = make_alias(tensor)
    part_from_base(made)
    if isinstance(edge, AccumulateGrad):
        edge = (<AccumulateGrad>edge).variable
    if isinstance(edge, TensorImpl):
        share_autograd(made, edge)
    else:
        set_history(made, <Node>edge, output)
    return made


def refuse_second_walk(Node owner not None):
    """Raises RuntimeError for a node that is gone back through again without what it had saved."""
    raise RuntimeError(
        f"{owner.title}: what it had saved is gone since the first walk back; a second one needs "
        f"retain_graph=True in the first.{_hint_of(owner)}"
    )


cdef str _hint_of(Node owner):
    if owner.line is not None:
        return f" It was recorded at:\n{owner.line}"
    return " aten.autograd.set_detect_anomaly(True) tells where it was recorded."


cdef SavedTensor _saved(TensorImpl tensor):
    cdef SavedTensor saved
    if tensor.keys & inference_bit() and not inference_bit_here():
        raise RuntimeError(
            f"a tensor of inference mode ({tensor.dtype}, {list(tensor.shape)}) cannot be saved for "
            "the way back; its clone() can"
        )
    saved = SavedTensor.__new__(SavedTensor)
    saved.version = version_of(tensor)
    if _saving_users and getattr(_saving, "hooks", None):
        hooks = _saving.hooks
        if takes_gradients(tensor):
            saved.edge, saved.output = edge_of(tensor), tensor.autograd.output
        pack, saved.unpack = hooks[len(hooks) - 1]
        saved.packed = pack(tensor)
        return saved
    saved.tensor = tensor
    return saved


cdef SavedTensor saved_operand(TensorImpl tensor):
    return _saved(tensor)


cdef object saved_result(TensorImpl tensor, Py_ssize_t output):
    # Without its place in the graph: the node would hold itself.
    if (tensor.rank > INLINE_DIMS or type(tensor) is not Tensor or tensor.keys & _unlike_others
            or _saving_users):
        return _detached_result(tensor, output)
    cdef SavedResult saved = SavedResult.__new__(SavedResult)
    cdef int dim
    saved.storage = tensor.storage
    if has_own_versions(tensor):
        saved.versions = tensor.versions
    saved.version = version_of(tensor)
    saved.keys = keys_of_views(tensor)
    saved.offset = tensor.offset
    for dim in range(tensor.rank):
        saved.sizes[dim] = tensor.sizes[dim]
        saved.strides[dim] = tensor.strides[dim]
    saved.output = output
    saved.rank = tensor.rank
    saved.dtype_code = tensor.dtype_code
    saved.device_index = tensor.device_index
    return saved


cdef SavedTensor _detached_result(TensorImpl tensor, Py_ssize_t output):
    cdef Tensor detached = make_alias(tensor)
    part_from_base(detached)
    cdef SavedTensor saved = _saved(detached)
    saved.is_result = True
    saved.output = output
    return saved


def saved_tensor(TensorImpl tensor not None, owner=None, Py_ssize_t output=-1):
    """A SavedTensor for nodes in Python; with `output`, of that result of theirs."""
    return saved_operand(tensor) if output < 0 else _detached_result(tensor, output)


def given_back(SavedTensor saved not None, Node owner not None):
    """The tensor that was saved. Raises RuntimeError where it was written to, or let go of."""
    return saved.given(owner)
