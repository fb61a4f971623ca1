/* What the passes of Fourier transforms make of lines: alone, side by side, and as matrices.

   Included by fourier_passes.h, with its macros. */

/* Pairs of neighbours to two planes, and back. */
static TARGET void NAME(part)(const REAL *restrict pairs, int64_t count, REAL *restrict real,
                              REAL *restrict imaginary)
{
    typedef NAME(vector) VECTOR;
    int64_t place = 0;
    for (; place + LANES <= count; place += LANES) {
        const VECTOR one = IN(pairs, 2 * place), other = IN(pairs, 2 * place + LANES);
        OUT(real, place) = EVEN(one, other);
        OUT(imaginary, place) = ODD(one, other);
    }
    for (; place < count; place++) {
        real[place] = pairs[2 * place];
        imaginary[place] = pairs[2 * place + 1];
    }
}

static TARGET void NAME(join)(const REAL *restrict real, const REAL *restrict imaginary,
                              int64_t count, REAL scale, REAL *restrict pairs)
{
    typedef NAME(vector) VECTOR;
    int64_t place = 0;
    for (; place + LANES <= count; place += LANES) {
        const VECTOR x = IN(real, place) * scale, y = IN(imaginary, place) * scale;
        OUT(pairs, 2 * place) = LOW(x, y);
        OUT(pairs, 2 * place + LANES) = HIGH(x, y);
    }
    for (; place < count; place++) {
        pairs[2 * place] = real[place] * scale;
        pairs[2 * place + 1] = imaginary[place] * scale;
    }
}

/* The passes from `begin` to `end`, between `a` and `b`, two planes each; returns whether the result
   lies in `b`. */
