# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""The way back through the graph: nodes run when the gradients of all their results are complete.

Of those that are ready the one recorded last comes first, and leaves before all. Nothing here
recurses: a graph may be as deep as memory is large.

An edge ends at a node or at a leaf, which is a tensor. Dictionaries know a node by itself and a leaf
by its AutogradMeta, since a tensor's class may have its own idea of equality.
"""

import threading
from heapq import heappop, heappush

from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t

from aten._core.autograd.node cimport (
    AccumulateGrad, Node, OutputInfo, checks_nan, detects_anomalies, edge_of, info_of, nexts_of,
    takes_gradients,
)
from aten._core.base.device cimport CPU
from aten._core.base.keys cimport (NO_GRAD, LocalState, dense_keys, local_state,
                                   settle_recording)
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport AutogradMeta, TensorImpl, has_autograd, is_view

cdef extern from "Python.h":
    Py_ssize_t reference_count "Py_REFCNT"(PyObject*) noexcept

# The operators that gradients are put together with; the package above brings them.
cdef object _sums = None        # gives the two that follow
cdef object _add = None
cdef object _add_in_place = None
cdef object _owned = None       # (gradient, variable, may be kept): what becomes its first `grad`
cdef object _fitted = None      # (gradient, OutputInfo, title, index): of other sizes or type
cdef object _has_nan = None


# The walk that a thread is at, noted while somebody wants to know.
cdef object _current = threading.local()
cdef int _watchers = 0


class Walk:
    """Tells a walk from all others, and is there as long as it is under way, or somebody's."""


def watch_walks(int more):
    """Says that so many more, or fewer, want to know of `current_walk`."""
    global _watchers
    _watchers += more


def current_walk():
    """The `Walk` that this thread is at, the innermost; None outside of one."""
    cdef _Run run = getattr(_current, "run", None)
    if run is None:
        return None
    if run.token is None:
        run.token = Walk()
    return run.token


def will_reach(TensorImpl tensor not None):
    """Whether this thread's walk comes to the tensor."""
    cdef _Run run = getattr(_current, "run", None)
    if run is None or not takes_gradients(tensor):
        return False
    key = _key(_end(edge_of(tensor)))
    return key in run.waiting and (run.needed is None or key in run.needed)


def set_operators(sums, owned, fitted, has_nan):
    """Says what gradients are added, owned, reshaped and looked through with.

    `sums` gives the operators that add, to a new tensor and in place, when the first ones are.
    """
    global _sums, _owned, _fitted, _has_nan
    _sums, _owned, _fitted, _has_nan = sums, owned, fitted, has_nan


cdef int _find_sums() except -1:
    global _add, _add_in_place
    _add, _add_in_place = _sums()
    return 0


cdef inline object _added(object earlier, object gradient):
    if _add is None:
        _find_sums()
    return _add(earlier, gradient)


cdef class _Run:
    """One walk over the graph."""

    cdef dict waiting           # how many gradients an end still waits for
    cdef dict gradients         # what has arrived, a list by result
    cdef list ready             # a heap of (order, identity, end)
    cdef bint keeps_graph
    cdef bint creates_graph
    cdef dict captures          # end → {result: places among the inputs}, or None
    cdef list captured
    cdef set needed             # ends that lead to inputs, or None: all are run
    cdef object token           # what it is told from others by, once somebody asks


cdef inline object _end(object following):
    """Where an edge ends: a node, or a leaf."""
    if isinstance(following, AccumulateGrad):
        return (<AccumulateGrad>following).variable
    return following


cdef inline object _key(object end):
    return (<TensorImpl>end).autograd if isinstance(end, TensorImpl) else end


cdef int _make_ready(_Run run, object end) except -1:
    cdef int64_t order = -INT64_MAX if isinstance(end, TensorImpl) else -(<Node>end).sequence
    heappush(run.ready, (order, id(end), end))
    return 0


