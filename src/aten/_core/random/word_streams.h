/* Many numbers at once: the words of MT19937, and what floats, integers and normal numbers are made
   of them. Vectors of any width give the same bits. */

#ifndef ATEN_WORD_STREAMS
#define ATEN_WORD_STREAMS

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "_core/base/vector_widths.h"

/* MT19937's n and m (Matsumoto & Nishimura, Mersenne Twister, 1998). */
#define ATEN_WORDS 624
#define ATEN_SHIFT 397
/* 2^52: integers below are the last bits of floats from here on. */
#define ATEN_AMONG_INTEGERS 4503599627370496.0
#define ATEN_AMONG_INTEGERS_BITS 0x4330000000000000ull

static inline __attribute__((always_inline)) uint32_t aten_twist(uint32_t high, uint32_t low)
{
    const uint32_t mixed = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (mixed >> 1) ^ (0x9908b0dfu & (0u - (low & 1)));
}

/* The next 624 words in the place of the last ones. */
static inline __attribute__((always_inline)) void aten_refill_any(uint32_t *words)
{
    for (int place = 0; place < ATEN_WORDS - ATEN_SHIFT; place++)
        words[place] = words[place + ATEN_SHIFT] ^ aten_twist(words[place], words[place + 1]);
    for (int place = ATEN_WORDS - ATEN_SHIFT; place < ATEN_WORDS - 1; place++)
        words[place] = words[place + ATEN_SHIFT - ATEN_WORDS]
                       ^ aten_twist(words[place], words[place + 1]);
    words[ATEN_WORDS - 1] = words[ATEN_SHIFT - 1] ^ aten_twist(words[ATEN_WORDS - 1], words[0]);
}

/* What is handed out for words of the engine. */
static inline __attribute__((always_inline)) void
aten_temper_any(const uint32_t *words, uint32_t *restrict out, int64_t count)
{
    for (int64_t place = 0; place < count; place++) {
        uint32_t word = words[place];
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c5680u;
        word ^= (word << 15) & 0xefc60000u;
        out[place] = word ^ (word >> 18);
    }
}

/* From [0, 1), each of the last 24 bits of a word. */
static inline __attribute__((always_inline)) void
aten_unit_floats_any(const uint32_t *words, float *restrict out, int64_t count)
{
    for (int64_t place = 0; place < count; place++)
        out[place] = (float)(int32_t)(words[place] & 0xffffffu) * 0x1p-24f;
}

/* From [0, 1), each of the last 53 bits of two words, the high one first. */
static inline __attribute__((always_inline)) void
aten_unit_doubles_any(const uint32_t *words, double *restrict out, int64_t count)
{
    for (int64_t place = 0; place < count; place++) {
        const double high = (double)(int32_t)(words[2 * place] & 0x1fffffu);
        const double low = (double)(int32_t)(words[2 * place + 1] ^ 0x80000000u) + 0x1p31;
        out[place] = (high * 0x1p32 + low) * 0x1p-53;
    }
}

/* From [base, high) for numbers from [0, 1); what is rounded up to the end is not let be it. */
static inline __attribute__((always_inline)) void
aten_spread_floats_any(float *values, int64_t count, float base, float width, float high)
{
    for (int64_t place = 0; place < count; place++) {
        const float value = __builtin_fmaf(values[place], width, base);
        values[place] = value == high ? base : value;
    }
}

static inline __attribute__((always_inline)) void
aten_spread_doubles_any(double *values, int64_t count, double base, double width, double high)
{
    for (int64_t place = 0; place < count; place++) {
        const double value = __builtin_fma(values[place], width, base);
        values[place] = value == high ? base : value;
    }
}

/* base + word % span, for spans below 2^32. The quotient is the nearest integer, at most one too
   large, and all numbers are below 2^52: every operation but the quotient is exact. */
static inline __attribute__((always_inline)) void
aten_remainders_any(const uint32_t *words, int64_t *restrict out, int64_t count, uint32_t span,
                    int64_t base)
{
    const double divisor = (double)span, inverse = 1.0 / divisor;
    for (int64_t place = 0; place < count; place++) {
        uint64_t bits = words[place] | ATEN_AMONG_INTEGERS_BITS;
        double word;
        memcpy(&word, &bits, sizeof word);
        word -= ATEN_AMONG_INTEGERS;
        const double quotient = (word * inverse + ATEN_AMONG_INTEGERS) - ATEN_AMONG_INTEGERS;
        double rest = word - quotient * divisor;
        rest = (rest < 0 ? rest + divisor : rest) + ATEN_AMONG_INTEGERS;
        memcpy(&bits, &rest, sizeof bits);
        out[place] = (int64_t)((bits ^ ATEN_AMONG_INTEGERS_BITS) + (uint64_t)base);
    }
}

/* Blocks of 16 normal floats from 16 uniform ones: Box & Muller (1958), with the logarithm, sine
   and cosine of Moshier's Cephes library in single precision. Which of the operations are fused
   decides about the last bits. */
static inline __attribute__((always_inline)) void
aten_normal_floats_any(float *values, int64_t blocks, float mean, float deviation)
{
    for (float *end = values + 16 * blocks; values < end; values += 16)
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

/* aten_NAME: aten_NAME_any with the processor's vectors. */
#if defined(__x86_64__) && defined(__GNUC__)
#define ATEN_STREAM(name, parameters, ...)                                                         \
    __attribute__((target("avx2,fma"))) static void name##_avx2 parameters                         \
    {                                                                                              \
        name##_any(__VA_ARGS__);                                                                   \
    }                                                                                              \
    static void name parameters                                                                    \
    {                                                                                              \
        if (ATEN_MAY_USE_32)                                                                       \
            name##_avx2(__VA_ARGS__);                                                              \
        else                                                                                       \
            name##_any(__VA_ARGS__);                                                               \
    }
#else
#define ATEN_STREAM(name, parameters, ...)                                                         \
    static void name parameters                                                                    \
    {                                                                                              \
        name##_any(__VA_ARGS__);                                                                   \
    }
#endif

ATEN_STREAM(aten_refill, (uint32_t * words), words)
ATEN_STREAM(aten_temper, (const uint32_t *words, uint32_t *out, int64_t count), words, out, count)
ATEN_STREAM(aten_unit_floats, (const uint32_t *words, float *out, int64_t count), words, out, count)
ATEN_STREAM(aten_unit_doubles, (const uint32_t *words, double *out, int64_t count), words, out,
            count)
ATEN_STREAM(aten_spread_floats,
            (float *values, int64_t count, float base, float width, float high), values, count,
            base, width, high)
ATEN_STREAM(aten_spread_doubles,
            (double *values, int64_t count, double base, double width, double high), values, count,
            base, width, high)
ATEN_STREAM(aten_remainders,
            (const uint32_t *words, int64_t *out, int64_t count, uint32_t span, int64_t base),
            words, out, count, span, base)
ATEN_STREAM(aten_normal_floats, (float *values, int64_t blocks, float mean, float deviation),
            values, blocks, mean, deviation)

#endif
