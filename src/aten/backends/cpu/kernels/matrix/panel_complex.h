/* Products of complex numbers, of floats and of doubles: as three of real ones, and as they lie.

   Included once for each level of vector instructions, with TARGET, ROWS, LEVEL, which is a vector's
   bytes, SINGLES and DOUBLES, which are how many of these it holds, BOTH_SINGLES(from) and
   BOTH_DOUBLES(from), a vector of the two of them at an address, and, if parts of vectors can be read
   and written, SOME_SINGLES(from, count), KEEP_SOME_SINGLES(to, sums, count) and those of doubles. */

#ifndef ATEN_PANEL_COMPLEX
#define ATEN_PANEL_COMPLEX

/* Rows of complex numbers that are read side by side. */
#define ATEN_STREAMED_STEPS 4

/* Every second element of two vectors, from the one at `first` on. */
#if defined(__clang__)
#define ATEN_SHUFFLE(low, high, index, lanes, ...) __builtin_shufflevector(low, high, __VA_ARGS__)
#else
#define ATEN_SHUFFLE(low, high, index, lanes, ...)                                               \
    __builtin_shuffle(low, high,                                                                 \
                      (index __attribute__((vector_size(lanes * sizeof(index))))){__VA_ARGS__})
#endif
#define ATEN_SECOND_2(low, high, index, first)                                                   \
    ATEN_SHUFFLE(low, high, index, 2, first, first + 2)
#define ATEN_SECOND_4(low, high, index, first)                                                   \
    ATEN_SHUFFLE(low, high, index, 4, first, first + 2, first + 4, first + 6)
#define ATEN_SECOND_8(low, high, index, first)                                                   \
    ATEN_SHUFFLE(low, high, index, 8, first, first + 2, first + 4, first + 6, first + 8,         \
                 first + 10, first + 12, first + 14)
#define ATEN_SECOND_16(low, high, index, first)                                                  \
    ATEN_SHUFFLE(low, high, index, 16, first, first + 2, first + 4, first + 6, first + 8,        \
                 first + 10, first + 12, first + 14, first + 16, first + 18, first + 20,         \
                 first + 22, first + 24, first + 26, first + 28, first + 30)

/* Every second element from the one at `first` on, and beside it again. */
#define ATEN_DOUBLED_2(sums, index, first) ATEN_SHUFFLE(sums, sums, index, 2, first, first)
#define ATEN_DOUBLED_4(sums, index, first)                                                       \
    ATEN_SHUFFLE(sums, sums, index, 4, first, first, first + 2, first + 2)
#define ATEN_DOUBLED_8(sums, index, first)                                                       \
    ATEN_SHUFFLE(sums, sums, index, 8, first, first, first + 2, first + 2, first + 4, first + 4, \
                 first + 6, first + 6)
#define ATEN_DOUBLED_16(sums, index, first)                                                      \
    ATEN_SHUFFLE(sums, sums, index, 16, first, first, first + 2, first + 2, first + 4,           \
                 first + 4, first + 6, first + 6, first + 8, first + 8, first + 10, first + 10,  \
                 first + 12, first + 12, first + 14, first + 14)

#define ATEN_JOIN(first, second) first##second
#define ATEN_NAME(first, second) ATEN_JOIN(first, second)
#endif

#define PART float
#define LANES SINGLES
#define SUMS ATEN_NAME(aten_panel_floats_, LEVEL)
#define NAME(stem) ATEN_NAME(aten_panel_##stem##_floats_, LEVEL)
#define SECOND(low, high, first) ATEN_NAME(ATEN_SECOND_, SINGLES)(low, high, int32_t, first)
#define DOUBLED(sums, first) ATEN_NAME(ATEN_DOUBLED_, SINGLES)(sums, int32_t, first)
#define BOTH(from) ((SUMS)BOTH_SINGLES(from))
#ifdef SOME_SINGLES
#define SOME(from, count) SOME_SINGLES(from, count)
#define KEEP_SOME(to, sums, count) KEEP_SOME_SINGLES(to, sums, count)
#endif
#include "panel_parts.h"

#define PART double
#define LANES DOUBLES
#define SUMS ATEN_NAME(aten_panel_doubles_, LEVEL)
#define NAME(stem) ATEN_NAME(aten_panel_##stem##_doubles_, LEVEL)
#define SECOND(low, high, first) ATEN_NAME(ATEN_SECOND_, DOUBLES)(low, high, int64_t, first)
#define DOUBLED(sums, first) ATEN_NAME(ATEN_DOUBLED_, DOUBLES)(sums, int64_t, first)
#define BOTH(from) ((SUMS)BOTH_DOUBLES(from))
#ifdef SOME_DOUBLES
#define SOME(from, count) SOME_DOUBLES(from, count)
#define KEEP_SOME(to, sums, count) KEEP_SOME_DOUBLES(to, sums, count)
#endif
#include "panel_parts.h"

#undef BOTH_SINGLES
#undef BOTH_DOUBLES
#undef SOME_SINGLES
#undef SOME_DOUBLES
#undef KEEP_SOME_SINGLES
#undef KEEP_SOME_DOUBLES
#undef LEVEL
#undef SINGLES
#undef DOUBLES
