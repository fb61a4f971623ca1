/* Operands of products brought into units, compiled for one level of vector instructions.

   Included once for each, with NAME(stem), TARGET and
     TURN_SINGLES(from, row, to, to_row), TURN_DOUBLES   transpose a square of units, in units
     SINGLES_SIDE, DOUBLES_SIDE                          and its side
     TURN_HALVES(from, row, to, to_row)                  of float16 to floats, of side 16: optional
     TURN_BRAINS(from, row, to, to_row)                  of bfloat16, likewise
     WIDEN_HALVES(from, to)                              sixteen float16 as floats

   `run` makes units of elements that follow each other along the depth: `count` elements, `step`
   apart. `zip` makes them of rows of the right operand: `count` rows, `step` apart, of `columns`
   neighbours, a unit for each column and the units of a step side by side. Where the depth ends
   amid a unit, it is filled up with zeros, and so are columns up to `width`, but for those of four
   bytes: what memory held before may be numbers so small that processors take a hundred times as
   long for them, or none at all. */

/* Sixteen at once: with a count that is known, these become a few instructions. */
#define SIXTEEN(make, from, to)                                                                  \
    do {                                                                                         \
        int sixteenth;                                                                           \
        for (sixteenth = 0; sixteenth < 16; sixteenth++)                                         \
            (to)[sixteenth] = make((from)[sixteenth]);                                           \
    } while (0)
#define SIXTEEN_AS_IS(from, to) memcpy(to, from, 16 * sizeof *(to))
#define SIXTEEN_BRAINS(from, to) SIXTEEN(aten_widen_brain, from, to)
#define SIXTEEN_WIDENED(from, to) SIXTEEN(AS_IS, from, to)

#define RUN(stem, element, unit, group, make, sixteen, as_is)                                    \
    static TARGET void NAME(run_##stem)(const void *source, int64_t step, int64_t count,         \
                                        void *target)                                            \
    {                                                                                            \
        const element *from = source;                                                            \
        unit *to = target;                                                                       \
        int64_t place;                                                                           \
        if (step == 1 && as_is) {                                                                \
            memcpy(to, from, count * sizeof(unit));                                              \
            place = count;                                                                       \
        } else if (step == 1) {                                                                  \
            for (place = 0; place + 16 <= count; place += 16)                                    \
                sixteen(from + place, to + place);                                               \
            for (; place < count; place++)                                                       \
                to[place] = make(from[place]);                                                   \
        } else                                                                                     \
            for (place = 0; place < count; place++)                                              \
                to[place] = make(from[place * step]);                                            \
        for (; place % group; place++)                                                           \
            to[place] = 0;                                                                       \
    }

#define AS_IS(value) (value)
#define WIDEN_BRAIN(value) aten_widen_brain(value)

RUN(bytes, uint8_t, uint8_t, 4, AS_IS, SIXTEEN_AS_IS, 1)
RUN(signed_bytes, int8_t, int16_t, 2, AS_IS, SIXTEEN_WIDENED, 0)
RUN(unsigned_bytes, uint8_t, int16_t, 2, AS_IS, SIXTEEN_WIDENED, 0)
RUN(shorts, uint16_t, uint16_t, 2, AS_IS, SIXTEEN_AS_IS, 1)
RUN(halves, uint16_t, float, 1, aten_widen_half, WIDEN_HALVES, 0)
RUN(brains, uint16_t, float, 1, WIDEN_BRAIN, SIXTEEN_BRAINS, 0)
RUN(singles, uint32_t, uint32_t, 1, AS_IS, SIXTEEN_AS_IS, 1)
RUN(doubles, uint64_t, uint64_t, 1, AS_IS, SIXTEEN_AS_IS, 1)

/* Complex numbers are a pair of units each, the real part first. */
static TARGET void NAME(run_complex_singles)(const void *source, int64_t step, int64_t count,
                                             void *target)
{
    NAME(run_doubles)(source, step, count, target);
}

static TARGET void NAME(run_complex_doubles)(const void *source, int64_t step, int64_t count,
                                             void *target)
{
    const uint64_t *from = source;
    uint64_t *to = target;
    int64_t place;
    if (step == 1) {
        memcpy(to, from, 2 * count * sizeof *to);
        return;
    }
    for (place = 0; place < count; place++) {
        to[2 * place] = from[2 * place * step];
        to[2 * place + 1] = from[2 * place * step + 1];
    }
}

