# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Operators recorded for gradients: the kernel of the key AutogradRecording, for all of them.

It asks once for an operator's rule, runs the operator below the key, and leaves a node with what the
rule's formulas need.
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.autograd.node cimport (
    INLINE_EDGES, Node, detects_anomalies, edge_of, node_of, set_history, takes_gradients,
    tell_views,
)
from aten._core.autograd.operator_node cimport OperatorNode, SavedList
from aten._core.autograd.rules cimport CONSTANTS, GRADIENTS, RESULTS, SIZES, Formula, Rule
from aten._core.autograd.saving cimport saved_operand, saved_result
from aten._core.base.dtypes cimport category_of
from aten._core.base.keys cimport (
    LocalState, inference_bit, local_state, recording_bit, settle_recording,
)
from aten._core.base.sizes cimport int_tuple
from aten._core.dispatch.dispatcher cimport INLINE_ARGUMENTS, Kernel, OpOverload, release
from aten._core.memory.storage cimport next_birth
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, is_view, part_from_base

cdef extern from "Python.h":
    void own "Py_INCREF"(PyObject*) noexcept
    void disown "Py_DECREF"(PyObject*) noexcept
    tuple PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(PyObject*, Py_ssize_t, PyObject*) noexcept

cdef enum:
    FLOATING = 2                # the category from which on elements have gradients

cdef object _rule_of = None
cdef object _written_view = None


def set_rules(rule_of, written_view):
    """Says who finds an operator's rule, `rule_of(op)`, and the node after a write to a view,
    `written_view(node, view)`."""
    global _rule_of, _written_view
    _rule_of, _written_view = rule_of, written_view


cdef class RecordingKernel(Kernel):
    """Serves the key AutogradRecording for every operator that is not a composite."""

    def describe(self):
        return "recording for gradients"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef Rule rule
        cdef bint lists = False
        if op.derivative is None:
            op.derivative = _rule_of(op)
            (<Rule>op.derivative).find_edges(op)
        rule = <Rule>op.derivative
        if rule.through is not None:
            return rule.through.call(op, keys, stack)
        if not _any_wanted(op, stack, &lists) or rule.in_place and not _is_reached(rule, stack):
            if rule.in_place:
                _check_writable(op, <TensorImpl>stack[0])
            return _below(op, keys, stack)
        if rule.formulas is None:
            # No gradients go through it: indices, counts.
            return _below(op, keys, stack)
        if rule.refuses:
            raise RuntimeError(f"{op.name}(): out= cannot be recorded for gradients, and an "
                               f"argument requires grad")
        return _recorded(op, rule, keys, stack, lists)


cdef class InferenceKernel(Kernel):
    """Serves the key InferenceTensor, outside of inference mode: nothing is written to there."""

    cdef dict written           # by operator, the positions of the arguments that it writes to

    def __init__(self):
        self.written = {}

    def describe(self):
        return "refusing writes"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        positions = self.written.get(op)
        if positions is None:
            positions = tuple([
                place for place, argument in enumerate(op._schema.arguments)
                if argument.annotation is not None and argument.annotation.is_write
            ])
            self.written[op] = positions
        for place in positions:
            if _is_of_inference(<object>stack[<Py_ssize_t>place]):
                raise RuntimeError(f"{op.name}: a tensor of inference mode cannot be written to "
                                   f"outside of it; its clone() can")
        return op.redispatch_stack(keys & ~inference_bit(), stack)


cdef bint _is_of_inference(object value):
    if isinstance(value, TensorImpl):
        return (<TensorImpl>value).keys & inference_bit() != 0
    if isinstance(value, (list, tuple)):
        for one in value:
            if _is_of_inference(one):
                return True
    return False


cdef object _below(OpOverload op, uint64_t keys, PyObject** stack):
    """What the operator gives; nothing that it calls is recorded."""
    cdef LocalState* state = local_state()
    state.below_recording += 1
    state.excluded |= recording_bit()
    try:
        return op.redispatch_stack(keys & ~recording_bit(), stack)
    finally:
        state.below_recording -= 1
        settle_recording(state)


cdef inline bint _is_tensor(PyObject* value):
    # Nearly all are of this class, and of others the whole line of classes is looked through.
    return type(<object>value) is Tensor or isinstance(<object>value, TensorImpl)


