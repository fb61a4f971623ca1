/* Factors of one small matrix, and what they give, for one type and level of vector instructions.

   Matrices lie row after row, ATEN_SIDE numbers apart, and are worked on by whole rows: no sum is
   parted among lanes, so that every level gives the same bits.

   Expects REAL, ROOT, ABSOLUTE, TINY, NAME(stem) and TARGET. */

typedef REAL NAME(lanes) __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));

#define LANES ((int64_t)(sizeof(NAME(lanes)) / sizeof(REAL)))
#define IN(place) (*(NAME(lanes) *)(place))
/* Numbers of a row with the zeros that it is filled up with, to be worked on by whole lanes. */
#define FILLED(columns)                                                                            \
    ((columns) <= LANES ? LANES : (columns) <= 2 * LANES ? 2 * LANES : (int64_t)ATEN_SIDE)

/* Copies a matrix in from anywhere; returns whether all of its numbers are finite. */
static TARGET int NAME(load)(const REAL *from, int64_t row_step, int64_t column_step, int64_t rows,
                             int64_t columns, REAL *restrict a)
{
    const int64_t filled = FILLED(columns);
    NAME(lanes) differences = {0};
    REAL sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        REAL *row = a + i * ATEN_SIDE;
        if (column_step == 1)
            for (int64_t j = 0; j < columns; j++)
                row[j] = from[i * row_step + j];
        else
            for (int64_t j = 0; j < columns; j++)
                row[j] = from[i * row_step + j * column_step];
        for (int64_t j = columns; j < filled; j++)
            row[j] = 0;
        /* What was written number by number is not read by lanes at once. */
        if (columns < LANES)
            for (int64_t j = 0; j < columns; j++)
                sum += row[j] - row[j];
        else
            for (int64_t j = 0; j < filled; j += LANES)
                differences += IN(row + j) - IN(row + j);
    }
    for (int64_t j = 0; j < LANES; j++)
        sum += differences[j];
    return sum == 0;
}

/* Copies a matrix out, column after column, or, turned, row after row. */
static TARGET void NAME(store)(const REAL *restrict a, int64_t rows, int64_t columns, int turned,
                               REAL *restrict to)
{
    if (turned)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                to[i * columns + j] = a[i * ATEN_SIDE + j];
    else
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++)
                to[j * rows + i] = a[i * ATEN_SIDE + j];
}

static inline TARGET void NAME(subtract)(REAL *restrict row, const REAL *restrict other, REAL factor,
                                         int64_t begin, int64_t end)
{
    for (int64_t j = begin; j < end; j++)
        row[j] -= factor * other[j];
}

static inline TARGET void NAME(exchange)(REAL *a, int64_t one, int64_t other, int64_t columns)
{
    if (one != other)
        for (int64_t j = 0; j < columns; j++) {
            const REAL x = a[one * ATEN_SIDE + j];
            a[one * ATEN_SIDE + j] = a[other * ATEN_SIDE + j];
            a[other * ATEN_SIDE + j] = x;
        }
}

/* a = P L U in place; pivots, from 1, name the row that each was exchanged with, the first of the
   largest. Returns 0 where a pivot is zero. */
static TARGET int NAME(factor)(REAL *a, int64_t rows, int64_t columns, int32_t *pivots)
{
    const int64_t steps = rows < columns ? rows : columns;
    for (int64_t k = 0; k < steps; k++) {
        REAL largest = ABSOLUTE(a[k * ATEN_SIDE + k]);
        int64_t chosen = k;
        for (int64_t i = k + 1; i < rows; i++) {
            const REAL size = ABSOLUTE(a[i * ATEN_SIDE + k]);
            if (size > largest) {
                largest = size;
                chosen = i;
            }
        }
        pivots[k] = (int32_t)chosen + 1;
        if (!(largest > 0))
            return 0;
        NAME(exchange)(a, k, chosen, columns);
        const REAL pivot = a[k * ATEN_SIDE + k];
        for (int64_t i = k + 1; i < rows; i++) {
            const REAL factor = a[i * ATEN_SIDE + k] / pivot;
            a[i * ATEN_SIDE + k] = factor;
            NAME(subtract)(a + i * ATEN_SIDE, a + k * ATEN_SIDE, factor, k + 1, columns);
        }
    }
    return 1;
}

/* Substitution in `count` neighbouring lanes, which stay in registers while a row is summed. What was
   found last is subtracted last: rows overlap. */
