/* One step of a Fourier transform after the other, for one type and level of vector instructions.

   Numbers lie in two planes, real parts and imaginary ones, `lanes` transforms side by side. A pass
   of radix r takes what lies m * s apart to where it lies s apart, and turns it; s grows from
   `lanes` to all there is, m falls to one. Stockham's order: nothing is left to be sorted.

   Expects REAL, NAME(stem), TARGET, and LANES, how many REALs a vector has. */

typedef REAL NAME(vector) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)),
                                         may_alias));
typedef REAL NAME(half) __attribute__((vector_size(LANES / 2 * sizeof(REAL)), aligned(sizeof(REAL)),
                                       may_alias));
#if LANES >= 8
typedef REAL NAME(quarter) __attribute__((vector_size(LANES / 4 * sizeof(REAL)),
                                          aligned(sizeof(REAL)), may_alias));
#define QUARTERS(STEP, ...) STEP(NAME(quarter), LANES / 4, ##__VA_ARGS__)
#else
#define QUARTERS(STEP, ...)
#endif
/* Widths of vectors from the widest one down, for what is left of a group's numbers. */
#define WIDTHS(STEP, ...)                                                                          \
    STEP(NAME(vector), LANES, ##__VA_ARGS__)                                                       \
    STEP(NAME(half), LANES / 2, ##__VA_ARGS__)                                                     \
    QUARTERS(STEP, ##__VA_ARGS__)                                                                  \
    STEP(REAL, 1, ##__VA_ARGS__)

#define IN(plane, place) (*(const VECTOR *)((plane) + (place)))
#define OUT(plane, place) (*(VECTOR *)((plane) + (place)))

#define TURNED(k, real, imaginary, wr, wi)                                                         \
    OUT(yr, o + (k) * e) = (real) * (wr) - (imaginary) * (wi);                                     \
    OUT(yi, o + (k) * e) = (real) * (wi) + (imaginary) * (wr);
#define UNTURNED(k, real, imaginary, wr, wi)                                                       \
    OUT(yr, o + (k) * e) = (real);                                                                 \
    OUT(yi, o + (k) * e) = (imaginary);
#define KEPT(k, real, imaginary, wr, wi)                                                           \
    made[0][k] = (real) * (wr) - (imaginary) * (wi);                                               \
    made[1][k] = (real) * (wi) + (imaginary) * (wr);

#define ALIKE(k, real, imaginary, wr, wi)                                                          \
    made[0][k] = (real);                                                                           \
    made[1][k] = (imaginary);

#define PASS(stem) NAME(stem)(int64_t m, int64_t s, const REAL *restrict xr,                       \
    const REAL *restrict xi, REAL *restrict yr, REAL *restrict yi, const REAL *restrict w)

/* What of a group's s numbers is left, as many at a time as `type` holds. */
#define STRETCH(type, count, BUTTERFLY, PUT)                                                       \
    for (; q + (count) <= s; q += (count)) {                                                       \
        typedef type VECTOR;                                                                       \
        const int64_t i = s * p + q, o = by * p + q;                                               \
        BUTTERFLY(PUT, UNTURNED)                                                                   \
    }

/* A group, all of whose numbers turn alike. */
#define GROUP(BUTTERFLY, PUT)                                                                      \
    {                                                                                              \
        int64_t q = 0;                                                                             \
        WIDTHS(STRETCH, BUTTERFLY, PUT)                                                            \
    }

/* Groups of half as many numbers as a vector has, two at a time: they lie beside each other, and are
   to lie apart. */
#if LANES >= 8
#define HALF_ROOT(at)                                                                              \
    CONCATENATED((at)[0] - (NAME(half)){0}, (at)[1] - (NAME(half)){0})
#define TWO_GROUPS(radix, BUTTERFLY, LOAD)                                                         \
    if (s == LANES / 2)                                                                            \
        for (; p + 2 <= m; p += 2) {                                                               \
            typedef NAME(vector) VECTOR;                                                           \
            const int64_t i = s * p;                                                               \
            VECTOR made[2][radix];                                                                 \
            LOAD(HALF_ROOT)                                                                        \
            BUTTERFLY(KEPT, ALIKE)                                                                 \
            for (int plane = 0; plane < 2; plane++) {                                              \
                REAL *one = (plane ? yi : yr) + by * p, *other = one + by;                         \
                for (int k = 0; k + 2 <= (radix); k += 2) {                                        \
                    OUT(one, k * s) = LOWER_HALVES(made[plane][k], made[plane][k + 1]);            \
                    OUT(other, k * s) = UPPER_HALVES(made[plane][k], made[plane][k + 1]);          \
                }                                                                                  \
                if ((radix) % 2) {                                                                 \
                    const VECTOR left = made[plane][(radix) - 1];                                  \
                    *(NAME(half) *)(one + ((radix) - 1) * s) = LOWER_HALF(left);                   \
                    *(NAME(half) *)(other + ((radix) - 1) * s) = UPPER_HALF(left);                 \
                }                                                                                  \
            }                                                                                      \
        }
#else
#define TWO_GROUPS(radix, BUTTERFLY, LOAD)
#endif

/* Goes through all groups: the first is not turned. */
#define GROUPS(radix, BUTTERFLY, LOAD)                                                             \
    {                                                                                              \
        const int64_t d = s * m, e = s, by = (radix) * s;                                          \
        {                                                                                          \
            const int64_t p = 0;                                                                   \
            GROUP(BUTTERFLY, UNTURNED)                                                             \
        }                                                                                          \
        int64_t p = 1;                                                                             \
        TWO_GROUPS(radix, BUTTERFLY, LOAD)                                                         \
        for (; p < m; p++) {                                                                       \
            LOAD(LONE_ROOT)                                                                        \
            GROUP(BUTTERFLY, TURNED)                                                               \
        }                                                                                          \
    }

/* The first pass of a lone transform: a group in each lane. What they give lies by radices, and is
   to lie by groups: each riffle of all numbers moves one bit of their places. The last vector may
   do again what the one before has done. LOADED and LONE say where numbers come from. */
#define FIRST(radix, BUTTERFLY, LOAD, LOADED, LONE)                                                \
    {                                                                                              \
        for (int64_t next = 0; next < m; next += LANES) {                                          \
            typedef NAME(vector) VECTOR;                                                           \
            const int64_t p = next + LANES <= m ? next : m - LANES;                                \
            VECTOR made[2][radix];                                                                 \
            LOAD(ROOTS_BESIDE)                                                                     \
            LOADED(radix, BUTTERFLY)                                                               \
            for (int plane = 0; plane < 2; plane++) {                                              \
                for (int width = 1; width < (radix); width *= 2) {                                 \
                    VECTOR held[radix];                                                            \
                    for (int k = 0; k < (radix) / 2; k++) {                                        \
                        held[2 * k] = LOW(made[plane][k], made[plane][k + (radix) / 2]);           \
                        held[2 * k + 1] = HIGH(made[plane][k], made[plane][k + (radix) / 2]);      \
                    }                                                                              \
                    for (int k = 0; k < (radix); k++)                                              \
                        made[plane][k] = held[k];                                                  \
                }                                                                                  \
                for (int k = 0; k < (radix); k++)                                                  \
                    OUT(plane ? yi : yr, (radix) * p + k * LANES) = made[plane][k];                \
            }                                                                                      \
        }                                                                                          \
        typedef REAL VECTOR;                                                                       \
        const int64_t o = 0, e = 1;                                                                \
        LONE(radix, BUTTERFLY)                                                                     \
    }

/* From planes. */
#define PLANES(radix, BUTTERFLY)                                                                   \
    const int64_t i = p, d = m;                                                                    \
    BUTTERFLY(KEPT, ALIKE)
#define LONE_PLANES(radix, BUTTERFLY)                                                              \
    const int64_t i = 0, d = m;                                                                    \
    BUTTERFLY(UNTURNED, UNTURNED)

#define GROUPS_OR_FIRST(radix, BUTTERFLY, LOAD)                                                    \
    if (s == 1 && m >= LANES)                                                                      \
        FIRST(radix, BUTTERFLY, LOAD, PLANES, LONE_PLANES)                                         \
    else                                                                                           \
        GROUPS(radix, BUTTERFLY, LOAD)

/* Roots of a group; of two, half a vector each; and of neighbouring ones. */
#define LONE_ROOT(at) (*(at))
#define ROOTS_BESIDE(at) IN(at, 0)
#define ROOT(FETCHED, k)                                                                           \
    const __auto_type w##k##r = FETCHED(w + (2 * (k) - 2) * m + p);                                \
    const __auto_type w##k##i = FETCHED(w + (2 * (k) - 1) * m + p);
#define ROOTS_2(FETCHED) ROOT(FETCHED, 1)
#define ROOTS_3(FETCHED) ROOTS_2(FETCHED) ROOT(FETCHED, 2)
#define ROOTS_4(FETCHED) ROOTS_3(FETCHED) ROOT(FETCHED, 3)
#define ROOTS_5(FETCHED) ROOTS_4(FETCHED) ROOT(FETCHED, 4)
#define ROOTS_8(FETCHED) ROOTS_5(FETCHED) ROOT(FETCHED, 5) ROOT(FETCHED, 6) ROOT(FETCHED, 7)

#define BUTTERFLY_2(PUT, SET)                                                                      \
    const VECTOR ar = IN(xr, i), ai = IN(xi, i), br = IN(xr, i + d), bi = IN(xi, i + d);           \
    SET(0, ar + br, ai + bi, 1, 0)                                                                 \
    PUT(1, (ar - br), (ai - bi), w1r, w1i)

static TARGET void PASS(pass_2) { GROUPS_OR_FIRST(2, BUTTERFLY_2, ROOTS_2) }

#define BUTTERFLY_3(PUT, SET)                                                                      \
    const VECTOR ar = IN(xr, i), ai = IN(xi, i);                                                   \
    const VECTOR sr = IN(xr, i + d) + IN(xr, i + 2 * d), si = IN(xi, i + d) + IN(xi, i + 2 * d);   \
    const VECTOR tr = (IN(xr, i + d) - IN(xr, i + 2 * d)) * (REAL)0.86602540378443864676;          \
    const VECTOR ti = (IN(xi, i + d) - IN(xi, i + 2 * d)) * (REAL)0.86602540378443864676;          \
    const VECTOR hr = ar - (REAL)0.5 * sr, hi = ai - (REAL)0.5 * si;                               \
    SET(0, ar + sr, ai + si, 1, 0)                                                                 \
    PUT(1, (hr + ti), (hi - tr), w1r, w1i)                                                         \
    PUT(2, (hr - ti), (hi + tr), w2r, w2i)

static TARGET void PASS(pass_3) { GROUPS(3, BUTTERFLY_3, ROOTS_3) }

/* The four sums of every other of eight numbers, or of four that lie `by` * d apart. */
#define FOUR(from, by, name)                                                                       \
    const VECTOR name##pr = IN(xr, i + (from) * d) + IN(xr, i + (from + 2 * by) * d);              \
    const VECTOR name##pi = IN(xi, i + (from) * d) + IN(xi, i + (from + 2 * by) * d);              \
    const VECTOR name##mr = IN(xr, i + (from) * d) - IN(xr, i + (from + 2 * by) * d);              \
    const VECTOR name##mi = IN(xi, i + (from) * d) - IN(xi, i + (from + 2 * by) * d);              \
    const VECTOR name##qr = IN(xr, i + (from + by) * d) + IN(xr, i + (from + 3 * by) * d);         \
    const VECTOR name##qi = IN(xi, i + (from + by) * d) + IN(xi, i + (from + 3 * by) * d);         \
    const VECTOR name##nr = IN(xr, i + (from + by) * d) - IN(xr, i + (from + 3 * by) * d);         \
    const VECTOR name##ni = IN(xi, i + (from + by) * d) - IN(xi, i + (from + 3 * by) * d);         \
    const VECTOR name##0r = name##pr + name##qr, name##0i = name##pi + name##qi;                   \
    const VECTOR name##1r = name##mr + name##ni, name##1i = name##mi - name##nr;                   \
    const VECTOR name##2r = name##pr - name##qr, name##2i = name##pi - name##qi;                   \
    const VECTOR name##3r = name##mr - name##ni, name##3i = name##mi + name##nr;

#define BUTTERFLY_4(PUT, SET)                                                                      \
    FOUR(0, 1, a)                                                                                  \
    SET(0, a0r, a0i, 1, 0)                                                                         \
    PUT(1, a1r, a1i, w1r, w1i)                                                                     \
    PUT(2, a2r, a2i, w2r, w2i)                                                                     \
    PUT(3, a3r, a3i, w3r, w3i)

static TARGET void PASS(pass_4) { GROUPS_OR_FIRST(4, BUTTERFLY_4, ROOTS_4) }

#define HALF_TURN (REAL)0.70710678118654752440

#define BUTTERFLY_8(PUT, SET)                                                                      \
    FOUR(0, 2, a)                                                                                  \
    FOUR(1, 2, b)                                                                                  \
    const VECTOR c1r = (b1r + b1i) * HALF_TURN, c1i = (b1i - b1r) * HALF_TURN;                     \
    const VECTOR c3r = (b3i - b3r) * HALF_TURN, c3i = -(b3r + b3i) * HALF_TURN;                    \
    SET(0, a0r + b0r, a0i + b0i, 1, 0)                                                             \
    PUT(1, (a1r + c1r), (a1i + c1i), w1r, w1i)                                                     \
    PUT(2, (a2r + b2i), (a2i - b2r), w2r, w2i)                                                     \
    PUT(3, (a3r + c3r), (a3i + c3i), w3r, w3i)                                                     \
    PUT(4, (a0r - b0r), (a0i - b0i), w4r, w4i)                                                     \
    PUT(5, (a1r - c1r), (a1i - c1i), w5r, w5i)                                                     \
    PUT(6, (a2r - b2i), (a2i + b2r), w6r, w6i)                                                     \
    PUT(7, (a3r - c3r), (a3i - c3i), w7r, w7i)

static TARGET void PASS(pass_8) { GROUPS_OR_FIRST(8, BUTTERFLY_8, ROOTS_8) }

/* cos and sin of a fifth and of two fifths of a turn */
#define C1 (REAL)0.30901699437494742410
#define C2 (REAL)-0.80901699437494742410
#define S1 (REAL)0.95105651629515357212
#define S2 (REAL)0.58778525229247312917

#define BUTTERFLY_5(PUT, SET)                                                                      \
    const VECTOR ar = IN(xr, i), ai = IN(xi, i);                                                   \
    const VECTOR pr = IN(xr, i + d) + IN(xr, i + 4 * d), pi = IN(xi, i + d) + IN(xi, i + 4 * d);   \
    const VECTOR mr = IN(xr, i + d) - IN(xr, i + 4 * d), mi = IN(xi, i + d) - IN(xi, i + 4 * d);   \
    const VECTOR qr = IN(xr, i + 2 * d) + IN(xr, i + 3 * d), qi = IN(xi, i + 2 * d) + IN(xi, i + 3 * d);              \
    const VECTOR nr = IN(xr, i + 2 * d) - IN(xr, i + 3 * d), ni = IN(xi, i + 2 * d) - IN(xi, i + 3 * d);              \
    const VECTOR ur = ar + C1 * pr + C2 * qr, ui = ai + C1 * pi + C2 * qi;                         \
    const VECTOR vr = ar + C2 * pr + C1 * qr, vi = ai + C2 * pi + C1 * qi;                         \
    const VECTOR gr = S1 * mr + S2 * nr, gi = S1 * mi + S2 * ni;                                   \
    const VECTOR hr = S2 * mr - S1 * nr, hi = S2 * mi - S1 * ni;                                   \
    SET(0, ar + pr + qr, ai + pi + qi, 1, 0)                                                       \
    PUT(1, (ur + gi), (ui - gr), w1r, w1i)                                                         \
    PUT(2, (vr + hi), (vi - hr), w2r, w2i)                                                         \
    PUT(3, (vr - hi), (vi + hr), w3r, w3i)                                                         \
    PUT(4, (ur - gi), (ui + gr), w4r, w4i)

static TARGET void PASS(pass_5) { GROUPS(5, BUTTERFLY_5, ROOTS_5) }

/* Any odd radix: `roots` has the cosines and sines of k / radix turns. The r sums are made of pairs
   that lie opposite to each other. */
#define ODD_SUMS(type, count)                                                                      \
    for (; q + (count) <= s; q += (count)) {                                                       \
        typedef type VECTOR;                                                                       \
        const int64_t i = s * p + q, o = radix * s * p + q;                                        \
        const VECTOR xr0 = IN(xr, i), xi0 = IN(xi, i);                                             \
        VECTOR sums[ATEN_LARGEST_RADIX / 2][2], apart[ATEN_LARGEST_RADIX / 2][2];                  \
        VECTOR all_r = xr0, all_i = xi0;                                                           \
        for (int j = 1; j <= half; j++) {                                                          \
            const int64_t one = i + j * d, other = i + (radix - j) * d;                            \
            sums[j - 1][0] = IN(xr, one) + IN(xr, other);                                          \
            sums[j - 1][1] = IN(xi, one) + IN(xi, other);                                          \
            apart[j - 1][0] = IN(xr, one) - IN(xr, other);                                         \
            apart[j - 1][1] = IN(xi, one) - IN(xi, other);                                         \
            all_r += sums[j - 1][0];                                                               \
            all_i += sums[j - 1][1];                                                               \
        }                                                                                          \
        OUT(yr, o) = all_r;                                                                        \
        OUT(yi, o) = all_i;                                                                        \
        for (int k = 1; k <= half; k++) {                                                          \
            VECTOR mr = xr0, mi = xi0, nr = (VECTOR){0}, ni = (VECTOR){0};                         \
            for (int j = 1, place = k; j <= half; j++) {                                           \
                const REAL cosine = roots[2 * place], sine = roots[2 * place + 1];                 \
                mr += cosine * sums[j - 1][0];                                                     \
                mi += cosine * sums[j - 1][1];                                                     \
                nr += sine * apart[j - 1][0];                                                      \
                ni += sine * apart[j - 1][1];                                                      \
                place += k;                                                                        \
                place -= place >= radix ? radix : 0;                                               \
            }                                                                                      \
            const REAL *root = w + (2 * k - 2) * m + p, *back = w + (2 * (radix - k) - 2) * m + p; \
            const VECTOR ar = mr + ni, ai = mi - nr, br = mr - ni, bi = mi + nr;                   \
            if (p) {                                                                               \
                OUT(yr, o + k * s) = ar * root[0] - ai * root[m];                                  \
                OUT(yi, o + k * s) = ar * root[m] + ai * root[0];                                  \
                OUT(yr, o + (radix - k) * s) = br * back[0] - bi * back[m];                        \
                OUT(yi, o + (radix - k) * s) = br * back[m] + bi * back[0];                        \
            } else {                                                                               \
                OUT(yr, o + k * s) = ar;                                                           \
                OUT(yi, o + k * s) = ai;                                                           \
                OUT(yr, o + (radix - k) * s) = br;                                                 \
                OUT(yi, o + (radix - k) * s) = bi;                                                 \
            }                                                                                      \
        }                                                                                          \
    }

static TARGET void NAME(pass_odd)(int64_t m, int64_t s, const REAL *restrict xr,
                                  const REAL *restrict xi, REAL *restrict yr, REAL *restrict yi,
                                  const REAL *restrict w, const REAL *restrict roots, int radix)
{
    const int half = radix / 2;
    const int64_t d = s * m;
    for (int64_t p = 0; p < m; p++) {
        int64_t q = 0;
        WIDTHS(ODD_SUMS)
    }
}

#include "fourier_ends.h"
#include "fourier_lines.h"

#undef IN
#undef OUT
#undef TURNED
#undef UNTURNED
#undef KEPT
#undef ALIKE
#undef PASS
#undef STRETCH
#undef QUARTERS
#undef WIDTHS
#undef ODD_SUMS
#undef GROUP
#undef HALF_ROOT
#undef TWO_GROUPS
#undef GROUPS
#undef FIRST
#undef PLANES
#undef LONE_PLANES
#undef GROUPS_OR_FIRST
#undef LONE_ROOT
#undef ROOTS_BESIDE
#undef ROOT
#undef ROOTS_2
#undef ROOTS_3
#undef ROOTS_4
#undef ROOTS_5
#undef ROOTS_8
#undef BUTTERFLY_2
#undef BUTTERFLY_3
#undef BUTTERFLY_4
#undef BUTTERFLY_5
#undef BUTTERFLY_8
#undef C1
#undef C2
#undef S1
#undef S2
#undef FOUR
#undef HALF_TURN
#undef LOW
#undef HIGH
#undef EVEN
#undef ODD
#undef BACK
#undef CONCATENATED
#undef LOWER_HALVES
#undef UPPER_HALVES
#undef LOWER_HALF
#undef UPPER_HALF
#undef LANES
#undef REAL
#undef NAME