cdef inline bint _any_wanted(OpOverload op, PyObject** stack, bint* lists):
    """Whether an operand takes gradients, and in `lists` whether there are lists of operands."""
    cdef Py_ssize_t place
    cdef PyObject* value
    cdef bint wanted = False
    for place in range(op.tensor_count):
        value = stack[op.tensor_positions[place]]
        if value == <PyObject*>None:
            continue
        if _is_tensor(value):
            wanted |= takes_gradients(<TensorImpl>value)
        elif isinstance(<object>value, (list, tuple)):
            lists[0] = True
            for one in <object>value:
                if isinstance(one, TensorImpl):
                    wanted |= takes_gradients(<TensorImpl>one)
    return wanted


cdef bint _is_reached(Rule rule, PyObject** stack):
    """Whether gradients come to what is written to, and go on from there."""
    cdef TensorImpl written = <TensorImpl>stack[0]
    if category_of(written.dtype_code) < FLOATING:
        return False
    return not rule.ends or takes_gradients(written)


cdef int _check_writable(OpOverload op, TensorImpl written) except -1:
    if takes_gradients(written) and written.autograd.node is None:
        raise _refused_write(op, "a leaf")
    if written.storage.birth < local_state().own_from:
        raise RuntimeError(
            f"{op.name}: a tensor that the function being differentiated did not make cannot be written "
            f"to in place within it; give it to the function as an argument and use a clone() of it"
        )
    if written.one_of_many and is_view(written):
        raise RuntimeError(
            f"{op.name}: a view that an operator made along with others (split, unbind, chunk, or a view "
            f"of one of theirs) cannot be written to in place where operators are recorded; use an "
            f"operator that does not write, or a view of its own (narrow, select)"
        )
    if not takes_gradients(written):
        if not is_view(written) or not takes_gradients(written.base):
            return 0
        if written.base.autograd.node is None:
            raise _refused_write(op, "a view of a leaf")
        if written.keys & recording_bit() and category_of(written.dtype_code) >= FLOATING:
            raise RuntimeError(f"{op.name}: a view that was made where nothing was recorded (no_grad) "
                               f"cannot be written to where operators are: make it here, or write "
                               f"to it there")
        return 0
    if is_view(written) and takes_gradients(written.base) and written.base.autograd.node is None:
        raise _refused_write(op, "a view of a leaf")
    return 0


cdef object _refused_write(OpOverload op, str what):
    return RuntimeError(f"{op.name}: {what} that requires grad cannot be written to in place where "
                        f"operators are recorded")


cdef object _recorded(OpOverload op, Rule rule, uint64_t keys, PyObject** stack, bint lists):
    cdef OperatorNode node
    cdef TensorImpl written
    if rule.in_place:
        _check_writable(op, <TensorImpl>stack[0])
    node = OperatorNode.__new__(OperatorNode)
    node.operator_rule = rule
    node.operator = op
    node.title = rule.title
    _connect(node, op, stack, lists)
    _keep(node, op, rule, stack)
    if detects_anomalies:
        node.line = _place()
    result = _below(op, keys, stack)
    if rule.in_place:
        written = <TensorImpl>stack[0]
        node.describe_output(written)
        _wrote(node, written)
        _keep_results(node, rule, [written])
        return result
    if type(result) is Tensor or isinstance(result, TensorImpl):
        if rule.results <= 1 and not rule.without:
            _add_result(node, rule, op, stack, <TensorImpl>result)
            if rule.results:
                _keep_result(node, rule, <TensorImpl>result)
        else:
            _add_results(node, rule, op, stack, [result])
    elif isinstance(result, (tuple, list)):
        _add_results(node, rule, op, stack, list(result))
    return result


cdef int _wrote(OperatorNode node, TensorImpl written) except -1:
    """Gives what was written to, and all that shows it, their new place in the graph."""
    cdef TensorImpl base = written.base if is_view(written) else written
    cdef bint first = not takes_gradients(base)
    if is_view(written):
        _written_view(node, written)
    else:
        set_history(written, node, 0)
    if first:
        # The base, and the view that was written to, are known already.
        tell_views(base, 2 if is_view(written) else 1)
    return 0


cdef str _place():
    """The lines that are being run, as tracebacks show them."""
    import traceback

    return "".join(traceback.format_stack())


