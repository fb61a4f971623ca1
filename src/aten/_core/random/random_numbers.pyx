# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Random numbers: torch's CPU generator's, bit for bit.

The engine is MT19937 (Matsumoto & Nishimura, Mersenne Twister, 1998), seeded by its authors'
`init_genrand`. A 64-bit draw is two words, the high one first; a uniform float has 24 bits of a
word, a double 53 bits of two.
"""

from libc.math cimport (ceil, cos, exp, fabs, floor, fma, lgamma, log, log1p, sin, sqrt,
                        tan)
from libc.stdint cimport int64_t, uint32_t, uint64_t

from aten._core.threads.parallel cimport parallel_for

cdef extern from "word_streams.h" nogil:
    void aten_refill(uint32_t* words) noexcept
    void aten_temper(const uint32_t* words, uint32_t* out, int64_t count) noexcept
    void aten_unit_floats(const uint32_t* words, float* out, int64_t count) noexcept
    void aten_unit_doubles(const uint32_t* words, double* out, int64_t count) noexcept
    void aten_spread_floats(float* values, int64_t count, float base, float width,
                            float high) noexcept
    void aten_spread_doubles(double* values, int64_t count, double base, double width,
                             double high) noexcept
    void aten_remainders(const uint32_t* words, int64_t* out, int64_t count, uint32_t span,
                         int64_t base) noexcept
    void aten_normal_floats(float* values, int64_t blocks, float mean, float deviation) noexcept

cdef enum:
    # Numbers that are drawn before the threads make something else of them, in caches.
    PORTION = 1 << 16
    # Blocks of normal numbers in a chunk of work for the threads.
    FLOAT_BLOCKS = 512
    DOUBLE_BLOCKS = 32
    # Draws of a distribution that are drawn and shared among the threads together, and of a chunk.
    DRAWS = 1 << 13
    FEW_DRAWS = 512

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


cdef inline uint32_t _word(Engine* engine) noexcept nogil:
    cdef uint32_t word
    engine.left -= 1
    if engine.left == 0:
        aten_refill(engine.words)
        engine.left = WORDS
        engine.next = 0
    word = engine.words[engine.next]
    engine.next += 1
    word ^= word >> 11
    word ^= (word << 7) & 0x9d2c5680u
    word ^= (word << 15) & 0xefc60000u
    return word ^ (word >> 18)


cdef void _take_words(Engine* engine, uint32_t* out, int64_t count) noexcept nogil:
    """The next words, as `_word` gives them one by one."""
    cdef int taken
    while count:
        if engine.left == 1:
            aten_refill(engine.words)
            # The first word after a refill does not count.
            engine.left = WORDS + 1
            engine.next = 0
        taken = <int>min(count, engine.left - 1)
        aten_temper(engine.words + engine.next, out, taken)
        engine.left -= taken
        engine.next += taken
        out += taken
        count -= taken


cdef inline uint64_t _two_words(Engine* engine) noexcept nogil:
    cdef uint64_t high = _word(engine)
    return (high << 32) | _word(engine)


cdef inline double _uniform(Engine* engine) noexcept nogil:
    return <double>(_two_words(engine) & ((1ull << 53) - 1)) * (1.0 / (1ull << 53))


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

cdef double _exponential(double uniform, double rate, double unused) noexcept nogil:
    return -1.0 / rate * log1p(-uniform)


cdef double _cauchy(double uniform, double median, double sigma) noexcept nogil:
    return fma(sigma, tan(_PI * (uniform - 0.5)), median)


cdef double _log_normal(Engine* engine, double mean, double deviation) noexcept nogil:
    return exp(fma(_normal(engine), deviation, mean))


cdef double _geometric(double uniform, double probability, double unused) noexcept nogil:
    return ceil(log(uniform) / log(1.0 - probability))


cdef double _bernoulli(double uniform, double probability, double unused) noexcept nogil:
    return uniform < probability


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


cdef Distribution _of_uniform(Transform transform, bint single=False) noexcept:
    cdef Distribution made
    made.draw, made.transform, made.single = NULL, transform, single
    return made


cdef Distribution _drawn(Draw draw) noexcept:
    cdef Distribution made
    made.draw, made.transform, made.single = draw, NULL, False
    return made


cdef Distribution distribution_named(str name) except *:
    """Raises ValueError for distributions there are not."""
    if name == "exponential":
        return _of_uniform(_exponential)
    if name == "cauchy":
        return _of_uniform(_cauchy)
    if name == "geometric":
        return _of_uniform(_geometric)
    if name == "bernoulli":
        return _of_uniform(_bernoulli)
    if name == "bernoulli_float":
        return _of_uniform(_bernoulli, True)
    if name == "log_normal":
        return _drawn(_log_normal)
    if name == "poisson":
        return _drawn(_poisson)
    if name == "binomial":
        return _drawn(_binomial)
    raise ValueError(f"there is no distribution called {name!r}")


# Fills

cdef void _fill_unit(Engine* engine, Floating* out, int64_t count) noexcept nogil:
    """Numbers from [0, 1)."""
    cdef uint32_t words[WORDS]
    cdef int64_t some
    while count:
        if Floating is float:
            some = min(<int64_t>WORDS, count)
            _take_words(engine, words, some)
            aten_unit_floats(words, out, some)
        else:
            some = min(<int64_t>(WORDS // 2), count)
            _take_words(engine, words, 2 * some)
            aten_unit_doubles(words, out, some)
        out += some
        count -= some


cdef void fill_uniform(Engine* engine, Floating* out, int64_t count, double low,
                       double high) noexcept nogil:
    cdef Floating base = <Floating>low
    cdef Floating width = <Floating>high - base
    cdef int64_t some
    while count:
        some = min(<int64_t>WORDS, count)
        _fill_unit(engine, out, some)
        if Floating is float:
            aten_spread_floats(out, some, base, width, <float>high)
        else:
            aten_spread_doubles(out, some, base, width, high)
        out += some
        count -= some


cdef struct Blocks:
    void* values
    double mean
    double deviation


cdef void _float_blocks(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Blocks* blocks = <const Blocks*>context
    aten_normal_floats(<float*>blocks.values + begin * BLOCK, end - begin, <float>blocks.mean,
                       <float>blocks.deviation)


cdef void _double_blocks(void* context, int64_t begin, int64_t end) noexcept nogil:
    """16 normal numbers each, from 16 uniform ones."""
    cdef const Blocks* blocks = <const Blocks*>context
    cdef double* values = <double*>blocks.values + begin * BLOCK
    cdef double radius, angle
    cdef int64_t block
    cdef int lane
    for block in range(end - begin):
        for lane in range(BLOCK // 2):
            radius = sqrt(-2.0 * log(1.0 - values[lane]))
            angle = 2.0 * _PI * values[lane + BLOCK // 2]
            values[lane] = fma(radius * cos(angle), blocks.deviation, blocks.mean)
            values[lane + BLOCK // 2] = fma(radius * sin(angle), blocks.deviation, blocks.mean)
        values += BLOCK


cdef void _box_muller(Floating* values, int64_t count, double mean,
                      double deviation) noexcept nogil:
    """Normal numbers of whole blocks of uniform ones."""
    cdef Blocks blocks
    blocks.values, blocks.mean, blocks.deviation = values, mean, deviation
    if Floating is float:
        parallel_for(count // BLOCK, FLOAT_BLOCKS, _float_blocks, &blocks)
    else:
        parallel_for(count // BLOCK, DOUBLE_BLOCKS, _double_blocks, &blocks)


cdef void fill_normal_blocks(Engine* engine, Floating* out, int64_t count, double mean,
                             double deviation, bint draws_rest) noexcept nogil:
    """At least 16 numbers. The last 16 are one block again where they do not come out even.

    With `draws_rest`, the numbers first drawn for what is left behind the last full block are lost.
    """
    cdef int64_t whole = count - count % BLOCK
    cdef int64_t done = 0, some
    while done < whole:
        some = min(<int64_t>PORTION, whole - done)
        _fill_unit(engine, out + done, some)
        _box_muller(out + done, some, mean, deviation)
        done += some
    if count == whole:
        return
    if draws_rest:
        _fill_unit(engine, out + whole, count - whole)
    _fill_unit(engine, out + count - BLOCK, BLOCK)
    _box_muller(out + count - BLOCK, BLOCK, mean, deviation)


cdef void fill_normal(Engine* engine, Floating* out, int64_t count, double mean,
                      double deviation) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        out[place] = <Floating>fma(_normal(engine), deviation, mean)


cdef struct Draws:
    Transform transform
    const double* uniform
    void* out
    const double* first
    int first_step
    const double* second
    int second_step


cdef void _transform_some(Draws* draws, Floating* out, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t place
    for place in range(begin, end):
        out[place] = <Floating>draws.transform(draws.uniform[place],
                                               draws.first[place * draws.first_step],
                                               draws.second[place * draws.second_step])


cdef void _transform_floats(void* context, int64_t begin, int64_t end) noexcept nogil:
    _transform_some(<Draws*>context, <float*>(<Draws*>context).out, begin, end)


cdef void _transform_doubles(void* context, int64_t begin, int64_t end) noexcept nogil:
    _transform_some(<Draws*>context, <double*>(<Draws*>context).out, begin, end)


cdef void _compare(const double* uniform, Floating* out, int64_t count, const double* probability,
                   int step) noexcept nogil:
    """Bernoulli numbers, which take less than what it takes to share them."""
    cdef int64_t place
    cdef double same = probability[0]
    if step == 0:
        for place in range(count):
            out[place] = <Floating>(uniform[place] < same)
    else:
        for place in range(count):
            out[place] = <Floating>(uniform[place] < probability[place])


cdef void _fill_transformed(Engine* engine, Transform transform, bint single, Floating* out,
                            int64_t count, const double* first, int first_step,
                            const double* second, int second_step) noexcept nogil:
    """Numbers that each come from one uniform number; parameters may lie where results go."""
    cdef double uniform[DRAWS]
    cdef float narrow[DRAWS]
    cdef Draws draws
    cdef int64_t done = 0, some, place
    while done < count:
        some = min(<int64_t>DRAWS, count - done)
        if single:
            _fill_unit(engine, narrow, some)
            for place in range(some):
                uniform[place] = narrow[place]
        else:
            _fill_unit(engine, uniform, some)
        draws.transform, draws.uniform, draws.out = transform, uniform, out + done
        draws.first, draws.first_step = first + done * first_step, first_step
        draws.second, draws.second_step = second + done * second_step, second_step
        if transform == _bernoulli:
            _compare(uniform, out + done, some, draws.first, first_step)
        elif Floating is float:
            parallel_for(some, FEW_DRAWS, _transform_floats, &draws)
        else:
            parallel_for(some, FEW_DRAWS, _transform_doubles, &draws)
        done += some


cdef void fill_from(Engine* engine, const Distribution* distribution, Floating* out,
                    int64_t count, const double* first, int first_step, const double* second,
                    int second_step) noexcept nogil:
    cdef int64_t place
    if distribution.transform != NULL:
        _fill_transformed(engine, distribution.transform, distribution.single, out, count, first,
                          first_step, second, second_step)
        return
    for place in range(count):
        out[place] = <Floating>distribution.draw(engine, first[place * first_step],
                                                 second[place * second_step])


cdef void fill_integers(Engine* engine, int64_t* out, int64_t count, uint64_t span,
                        int64_t base, bint wide) noexcept nogil:
    """`span` of 0 stands for 2^64."""
    cdef uint32_t words[WORDS]
    cdef uint64_t drawn
    cdef int64_t some, place
    if wide or span == 0 or span > 0xffffffffu:
        for place in range(count):
            drawn = _two_words(engine) if wide else _word(engine)
            out[place] = <int64_t>((drawn % span if span else drawn) + <uint64_t>base)
        return
    while count:
        some = min(<int64_t>WORDS, count)
        _take_words(engine, words, some)
        aten_remainders(words, out, some, <uint32_t>span, base)
        out += some
        count -= some


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
