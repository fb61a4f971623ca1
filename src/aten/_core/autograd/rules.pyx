# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""How an operator is recorded: its rule, and the formulas of its gradients.

A formula is another operator, whose arguments come from what was saved and from gradients, or a
function of these.
"""


cdef class Formula:
    """The gradients of operands at `positions`, from what `sources` name.

    `compute` is an OpOverload, which gets one argument for each source, or a function. A formula of
    several positions gives a tuple. If source number `one`, a factor, is 1, the first result's
    gradient is the operand's, and nothing is computed.
    """

    def __init__(self, tuple positions not None, compute not None, tuple sources not None,
                 tuple constants=(), int one=-1):
        if len(sources) > INLINE_ARGUMENTS:
            raise ValueError("a formula has too many arguments")
        self.positions = positions
        self.compute = compute
        self.sources = sources
        self.constants = constants
        self.one = one
        self.operator = compute if isinstance(compute, OpOverload) else None
        self.count = <int>len(sources)
        self.position = positions[0] if len(positions) == 1 else -1
        for place, code in enumerate(sources):
            self.codes[place] = code


cdef class Rule:
    """How an operator is recorded.

    `title` is what its nodes are called. `through` runs it, recording what it calls, where there is
    one. `formulas` is None where the operator cuts the way, and empty with `missing` where nobody
    has said how to go back. `without` numbers results that have no gradients. With `ends` what is
    written does not depend on what was there, nor on other operands, as far as gradients go.
    """

    def __init__(self, str title, list formulas, Kernel through=None, str missing=None,
                 frozenset without=frozenset(), bint in_place=False, bint refuses=False,
                 frozenset keeps=frozenset(), bint ends=False):
        self.title = title
        self.formulas = formulas
        self.through = through
        self.missing = missing
        self.without = without
        self.in_place = in_place
        self.refuses = refuses
        self.keeps = keeps
        self.ends = ends
        codes = {code for formula in formulas or () for code in formula.sources}
        self.slots = tuple(sorted(code for code in codes if code < GRADIENTS))
        self.slot_count = <int>len(self.slots)
        answered = [position for formula in formulas or () for position in formula.positions]
        if any([position >= INLINE_ARGUMENTS for position in (*self.slots, *answered)]):
            raise ValueError(f"{title}: a formula is about an argument beyond {INLINE_ARGUMENTS}")
        for position in range(INLINE_ARGUMENTS):
            self.slot_of[<int>position] = (self.slots.index(position) if position in self.slots
                                           else -1)
            self.as_it_was[<int>position] = position in keeps
        self.sized = tuple(sorted(code for code in codes if code >= SIZES))
        self.sized_count = len(self.sized)
        self.results = max([code - RESULTS + 1 for code in codes if RESULTS <= code < CONSTANTS],
                           default=0)

    cdef int find_edges(self, OpOverload op) except -1:
        """Has the rule be the operator's. Raises ValueError where it is another one's already."""
        cdef Py_ssize_t place, position
        if self.owner is not None and self.owner is not op:
            raise ValueError(f"{op}: its rule is that of {self.owner}")
        self.owner = op
        op.prepare()
        returns = op._schema.returns
        self.gives_views = (len(returns) == 1 and returns[0].annotation is not None
                            and not returns[0].annotation.is_write
                            and str(returns[0].type).endswith("[]"))
        self.gives_own = all([one.annotation is None for one in returns])
        for position in range(INLINE_ARGUMENTS):
            self.edge_of[position] = -1
        for place in range(op.tensor_count):
            if op.tensor_positions[place] < INLINE_ARGUMENTS:
                self.edge_of[op.tensor_positions[place]] = <int>place
        return 0
