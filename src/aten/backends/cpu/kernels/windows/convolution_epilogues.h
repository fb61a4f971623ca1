/* What becomes of finished sums: a residual is added and an activation applied. Part of
   convolution_kernels.h, whose macros it uses.

   A residual lies as the result does, so many bytes from it. Activations that cut sums off are done
   where a tile is stored; curves go over it once more, while it is in the cache. NaN stays. */

static inline __attribute__((always_inline)) TARGET NAME(vector) NAME(all)(ELEMENT value)
{
    return value - (NAME(vector)){0};
}

/* Between the limits, which are infinite where nothing is cut off. */
static inline __attribute__((always_inline)) TARGET NAME(vector)
NAME(limited)(NAME(vector) value, ELEMENT low, ELEMENT high)
{
    return MINIMUM(NAME(all)(high), MAXIMUM(NAME(all)(low), value));
}

static inline __attribute__((always_inline)) TARGET const ELEMENT *
NAME(residual_of)(const aten_finish *finish, const ELEMENT *out)
{
    return (const ELEMENT *)((const char *)out + finish->residual);
}

/* One sum, as `settled` does it. */
static inline __attribute__((always_inline)) TARGET ELEMENT
NAME(settled_one)(const aten_finish *finish, ELEMENT value, const ELEMENT *to)
{
    if (!finish)
        return value;
    if (finish->adds)
        value += *NAME(residual_of)(finish, to);
    value = value < (ELEMENT)finish->low ? (ELEMENT)finish->low : value;
    return value > (ELEMENT)finish->high ? (ELEMENT)finish->high : value;
}

#ifdef CURVED

/* e^x = 2^k e^r with |r| <= log(2)/2 (Cody and Waite, Software Manual for the Elementary Functions,
   1980); infinite and zero where it overflows and underflows. Adding 1.5 * 2^23 leaves k in the low
   bits. */
static inline __attribute__((always_inline)) TARGET NAME(vector) NAME(exp)(NAME(vector) x)
{
    const NAME(vector) rounder = NAME(all)(12582912.0f);
    const NAME(vector) limited = NAME(limited)(x, -104.0f, 89.0f);
    const NAME(vector) rounded = limited * 1.44269504f + rounder;
    const NAME(vector) k = rounded - rounder;
    const NAME(vector) r = (limited - k * 0.693147182464599609375f) + k * 1.904654290582768e-9f;
    NAME(vector) value = r * 0.0013814449775964022f + 0.00836878176778555f;
    value = value * r + 0.04166833311319351f;
    value = value * r + 0.1666651964187622f;
    value = value * r + 0.4999999403953552f;
    value = value * r + 1.0f;
    value = value * r + 1.0f;
#ifdef SCALED
    return SCALED(value, k);
#else
    {
        const NAME(bits) power = (NAME(bits))rounded - (NAME(bits))rounder;
        const NAME(bits) half = power >> 1;
        value *= (NAME(vector))((half + 127) << 23);
        return value * (NAME(vector))((power - half + 127) << 23);
    }
#endif
}

static inline __attribute__((always_inline)) TARGET NAME(vector) NAME(magnitude)(NAME(vector) x)
{
    return (NAME(vector))((NAME(bits))x & 0x7fffffff);
}

/* x Phi(x) as max(x, 0) - |x| Phi(-|x|), whose last factor is e^(-x²/2) times a polynomial in
   1 / (1 + 0.3 |x|): relative error 2^-22.4 of that term. */
static inline __attribute__((always_inline)) TARGET NAME(vector) NAME(gelu)(NAME(vector) x)
{
    const NAME(vector) none = {0};
    const NAME(vector) far = MINIMUM(NAME(all)(20.0f), NAME(magnitude)(x));
    const NAME(vector) s = 1.0f / (far * 0.3f + 1.0f);
    NAME(vector) tail = s * 0.035180699080228806f - 0.15515081584453583f;
    tail = tail * s + 0.20283126831054688f;
    tail = tail * s - 0.05045812577009201f;
    tail = tail * s + 0.12686611711978912f;
    tail = tail * s + 0.10042312741279602f;
    tail = tail * s + 0.12067312002182007f;
    tail = tail * s + 0.11963450908660889f;
    tail *= s * NAME(exp)(far * far * -0.5f);
    /* Minus infinity has no result, as where it is multiplied by Phi's zero. */
    return MAXIMUM(none, x) - far * tail + MINIMUM(none, x) * 0.0f;
}

/* x / 6, which takes a processor three times as long as this: what is left of x by the quotient is
   exact where products are summed before they are rounded, and the corrected quotient is the nearest
   number (Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990).
   Where nothing is left, or x is infinite, the quotient stays: zeros keep their sign. */