/* One number a unit. */
#define ZIP(stem, element, unit, make, sixteen)                                                    \
    static TARGET void NAME(zip_##stem)(const void *source, int64_t step, int64_t count,         \
                                        int64_t columns, int64_t width, void *target)            \
    {                                                                                            \
        int64_t row, column;                                                                     \
        for (row = 0; row < count; row++) {                                                      \
            const element *from = (const element *)source + row * step;                          \
            unit *to = (unit *)target + row * width;                                             \
            for (column = 0; column + 16 <= columns; column += 16)                               \
                sixteen(from + column, to + column);                                             \
            for (; column < columns; column++)                                                   \
                to[column] = make(from[column]);                                                 \
            for (; column < width; column++)                                                     \
                to[column] = 0;                                                                  \
        }                                                                                        \
    }

ZIP(halves, uint16_t, float, aten_widen_half, WIDEN_HALVES)
ZIP(brains, uint16_t, float, WIDEN_BRAIN, SIXTEEN_BRAINS)
ZIP(singles, uint32_t, uint32_t, AS_IS, SIXTEEN_AS_IS)
ZIP(doubles, uint64_t, uint64_t, AS_IS, SIXTEEN_AS_IS)

/* Two numbers a unit. */
#define PAIR(first, second) ((uint16_t)(first) | (uint32_t)(uint16_t)(second) << 16)
#define ZIP_PAIRS(stem, element)                                                                 \
    static TARGET void NAME(zip_##stem)(const void *source, int64_t step, int64_t count,         \
                                        int64_t columns, int64_t width, void *target)            \
    {                                                                                            \
        int64_t row, column;                                                                     \
        for (row = 0; row < count; row += 2) {                                                   \
            const element *from = (const element *)source + row * step;                          \
            const element *next = from + step;                                                   \
            int i;                                                                               \
            uint32_t *to = (uint32_t *)target + row / 2 * width;                                 \
            column = 0;                                                                          \
            if (row + 1 == count)                                                                \
                for (column = 0; column < columns; column++)                                     \
                    to[column] = (uint16_t)from[column];                                         \
            else {                                                                               \
                for (; column + 16 <= columns; column += 16)                                     \
                    for (i = 0; i < 16; i++)                                                     \
                        to[column + i] = PAIR(from[column + i], next[column + i]);               \
                for (; column < columns; column++)                                               \
                    to[column] = PAIR(from[column], next[column]);                               \
            }                                                                                    \
            for (; column < width; column++)                                                     \
                to[column] = 0;                                                                  \
        }                                                                                        \
    }

ZIP_PAIRS(shorts, uint16_t)
ZIP_PAIRS(signed_bytes, int8_t)
ZIP_PAIRS(unsigned_bytes, uint8_t)

/* Four numbers a unit. */
#define QUAD(at)                                                                                 \
    ((uint32_t)from[at] | (uint32_t)second[at] << 8 | (uint32_t)third[at] << 16                  \
     | (uint32_t)fourth[at] << 24)
static TARGET void NAME(zip_bytes)(const void *source, int64_t step, int64_t count,
                                   int64_t columns, int64_t width, void *target)
{
    int64_t row, column;
    for (row = 0; row < count; row += 4) {
        const uint8_t *from = (const uint8_t *)source + row * step;
        uint32_t *to = (uint32_t *)target + row / 4 * width;
        const uint8_t *second = from + step, *third = second + step, *fourth = third + step;
        if (row + 4 <= count) {
            for (column = 0; column + 16 <= columns; column += 16)
                aten_zip_quads(from + column, step, to + column);
            for (; column < columns; column++)
                to[column] = QUAD(column);
            continue;
        }
        for (column = 0; column < columns; column++)
            to[column] = (uint32_t)from[column]
                | (row + 1 < count ? (uint32_t)second[column] << 8 : 0)
                | (row + 2 < count ? (uint32_t)third[column] << 16 : 0);
    }
}

/* Two units a number, one below the other. */
#define ZIP_COMPLEX(stem, unit)                                                                  \
    static TARGET void NAME(zip_##stem)(const void *source, int64_t step, int64_t count,         \
                                        int64_t columns, int64_t width, void *target)            \
    {                                                                                            \
        int64_t row, column;                                                                     \
        for (row = 0; row < count; row++) {                                                      \
            const unit *from = (const unit *)source + 2 * row * step;                            \
            unit *to = (unit *)target + 2 * row * width;                                         \
            for (column = 0; column < columns; column++) {                                       \
                to[column] = from[2 * column];                                                   \
                to[width + column] = from[2 * column + 1];                                       \
            }                                                                                    \
            for (; column < width; column++)                                                     \
                to[column] = to[width + column] = 0;                                             \
        }                                                                                        \
    }

ZIP_COMPLEX(complex_singles, uint32_t)
ZIP_COMPLEX(complex_doubles, uint64_t)

/* Columns of units, `row` units apart, side by side. What lies `ahead` units further on is asked
   for: it comes next. Of a cache line of each column all is turned before the next column's: where
   they lie far apart, they share few places of the cache. */
