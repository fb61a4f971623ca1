"""What the array API standard asks for at zeros, infinities, NaN and the edges of domains.

A case is "arguments: result". Words stand for numbers, and each for several of them:

    0 -0 inf -inf nan   the number itself          pos neg   finite numbers of that sign
    zero                0 and -0                   fin       pos, neg and zero
    ±inf                inf and -inf               nonzero   pos and neg
    any                 all of these               >1 <1 >-1 <-1   finite or infinite numbers there
    odd even half       odd and even integers, and numbers between; +odd, -odd and so on by sign

A result may name an argument (x, y), -x, |x|, or be near a multiple of pi (~pi/2). In results of
complex functions, a question mark leaves the sign open; cis is cos + i sin of the imaginary part.
"""

UNARY = {
    "abs": ["nan: nan", "-0: 0", "-inf: inf"],
    "acos": ["nan: nan", ">1: nan", "<-1: nan", "1: 0"],
    "acosh": ["nan: nan", "<1: nan", "1: 0", "inf: inf"],
    "asin": ["nan: nan", ">1: nan", "<-1: nan", "0: 0", "-0: -0"],
    "asinh": ["nan: nan", "0: 0", "-0: -0", "inf: inf", "-inf: -inf"],
    "atan": ["nan: nan", "0: 0", "-0: -0", "inf: ~pi/2", "-inf: ~-pi/2"],
    "atanh": [
        "nan: nan", "<-1: nan", ">1: nan", "-1: -inf", "1: inf", "0: 0", "-0: -0",
    ],
    "ceil": ["inf: inf", "-inf: -inf", "0: 0", "-0: -0", "nan: nan", "odd: x", "even: x"],
    "cos": ["nan: nan", "zero: 1", "±inf: nan"],
    "cosh": ["nan: nan", "zero: 1", "±inf: inf"],
    "exp": ["nan: nan", "zero: 1", "inf: inf", "-inf: 0"],
    "expm1": ["nan: nan", "0: 0", "-0: -0", "inf: inf", "-inf: -1"],
    "floor": ["inf: inf", "-inf: -inf", "0: 0", "-0: -0", "nan: nan", "odd: x", "even: x"],
    "isfinite": ["±inf: false", "nan: false", "fin: true"],
    "isinf": ["±inf: true", "fin: false", "nan: false"],
    "isnan": ["nan: true", "±inf: false", "fin: false"],
    "log": ["nan: nan", "neg: nan", "-inf: nan", "zero: -inf", "1: 0", "inf: inf"],
    "log10": ["nan: nan", "neg: nan", "-inf: nan", "zero: -inf", "1: 0", "inf: inf"],
    "log1p": ["nan: nan", "<-1: nan", "-1: -inf", "-0: -0", "0: 0", "inf: inf"],
    "log2": ["nan: nan", "neg: nan", "-inf: nan", "zero: -inf", "1: 0", "inf: inf"],
    "negative": ["0: -0", "-0: 0", "inf: -inf", "-inf: inf", "nan: nan"],
    "reciprocal": ["nan: nan", "0: inf", "-0: -inf", "inf: 0", "-inf: -0"],
    "round": [
        "inf: inf", "-inf: -inf", "0: 0", "-0: -0", "nan: nan", "odd: x", "even: x",
        "0.5: 0", "-0.5: -0", "1.5: 2", "-1.5: -2", "2.5: 2", "-2.5: -2", "3.5: 4",
    ],
    "sign": ["neg: -1", "-inf: -1", "zero: 0", "pos: 1", "inf: 1", "nan: nan"],
    "signbit": [
        "0: false", "-0: true", "inf: false", "-inf: true", "pos: false", "neg: true",
        "nan: false", "-nan: true",
    ],
    "sin": ["nan: nan", "0: 0", "-0: -0", "±inf: nan"],
    "sinh": ["nan: nan", "0: 0", "-0: -0", "inf: inf", "-inf: -inf"],
    "sqrt": ["nan: nan", "neg: nan", "-inf: nan", "0: 0", "-0: -0", "inf: inf"],
    "square": ["nan: nan", "zero: 0", "±inf: inf"],
    "tan": ["nan: nan", "0: 0", "-0: -0", "±inf: nan"],
    "tanh": ["nan: nan", "0: 0", "-0: -0", "inf: 1", "-inf: -1"],
    "trunc": ["inf: inf", "-inf: -inf", "0: 0", "-0: -0", "nan: nan", "odd: x", "even: x"],
}  # fmt: skip