def run_backward(tuple tensors not None, tuple gradients not None, bint retain_graph,
                 bint create_graph, inputs=None):
    """Sends `gradients` back from `tensors`; to leaves, or to `inputs` alone.

    Without inputs leaves add what arrives to their `grad`, and None is returned. With inputs, pairs
    of a node and which of its results is meant, a list of what arrived there is: None for nothing.
    """
    cdef _Run run = _Run.__new__(_Run)
    cdef LocalState* state = local_state()
    cdef int64_t modes = state.no_gradients
    cdef int below = state.below_recording
    run.gradients = {}
    run.ready = []
    run.keeps_graph = retain_graph
    run.creates_graph = create_graph
    roots = _roots(run, tensors, gradients)
    _count(run, roots)
    if inputs is not None:
        _choose(run, roots, inputs)
    for end in roots:
        if run.waiting[_key(end)] == 0:
            _make_ready(run, end)
    state.no_gradients = modes & ~NO_GRAD if create_graph else modes | NO_GRAD
    state.below_recording = 0
    settle_recording(state)
    cdef bint watched = _watchers > 0
    outer = None
    if watched:
        outer, _current.run = getattr(_current, "run", None), run
    try:
        while run.ready:
            end = (<tuple>heappop(run.ready))[2]
            if isinstance(end, TensorImpl):
                _end_at_leaf(run, <TensorImpl>end)
            else:
                _step(run, <Node>end)
    finally:
        state.no_gradients = modes
        state.below_recording = below
        settle_recording(state)
        if watched:
            _current.run = outer
    return run.captured


cdef list _roots(_Run run, tuple tensors, tuple gradients):
    """Where the walk begins: at tensors, or at pairs of a node and which of its results is meant."""
    cdef TensorImpl tensor
    cdef Py_ssize_t output
    cdef list roots = []
    for index in range(len(tensors)):
        if isinstance(tensors[index], TensorImpl):
            tensor = <TensorImpl>tensors[index]
            if not takes_gradients(tensor):
                raise RuntimeError(
                    f"backward: tensor {index} does not require grad and has no grad_fn"
                )
            end, output = _end(edge_of(tensor)), tensor.autograd.output
        else:
            found, output = tensors[index]
            end = _end(<Node?>found)
        if _key(end) not in run.gradients:
            roots.append(end)
        gradient = gradients[index]
        if gradient is not None:
            gradient = _checked(gradient, end, output, "backward", index)
        _receive(run, end, output, gradient)
    return roots


cdef int _count(_Run run, list roots) except -1:
    """Counts for every end that the roots lead to the edges by which they do."""
    cdef list pending = [end for end in roots if isinstance(end, Node)]
    cdef dict waiting = {_key(end): 0 for end in roots}
    while pending:
        for following in nexts_of(<Node>pending.pop()):
            if following is None:
                continue
            key = _key(_end(following))
            if key in waiting:
                waiting[key] += 1
                continue
            waiting[key] = 1
            if isinstance(key, Node):
                pending.append(key)
    run.waiting = waiting
    return 0


cdef int _choose(_Run run, list roots, inputs) except -1:
    """Which nodes lead to the inputs, so that only they are run."""
    cdef dict captures = {}
    cdef bint leads
    for index, (target, output) in enumerate(inputs):
        if target is not None:
            captures.setdefault(_key(_end(target)), {}).setdefault(output, []).append(index)
    run.captures = captures
    run.captured = [None] * len(inputs)
    run.needed = set()
    seen = set()
    pending = [(_key(root), False) for root in roots]
    while pending:
        found, complete = pending.pop()
        if complete:
            leads = found in captures
            for following in _following(found):
                if following in run.needed:
                    leads = True
                    break
            if leads:
                run.needed.add(found)
        elif found not in seen:
            seen.add(found)
            pending.append((found, True))
            for following in _following(found):
                if following not in seen:
                    pending.append((following, False))
    return 0


cdef list _following(object key):
    if not isinstance(key, Node):
        return []
    return [_key(_end(one)) for one in nexts_of(<Node>key) if one is not None]


cdef int _receive(_Run run, object end, Py_ssize_t output, object gradient) except -1:
    cdef object key = _key(end)
    cdef list arrived = run.gradients.get(key)
    if arrived is None:
        arrived = _nothing_at(end)
        run.gradients[key] = arrived
    if gradient is None:
        return 0
    earlier = arrived[output]
    if earlier is None:
        arrived[output] = gradient
    elif run.creates_graph:
        arrived[output] = _added(earlier, gradient)
    # Two: the list and this name; the caller's and this one.
    elif _is_nobody_elses(earlier, 2) and _may_be_added(<TensorImpl>gradient, <TensorImpl>earlier):
        _add_in_place(earlier, gradient)
    elif _is_nobody_elses(gradient, 2) and _may_be_added(<TensorImpl>earlier, <TensorImpl>gradient):
        arrived[output] = _add_in_place(gradient, earlier)
    else:
        arrived[output] = _added(earlier, gradient)
    return 0


