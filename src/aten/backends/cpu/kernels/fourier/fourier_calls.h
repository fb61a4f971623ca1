/* What is compiled for every level of vector instructions, as the processor at hand has it done.

   Included by fourier_levels.h for each type, with REAL and CALLED(stem), the stem's name of that
   type. */

static int CALLED(run)(const aten_passes *passes, int64_t lanes, REAL *a, REAL *b)
{
    ATEN_CALL_LEVEL(run, REAL, passes, lanes, a, b)
}

static void CALLED(multiply)(const REAL *xr, const REAL *xi, const REAL *wr, const REAL *wi,
                             int64_t count, int64_t lanes, REAL *yr, REAL *yi)
{
    ATEN_CALL_LEVEL(multiply, REAL, xr, xi, wr, wi, count, lanes, yr, yi)
}

static void CALLED(columns)(const aten_passes *passes, int64_t wide, const REAL *turns,
                            const REAL *given, const REAL *pairs, int swapped, REAL *out,
                            int64_t pitch, int64_t begin, int64_t count, REAL *room)
{
    ATEN_CALL_LEVEL(columns, REAL, passes, wide, turns, given, pairs, swapped, out, pitch, begin,
                    count, room)
}

static void CALLED(rows)(const aten_passes *passes, int64_t rows, const REAL *given, int64_t pitch,
                         REAL *out, REAL *pairs, int swapped, REAL scale, int64_t begin,
                         int64_t count, REAL *room)
{
    ATEN_CALL_LEVEL(rows, REAL, passes, rows, given, pitch, out, pairs, swapped, scale, begin,
                    count, room)
}

static int CALLED(lone)(const aten_passes *passes, const REAL *pairs, const REAL *following,
                        REAL *out, int swapped, REAL scale, REAL *a, REAL *b)
{
    ATEN_CALL_LEVEL(lone, REAL, passes, pairs, following, out, swapped, scale, a, b)
}

static int CALLED(beside)(const aten_passes *passes, int64_t lanes, const REAL *pairs,
                          int64_t apart, REAL *out, int64_t out_apart, int swapped, REAL scale,
                          REAL *a, REAL *b)
{
    ATEN_CALL_LEVEL(beside, REAL, passes, lanes, pairs, apart, out, out_apart, swapped, scale, a, b)
}

static void CALLED(abreast)(const aten_passes *passes, const REAL *pairs, int64_t apart,
                            const REAL *roots, REAL *out, int64_t out_apart, int swapped,
                            REAL scale, REAL *a, REAL *b)
{
    ATEN_CALL_LEVEL(abreast, REAL, passes, pairs, apart, roots, out, out_apart, swapped, scale, a,
                    b)
}

static void CALLED(part)(const REAL *pairs, int64_t count, REAL *real, REAL *imaginary)
{
    ATEN_CALL_LEVEL(part, REAL, pairs, count, real, imaginary)
}

static void CALLED(spectrum)(const REAL *real, const REAL *imaginary, int64_t count,
                             const REAL *roots, REAL halved, REAL *pairs)
{
    ATEN_CALL_LEVEL(spectrum, REAL, real, imaginary, count, roots, halved, pairs)
}

static void CALLED(join)(const REAL *real, const REAL *imaginary, int64_t count, REAL scale,
                         REAL *pairs)
{
    ATEN_CALL_LEVEL(join, REAL, real, imaginary, count, scale, pairs)
}

static void CALLED(gather)(const REAL *pairs, int64_t apart, int64_t count, REAL *real,
                           REAL *imaginary)
{
    ATEN_CALL_LEVEL(gather, REAL, pairs, apart, count, real, imaginary)
}

static void CALLED(scatter)(const REAL *real, const REAL *imaginary, int64_t count, REAL scale,
                            REAL *pairs, int64_t apart)
{
    ATEN_CALL_LEVEL(scatter, REAL, real, imaginary, count, scale, pairs, apart)
}

#undef REAL
#undef CALLED
