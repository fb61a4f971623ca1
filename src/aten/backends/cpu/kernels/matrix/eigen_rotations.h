/* Eigenvalues and eigenvectors of one small symmetric matrix, for one type and level of vector
   instructions: Householder's reduction to a tridiagonal matrix, and QL iterations with implicit
   shifts (Martin, Reinsch and Wilkinson, Numerische Mathematik 11, 1968; Bowdler and others, the same
   journal, 11, 1968).

   Matrices lie row after row, ATEN_EIGEN_SIDE numbers apart, and are worked on by whole rows: no sum
   is parted among lanes, so that every level gives the same bits.

   Expects IS_DOUBLE, NAME(stem) and TARGET. */

/* MOST is an exponent of two whose power and its inverse are normal numbers. Squares of numbers below
   TINY lose something, and those of such numbers times ENLARGED nothing. */
#if IS_DOUBLE
#define REAL double
#define ROOT sqrt
#define ABSOLUTE fabs
#define SIGNED copysign
#define SCALED ldexp
#define EXPONENT frexp
#define EPSILON DBL_EPSILON
#define MOST 1021
#define TINY 1e-140
#define ENLARGED 0x1p500
#else
#define REAL float
#define ROOT sqrtf
#define ABSOLUTE fabsf
#define SIGNED copysignf
#define SCALED ldexpf
#define EXPONENT frexpf
#define EPSILON FLT_EPSILON
#define MOST 125
#define TINY 1e-12f
#define ENLARGED 0x1p60f
#endif

#define ROW(a, i) ((a) + (i) * ATEN_EIGEN_SIDE)