cdef bint _is_nobody_elses(object gradient, Py_ssize_t names) except -1:
    """Whether it may be written to: a plain tensor that has no other names than so many."""
    if reference_count(<PyObject*>gradient) > names or type(gradient) is not Tensor:
        return False
    cdef TensorImpl tensor = <TensorImpl>gradient
    if _add_in_place is None:
        _find_sums()
    return (tensor.keys == dense_keys(CPU) and tensor.contiguous and not is_view(tensor)
            and not has_autograd(tensor) and tensor.storage.shared is None
            and reference_count(<PyObject*>tensor.storage) == 1)


cdef bint _may_be_added(TensorImpl gradient, TensorImpl plain) noexcept:
    """Whether the sum is as `plain` is: other keys are those of rows, of levels and the like."""
    return gradient.keys == plain.keys and _is_alike(gradient, plain)


cdef list _nothing_at(object end):
    return [None] if isinstance(end, TensorImpl) else [None] * max((<Node>end).output_count, 1)


cdef int _end_at_leaf(_Run run, TensorImpl leaf) except -1:
    cdef AutogradMeta meta = leaf.autograd
    cdef AccumulateGrad node = None
    cdef list arrived = run.gradients.pop(meta, None)
    if run.needed is not None and meta not in run.needed:
        return 0
    if arrived is None:
        arrived = [None]
    if meta.hooks and arrived[0] is not None:
        arrived[0] = _after_tensor_hooks(meta.hooks, arrived[0])
    if meta.accumulator != NULL:
        node = <AccumulateGrad>meta.accumulator
        arrived = _after_prehooks(node, arrived)
    if run.captures is not None:
        _capture(run, meta, arrived)
        return 0
    if arrived[0] is None:
        return 0
    gradient = arrived[0]
    arrived[0] = None
    _accumulate(leaf, gradient, run.creates_graph)
    if node is not None and node.post_hooks:
        for hook in tuple(node.post_hooks):
            hook[0]((), (gradient,))
    return 0


cdef int _capture(_Run run, object key, list arrived) except -1:
    for output, places in (<dict>run.captures.get(key, {})).items():
        for index in places:
            run.captured[index] = arrived[output]
    return 0


cdef int _step(_Run run, Node node) except -1:
    cdef list arrived = run.gradients.pop(node, None)
    cdef list given
    if run.needed is not None and node not in run.needed:
        return _pass_on(run, node, None)
    if arrived is None:
        arrived = _nothing_at(node)
    arrived = _hooked(node, arrived)
    if run.captures is not None and node in run.captures:
        _capture(run, node, arrived)
        if not any([following in run.needed for following in _following(node)]):
            return _pass_on(run, node, None)
    if _is_nothing(arrived):
        given = None
    else:
        given = _applied(node, arrived)
        if node.post_hooks:
            given = _after_hooks(node, given, arrived)
    if not run.keeps_graph:
        node.forget()
    return _pass_on(run, node, given)


cdef bint _is_nothing(list gradients) noexcept:
    for gradient in gradients:
        if gradient is not None:
            return False
    return True


cdef int _pass_on(_Run run, Node node, list given) except -1:
    cdef Py_ssize_t index
    cdef int64_t left
    cdef int place
    cdef tuple nexts = nexts_of(node)
    for index in range(len(nexts)):
        if nexts[index] is None:
            continue
        end = _end(nexts[index])
        if given is not None and given[index] is not None:
            place = node.place_of(index)
            gradient = given[index]
            # Nobody else is to hold it: the end of the way keeps what is its own.
            given[index] = None
            gradient = _checked(gradient, end, place, node.title, index)
            _receive(run, end, place, gradient)
            gradient = None
        key = _key(end)
        left = run.waiting[key] - 1
        run.waiting[key] = left
        if left == 0:
            _make_ready(run, end)
    return 0


cdef object _checked(object gradient, object end, Py_ssize_t place, str title, Py_ssize_t index):
    """`gradient` in the sizes and the type of what it is the gradient of."""
    cdef OutputInfo info
    if not isinstance(gradient, TensorImpl):
        raise TypeError(f"{title}: gradient {index} must be a tensor or None, not "
                        f"{type(gradient).__name__}")
    if isinstance(end, TensorImpl):
        if _is_alike(<TensorImpl>gradient, <TensorImpl>end):
            return gradient
        info = info_of(<TensorImpl>end)
    else:
        if (<Node>end).fits(place, <TensorImpl>gradient):
            return gradient
        info = (<Node>end).info(place)
    return gradient if info is None else _fitted(gradient, info, title, index)


