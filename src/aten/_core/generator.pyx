# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Generator, and the numbers it draws: torch's CPU generator's, bit for bit.

The engine is MT19937 (Matsumoto & Nishimura, Mersenne Twister, 1998), seeded by its authors'
`init_genrand`. A 64-bit draw is two words, the high one first; a uniform float has 24 bits of a
word, a double 53 bits of two.

All that fills tensors takes row-major ones, holds the generator's lock from the first number to the
last, and lets other Python threads run meanwhile.
"""

from _thread import allocate_lock

from libc.math cimport (ceil, cos, exp, fabs, floor, fma, fmaf, lgamma, log, log1p, sin, sqrt,
                        sqrtf, tan)
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import os

from aten._core.device cimport CPU, device as Device, device_from_codes
from aten._core.dtypes cimport FLOAT32, FLOAT64, INT64, UINT8
from aten._core.tensor cimport Tensor, TensorImpl, const_data_pointer, data_pointer, make_contiguous

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    /* 16 normal floats from 16 uniform ones: Box & Muller (1958), with the logarithm, sine and
       cosine of Moshier's Cephes library in single precision. Which of the operations are fused
       decides about the last bits. */
    static inline __attribute__((always_inline)) void aten_box_muller_lanes(
            float* values, float mean, float deviation) {
        for (int lane = 0; lane < 8; lane++) {
            float x = 1.0f - values[lane];
            int32_t bits;
            memcpy(&bits, &x, sizeof bits);
            float e = (float)((bits >> 23) - 126);
            bits = (bits & 0x007fffff) | 0x3f000000;
            float m;
            memcpy(&m, &bits, sizeof m);
            float small = m < 0.707106781186547524f;
            e = e - small;
            m = (m - 1.0f) + small * m;
            float square = m * m;
            float y = 7.0376836292e-2f;
            y = __builtin_fmaf(y, m, -1.1514610310e-1f);
            y = __builtin_fmaf(y, m, 1.1676998740e-1f);
            y = __builtin_fmaf(y, m, -1.2420140846e-1f);
            y = __builtin_fmaf(y, m, 1.4249322787e-1f);
            y = __builtin_fmaf(y, m, -1.6668057665e-1f);
            y = __builtin_fmaf(y, m, 2.0000714765e-1f);
            y = __builtin_fmaf(y, m, -2.4999993993e-1f);
            y = __builtin_fmaf(y, m, 3.3333331174e-1f);
            y = __builtin_fmaf(y * m, square, e * -2.12194440e-4f);
            y = __builtin_fmaf(square, -0.5f, y);
            float logarithm = __builtin_fmaf(e, 0.693359375f, m + y);

            float angle = 6.283185307179586f * values[lane + 8];
            int32_t octant = ((int32_t)(angle * 1.27323954473516f) + 1) & ~1;
            float turns = (float)octant;
            angle = __builtin_fmaf(turns, -0.78515625f, angle);
            angle = __builtin_fmaf(turns, -2.4187564849853515625e-4f, angle);
            angle = __builtin_fmaf(turns, -3.77489497744594108e-8f, angle);
            float z = angle * angle;
            float even = __builtin_fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f);
            even = __builtin_fmaf(even, z, 4.166664568298827e-2f);
            even = __builtin_fmaf(even * z, z, z * -0.5f) + 1.0f;
            float odd = __builtin_fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f);
            odd = __builtin_fmaf(odd, z, -1.6666654611e-1f);
            odd = __builtin_fmaf(odd * z, angle, angle);
            float sine = octant & 2 ? even : odd;
            float cosine = octant & 2 ? odd : even;
            sine *= 1.0f - (float)((octant & 4) >> 1);
            cosine *= (float)(((octant - 2) & 4) >> 1) - 1.0f;

            float radius = __builtin_sqrtf(-2.0f * logarithm);
            values[lane] = __builtin_fmaf(radius * cosine, deviation, mean);
            values[lane + 8] = __builtin_fmaf(radius * sine, deviation, mean);
        }
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    __attribute__((target("avx2,fma"))) static void aten_box_muller_avx2(
            float* values, float mean, float deviation) {
        aten_box_muller_lanes(values, mean, deviation);
    }
    #endif

    static void aten_box_muller(float* values, float mean, float deviation) {
    #if defined(__x86_64__) && defined(__GNUC__)
        if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
            aten_box_muller_avx2(values, mean, deviation);
            return;
        }
    #endif
        aten_box_muller_lanes(values, mean, deviation);
    }
    """
    void box_muller_floats "aten_box_muller"(float* values, float mean, float deviation) noexcept nogil

