/* One step of a Fourier transform after the other, for one type and level of vector instructions.

   Numbers lie in two planes, real parts and imaginary ones, `lanes` transforms side by side. A pass
   of radix r takes what lies m * s apart to where it lies s apart, and turns it; s grows from
   `lanes` to all there is, m falls to one. Stockham's order: nothing is left to be sorted.

   Expects REAL, NAME(stem) and TARGET. */

#define TURNED(k, real, imaginary, wr, wi)                                                          \
    yr[o + (k) * e] = (real) * (wr) - (imaginary) * (wi);                                           \
    yi[o + (k) * e] = (real) * (wi) + (imaginary) * (wr);
#define UNTURNED(k, real, imaginary, wr, wi)                                                        \
    yr[o + (k) * e] = (real);                                                                       \
    yi[o + (k) * e] = (imaginary);

#define PASS(stem) NAME(stem)(int64_t m, int64_t s, const REAL *restrict xr,                        \
    const REAL *restrict xi, REAL *restrict yr, REAL *restrict yi, const REAL *restrict w)

/* Goes through all groups: the first is not turned; lone transforms are done a group a lane. */
#define GROUPS(radix, BUTTERFLY, LOAD)                                                              \
    {                                                                                               \
        const int64_t d = s * m, e = s;                                                             \
        for (int64_t q = 0; q < s; q++) {                                                           \
            const int64_t i = q, o = q;                                                             \
            BUTTERFLY(UNTURNED)                                                                     \
        }                                                                                           \
    }                                                                                               \
    if (s == 1) {                                                                                   \
        const int64_t d = m, e = 1;                                                                 \
        for (int64_t p = 1; p < m; p++) {                                                           \
            const int64_t i = p, o = radix * p;                                                     \
            LOAD                                                                                    \
            BUTTERFLY(TURNED)                                                                       \
        }                                                                                           \
    } else {                                                                                        \
        const int64_t d = s * m, e = s;                                                             \
        for (int64_t p = 1; p < m; p++) {                                                           \
            LOAD                                                                                    \
            for (int64_t q = 0; q < s; q++) {                                                       \
                const int64_t i = s * p + q, o = radix * s * p + q;                                 \
                BUTTERFLY(TURNED)                                                                   \
            }                                                                                       \
        }                                                                                           \
    }

#define ROOT(k) const REAL w##k##r = w[(2 * (k) - 2) * m + p], w##k##i = w[(2 * (k) - 1) * m + p];

#define BUTTERFLY_2(PUT)                                                                            \
    const REAL ar = xr[i], ai = xi[i], br = xr[i + d], bi = xi[i + d];                              \
    UNTURNED(0, ar + br, ai + bi, 1, 0)                                                             \
    PUT(1, (ar - br), (ai - bi), w1r, w1i)

static TARGET void PASS(pass_2) { GROUPS(2, BUTTERFLY_2, ROOT(1)) }

#define BUTTERFLY_3(PUT)                                                                            \
    const REAL ar = xr[i], ai = xi[i];                                                              \
    const REAL sr = xr[i + d] + xr[i + 2 * d], si = xi[i + d] + xi[i + 2 * d];                      \
    const REAL tr = (xr[i + d] - xr[i + 2 * d]) * (REAL)0.86602540378443864676;                     \
    const REAL ti = (xi[i + d] - xi[i + 2 * d]) * (REAL)0.86602540378443864676;                     \
    const REAL hr = ar - (REAL)0.5 * sr, hi = ai - (REAL)0.5 * si;                                  \
    UNTURNED(0, ar + sr, ai + si, 1, 0)                                                             \
    PUT(1, (hr + ti), (hi - tr), w1r, w1i)                                                          \
    PUT(2, (hr - ti), (hi + tr), w2r, w2i)

static TARGET void PASS(pass_3) { GROUPS(3, BUTTERFLY_3, ROOT(1) ROOT(2)) }

