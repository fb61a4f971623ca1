# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""What a profile sees: every operator that is called, when, by which thread, inside of what.

While a session is on, a `RecordingKernel` stands in each row that is asked for in the place of the
kernel that was found; before and after, no call meets anything of this. With `split`, kernels that
stand for others step aside meanwhile, as they do before any kernel that did not come with its
operator: what a composite calls is called. Else these rows look as they are without.

Each thread writes into a log of its own. Events are C structures until somebody looks.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.dtypes cimport dtype, dtype_from_code
from aten._core.base.keys cimport all_backend_bits
from aten._core.base.sizes cimport int_tuple
from aten._core.dispatch.dispatcher cimport FallthroughKernel, Kernel, OpOverload
from aten._core.memory.allocator cimport set_observer
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten._core.threads.cost cimport clock

import threading

from aten._core.dispatch.dispatcher import set_interposition

cdef extern from *:
    """
    /* The thread's log, borrowed from the session of that number. */
    static __thread void* aten_log_of_thread;
    static __thread uint64_t aten_log_session;
    """
    void* aten_log_of_thread
    uint64_t aten_log_session

cdef enum:
    LEAST_ROOM = 256        # events, or changes of memory, that a first block has room for
    NOWHERE = -1

cdef struct Event:
    PyObject* subject       # an OpOverload, or the text of a user's block; owned
    int64_t begin           # nanoseconds of the monotonic clock
    int64_t end             # 0: open
    Py_ssize_t parent       # the event of the same thread that it happened in, or NOWHERE
    uint64_t keys           # of the call
    int64_t allocated       # bytes, without those of the events inside
    int64_t freed
    int64_t base            # bytes that the thread had taken more than given back when it began
    int64_t most            # the most of them while it ran

cdef struct Change:
    int64_t time
    int64_t change          # bytes
    int64_t total           # since the session began, after it

cdef Session active = None
cdef uint64_t last_number = 0
# Kernels of sessions that may stand in rows, which borrow them. An interrupt may leave some there:
# they pass calls on, until the next session has taken all of them out.
cdef list standing = []


cdef class Log:
    """The events of one thread in one session, in the order in which they began."""

    cdef Event* events
    cdef Py_ssize_t count
    cdef Py_ssize_t room
    cdef Py_ssize_t innermost           # of the events that are open, or NOWHERE
    cdef int64_t held                   # bytes that the thread took, less those it gave back
    cdef int64_t outside                # blocks taken or given back outside of all events
    cdef int64_t allocated              # bytes of these
    cdef int64_t freed
    cdef dict details                   # what else is known of events, by their place
    cdef readonly object thread         # the thread's number for the system
    cdef readonly str name

    def __cinit__(self):
        self.innermost = NOWHERE
        self.details = {}
        self.thread = threading.get_native_id()
        self.name = _name_of_thread()

    def __dealloc__(self):
        cdef Py_ssize_t place
        for place in range(self.count):
            Py_DECREF(<object>self.events[place].subject)
        PyMem_Free(self.events)

    cdef Py_ssize_t open(self, object subject, uint64_t keys, Known known) except -1:
        """Begin an event inside of the innermost open one. Gives its place."""
        cdef Py_ssize_t place
        cdef Event* event
        if self.count == self.room:
            self.grow()
        place = self.count
        if known is not None:
            self.details[place] = known
        Py_INCREF(subject)
        event = &self.events[place]
        event.subject = <PyObject*>subject
        event.end = 0
        event.parent = self.innermost
        event.keys = keys
        event.allocated = 0
        event.freed = 0
        event.base = self.held
        event.most = self.held
        self.count = place + 1
        self.innermost = place
        event.begin = clock()
        return place

    cdef int grow(self) except -1:
        cdef Py_ssize_t room = max(<Py_ssize_t>LEAST_ROOM, 2 * self.room)
        cdef Event* events = <Event*>PyMem_Realloc(self.events, room * sizeof(Event))
        if events == NULL:
            raise MemoryError("no memory for what the profiler records")
        self.events = events
        self.room = room
        return 0

    cdef void close(self, Py_ssize_t place) noexcept:
        """End an event, and those inside of it that were left open. A second time does nothing."""
        cdef int64_t now = clock()
        cdef Event* event
        cdef Py_ssize_t current
        if self.events[place].end != 0:
            return
        while self.events[place].end == 0:
            current = self.innermost
            event = &self.events[current]
            event.end = now
            self.innermost = event.parent
            if event.parent != NOWHERE and self.events[event.parent].most < event.most:
                self.events[event.parent].most = event.most

    cdef inline bint goes_on(self, OpOverload op, uint64_t keys) noexcept:
        """Whether the call is the innermost one again, handed on to a kernel of a later key."""
        cdef Event* event
        if self.innermost == NOWHERE:
            return False
        event = &self.events[self.innermost]
        return (event.subject == <PyObject*>op
                and keys & ~all_backend_bits() < event.keys & ~all_backend_bits())

    cdef void count_memory(self, int64_t change) noexcept:
        cdef Event* event
        self.held += change
        if self.innermost == NOWHERE:
            self.outside += 1
            if change > 0:
                self.allocated += change
            else:
                self.freed -= change
            return
        event = &self.events[self.innermost]
        if change > 0:
            event.allocated += change
            event.most = max(event.most, self.held)
        else:
            event.freed -= change

    def memory_outside(self):
        """How often memory was taken or given back outside of all events, and how many bytes."""
        return self.outside, self.allocated, self.freed

    def contents(self, int64_t now):
        """Each event as (subject, begin, end, parent, taken, freed, most, details).

        Events that are open end at `now`, and so do those that ended later. `most` are the most
        bytes that the thread held beyond those it held when the event began.
        """
        cdef Py_ssize_t place
        cdef Event* event
        cdef list found = []
        for place in range(self.count):
            event = &self.events[place]
            found.append((
                <object>event.subject, min(event.begin, now),
                min(event.end, now) if event.end != 0 else now, event.parent,
                event.allocated, event.freed, event.most - event.base, self.details.get(place),
            ))
        return found