cdef int _connect(OperatorNode node, OpOverload op, PyObject** stack, bint lists) except -1:
    """Edges to the nodes of the operands: one for each tensor argument, where none is a list."""
    cdef Py_ssize_t place
    cdef tuple nexts
    cdef TensorImpl operand
    if op.tensor_count > INLINE_EDGES or lists:
        return _connect_lists(node, op, stack)
    nexts = PyTuple_New(op.tensor_count)
    for place in range(op.tensor_count):
        node.inline_places[place] = 0
        value = stack[op.tensor_positions[place]]
        if value != <PyObject*>None and _is_tensor(value):
            operand = <TensorImpl>value
            if takes_gradients(operand):
                following = edge_of(operand)
                own(<PyObject*>following)
                PyTuple_SET_ITEM(<PyObject*>nexts, place, <PyObject*>following)
                node.inline_places[place] = <int>operand.autograd.output
                continue
        own(<PyObject*>None)
        PyTuple_SET_ITEM(<PyObject*>nexts, place, <PyObject*>None)
    node.nexts = nexts
    return node.number()


cdef int _connect_lists(OperatorNode node, OpOverload op, PyObject** stack) except -1:
    cdef Py_ssize_t place, position
    cdef list operands = []
    node.firsts = [-1] * op.count
    node.lengths = [-1] * op.count
    for place in range(op.tensor_count):
        position = op.tensor_positions[place]
        value = <object>stack[position]
        node.firsts[position] = len(operands)
        if isinstance(value, (list, tuple)):
            node.lengths[position] = len(value)
            operands += [one if isinstance(one, TensorImpl) else None for one in value]
        else:
            operands.append(value if isinstance(value, TensorImpl) else None)
    node.connect(operands, ())
    return 0


cdef int _keep(OperatorNode node, OpOverload op, Rule rule, PyObject** stack) except -1:
    """Saves what the formulas that are wanted read."""
    cdef Formula formula
    cdef Py_ssize_t slot
    cdef int place, code
    cdef tuple kept
    if rule.sized_count:
        node.sizes = _all_sizes(rule, stack)
    if rule.slot_count == 0:
        return 0
    if rule.slot_count > 1:
        node.saved = kept = _tuple_of_none(rule.slot_count)
    for formula in rule.formulas:
        if not node.is_read(formula):
            continue
        for place in range(formula.count):
            code = formula.codes[place]
            if code >= GRADIENTS:
                continue
            slot = rule.slot_of[code]
            if rule.slot_count == 1:
                if node.saved is None:
                    node.saved = _saved_value(<object>stack[code], rule.as_it_was[code])
            elif kept[slot] is None:
                _replace(kept, slot, _saved_value(<object>stack[code], rule.as_it_was[code]))
    return 0


cdef tuple _tuple_of_none(Py_ssize_t count):
    cdef tuple made = PyTuple_New(count)
    cdef Py_ssize_t place
    for place in range(count):
        own(<PyObject*>None)
        PyTuple_SET_ITEM(<PyObject*>made, place, <PyObject*>None)
    return made


cdef int _replace(tuple kept, Py_ssize_t place, object value) except -1:
    """Puts a value into a tuple that nobody else has seen, in the place of None."""
    own(<PyObject*>value)
    disown(<PyObject*>None)
    PyTuple_SET_ITEM(<PyObject*>kept, place, <PyObject*>value)
    return 0


cdef tuple _all_sizes(Rule rule, PyObject** stack):
    cdef tuple found = PyTuple_New(rule.sized_count)
    cdef Py_ssize_t place
    for place in range(rule.sized_count):
        sizes = _sizes_of(<object>stack[<int>rule.sized[place] - SIZES])
        own(<PyObject*>sizes)
        PyTuple_SET_ITEM(<PyObject*>found, place, <PyObject*>sizes)
    return found


cdef object _sizes_of(object value):
    if isinstance(value, TensorImpl):
        return int_tuple((<TensorImpl>value).rank, (<TensorImpl>value).sizes)
    if isinstance(value, (list, tuple)):
        return [_sizes_of(one) for one in value]
    return None


cdef object _saved_value(object value, bint as_it_was):
    cdef SavedList kept
    if isinstance(value, TensorImpl):
        if as_it_was:
            return saved_operand(<TensorImpl>_copy(value))
        return saved_operand(<TensorImpl>value)
    if isinstance(value, (list, tuple)) and any([isinstance(one, TensorImpl) for one in value]):
        kept = SavedList.__new__(SavedList)
        kept.members = [saved_operand(<TensorImpl>one) if isinstance(one, TensorImpl) else one
                        for one in value]
        return kept
    return value


cdef object _copy(object tensor):
    """A tensor's value before it is written to, at its place in the graph."""
    cdef LocalState* state = local_state()
    state.below_recording += 1
    state.excluded |= recording_bit()
    try:
        copied = tensor.clone()
    finally:
        state.below_recording -= 1
        settle_recording(state)
    if node_of(<TensorImpl>tensor) is not None:
        set_history(<TensorImpl>copied, node_of(<TensorImpl>tensor),
                    (<TensorImpl>tensor).autograd.output)
    return copied