cdef bint _is_alike(TensorImpl gradient, TensorImpl leaf) noexcept:
    cdef int dim
    if (gradient.rank != leaf.rank or gradient.dtype_code != leaf.dtype_code
            or gradient.device_type != leaf.device_type):
        return False
    for dim in range(leaf.rank):
        if gradient.sizes[dim] != leaf.sizes[dim]:
            return False
    return True


cdef list _applied(Node node, list arrived):
    cdef list given
    if not detects_anomalies:
        given = node.apply(arrived)
    else:
        given = _applied_watched(node, arrived)
    if len(given) < len(nexts_of(node)):
        raise RuntimeError(f"{node.title}: expected {len(nexts_of(node))} gradients, got {len(given)}")
    return given


cdef list _applied_watched(Node node, list arrived):
    import warnings

    cdef list given
    try:
        given = node.apply(arrived)
        if checks_nan:
            for index, gradient in enumerate(given):
                if gradient is not None and _has_nan(gradient):
                    raise RuntimeError(
                        f"{node.title}: gradient {index} has nan among its elements"
                    )
    except Exception:
        where = node.line or "no forward line is known: it was recorded before detection was on"
        warnings.warn(
            f"{node.title} failed on the way back. It was recorded here:\n{where}", stacklevel=2,
        )
        raise
    return given


cdef list _hooked(Node node, list arrived):
    """What arrived, after the hooks of tensors and of the node."""
    cdef AutogradMeta meta
    hooks = node.hooks_of_outputs
    if hooks:
        for output, listed in hooks.items():
            if arrived[output] is not None:
                arrived[output] = _after_tensor_hooks(listed, arrived[output])
    if node.retained:
        for output, reference in node.retained.items():
            tensor = reference()
            if tensor is not None and arrived[output] is not None:
                meta = (<TensorImpl>tensor).autograd
                meta.grad = (arrived[output] if meta.grad is None
                             else _added(meta.grad, arrived[output]))
    return _after_prehooks(node, arrived)


cdef list _after_prehooks(Node node, list arrived):
    if node.pre_hooks:
        for hook in tuple(node.pre_hooks):
            changed = hook[0](tuple(arrived))
            if changed is not None:
                arrived = list(changed) if isinstance(changed, (tuple, list)) else [changed]
    return arrived


cdef object _after_tensor_hooks(list hooks, object gradient):
    for hook in tuple(hooks):
        changed = hook[0](gradient)
        if changed is None:
            continue
        if not isinstance(changed, TensorImpl):
            raise TypeError(f"a gradient's hook must return a tensor or None, not "
                            f"{type(changed).__name__}")
        if changed.shape != gradient.shape:
            raise RuntimeError(f"the hook {getattr(hook[0], '__name__', hook[0])!r} gave a gradient "
                               f"of shape {list(changed.shape)} for one of {list(gradient.shape)}")
        if changed.dtype is not gradient.dtype:
            raise RuntimeError(f"the hook {getattr(hook[0], '__name__', hook[0])!r} gave a gradient "
                               f"of {changed.dtype} for one of {gradient.dtype}")
        gradient = changed
    return gradient


cdef list _after_hooks(Node node, list given, list arrived):
    for hook in tuple(node.post_hooks):
        changed = hook[0](tuple(given), tuple(arrived))
        if changed is not None:
            given = list(changed) if isinstance(changed, (tuple, list)) else [changed]
    return given


cdef int _accumulate(TensorImpl variable, object gradient, bint creates_graph) except -1:
    cdef AutogradMeta meta = variable.autograd
    # Two: the caller's name and this one.
    cdef bint alone = (reference_count(<PyObject*>gradient) <= 2
                       and not is_view(<TensorImpl>gradient))
    if meta.grad is None:
        if creates_graph or alone and _same_strides(<TensorImpl>gradient, variable):
            meta.grad = gradient
        else:
            meta.grad = _owned(gradient, variable, alone)
    elif creates_graph:
        meta.grad = _added(meta.grad, gradient)
    else:
        if _add_in_place is None:
            _find_sums()
        _add_in_place(meta.grad, gradient)
    if meta.post_hooks:
        for hook in tuple(meta.post_hooks):
            hook[0](variable)
    return 0


cdef bint _same_strides(TensorImpl gradient, TensorImpl variable) noexcept:
    cdef int dim
    for dim in range(variable.rank):
        if gradient.strides[dim] != variable.strides[dim]:
            return False
    return True