_QUOTIENTS = [
    "nan any: nan", "any nan: nan", "±inf ±inf: nan", "zero zero: nan",
    "0 pos: 0", "0 inf: 0", "-0 pos: -0", "-0 inf: -0", "0 neg: -0", "0 -inf: -0",
    "-0 neg: 0", "-0 -inf: 0",
    "pos 0: inf", "inf 0: inf", "pos -0: -inf", "inf -0: -inf",
    "neg 0: -inf", "-inf 0: -inf", "neg -0: inf", "-inf -0: inf",
    "inf pos: inf", "inf neg: -inf", "-inf pos: -inf", "-inf neg: inf",
    "pos inf: 0", "pos -inf: -0", "neg inf: -0", "neg -inf: 0",
]  # fmt: skip

BINARY = {
    "add": [
        "nan any: nan", "any nan: nan", "inf -inf: nan", "-inf inf: nan", "inf inf: inf",
        "-inf -inf: -inf", "inf fin: inf", "-inf fin: -inf", "fin inf: inf", "fin -inf: -inf",
        "-0 -0: -0", "-0 0: 0", "0 -0: 0", "0 0: 0", "zero nonzero: y", "nonzero zero: x",
    ],
    "atan2": [
        "nan any: nan", "any nan: nan", "pos zero: ~pi/2", "0 pos: 0", "0 0: 0", "0 -0: ~pi",
        "0 neg: ~pi", "-0 pos: -0", "-0 0: -0", "-0 -0: ~-pi", "-0 neg: ~-pi", "neg zero: ~-pi/2",
        "pos inf: 0", "pos -inf: ~pi", "neg inf: -0", "neg -inf: ~-pi", "inf fin: ~pi/2",
        "-inf fin: ~-pi/2", "inf inf: ~pi/4", "inf -inf: ~3pi/4", "-inf inf: ~-pi/4",
        "-inf -inf: ~-3pi/4",
    ],
    "copysign": [
        "fin neg: -|x|", "fin -0: -|x|", "fin 0: |x|", "fin pos: |x|", "fin inf: |x|",
        "fin -inf: -|x|", "fin nan: |x|", "fin -nan: -|x|", "±inf neg: -inf", "±inf pos: inf",
        "nan neg: -nan", "nan -0: -nan", "-nan 0: +nan", "-nan pos: +nan", "nan -nan: -nan",
        "-nan nan: +nan",
    ],
    "divide": _QUOTIENTS,
    "equal": [
        "nan any: false", "any nan: false", "inf inf: true", "-inf -inf: true", "zero zero: true",
        "inf -inf: false", "fin ±inf: false", "zero nonzero: false", "pos neg: false",
    ],
    "floor_divide": _QUOTIENTS,
    "hypot": [
        "±inf any: inf", "any ±inf: inf", "zero any: |y|", "any zero: |x|", "fin nan: nan",
        "nan nan: nan", "nan fin: nan",
    ],
    "logaddexp": [
        "nan any: nan", "any nan: nan", "inf fin: inf", "inf ±inf: inf", "fin inf: inf",
        "±inf inf: inf",
    ],
    "maximum": ["nan any: nan", "any nan: nan", "inf any_but_nan: inf", "-inf any_but_nan: y"],
    "minimum": ["nan any: nan", "any nan: nan", "inf any_but_nan: y", "-inf any_but_nan: -inf"],
    "multiply": [
        "nan any: nan", "any nan: nan", "±inf zero: nan", "zero ±inf: nan", "inf inf: inf",
        "inf -inf: -inf", "-inf inf: -inf", "-inf -inf: inf", "inf pos: inf", "inf neg: -inf",
        "-inf pos: -inf", "-inf neg: inf", "pos inf: inf", "neg inf: -inf", "pos -inf: -inf",
        "neg -inf: inf", "0 pos: 0", "0 neg: -0", "-0 pos: -0", "-0 neg: 0", "0 0: 0", "0 -0: -0",
        "-0 -0: 0",
    ],
    "nextafter": ["nan any: nan", "any nan: nan", "-0 0: 0", "0 -0: -0"],
    "not_equal": [
        "nan any: true", "any nan: true", "inf -inf: true", "-inf inf: true", "inf inf: false",
        "zero zero: false", "zero nonzero: true", "pos neg: true",
    ],
    "pow": [
        ">1 nan: nan", "neg nan: nan", "zero nan: nan", "±inf nan: nan", "any zero: 1",
        "nan nonzero: nan", "nan ±inf: nan", "nan nan: nan", "1 any: 1",
        ">1 inf: inf", "<-1 inf: inf", ">1 -inf: 0", "<-1 -inf: 0", "1 ±inf: 1", "-1 ±inf: 1",
        "small inf: 0", "small -inf: inf", "inf pos: inf", "inf inf: inf", "inf neg: 0",
        "inf -inf: 0", "-inf +odd: -inf", "-inf +even: inf", "-inf +half: inf", "-inf inf: inf",
        "-inf -odd: -0", "-inf -even: 0", "-inf -half: 0", "-inf -inf: 0", "0 pos: 0", "0 inf: 0",
        "0 neg: inf", "0 -inf: inf", "-0 +odd: -0", "-0 +even: 0", "-0 +half: 0", "-0 -odd: -inf",
        "-0 -even: inf", "-0 -half: inf", "neg +half: nan", "neg -half: nan",
    ],
    "remainder": [
        "nan any: nan", "any nan: nan", "±inf ±inf: nan", "any zero: nan", "0 pos: 0", "-0 pos: 0",
        "0 neg: -0", "-0 neg: -0", "0 inf: 0", "-0 inf: 0", "0 -inf: -0", "-0 -inf: -0",
        "±inf fin: nan", "pos inf: x", "pos -inf: y", "neg inf: y", "neg -inf: x", "4 2: 0",
        "-4 2: 0", "4 -2: -0", "-4 -2: -0", "5 3: 2", "-5 3: 1", "5 -3: -1", "-5 -3: -2",
    ],
    "subtract": [
        "nan any: nan", "any nan: nan", "inf inf: nan", "-inf -inf: nan", "inf -inf: inf",
        "-inf inf: -inf", "inf fin: inf", "fin inf: -inf", "0 0: 0", "-0 0: -0", "0 -0: 0",
        "-0 -0: 0", "nonzero zero: x",
    ],
}  # fmt: skip

