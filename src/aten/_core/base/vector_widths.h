/* Which vector instructions kernels may use: the processor's, up to the width that the environment
   variable ATEN_VECTOR_BYTES allows, which is there to see on one processor what others do. */

#ifndef ATEN_VECTOR_WIDTHS
#define ATEN_VECTOR_WIDTHS

#include <stdlib.h>

/* The bytes of the widest vectors that are allowed: 16, 32 or 64. */
static inline int aten_allowed_vector_bytes(void)
{
    static int known;
    int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (found == 0) {
        const char *text = getenv("ATEN_VECTOR_BYTES");
        const int given = text ? atoi(text) : 0;
        found = given == 16 || given == 32 ? given : 64;
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }
    return found;
}

#if defined(__x86_64__)
/* Whether instructions of a set, whose vectors have so many bytes, may be used. */
#define ATEN_MAY_USE(bytes, set) (aten_allowed_vector_bytes() >= (bytes) && __builtin_cpu_supports(set))
#define ATEN_MAY_USE_64                                                                            \
    (ATEN_MAY_USE(64, "avx512f") && ATEN_MAY_USE(64, "avx512vl") && ATEN_MAY_USE(64, "avx512dq"))
/* Dot products of bfloat16 that are faster than what they stand for: Intel's processors that multiply
   float16, too, take four times as long for one as for sixteen products of float32. */
#define ATEN_HAS_FAST_BRAIN_DOTS                                                                   \
    (ATEN_MAY_USE(64, "avx512bf16")                                                                \
     && !(__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16")))
/* Gathers that are faster than reading one by one: two elements a cycle, by processors that need no
   remedy against what gathers gave away (Intel's from those on that multiply float16). */
#define ATEN_HAS_FAST_GATHERS                                                                      \
    (ATEN_MAY_USE(32, "avx2") && __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16"))
/* Tile registers: the compiler has to know the instructions and to ask for them by name, and the
   kernel to be asked for the registers. */
#if defined(__linux__) && !defined(__clang__) && __GNUC__ >= 11
#define ATEN_KNOWS_TILE_REGISTERS
#endif
#define ATEN_MAY_USE_32 (ATEN_MAY_USE(32, "avx2") && ATEN_MAY_USE(32, "fma"))
#endif

#endif
