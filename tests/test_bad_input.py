"""Bad arguments: each public function names the argument, what it got and what is valid."""

import ipywidgets
import matplotlib.pyplot as plt
import pytest
import torch
from bad_calls import bad_calls
from matplotlib.figure import Figure

import course_lab
import course_utils
from course_lab import figures, widgets
from course_lab.door_strip import door_strip
from course_lab.measures import diagonal_strength, linear_probe, nearest_pair, similarity_by_offset
from course_utils import encodings, measures, plots
from course_utils.attention import MultiHeadAttention
from course_utils.attention.kv_cache import FixedCache, KVCache
from course_utils.encodings import NoEncoding, Places, PositionalEncoding, Sinusoidal, functional
from course_utils.models import TinyTransformer

pytestmark = [pytest.mark.usefixtures("figures", "shown")]

NAN, INF = float("nan"), float("inf")
ROW = torch.arange(4)
X = torch.zeros(2, 4, 8)
HEADS = torch.zeros(2, 2, 4, 4)
SQUARE = torch.full((4, 4), 0.25)
ZEROS, TRUES = torch.zeros(4), torch.ones(4, dtype=torch.bool)
SEEN = torch.ones(2, 4, dtype=torch.bool)
TABLE = torch.zeros(6, 8)
BROKEN = SQUARE.clone()
BROKEN[1, 2] = NAN


def create(name="sinusoidal", d_model=8, n_heads=2, **options):
    return encodings.create(name, d_model=d_model, n_heads=n_heads, **options)


def attend(x=X, positions=None, cache=None, mask=None, **kinds):
    return MultiHeadAttention(8, 2, **kinds)(x, positions, cache=cache, attention_mask=mask)


def attend_twice(first, then, cache_of=(8, 2)):
    cache = KVCache()
    d_model, n_heads = cache_of
    MultiHeadAttention(d_model, n_heads, causal=True)(first, cache=cache)
    return attend(then, cache=cache, causal=True)


def model(encoding="none", **options):
    return TinyTransformer(5, encoding, **{"d_model": 8, "n_layers": 1, "n_heads": 2} | options)


def predict_tokens(tokens, positions=None, cache=None):
    return model()(tokens, positions, cache)


def embed(x=X, positions=ROW):
    return Sinusoidal(8, 2).embed(x, positions)


def doors(q=HEADS, k=HEADS):
    return create("alibi").bias(q, k, Places(ROW))


def heatmap(matrix, **options):
    return plots.heatmap(plt.figure().add_subplot(), matrix, **options)


def lines(curves, **options):
    return plots.lines(plt.figure().add_subplot(), curves, **options)


def portrait(table=TABLE, waves=ZEROS, dimensions=(0,), positions=(0,)):
    return figures.four_panel(table, waves, dimensions=dimensions, positions=positions, title="t")


def explore(draw=lambda fig, **values: None, **controls):
    return widgets.explore(draw, **controls)


def probe(features=X[0], targets=ZEROS, train=TRUES):
    return linear_probe(features, targets, train)


def passport(name="none", **options):
    return measures.passport(name, **{"d_model": 8, "n_heads": 2, "length": 4} | options)