cdef int _add_results(OperatorNode node, Rule rule, OpOverload op, PyObject** stack,
                      list results) except -1:
    cdef TensorImpl tensor
    cdef Py_ssize_t number
    for number in range(len(results)):
        if isinstance(results[number], TensorImpl):
            tensor = <TensorImpl>results[number]
            if rule.gives_views:
                tensor.one_of_many = True
            if rule.gives_own:
                _settle(op, stack, tensor)
            if (category_of(tensor.dtype_code) >= FLOATING and number not in rule.without
                    and not _is_operand(op, stack, tensor)):
                node.add_output(tensor)
                continue
        node.describe_output(None)
    return _keep_results(node, rule, results)


cdef inline int _add_result(OperatorNode node, Rule rule, OpOverload op, PyObject** stack,
                            TensorImpl result) except -1:
    if rule.gives_own:
        _settle(op, stack, result)
    if category_of(result.dtype_code) >= FLOATING and not _is_operand(op, stack, result):
        return node.add_output(result)
    return node.describe_output(None)


cdef inline void _settle(OpOverload op, PyObject** stack, TensorImpl result) noexcept:
    """Makes a result that shows a tensor of the kernel's own, which has no graph, one by itself.

    Otherwise a write to it would count as one to that tensor, and what it came from be forgotten.
    """
    if is_view(result) and not _is_operand(op, stack, result):
        part_from_base(result)


cdef bint _is_operand(OpOverload op, PyObject** stack, TensorImpl tensor) noexcept:
    cdef Py_ssize_t place
    for place in range(op.tensor_count):
        if stack[op.tensor_positions[place]] == <PyObject*>tensor:
            return True
    return False


cdef int _keep_results(OperatorNode node, Rule rule, list results) except -1:
    cdef Formula formula
    cdef int place, code
    if rule.results == 0:
        return 0
    cdef tuple kept = _tuple_of_none(rule.results)
    for formula in rule.formulas:
        if not node.is_read(formula):
            continue
        for place in range(formula.count):
            code = formula.codes[place] - RESULTS
            if not 0 <= code < CONSTANTS - RESULTS or kept[code] is not None:
                continue
            if results[code] is not None:
                _replace(kept, code, _saved_output(node, <TensorImpl>results[code], code))
    node.results = kept[0] if rule.results == 1 else kept
    return 0


cdef int _keep_result(OperatorNode node, Rule rule, TensorImpl result) except -1:
    """`_keep_results` of the only one."""
    cdef Formula formula
    cdef int place
    for formula in rule.formulas:
        for place in range(formula.count):
            if formula.codes[place] == RESULTS and node.is_read(formula):
                node.results = _saved_output(node, result, 0)
                return 0
    return 0


cdef object _saved_output(OperatorNode node, TensorImpl tensor, Py_ssize_t output):
    if node.first.rank == -1 and output == 0 or output > 0 and node.infos[output] is None:
        return saved_operand(tensor)
    return saved_result(tensor, output)


def own_storages_from(before=None):
    """Refuses writes of this thread to all storages but those that are made from now on.

    With what this gave before, as it was before. For functions being differentiated: all that they
    call is looked at where it would be recorded.
    """
    cdef LocalState* state = local_state()
    cdef int64_t known = state.own_from
    state.own_from = next_birth() if before is None else before
    if state.own_from:
        state.included |= recording_bit()
    else:
        state.included &= ~recording_bit()
    return known


def below_recording(function, *args, **kwargs):
    """`function(*args, **kwargs)`, of which no operator is recorded."""
    cdef LocalState* state = local_state()
    state.below_recording += 1
    settle_recording(state)
    try:
        return function(*args, **kwargs)
    finally:
        state.below_recording -= 1
        settle_recording(state)


def take_edges(Node node not None, OperatorNode write not None):
    """Gives `node` the edges of an operator that writes, but that of what it wrote to.

    Returns the place of that one among the gradients that the operator gives.
    """
    cdef Py_ssize_t own_place = write.first_edge(0)
    edges = [edge for edge in range(len(write.nexts)) if edge != own_place]
    node.extend_edges([write.nexts[edge] for edge in edges],
                      [write.place_of(edge) for edge in edges])
    return own_place


def forgotten(Node node not None):
    """Has a node let go of what it saved."""
    node.forget()


def applied(Node node not None, list gradients not None):
    """The gradients of a node's operands."""
    return node.apply(gradients)
