/* Panels of what positions see, and copies of lines. Part of convolution_kernels.h, whose macros it
   uses. */

/* `lines` lines of `count` elements, `step` apart in memory; zeros before `low` and from `high` on. */
static TARGET void NAME(copy_lines)(const void *source, int64_t source_line, int64_t step,
                                    int64_t low, int64_t high, int64_t count, int64_t lines,
                                    void *target, int64_t target_line)
{
    int64_t column, line, i;
    for (column = 0; column < count; column += LANES) {
        const int64_t lanes = count - column < LANES ? count - column : LANES;
        const int64_t first = low < column ? 0 : low - column < lanes ? low - column : lanes;
        const int64_t last = high < column ? 0 : high - column < lanes ? high - column : lanes;
        const MASK loaded = MAKE_MASK(first, last), stored = MAKE_MASK(0, lanes);
        const ELEMENT *from = (const ELEMENT *)source + column * step;
        ELEMENT *to = (ELEMENT *)target + column;
        if (last <= first) {
            const NAME(vector) none = {0};
            for (line = 0; line < lines; line++, to += target_line)
                STORE_PART(to, stored, none);
        } else if (step == 1 && last - first == LANES) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line)
                *(NAME(unaligned) *)to = *(const NAME(unaligned) *)from;
        } else if (step == 1) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line) {
                const NAME(vector) part = (NAME(vector))LOAD_PART(from, loaded);
                STORE_PART(to, stored, part);
            }
#ifdef LOAD_EVEN
        } else if (step == 2 && last - first == LANES) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line)
                *(NAME(unaligned) *)to = (NAME(vector))LOAD_EVEN(from, EVEN_MASK(0, LANES));
        } else if (step == 2) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line) {
                const NAME(vector) part = (NAME(vector))LOAD_EVEN(from, EVEN_MASK(first, last));
                STORE_PART(to, stored, part);
            }
#endif
#ifdef LOAD_FOURTH
        } else if (step == 4) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line) {
                const NAME(vector) part = (NAME(vector))LOAD_FOURTH(from, loaded);
                STORE_PART(to, stored, part);
            }
#endif
        } else {
            for (line = 0; line < lines; line++, from += source_line, to += target_line)
                for (i = 0; i < lanes; i++)
                    to[i] = i < first || i >= last ? 0 : from[i * step];
        }
    }
}

/* `count` elements of each of two lines, by turns. */
static TARGET void NAME(zip_lines)(const void *even, const void *odd, int64_t count, void *target)
{
    const ELEMENT *one = even, *other = odd;
    ELEMENT *to = target;
    int64_t place = 0;
#ifdef ZIPPED
    for (; place + LANES <= count; place += LANES) {
        const NAME(vector) first = NAME(load)(one + place), second = NAME(load)(other + place);
        *(NAME(unaligned) *)(to + 2 * place) = ZIPPED(0, first, second);
        *(NAME(unaligned) *)(to + 2 * place + LANES) = ZIPPED(1, first, second);
    }
#endif
    for (; place < count; place++) {
        to[2 * place] = one[place];
        to[2 * place + 1] = other[place];
    }
}

/* One vector of a panel for every channel. Its lanes come from `pieces` places, each with a mask;
   the others are zero. */
static inline __attribute__((always_inline)) TARGET void
NAME(copy_vector)(const int pieces, const int whole, const ELEMENT *const *given,
                  const MASK *masks, int64_t channels, int64_t from_channel, ELEMENT *to,
                  int64_t to_channel)
{
    const ELEMENT *from[ATEN_PIECES];
    MASK mask[ATEN_PIECES];
    int64_t c;
    int i;
    ATEN_UNROLL for (i = 0; i < pieces; i++) {
        from[i] = given[i];
        mask[i] = masks[i];
    }
    for (c = 0; c < channels; c++, to += to_channel) {
        NAME(bits) part = {0};
        ATEN_UNROLL for (i = 0; i < pieces; i++) {
            part |= whole ? (NAME(bits))NAME(load)(from[i])
                          : (NAME(bits))LOAD_PART(from[i], mask[i]);
            from[i] += from_channel;
        }
        *(NAME(unaligned) *)to = (NAME(vector))part;
    }
}

