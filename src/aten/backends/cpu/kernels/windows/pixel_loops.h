/* Windows of pixels whose channels are neighbours, for one type and level of vector instructions.

   Included once for each, with
     TARGET       the attribute that allows the processor's instructions
     BYTES        of a vector
     ELEMENT      float or double
     INTEGER      of the same size
     NAME(stem)   the stem with a suffix that is this inclusion's own */

enum { NAME(lanes) = BYTES / sizeof(ELEMENT) };
typedef ELEMENT NAME(vector) __attribute__((vector_size(BYTES), aligned(sizeof(ELEMENT)), may_alias));
typedef INTEGER NAME(places) __attribute__((vector_size(BYTES), aligned(sizeof(ELEMENT)), may_alias));

/* The largest of each column of `count` lines, and which of their `places` it has, the first of equal
   ones; a NaN is larger than all numbers, and what is none of them is the least. */
static TARGET void NAME(find)(const void *const *lines, const int64_t *places, int64_t count,
                              void *out, int64_t *found, int64_t columns)
{
    ELEMENT *largest = out;
    int64_t column, i;
    int lane;
    for (column = 0; column + NAME(lanes) <= columns; column += NAME(lanes)) {
        NAME(vector) most = (NAME(vector)){0} - (ELEMENT)__builtin_inf();
        NAME(places) place = (NAME(places)){0} + (INTEGER)places[0];
        for (i = 0; i < count; i++) {
            const NAME(vector) value
                = *(const NAME(vector) *)((const ELEMENT *)lines[i] + column);
            const NAME(places) wins = (NAME(places))(value > most) | (NAME(places))(value != value);
            most = (NAME(vector))((wins & (NAME(places))value) | (~wins & (NAME(places))most));
            place = (wins & ((NAME(places)){0} + (INTEGER)places[i])) | (~wins & place);
        }
        *(NAME(vector) *)(largest + column) = most;
        for (lane = 0; lane < NAME(lanes); lane++)
            found[column + lane] = place[lane];
    }
    for (; column < columns; column++) {
        largest[column] = -(ELEMENT)__builtin_inf();
        found[column] = places[0];
        for (i = 0; i < count; i++) {
            const ELEMENT value = ((const ELEMENT *)lines[i])[column];
            if (!(value > largest[column]) && value == value)
                continue;
            largest[column] = value;
            found[column] = places[i];
        }
    }
}

/* The sum of each column, in order, divided. */
static TARGET void NAME(average)(const void *const *lines, int64_t count, ELEMENT divisor, void *out,
                                 int64_t columns)
{
    ELEMENT *averages = out;
    int64_t column, i;
    for (column = 0; column + NAME(lanes) <= columns; column += NAME(lanes)) {
        NAME(vector) sum = {0};
        for (i = 0; i < count; i++)
            sum += *(const NAME(vector) *)((const ELEMENT *)lines[i] + column);
        *(NAME(vector) *)(averages + column) = sum / divisor;
    }
    for (; column < columns; column++) {
        ELEMENT sum = 0;
        for (i = 0; i < count; i++)
            sum += ((const ELEMENT *)lines[i])[column];
        averages[column] = sum / divisor;
    }
}

#undef TARGET
#undef BYTES
#undef ELEMENT
#undef INTEGER
#undef NAME