/* The four sums of every other of eight numbers, or of four that lie `by` * d apart. */
#define FOUR(from, by, name)                                                                        \
    const REAL name##pr = xr[i + (from) * d] + xr[i + (from + 2 * by) * d];                         \
    const REAL name##pi = xi[i + (from) * d] + xi[i + (from + 2 * by) * d];                         \
    const REAL name##mr = xr[i + (from) * d] - xr[i + (from + 2 * by) * d];                         \
    const REAL name##mi = xi[i + (from) * d] - xi[i + (from + 2 * by) * d];                         \
    const REAL name##qr = xr[i + (from + by) * d] + xr[i + (from + 3 * by) * d];                    \
    const REAL name##qi = xi[i + (from + by) * d] + xi[i + (from + 3 * by) * d];                    \
    const REAL name##nr = xr[i + (from + by) * d] - xr[i + (from + 3 * by) * d];                    \
    const REAL name##ni = xi[i + (from + by) * d] - xi[i + (from + 3 * by) * d];                    \
    const REAL name##0r = name##pr + name##qr, name##0i = name##pi + name##qi;                      \
    const REAL name##1r = name##mr + name##ni, name##1i = name##mi - name##nr;                      \
    const REAL name##2r = name##pr - name##qr, name##2i = name##pi - name##qi;                      \
    const REAL name##3r = name##mr - name##ni, name##3i = name##mi + name##nr;

#define BUTTERFLY_4(PUT)                                                                            \
    FOUR(0, 1, a)                                                                                   \
    UNTURNED(0, a0r, a0i, 1, 0)                                                                     \
    PUT(1, a1r, a1i, w1r, w1i)                                                                      \
    PUT(2, a2r, a2i, w2r, w2i)                                                                      \
    PUT(3, a3r, a3i, w3r, w3i)

static TARGET void PASS(pass_4) { GROUPS(4, BUTTERFLY_4, ROOT(1) ROOT(2) ROOT(3)) }

#define HALF_TURN (REAL)0.70710678118654752440

#define BUTTERFLY_8(PUT)                                                                            \
    FOUR(0, 2, a)                                                                                   \
    FOUR(1, 2, b)                                                                                   \
    const REAL c1r = (b1r + b1i) * HALF_TURN, c1i = (b1i - b1r) * HALF_TURN;                        \
    const REAL c3r = (b3i - b3r) * HALF_TURN, c3i = -(b3r + b3i) * HALF_TURN;                       \
    UNTURNED(0, a0r + b0r, a0i + b0i, 1, 0)                                                         \
    PUT(1, (a1r + c1r), (a1i + c1i), w1r, w1i)                                                      \
    PUT(2, (a2r + b2i), (a2i - b2r), w2r, w2i)                                                      \
    PUT(3, (a3r + c3r), (a3i + c3i), w3r, w3i)                                                      \
    PUT(4, (a0r - b0r), (a0i - b0i), w4r, w4i)                                                      \
    PUT(5, (a1r - c1r), (a1i - c1i), w5r, w5i)                                                      \
    PUT(6, (a2r - b2i), (a2i + b2r), w6r, w6i)                                                      \
    PUT(7, (a3r - c3r), (a3i - c3i), w7r, w7i)

static TARGET void PASS(pass_8)
{
    GROUPS(8, BUTTERFLY_8, ROOT(1) ROOT(2) ROOT(3) ROOT(4) ROOT(5) ROOT(6) ROOT(7))
}

/* cos and sin of a fifth and of two fifths of a turn */
#define C1 (REAL)0.30901699437494742410
#define C2 (REAL)-0.80901699437494742410
#define S1 (REAL)0.95105651629515357212
#define S2 (REAL)0.58778525229247312917

#define BUTTERFLY_5(PUT)                                                                            \
    const REAL ar = xr[i], ai = xi[i];                                                              \
    const REAL pr = xr[i + d] + xr[i + 4 * d], pi = xi[i + d] + xi[i + 4 * d];                      \
    const REAL mr = xr[i + d] - xr[i + 4 * d], mi = xi[i + d] - xi[i + 4 * d];                      \
    const REAL qr = xr[i + 2 * d] + xr[i + 3 * d], qi = xi[i + 2 * d] + xi[i + 3 * d];              \
    const REAL nr = xr[i + 2 * d] - xr[i + 3 * d], ni = xi[i + 2 * d] - xi[i + 3 * d];              \
    const REAL ur = ar + C1 * pr + C2 * qr, ui = ai + C1 * pi + C2 * qi;                            \
    const REAL vr = ar + C2 * pr + C1 * qr, vi = ai + C2 * pi + C1 * qi;                            \
    const REAL gr = S1 * mr + S2 * nr, gi = S1 * mi + S2 * ni;                                      \
    const REAL hr = S2 * mr - S1 * nr, hi = S2 * mi - S1 * ni;                                      \
    UNTURNED(0, ar + pr + qr, ai + pi + qi, 1, 0)                                                   \
    PUT(1, (ur + gi), (ui - gr), w1r, w1i)                                                          \
    PUT(2, (vr + hi), (vi - hr), w2r, w2i)                                                          \
    PUT(3, (vr - hi), (vi + hr), w3r, w3i)                                                          \
    PUT(4, (ur - gi), (ui + gr), w4r, w4i)

