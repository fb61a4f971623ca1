# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Nodes of the recorded graph, and how tensors hang on it.

A tensor that an operator with gradients has made knows its node; a node knows the nodes of its
operands.
"""

import weakref

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t

from aten._core.base.device cimport device_from_codes
from aten._core.base.dtypes cimport dtype_from_code
from aten._core.base.keys cimport DispatchKeySet, inference_bit, inference_bit_here, recording_bit
from aten._core.base.keys import DispatchKey
from aten._core.base.sizes cimport INLINE_DIMS, int_tuple
from aten._core.tensor.making cimport make_alias, make_tensor
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (AutogradMeta, TensorImpl, has_autograd,
                                            has_own_versions, is_view, set_autograd_field, is_lazy,
                                            keys_of_views, part_from_base, set_versions)
from aten._core.tensor.tensor_impl import install_node_lookup

cdef extern from "Python.h":
    Py_ssize_t reference_count "Py_REFCNT"(PyObject*) noexcept

cdef int64_t _sequence = 0
# Functions of (base, view) that give the node of a view whose base was written to.
cdef object _view_replay = None
cdef bint detects_anomalies = False
cdef bint checks_nan = False


def set_anomaly_detection(bint enabled, bint check_nan):
    """Says whether nodes note where they were recorded, and whether gradients are looked through."""
    global detects_anomalies, checks_nan
    detects_anomalies, checks_nan = enabled, check_nan


def anomaly_detection():
    """Whether anomalies are looked for, and whether NaN is one."""
    return detects_anomalies, checks_nan


def install_view_replay(function):
    """Let `function(base, view)` give the node of a view of which an operator wrote to the base."""
    global _view_replay
    _view_replay = function


cdef class OutputInfo:
    """What a gradient has to be like: sizes, dtype, device."""

    @property
    def dtype(self):
        return dtype_from_code(self.dtype_code)


cdef OutputInfo info_of(TensorImpl tensor):
    cdef OutputInfo info = OutputInfo.__new__(OutputInfo)
    info.sizes = int_tuple(tensor.rank, tensor.sizes)
    info.dtype_code = tensor.dtype_code
    info.device_type = tensor.device_type
    info.device = tensor.device
    return info


@cython.freelist(128)
@cython.trashcan(True)
cdef class Node:
    """A recorded operator: a way from gradients of its results to gradients of its operands."""

    def name(self):
        """The name that errors and printed tensors call it by."""
        return self.title

    @property
    def next_functions(self):
        """For each operand the node its gradient goes to, or None, and which of its results it is."""
        self.show_leaves()
        nexts = nexts_of(self)
        return tuple([(nexts[edge], self.place_of(edge)) for edge in range(len(nexts))])

    @property
    def goes_on(self):
        """For each operand whether its gradient goes anywhere."""
        return tuple([following is not None for following in nexts_of(self)])

    @property
    def metadata(self):
        """A dictionary for whatever users note of the node."""
        if self.user_metadata is None:
            self.user_metadata = {}
        return self.user_metadata

    @property
    def output_infos(self):
        return tuple([self.info(place) for place in range(self.output_count)])

    def register_hook(self, hook):
        """`hook(gradients of the operands, gradients of the results)` runs after the node.

        What it returns, unless None, takes the place of the former. Returns a handle with `remove()`.
        """
        if self.post_hooks is None:
            self.post_hooks = []
        return RemovableHandle(self.post_hooks, hook)

    def register_prehook(self, hook):
        """`hook(gradients of the results)` runs before the node; what it returns, unless None, takes
        their place. Returns a handle with `remove()`."""
        if self.pre_hooks is None:
            self.pre_hooks = []
        return RemovableHandle(self.pre_hooks, hook)

    def __repr__(self):
        return f"<{self.title} object at {hex(<size_t><PyObject*>self)}>"

    def __call__(self, *gradients):
        """The gradients of the operands for those of the results."""
        given = self.apply(list(gradients))
        return given[0] if len(given) == 1 else tuple(given)

    def let_go(self):
        """Subclasses in Python forget what they saved: the graph is not walked again."""

    def run(self, gradients):
        """What subclasses in Python do instead of `apply`."""
        raise NotImplementedError(f"{self.title} has no way back")

    def connect(self, operands, results):
        """Edges to the nodes of `operands` (tensors or None), and the node as that of `results`."""
        ends = []
        places = []
        for operand in operands:
            wanted = operand is not None and takes_gradients(<TensorImpl?>operand)
            ends.append(edge_of(<TensorImpl>operand) if wanted else None)
            places.append((<TensorImpl>operand).autograd.output if wanted else 0)
        self.extend_edges(ends, places)
        for result in results:
            self.add_output(result)

    def extend_edges(self, ends, places):
        """More edges, to these nodes or leaves (or None), and which of their results."""
        cdef tuple before = nexts_of(self)
        known = [self.place_of(edge) for edge in range(len(before))]
        self.set_edges(before + tuple(ends), _packed(known + list(places)))

    cdef list apply(self, list gradients):
        return list(self.run(gradients))

    cdef int forget(self) except -1:
        self.let_go()
        return 0

    cdef int set_edges(self, tuple ends, bytes places) except -1:
        cdef Py_ssize_t edge, count = len(ends)
        cdef const int* packed = <const int*>PyBytes_AS_STRING(places)
        self.places = places if count > INLINE_EDGES else None
        for edge in range(min(count, <Py_ssize_t>INLINE_EDGES)):
            self.inline_places[edge] = packed[edge]
        self.nexts = ends
        self.number()
        return 0

    cdef int number(self) except -1:
        if self.sequence == 0:
            self.sequence = next_sequence()
        return 0

    cdef int show_leaves(self) except -1:
        """Puts nodes in the places of leaves, for those who look at the graph."""
        if any([isinstance(one, TensorImpl) for one in nexts_of(self)]):
            self.nexts = tuple([_accumulator_of(<TensorImpl>one) if isinstance(one, TensorImpl)
                                else one for one in self.nexts])
        return 0

    cdef int place_of(self, Py_ssize_t edge) noexcept:
        if self.places is None:
            return self.inline_places[edge]
        return (<const int*>PyBytes_AS_STRING(self.places))[edge]

    cdef int describe_output(self, TensorImpl result) except -1:
        """One more result, as which its gradients are checked; None keeps the place."""
        cdef int dim
        if self.output_count == 0:
            self.first.rank = -1
            if result is not None and result.rank <= INLINE_DIMS:
                self.first.rank = result.rank
                self.first.dtype_code = result.dtype_code
                self.first.device_type = result.device_type
                self.first.device_index = result.device_index
                for dim in range(result.rank):
                    self.first.sizes[dim] = result.sizes[dim]
            elif result is not None:
                self.first.rank = -2
                self.infos = [info_of(result)]
        else:
            if self.infos is None:
                self.infos = [None]
            while len(self.infos) < self.output_count:
                self.infos.append(None)
            self.infos.append(None if result is None else info_of(result))
        self.output_count += 1
        return 0

    cdef int add_output(self, TensorImpl result) except -1:
        """One more result; None, or one without gradients, keeps the place."""
        self.describe_output(result)
        if result is not None:
            set_history(result, self, self.output_count - 1)
        return 0

    cdef bint fits(self, Py_ssize_t place, TensorImpl gradient) noexcept:
        cdef int dim
        if place != 0 or self.first.rank != gradient.rank:
            return False
        if (self.first.dtype_code != gradient.dtype_code
                or self.first.device_type != gradient.device_type):
            return False
        for dim in range(gradient.rank):
            if self.first.sizes[dim] != gradient.sizes[dim]:
                return False
        return True

    cdef OutputInfo info(self, Py_ssize_t place):
        cdef OutputInfo made
        if place >= self.output_count:
            return None
        if place == 0 and self.first.rank != -2:
            if self.first.rank < 0:
                return None
            made = OutputInfo.__new__(OutputInfo)
            made.sizes = int_tuple(self.first.rank, self.first.sizes)
            made.dtype_code = self.first.dtype_code
            made.device_type = self.first.device_type
            made.device = device_from_codes(self.first.device_type, self.first.device_index)
            return made
        return <OutputInfo>self.infos[place]


cdef tuple nexts_of(Node node):
    return () if node.nexts is None else node.nexts


cdef bytes _packed(list places):
    cdef int one
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, len(places) * sizeof(int))
    cdef int* room = <int*>PyBytes_AS_STRING(packed)
    for edge in range(len(places)):
        one = places[edge]
        room[<Py_ssize_t>edge] = one
    return packed


cdef int64_t next_sequence() noexcept:
    global _sequence
    _sequence += 1
    return _sequence


class RemovableHandle:
    """Takes a hook back with `remove()`; also a context that does so at its end."""

    def __init__(self, hooks, hook):
        self.hooks = hooks
        self.entry = [hook]
        hooks.append(self.entry)

    def remove(self):
        """Takes the hook back; a second time does nothing."""
        if self.entry is not None and any([one is self.entry for one in self.hooks]):
            self.hooks[:] = [one for one in self.hooks if one is not self.entry]
        self.entry = None

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.remove()


@cython.no_gc_clear
cdef class AccumulateGrad(Node):
    """A leaf among the nodes that a user looks at, with hooks of its own; nodes know the leaf."""

    def __dealloc__(self):
        if self.meta is not None and self.meta.accumulator == <PyObject*>self:
            self.meta.accumulator = NULL

    cdef list apply(self, list gradients):
        raise AssertionError("the engine itself adds to the gradients of leaves")


cdef AccumulateGrad _accumulator_of(TensorImpl leaf):
    cdef AutogradMeta meta = meta_of(leaf)
    cdef AccumulateGrad made
    if meta.accumulator != NULL:
        return <AccumulateGrad>meta.accumulator
    made = AccumulateGrad.__new__(AccumulateGrad)
    made.title = "AccumulateGrad"
    made.variable = leaf
    made.meta = meta
    meta.accumulator = <PyObject*>made
    made.describe_output(leaf)
    return made


cdef uint32_t version_of(TensorImpl tensor) noexcept:
    if has_own_versions(tensor):
        return tensor.versions.count
    if tensor.storage.left is not None:
        return tensor.storage.left.count
    return tensor.storage.version


cdef AutogradMeta meta_of(TensorImpl tensor):
    cdef AutogradMeta meta
    if has_autograd(tensor):
        return tensor.autograd
    meta = AutogradMeta.__new__(AutogradMeta)
    set_autograd_field(tensor, <PyObject*>meta)
    return meta


cdef bint takes_gradients(TensorImpl tensor) noexcept:
    return has_autograd(tensor) and (
        tensor.autograd.requires_grad or tensor.autograd.node is not None
    )


cdef Node node_of(TensorImpl tensor):
    cdef AutogradMeta meta
    if not has_autograd(tensor):
        return None
    meta = tensor.autograd
    if (meta.node is None or not is_view(tensor) or meta.version == version_of(tensor)
            or not takes_gradients(tensor.base)):
        return meta.node
    # The base, or another view of it, was written to since: what the view shows has a new history.
    if tensor.one_of_many:
        raise RuntimeError(
            f"a view that {meta.node.title} made along with others: its base, or another view of that, "
            f"was written to in place since, and it has no gradients any more; make it after the write"
        )
    meta.node = _view_replay(tensor.base, tensor)
    meta.output = 0
    meta.version = version_of(tensor)
    return meta.node


cdef int tell_views(TensorImpl base, Py_ssize_t known) except -1:
    """Lets views that were made before their base had a graph be what the base is now.

    Tensors do not know their views: they are looked for where more than `known` tensors show the
    storage, among all objects, which takes milliseconds, once for each base.
    """
    cdef TensorImpl one
    if reference_count(<PyObject*>base.storage) <= known:
        return 0
    import gc

    for found in gc.get_referrers(base):
        if not isinstance(found, TensorImpl):
            continue
        one = <TensorImpl>found
        if (one.base is base and one.dtype_code == base.dtype_code and not takes_gradients(one)
                and is_lazy(one) == is_lazy(base)):
            _view_replay(base, one)
            if one.one_of_many:
                # Of before the write: whoever asks for its node is told so.
                one.autograd.version -= 1
    return 0


def current_node(TensorImpl tensor not None):
    """The tensor's `grad_fn`."""
    return node_of(tensor)


