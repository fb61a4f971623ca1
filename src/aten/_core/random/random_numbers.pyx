# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Random numbers: torch's CPU generator's, bit for bit.

The engine is MT19937 (Matsumoto & Nishimura, Mersenne Twister, 1998), seeded by its authors'
`init_genrand`. A 64-bit draw is two words, the high one first; a uniform float has 24 bits of a
word, a double 53 bits of two.
"""

from libc.math cimport (ceil, cos, exp, fabs, floor, fma, fmaf, lgamma, log, log1p, sin, sqrt,
                        tan)
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #include "_core/base/vector_widths.h"

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
        if (ATEN_MAY_USE_32) {
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

cdef double _PI = 3.14159265358979323846

# The engine

cdef void seed_engine(Engine* engine, uint64_t seed) noexcept nogil:
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

# Distributions

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
    if not rate > 0:
        # Others may have changed what was seen to be a rate: without one, no draw would be accepted.
        return rate
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


cdef dict _DISTRIBUTIONS = {
    "exponential": <size_t>_exponential,
    "cauchy": <size_t>_cauchy,
    "log_normal": <size_t>_log_normal,
    "geometric": <size_t>_geometric,
    "bernoulli": <size_t>_bernoulli,
    "bernoulli_float": <size_t>_bernoulli_float,
    "poisson": <size_t>_poisson,
    "binomial": <size_t>_binomial,
}


cdef Distribution distribution_named(str name) except NULL:
    """Raises ValueError for distributions there are not."""
    if name not in _DISTRIBUTIONS:
        raise ValueError(f"there is no distribution called {name!r}")
    return <Distribution><size_t>_DISTRIBUTIONS[name]


# Fills

cdef void fill_uniform(Engine* engine, Floating* out, int64_t count, double low,
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


cdef void fill_normal_blocks(Engine* engine, Floating* out, int64_t count, double mean,
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


cdef void fill_normal(Engine* engine, Floating* out, int64_t count, double mean,
                      double deviation) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        out[place] = <Floating>fma(_normal(engine), deviation, mean)


cdef void fill_from(Engine* engine, Distribution distribution, double* out, int64_t count,
                    const double* first, int first_step, const double* second,
                    int second_step) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        out[place] = distribution(engine, first[place * first_step], second[place * second_step])


cdef void fill_integers(Engine* engine, int64_t* out, int64_t count, uint64_t span,
                        int64_t base, bint wide) noexcept nogil:
    """`span` of 0 stands for 2^64."""
    cdef uint64_t drawn
    cdef int64_t place
    for place in range(count):
        drawn = _two_words(engine) if wide else _word(engine)
        out[place] = <int64_t>((drawn % span if span else drawn) + <uint64_t>base)


cdef void fill_shuffled(Engine* engine, int64_t* out, int64_t count) noexcept nogil:
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