cdef enum:
    SHIFT = 397                 # MT19937's m
    BLOCK = 16                  # normal numbers made together
    # torch's layout of a state: the seed, left, whether seeded, next, the words as 64 bits each,
    # three numbers of which the second is the spare one, whether there is one; a float one.
    STATE_BYTES = 5056
    STATE_WORDS = 24
    STATE_SPARE = STATE_WORDS + 8 * WORDS + 8
    STATE_HAS_SPARE = STATE_SPARE + 16

cdef double _PI = 3.14159265358979323846
DEFAULT_SEED = 67280421310721

ctypedef fused Floating:
    float
    double

# The engine.

cdef void _seed(Engine* engine, uint64_t seed) noexcept nogil:
    cdef int place
    engine.words[0] = <uint32_t>seed
    for place in range(1, WORDS):
        engine.words[place] = 1812433253u * (
            engine.words[place - 1] ^ (engine.words[place - 1] >> 30)) + <uint32_t>place
    engine.left = 1
    engine.next = 0
    engine.has_spare = False


cdef inline uint32_t _twist(uint32_t high, uint32_t low) noexcept nogil:
    cdef uint32_t mixed = (high & 0x80000000u) | (low & 0x7fffffffu)
    return (mixed >> 1) ^ (0x9908b0dfu if low & 1 else 0u)


cdef void _refill(Engine* engine) noexcept nogil:
    cdef uint32_t* words = engine.words
    cdef int place
    for place in range(WORDS - SHIFT):
        words[place] = words[place + SHIFT] ^ _twist(words[place], words[place + 1])
    for place in range(WORDS - SHIFT, WORDS - 1):
        words[place] = words[place + SHIFT - WORDS] ^ _twist(words[place], words[place + 1])
    words[WORDS - 1] = words[SHIFT - 1] ^ _twist(words[WORDS - 1], words[0])
    engine.left = WORDS
    engine.next = 0


cdef inline uint32_t _word(Engine* engine) noexcept nogil:
    cdef uint32_t word
    engine.left -= 1
    if engine.left == 0:
        _refill(engine)
    word = engine.words[engine.next]
    engine.next += 1
    word ^= word >> 11
    word ^= (word << 7) & 0x9d2c5680u
    word ^= (word << 15) & 0xefc60000u
    return word ^ (word >> 18)


cdef inline uint64_t _two_words(Engine* engine) noexcept nogil:
    cdef uint64_t high = _word(engine)
    return (high << 32) | _word(engine)


cdef inline double _uniform(Engine* engine) noexcept nogil:
    return <double>(_two_words(engine) & ((1ull << 53) - 1)) * (1.0 / (1ull << 53))


cdef inline float _uniform_float(Engine* engine) noexcept nogil:
    return <float>(_word(engine) & ((1u << 24) - 1)) * <float>(1.0 / (1u << 24))


cdef inline double _normal(Engine* engine) noexcept nogil:
    """Box & Muller (1958); the other one of the pair is kept for the next call."""
    cdef double turn, radius
    if engine.has_spare:
        engine.has_spare = False
        return engine.spare
    turn = 2.0 * _PI * _uniform(engine)
    radius = sqrt(-2.0 * log1p(-_uniform(engine)))
    engine.spare = radius * sin(turn)
    engine.has_spare = True
    return radius * cos(turn)

# Distributions: a function of the engine and two parameters.

ctypedef double (*Distribution)(Engine* engine, double first, double second) noexcept nogil

cdef double _exponential(Engine* engine, double rate, double unused) noexcept nogil:
    return -1.0 / rate * log1p(-_uniform(engine))