install_node_lookup(current_node)


cdef object edge_of(TensorImpl tensor):
    cdef Node node = node_of(tensor)
    if node is not None:
        return node
    if tensor.autograd.accumulator != NULL:
        # It lives as long as a graph that it is shown in, and its hooks with it.
        return <object>tensor.autograd.accumulator
    return tensor


cdef int set_history(TensorImpl tensor, Node node, Py_ssize_t output) except -1:
    cdef AutogradMeta meta = meta_of(tensor)
    if meta.hooks is not None and meta.node is not None:
        # Hooks stay with the value they were registered for.
        meta.hooks = None
    meta.node = node
    meta.output = output
    meta.requires_grad = False
    meta.retains_grad = False
    meta.version = version_of(tensor)
    tensor.keys |= recording_bit()
    return 0


# What tensors say and are told of gradients.


def set_requires_grad(TensorImpl tensor not None, bint wanted):
    """Says whether gradients flow to a leaf. The caller has checked that it is one, and its dtype."""
    cdef AutogradMeta meta
    if not wanted and not has_autograd(tensor):
        return
    if wanted and tensor.keys & inference_bit() and not inference_bit_here():
        raise RuntimeError("requires_grad: a tensor of inference mode cannot require grad outside of "
                           "it; its clone() can")
    meta = meta_of(tensor)
    meta.requires_grad = wanted
    if wanted:
        tensor.keys |= recording_bit()
    else:
        tensor.keys &= ~recording_bit()


