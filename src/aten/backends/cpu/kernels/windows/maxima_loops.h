/* Loops over neighbours for one level of vector instructions, which a compiler vectorizes.

   Included once for each, with
     TARGET       the attribute that allows the processor's instructions
     NAME(stem)   the stem with a suffix that is this inclusion's own

   A NaN is larger than all numbers; of what is equal the first stays. */

/* `fold`: the largest of each column of one to three lines. `keep`: of another line and what there
   is. `join`: of `columns` neighbours, at every `step`-th place. `take`: the next element of `count`
   windows `step` elements apart, which lies at `place` in each of them. */
#define LOOPS_OF(name, element, integer)                                                           \
    static inline __attribute__((always_inline)) TARGET element NAME(larger_##name)(             \
        element kept, element value)                                                             \
    {                                                                                            \
        const element most = value > kept ? value : kept;                                        \
        return value != value ? value : most;                                                    \
    }                                                                                            \
    static TARGET void NAME(fold_##name)(const void *const *lines, int64_t count, void *out,     \
                                         int64_t columns)                                        \
    {                                                                                            \
        const element *first = lines[0], *second = lines[count > 1], *third = lines[count - 1];  \
        element *restrict to = out;                                                              \
        int64_t i;                                                                               \
        for (i = 0; i < columns; i++)                                                            \
            to[i] = NAME(larger_##name)(NAME(larger_##name)(first[i], second[i]), third[i]);     \
    }                                                                                            \
    static TARGET void NAME(keep_##name)(const void *line, void *kept, int64_t columns)          \
    {                                                                                            \
        const element *restrict values = line;                                                   \
        element *restrict largest = kept;                                                        \
        int64_t i;                                                                               \
        for (i = 0; i < columns; i++)                                                            \
            largest[i] = NAME(larger_##name)(largest[i], values[i]);                             \
    }                                                                                            \
    static inline __attribute__((always_inline)) TARGET void NAME(join_by_##name)(               \
        const int64_t step, const element *values, int64_t columns, element *restrict to,        \
        int64_t count)                                                                           \
    {                                                                                            \
        const element *second = values + (columns > 1), *third = second + (columns > 2);         \
        int64_t i, k;                                                                            \
        for (i = 0; i < count; i++)                                                              \
            to[i] = NAME(larger_##name)(                                                         \
                NAME(larger_##name)(values[step * i], second[step * i]), third[step * i]);       \
        for (k = 3; k < columns; k++)                                                            \
            for (i = 0; i < count; i++)                                                          \
                to[i] = NAME(larger_##name)(to[i], values[step * i + k]);                        \
    }                                                                                            \
    static TARGET void NAME(join_##name)(const void *values, int64_t columns, int64_t step,      \
                                         void *out, int64_t count)                               \
    {                                                                                            \
        if (step == 1)                                                                           \
            NAME(join_by_##name)(1, values, columns, out, count);                                \
        else if (step == 2)                                                                      \
            NAME(join_by_##name)(2, values, columns, out, count);                                \
        else                                                                                     \
            NAME(join_by_##name)(step, values, columns, out, count);                             \
    }                                                                                            \
    static inline __attribute__((always_inline)) TARGET void NAME(take_by_##name)(               \
        const int64_t step, const element *values, int64_t count, integer place,                 \
        element *restrict most, integer *restrict places)                                        \
    {                                                                                            \
        int64_t i;                                                                               \
        for (i = 0; i < count; i++) {                                                            \
            const element value = values[step * i], kept = most[i];                              \
            const int wins = (value > kept) | (value != value);                                  \
            most[i] = wins ? value : kept;                                                       \
            places[i] = wins ? place : places[i];                                                \
        }                                                                                        \
    }                                                                                            \
    static TARGET void NAME(take_##name)(const void *values, int64_t step, int64_t count,        \
                                         int64_t place, void *most, void *places)                \
    {                                                                                            \
        const integer at = (integer)place;                                                       \
        if (step == 1)                                                                           \
            NAME(take_by_##name)(1, values, count, at, most, places);                            \
        else if (step == 2)                                                                      \
            NAME(take_by_##name)(2, values, count, at, most, places);                            \
        else if (step == 3)                                                                      \
            NAME(take_by_##name)(3, values, count, at, most, places);                            \
        else                                                                                     \
            NAME(take_by_##name)(step, values, count, at, most, places);                         \
    }
LOOPS_OF(float, float, int32_t)
LOOPS_OF(double, double, int64_t)
LOOPS_OF(uint8, uint8_t, int64_t)
LOOPS_OF(int8, int8_t, int64_t)
LOOPS_OF(int16, int16_t, int64_t)
LOOPS_OF(int32, int32_t, int32_t)
LOOPS_OF(int64, int64_t, int64_t)

#define LOOPS(name) {NAME(fold_##name), NAME(keep_##name), NAME(join_##name), NAME(take_##name)}
static const aten_maxima NAME(maxima)[] = {
    LOOPS(float), LOOPS(double), LOOPS(uint8), LOOPS(int8), LOOPS(int16), LOOPS(int32), LOOPS(int64),
};

#undef LOOPS
#undef LOOPS_OF
#undef TARGET
#undef NAME
