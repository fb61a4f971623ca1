# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Nodes of operators with a rule: the way back is the formulas of the rule, of what was kept."""

from cpython.object cimport PyObject

from aten._core.autograd.node cimport Node
from aten._core.autograd.rules cimport (
    ALL_GRADIENTS, CONSTANTS, GIVEN, GRADIENTS, NEEDED, RESULTS, SIZES, Formula, Rule,
)
from aten._core.autograd.saving cimport SavedResult, SavedTensor
from aten._core.dispatch.dispatcher cimport INLINE_ARGUMENTS, OpOverload, release

cdef extern from "Python.h":
    void own "Py_INCREF"(PyObject*) noexcept

cdef object _zeros = None


def set_zeros(zeros):
    """Says what makes the gradient, `zeros(info)`, of a result that none has come to."""
    global _zeros
    _zeros = zeros


cdef class OperatorNode(Node):
    """A recorded call of an operator with a rule. What it knows is declared in Node: nodes of one
    size are taken from one list of freed ones."""

    @property
    def rule(self):
        return self.operator_rule

    @property
    def op(self):
        return self.operator

    cdef list apply(self, list gradients):
        cdef list given = [None] * len(self.nexts)
        cdef Formula formula
        cdef Py_ssize_t place, first
        if _rule(self).missing is not None:
            raise NotImplementedError(f"the derivative of {self.operator} is not implemented: "
                                      f"{_rule(self).missing}")
        for formula in _rule(self).formulas:
            if not self.is_read(formula):
                continue
            computed = self.computed(formula, gradients)
            if formula.position >= 0:
                self.put(given, formula.position, computed)
                continue
            for place in range(len(formula.positions)):
                self.put(given, formula.positions[place], computed[place])
        return given

    cdef bint is_read(self, Formula formula) except -1:
        cdef Py_ssize_t edge
        if formula.position >= 0:
            if self.lengths is not None:
                return self.is_wanted(formula.position)
            edge = _rule(self).edge_of[formula.position]
            return edge >= 0 and self.nexts[edge] is not None
        for position in formula.positions:
            if self.is_wanted(position):
                return True
        return False

    cdef Py_ssize_t first_edge(self, Py_ssize_t position) except -2:
        """The edge of the operand at a position, the first one of a list; -1 where it has none."""
        if self.firsts is not None:
            return self.firsts[position]
        return _rule(self).edge_of[position]

    cdef int put(self, list given, Py_ssize_t position, object computed) except -1:
        cdef Py_ssize_t first = self.first_edge(position)
        cdef Py_ssize_t length = -1 if self.lengths is None else self.lengths[position]
        cdef Py_ssize_t place
        if first < 0 or computed is None:
            return 0
        if length < 0:
            given[first] = computed
            return 0
        for place in range(length):
            given[first + place] = computed[place]
        return 0

    cdef object computed(self, Formula formula, list gradients):
        cdef PyObject* stack[INLINE_ARGUMENTS]
        cdef int filled = 0
        if formula.one >= 0 and _is_one(self.value(formula, formula.codes[formula.one], gradients)):
            return self.gradient(gradients, 0)
        try:
            while filled < formula.count:
                value = self.value(formula, formula.codes[filled], gradients)
                own(<PyObject*>value)
                stack[filled] = <PyObject*>value
                filled += 1
            if formula.operator is not None:
                return formula.operator.call_stack(stack)
            return formula.compute(*[<object>stack[place] for place in range(filled)])
        finally:
            release(stack, filled)

    cdef object value(self, Formula formula, int code, list gradients):
        if code < GRADIENTS:
            return self.unpacked(_kept_operand(self, _rule(self).slot_of[code]))
        if code < RESULTS:
            return self.gradient(gradients, code - GRADIENTS)
        if code < CONSTANTS:
            return self.unpacked(_kept_result(self, code - RESULTS))
        if code < NEEDED:
            return formula.constants[code - CONSTANTS]
        if code >= SIZES:
            return self.sizes[_rule(self).sized.index(code)]
        if code == GIVEN:
            return tuple(gradients)
        if code == ALL_GRADIENTS:
            return tuple([self.gradient(gradients, place) for place in range(len(gradients))])
        return tuple([self.is_wanted(position) for position in formula.positions])

    cdef object gradient(self, list gradients, Py_ssize_t place):
        gradient = gradients[place]
        if gradient is None:
            info = self.info(place)
            return None if info is None else _zeros(info)
        return gradient

    cdef bint is_wanted(self, Py_ssize_t position) except -1:
        cdef Py_ssize_t first = self.first_edge(position)
        cdef Py_ssize_t place
        if first < 0:
            return False
        if self.lengths is None or self.lengths[position] < 0:
            return self.nexts[first] is not None
        for place in range(self.lengths[position]):
            if self.nexts[first + place] is not None:
                return True
        return False

    cdef object unpacked(self, object kept):
        if type(kept) is SavedResult:
            return (<SavedResult>kept).given(self)
        if isinstance(kept, SavedTensor):
            return (<SavedTensor>kept).given(self)
        if type(kept) is SavedList:
            return [self.unpacked(one) for one in (<SavedList>kept).members]
        return kept

    cdef int forget(self) except -1:
        cdef Rule rule = _rule(self)
        cdef tuple kept
        cdef Py_ssize_t slot
        if rule.slot_count == 1:
            self.saved = _forgotten_operand(rule, 0, self.saved)
        elif rule.slot_count and self.saved is not None:
            kept = <tuple>self.saved
            self.saved = tuple([_forgotten_operand(rule, slot, kept[slot])
                                for slot in range(rule.slot_count)])
        if rule.results:
            self.results = _forgotten(self.results, rule.results)
        return 0

    def __getattr__(self, name):
        # What was saved, by the names of the schema: `_saved_self`, `_saved_result`.
        if not name.startswith("_saved_"):
            raise AttributeError(f"{self.title!r} has no attribute {name!r}")
        cdef Rule rule
        cdef OpOverload op
        wanted = name.removeprefix("_saved_")
        op, rule = <OpOverload>self.operator, _rule(self)
        for position, argument in enumerate(op._schema.arguments):
            if argument.name == wanted and position in rule.slots:
                return self.unpacked(_kept_operand(self, rule.slots.index(position)))
        numbered = [name for name in ("result", "out") if wanted.startswith(name)]
        for prefix in numbered:
            number = wanted.removeprefix(prefix) or "0"
            if number.isdecimal() and int(number) < rule.results:
                kept = _kept_result(self, int(number))
                if kept is not None:
                    return self.unpacked(kept)
        raise AttributeError(f"{self.title!r} has no attribute {name!r}")

    def __dir__(self):
        cdef Rule rule = _rule(self)
        arguments = (<OpOverload>self.operator)._schema.arguments
        saved = [f"_saved_{arguments[position].name}" for position in rule.slots]
        results = [f"_saved_result{number or ''}" for number in range(rule.results)]
        return sorted([*object.__dir__(self), *saved, *results])


