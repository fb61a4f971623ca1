# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Generator, a source of random numbers, and its state, which torch's goes on from.

All that fills tensors takes row-major ones, holds the generator's lock from the first number to the
last, and lets other Python threads run meanwhile.
"""

from cpython.pythread cimport (NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock,
                              PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock)
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import os
from weakref import WeakValueDictionary

from aten._core.base.device cimport CPU, device as Device, device_from_codes
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT64, UINT8
from aten._core.random.random_numbers cimport (BLOCK, WORDS, Distribution, Engine,
                                               distribution_named, fill_from, fill_integers,
                                               fill_normal, fill_normal_blocks, fill_shuffled,
                                               fill_uniform, seed_engine)
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer
from aten._core.threads import forks

cdef enum:
    # torch's layout of a state: the seed, left, whether seeded, next, the words as 64 bits each,
    # three numbers of which the second is the spare one, whether there is one; a float one.
    STATE_BYTES = 5056
    STATE_WORDS = 24
    STATE_SPARE = STATE_WORDS + 8 * WORDS + 8
    STATE_HAS_SPARE = STATE_SPARE + 16
    # Numbers that are drawn sooner than other threads are let run.
    FEW = 64

DEFAULT_SEED = 67280421310721

# By address. Its list of references is made in one step, whatever other threads do.
_generators = WeakValueDictionary()


cdef int _require(Tensor tensor, int code) except -1:
    if tensor is None or tensor.dtype_code != code or not tensor.contiguous:
        raise TypeError("Generator: expected a row-major tensor of another dtype")
    if tensor.storage.data == NULL and tensor.count:
        raise RuntimeError("Generator: the tensor has no memory to fill")
    return 0


cdef int _require_floating(Tensor tensor) except -1:
    return _require(tensor, FLOAT32 if tensor.dtype_code == FLOAT32 else FLOAT64)


cdef uint64_t _seed_of(object seed) except? 0:
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError(f"manual_seed: {seed} is not among [-2^63, 2^64)")
    return <uint64_t>(seed & 0xffffffffffffffff)


cdef class Generator:
    """A source of random numbers, on the CPU; the same seed brings the same numbers.

    Threads may share one: each call draws its numbers in one go.
    """

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError()

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    cdef bint take(self, bint waits=True) noexcept:
        """Waits until nobody else draws; without `waits`, says whether nobody does."""
        cdef int taken = PyThread_acquire_lock(self.lock, NOWAIT_LOCK)
        if not taken and waits:
            with nogil:
                taken = PyThread_acquire_lock(self.lock, WAIT_LOCK)
        if taken:
            self.taken = True
        return taken != 0

    cdef void give(self) noexcept:
        self.taken = False
        PyThread_release_lock(self.lock)

    def __init__(self, device="cpu"):
        """Raises RuntimeError for devices other than the CPU."""
        cdef Device where = device if isinstance(device, Device) else Device(device or "cpu")
        if where.type_code != CPU:
            raise RuntimeError(f"Generator: expected the device cpu, got {where}")
        self.first_seed = DEFAULT_SEED
        seed_engine(&self.engine, self.first_seed)
        _generators[id(self)] = self

    @property
    def device(self):
        """The device it draws for."""
        return device_from_codes(CPU, -1)

    def manual_seed(self, seed):
        """Begin anew from `seed`, of which the engine takes the lowest 32 bits.

        Raises RuntimeError for what is no integer, ValueError out of [-2^63, 2^64).
        """
        cdef uint64_t value
        if type(seed) is not int:
            raise RuntimeError(f"manual_seed: expected an int, got {type(seed).__name__}")
        value = _seed_of(seed)
        self.take()
        self.first_seed = value
        seed_engine(&self.engine, value)
        self.give()
        return self

    def seed(self):
        """Begin anew from a number nobody can foresee, which is returned."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self):
        """The seed of the last beginning."""
        return self.first_seed

    def get_state(self):
        """The state as uint8 tensor, laid out as torch's: either library goes on from the other's."""
        cdef int64_t size = STATE_BYTES
        cdef Tensor made = make_contiguous(UINT8, 1, &size, CPU, -1)
        cdef char* data = data_pointer(made)
        cdef int32_t header[2]
        cdef uint64_t word
        cdef int32_t has_spare
        cdef int place
        memset(data, 0, STATE_BYTES)
        self.take()
        header[0], header[1] = self.engine.left, 1
        memcpy(data, &self.first_seed, 8)
        memcpy(data + 8, header, 8)
        word = self.engine.next
        memcpy(data + 16, &word, 8)
        for place in range(WORDS):
            word = self.engine.words[place]
            memcpy(data + STATE_WORDS + 8 * place, &word, 8)
        has_spare = self.engine.has_spare
        if has_spare:
            memcpy(data + STATE_SPARE, &self.engine.spare, 8)
        memcpy(data + STATE_HAS_SPARE, &has_spare, 4)
        self.give()
        return made

    def set_state(self, state):
        """Go on from a state `get_state` gave, torch's or ours.

        Raises TypeError for what is no uint8 tensor, RuntimeError where it is no state.
        """
        cdef Tensor given
        cdef char data[STATE_BYTES]
        cdef Engine engine
        cdef uint64_t seed, word
        cdef int32_t header[2]
        cdef int32_t has_spare
        cdef int place
        if not isinstance(state, Tensor) or (<TensorImpl>state).dtype_code != UINT8:
            raise TypeError("set_state: expected a tensor of dtype uint8")
        given = state
        if given.count != STATE_BYTES or not given.contiguous or given.storage.data == NULL:
            raise RuntimeError(f"set_state: expected {STATE_BYTES} bytes in a row, got a tensor of "
                               f"shape {list(given.shape)}")
        # A copy: what is checked is what is used, whoever writes to the tensor meanwhile.
        memcpy(data, const_data_pointer(given), STATE_BYTES)
        memcpy(&seed, data, 8)
        memcpy(header, data + 8, 8)
        memcpy(&word, data + 16, 8)
        if not 0 < header[0] <= WORDS or header[1] != 1 or word > WORDS or (
                word + header[0] > WORDS + 1):
            raise RuntimeError("set_state: these bytes are not the state of a generator")
        engine.left, engine.next = header[0], <int>word
        for place in range(WORDS):
            memcpy(&word, data + STATE_WORDS + 8 * place, 8)
            engine.words[place] = <uint32_t>word
        memcpy(&engine.spare, data + STATE_SPARE, 8)
        memcpy(&has_spare, data + STATE_HAS_SPARE, 4)
        engine.has_spare = has_spare != 0
        self.take()
        self.first_seed = seed
        self.engine = engine
        self.give()
        return self

    def clone_state(self):
        """Another generator, in the same state."""
        return Generator().set_state(self.get_state())

    def __reduce__(self):
        return _restored, (bytes(self.get_state().tolist()),)

    def uniform(self, Tensor out not None, double low, double high):
        """float32 or float64 numbers from [low, high)."""
        self.draw_uniform(out, low, high)

    cdef int draw_uniform(self, Tensor out, double low, double high) except -1:
        cdef bint single = out.dtype_code == FLOAT32
        _require_floating(out)
        cdef char* data = data_pointer(out)
        cdef int64_t count = out.count
        self.take()
        if single:
            if count <= FEW:
                fill_uniform(&self.engine, <float*>data, count, low, high)
            else:
                with nogil:
                    fill_uniform(&self.engine, <float*>data, count, low, high)
        else:
            with nogil:
                fill_uniform(&self.engine, <double*>data, count, low, high)
        self.give()

    def normal(self, Tensor out not None, double mean, double deviation, bint blocked,
               bint draws_rest):
        """float32 or float64 numbers around `mean`.

        Those of many are made 16 at a time, which is another sequence than one by one.
        """
        self.draw_normal(out, mean, deviation, blocked, draws_rest)

    cdef int draw_normal(self, Tensor out, double mean, double deviation, bint blocked,
                         bint draws_rest) except -1:
        cdef bint single = out.dtype_code == FLOAT32
        cdef bint blocks = blocked and out.count >= BLOCK
        _require_floating(out)
        cdef char* data = data_pointer(out)
        cdef int64_t count = out.count
        if single and count <= FEW and not blocks and not self.taken:
            # Done before another thread has the interpreter lock.
            fill_normal(&self.engine, <float*>data, count, mean, deviation)
            return 0
        self.take()
        with nogil:
            if blocks and single:
                fill_normal_blocks(&self.engine, <float*>data, count, mean, deviation,
                                   draws_rest)
            elif blocks:
                fill_normal_blocks(&self.engine, <double*>data, count, mean, deviation,
                                   draws_rest)
            elif single:
                fill_normal(&self.engine, <float*>data, count, mean, deviation)
            else:
                fill_normal(&self.engine, <double*>data, count, mean, deviation)
        self.give()

    def draw(self, str distribution not None, Tensor out not None, first, second=0.0):
        """float32 or float64 numbers of a distribution, computed in double precision.

        Its parameters are numbers or float64 tensors, of as many elements as `out`.

        Raises ValueError for distributions there are not.
        """
        cdef Distribution function = distribution_named(distribution)
        cdef double numbers[2]
        cdef const double* parameters[2]
        cdef int steps[2]
        cdef int which
        _require_floating(out)
        cdef bint narrow = out.dtype_code == FLOAT32
        cdef char* data = data_pointer(out)
        cdef int64_t count = out.count
        for which, given in enumerate((first, second)):
            steps[which] = isinstance(given, Tensor)
            if steps[which]:
                _require(given, FLOAT64)
                if (<Tensor>given).count != out.count:
                    raise ValueError("draw: parameters and results must be as many")
                parameters[which] = <const double*>const_data_pointer(given)
            else:
                numbers[which] = given
                parameters[which] = &numbers[which]
        self.take()
        with nogil:
            if narrow:
                fill_from(&self.engine, &function, <float*>data, count, parameters[0], steps[0],
                          parameters[1], steps[1])
            else:
                fill_from(&self.engine, &function, <double*>data, count, parameters[0], steps[0],
                          parameters[1], steps[1])
        self.give()

    def integers(self, Tensor out not None, span, int64_t base, bint wide):
        """int64 numbers from [base, base + span), of one word each, or two where `wide`."""
        self.draw_integers(out, <uint64_t>(span & 0xffffffffffffffff), base, wide)

    cdef int draw_integers(self, Tensor out, uint64_t span, int64_t base, bint wide) except -1:
        _require(out, INT64)
        cdef char* data = data_pointer(out)
        cdef int64_t count = out.count
        self.take()
        if count <= FEW:
            fill_integers(&self.engine, <int64_t*>data, count, span, base, wide)
        else:
            with nogil:
                fill_integers(&self.engine, <int64_t*>data, count, span, base, wide)
        self.give()

    def shuffle(self, Tensor out not None):
        """The int64 numbers from 0 to the count of `out`, in random order."""
        _require(out, INT64)
        cdef char* data = data_pointer(out)
        cdef int64_t count = out.count
        self.take()
        with nogil:
            fill_shuffled(&self.engine, <int64_t*>data, count)
        self.give()


def _restored(bytes state):
    cdef int64_t size = STATE_BYTES
    cdef Tensor given = make_contiguous(UINT8, 1, &size, CPU, -1)
    memcpy(data_pointer(given), <const char*>state, min(len(state), STATE_BYTES))
    return Generator().set_state(given)


default_generator = Generator()


class _EveryGenerator:
    """What a fork takes and gives back: a child goes on from states between two draws."""

    def __init__(self):
        self._taken = []

    def acquire(self, blocking=True):
        cdef Generator generator
        for reference in _generators.valuerefs():
            generator = reference()
            if generator is None:
                continue
            if not generator.take(blocking):
                self.release()
                return False
            self._taken.append(generator)
        return True

    def release(self):
        cdef Generator generator
        while self._taken:
            generator = self._taken.pop()
            generator.give()


forks.hold(_EveryGenerator())