static inline __attribute__((always_inline)) TARGET void
NAME(substitute_lanes)(const REAL *restrict a, int64_t rows, int upper, int unit, REAL *restrict x,
                       const int count)
{
    for (int64_t step = 0; step < rows; step++) {
        const int64_t i = upper ? rows - 1 - step : step;
        NAME(lanes) held[4];
        for (int c = 0; c < count; c++)
            held[c] = IN(x + i * ATEN_SIDE + c * LANES);
        for (int64_t before = 0; before < step; before++) {
            const int64_t j = upper ? rows - 1 - before : before;
            for (int c = 0; c < count; c++)
                held[c] -= a[i * ATEN_SIDE + j] * IN(x + j * ATEN_SIDE + c * LANES);
        }
        for (int c = 0; c < count; c++) {
            if (!unit)
                held[c] /= a[i * ATEN_SIDE + i];
            IN(x + i * ATEN_SIDE + c * LANES) = held[c];
        }
    }
}

/* A triangle X = x in place, by its rows from the first, or, upper, from the last. */
static TARGET void NAME(substitute)(const REAL *restrict a, int64_t rows, int upper, int unit,
                                    REAL *restrict x, int64_t width)
{
    int64_t first = 0;
    for (; first + 2 * LANES < width; first += 4 * LANES)
        NAME(substitute_lanes)(a, rows, upper, unit, x + first, 4);
    for (; first + LANES < width; first += 2 * LANES)
        NAME(substitute_lanes)(a, rows, upper, unit, x + first, 2);
    if (first < width)
        NAME(substitute_lanes)(a, rows, upper, unit, x + first, 1);
}

/* P L U X = x in place. */
static TARGET void NAME(solve)(const REAL *lu, const int32_t *pivots, int64_t rows, REAL *x,
                               int64_t width)
{
    for (int64_t k = 0; k < rows; k++)
        NAME(exchange)(x, k, pivots[k] - 1, width);
    NAME(substitute)(lu, rows, 0, 1, x, width);
    NAME(substitute)(lu, rows, 1, 0, x, width);
}

static TARGET void NAME(identity)(REAL *a, int64_t rows, int64_t columns)
{
    const int64_t filled = FILLED(columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < filled; j++)
            a[i * ATEN_SIDE + j] = i == j;
}

/* a = Uᵀ U in place, of its upper triangle, and zeros below. Returns 0 where it is not positive. */
static TARGET int NAME(halve)(REAL *a, int64_t rows)
{
    for (int64_t k = 0; k < rows; k++) {
        REAL *row = a + k * ATEN_SIDE;
        if (!(row[k] > 0))
            return 0;
        const REAL root = ROOT(row[k]);
        row[k] = root;
        for (int64_t j = k + 1; j < rows; j++)
            row[j] /= root;
        for (int64_t i = k + 1; i < rows; i++) {
            NAME(subtract)(a + i * ATEN_SIDE, row, row[i], i, rows);
            a[i * ATEN_SIDE + k] = 0;
        }
    }
    return 1;
}

/* Applies 1 - tau v vᵀ, of which v lies in column k of `a` below a one, to columns from `begin`. */
static TARGET void NAME(reflect)(const REAL *a, int64_t rows, int64_t k, REAL tau, REAL *to,
                                 int64_t begin, int64_t end)
{
    REAL sums[ATEN_SIDE];
    for (int64_t j = begin; j < end; j++)
        sums[j] = to[k * ATEN_SIDE + j];
    for (int64_t i = k + 1; i < rows; i++)
        NAME(subtract)(sums, to + i * ATEN_SIDE, -a[i * ATEN_SIDE + k], begin, end);
    for (int64_t j = begin; j < end; j++) {
        sums[j] *= tau;
        to[k * ATEN_SIDE + j] -= sums[j];
    }
    for (int64_t i = k + 1; i < rows; i++) {
        const REAL factor = a[i * ATEN_SIDE + k];
        NAME(subtract)(to + i * ATEN_SIDE, sums, factor, begin, end);
    }
}

/* a = Q R: R in its upper triangle; Q, of `kept` columns, in `q`. Diagonals of R have the signs
   that Householder's vectors give them. Returns 0 where a norm is too small or too large. */
