"""Bad arguments of the encodings at door 1: each error names what is wrong and what would do."""

import torch
from bad_calls import bad_calls

from course_utils.encodings import ComplexOrder, Floater, Learned, Multiplicative, Sinusoidal2D
from course_utils.encodings.functional import decomposed_table, sinusoidal_grid

NAN, INF = float("nan"), float("inf")
ROW = torch.arange(4)
X = torch.zeros(2, 4, 8)
IDS = torch.zeros(2, 4, dtype=torch.long)


def learned(positions=ROW, x=X, kind=Learned, **options):
    return kind(8, 2, **{"max_len": 5} | options).embed(x, positions)


def multiplied(positions=ROW, x=X, **options):
    return learned(positions, x, Multiplicative, **options)


def floater(positions=ROW, x=X, **options):
    return Floater(8, 2, **options).embed(x, positions)


def turned(tokens=IDS, positions=ROW, x=X, **options):
    return ComplexOrder(8, 2, **{"vocab_size": 9} | options).embed(x, positions, tokens)


def on_grid(positions=ROW, x=X, width=3, **options):
    return Sinusoidal2D(8, 2, width, **options).embed(x, positions)


def grid(rows=ROW, columns=ROW, d_model=8, base=10.0):
    return sinusoidal_grid(rows, columns, d_model, base)


def decomposed(rows=3, count=9, alpha=0.4):
    return decomposed_table(torch.zeros(rows, 2), count, alpha)


BAD = [
    # learned tables
    (lambda: decomposed(count=10), ValueError, "count", "at most 9", "got 10"),
    (lambda: decomposed(alpha=1.0), ValueError, "alpha", "below 1", "got 1.0"),
    (lambda: learned(ROW + 2), ValueError, "positions", "from 0 to 4", "5 at place 3"),
    (lambda: learned(ROW - 1), ValueError, "positions", "from 0 to 4", "-1 at place 0"),
    (lambda: learned(ROW / 2), ValueError, "positions", "whole", "0.5 at place 1"),
    (lambda: learned(ROW / 0), ValueError, "positions", "finite", "nan at place 0"),
    (lambda: learned(ROW[:3]), ValueError, "positions", "4 tokens", "got 3"),
    (lambda: learned([0, 1, 2, 3]), TypeError, "positions", "list [0, 1, 2, 3]"),
    (lambda: learned(x=X[..., :6]), ValueError, "x", "8 wide", "got 6"),
    (lambda: multiplied(ROW + 9), ValueError, "positions", "from 0 to 4", "9 at place 0"),
    (lambda: multiplied(ROW > 1), TypeError, "positions", "torch.bool"),
    (lambda: multiplied(x=X.long()), TypeError, "x", "torch.int64"),
    (lambda: learned(ROW - 2, beyond="clamp"), ValueError, "positions", "0 or more", "-2 at"),
    (lambda: learned(ROW / 2, beyond="clamp"), ValueError, "positions", "whole", "0.5"),
    (lambda: learned(ROW - 0.5, beyond="interpolate"), ValueError, "positions", "0 or", "-0.5 at"),
    (lambda: learned(ROW * INF, beyond="interpolate"), ValueError, "positions", "nan at place 0"),
    (lambda: learned(beyond="clip"), ValueError, "beyond", "'clip'", "did you mean 'clamp'"),
    (lambda: learned(std=0.0), ValueError, "std", "0.0"),
    (lambda: multiplied(std=-1.0), ValueError, "std", "-1.0"),
    (lambda: learned(std="small"), TypeError, "std", "small"),
    (lambda: learned(beyond="wrap"), ValueError, "beyond", "Valid: error, clamp, interpolate"),
    (lambda: multiplied(beyond=None), TypeError, "beyond", "NoneType"),
    (lambda: learned(max_len=0), ValueError, "max_len", "got 0"),
    (lambda: learned(max_len=True), TypeError, "max_len", "bool True"),
    (lambda: multiplied(max_len=1.5), TypeError, "max_len", "float 1.5"),
    (lambda: Learned(8, 3), ValueError, "n_heads", "n_heads 3", "1, 2, 4, 8"),
    # FLOATER
    (lambda: floater(ROW - 1), ValueError, "positions", "0 or more", "-1 at place 0"),
    (lambda: floater(ROW * -0.5), ValueError, "positions", "-0.5 at place 1"),
    (lambda: floater(ROW * INF), ValueError, "positions", "finite", "nan at place 0"),
    (lambda: floater(ROW[:1]), ValueError, "positions", "4 tokens", "got 1"),
    (lambda: floater(x=X[0]), ValueError, "x", "(batch, seq, d_model)", "(4, 8)"),
    (lambda: floater(hidden=0), ValueError, "hidden", "got 0"),
    (lambda: floater(hidden=8.0), TypeError, "hidden", "float 8.0"),
    (lambda: floater(step=0), ValueError, "step", "above 0", "got 0"),
    (lambda: floater(step=-1), ValueError, "step", "got -1"),
    (lambda: floater(step=True), TypeError, "step", "bool True"),
    (lambda: floater(delta=NAN), ValueError, "delta", "nan"),
    (lambda: floater(delta="0.1"), TypeError, "delta", "str '0.1'"),
    (lambda: Floater(8, 2).path(ROW - 3), ValueError, "positions", "-3 at place 0"),
    # complex order
    (lambda: turned(None), TypeError, "tokens", "the word's own frequencies", "None"),
    (lambda: turned(IDS + 9), ValueError, "tokens", "0 to 8", "got 9"),
    (lambda: turned(IDS - 1), ValueError, "tokens", "0 to 8", "got -1"),
    (lambda: turned(IDS.float()), TypeError, "tokens", "torch.float32"),
    (lambda: turned(IDS.tolist()), TypeError, "tokens", "list"),
    (lambda: turned(IDS[0]), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda: turned(IDS[:, :3]), ValueError, "tokens", "(2, 4)", "got (2, 3)"),
    (lambda: turned(IDS[:1]), ValueError, "tokens", "(2, 4)", "got (1, 4)"),
    (lambda: turned(positions=ROW / 0), ValueError, "positions", "nan at place 0"),
    (lambda: turned(vocab_size=0), ValueError, "vocab_size", "got 0"),
    (lambda: turned(vocab_size="9"), TypeError, "vocab_size", "str '9'"),
    (lambda: ComplexOrder(9, 3), ValueError, "d_model", "even", "8 or 10"),
    # the grid
    (lambda: on_grid(width=0), ValueError, "width", "got 0"),
    (lambda: on_grid(width=2.0), TypeError, "width", "float 2.0"),
    (lambda: on_grid(base=0), ValueError, "base", "got 0"),
    (lambda: on_grid(ROW + 0.5), ValueError, "positions", "whole", "0.5 at place 0"),
    (lambda: Sinusoidal2D(6, 2, 3), ValueError, "d_model", "by 4", "got 6", "4 or 8"),
    (lambda: Sinusoidal2D(2, 1, 3), ValueError, "d_model", "at least 4", "got 2"),
    (lambda: Sinusoidal2D(8.0, 2, 3), TypeError, "d_model", "float 8.0"),
    (lambda: grid(d_model=10), ValueError, "d_model", "by 4", "got 10", "8 or 12"),
    (lambda: grid(columns=ROW[:2]), ValueError, "columns", "got 2"),
    (lambda: grid(rows=ROW / 0), ValueError, "rows", "nan at place 0"),
    (lambda: grid(rows=3), TypeError, "rows", "int 3"),
    (lambda: grid(base=NAN), ValueError, "base", "nan"),
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD)