cdef double _cauchy(Engine* engine, double median, double sigma) noexcept nogil:
    return fma(sigma, tan(_PI * (_uniform(engine) - 0.5)), median)


cdef double _log_normal(Engine* engine, double mean, double deviation) noexcept nogil:
    return exp(fma(_normal(engine), deviation, mean))


cdef double _geometric(Engine* engine, double probability, double unused) noexcept nogil:
    return ceil(log(_uniform(engine)) / log(1.0 - probability))


cdef double _bernoulli(Engine* engine, double probability, double unused) noexcept nogil:
    return _uniform(engine) < probability


cdef double _bernoulli_float(Engine* engine, double probability, double unused) noexcept nogil:
    return _uniform_float(engine) < probability


cdef double _poisson(Engine* engine, double rate, double unused) noexcept nogil:
    """Hörmann, The transformed rejection method for generating Poisson variables (1993): PTRS.

    Small rates: Knuth's product of uniform numbers.
    """
    cdef double root, a, b, inverse_alpha, bound, u, v, distance, count, product, limit
    if rate == 0:
        return 0
    if rate < 10:
        limit = exp(-rate)
        count, product = 0, _uniform(engine)
        while product > limit:
            count += 1
            product *= _uniform(engine)
        return count
    root = sqrt(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = _uniform(engine) - 0.5
        v = _uniform(engine)
        distance = 0.5 - fabs(u)
        count = floor((2 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= bound:
            return count
        if count < 0 or (distance < 0.013 and v > distance):
            continue
        if (log(v) + log(inverse_alpha) - log(a / (distance * distance) + b)
                <= -rate + count * log(rate) - lgamma(count + 1)):
            return count


cdef double _stirling_tail(double k) noexcept nogil:
    """ln k! minus Stirling's formula."""
    cdef double square = (k + 1) * (k + 1)
    if k <= 9:
        return lgamma(k + 1) - ((k + 0.5) * log(k + 1) - (k + 1) + 0.5 * log(2 * _PI))
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


cdef double _few_successes(Engine* engine, double count, double probability) noexcept nogil:
    """How many geometric numbers fit into `count`: as many as there are successes."""
    cdef double total = 0, successes = 0
    cdef double scale = log1p(-probability)
    while True:
        total += ceil(log(_uniform(engine)) / scale)
        if total > count:
            return successes
        successes += 1


cdef double _many_successes(Engine* engine, double count, double probability) noexcept nogil:
    """Hörmann, The generation of binomial random variates (1993): BTRS."""
    cdef double deviation = sqrt(count * probability * (1 - probability))
    cdef double b = 1.15 + 2.53 * deviation
    cdef double a = -0.0873 + 0.0248 * b + 0.01 * probability
    cdef double center = count * probability + 0.5
    cdef double bound = 0.92 - 4.2 / b
    cdef double odds = probability / (1 - probability)
    cdef double alpha = (2.83 + 5.1 / b) * deviation
    cdef double mode = floor((count + 1) * probability)
    cdef double u, v, distance, k
    while True:
        u = _uniform(engine) - 0.5
        v = _uniform(engine)
        distance = 0.5 - fabs(u)
        k = floor((2 * a / distance + b) * u + center)
        if k < 0 or k > count:
            continue
        if distance >= 0.07 and v <= bound:
            return k
        v = log(v * alpha / (a / (distance * distance) + b))
        if v <= ((mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1)))
                 + (count + 1) * log((count - mode + 1) / (count - k + 1))
                 + (k + 0.5) * log(odds * (count - k + 1) / (k + 1))
                 + _stirling_tail(mode) + _stirling_tail(count - mode)
                 - _stirling_tail(k) - _stirling_tail(count - k)):
            return k


cdef double _binomial(Engine* engine, double count, double probability) noexcept nogil:
    """Rare events are counted one by one; of frequent ones, those that fail to come."""
    cdef double rarer = min(probability, 1 - probability)
    cdef double found
    if count <= 0 or probability <= 0:
        return 0
    if probability >= 1 or count != count:
        return count
    if probability != probability:
        return probability
    found = (_many_successes if count * rarer >= 10 else _few_successes)(engine, count, rarer)
    return found if probability <= 0.5 else count - found


cdef Distribution[8] _distributions = [
    _exponential, _cauchy, _log_normal, _geometric, _bernoulli, _bernoulli_float, _poisson,
    _binomial,
]
_DISTRIBUTIONS = ("exponential", "cauchy", "log_normal", "geometric", "bernoulli",
                  "bernoulli_float", "poisson", "binomial")

# Fills.

cdef void _fill_uniform(Engine* engine, Floating* out, int64_t count, double low,
                        double high) noexcept nogil:
    cdef Floating base = <Floating>low
    cdef Floating width = <Floating>high - base
    cdef int64_t place
    for place in range(count):
        if Floating is float:
            out[place] = fmaf(_uniform_float(engine), width, base)
        else:
            out[place] = fma(_uniform(engine), width, base)
        # Rounded up to the end, which does not belong to the interval.
        if out[place] == <Floating>high:
            out[place] = base


cdef void _fill_unit(Engine* engine, Floating* out, int64_t count) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        if Floating is float:
            out[place] = _uniform_float(engine)
        else:
            out[place] = _uniform(engine)


cdef void _box_muller(Floating* values, double mean, double deviation) noexcept nogil:
    """16 normal numbers from 16 uniform ones."""
    cdef int lane
    cdef double radius, angle
    if Floating is float:
        box_muller_floats(values, <float>mean, <float>deviation)
    else:
        for lane in range(BLOCK // 2):
            radius = sqrt(-2.0 * log(1.0 - values[lane]))
            angle = 2.0 * _PI * values[lane + BLOCK // 2]
            values[lane] = fma(radius * cos(angle), deviation, mean)
            values[lane + BLOCK // 2] = fma(radius * sin(angle), deviation, mean)


cdef void _fill_normal_blocks(Engine* engine, Floating* out, int64_t count, double mean,
                              double deviation, bint draws_rest) noexcept nogil:
    """At least 16 numbers. The last 16 are one block again where they do not come out even.

    With `draws_rest`, the numbers first drawn for what is left behind the last full block are lost.
    """
    cdef int64_t place
    _fill_unit(engine, out, count if draws_rest else count - count % BLOCK)
    for place in range(count // BLOCK):
        _box_muller(out + place * BLOCK, mean, deviation)
    if count % BLOCK:
        _fill_unit(engine, out + count - BLOCK, BLOCK)
        _box_muller(out + count - BLOCK, mean, deviation)


cdef void _fill_normal(Engine* engine, Floating* out, int64_t count, double mean,
                       double deviation) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        out[place] = <Floating>fma(_normal(engine), deviation, mean)


cdef void _fill(Engine* engine, Distribution distribution, double* out, int64_t count,
                const double* first, int first_step, const double* second,
                int second_step) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        out[place] = distribution(engine, first[place * first_step], second[place * second_step])


cdef void _fill_integers(Engine* engine, int64_t* out, int64_t count, uint64_t span,
                         int64_t base, bint wide) noexcept nogil:
    """`span` of 0 stands for 2^64."""
    cdef uint64_t drawn
    cdef int64_t place
    for place in range(count):
        drawn = _two_words(engine) if wide else _word(engine)
        out[place] = <int64_t>((drawn % span if span else drawn) + <uint64_t>base)


cdef void _shuffle(Engine* engine, int64_t* out, int64_t count) noexcept nogil:
    """Fisher & Yates (1938), from the front."""
    cdef bint wide = count >= <int64_t>(0xffffffffu // 20)
    cdef int64_t place, other
    for place in range(count):
        out[place] = place
    for place in range(count - 1):
        if wide:
            other = place + <int64_t>(_two_words(engine) % <uint64_t>(count - place))
        else:
            other = place + _word(engine) % (count - place)
        out[place], out[other] = out[other], out[place]


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

    def __init__(self, device="cpu"):
        """Raises RuntimeError for devices other than the CPU."""
        cdef Device where = device if isinstance(device, Device) else Device(device or "cpu")
        if where.type_code != CPU:
            raise RuntimeError(f"Generator: expected the device cpu, got {where}")
        self.lock = allocate_lock()
        self.first_seed = DEFAULT_SEED
        _seed(&self.engine, self.first_seed)

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
        with self.lock:
            self.first_seed = value
            _seed(&self.engine, value)
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
        with self.lock:
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
        return made

    def set_state(self, state):
        """Go on from a state `get_state` gave, torch's or ours.

        Raises TypeError for what is no uint8 tensor, RuntimeError where it is no state.
        """
        cdef Tensor given
        cdef const char* data
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
        data = const_data_pointer(given)
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
        with self.lock:
            self.first_seed = seed
            self.engine = engine
        return self

    def clone_state(self):
        """Another generator, in the same state."""
        return Generator().set_state(self.get_state())

    def __reduce__(self):
        return _restored, (bytes(self.get_state().tolist()),)

    def uniform(self, Tensor out not None, double low, double high):
        """float32 or float64 numbers from [low, high)."""
        _require_floating(out)
        cdef char* data = data_pointer(out)
        with self.lock:
            with nogil:
                if out.dtype_code == FLOAT32:
                    _fill_uniform(&self.engine, <float*>data, out.count, low, high)
                else:
                    _fill_uniform(&self.engine, <double*>data, out.count, low, high)

    def normal(self, Tensor out not None, double mean, double deviation, bint blocked,
               bint draws_rest):
        """float32 or float64 numbers around `mean`.

        Those of many are made 16 at a time, which is another sequence than one by one.
        """
        cdef bint single = out.dtype_code == FLOAT32
        cdef bint blocks = blocked and out.count >= BLOCK
        _require_floating(out)
        cdef char* data = data_pointer(out)
        with self.lock:
            with nogil:
                if blocks and single:
                    _fill_normal_blocks(&self.engine, <float*>data, out.count, mean,
                                        deviation, draws_rest)
                elif blocks:
                    _fill_normal_blocks(&self.engine, <double*>data, out.count, mean,
                                        deviation, draws_rest)
                elif single:
                    _fill_normal(&self.engine, <float*>data, out.count, mean,
                                 deviation)
                else:
                    _fill_normal(&self.engine, <double*>data, out.count, mean,
                                 deviation)

    def draw(self, str distribution not None, Tensor out not None, first, second=0.0):
        """float64 numbers of a distribution; its parameters are numbers or tensors like `out`.

        Raises ValueError for distributions there are not.
        """
        cdef Distribution function = _distributions[_DISTRIBUTIONS.index(distribution)]
        cdef double numbers[2]
        cdef const double* parameters[2]
        cdef int steps[2]
        cdef int which
        _require(out, FLOAT64)
        cdef char* data = data_pointer(out)
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
        with self.lock:
            with nogil:
                _fill(&self.engine, function, <double*>data, out.count,
                      parameters[0], steps[0], parameters[1], steps[1])

    def integers(self, Tensor out not None, span, int64_t base, bint wide):
        """int64 numbers from [base, base + span), of one word each, or two where `wide`."""
        cdef uint64_t width = <uint64_t>(span & 0xffffffffffffffff)
        _require(out, INT64)
        cdef char* data = data_pointer(out)
        with self.lock:
            with nogil:
                _fill_integers(&self.engine, <int64_t*>data, out.count, width, base,
                               wide)

    def shuffle(self, Tensor out not None):
        """The int64 numbers from 0 to the count of `out`, in random order."""
        _require(out, INT64)
        cdef char* data = data_pointer(out)
        with self.lock:
            with nogil:
                _shuffle(&self.engine, <int64_t*>data, out.count)


def _restored(bytes state):
    cdef int64_t size = STATE_BYTES
    cdef Tensor given = make_contiguous(UINT8, 1, &size, CPU, -1)
    memcpy(data_pointer(given), <const char*>state, min(len(state), STATE_BYTES))
    return Generator().set_state(given)


default_generator = Generator()


def _renew_lock():
    """Whoever drew while the process was forked is not there to release it."""
    (<Generator>default_generator).lock = allocate_lock()


os.register_at_fork(after_in_child=_renew_lock)