def gradient_of(TensorImpl tensor not None):
    """What `grad` holds: a tensor or None."""
    return tensor.autograd.grad if has_autograd(tensor) else None


def set_gradient(TensorImpl tensor not None, TensorImpl gradient):
    """Puts a tensor of the same sizes, or None, into `grad`."""
    if gradient is not None or has_autograd(tensor):
        meta_of(tensor).grad = gradient


def forget_history(TensorImpl tensor not None):
    """Takes a tensor out of the graph: it is a leaf to which no gradients flow."""
    cdef AutogradMeta meta
    if not has_autograd(tensor):
        return
    meta = tensor.autograd
    meta.node = None
    meta.output = 0
    meta.requires_grad = False
    meta.hooks = None
    tensor.keys &= ~recording_bit()


def forget_base(TensorImpl tensor not None):
    """Makes a view a tensor of its own, though in the same memory."""
    part_from_base(tensor)


def add_tensor_hook(TensorImpl tensor not None, hook):
    """`hook(gradient)` when the tensor's gradient is known; its result, unless None, is taken on."""
    cdef AutogradMeta meta = meta_of(tensor)
    cdef Node node = node_of(tensor)
    if node is not None:
        if node.hooks_of_outputs is None:
            node.hooks_of_outputs = {}
        return RemovableHandle(node.hooks_of_outputs.setdefault(meta.output, []), hook)
    if meta.hooks is None:
        meta.hooks = []
    return RemovableHandle(meta.hooks, hook)