#define TURN_OF(stem, element, unit, side, turn, make)                                           \
    static TARGET void NAME(turn_##stem)(const void *source, int64_t row, int64_t units,         \
                                         int64_t columns, int64_t width, int64_t ahead,          \
                                         void *target)                                           \
    {                                                                                            \
        const element *from = source;                                                            \
        unit *to = target;                                                                       \
        const int64_t turned = columns / side * side, line = sizeof(unit) / sizeof(element);     \
        int64_t place = 0, column, parts, i;                                                     \
        for (; place + side <= units; place += parts * side) {                                   \
            parts = place + line * side <= units ? line : 1;                                     \
            for (column = 0; column < turned; column += side) {                                  \
                const element *corner = from + place + column * row;                             \
                if (side * sizeof(unit) == 64)                                                   \
                    for (i = 0; i < side; i++)                                                   \
                        __builtin_prefetch(corner + i * row + ahead, 0, 2);                      \
                for (i = 0; i < parts; i++)                                                      \
                    turn(corner + i * side, row, to + (place + i * side) * width + column,       \
                         width);                                                                 \
            }                                                                                    \
            for (; column < columns; column++)                                                   \
                for (i = place; i < place + parts * side; i++)                                   \
                    to[i * width + column] = make(from[column * row + i]);                       \
        }                                                                                        \
        for (; place < units; place++)                                                           \
            for (column = 0; column < columns; column++)                                         \
                to[place * width + column] = make(from[column * row + place]);                   \
    }

#define HALF_BITS(value) aten_bits_of_float(aten_widen_half(value))
TURN_OF(singles, uint32_t, uint32_t, SINGLES_SIDE, TURN_SINGLES, AS_IS)
TURN_OF(doubles, uint64_t, uint64_t, DOUBLES_SIDE, TURN_DOUBLES, AS_IS)
#ifdef TURN_HALVES
TURN_OF(halves, uint16_t, uint32_t, 16, TURN_HALVES, HALF_BITS)
#define TURNS_OF_HALVES NAME(turn_halves)
#else
#define TURNS_OF_HALVES NULL
#endif
#define BRAIN_BITS(value) ((uint32_t)(value) << 16)
#ifdef TURN_BRAINS
TURN_OF(brains, uint16_t, uint32_t, 16, TURN_BRAINS, BRAIN_BITS)
#define TURNS_OF_BRAINS NAME(turn_brains)
#else
#define TURNS_OF_BRAINS NULL
#endif