# What is called, the error, the argument it must name, and what else its message must show.
BAD = [
    # create and the encodings' constructors
    (lambda: create("sinusodial"), ValueError, "name", "'sinusodial'", "did you mean 'sinusoidal'"),
    (lambda: create("NONE"), ValueError, "name", "'NONE'", "did you mean 'none'"),
    (lambda: create("wavelets of Haar"), ValueError, "name", "wavelets", "Valid: none, sinusoidal"),
    (lambda: create(None), TypeError, "name", "NoneType"),
    (lambda: create(3), TypeError, "name", "int 3"),
    (lambda: create(d_model=7, n_heads=1), ValueError, "d_model", "even", "got 7", "6 or 8"),
    (lambda: create(d_model=0), ValueError, "d_model", "got 0"),
    (lambda: create(d_model=-8), ValueError, "d_model", "got -8"),
    (lambda: create(d_model=8.0), TypeError, "d_model", "float 8.0"),
    (lambda: create(d_model="8"), TypeError, "d_model", "str '8'"),
    (lambda: create(d_model=True), TypeError, "d_model", "bool True"),
    (lambda: create(n_heads=3), ValueError, "n_heads", "n_heads 3", "d_model 8", "1, 2, 4, 8"),
    (lambda: create(n_heads=0), ValueError, "n_heads", "got 0"),
    (lambda: create(n_heads=2.0), TypeError, "n_heads", "float 2.0"),
    (lambda: create(max_len=0), ValueError, "max_len", "got 0"),
    (lambda: create(max_len=-1), ValueError, "max_len", "got -1"),
    (lambda: create(max_len=True), TypeError, "max_len", "bool True"),
    (lambda: create(causal=1), TypeError, "causal", "int 1"),
    (lambda: create(bse=10.0), ValueError, "option of 'sinusoidal'", "'bse'", "mean 'base'"),
    (lambda: create("none", base=10.0), ValueError, "option of 'none'", "'base'"),
    (lambda: create(base=NAN), ValueError, "base", "nan"),
    (lambda: create(base=INF), ValueError, "base", "inf"),
    (lambda: create(base=0), ValueError, "base", "got 0"),
    (lambda: create(base=-10000.0), ValueError, "base", "-10000"),
    (lambda: create(base="big"), TypeError, "base", "str 'big'"),
    (lambda: create(base=True), TypeError, "base", "bool True"),
    (lambda: Sinusoidal(9, 3), ValueError, "d_model", "got 9"),
    (lambda: NoEncoding(8, 5), ValueError, "n_heads", "n_heads 5", "d_model 8"),
    (lambda: PositionalEncoding(8, True), TypeError, "n_heads", "bool True"),
    # embed
    (lambda: embed(x=X[..., :6]), ValueError, "x", "8 wide", "got 6"),
    (lambda: embed(x=X[0]), ValueError, "x", "(4, 8)"),
    (lambda: embed(x=X.long()), TypeError, "x", "torch.int64"),
    (lambda: embed(x=[[1.0]]), TypeError, "x", "list"),
    (lambda: embed(x=X[:, :0]), ValueError, "x", "empty", "(2, 0, 8)"),
    (lambda: embed(positions=ROW[:3]), ValueError, "positions", "4 tokens", "got 3"),
    (lambda: embed(positions=None), TypeError, "positions", "NoneType"),
    (lambda: embed(positions=ROW.repeat(3, 1)), ValueError, "positions", "one row", "got 3"),
    (lambda: embed(positions=ROW.short()), TypeError, "positions", "int64, int32", "torch.int16"),
    # doors 2 and 3 share their checks
    (lambda: doors(k=HEADS[:1]), ValueError, "k", "batch size", "got 1"),
    (lambda: doors(k=HEADS.double()), ValueError, "k", "dtype of q", "torch.float64"),
    # functional
    (lambda: functional.sinusoidal_table([0, 1], 8), TypeError, "positions", "list [0, 1]"),
    (lambda: functional.sinusoidal_table(3, 8), TypeError, "positions", "int 3"),
    (lambda: functional.sinusoidal_table(ROW[:0], 8), ValueError, "positions", "empty", "(0,)"),
    (lambda: functional.sinusoidal_table(ROW > 1, 8), TypeError, "positions", "torch.bool"),
    (lambda: functional.sinusoidal_table(ROW * 1j, 8), TypeError, "positions", "complex"),
    (lambda: functional.sinusoidal_table(ROW / 0, 8), ValueError, "positions", "nan at place 0"),
    (lambda: functional.sinusoidal_table(ROW, 5), ValueError, "d_model", "got 5"),
    (lambda: functional.sinusoidal_table(ROW, 8, 0.0), ValueError, "base", "got 0"),
    (lambda: functional.sinusoidal_frequencies(3), ValueError, "d_model", "got 3"),
    (lambda: functional.wavelengths(8, -2.0), ValueError, "base", "-2"),
    (lambda: functional.shift_matrix("1", 8), TypeError, "k", "str '1'"),
    (lambda: functional.shift_matrix(True, 8), TypeError, "k", "bool True"),
    (lambda: functional.shift_matrix(NAN, 8), ValueError, "k", "nan"),
    (lambda: functional.shift_matrix(INF, 8), ValueError, "k", "inf"),
    (lambda: functional.shift_matrix(1, 7), ValueError, "d_model", "got 7"),
    # attention
    (lambda: MultiHeadAttention(8, 3), ValueError, "n_heads", "n_heads 3", "d_model 8"),
    (lambda: MultiHeadAttention(8.0, 2), TypeError, "d_model", "float 8.0"),
    (lambda: attend(encoding="none"), TypeError, "encoding", "str 'none'", "create"),
    (lambda: attend(encoding=Sinusoidal), TypeError, "encoding", "Sinusoidal"),
    (lambda: attend(encoding=Sinusoidal(16, 2)), ValueError, "encoding", "8 and 2", "16 and 2"),
    (lambda: attend(encoding=Sinusoidal(8, 4)), ValueError, "encoding", "8 and 2", "8 and 4"),
    (lambda: attend(causal="yes"), TypeError, "causal", "str 'yes'"),
    (lambda: attend(X[0]), ValueError, "x", "(batch, seq, 8)", "(4, 8)"),
    (lambda: attend(X[..., :4]), ValueError, "x", "(batch, seq, 8)", "(2, 4, 4)"),
    (lambda: attend(X[:, :0]), ValueError, "x", "empty", "(2, 0, 8)"),
    (lambda: attend(X.int()), TypeError, "x", "torch.int32"),
    (lambda: attend(X.double()), TypeError, "x", "torch.float64", "torch.float32"),
    (lambda: attend(X.tolist()), TypeError, "x", "list"),
    (lambda: attend(positions=ROW[:2]), ValueError, "positions", "4 tokens", "got 2"),
    (lambda: attend(positions=[0, 1, 2, 3]), TypeError, "positions", "list [0, 1, 2, 3]"),
    (lambda: attend(positions=ROW.repeat(3, 1)), ValueError, "positions", "one row", "got 3"),
    (lambda: attend(positions=ROW / 0), ValueError, "positions", "nan at place 0"),
    (lambda: attend(mask=SEEN.float()), TypeError, "attention_mask", "torch.float32"),
    (lambda: attend(mask=SEEN[:1]), ValueError, "attention_mask", "(2, 4)", "(1, 4)"),
    (lambda: attend(mask=SEEN[:, 1:]), ValueError, "attention_mask", "keys", "(2, 3)"),
    (lambda: attend(mask=SEEN[0]), ValueError, "attention_mask", "(2, 4)", "got (4,)"),
    (lambda: attend(mask="left"), TypeError, "attention_mask", "'left'"),
    (lambda: MultiHeadAttention(8, 2, n_kv_heads=0), ValueError, "n_kv_heads", "got 0"),
    (lambda: MultiHeadAttention(8, 2, n_kv_heads=3), ValueError, "n_kv_heads", "valid: 1, 2"),
    (lambda: FixedCache(0), ValueError, "capacity", "got 0"),
    (lambda: KVCache().keep_last(0), ValueError, "n", "got 0"),
    (lambda: KVCache().keep_last(1, first=-1), ValueError, "first", "got -1"),
    (lambda: MultiHeadAttention(8, 2, log_n=1), ValueError, "log_n", "got 1"),
    (lambda: MultiHeadAttention(8, 2, log_n=64.0), TypeError, "log_n", "float 64.0"),
    (lambda: attend(causal=True, cache=[]), TypeError, "cache", "list []"),
    (lambda: attend(causal=False, cache=KVCache()), ValueError, "cache", "not causal"),
    (lambda: attend_twice(X, X[:1]), ValueError, "cache", "(2, 2, 4)", "(1, 2, 4)"),
    (lambda: attend_twice(X, X, cache_of=(8, 4)), ValueError, "cache", "(2, 4, 2)", "(2, 2, 4)"),
    # TinyTransformer
    (lambda: predict_tokens(ROW[None], cache=KVCache()), TypeError, "cache", "list of 1"),
    (lambda: predict_tokens(ROW[None], cache=[KVCache()] * 2), TypeError, "cache", "list of 1"),
    (lambda: predict_tokens(ROW[None], cache=[None]), TypeError, "cache", "[None]"),
    (lambda: model(log_n=0), ValueError, "log_n", "got 0"),
    (lambda: model(embedding_dropout=1), ValueError, "embedding_dropout", "below 1", "got 1"),
    (lambda: model(embedding_dropout=-0.1), ValueError, "embedding_dropout", "got -0.1"),
    (lambda: model(embedding_dropout="0.1"), TypeError, "embedding_dropout", "str '0.1'"),
    (lambda: TinyTransformer(0), ValueError, "vocab_size", "got 0"),
    (lambda: TinyTransformer(2.5), TypeError, "vocab_size", "float 2.5"),
    (lambda: model("sinusoid"), ValueError, "encoding", "'sinusoid'", "did you mean 'sinusoidal'"),
    (lambda: model(None), TypeError, "encoding", "NoneType"),
    (lambda: model(n_layers=0), ValueError, "n_layers", "got 0"),
    (lambda: model(n_layers=1.0), TypeError, "n_layers", "float 1.0"),
    (lambda: model(n_heads=3), ValueError, "n_heads", "n_heads 3"),
    (lambda: model("sinusoidal", d_model=6.0), TypeError, "d_model", "float 6.0"),
    (lambda: model(causal=None), TypeError, "causal", "NoneType"),
    (lambda: model(max_len=0), ValueError, "max_len", "got 0"),
    (lambda: model("sinusoidal", bas=2), ValueError, "option of 'sinusoidal'", "mean 'base'"),
    (lambda: predict_tokens(torch.zeros(1, 3)), TypeError, "tokens", "torch.float32"),
    (lambda: predict_tokens(ROW), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda: predict_tokens(torch.tensor([[0, 5]])), ValueError, "tokens", "0 to 4", "got 5"),
    (lambda: predict_tokens(torch.tensor([[-1, 2]])), ValueError, "tokens", "0 to 4", "got -1"),
    (lambda: predict_tokens(ROW[None, :0]), ValueError, "tokens", "empty", "(1, 0)"),
    (lambda: predict_tokens([[1, 2]]), TypeError, "tokens", "list [[1, 2]]"),
    (lambda: predict_tokens(ROW[None], ROW[:3]), ValueError, "positions", "4 tokens", "got 3"),
    # measures of weights
    (lambda: measures.entropy(2 * SQUARE), ValueError, "weights", "sum to 1", "2 to 2"),
    (lambda: measures.entropy(torch.tensor([[1.5, -0.5]])), ValueError, "weights", "-0.5"),
    (lambda: measures.entropy(BROKEN), ValueError, "weights", "nan"),
    (lambda: measures.entropy(torch.eye(3).long()), TypeError, "weights", "torch.int64"),
    (lambda: measures.entropy([[1.0]]), TypeError, "weights", "list [[1.0]]"),
    (lambda: measures.entropy(X[:, :0]), ValueError, "weights", "empty", "(2, 0, 8)"),
    (lambda: diagonal_strength(SQUARE[:3]), ValueError, "weights", "square", "(3, 4)"),
    (lambda: diagonal_strength(3 * SQUARE), ValueError, "weights", "sum to 1", "3"),
    # measures of tables
    (lambda: measures.similarity_matrix(torch.eye(3).T[:, :2]), ValueError, "table", "row 2"),
    (lambda: measures.similarity_matrix(ROW[None]), TypeError, "table", "torch.int64"),
    (lambda: measures.similarity_matrix(X), ValueError, "table", "(n, width)", "(2, 4, 8)"),
    (lambda: measures.similarity_matrix(BROKEN), ValueError, "table", "nan at [1, 2]"),
    (lambda: similarity_by_offset(SQUARE[:2]), ValueError, "matrix", "square", "(2, 4)"),
    (lambda: measures.toeplitz_error(SQUARE[:2]), ValueError, "matrix", "square", "(2, 4)"),
    (lambda: measures.toeplitz_error(SQUARE[0]), ValueError, "matrix", "square", "(4,)"),
    (lambda: measures.toeplitz_error(BROKEN), ValueError, "matrix", "nan at [1, 2]"),
    (lambda: measures.toeplitz_error("SQUARE"), TypeError, "matrix", "str 'SQUARE'"),
    (lambda: nearest_pair(SQUARE[:1]), ValueError, "rows in table", "got 1"),
    (lambda: nearest_pair(BROKEN), ValueError, "table", "nan at [1, 2]"),
    (lambda: nearest_pair(SQUARE, chunk=0), ValueError, "chunk", "got 0"),
    (lambda: nearest_pair(SQUARE, chunk=2.0), TypeError, "chunk", "float 2.0"),
    (lambda: probe(targets=torch.zeros(3)), ValueError, "targets", "4, 3 and 4"),
    (lambda: probe(targets=[1.0] * 4), TypeError, "targets", "list"),
    (lambda: probe(targets=torch.full((4,), NAN)), ValueError, "targets", "nan at [0]"),
    (lambda: probe(train=ROW), ValueError, "train", "bool", "tensor([0, 1, 2, 3])"),
    (lambda: probe(train=ROW > 9), ValueError, "train", "at least one True", "False"),
    (lambda: probe(train=[True] * 4), TypeError, "train", "list"),
    (lambda: probe(features=X), ValueError, "features", "(n, width)", "(2, 4, 8)"),
    # measures of encodings
    (lambda: measures.equivariance_error(None, X), TypeError, "attention", "NoneType"),
    (lambda: measures.equivariance_error(torch.relu, X[0]), ValueError, "x", "(4, 8)"),
    (lambda: measures.equivariance_error(torch.relu, X[:, :1]), ValueError, "x", "got 1"),
    (lambda: measures.fingerprint("none", 4), TypeError, "encoding", "str 'none'"),
    (lambda: measures.fingerprint(create(), 0), ValueError, "length", "got 0"),
    (lambda: measures.fingerprint(create(), 4.0), TypeError, "length", "float 4.0"),
    (lambda: measures.position_scores(None, X, ROW), TypeError, "encoding", "NoneType"),
    (lambda: measures.position_scores(create("none"), X[0], ROW), ValueError, "x", "(4, 8)"),
    (lambda: measures.position_scores(create("none"), X[..., 1:], ROW), ValueError, "x", "4, 7"),
    (lambda: measures.position_scores(create("none"), X, ROW[1:]), ValueError, "positions", "3"),
    (lambda: passport("non"), ValueError, "name", "'non'", "did you mean 'none'"),
    (lambda: passport(length=-4), ValueError, "length", "got -4"),
    (lambda: passport(length="4"), TypeError, "length", "str '4'"),
    (lambda: passport(batch=0), ValueError, "batch", "got 0"),
    (lambda: passport(device="cpuu"), ValueError, "device", "'cpuu'", "did you mean 'cpu'"),
    (lambda: passport(base=1.0), ValueError, "option of 'none'", "'base'"),
    # plots
    (lambda: plots.show("picture", "text"), TypeError, "fig", "str 'picture'"),
    (lambda: plots.show(Figure(), " "), ValueError, "description", "' '"),
    (lambda: plots.show(Figure(), None), TypeError, "description", "NoneType"),
    (lambda: plots.png(None), TypeError, "fig", "NoneType"),
    (lambda: plots.heatmap(Figure(), SQUARE), TypeError, "ax", "Figure"),
    (lambda: heatmap([[1.0]]), TypeError, "matrix", "list [[1.0]]"),
    (lambda: heatmap(X), ValueError, "matrix", "(rows, columns)", "(2, 4, 8)"),
    (lambda: heatmap(SQUARE[:0]), ValueError, "matrix", "empty", "(0, 4)"),
    (lambda: heatmap(BROKEN), ValueError, "matrix", "nan at [1, 2]"),
    (lambda: heatmap(SQUARE, limit=0), ValueError, "limit", "got 0"),
    (lambda: heatmap(SQUARE, limit="1"), TypeError, "limit", "str '1'"),
    (lambda: figures.attention(plt.gca(), SQUARE, ["a"]), ValueError, "words", "(4, 4)", "got 1"),
    (lambda: figures.similarity(plt.gca(), ROW), ValueError, "matrix", "(4,)"),
    (lambda: figures.fingerprint(SQUARE, "t"), ValueError, "scores", "(4, 4)"),
    (lambda: lines({"a": [1, 2]}), TypeError, "curve 'a'", "list [1, 2]"),
    (lambda: lines({"a": SQUARE}), ValueError, "curve 'a'", "(4, 4)"),
    (lambda: lines({"a": ROW}, x=ROW[:2]), ValueError, "x", "'a'", "got 2"),
    (lambda: figures.entropy(plt.gca(), {"a": ROW}, 0.0), ValueError, "ceiling", "got 0"),
    (lambda: figures.entropy(plt.gca(), {}, 1.0, floor=1.0), ValueError, "floor", "got 1.0"),
    (lambda: plots.quick_png("fig"), TypeError, "fig", "str 'fig'"),
    (lambda: portrait(table=ROW), ValueError, "table", "(4,)"),
    (lambda: portrait(waves=None), TypeError, "wavelengths", "NoneType"),
    (lambda: portrait(dimensions=[8]), ValueError, "dimensions", "below 8", "got 8"),
    (lambda: portrait(positions=[6]), ValueError, "positions", "below 6", "got 6"),
    (lambda: portrait(positions=[0.5]), TypeError, "positions", "float 0.5"),
    (lambda: door_strip(["embd"]), ValueError, "doors", "'embd'", "did you mean 'embed'"),
    (lambda: door_strip([1]), TypeError, "doors", "int 1"),
    (lambda: door_strip(None), TypeError, "doors", "NoneType"),
    # widgets
    (lambda: explore("draw", k=(0, 3, 1)), TypeError, "draw", "str 'draw'"),
    (lambda: explore(), ValueError, "controls", "{}"),
    (lambda: explore(size=(8,), k=(0, 3, 1)), ValueError, "size", "(8,)"),
    (lambda: explore(size=(8, 0), k=(0, 3, 1)), ValueError, "size", "got 0"),
    (lambda: explore(k=(0, 3)), TypeError, "k", "(0, 3)"),
    (lambda: explore(k=(0, 3, 4)), ValueError, "k", "low <= start <= high", "(0, 3, 4)"),
    (lambda: explore(k=(3, 0, 1)), ValueError, "k", "(3, 0, 1)"),
    (lambda: explore(k=(2, 2, 2)), ValueError, "k", "(2, 2, 2)"),
    (lambda: explore(k=(0, 3, 1, 0)), ValueError, "k", "(0, 3, 1, 0)"),
    (lambda: explore(k=(0, INF, 1)), ValueError, "k", "inf"),
    (lambda: explore(k=("a", "b", "c")), TypeError, "k", "('a', 'b', 'c')"),
    (lambda: explore(k=(0, 3, True)), TypeError, "k", "(0, 3, True)"),
    (lambda: explore(k=[]), TypeError, "k", "[]"),
    (lambda: explore(k=["a", 1]), TypeError, "k", "['a', 1]"),
    (lambda: explore(k=5), TypeError, "k", "5"),
    (lambda: explore(k=ipywidgets.HBox()), TypeError, "k", "HBox"),
    (lambda: widgets.log_slider(0, 10, 1), ValueError, "low", "got 0"),
    (lambda: widgets.log_slider(1, 10, 20), ValueError, "start", "got 1, 20, 10"),
    (lambda: widgets.log_slider(1, "10", 2), TypeError, "high", "str '10'"),
    (lambda: widgets.predict("", ["a", "b"]), ValueError, "question", "''"),
    (lambda: widgets.predict(3, ["a", "b"]), TypeError, "question", "int 3"),
    (lambda: widgets.predict("q?", ["a"]), ValueError, "choices", "['a']"),
    (lambda: widgets.predict("q?", ["a", "a"]), ValueError, "choices", "['a', 'a']"),
    (lambda: widgets.predict("q?", "ab"), TypeError, "choices", "str 'ab'"),
    (lambda: widgets.predict_number(" "), ValueError, "question", "' '"),
    (lambda: widgets.predict_number(None), TypeError, "question", "NoneType"),
    # session
    (lambda: course_utils.pick_device("gpu"), ValueError, "device", "'gpu'", "cuda, mps, cpu"),
    (lambda: course_utils.pick_device(0), TypeError, "device", "int 0"),
    (lambda: course_utils.seed_everything(-1), ValueError, "seed", "got -1"),
    (lambda: course_utils.seed_everything(2**32), ValueError, "seed", str(2**32)),
    (lambda: course_utils.seed_everything(0.5), TypeError, "seed", "float 0.5"),
    (lambda: course_lab.start(seed="now"), TypeError, "seed", "str 'now'"),
    (lambda: course_lab.start(device="tpu"), ValueError, "device", "'tpu'"),
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without cuda")
def test_a_device_this_machine_lacks_is_refused_with_those_it_has():
    with pytest.raises(ValueError, match="'cuda' is not on this machine; available: .*cpu"):
        course_utils.pick_device("cuda")


def test_a_bad_start_changes_nothing():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with pytest.raises(ValueError):
        course_lab.start(seed=1, device="tpu")
    assert torch.equal(torch.get_rng_state(), before)