#ifdef LOAD_EVEN
/* The same for places two elements apart. */
static inline __attribute__((always_inline)) TARGET void
NAME(copy_even)(const int pieces, const ELEMENT *const *given, const uint32_t *masks,
                int64_t channels, int64_t from_channel, ELEMENT *to, int64_t to_channel)
{
    const ELEMENT *from[ATEN_PIECES];
    uint32_t mask[ATEN_PIECES];
    int64_t c;
    int i;
    ATEN_UNROLL for (i = 0; i < pieces; i++) {
        from[i] = given[i];
        mask[i] = masks[i];
    }
    for (c = 0; c < channels; c++, to += to_channel) {
        NAME(bits) part = {0};
        ATEN_UNROLL for (i = 0; i < pieces; i++) {
            part |= (NAME(bits))LOAD_EVEN(from[i], mask[i]);
            from[i] += from_channel;
        }
        *(NAME(unaligned) *)to = (NAME(vector))part;
    }
}
#endif

#ifdef PARTED
/* The same for two taps that look at neighbours: each element is loaded once. Masks are those of
   elements. */
static inline __attribute__((always_inline)) TARGET void
NAME(copy_pair)(const int pieces, const ELEMENT *const *given, const uint32_t *masks,
                int64_t channels, int64_t from_channel, ELEMENT *to, ELEMENT *other,
                int64_t to_channel)
{
    const ELEMENT *from[ATEN_PIECES];
    MASK low[ATEN_PIECES], high[ATEN_PIECES];
    int64_t c;
    int i;
    ATEN_UNROLL for (i = 0; i < pieces; i++) {
        from[i] = given[i];
        low[i] = LANES_OF(masks[i] & ((1u << LANES) - 1));
        high[i] = LANES_OF(masks[i] >> LANES);
    }
    for (c = 0; c < channels; c++, to += to_channel, other += to_channel) {
        NAME(bits) first = {0}, second = {0};
        ATEN_UNROLL for (i = 0; i < pieces; i++) {
            const NAME(vector) one = (NAME(vector))LOAD_PART(from[i], low[i]);
            const NAME(vector) two = (NAME(vector))LOAD_PART(from[i] + LANES, high[i]);
            first |= (NAME(bits))PARTED(0, one, two);
            second |= (NAME(bits))PARTED(1, one, two);
            from[i] += from_channel;
        }
        *(NAME(unaligned) *)to = (NAME(vector))first;
        *(NAME(unaligned) *)other = (NAME(vector))second;
    }
}
#endif

#ifdef LOAD_FOURTH
/* The same for places four elements apart. */
static inline __attribute__((always_inline)) TARGET void
NAME(copy_fourth)(const int pieces, const ELEMENT *const *given, const MASK *masks,
                  int64_t channels, int64_t from_channel, ELEMENT *to, int64_t to_channel)
{
    int64_t c;
    int i;
    for (c = 0; c < channels; c++, to += to_channel) {
        NAME(bits) part = {0};
        ATEN_UNROLL for (i = 0; i < pieces; i++)
            part |= (NAME(bits))LOAD_FOURTH(given[i] + c * from_channel, masks[i]);
        *(NAME(unaligned) *)to = (NAME(vector))part;
    }
}
#endif

/* The same for any step and number of pieces. */
static TARGET void NAME(copy_lanes)(int pieces, const ELEMENT *const *from, const int64_t *low,
                                    const int64_t *high, int64_t step, int64_t channels,
                                    int64_t from_channel, ELEMENT *to, int64_t to_channel)
{
    int64_t c, lane;
    int i;
    for (c = 0; c < channels; c++, to += to_channel) {
        memset(to, 0, LANES * sizeof(ELEMENT));
        for (i = 0; i < pieces; i++) {
            const ELEMENT *line = from[i] + c * from_channel;
            for (lane = low[i]; lane < high[i]; lane++)
                to[lane] = line[lane * step];
        }
    }
}

