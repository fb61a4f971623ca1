# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""How an operator is recorded: its rule, and the formulas of its gradients.

A formula is another operator, whose arguments come from what was saved and from gradients, or a
function of these.
"""


cdef class Formula:
    """The gradients of operands at `positions`, from what `sources` name.

    `compute` is an OpOverload, which gets one argument for each source, or a function. A formula of
    several positions gives a tuple.
    """

    def __init__(self, tuple positions not None, compute not None, tuple sources not None,
                 tuple constants=()):
        if len(sources) > INLINE_ARGUMENTS:
            raise ValueError("a formula has too many arguments")
        self.positions = positions
        self.compute = compute
        self.sources = sources
        self.constants = constants
        self.operator = compute if isinstance(compute, OpOverload) else None
        self.count = <int>len(sources)
        self.position = positions[0] if len(positions) == 1 else -1
        for place, code in enumerate(sources):
            self.codes[place] = code


cdef class Rule:
    """How an operator is recorded.

    `title` is what its nodes are called. `through` runs it, recording what it calls, where there is
    one. `formulas` is None where the operator cuts the way, and empty with `missing` where nobody
    has said how to go back. `without` numbers results that have no gradients.
    """

    def __init__(self, str title, list formulas, Kernel through=None, str missing=None,
                 frozenset without=frozenset(), bint in_place=False, bint refuses=False,
                 frozenset keeps=frozenset()):
        self.title = title
        self.formulas = formulas
        self.through = through
        self.missing = missing
        self.without = without
        self.in_place = in_place
        self.refuses = refuses
        self.keeps = keeps
        codes = {code for formula in formulas or () for code in formula.sources}
        self.slots = tuple(sorted(code for code in codes if code < GRADIENTS))
        self.slot_count = <int>len(self.slots)
        if any([code >= INLINE_ARGUMENTS for code in self.slots]):
            raise ValueError(f"{title}: a formula reads an argument beyond {INLINE_ARGUMENTS}")
        for position in range(INLINE_ARGUMENTS):
            self.slot_of[<int>position] = (self.slots.index(position) if position in self.slots
                                           else -1)
            self.as_it_was[<int>position] = position in keeps
        self.sized = tuple(sorted(code for code in codes if code >= SIZES))
        self.sized_count = len(self.sized)
        self.results = max((code - RESULTS + 1 for code in codes if RESULTS <= code < CONSTANTS),
                           default=0)
