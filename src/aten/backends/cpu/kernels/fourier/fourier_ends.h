/* First passes that read pairs, and last ones that store them: numbers are parted and joined in
   registers, not on a way of their own through the caches. Of lines of neighbours, and of columns,
   `lanes` that lie side by side, a multiple of LANES.

   Included by fourier_passes.h, with its macros. Of lines whose parts are `swapped`, the inverse is
   made: a constant in each of two copies, so that vectors stay in registers. */

#define EITHER_ORDER(...)                                                                          \
    if (swapped) {                                                                                 \
        const int swapped = 1;                                                                     \
        __VA_ARGS__                                                                                \
    } else {                                                                                       \
        const int swapped = 0;                                                                     \
        __VA_ARGS__                                                                                \
    }

#define PARTED(k, at)                                                                              \
    {                                                                                              \
        const VECTOR one = IN(at, 0), other = IN(at, LANES);                                       \
        given[swapped][k] = EVEN(one, other);                                                      \
        given[1 - swapped][k] = ODD(one, other);                                                   \
    }
#define JOINED(at, real, imaginary)                                                                \
    {                                                                                              \
        const VECTOR x = (real) * scale, y = (imaginary) * scale;                                  \
        OUT(at, 0) = swapped ? LOW(y, x) : LOW(x, y);                                              \
        OUT(at, LANES) = swapped ? HIGH(y, x) : HIGH(x, y);                                        \
    }
/* Asks for the cache lines of a vector's pairs. */
#define ASK_FOR(at, writes)                                                                        \
    for (int byte = 0; byte < 2 * LANES * (int)sizeof(REAL); byte += 64)                           \
        __builtin_prefetch((const char *)(at) + byte, writes, 2);
/* Rows of columns that are asked for ahead: each may lie in another page. */
#define ROWS_AHEAD 4

/* A line from pairs; `following` is read next, and `out` written soon: without asking for its cache
   lines now, the next line's stores would wait for them. */
#define PAIRS(radix, BUTTERFLY)                                                                    \
    VECTOR given[2][radix];                                                                        \
    for (int k = 0; k < (radix); k++) {                                                            \
        ASK_FOR(following + 2 * (p + k * m), 0)                                                    \
        ASK_FOR(out + 2 * (p + k * m), 1)                                                          \
        PARTED(k, pairs + 2 * (p + k * m))                                                         \
    }                                                                                              \
    const REAL *xr = (const REAL *)given[0], *xi = (const REAL *)given[1];                         \
    const int64_t i = 0, d = LANES;                                                                \
    BUTTERFLY(KEPT, ALIKE)
#define LONE_PAIRS(radix, BUTTERFLY)                                                               \
    REAL given[2][radix];                                                                          \
    for (int k = 0; k < (radix); k++) {                                                            \
        given[swapped][k] = pairs[2 * k * m];                                                      \
        given[1 - swapped][k] = pairs[2 * k * m + 1];                                              \
    }                                                                                              \
    const REAL *xr = given[0], *xi = given[1];                                                     \
    const int64_t i = 0, d = 1;                                                                    \
    BUTTERFLY(UNTURNED, UNTURNED)

#define FROM_LINE(radix, BUTTERFLY, LOAD)                                                          \
    static TARGET void NAME(from_line_##radix)(                                                    \
        int64_t m, const REAL *restrict pairs, const REAL *following, const REAL *out, int swapped, \
        REAL *restrict yr, REAL *restrict yi, const REAL *restrict w)                              \
    {                                                                                              \
        EITHER_ORDER(FIRST(radix, BUTTERFLY, LOAD, PAIRS, LONE_PAIRS))                             \
    }

/* The last pass of a line: its results are scaled. */
#define TO_PLACE(k, real, imaginary, wr, wi) JOINED(pairs + 2 * (i + (k) * s), real, imaginary)
#define TO_LINE(radix, BUTTERFLY)                                                                  \
    static TARGET void NAME(to_line_##radix)(int64_t s, const REAL *restrict xr,                   \
                                             const REAL *restrict xi, REAL *restrict pairs,        \
                                             int swapped, REAL scale)                              \
    {                                                                                              \
        typedef NAME(vector) VECTOR;                                                               \
        const int64_t d = s;                                                                       \
        EITHER_ORDER(for (int64_t i = 0; i < s; i += LANES) { BUTTERFLY(TO_PLACE, TO_PLACE) })     \
    }

