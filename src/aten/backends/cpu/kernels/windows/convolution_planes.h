/* Kernels of convolutions whose square windows of 3, 5 or 7 taps a side see one channel each, in its
   plane as that lies. Part of convolution_kernels.h, whose macros it uses.

   Vectors of positions go down the plane. What is there of a line is loaded once, or with what lies
   a lane or more beside it where the plane is wider: a load that is not aligned takes as long as
   two, which moving lanes does not. A line counts for the sums of all positions that see it, so
   there are as many of them at a time as steps in a window. */

/* The lanes of a vector of positions, from `column` on and `step` apart, for which a tap that looks
   `offset` further on looks into a plane. */
static inline __attribute__((always_inline)) TARGET uint32_t
NAME(lanes_inside)(const int step, const aten_grid *grid, int64_t column, int64_t offset)
{
    const int64_t first = offset + step * column;
    const int64_t behind = (grid->seen_columns - first + step - 1) / step;
    const int64_t high = behind < 0 ? 0 : behind < LANES ? behind : LANES;
    int64_t low = first < 0 ? (step - 1 - first) / step : 0;
    if (low > high)
        low = high;
    if (step == 2)
        return EVEN_MASK(low, high);
    return ((1u << high) - 1) & ~((1u << low) - 1);
}

/* What each tap of a line of a window sees of a line of the plane, `from` where the first tap of
   the first position looks. Beside vectors that are `alone` nothing is seen. */
static inline __attribute__((always_inline)) TARGET void
NAME(see_line)(const int vectors, const int height, const int alone, const ELEMENT *from,
               const uint32_t inside[7][2], NAME(vector) seen[7][2])
{
    const int middle = height / 2;
    const NAME(vector) nothing = {0};
    int tap, j;
    ATEN_UNROLL for (j = 0; j < vectors; j++)
        seen[middle][j] =
            (NAME(vector))LOAD_PART(from + middle + j * LANES, LANES_OF(inside[middle][j]));
    ATEN_UNROLL for (tap = 0; tap < height; tap++)
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            const int end = tap < middle ? j == 0 : j == vectors - 1;
            if (tap == middle)
                continue;
            if (end && !alone)
                seen[tap][j] =
                    (NAME(vector))LOAD_PART(from + tap + j * LANES, LANES_OF(inside[tap][j]));
            else if (tap < middle)
                seen[tap][j] = SHIFTED(end ? nothing : seen[middle][j - 1], seen[middle][j],
                                       LANES - (middle - tap));
            else
                seen[tap][j] = SHIFTED(seen[middle][j], end ? nothing : seen[middle][j + 1],
                                       tap - middle);
        }
}

/* The same where positions are two columns apart. */
static inline __attribute__((always_inline)) TARGET void
NAME(see_line_by_two)(const int vectors, const int height, const int alone, const ELEMENT *from,
                      const uint32_t inside[7][2], NAME(vector) seen[7][2])
{
    const NAME(vector) nothing = {0};
    int tap, j;
    ATEN_UNROLL for (j = 0; j < vectors; j++) {
        /* Lanes that the first two taps see, by turns. */
        const uint32_t both = inside[0][j] | inside[1][j] << 1;
        const ELEMENT *at = from + 2 * j * LANES;
        const NAME(vector) low = (NAME(vector))LOAD_PART(at, LANES_OF(both & ((1u << LANES) - 1)));
        const NAME(vector) high = (NAME(vector))LOAD_PART(at + LANES, LANES_OF(both >> LANES));
        seen[0][j] = PARTED(0, low, high);
        seen[1][j] = PARTED(1, low, high);
    }
    ATEN_UNROLL for (tap = 2; tap < height; tap++)
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            const int end = j == vectors - 1;
            if (end && !alone)
                seen[tap][j] =
                    (NAME(vector))LOAD_EVEN(from + tap + 2 * j * LANES, inside[tap][j]);
            else
                seen[tap][j] = SHIFTED(seen[tap & 1][j], end ? nothing : seen[tap & 1][j + 1],
                                       tap / 2);
        }
}