static inline __attribute__((always_inline)) TARGET void
NAME(copy_pieces)(int pieces, const ELEMENT *const *from, const int64_t *low, const int64_t *high,
                  int64_t step, int64_t channels, int64_t from_channel, ELEMENT *to,
                  int64_t to_channel)
{
    int i;
    if (step == 1 && pieces <= ATEN_PIECES) {
        MASK mask[ATEN_PIECES];
        for (i = 0; i < pieces; i++)
            mask[i] = MAKE_MASK(low[i], high[i]);
        if (pieces == 1 && low[0] == 0 && high[0] == LANES)
            NAME(copy_vector)(1, 1, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 1)
            NAME(copy_vector)(1, 0, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 2)
            NAME(copy_vector)(2, 0, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 3)
            NAME(copy_vector)(3, 0, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 4)
            NAME(copy_vector)(4, 0, from, mask, channels, from_channel, to, to_channel);
        else
            NAME(copy_vector)(0, 0, from, mask, channels, from_channel, to, to_channel);
        return;
    }
#ifdef LOAD_EVEN
    if (step == 2 && pieces <= ATEN_PIECES) {
        uint32_t mask[ATEN_PIECES];
        for (i = 0; i < pieces; i++)
            mask[i] = EVEN_MASK(low[i], high[i]);
        if (pieces == 1)
            NAME(copy_even)(1, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 2)
            NAME(copy_even)(2, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 3)
            NAME(copy_even)(3, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 4)
            NAME(copy_even)(4, from, mask, channels, from_channel, to, to_channel);
        else
            NAME(copy_even)(0, from, mask, channels, from_channel, to, to_channel);
        return;
    }
#endif
#ifdef LOAD_FOURTH
    if (step == 4 && pieces <= 2) {
        MASK mask[2];
        for (i = 0; i < pieces; i++)
            mask[i] = MAKE_MASK(low[i], high[i]);
        if (pieces == 1)
            NAME(copy_fourth)(1, from, mask, channels, from_channel, to, to_channel);
        else
            NAME(copy_fourth)(pieces, from, mask, channels, from_channel, to, to_channel);
        return;
    }
#endif
    NAME(copy_lanes)(pieces, from, low, high, step, channels, from_channel, to, to_channel);
}

/* One vector of a panel's rows, or of two taps' rows: where its lanes come from. */
typedef struct {
    int count;
    const ELEMENT *from[LANES];
    int64_t low[2][LANES], high[2][LANES];
} NAME(pieces);

/* Adds what a piece of positions sees, from column `column` on, of the taps `tap` and, with `pair`, the
   one behind it, which looks at the next column. */
static inline __attribute__((always_inline)) TARGET void
NAME(see_piece)(const aten_windows *work, const aten_piece *piece, const void *data,
                int64_t column, int64_t tap, int pair, NAME(pieces) *found)
{
    const int64_t step = work->step[2], length = work->input_sizes[2];
    const int64_t z = piece->z * work->step[0] + work->places[0][tap];
    const int64_t y = piece->y * work->step[1] + work->places[1][tap];
    const int64_t x = piece->x * step + work->places[2][tap];
    const int64_t lane = piece->column - column;
    int is_seen = 0, which;
    if (z < 0 || z >= work->input_sizes[0] || y < 0 || y >= work->input_sizes[1])
        return;
    for (which = 0; which <= pair; which++) {
        const int64_t first = x + which;
        int64_t low = first < 0 ? (step - 1 - first) / step : 0;
        int64_t high = length - first > (piece->count - 1) * step
                           ? piece->count
                           : (length - first + step - 1) / step;
        if (first >= length || low >= high)
            low = high = 0;
        is_seen |= low < high;
        found->low[which][found->count] = lane + low;
        found->high[which][found->count] = lane + high;
    }
    if (!is_seen)
        return;
    found->from[found->count] = (const ELEMENT *)data + z * work->input_strides[0]
                                + y * work->input_strides[1]
                                + (x - lane * step) * work->input_strides[2];
    found->count++;
}

