"""Nodes of the recorded graph, and how tensors hang on it."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t

from aten._core.base.sizes cimport INLINE_DIMS
from aten._core.tensor.tensor_impl cimport AutogradMeta, TensorImpl

cdef enum:
    INLINE_EDGES = 6

cdef class OutputInfo:
    # What a gradient of one of a node's results has to be like.
    cdef readonly tuple sizes
    cdef readonly signed char dtype_code
    cdef readonly signed char device_type
    cdef readonly object device

cdef struct Described:
    # The same, without objects: of results of few dimensions.
    int rank                            # -1: no gradient is wanted; -2: there is an OutputInfo
    signed char dtype_code
    signed char device_type
    signed char device_index
    int64_t sizes[INLINE_DIMS]

cdef class Node:
    cdef readonly int64_t sequence      # when it was recorded, as a count of nodes
    cdef public str title
    # Where the gradients of its operands go: nodes, leaves (which are tensors), or None.
    cdef tuple nexts
    cdef int inline_places[INLINE_EDGES]    # which of the next node's results each operand is;
    cdef bytes places                   # of many edges they are here, as ints
    cdef int output_count
    cdef Described first                # result 0
    cdef list infos                     # OutputInfos, or None, of those that have no other place
    cdef list pre_hooks
    cdef list post_hooks
    cdef dict hooks_of_outputs          # hooks of tensors, by result
    cdef dict retained                  # tensors that keep their gradients, weakly, by result
    cdef object line                    # where it was recorded, under anomaly detection
    cdef dict user_metadata
    # Of an OperatorNode:
    cdef object operator_rule
    cdef object operator
    cdef object saved           # by slot of the rule: SavedTensors, lists of them, other values
    cdef object results         # SavedTensors
    cdef tuple sizes            # by place among the rule's `sized`
    cdef list firsts            # where operands are lists: the first edge of each position, or -1
    cdef list lengths           # and how many edges it has, -1 for no list
    cdef object __weakref__
    # Gradients of the operands, from those of the results; None stands for zeros.
    cdef list apply(self, list gradients)
    cdef int forget(self) except -1     # lets go of what was saved
    cdef int set_edges(self, tuple ends, bytes places) except -1
    cdef int number(self) except -1
    cdef int show_leaves(self) except -1
    cdef int add_output(self, TensorImpl result) except -1
    cdef int describe_output(self, TensorImpl result) except -1
    cdef int place_of(self, Py_ssize_t edge) noexcept
    cdef bint fits(self, Py_ssize_t place, TensorImpl gradient) noexcept
    cdef OutputInfo info(self, Py_ssize_t place)

cdef class AccumulateGrad(Node):
    cdef readonly TensorImpl variable
    cdef AutogradMeta meta

# What a node's gradients go to: nodes, leaves, or None for those that go nowhere.
cdef tuple nexts_of(Node node)
cdef OutputInfo info_of(TensorImpl tensor)
cdef int64_t next_sequence() noexcept

# Whether nodes note where they are recorded, and whether gradients are looked through for NaN.
cdef bint detects_anomalies
cdef bint checks_nan

cdef uint32_t version_of(TensorImpl tensor) noexcept
cdef AutogradMeta meta_of(TensorImpl tensor)            # made, where there is none yet
cdef bint takes_gradients(TensorImpl tensor) noexcept
cdef Node node_of(TensorImpl tensor)                    # grad_fn, of views the one that is true now
cdef object edge_of(TensorImpl tensor)                  # the same; a leaf's is the leaf
cdef int tell_views(TensorImpl base, Py_ssize_t known) except -1
# Lets `tensor` be result number `output` of `node` from now on.
cdef int set_history(TensorImpl tensor, Node node, Py_ssize_t output) except -1