static TARGET int NAME(run_part)(const aten_passes *passes, int begin, int end, int64_t m, int64_t s,
                                 REAL *a, REAL *b)
{
    const int64_t all = m * s;
    for (int index = begin; index < end; index++) {
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
    return (end - begin) & 1;
}

/* All passes. */
static TARGET int NAME(run)(const aten_passes *passes, int64_t lanes, REAL *a, REAL *b)
{
    return NAME(run_part)(passes, 0, passes->count, passes->length, lanes, a, b);
}

/* All passes of one line of pairs, whose parts are exchanged if `swapped`: to pairs, scaled, or, to
   no `out`, to planes. Returns whether these lie in `b`. `following` is the next line. */
static TARGET int NAME(lone)(const aten_passes *passes, const REAL *pairs, const REAL *following,
                             REAL *out, int swapped, REAL scale, REAL *a, REAL *b)
{
    const int64_t all = passes->length;
    int64_t m = passes->length, s = 1;
    int begin = 0, end = passes->count, in_b = 0;
    const int first = end ? passes->radices[0] : 1, last = end ? passes->radices[end - 1] : 1;
    if (NAME(begins)(first) && m / first >= LANES) {
        m /= first;
        NAME(from_line)(first, m, pairs, following, out ? out : a, swapped, a, a + all,
                        (const REAL *)passes->roots);
        s = first;
        begin = 1;
    } else
        NAME(part)(pairs, all, swapped ? a + all : a, swapped ? a : a + all);
    const int joined = out && end > begin && all / last % LANES == 0 && NAME(ends)(last);
    end -= joined;
    if (NAME(run_part)(passes, begin, end, m, s, a, b)) {
        in_b = 1;
        a = b;
    }
    if (joined)
        NAME(to_line)(last, all / last, a, a + all, out, swapped, scale);
    else if (out)
        NAME(join)(swapped ? a + all : a, swapped ? a : a + all, all, scale, out);
    return in_b;
}

/* Whether lines side by side go through first and last passes of columns. */
static int NAME(has_ends)(const aten_passes *passes, int64_t lanes)
{
    return lanes % LANES == 0 && passes->count > 1 && NAME(begins)(passes->radices[0])
           && NAME(ends)(passes->radices[passes->count - 1]);
}

/* All passes but the last, of columns of pairs; where their planes lie then. */
static TARGET const REAL *NAME(until_last)(const aten_passes *passes, int64_t lanes,
                                           const REAL *pairs, int64_t apart, int swapped, REAL *a,
                                           REAL *b)
{
    const int first = passes->radices[0];
    const int64_t m = passes->length / first;
    NAME(from_columns)(first, m, lanes, pairs, apart, swapped, a, a + passes->length * lanes,
                       (const REAL *)passes->roots);
    return NAME(run_part)(passes, 1, passes->count - 1, m, first * lanes, a, b) ? b : a;
}

/* All passes of `lanes` columns of pairs, whose rows lie `apart`, to such columns, scaled: `out` may
   be `pairs`. Returns whether these are lanes and passes of which it can. */
static TARGET int NAME(beside)(const aten_passes *passes, int64_t lanes, const REAL *pairs,
                               int64_t apart, REAL *out, int64_t out_apart, int swapped, REAL scale,
                               REAL *a, REAL *b)
{
    if (!NAME(has_ends)(passes, lanes))
        return 0;
    const int last = passes->radices[passes->count - 1];
    const REAL *made = NAME(until_last)(passes, lanes, pairs, apart, swapped, a, b);
    NAME(to_columns)(last, passes->length / last, lanes, made, made + passes->length * lanes, out,
                     out_apart, swapped, scale);
    return 1;
}

/* Turns a square of numbers in registers. */
#define TURN_SQUARE                                                                                \
    for (int width = 1; width < LANES; width *= 2) {                                               \
        VECTOR held[LANES];                                                                        \
        for (int k = 0; k < LANES / 2; k++) {                                                      \
            held[2 * k] = LOW(made[k], made[k + LANES / 2]);                                       \
            held[2 * k + 1] = HIGH(made[k], made[k + LANES / 2]);                                  \
        }                                                                                          \
        for (int k = 0; k < LANES; k++)                                                            \
            made[k] = held[k];                                                                     \
    }

/* A block of `rows` rows, of `columns` numbers, as columns of another. */
static TARGET void NAME(transpose)(const REAL *restrict from, int64_t from_pitch, REAL *restrict to,
                                   int64_t to_pitch, int64_t rows, int64_t columns)
{
    typedef NAME(vector) VECTOR;
    int64_t row = 0;
    for (; row + LANES <= rows; row += LANES) {
        int64_t column = 0;
        for (; column + LANES <= columns; column += LANES) {
            VECTOR made[LANES];
            for (int k = 0; k < LANES; k++)
                made[k] = IN(from, (row + k) * from_pitch + column);
            TURN_SQUARE
            for (int k = 0; k < LANES; k++)
                OUT(to, (column + k) * to_pitch + row) = made[k];
        }
        for (; column < columns; column++)
            for (int k = 0; k < LANES; k++)
                to[column * to_pitch + row + k] = from[(row + k) * from_pitch + column];
    }
    for (; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_pitch + row] = from[row * from_pitch + column];
}

/* Rows of `count` numbers that lie one pitch apart, to where they lie another apart. */
static TARGET void NAME(copy)(const REAL *restrict from, int64_t from_pitch, REAL *restrict to,
                              int64_t to_pitch, int64_t rows, int64_t count)
{
    typedef NAME(vector) VECTOR;
    for (int64_t row = 0; row < rows; row++) {
        int64_t lane = 0;
        for (; lane + LANES <= count; lane += LANES)
            OUT(to, row * to_pitch + lane) = IN(from, row * from_pitch + lane);
        for (; lane < count; lane++)
            to[row * to_pitch + lane] = from[row * from_pitch + lane];
    }
}

#define TURN                                                                                       \
    const VECTOR real = IN(a, row * count + lane), imaginary = IN(a, held + row * count + lane);   \
    const VECTOR tr = IN(turns, row * wide + begin + lane);                                        \
    const VECTOR ti = IN(turns, all + row * wide + begin + lane);                                  \
    OUT(out, row * pitch + begin + lane) = real * tr - imaginary * ti;                             \
    OUT(out, (rows + row) * pitch + begin + lane) = real * ti + imaginary * tr;

#define UNFOLD(real, imaginary)                                                                    \
    const VECTOR pr = xr + yr, pi = xi - yi, mr = xr - yr, mi = xi + yi;                           \
    const VECTOR real = (pr + (wr * mi - wi * mr)) * halved;                                       \
    const VECTOR imaginary = (pi - (wr * mr + wi * mi)) * halved;

/* LANES rows of pairs, `apart` numbers from each other, side by side in planes, and back. */
static TARGET void NAME(gather)(const REAL *restrict pairs, int64_t apart, int64_t count,
                                REAL *restrict real, REAL *restrict imaginary)
{
    typedef NAME(vector) VECTOR;
    int64_t place = 0;
    for (; place + LANES / 2 <= count; place += LANES / 2) {
        VECTOR made[LANES];
        for (int k = 0; k < LANES; k++)
            made[k] = IN(pairs, k * apart + 2 * place);
        TURN_SQUARE
        for (int k = 0; k < LANES / 2; k++) {
            OUT(real, (place + k) * LANES) = made[2 * k];
            OUT(imaginary, (place + k) * LANES) = made[2 * k + 1];
        }
    }
    for (; place < count; place++)
        for (int k = 0; k < LANES; k++) {
            real[place * LANES + k] = pairs[k * apart + 2 * place];
            imaginary[place * LANES + k] = pairs[k * apart + 2 * place + 1];
        }
}

static TARGET void NAME(scatter)(const REAL *restrict real, const REAL *restrict imaginary,
                                 int64_t count, REAL scale, REAL *restrict pairs, int64_t apart)
{
    typedef NAME(vector) VECTOR;
    int64_t place = 0;
    for (; place + LANES / 2 <= count; place += LANES / 2) {
        VECTOR made[LANES];
        for (int k = 0; k < LANES / 2; k++) {
            made[2 * k] = IN(real, (place + k) * LANES) * scale;
            made[2 * k + 1] = IN(imaginary, (place + k) * LANES) * scale;
        }
        TURN_SQUARE
        for (int k = 0; k < LANES; k++)
            OUT(pairs, k * apart + 2 * place) = made[k];
    }
    for (; place < count; place++)
        for (int k = 0; k < LANES; k++) {
            pairs[k * apart + 2 * place] = real[place * LANES + k] * scale;
            pairs[k * apart + 2 * place + 1] = imaginary[place * LANES + k] * scale;
        }
}

/* LANES short lines of pairs at once; `out` has their results, or, with `roots`, the spectra of
   real numbers in pairs, one number longer. */
static TARGET void NAME(abreast)(const aten_passes *passes, const REAL *pairs, int64_t apart,
                                 const REAL *roots, REAL *out, int64_t out_apart, int swapped,
                                 REAL scale, REAL *a, REAL *b)
{
    typedef NAME(vector) VECTOR;
    const int64_t count = passes->length, all = count * LANES;
    const REAL halved = scale / 2;
    NAME(gather)(pairs, apart, count, swapped ? a + all : a, swapped ? a : a + all);
    if (NAME(run)(passes, LANES, a, b)) {
        REAL *other = a;
        a = b;
        b = other;
    }
    if (!roots) {
        NAME(scatter)(swapped ? a + all : a, swapped ? a : a + all, count, scale, out, out_apart);
        return;
    }
    REAL *real = b, *imaginary = b + all, last[LANES];
    const VECTOR first = IN(a, 0), second = IN(a, all);
    OUT(real, 0) = (first + second) * scale;
    OUT(imaginary, 0) = first;
    OUT(last, 0) = (first - second) * scale;
    for (int64_t place = 1; place < count; place++) {
        const VECTOR xr = IN(a, place * LANES), xi = IN(a, all + place * LANES);
        const VECTOR yr = IN(a, (count - place) * LANES), yi = IN(a, all + (count - place) * LANES);
        const REAL wr = roots[2 * place], wi = roots[2 * place + 1];
        UNFOLD(one, other)
        OUT(real, place * LANES) = one;
        OUT(imaginary, place * LANES) = other;
    }
    NAME(scatter)(real, imaginary, count, 1, out, out_apart);
    for (int k = 0; k < LANES; k++) {
        out[k * out_apart] = real[k];
        out[k * out_apart + 1] = 0;
        out[k * out_apart + 2 * count] = last[k];
        out[k * out_apart + 2 * count + 1] = 0;
    }
}

/* A few columns, of neighbours, of the matrix that a long transform is: `wide` numbers in a row.
   They are transformed, turned, and go to rows that lie `pitch` apart: were it a power of two, the
   rows would push each other out of the cache. `turns` has two planes, and so has `given`, unless
   there are `pairs`. `room` is for 4 * count numbers for each row. */
static TARGET void NAME(columns)(const aten_passes *passes, int64_t wide, const REAL *restrict turns,
                                 const REAL *restrict given, const REAL *restrict pairs, int swapped,
                                 REAL *restrict out, int64_t pitch, int64_t begin, int64_t count,
                                 REAL *room)
{
    const int64_t rows = passes->length, all = rows * wide, held = rows * count;
    REAL *a = room;
    if (pairs && NAME(has_ends)(passes, count)) {
        const int last = passes->radices[passes->count - 1];
        const REAL *made = NAME(until_last)(passes, count, pairs + 2 * begin, 2 * wide, swapped, a,
                                            a + 2 * held);
        NAME(to_turned)(last, rows / last, count, made, made + held, turns + begin, wide, all,
                        out + begin, pitch, rows * pitch);
        return;
    }
    if (pairs) {
        REAL *real = swapped ? a + held : a, *imaginary = swapped ? a : a + held;
        for (int64_t row = 0; row < rows; row++)
            NAME(part)(pairs + 2 * (row * wide + begin), count, real + row * count,
                       imaginary + row * count);
    } else {
        NAME(copy)(given + begin, wide, a, count, rows, count);
        NAME(copy)(given + all + begin, wide, a + held, count, rows, count);
    }
    if (NAME(run)(passes, count, a, a + 2 * held))
        a += 2 * held;
    for (int64_t row = 0; row < rows; row++) {
        int64_t lane = 0;
        for (; lane + LANES <= count; lane += LANES) {
            typedef NAME(vector) VECTOR;
            TURN
        }
        for (; lane < count; lane++) {
            typedef REAL VECTOR;
            TURN
        }
    }
}

/* A few rows of the turned matrix, of `rows` rows: their results are columns of the result, which is
   two planes, or, scaled, `pairs`. */
static TARGET void NAME(rows)(const aten_passes *passes, int64_t rows, const REAL *restrict given,
                              int64_t pitch, REAL *restrict out, REAL *restrict pairs, int swapped,
                              REAL scale, int64_t begin, int64_t count, REAL *room)
{
    const int64_t wide = passes->length, held = wide * count;
    REAL *a = room;
    for (int plane = 0; plane < 2; plane++)
        NAME(transpose)(given + (plane * rows + begin) * pitch, pitch, a + plane * held, count,
                        count, wide);
    if (pairs && NAME(has_ends)(passes, count)) {
        const int last = passes->radices[passes->count - 1];
        if (NAME(run_part)(passes, 0, passes->count - 1, wide, count, a, a + 2 * held))
            a += 2 * held;
        NAME(to_columns)(last, wide / last, count, a, a + held, pairs + 2 * begin, 2 * rows, swapped,
                         scale);
        return;
    }
    if (NAME(run)(passes, count, a, a + 2 * held))
        a += 2 * held;
    if (pairs) {
        const REAL *real = swapped ? a + held : a, *imaginary = swapped ? a : a + held;
        for (int64_t row = 0; row < wide; row++)
            NAME(join)(real + row * count, imaginary + row * count, count, scale,
                       pairs + 2 * (row * rows + begin));
        return;
    }
    for (int plane = 0; plane < 2; plane++)
        NAME(copy)(a + plane * held, count, out + plane * wide * rows + begin, rows, wide, count);
}

#define MULTIPLY(at, root)                                                                         \
    {                                                                                              \
        const VECTOR real = IN(xr, at), imaginary = IN(xi, at);                                    \
        OUT(yr, at) = real * IN(wr, root) - imaginary * IN(wi, root);                              \
        OUT(yi, at) = real * IN(wi, root) + imaginary * IN(wr, root);                              \
    }

/* Numbers of `lanes` lines times those of one; y may be x, or have its planes exchanged. */
static TARGET void NAME(multiply)(const REAL *xr, const REAL *xi, const REAL *restrict wr,
                                  const REAL *restrict wi, int64_t count, int64_t lanes, REAL *yr,
                                  REAL *yi)
{
    int64_t place = 0;
    if (lanes == 1)
        for (; place + LANES <= count; place += LANES) {
            typedef NAME(vector) VECTOR;
            MULTIPLY(place, place)
        }
    for (; place < count; place++)
        for (int64_t lane = 0; lane < lanes; lane++) {
            typedef REAL VECTOR;
            MULTIPLY(place * lanes + lane, place)
        }
}

/* The spectrum of 2 * count real numbers, all but its ends, of that of as many pairs: x at a place,
   y at the one opposite. `roots` are pairs. */
static TARGET void NAME(spectrum)(const REAL *restrict a, const REAL *restrict b, int64_t count,
                                  const REAL *restrict roots, REAL halved, REAL *restrict pairs)
{
    int64_t place = 1;
    for (; place + LANES <= count; place += LANES) {
        typedef NAME(vector) VECTOR;
        const int64_t other = count - place - LANES + 1;
        const VECTOR xr = IN(a, place), xi = IN(b, place);
        const VECTOR yr = BACK(IN(a, other)), yi = BACK(IN(b, other));
        const VECTOR one = IN(roots, 2 * place), next = IN(roots, 2 * place + LANES);
        const VECTOR wr = EVEN(one, next), wi = ODD(one, next);
        UNFOLD(real, imaginary)
        OUT(pairs, 2 * place) = LOW(real, imaginary);
        OUT(pairs, 2 * place + LANES) = HIGH(real, imaginary);
    }
    for (; place < count; place++) {
        typedef REAL VECTOR;
        const REAL xr = a[place], xi = b[place], yr = a[count - place], yi = b[count - place];
        const REAL wr = roots[2 * place], wi = roots[2 * place + 1];
        UNFOLD(real, imaginary)
        pairs[2 * place] = real;
        pairs[2 * place + 1] = imaginary;
    }
}

#undef UNFOLD
#undef MULTIPLY
#undef TURN_SQUARE
#undef TURN