/* Columns from rows of pairs, `apart` by so many numbers. */
#define FROM_ROWS(radix, BUTTERFLY, LOAD)                                                          \
    for (int64_t p = 0; p < m; p++) {                                                              \
        LOAD(LONE_ROOT)                                                                            \
        for (int64_t q = 0; q < s; q += LANES) {                                                   \
            VECTOR given[2][radix];                                                                \
            for (int k = 0; k < (radix); k++) {                                                    \
                const REAL *at = pairs + (p + k * m) * apart + 2 * q;                              \
                ASK_FOR(at + ROWS_AHEAD * apart, 0)                                                \
                PARTED(k, at)                                                                      \
            }                                                                                      \
            const REAL *xr = (const REAL *)given[0], *xi = (const REAL *)given[1];                 \
            const int64_t i = 0, d = LANES, e = s, o = (radix) * s * p + q;                        \
            if (p) {                                                                               \
                BUTTERFLY(TURNED, UNTURNED)                                                        \
            } else {                                                                               \
                BUTTERFLY(UNTURNED, UNTURNED)                                                      \
            }                                                                                      \
        }                                                                                          \
    }
#define FROM_COLUMNS(radix, BUTTERFLY, LOAD)                                                       \
    static TARGET void NAME(from_columns_##radix)(                                                 \
        int64_t m, int64_t s, const REAL *restrict pairs, int64_t apart, int swapped,              \
        REAL *restrict yr, REAL *restrict yi, const REAL *restrict w)                              \
    {                                                                                              \
        typedef NAME(vector) VECTOR;                                                               \
        EITHER_ORDER(FROM_ROWS(radix, BUTTERFLY, LOAD))                                            \
    }

#define TO_ROW(k, real, imaginary, wr, wi)                                                         \
    {                                                                                              \
        REAL *at = pairs + (row + (k) * rows) * apart + 2 * q;                                     \
        ASK_FOR(at + ROWS_AHEAD * apart, 1)                                                        \
        JOINED(at, real, imaginary)                                                                \
    }
#define TO_ROWS(BUTTERFLY)                                                                         \
    for (int64_t row = 0; row < rows; row++)                                                       \
        for (int64_t q = 0; q < lanes; q += LANES) {                                               \
            const int64_t i = row * lanes + q;                                                     \
            BUTTERFLY(TO_ROW, TO_ROW)                                                              \
        }
#define TO_COLUMNS(radix, BUTTERFLY)                                                               \
    static TARGET void NAME(to_columns_##radix)(int64_t rows, int64_t lanes,                       \
                                                const REAL *restrict xr, const REAL *restrict xi,  \
                                                REAL *restrict pairs, int64_t apart, int swapped,  \
                                                REAL scale)                                        \
    {                                                                                              \
        typedef NAME(vector) VECTOR;                                                               \
        const int64_t d = rows * lanes;                                                            \
        EITHER_ORDER(TO_ROWS(BUTTERFLY))                                                           \
    }

/* Columns, turned, to rows of two planes, `plane` numbers apart; turns lie in two planes as well. */
#define TO_TURNED_ROW(k, real, imaginary, wr, wi)                                                  \
    {                                                                                              \
        const int64_t place = row + (k) * rows;                                                    \
        const VECTOR x = (real), y = (imaginary);                                                  \
        const VECTOR tr = IN(turns, place * wide + q), ti = IN(turns, all + place * wide + q);     \
        OUT(out, place * pitch + q) = x * tr - y * ti;                                             \
        OUT(out, plane + place * pitch + q) = x * ti + y * tr;                                     \
    }
#define TO_TURNED(radix, BUTTERFLY)                                                                \
    static TARGET void NAME(to_turned_##radix)(int64_t rows, int64_t lanes, const REAL *restrict xr,\
                                               const REAL *restrict xi, const REAL *restrict turns, \
                                               int64_t wide, int64_t all, REAL *restrict out,      \
                                               int64_t pitch, int64_t plane)                       \
    {                                                                                              \
        typedef NAME(vector) VECTOR;                                                               \
        const int64_t d = rows * lanes;                                                            \
        for (int64_t row = 0; row < rows; row++)                                                   \
            for (int64_t q = 0; q < lanes; q += LANES) {                                           \
                const int64_t i = row * lanes + q;                                                 \
                BUTTERFLY(TO_TURNED_ROW, TO_TURNED_ROW)                                            \
            }                                                                                      \
    }