# Of complex numbers "real imaginary: real imaginary", with imaginary parts that are not negative;
# those of conjugates are conjugates.
COMPLEX = {
    "acos": [
        "zero 0: ~pi/2 -0", "zero nan: ~pi/2 nan", "fin inf: ~pi/2 -inf", "nonzero nan: nan nan",
        "-inf pos: ~pi -inf", "inf pos: 0 -inf", "-inf inf: ~3pi/4 -inf", "inf inf: ~pi/4 -inf",
        "±inf nan: nan ?inf", "nan fin: nan nan", "nan inf: nan -inf", "nan nan: nan nan",
    ],
    "acosh": [
        "zero 0: 0 ~pi/2", "fin inf: inf ~pi/2", "nonzero nan: nan nan", "0 nan: nan ?~pi/2",
        "-inf pos: inf ~pi", "inf pos: inf 0", "-inf inf: inf ~3pi/4", "inf inf: inf ~pi/4",
        "±inf nan: inf nan", "nan fin: nan nan", "nan inf: inf nan", "nan nan: nan nan",
    ],
    "asinh": [
        "0 0: 0 0", "pos inf: inf ~pi/2", "fin nan: nan nan", "inf pos: inf 0",
        "inf inf: inf ~pi/4", "nan 0: nan 0", "nan pos: nan nan", "nan inf: ?inf nan",
        "nan nan: nan nan",
    ],
    "atanh": [
        "0 0: 0 0", "0 nan: 0 nan", "1 0: inf 0", "pos inf: 0 ~pi/2", "nonzero nan: nan nan",
        "inf pos: 0 ~pi/2", "inf inf: 0 ~pi/2", "inf nan: 0 nan", "nan fin: nan nan",
        "nan inf: ?0 ~pi/2", "nan nan: nan nan",
    ],
    "cosh": [
        "0 0: 1 0", "0 inf: nan ?0", "0 nan: nan ?0", "nonzero inf: nan nan",
        "nonzero nan: nan nan",
        "inf 0: inf 0", "inf pos: inf*cis", "inf inf: ?inf nan", "inf nan: inf nan",
        "nan zero: nan ?0", "nan pos: nan nan", "nan nan: nan nan",
    ],
    "exp": [
        "zero 0: 1 0", "fin inf: nan nan", "fin nan: nan nan", "inf 0: inf 0", "-inf fin: 0*cis",
        "inf pos: inf*cis", "-inf inf: ?0 ?0", "inf inf: ?inf nan", "-inf nan: ?0 ?0",
        "inf nan: ?inf nan", "nan 0: nan 0", "nan pos: nan nan", "nan nan: nan nan",
    ],
    "expm1": [
        "zero 0: 0? 0", "fin inf: nan nan", "fin nan: nan nan", "inf 0: inf 0",
        "-inf pos: -1 0*sin", "inf pos: inf*cis", "-inf inf: -1 ?0", "inf inf: ?inf nan",
        "-inf nan: -1 ?0", "inf nan: ?inf nan", "nan 0: nan 0", "nan pos: nan nan",
        "nan nan: nan nan",
    ],
    "log": [
        "-0 0: -inf ~pi", "0 0: -inf 0", "fin inf: inf ~pi/2", "fin nan: nan nan",
        "-inf pos: inf ~pi", "inf pos: inf 0", "-inf inf: inf ~3pi/4", "inf inf: inf ~pi/4",
        "±inf nan: inf nan", "nan fin: nan nan", "nan inf: inf nan", "nan nan: nan nan",
    ],
    "log1p": [
        "-1 0: -inf 0", "fin inf: inf ~pi/2", "fin nan: nan nan", "-inf pos: inf ~pi",
        "inf pos: inf 0", "-inf inf: inf ~3pi/4", "inf inf: inf ~pi/4", "±inf nan: inf nan",
        "nan fin: nan nan", "nan inf: inf nan", "nan nan: nan nan",
    ],
    "sign": ["zero zero: 0 0", "nan any: nan nan", "any nan: nan nan"],
    "sinh": [
        "0 0: 0 0", "0 inf: ?0 nan", "0 nan: ?0 nan", "pos inf: nan nan", "pos nan: nan nan",
        "inf 0: inf 0", "inf pos: inf*cis", "inf inf: ?inf nan", "inf nan: ?inf nan",
        "nan 0: nan 0", "nan pos: nan nan", "nan nan: nan nan",
    ],
    "sqrt": [
        "zero 0: 0 0", "any inf: inf inf", "fin nan: nan nan", "-inf pos: 0 inf", "inf pos: inf 0",
        "-inf nan: nan ?inf", "inf nan: inf nan", "nan fin: nan nan", "nan nan: nan nan",
    ],
    "tanh": [
        "0 0: 0 0", "nonzero inf: nan nan", "0 inf: 0 nan", "nonzero nan: nan nan", "0 nan: 0 nan",
        "inf pos: 1 0", "inf inf: 1 ?0", "inf nan: 1 ?0", "nan 0: nan 0", "nan pos: nan nan",
        "nan nan: nan nan",
    ],
}  # fmt: skip