static TARGET int NAME(orthogonalize)(REAL *a, int64_t rows, int64_t columns, REAL *q, int64_t kept)
{
    const int64_t steps = rows < columns ? rows : columns;
    REAL taus[ATEN_SIDE];
    for (int64_t k = 0; k < steps; k++) {
        const REAL alpha = a[k * ATEN_SIDE + k];
        REAL below = 0;
        int others = 0;
        for (int64_t i = k + 1; i < rows; i++) {
            below += a[i * ATEN_SIDE + k] * a[i * ATEN_SIDE + k];
            others |= a[i * ATEN_SIDE + k] != 0;
        }
        taus[k] = 0;
        if (!others)
            continue;
        const REAL square = alpha * alpha + below;
        if (!(below > TINY && square - square == 0))
            return 0;
        const REAL norm = ROOT(square), beta = alpha < 0 ? norm : -norm;
        taus[k] = (beta - alpha) / beta;
        for (int64_t i = k + 1; i < rows; i++)
            a[i * ATEN_SIDE + k] /= alpha - beta;
        a[k * ATEN_SIDE + k] = beta;
        NAME(reflect)(a, rows, k, taus[k], a, k + 1, columns);
    }
    NAME(identity)(q, rows, kept);
    for (int64_t k = steps - 1; k >= 0; k--)
        if (taus[k] != 0)
            NAME(reflect)(a, rows, k, taus[k], q, k, kept);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < i && j < columns; j++)
            a[i * ATEN_SIDE + j] = 0;
    return 1;
}

/* Does what `work` says to one matrix; returns 0 for what is left to a library. */
static TARGET int NAME(compute)(const aten_small_work *work, const REAL *given, const REAL *right,
                                int64_t index)
{
    REAL a[ATEN_SIDE * ATEN_SIDE], x[ATEN_SIDE * ATEN_SIDE];
    int32_t pivots[ATEN_SIDE];
    const int64_t rows = work->rows, columns = work->columns, width = work->width;
    const int64_t steps = rows < columns ? rows : columns;
    REAL *out = (REAL *)work->out + index * work->out_size;
    if (!NAME(load)(given, work->row_step, work->column_step, rows, columns, a))
        return 0;
    if (right && !NAME(load)(right, work->right_row_step, work->right_column_step, rows, width, x))
        return 0;
    switch (work->what) {
    case ATEN_CHOLESKY:
        if (!NAME(halve)(a, rows))
            return 0;
        NAME(store)(a, rows, rows, work->turned, out);
        return 1;
    case ATEN_CHOLESKY_SOLVE:
    case ATEN_TRIANGULAR:
        for (int64_t i = 0; i < rows; i++)
            if (!work->unit && a[i * ATEN_SIDE + i] == 0)
                return 0;
        NAME(substitute)(a, rows, work->upper, work->unit, x, width);
        if (work->what == ATEN_CHOLESKY_SOLVE) {
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < i; j++) {
                    const REAL held = a[i * ATEN_SIDE + j];
                    a[i * ATEN_SIDE + j] = a[j * ATEN_SIDE + i];
                    a[j * ATEN_SIDE + i] = held;
                }
            NAME(substitute)(a, rows, 1, 0, x, width);
        }
        NAME(store)(x, rows, width, work->turned, out);
        return 1;
    case ATEN_QR:
        if (!NAME(orthogonalize)(a, rows, columns, x, width))
            return 0;
        NAME(store)(x, rows, width, 0, out);
        NAME(store)(a, width, columns, 0, (REAL *)work->factors + index * width * columns);
        return 1;
    }
    if (!NAME(factor)(a, rows, columns, pivots))
        return 0;
    if (work->factors)
        NAME(store)(a, rows, columns, 0, (REAL *)work->factors + index * rows * columns);
    if (work->pivots)
        for (int64_t k = 0; k < steps; k++)
            work->pivots[index * steps + k] = pivots[k];
    if (work->what == ATEN_INVERSE)
        NAME(identity)(x, rows, rows);
    if (work->what == ATEN_INVERSE || work->what == ATEN_SOLVE) {
        NAME(solve)(a, pivots, rows, x, width);
        NAME(store)(x, rows, width, 0, out);
    }
    if (work->what != ATEN_DETERMINANT && work->what != ATEN_LOGARITHM)
        return 1;
    double sign = 1, product = 1, sum = 0;
    for (int64_t k = 0; k < rows; k++) {
        const double pivot = a[k * ATEN_SIDE + k];
        sign = (pivots[k] != k + 1) != (pivot < 0) ? -sign : sign;
        product *= pivot < 0 ? -pivot : pivot;
        if (work->what == ATEN_LOGARITHM)
            sum += log(pivot < 0 ? -pivot : pivot);
    }
    *out = (REAL)(work->what == ATEN_LOGARITHM ? sign : sign * product);
    if (work->what == ATEN_LOGARITHM)
        ((REAL *)work->logarithms)[index] = (REAL)sum;
    return 1;
}

#undef LANES
#undef FILLED
#undef IN
#undef REAL
#undef ROOT
#undef ABSOLUTE
#undef TINY
#undef NAME