cdef inline Rule _rule(OperatorNode node):
    return <Rule>node.operator_rule


cdef inline object _kept_operand(OperatorNode node, Py_ssize_t slot):
    """What is saved in a slot: the only one has no tuple around it."""
    return node.saved if _rule(node).slot_count == 1 else (<tuple>node.saved)[slot]


cdef inline object _kept_result(OperatorNode node, Py_ssize_t number):
    return node.results if _rule(node).results == 1 else (<tuple>node.results)[number]


cdef class SavedList:
    pass


cdef SavedTensor _FORGOTTEN = SavedTensor.__new__(SavedTensor)


cdef object _forgotten_operand(Rule rule, Py_ssize_t slot, object kept):
    """What is left of an operand: what stands where a tensor might is gone, be it a number."""
    if kept is not None and rule.edge_of[<int>rule.slots[slot]] >= 0:
        return _FORGOTTEN
    return _forgotten(kept, 1)


cdef object _forgotten(object kept, int count):
    """What is left of what was saved: numbers and sizes stay, tensors are gone."""
    if count > 1 and kept is not None:
        return tuple([_forgotten(one, 1) for one in <tuple>kept])
    return _FORGOTTEN if isinstance(kept, (SavedTensor, SavedResult, SavedList)) else kept


cdef bint _is_one(object factor) except -1:
    return (type(factor) is int or type(factor) is float) and factor == 1
