/* One pass over a parameter and its states; included for each type and level of instructions.

   The operations and their order are those of the definitions in ops/networks/optimizers.py. */

TARGET static void NAME(adam)(int64_t count, REAL *parameter, const REAL *gradient, REAL *average,
                              REAL *square, REAL *largest, const aten_adam *given)
{
    const REAL sign = (REAL)given->sign, coupled = (REAL)given->coupled;
    const REAL shrink = (REAL)given->shrink, weight = (REAL)given->weight;
    const REAL rest = (REAL)(1 - given->weight), keeping = (REAL)given->keeping;
    const REAL adding = (REAL)given->adding, correction = (REAL)given->correction;
    const REAL eps = (REAL)given->eps, rate = (REAL)given->rate;
    const int nearer = given->weight < 0.5, most = largest != 0;
    for (int64_t place = 0; place < count; place++) {
        REAL value = parameter[place] * shrink;
        REAL direction = sign * gradient[place] + coupled * value;
        REAL apart = direction - average[place];
        REAL first = nearer ? average[place] + weight * apart : direction - apart * rest;
        REAL second = square[place] * keeping + adding * (direction * direction);
        REAL counted = second;
        if (most) {
            REAL before = largest[place];
            counted = before >= second || before != before ? before : second;
            largest[place] = counted;
        }
        average[place] = first;
        square[place] = second;
        parameter[place] = value - rate * (first / (SQRT(counted) / correction + eps));
    }
}

TARGET static void NAME(descend)(int64_t count, REAL *parameter, const REAL *gradient,
                                 REAL *velocity, const aten_descent *given)
{
    const REAL sign = (REAL)given->sign, coupled = (REAL)given->coupled;
    const REAL momentum = (REAL)given->momentum, adding = (REAL)given->adding;
    const REAL rate = (REAL)given->rate;
    const int first = given->first, ahead = given->ahead;
    if (velocity == 0) {
        for (int64_t place = 0; place < count; place++) {
            REAL value = parameter[place];
            parameter[place] = value - rate * (sign * gradient[place] + coupled * value);
        }
        return;
    }
    for (int64_t place = 0; place < count; place++) {
        REAL value = parameter[place];
        REAL direction = sign * gradient[place] + coupled * value;
        REAL now = first ? direction : velocity[place] * momentum + adding * direction;
        velocity[place] = now;
        parameter[place] = value - rate * (ahead ? direction + momentum * now : now);
    }
}

TARGET static void NAME(adagrad)(int64_t count, REAL *parameter, const REAL *gradient, REAL *total,
                                 const aten_adam *given)
{
    const REAL sign = (REAL)given->sign, coupled = (REAL)given->coupled;
    const REAL eps = (REAL)given->eps, rate = (REAL)given->rate;
    for (int64_t place = 0; place < count; place++) {
        REAL value = parameter[place];
        REAL direction = sign * gradient[place] + coupled * value;
        REAL sum = total[place] + direction * direction;
        total[place] = sum;
        parameter[place] = value - rate * (direction / (SQRT(sum) + eps));
    }
}

#undef REAL
#undef SQRT
#undef NAME