def _name_of_thread():
    identity = threading.get_ident()
    for thread in threading.enumerate():
        if thread.ident == identity:
            return thread.name
    return f"thread {identity}"


cdef class Session:
    """What all threads do between `start` and `stop`. Only one session is on at a time.

    With `shapes`, arguments are kept: of tensors sizes and types; with `results`, those of what is
    returned. `stack()` says what led to a call. With `memory`, allocations are recorded; with
    `split`, what composites call, also where a compiled kernel would do it in one step.
    """

    cdef uint64_t number
    cdef readonly bint shapes
    cdef readonly bint results
    cdef readonly object stack
    cdef readonly bint memory
    cdef readonly bint split
    cdef readonly list logs
    cdef readonly int64_t begin         # nanoseconds of the monotonic clock
    cdef readonly int64_t end
    cdef dict kernels                   # what stands in rows, by the kernel in whose place it does
    cdef Change* changes
    cdef Py_ssize_t change_count
    cdef Py_ssize_t change_room
    cdef int64_t held
    cdef readonly int64_t peak          # the most bytes taken and not given back

    def __init__(self, bint shapes=False, bint results=False, stack=None, bint memory=False,
                 bint split=True):
        self.shapes = shapes
        self.results = results
        self.stack = stack
        self.memory = memory
        self.split = split
        self.logs = []
        self.kernels = {}

    def __dealloc__(self):
        PyMem_Free(self.changes)

    def start(self):
        """Records from now on. RuntimeError where a session is on."""
        global active, last_number
        if active is not None:
            raise RuntimeError(
                "a profile is active already: profiles cannot be nested, nor run in two threads"
            )
        last_number += 1
        self.number = last_number
        active = self
        standing.append(self.kernels)
        self.begin = clock()
        try:
            set_interposition(self.interpose)
        except BaseException:
            self.stop()
            raise
        if self.memory:
            set_observer(note_memory)

    def stop(self):
        """Records no more, and leaves nothing in the way of calls. A second time does nothing."""
        global active
        if active is not self:
            return
        self.end = clock()
        set_observer(NULL)
        active = None
        set_interposition(None, _recorded)
        standing.clear()
        self.kernels = {}

    def forget(self):
        """Drops what was recorded so far, and goes on."""
        global last_number
        if active is not self:
            return
        last_number += 1
        self.number = last_number
        self.logs = []
        self.change_count = 0
        self.held = self.peak = 0
        self.begin = clock()

    def interpose(self, Kernel kernel not None):
        """The kernel that is to stand in rows in the place of this one."""
        if isinstance(kernel, (FallthroughKernel, RecordingKernel)):
            return kernel
        found = self.kernels.get(kernel)
        if found is None:
            found = self.kernels.setdefault(kernel, RecordingKernel(kernel, self.split))
        return found

    def contents(self):
        """(the thread's number, its name, its events) of each thread, in the order they came."""
        return [(log.thread, log.name, (<Log>log).contents(self.end)) for log in self.logs]

    def memory_changes(self):
        """(time, bytes, total) of each block that was taken or given back."""
        cdef Py_ssize_t place
        cdef Change* change
        cdef list found = []
        for place in range(self.change_count):
            change = &self.changes[place]
            found.append((change.time, change.change, change.total))
        return found

    cdef Log log(self):
        """The log of this thread."""
        global aten_log_of_thread, aten_log_session
        cdef Log made
        if aten_log_session == self.number:
            return <Log>aten_log_of_thread
        made = Log()
        # Making it has run Python code, which may have called operators.
        if aten_log_session == self.number:
            return <Log>aten_log_of_thread
        self.logs.append(made)
        aten_log_of_thread = <void*>made
        aten_log_session = self.number
        return made

    cdef void note(self, int64_t change) noexcept:
        cdef Change* changes
        cdef Py_ssize_t room
        self.held += change
        self.peak = max(self.peak, self.held)
        if self.change_count == self.change_room:
            room = max(<Py_ssize_t>LEAST_ROOM, 2 * self.change_room)
            changes = <Change*>PyMem_Realloc(self.changes, room * sizeof(Change))
            if changes == NULL:
                return
            self.changes = changes
            self.change_room = room
        changes = &self.changes[self.change_count]
        changes.time = clock()
        changes.change = change
        changes.total = self.held
        self.change_count += 1