/* The sum of products of two runs, in four parts. */
static inline TARGET REAL NAME(dot)(const REAL *one, const REAL *other, int64_t begin, int64_t end)
{
    REAL sums[4] = {0, 0, 0, 0};
    int64_t i = begin;
    for (; i + 4 <= end; i += 4)
        for (int64_t j = 0; j < 4; j++)
            sums[j] += one[i + j] * other[i + j];
    for (; i < end; i++)
        sums[0] += one[i] * other[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The length of a vector of two numbers. Squares of small ones would vanish, and what is turned by
   their sine and cosine would not keep its length. */
static inline TARGET REAL NAME(length)(REAL f, REAL g)
{
    if (ABSOLUTE(f) + ABSOLUTE(g) < TINY) {
        f *= ENLARGED;
        g *= ENLARGED;
        return ROOT(f * f + g * g) / ENLARGED;
    }
    return ROOT(f * f + g * g);
}

/* The reflection I - factor v v' that takes a column below its `k`-th number to a multiple of the
   unit vector; the column becomes v, whose first number is one. Returns the multiple. */
static TARGET REAL NAME(reflect)(REAL *v, int64_t k, int64_t n, REAL *factor)
{
    REAL most = 0, scale = 1, first, rest, made;
    for (int64_t i = k + 1; i < n; i++)
        most = ABSOLUTE(v[i]) > most ? ABSOLUTE(v[i]) : most;
    if (most > 0 && most < TINY) {
        scale = most;
        for (int64_t i = k + 1; i < n; i++)
            v[i] /= most;
    }
    first = v[k + 1];
    rest = NAME(dot)(v, v, k + 2, n);
    *factor = 0;
    if (rest == 0) {
        for (int64_t i = k + 1; i < n; i++)
            v[i] = i == k + 1;
        return scale * first;
    }
    made = -SIGNED(ROOT(first * first + rest), first);
    *factor = (made - first) / made;
    for (int64_t i = k + 2; i < n; i++)
        v[i] /= first - made;
    v[k + 1] = 1;
    return scale * made;
}

/* a = Q T Q' with T of `diagonal` and `beside`. Reflections stay in the rows of a, which are zero up to
   their diagonal, and their factors in `factors`. */
static TARGET void NAME(reduce)(REAL *restrict a, int64_t n, REAL *diagonal, REAL *beside,
                                REAL *factors)
{
    for (int64_t k = 0; k < n; k++) {
        REAL *restrict v = ROW(a, k);
        REAL w[ATEN_EIGEN_SIDE] = {0};
        REAL half;
        diagonal[k] = v[k];
        beside[k] = factors[k] = 0;
        if (k == n - 1)
            break;
        beside[k] = NAME(reflect)(v, k, n, &factors[k]);
        for (int64_t i = 0; i <= k; i++)
            v[i] = 0;
        for (int64_t i = n; i < ATEN_EIGEN_SIDE; i++)
            v[i] = 0;
        if (factors[k] == 0)
            continue;
        for (int64_t i = k + 1; i < n; i++) {
            const REAL *restrict row = ROW(a, i);
            const REAL weight = factors[k] * v[i];
            for (int64_t j = 0; j < ATEN_EIGEN_SIDE; j++)
                w[j] += weight * row[j];
        }
        half = factors[k] * NAME(dot)(w, v, k + 1, n) / 2;
        for (int64_t j = 0; j < ATEN_EIGEN_SIDE; j++)
            w[j] -= half * v[j];
        for (int64_t i = k + 1; i < n; i++) {
            REAL *restrict row = ROW(a, i);
            const REAL one = v[i], other = w[i];
            for (int64_t j = 0; j < ATEN_EIGEN_SIDE; j++)
                row[j] -= one * w[j] + other * v[j];
        }
    }
}

/* Q' of what `reduce` left, row after row. */
static TARGET void NAME(collect)(const REAL *a, int64_t n, const REAL *factors, REAL *restrict out)
{
    REAL q[ATEN_EIGEN_SIDE * ATEN_EIGEN_SIDE] = {0};
    for (int64_t i = 0; i < n; i++)
        q[i * ATEN_EIGEN_SIDE + i] = 1;
    for (int64_t k = n - 2; k >= 0; k--) {
        const REAL *restrict v = ROW(a, k);
        REAL sums[ATEN_EIGEN_SIDE] = {0};
        if (factors[k] == 0)
            continue;
        for (int64_t i = k + 1; i < n; i++) {
            const REAL weight = v[i];
            for (int64_t j = 0; j < ATEN_EIGEN_SIDE; j++)
                sums[j] += weight * ROW(q, i)[j];
        }
        for (int64_t i = k + 1; i < n; i++) {
            const REAL weight = factors[k] * v[i];
            for (int64_t j = 0; j < ATEN_EIGEN_SIDE; j++)
                ROW(q, i)[j] -= weight * sums[j];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            ROW(out, j)[i] = ROW(q, i)[j];
}

static inline TARGET void NAME(rotate)(REAL *restrict one, REAL *restrict other, REAL cosine,
                                       REAL sine)
{
    for (int64_t j = 0; j < ATEN_EIGEN_SIDE; j++) {
        const REAL x = one[j], y = other[j];
        other[j] = sine * x + cosine * y;
        one[j] = cosine * x - sine * y;
    }
}

/* One iteration on rows begin … end of the tridiagonal matrix, and the rotations of it on `vectors`,
   or nothing. */
static TARGET void NAME(iterate)(REAL *diagonal, REAL *beside, int64_t begin, int64_t end,
                                 REAL *vectors)
{
    REAL g = (diagonal[begin + 1] - diagonal[begin]) / (2 * beside[begin]);
    REAL sine = 1, cosine = 1, p = 0;
    g = diagonal[end] - diagonal[begin] + beside[begin] / (g + SIGNED(ROOT(g * g + 1), g));
    for (int64_t i = end - 1; i >= begin; i--) {
        const REAL f = sine * beside[i], b = cosine * beside[i], length = NAME(length)(f, g);
        REAL change;
        beside[i + 1] = length;
        if (length == 0) {
            /* It falls apart here. */
            diagonal[i + 1] -= p;
            beside[end] = 0;
            return;
        }
        sine = f / length;
        cosine = g / length;
        g = diagonal[i + 1] - p;
        change = (diagonal[i] - g) * sine + 2 * cosine * b;
        p = sine * change;
        diagonal[i + 1] = g + p;
        g = cosine * change - b;
        if (vectors)
            NAME(rotate)(ROW(vectors, i), ROW(vectors, i + 1), cosine, sine);
    }
    diagonal[begin] -= p;
    beside[begin] = g;
    beside[end] = 0;
}

/* Whether the tridiagonal matrix became diagonal. */
static TARGET int NAME(diagonalize)(REAL *diagonal, REAL *beside, int64_t n, REAL *vectors)
{
    for (int64_t begin = 0; begin < n; begin++)
        for (int tries = 0;; tries++) {
            int64_t end = begin;
            while (end < n - 1 && ABSOLUTE(beside[end]) > EPSILON * (ABSOLUTE(diagonal[end])
                                                                     + ABSOLUTE(diagonal[end + 1])))
                end++;
            if (end == begin)
                break;
            if (tries == ATEN_EIGEN_TRIES)
                return 0;
            NAME(iterate)(diagonal, beside, begin, end, vectors);
        }
    return 1;
}

/* The eigenvalues of a matrix, column after column without gaps, of which one triangle is read, from
   the least on, and its eigenvectors in its place, if they are wanted. Returns 0 if done. */
static TARGET int64_t NAME(eigen)(REAL *given, int64_t n, int upper, int wants_vectors, REAL *values)
{
    REAL a[ATEN_EIGEN_SIDE * ATEN_EIGEN_SIDE] = {0}, vectors[ATEN_EIGEN_SIDE * ATEN_EIGEN_SIDE] = {0};
    REAL diagonal[ATEN_EIGEN_SIDE], beside[ATEN_EIGEN_SIDE], factors[ATEN_EIGEN_SIDE];
    REAL most = 0, scale;
    int64_t order[ATEN_EIGEN_SIDE];
    int exponent = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = upper ? 0 : j; i <= (upper ? j : n - 1); i++) {
            const REAL x = given[j * n + i];
            ROW(a, i)[j] = ROW(a, j)[i] = x;
            most = ABSOLUTE(x) > most ? ABSOLUTE(x) : most;
        }
    /* Squares neither overflow nor vanish: the largest number is about one. */
    EXPONENT(most, &exponent);
    exponent = exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent;
    scale = SCALED(1, -exponent);
    for (int64_t i = 0; i < n * ATEN_EIGEN_SIDE; i++)
        a[i] *= scale;
    NAME(reduce)(a, n, diagonal, beside, factors);
    if (wants_vectors)
        NAME(collect)(a, n, factors, vectors);
    if (!NAME(diagonalize)(diagonal, beside, n, wants_vectors ? vectors : 0))
        return 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = i;
        for (; place > 0 && diagonal[order[place - 1]] > diagonal[i]; place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    for (int64_t j = 0; j < n; j++) {
        values[j] = SCALED(diagonal[order[j]], exponent);
        if (wants_vectors)
            for (int64_t i = 0; i < n; i++)
                given[j * n + i] = ROW(vectors, order[j])[i];
    }
    return 0;
}

#undef ROW
#undef REAL
#undef ROOT
#undef ABSOLUTE
#undef SIGNED
#undef SCALED
#undef EXPONENT
#undef EPSILON
#undef MOST
#undef TINY
#undef ENLARGED
#undef NAME
#undef IS_DOUBLE