#define BEGINNINGS(radix)                                                                          \
    FROM_LINE(radix, BUTTERFLY_##radix, ROOTS_##radix)                                             \
    FROM_COLUMNS(radix, BUTTERFLY_##radix, ROOTS_##radix)
#define ENDS(radix)                                                                                \
    TO_LINE(radix, BUTTERFLY_##radix)                                                              \
    TO_COLUMNS(radix, BUTTERFLY_##radix)                                                           \
    TO_TURNED(radix, BUTTERFLY_##radix)

BEGINNINGS(4)
BEGINNINGS(8)
ENDS(2)
ENDS(3)
ENDS(4)
ENDS(5)
ENDS(8)

/* Whether there are passes of this radix that are first ones, and that are last ones. */
static inline int NAME(begins)(int radix)
{
    return radix == 4 || radix == 8;
}

static inline int NAME(ends)(int radix)
{
    return (radix >= 2 && radix <= 5) || radix == 8;
}

#define AT_BEGINNING(stem, ...)                                                                    \
    if (radix == 8)                                                                                \
        NAME(stem##_8)(__VA_ARGS__);                                                               \
    else                                                                                           \
        NAME(stem##_4)(__VA_ARGS__);
#define AT_END(stem, ...)                                                                          \
    switch (radix) {                                                                               \
    case 2: NAME(stem##_2)(__VA_ARGS__); break;                                                    \
    case 3: NAME(stem##_3)(__VA_ARGS__); break;                                                    \
    case 4: NAME(stem##_4)(__VA_ARGS__); break;                                                    \
    case 5: NAME(stem##_5)(__VA_ARGS__); break;                                                    \
    default: NAME(stem##_8)(__VA_ARGS__);                                                          \
    }

static TARGET void NAME(from_line)(int radix, int64_t m, const REAL *pairs, const REAL *following,
                                   const REAL *out, int swapped, REAL *yr, REAL *yi, const REAL *w)
{
    AT_BEGINNING(from_line, m, pairs, following, out, swapped, yr, yi, w)
}

static TARGET void NAME(to_line)(int radix, int64_t s, const REAL *xr, const REAL *xi, REAL *pairs,
                                 int swapped, REAL scale)
{
    AT_END(to_line, s, xr, xi, pairs, swapped, scale)
}

static TARGET void NAME(from_columns)(int radix, int64_t m, int64_t lanes, const REAL *pairs,
                                      int64_t apart, int swapped, REAL *yr, REAL *yi, const REAL *w)
{
    AT_BEGINNING(from_columns, m, lanes, pairs, apart, swapped, yr, yi, w)
}

static TARGET void NAME(to_columns)(int radix, int64_t rows, int64_t lanes, const REAL *xr,
                                    const REAL *xi, REAL *pairs, int64_t apart, int swapped,
                                    REAL scale)
{
    AT_END(to_columns, rows, lanes, xr, xi, pairs, apart, swapped, scale)
}

static TARGET void NAME(to_turned)(int radix, int64_t rows, int64_t lanes, const REAL *xr,
                                   const REAL *xi, const REAL *turns, int64_t wide, int64_t all,
                                   REAL *out, int64_t pitch, int64_t plane)
{
    AT_END(to_turned, rows, lanes, xr, xi, turns, wide, all, out, pitch, plane)
}

#undef EITHER_ORDER
#undef PARTED
#undef JOINED
#undef ASK_FOR
#undef ROWS_AHEAD
#undef PAIRS
#undef LONE_PAIRS
#undef FROM_LINE
#undef TO_PLACE
#undef TO_LINE
#undef FROM_ROWS
#undef FROM_COLUMNS
#undef TO_ROW
#undef TO_ROWS
#undef TO_COLUMNS
#undef TO_TURNED_ROW
#undef TO_TURNED
#undef BEGINNINGS
#undef ENDS
#undef AT_BEGINNING
#undef AT_END
