/* The passes of a Fourier transform, for those who have them done: how, in fourier_levels.h, takes
   long to read. */

#ifndef ATEN_FOURIER_STRUCTURES
#define ATEN_FOURIER_STRUCTURES

#include <stdint.h>

/* Longer prime factors are transformed as a convolution. */
#define ATEN_LARGEST_RADIX 61
#define ATEN_MOST_PASSES 64

typedef struct {
    int64_t length;
    int count;                            /* passes; their radices multiply to `length` */
    int radices[ATEN_MOST_PASSES];
    int64_t begins[ATEN_MOST_PASSES];     /* of each pass's roots, in elements */
    int64_t tables[ATEN_MOST_PASSES];     /* of cosines and sines of each odd radix */
    const void *roots;
} aten_passes;

#endif