def add_post_hook(TensorImpl tensor not None, hook):
    """`hook(tensor)` after the gradient of a leaf has grown."""
    cdef AutogradMeta meta = meta_of(tensor)
    if meta.post_hooks is None:
        meta.post_hooks = []
    return RemovableHandle(meta.post_hooks, hook)


def retain_gradient(TensorImpl tensor not None):
    """Has the engine keep the gradient of a tensor that is no leaf in its `grad`."""
    cdef AutogradMeta meta = meta_of(tensor)
    cdef Node node = node_of(tensor)
    if node is None or meta.retains_grad:
        return
    meta.retains_grad = True
    if node.retained is None:
        node.retained = {}
    node.retained[meta.output] = weakref.ref(tensor)


def gradient_node(TensorImpl tensor not None):
    """The node that a gradient of the tensor goes to, and which result of it the tensor is."""
    if not takes_gradients(tensor):
        return None, 0
    node = node_of(tensor)
    return _accumulator_of(tensor) if node is None else node, tensor.autograd.output


def share_autograd(TensorImpl tensor not None, TensorImpl of not None):
    """Lets `tensor` hang on the graph where `of` does; it is another object for the same value."""
    if has_autograd(of):
        set_autograd_field(tensor, <PyObject*>of.autograd)
        tensor.keys |= of.keys & recording_bit()