static inline __attribute__((always_inline)) TARGET NAME(vector) NAME(sixth)(NAME(vector) x)
{
    const NAME(vector) quotient = x * (1.0f / 6.0f);
    const NAME(vector) left = x - quotient * 6.0f;
    const NAME(vector) nearest = quotient + left * (1.0f / 6.0f);
    const NAME(bits) some = (left < 0) | (left > 0);
    return (NAME(vector))(((NAME(bits))nearest & some) | ((NAME(bits))quotient & ~some));
}

static inline __attribute__((always_inline)) TARGET NAME(vector)
NAME(curve)(const int activation, NAME(vector) x)
{
    if (activation == ATEN_SIGMOID)
        return 1.0f / (1.0f + NAME(exp)(-x));
    if (activation == ATEN_SILU)
        return x / (1.0f + NAME(exp)(-x));
    if (activation == ATEN_HARDSWISH)
        return NAME(sixth)(x * NAME(limited)(x + 3.0f, 0.0f, 6.0f));
    if (activation == ATEN_GELU_TANH)
        return x / (1.0f + NAME(exp)((x + 0.044715f * x * x * x) * -1.5957691216057308f));
    if (activation == ATEN_GELU)
        return NAME(gelu)(x);
    return x;
}

#else

static inline __attribute__((always_inline)) TARGET NAME(vector)
NAME(curve)(const int activation, NAME(vector) x)
{
    return x;
}

#endif

/* Results side by side: a vector, or the masked lanes of one. */
static inline __attribute__((always_inline)) TARGET void
NAME(finish_some)(const int activation, const int adds, const int limits, const int cut,
                  const aten_finish *finish, const MASK mask, ELEMENT *to)
{
    NAME(vector) value = cut ? (NAME(vector))LOAD_PART(to, mask) : NAME(load)(to);
    if (adds) {
        const ELEMENT *from = NAME(residual_of)(finish, to);
        value += cut ? (NAME(vector))LOAD_PART(from, mask) : NAME(load)(from);
    }
    if (limits)
        value = NAME(limited)(value, (ELEMENT)finish->low, (ELEMENT)finish->high);
    value = NAME(curve)(activation, value);
    if (cut)
        STORE_PART(to, mask, value);
    else
        *(NAME(unaligned) *)to = value;
}

/* `rows` rows of `count` results, `out_row` apart. */
static inline __attribute__((always_inline)) TARGET void
NAME(finish_rows)(const int activation, const int adds, const int limits,
                  const aten_finish *finish, ELEMENT *out, int64_t out_row, int64_t rows,
                  int64_t count)
{
    const int64_t whole = count / LANES * LANES;
    const MASK rest = MAKE_MASK(0, count - whole);
    int64_t row, column;
    for (row = 0; row < rows; row++, out += out_row) {
        for (column = 0; column < whole; column += LANES)
            NAME(finish_some)(activation, adds, limits, 0, finish, rest, out + column);
        if (whole < count)
            NAME(finish_some)(activation, adds, limits, 1, finish, rest, out + whole);
    }
}

#define FINISH_OF(activation)                                                                    \
    static __attribute__((noinline)) TARGET void NAME(finish_##activation)(                      \
        const aten_finish *finish, int settles, ELEMENT *out, int64_t out_row, int64_t rows,     \
        int64_t count)                                                                           \
    {                                                                                            \
        const int limits = finish->low != -__builtin_inf() || finish->high != __builtin_inf();   \
        if (settles && finish->adds)                                                             \
            NAME(finish_rows)(activation, 1, 1, finish, out, out_row, rows, count);              \
        else if (limits || activation == ATEN_CUT)                                               \
            NAME(finish_rows)(activation, 0, 1, finish, out, out_row, rows, count);              \
        else                                                                                     \
            NAME(finish_rows)(activation, 0, 0, finish, out, out_row, rows, count);              \
    }
FINISH_OF(ATEN_CUT)
FINISH_OF(ATEN_SIGMOID)
FINISH_OF(ATEN_SILU)
FINISH_OF(ATEN_HARDSWISH)
FINISH_OF(ATEN_GELU)
FINISH_OF(ATEN_GELU_TANH)

/* What is left to do for results that lie in memory; with `settles` the residual and limits, too. */
static TARGET void NAME(finish)(const aten_finish *finish, int settles, void *out, int64_t out_row,
                                int64_t rows, int64_t count)
{
    static void (*const finishes[])(const aten_finish *, int, ELEMENT *, int64_t, int64_t,
                                    int64_t) = {
        NAME(finish_ATEN_CUT), NAME(finish_ATEN_SIGMOID), NAME(finish_ATEN_SILU),
        NAME(finish_ATEN_HARDSWISH), NAME(finish_ATEN_GELU), NAME(finish_ATEN_GELU_TANH),
    };
    finishes[finish->activation](finish, settles, out, out_row, rows, count);
}

#undef FINISH_OF