/* Whether so many vectors hold all columns, and what is moved into their ends is never seen. */
static inline __attribute__((always_inline)) TARGET int
NAME(is_alone)(const int vectors, const int height, const int step, const aten_grid *grid)
{
    /* Where loaded columns begin, and how many of them positions see behind the last one's. */
    const int64_t first = grid->offsets[0] + (step == 1 ? height / 2 : 0);
    const int64_t behind = step == 1 ? height / 2 : (height - 1) / 2;
    if (grid->columns > vectors * LANES || (step == 1 && first > 0))
        return 0;
    return grid->columns + behind <= vectors * LANES
           || grid->seen_columns <= first + step * vectors * LANES;
}

/* Vectors of positions going down a plane: sums that are not finished, what each tap of a line sees,
   and where the next line is read and written. */
typedef struct {
    NAME(vector) total[7][2], factor[9], bias;
    uint32_t inside[7][2];
    MASK lanes[2];
    const ELEMENT *from;
    ELEMENT *to;
    ELEMENT low, high;
    int64_t line, lines, seen_row, seen_rows, pitch, out_line;
    int adds;
} NAME(descent);

/* The sums of one line of positions, which nothing is added to any more. */
static inline __attribute__((always_inline)) TARGET void
NAME(settle_line)(const int vectors, const NAME(vector) *total, const aten_finish *finish,
                  NAME(descent) *now)
{
    int j;
    ATEN_KEPT_NUMBER(now->adds);
    ATEN_UNROLL for (j = 0; j < vectors; j++) {
        ELEMENT *to = now->to + j * LANES;
        NAME(vector) value = total[j] + now->bias;
        if (now->adds)
            value += (NAME(vector))LOAD_PART(NAME(residual_of)(finish, to), now->lanes[j]);
        value = NAME(limited)(value, now->low, now->high);
        STORE_PART(to, now->lanes[j], value);
    }
    now->to += now->out_line;
}