/* A row of results: alpha · (sums - base) + beta · addend, rounded once. */
#define FINISH(stem, sum, element, factor, from, widen, round)                                   \
    static TARGET void NAME(finish_##stem)(const aten_panel_row *row)                            \
    {                                                                                            \
        const sum *sums = row->sums;                                                             \
        const element *addend = row->addend;                                                     \
        const factor alpha = (factor)row->alpha.from, beta = (factor)row->beta.from;             \
        const sum base = (sum)row->base;                                                         \
        const int64_t count = row->count, step = row->out_step;                                  \
        element *out = row->out;                                                                 \
        int64_t i;                                                                               \
        if (!addend && step == 1)                                                                \
            for (i = 0; i < count; i++)                                                          \
                out[i] = round(alpha * (sums[i] - base));                                        \
        else if (!addend)                                                                        \
            for (i = 0; i < count; i++)                                                          \
                out[i * step] = round(alpha * (sums[i] - base));                                 \
        else if (step == 1 && row->addend_step == 1)                                             \
            for (i = 0; i < count; i++)                                                          \
                out[i] = round(alpha * (sums[i] - base) + beta * widen(addend[i]));              \
        else                                                                                     \
            for (i = 0; i < count; i++)                                                          \
                out[i * step] = round(alpha * (sums[i] - base)                                   \
                                      + beta * widen(addend[i * row->addend_step]));             \
    }

FINISH(brains, float, uint16_t, float, real, aten_widen_brain, aten_round_brain)
FINISH(halves, float, uint16_t, float, real, aten_widen_half, aten_round_half)
FINISH(bytes, uint32_t, uint8_t, uint32_t, whole, AS_IS, (uint8_t))
FINISH(shorts, uint32_t, uint16_t, uint32_t, whole, AS_IS, (uint16_t))
FINISH(ints, uint32_t, uint32_t, uint32_t, whole, AS_IS, AS_IS)
FINISH(longs, uint64_t, uint64_t, uint64_t, whole, AS_IS, AS_IS)

#define FINISH_COMPLEX(stem, part)                                                               \
    static TARGET void NAME(finish_##stem)(const aten_panel_row *row)                            \
    {                                                                                            \
        const part *real = row->sums, *imaginary = row->more;                                    \
        const part *addend = row->addend;                                                        \
        const part a = (part)row->alpha.real, b = (part)row->alpha.imaginary;                    \
        const part c = (part)row->beta.real, d = (part)row->beta.imaginary;                      \
        const int64_t step = 2 * row->out_step, next = 2 * row->addend_step;                     \
        part *out = row->out;                                                                    \
        int64_t i;                                                                               \
        if (!addend && a == 1 && b == 0 && step == 2) {                                          \
            for (i = 0; i < row->count; i++) {                                                   \
                out[2 * i] = real[i];                                                            \
                out[2 * i + 1] = imaginary[i];                                                   \
            }                                                                                    \
            return;                                                                              \
        }                                                                                        \
        if (!addend && a == 1 && b == 0) {                                                       \
            for (i = 0; i < row->count; i++) {                                                   \
                out[i * step] = real[i];                                                         \
                out[i * step + 1] = imaginary[i];                                                \
            }                                                                                    \
            return;                                                                              \
        }                                                                                        \
        for (i = 0; i < row->count; i++) {                                                       \
            part first = a * real[i] - b * imaginary[i], second = a * imaginary[i] + b * real[i]; \
            if (addend) {                                                                        \
                const part x = addend[i * next], y = addend[i * next + 1];                       \
                first += c * x - d * y;                                                          \
                second += c * y + d * x;                                                         \
            }                                                                                    \
            out[i * step] = first;                                                               \
            out[i * step + 1] = second;                                                          \
        }                                                                                        \
    }

FINISH_COMPLEX(complex_singles, float)
FINISH_COMPLEX(complex_doubles, double)

/* In the order of the ATEN_FINISH constants. */
static const aten_panel_finish NAME(finishes)[] = {
    NAME(finish_bytes), NAME(finish_shorts), NAME(finish_ints), NAME(finish_longs),
    NAME(finish_halves), NAME(finish_brains), NAME(finish_complex_singles),
    NAME(finish_complex_doubles),
};

/* What bytes of the right operand are flipped by, units at a time. */
static TARGET void NAME(flip)(uint32_t *units, int64_t count, uint32_t by)
{
    int64_t i;
    for (i = 0; i < count; i++)
        units[i] ^= by;
}

/* The sum of bytes that lie side by side; `count` is below 2^24. */
static TARGET int64_t NAME(sum_bytes)(const int8_t *bytes, int64_t count)
{
    int32_t total = 0;
    int64_t i;
    for (i = 0; i < count; i++)
        total += bytes[i];
    return total;
}

#define PACKS(stem) NAME(run_##stem), NAME(zip_##stem)

/* In the order of the ATEN_PACK constants. */
static const aten_panel_packs NAME(packs)[] = {
    {PACKS(bytes), NAME(turn_singles), NAME(turn_singles), NULL, 1, 4, 1, 1},
    {PACKS(signed_bytes), NAME(turn_singles), NULL, NULL, 1, 2, 1, 0},
    {PACKS(unsigned_bytes), NAME(turn_singles), NULL, NULL, 1, 2, 1, 0},
    {PACKS(shorts), NAME(turn_singles), NAME(turn_singles), NULL, 2, 2, 1, 1},
    {PACKS(halves), NAME(turn_singles), TURNS_OF_HALVES, NULL, 2, 1, 1, 0},
    {PACKS(brains), NAME(turn_singles), TURNS_OF_BRAINS, NULL, 2, 1, 1, 0},
    {PACKS(singles), NAME(turn_singles), NAME(turn_singles), NULL, 4, 1, 1, 1},
    {PACKS(doubles), NAME(turn_doubles), NAME(turn_doubles), NULL, 8, 1, 1, 1},
    {PACKS(complex_singles), NAME(turn_singles), NAME(turn_singles),
     &NAME(parts_floats), 8, 1, 2, 1},
    {PACKS(complex_doubles), NAME(turn_doubles), NAME(turn_doubles),
     &NAME(parts_doubles), 16, 1, 2, 1},
};

#undef RUN
#undef ZIP
#undef ZIP_PAIRS
#undef PAIR
#undef QUAD
#undef ZIP_COMPLEX
#undef TURN_OF
#undef PACKS
#undef FINISH
#undef FINISH_COMPLEX
#undef NAME
#undef TURN_SINGLES
#undef TURN_DOUBLES
#undef TURN_HALVES
#undef TURNS_OF_HALVES
#undef HALF_BITS
#undef TURN_BRAINS
#undef TURNS_OF_BRAINS
#undef BRAIN_BITS
#undef SINGLES_SIDE
#undef DOUBLES_SIDE
#undef WIDEN_HALVES
#undef SIXTEEN
#undef SIXTEEN_AS_IS
#undef SIXTEEN_BRAINS
#undef SIXTEEN_WIDENED
#undef AS_IS
#undef WIDEN_BRAIN