#ifdef PARTED
/* Whether a tap and the one behind it look at neighbours in steps of two. */
static inline TARGET int NAME(is_pair)(const aten_windows *work, int64_t tap, int64_t end)
{
    const int64_t *const *places = work->places;
    return tap + 1 < end && work->step[2] == 2 && work->input_strides[2] == 1
           && places[0][tap + 1] == places[0][tap] && places[1][tap + 1] == places[1][tap]
           && places[2][tap + 1] == places[2][tap] + 1;
}

static inline __attribute__((always_inline)) TARGET void
NAME(copy_pairs)(const NAME(pieces) *found, int64_t channels, int64_t from_channel, ELEMENT *to,
                 ELEMENT *other, int64_t to_channel)
{
    uint32_t mask[ATEN_PIECES];
    int i;
    if (found->count > ATEN_PIECES) {
        const ELEMENT *behind[LANES];
        for (i = 0; i < found->count; i++)
            behind[i] = found->from[i] + 1;
        NAME(copy_pieces)(found->count, found->from, found->low[0], found->high[0], 2, channels,
                          from_channel, to, to_channel);
        NAME(copy_pieces)(found->count, behind, found->low[1], found->high[1], 2, channels,
                          from_channel, other, to_channel);
        return;
    }
    for (i = 0; i < found->count; i++)
        mask[i] = EVEN_MASK(found->low[0][i], found->high[0][i])
                  | EVEN_MASK(found->low[1][i], found->high[1][i]) << 1;
    if (found->count == 1)
        NAME(copy_pair)(1, found->from, mask, channels, from_channel, to, other, to_channel);
    else if (found->count == 2)
        NAME(copy_pair)(2, found->from, mask, channels, from_channel, to, other, to_channel);
    else if (found->count == 3)
        NAME(copy_pair)(3, found->from, mask, channels, from_channel, to, other, to_channel);
    else if (found->count == 4)
        NAME(copy_pair)(4, found->from, mask, channels, from_channel, to, other, to_channel);
    else
        NAME(copy_pair)(0, found->from, mask, channels, from_channel, to, other, to_channel);
}
#endif

/* What the positions of a strip see of `channels` channels from the taps begin … end: a row of the
   panel for each channel and tap. */
static TARGET void NAME(pack_channels)(const aten_windows *work, const aten_strip *strip,
                                       const void *data, int64_t channels, int64_t begin,
                                       int64_t end, void *panel)
{
    const int64_t taps = end - begin;
    int64_t tap, column;
    int pair = 0;
    for (tap = 0; tap < taps; tap += 1 + pair) {
        const aten_piece *piece = strip->piece, *last = piece + strip->pieces;
#ifdef PARTED
        pair = NAME(is_pair)(work, begin + tap, end);
#endif
        for (column = 0; column < strip->columns; column += LANES) {
            ELEMENT *to = (ELEMENT *)panel + tap * strip->width + column;
            NAME(pieces) found;
            found.count = 0;
            for (; piece < last && piece->column < column + LANES; piece++)
                NAME(see_piece)(work, piece, data, column, begin + tap, pair, &found);
#ifdef PARTED
            if (pair) {
                NAME(copy_pairs)(&found, channels, work->input_channel, to, to + strip->width,
                                 taps * strip->width);
                continue;
            }
#endif
            NAME(copy_pieces)(found.count, found.from, found.low[0], found.high[0],
                              work->step[2] * work->input_strides[2], channels,
                              work->input_channel, to, taps * strip->width);
        }
    }
}

/* Taps see the same lines: of planes that keep each other out of caches, a few at a time. */
static TARGET void NAME(pack)(const aten_windows *work, const aten_strip *strip, const void *data,
                              int64_t channels, int64_t begin, int64_t end, void *panel)
{
    const int aliased = work->input_channel * (int64_t)sizeof(ELEMENT) % ATEN_ALIAS == 0;
    const int64_t each = aliased && end - begin > 1 ? ATEN_FEW_ALIASES : channels;
    int64_t c;
    for (c = 0; c < channels; c += each)
        NAME(pack_channels)(work, strip, (const ELEMENT *)data + c * work->input_channel,
                            channels - c < each ? channels - c : each, begin, end,
                            (ELEMENT *)panel + c * (end - begin) * strip->width);
}