static TARGET void PASS(pass_5) { GROUPS(5, BUTTERFLY_5, ROOT(1) ROOT(2) ROOT(3) ROOT(4)) }

#undef C1
#undef C2
#undef S1
#undef S2

/* Any odd radix: `roots` has the cosines and sines of k / radix turns. The r sums are made of pairs
   that lie opposite to each other, for a strip of lanes at a time. */
static TARGET void NAME(pass_odd)(int64_t m, int64_t s, const REAL *restrict xr,
                                  const REAL *restrict xi, REAL *restrict yr, REAL *restrict yi,
                                  const REAL *restrict w, const REAL *restrict roots, int radix)
{
    REAL sums[ATEN_LARGEST_RADIX / 2][2][ATEN_STRIP], apart[ATEN_LARGEST_RADIX / 2][2][ATEN_STRIP];
    REAL made[4][ATEN_STRIP];
    const int half = radix / 2;
    for (int64_t p = 0; p < m; p++)
        for (int64_t first = 0; first < s; first += ATEN_STRIP) {
            const int64_t count = s - first < ATEN_STRIP ? s - first : ATEN_STRIP;
            const int64_t i = s * p + first, d = s * m, o = radix * s * p + first;
            for (int64_t q = 0; q < count; q++) {
                made[0][q] = xr[i + q];
                made[1][q] = xi[i + q];
            }
            for (int j = 1; j <= half; j++)
                for (int64_t q = 0; q < count; q++) {
                    const int64_t one = i + q + j * d, other = i + q + (radix - j) * d;
                    sums[j - 1][0][q] = xr[one] + xr[other];
                    sums[j - 1][1][q] = xi[one] + xi[other];
                    apart[j - 1][0][q] = xr[one] - xr[other];
                    apart[j - 1][1][q] = xi[one] - xi[other];
                    made[0][q] += sums[j - 1][0][q];
                    made[1][q] += sums[j - 1][1][q];
                }
            for (int64_t q = 0; q < count; q++) {
                yr[o + q] = made[0][q];
                yi[o + q] = made[1][q];
            }
            for (int k = 1; k <= half; k++) {
                for (int64_t q = 0; q < count; q++) {
                    made[0][q] = xr[i + q];
                    made[1][q] = xi[i + q];
                    made[2][q] = made[3][q] = 0;
                }
                for (int j = 1, place = k; j <= half; j++) {
                    const REAL cosine = roots[2 * place], sine = roots[2 * place + 1];
                    for (int64_t q = 0; q < count; q++) {
                        made[0][q] += cosine * sums[j - 1][0][q];
                        made[1][q] += cosine * sums[j - 1][1][q];
                        made[2][q] += sine * apart[j - 1][0][q];
                        made[3][q] += sine * apart[j - 1][1][q];
                    }
                    place += k;
                    place -= place >= radix ? radix : 0;
                }
                const REAL *root = w + (2 * k - 2) * m + p, *back = w + (2 * (radix - k) - 2) * m + p;
                for (int64_t q = 0; q < count; q++) {
                    const int64_t one = o + q + k * s, other = o + q + (radix - k) * s;
                    const REAL ar = made[0][q] + made[3][q], ai = made[1][q] - made[2][q];
                    const REAL br = made[0][q] - made[3][q], bi = made[1][q] + made[2][q];
                    yr[one] = p ? ar * root[0] - ai * root[m] : ar;
                    yi[one] = p ? ar * root[m] + ai * root[0] : ai;
                    yr[other] = p ? br * back[0] - bi * back[m] : br;
                    yi[other] = p ? br * back[m] + bi * back[0] : bi;
                }
            }
        }
}