cdef void note_memory(int64_t change) noexcept:
    """Count a block that was taken, or given back, to whom did it."""
    if active is None:
        return
    active.note(change)
    # A thread without a log has recorded no event: it gets none here, where nothing may fail.
    if aten_log_session == active.number:
        (<Log>aten_log_of_thread).count_memory(change)


cdef class RecordingKernel(Kernel):
    """Has another kernel serve the call, and records that."""

    cdef readonly Kernel records

    def __init__(self, Kernel records not None, bint split=True):
        self.records = records
        self.home = None if split else records.home
        self.provenance = records.provenance

    def describe(self):
        return self.records.describe()

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef Session session = active
        cdef Log log
        cdef Py_ssize_t place
        cdef uint64_t keys_before
        cdef Known known = None
        if session is None:
            return self.records.call(op, keys, stack)
        if session.shapes or session.stack is not None or aten_log_session != session.number:
            # Python code may run: where it makes other tensors of the arguments, they are another
            # call.
            keys_before = op.keys_of(stack)
            log = session.log()
            if not log.goes_on(op, keys):
                known = known_before(session, op, stack)
            if op.keys_of(stack) != keys_before:
                return op.call_stack(stack)
        log = session.log()
        if log.goes_on(op, keys):
            return self.records.call(op, keys, stack)
        place = log.open(op, keys, known)
        try:
            result = self.records.call(op, keys, stack)
        finally:
            log.close(place)
        if session.results and known is not None:
            known.result = seen(result)
        return result


def _recorded(Kernel kernel not None):
    """The kernel in whose place this one stands, if it does."""
    return (<RecordingKernel>kernel).records if isinstance(kernel, RecordingKernel) else kernel


cdef class Seen:
    """What is kept of a tensor."""

    cdef readonly tuple sizes
    cdef readonly dtype dtype


cdef class Known:
    """What is kept of an event besides its times; None for what was not asked for."""

    cdef readonly tuple arguments       # as `seen` gives them
    cdef readonly object result
    cdef readonly object stack
    cdef readonly object text           # of a user's block


cdef object seen(object value):
    """Numbers and texts as they are, a tuple of what is kept of a list, a Seen of a tensor."""
    cdef Seen kept
    if isinstance(value, TensorImpl):
        kept = Seen.__new__(Seen)
        kept.sizes = int_tuple((<TensorImpl>value).rank, (<TensorImpl>value).sizes)
        kept.dtype = dtype_from_code((<TensorImpl>value).dtype_code)
        return kept
    if value is None or type(value) in (int, float, bool, complex, str):
        return value
    if isinstance(value, (list, tuple)):
        return tuple([seen(one) for one in value])
    return str(value)


cdef Known known_before(Session session, OpOverload op, PyObject** stack):
    """What is kept of a call before it is made; None where nothing is."""
    cdef Known known
    cdef Py_ssize_t position
    if not session.shapes and session.stack is None:
        return None
    known = Known.__new__(Known)
    if session.shapes:
        known.arguments = tuple([seen(<object>stack[position]) for position in range(op.count)])
    if session.stack is not None:
        known.stack = session.stack()
    return known


cdef class Block:
    """A user's block: open until `close`."""

    cdef Log log
    cdef Py_ssize_t place

    def close(self):
        """Ends it, and what was left open inside. A second time does nothing."""
        if self.log is not None:
            self.log.close(self.place)


def open_block(str name not None, text=None):
    """Begins a block of this thread; None where no session is on."""
    cdef Session session = active
    cdef Block block
    cdef Known known
    if session is None:
        return None
    known = None
    if text is not None or session.stack is not None:
        known = Known.__new__(Known)
        known.text = text
        known.stack = None if session.stack is None else session.stack()
    block = Block.__new__(Block)
    block.log = session.log()
    block.place = block.log.open(name, 0, known)
    return block


def active_session():
    """The session that is on, or None."""
    return active