/* One line of the plane, the `phase`-th of as many as sums take turns. */
static inline __attribute__((always_inline)) TARGET void
NAME(plane_line)(const int phase, const int vectors, const int height, const int step,
                 const int alone, const aten_grid *grid, NAME(descent) *now)
{
    const int sums = (height + step - 1) / step;
    const int last = (phase - (height - 1) + step * sums) / step % sums;
    const ELEMENT *weights = grid->weights;
    NAME(vector) seen[7][2];
    int below, tap, j;
    if ((uint64_t)now->seen_row >= (uint64_t)now->seen_rows)
        ATEN_UNROLL for (tap = 0; tap < height; tap++)
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                seen[tap][j] = (NAME(vector)){0};
    else if (step == 1)
        NAME(see_line)(vectors, height, alone, now->from, now->inside, seen);
    else
        NAME(see_line_by_two)(vectors, height, alone, now->from, now->inside, seen);
    /* The code behind is not to be made twice. */
    ATEN_UNROLL for (tap = 0; tap < height; tap++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            KEPT(seen[tap][j]);
    now->from += now->pitch;
    now->seen_row++;
    ATEN_UNROLL for (below = 0; below < height; below++) {
        const int at = (phase - below + step * sums) / step % sums;
        if ((phase + below) % step != 0)
            continue;
        /* Of many factors it is worth while to look whether there is such a position. */
        if (height > 3 && (uint64_t)(now->line - below) > (uint64_t)(now->lines - height))
            continue;
        ATEN_UNROLL for (tap = 0; tap < height; tap++) {
            const int place = below * height + tap;
            const NAME(vector) one = height == 3 ? now->factor[place]
                                                 : (NAME(vector))LOADED_ONCE(weights + place);
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                now->total[at][j] += one * seen[tap][j];
        }
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            KEPT(now->total[at][j]);
    }
    if ((phase + height - 1) % step == 0) {
        /* Sums of positions before the first are none. */
        if (now->line >= height - 1)
            NAME(settle_line)(vectors, now->total[last], grid->finish, now);
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            now->total[last][j] = (NAME(vector)){0};
    }
    now->line++;
}

/* `vectors` vectors of positions, from `column` on, in every line of them. */
static inline __attribute__((always_inline)) TARGET void
NAME(plane_columns)(const int vectors, const int height, const int step, const int alone,
                    const aten_grid *grid, int64_t column)
{
    const int sums = (height + step - 1) / step;
    const aten_finish *finish = grid->finish;
    NAME(descent) now;
    int tap, i, j;
    now.bias = NAME(all)(grid->bias ? *(const ELEMENT *)grid->bias : 0);
    /* Without limits these are infinite, so that there is one way only. */
    now.low = finish ? (ELEMENT)finish->low : -INFINITY;
    now.high = finish ? (ELEMENT)finish->high : INFINITY;
    now.adds = finish && finish->adds;
    now.from = (const ELEMENT *)grid->data + grid->top * grid->pitch + step * column
               + grid->offsets[0];
    now.to = (ELEMENT *)grid->out + column;
    now.line = 0;
    now.lines = step * (grid->rows - 1) + height;
    now.seen_row = grid->top;
    now.seen_rows = grid->seen_rows;
    now.pitch = grid->pitch;
    now.out_line = grid->out_line;
    ATEN_UNROLL for (j = 0; j < vectors; j++) {
        const int64_t left = grid->columns - column - j * LANES;
        now.lanes[j] = MAKE_MASK(0, left < 0 ? 0 : left < LANES ? left : LANES);
    }
    ATEN_UNROLL for (tap = 0; tap < height; tap++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            now.inside[tap][j] =
                NAME(lanes_inside)(step, grid, column + j * LANES, grid->offsets[0] + tap);
    if (height == 3)
        ATEN_UNROLL for (i = 0; i < 9; i++)
            now.factor[i] = (NAME(vector))LOADED_ONCE((const ELEMENT *)grid->weights + i);
    ATEN_UNROLL for (i = 0; i < sums; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            now.total[i][j] = (NAME(vector)){0};
#define LINE(phase)                                                                              \
    if (phase < step * sums) {                                                                   \
        if (now.line == now.lines)                                                               \
            return;                                                                              \
        NAME(plane_line)(phase, vectors, height, step, alone, grid, &now);                       \
    }
    for (;;) {
        LINE(0) LINE(1) LINE(2) LINE(3) LINE(4) LINE(5) LINE(6) LINE(7)
    }
#undef LINE
}

/* Where there are 16 registers, sums of two vectors do not fit into them beside what 5 taps see. */
#define MAY_PAIR(height) (LANES == 16 || height == 3)

#define PLANE_OF(height, step)                                                                   \
    static __attribute__((noinline)) TARGET void NAME(plane_##height##_##step)(                  \
        const aten_grid *grid)                                                                   \
    {                                                                                            \
        const int64_t columns = grid->columns;                                                   \
        int64_t column = 0;                                                                      \
        if (NAME(is_alone)(1, height, step, grid)) {                                             \
            NAME(plane_columns)(1, height, step, 1, grid, 0);                                    \
            return;                                                                              \
        }                                                                                        \
        if (MAY_PAIR(height) && NAME(is_alone)(2, height, step, grid)) {                    \
            NAME(plane_columns)(2, height, step, 1, grid, 0);                                    \
            return;                                                                              \
        }                                                                                        \
        for (; MAY_PAIR(height) && column + LANES < columns; column += 2 * LANES)           \
            NAME(plane_columns)(2, height, step, 0, grid, column);                               \
        for (; column < columns; column += LANES)                                                \
            NAME(plane_columns)(1, height, step, 0, grid, column);                               \
    }
#define PLANE_NAMES(height) {NAME(plane_##height##_1), NAME(plane_##height##_2)}
PLANE_OF(3, 1) PLANE_OF(5, 1) PLANE_OF(7, 1)
PLANE_OF(3, 2) PLANE_OF(5, 2) PLANE_OF(7, 2)

/* Positions of a plane, in steps of 1 or 2. */
static TARGET void NAME(slide_plane)(const aten_grid *grid, int64_t step)
{
    static void (*const planes[3][2])(const aten_grid *) = {
        PLANE_NAMES(3),
        PLANE_NAMES(5),
        PLANE_NAMES(7),
    };
    planes[(grid->height - 3) / 2][step - 1](grid);
}

#undef PLANE_OF
#undef MAY_PAIR
#undef PLANE_NAMES

#ifdef ZIPPED

/* A plane whose windows of three by three moved by two with one line of padding, seen from what they
   saw: each element goes to the places that its windows weigh. Two lines of results and as many
   lanes at a time; sums go from the last tap to the first. Elements of the plane are `data`, and its
   size what is seen. */
#define ADD_TAP(sums, tap, line)                                                                 \
    do {                                                                                         \
        sums += factor[tap] * (line);                                                            \
        KEPT(sums); /* The next product is rounded with this sum, whatever follows. */           \
    } while (0)
#define SETTLE_PAIR()                                                                            \
    do {                                                                                         \
        even += bias;                                                                            \
        odd += bias;                                                                             \
        STORE_PART(to, low, ZIPPED(0, even, odd));                                               \
        STORE_PART(to + LANES, high, ZIPPED(1, even, odd));                                      \
        to += grid->out_line;                                                                    \
    } while (0)
static TARGET void NAME(spread_plane)(const aten_grid *grid)
{
    const ELEMENT *weights = grid->weights;
    const NAME(vector) bias = NAME(all)(grid->bias ? *(const ELEMENT *)grid->bias : 0);
    const int64_t halves = (grid->columns + 1) / 2, lines = (grid->rows + 1) / 2;
    NAME(vector) factor[9];
    int64_t x, y;
    int i;
    ATEN_UNROLL for (i = 0; i < 9; i++)
        factor[i] = (NAME(vector))LOADED_ONCE(weights + i);
    for (x = 0; x < halves; x += LANES) {
        const int64_t seen = grid->seen_columns - x, left = grid->columns - 2 * x;
        const MASK here = MAKE_MASK(0, seen < 0 ? 0 : seen < LANES ? seen : LANES);
        const MASK beside = MAKE_MASK(0, seen < 1 ? 0 : seen - 1 < LANES ? seen - 1 : LANES);
        const MASK low = MAKE_MASK(0, left < LANES ? left : LANES);
        const MASK high =
            MAKE_MASK(0, left < LANES ? 0 : left - LANES < LANES ? left - LANES : LANES);
        const ELEMENT *from = (const ELEMENT *)grid->data + x;
        ELEMENT *to = (ELEMENT *)grid->out + 2 * x;
        NAME(vector) next[2] = {{0}, {0}}, line[2];
        if (grid->seen_rows > 0) {
            next[0] = (NAME(vector))LOAD_PART(from, here);
            next[1] = (NAME(vector))LOAD_PART(from + 1, beside);
        }
        for (y = 0; y < lines; y++) {
            NAME(vector) even = {0}, odd = {0};
            line[0] = next[0];
            line[1] = next[1];
            next[0] = next[1] = (NAME(vector)){0};
            from += grid->pitch;
            if (y + 1 < grid->seen_rows) {
                next[0] = (NAME(vector))LOAD_PART(from, here);
                next[1] = (NAME(vector))LOAD_PART(from + 1, beside);
            }
            ADD_TAP(even, 4, line[0]);
            ADD_TAP(odd, 5, line[0]);
            ADD_TAP(odd, 3, line[1]);
            SETTLE_PAIR();
            if (2 * y + 1 == grid->rows)
                break;
            even = odd = (NAME(vector)){0};
            ADD_TAP(even, 7, line[0]);
            ADD_TAP(even, 1, next[0]);
            ADD_TAP(odd, 8, line[0]);
            ADD_TAP(odd, 6, line[1]);
            ADD_TAP(odd, 2, next[0]);
            ADD_TAP(odd, 0, next[1]);
            SETTLE_PAIR();
        }
    }
}

#undef ADD_TAP
#undef SETTLE_PAIR
#endif