/* All passes, between `a` and `b`, two planes each; returns whether the result lies in `b`. */
static TARGET int NAME(run)(const aten_passes *passes, int64_t lanes, REAL *a, REAL *b)
{
    const int64_t all = passes->length * lanes;
    int64_t m = passes->length, s = lanes;
    for (int index = 0; index < passes->count; index++) {
        const int radix = passes->radices[index];
        const REAL *w = (const REAL *)passes->roots + passes->begins[index];
        const REAL *table = (const REAL *)passes->roots + passes->tables[index];
        m /= radix;
        switch (radix) {
        case 2: NAME(pass_2)(m, s, a, a + all, b, b + all, w); break;
        case 3: NAME(pass_3)(m, s, a, a + all, b, b + all, w); break;
        case 4: NAME(pass_4)(m, s, a, a + all, b, b + all, w); break;
        case 5: NAME(pass_5)(m, s, a, a + all, b, b + all, w); break;
        case 8: NAME(pass_8)(m, s, a, a + all, b, b + all, w); break;
        default: NAME(pass_odd)(m, s, a, a + all, b, b + all, w, table, radix);
        }
        s *= radix;
        REAL *other = a;
        a = b;
        b = other;
    }
    return passes->count & 1;
}

/* A few columns, of neighbours, of the matrix that a long transform is: `wide` numbers in a row.
   They are transformed, turned, and go to rows that lie `pitch` apart: were it a power of two, the
   rows would push each other out of the cache. `turns` has two planes. `room` is for 4 * count
   numbers for each row. */
static TARGET void NAME(columns)(const aten_passes *passes, int64_t wide, const REAL *restrict turns,
                                 const REAL *restrict given, REAL *restrict out, int64_t pitch,
                                 int64_t begin, int64_t count, REAL *room)
{
    const int64_t rows = passes->length, all = rows * wide, held = rows * count;
    REAL *a = room;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t lane = 0; lane < count; lane++) {
            a[row * count + lane] = given[row * wide + begin + lane];
            a[held + row * count + lane] = given[all + row * wide + begin + lane];
        }
    if (NAME(run)(passes, count, a, a + 2 * held))
        a += 2 * held;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t lane = 0; lane < count; lane++) {
            const REAL real = a[row * count + lane], imaginary = a[held + row * count + lane];
            const REAL tr = turns[row * wide + begin + lane];
            const REAL ti = turns[all + row * wide + begin + lane];
            out[row * pitch + begin + lane] = real * tr - imaginary * ti;
            out[(rows + row) * pitch + begin + lane] = real * ti + imaginary * tr;
        }
}

/* A few rows of the turned matrix, of `rows` rows: their results are columns of the result. */
static TARGET void NAME(rows)(const aten_passes *passes, int64_t rows, const REAL *restrict given,
                              int64_t pitch, REAL *restrict out, int64_t begin, int64_t count,
                              REAL *room)
{
    const int64_t wide = passes->length, held = wide * count;
    REAL *a = room;
    for (int64_t plane = 0; plane < 2; plane++)
        for (int64_t column = 0; column < wide; column++)
            for (int64_t lane = 0; lane < count; lane++)
                a[plane * held + column * count + lane]
                    = given[(plane * rows + begin + lane) * pitch + column];
    if (NAME(run)(passes, count, a, a + 2 * held))
        a += 2 * held;
    for (int64_t plane = 0; plane < 2; plane++)
        for (int64_t column = 0; column < wide; column++)
            for (int64_t lane = 0; lane < count; lane++)
                out[(plane * wide + column) * rows + begin + lane]
                    = a[plane * held + column * count + lane];
}

/* Pairs of neighbours to two planes, and back. */
static TARGET void NAME(part)(const REAL *restrict pairs, int64_t count, REAL *restrict real,
                              REAL *restrict imaginary)
{
    for (int64_t place = 0; place < count; place++) {
        real[place] = pairs[2 * place];
        imaginary[place] = pairs[2 * place + 1];
    }
}

static TARGET void NAME(join)(const REAL *restrict real, const REAL *restrict imaginary,
                              int64_t count, REAL scale, REAL *restrict pairs)
{
    for (int64_t place = 0; place < count; place++) {
        pairs[2 * place] = real[place] * scale;
        pairs[2 * place + 1] = imaginary[place] * scale;
    }
}

#undef TURNED
#undef UNTURNED
#undef PASS
#undef GROUPS
#undef ROOT
#undef BUTTERFLY_2
#undef BUTTERFLY_3
#undef BUTTERFLY_4
#undef BUTTERFLY_5
#undef BUTTERFLY_8
#undef FOUR
#undef HALF_TURN
#undef REAL
#undef NAME
