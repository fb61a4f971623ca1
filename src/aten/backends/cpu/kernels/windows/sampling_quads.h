/* Where points are among the elements of a plane, and sums of the elements around them; included
   for each type and level.

   What lies outside, or where a coordinate is no number, is not there and counts as zero. Each sum
   is begun with zero and goes on row by row, as any sum of neighbours does. */

TARGET static void NAME(find_quads)(const REAL *x, const REAL *y, int64_t count, int32_t width,
                                    int32_t height, int32_t row, QUADS *quads)
{
    const REAL last_pair = (REAL)(width - 2), high = (REAL)height;
    for (int64_t index = 0; index < count; index++) {
        const REAL left = FLOOR(x[index]), across = x[index] - left;
        const REAL above = FLOOR(y[index]), down = y[index] - above, below = above + 1;
        /* Beyond the borders the outermost pair is read, of which one element may be the one. */
        const REAL pair = left > 0 ? (left < last_pair ? left : last_pair) : 0;
        const int both = left == pair;
        const int right_first = left == pair - 1, left_second = left == pair + 1;
        const int has_above = (above >= 0) & (above < high);
        const int has_below = (below >= 0) & (below < high);
        const REAL first = both ? 1 - across : right_first ? across : 0;
        const REAL second = both ? across : left_second ? 1 - across : 0;
        const REAL upper = has_above ? 1 - down : 0, lower = has_below ? down : 0;
        const MASK has_first = -(MASK)(both | right_first);
        const MASK has_second = -(MASK)(both | left_second);
        quads->upper[index] = (int32_t)(has_above ? above : 0) * row + (int32_t)pair;
        quads->lower[index] = (int32_t)(has_below ? below : 0) * row + (int32_t)pair;
        quads->weights[0][index] = upper * first;
        quads->weights[1][index] = upper * second;
        quads->weights[2][index] = lower * first;
        quads->weights[3][index] = lower * second;
        quads->present[0][index] = -(MASK)has_above & has_first;
        quads->present[1][index] = -(MASK)has_above & has_second;
        quads->present[2][index] = -(MASK)has_below & has_first;
        quads->present[3][index] = -(MASK)has_below & has_second;
    }
}

#define WEIGHED(which, value)                                                                      \
    (SOME)(*(const BITS *)(quads->present[which] + index) & (BITS)(value))                         \
        * *(const SOME *)(quads->weights[which] + index)

TARGET static void NAME(sum_quads)(const REAL *plane, const QUADS *quads, int64_t count, REAL *out)
{
    const int64_t lanes = sizeof(SOME) / sizeof(REAL);
    int64_t index = 0;
    for (; index + lanes <= count; index += lanes) {
        SOME first, second, third, fourth, total = {0};
        READ(plane, quads->upper + index, first, second)
        READ(plane, quads->lower + index, third, fourth)
        total += WEIGHED(0, first);
        total += WEIGHED(1, second);
        total += WEIGHED(2, third);
        total += WEIGHED(3, fourth);
        *(SOME *)(out + index) = total;
    }
    for (; index < count; index++) {
        const REAL *upper = plane + quads->upper[index], *lower = plane + quads->lower[index];
        REAL total = 0;
        total += quads->present[0][index] ? upper[0] * quads->weights[0][index] : 0;
        total += quads->present[1][index] ? upper[1] * quads->weights[1][index] : 0;
        total += quads->present[2][index] ? lower[0] * quads->weights[2][index] : 0;
        total += quads->present[3][index] ? lower[1] * quads->weights[3][index] : 0;
        out[index] = total;
    }
}

TARGET static void NAME(find_dots)(const REAL *x, const REAL *y, int64_t count, int32_t width,
                                   int32_t height, int32_t row, int32_t column, DOTS *dots)
{
    const REAL wide = (REAL)width, high = (REAL)height;
    for (int64_t index = 0; index < count; index++) {
        const REAL across = NEAREST(x[index]), down = NEAREST(y[index]);
        const int inside = (across >= 0) & (across < wide) & (down >= 0) & (down < high);
        dots->places[index] = (int32_t)(inside ? down : 0) * row
                              + (int32_t)(inside ? across : 0) * column;
        dots->present[index] = -(MASK)inside;
    }
}

TARGET static void NAME(read_dots)(const REAL *plane, const DOTS *dots, int64_t count, REAL *out)
{
    for (int64_t index = 0; index < count; index++) {
        MASK bits;
        memcpy(&bits, plane + dots->places[index], sizeof bits);
        bits &= dots->present[index];
        memcpy(out + index, &bits, sizeof bits);
    }
}

#undef WEIGHED
#undef REAL
#undef MASK
#undef FLOOR
#undef NEAREST
#undef SOME
#undef BITS
#undef READ
#undef QUADS
#undef DOTS
#undef NAME
