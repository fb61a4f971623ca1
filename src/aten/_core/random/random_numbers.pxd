"""The engine that random numbers come from, distributions, and fills with them."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    WORDS = 624
    BLOCK = 16                  # normal numbers made together

ctypedef fused Floating:
    float
    double

cdef struct Engine:
    # The Mersenne Twister's words; `left` of them are to be handed out, from `next` on.
    uint32_t words[WORDS]
    int left
    int next
    # A normal number that came along with the last one.
    bint has_spare
    double spare

# Called with the parameters of the distribution; the second with a number from [0, 1).
ctypedef double (*Draw)(Engine* engine, double first, double second) noexcept nogil
ctypedef double (*Transform)(double uniform, double first, double second) noexcept nogil

cdef struct Distribution:
    Draw draw                   # NULL where numbers come from a uniform one each
    Transform transform
    bint single                 # of a float32

cdef void seed_engine(Engine* engine, uint64_t seed) noexcept nogil
cdef Distribution distribution_named(str name) except *
cdef void fill_uniform(Engine* engine, Floating* out, int64_t count, double low,
                       double high) noexcept nogil
cdef void fill_normal(Engine* engine, Floating* out, int64_t count, double mean,
                      double deviation) noexcept nogil
cdef void fill_normal_blocks(Engine* engine, Floating* out, int64_t count, double mean,
                             double deviation, bint draws_rest) noexcept nogil
# With steps of 0 or 1 through the parameters.
cdef void fill_from(Engine* engine, const Distribution* distribution, Floating* out,
                    int64_t count, const double* first, int first_step, const double* second,
                    int second_step) noexcept nogil
cdef void fill_integers(Engine* engine, int64_t* out, int64_t count, uint64_t span, int64_t base,
                        bint wide) noexcept nogil
cdef void fill_shuffled(Engine* engine, int64_t* out, int64_t count) noexcept nogil
