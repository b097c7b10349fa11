"""Bad arguments of pretrained models: each error names the argument, what it got, what is valid."""

import functools

import pytest
import torch
from bad_calls import bad_calls

from course_utils import pretrained
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import Linear, create

pytestmark = [
    pytest.mark.usefixtures("plain_arguments", "released"),
    pytest.mark.skipif(
        bool(pretrained.missing()),
        reason=f"{', '.join(pretrained.missing())} not installed: make test without MODELS=no",
    ),
]

encoder = functools.cache(pretrained.minilm)
model = functools.cache(pretrained.smollm2)
NAN = float("nan")
ROW = torch.arange(4)
IDS = ROW[None]


@pytest.fixture(scope="module")
def released():
    """Both models, loaded once and let go after the last test here."""
    yield
    encoder.cache_clear()
    model.cache_clear()


def rope(d_model=384, n_heads=12, **options):
    return create("rope", d_model=d_model, n_heads=n_heads, **options)


# What is called, the error, the argument it must name, and what else its message must show.
BAD = [
    # the encoder
    (lambda: encoder().encode([]), ValueError, "sentences", "at least one", "got none"),
    (lambda: encoder().encode(3), TypeError, "sentences", "int 3"),
    (lambda: encoder().encode(["a", 3]), TypeError, "sentences[1]", "a string", "int 3"),
    (lambda: encoder().encode(["a", " "]), ValueError, "sentences[1]", "empty", "' '"),
    (lambda: encoder().encode(""), ValueError, "sentences[0]", "empty"),
    (lambda: encoder().embed(["a b", "a"], ROW[:3]), ValueError, "positions", "4 tokens", "got 3"),
    (lambda: encoder().embed("a b", ROW + 509), ValueError, "positions", "0 to 511", "got 512"),
    (lambda: encoder().embed("a b", ROW - 1), ValueError, "positions", "0 to 511", "got -1"),
    (lambda: encoder().embed("a b", ROW / 2), ValueError, "positions", "whole", "0.5 at place"),
    (lambda: encoder().embed("a b", [0, 1, 2, 3]), TypeError, "positions", "list"),
    (lambda: encoder().embed("a b", ROW.repeat(3, 1)), ValueError, "positions", "got 3"),
    (lambda: encoder()(IDS + 30519), ValueError, "tokens", "0 to 30521", "got 30522"),
    (lambda: encoder()(IDS.float()), TypeError, "tokens", "integer", "torch.float32"),
    (lambda: encoder()(ROW), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda: encoder()(IDS, attention_mask=IDS), TypeError, "attention_mask", "torch.int64"),
    (lambda: encoder()(IDS, attention_mask=IDS[:, :3] > 0), ValueError, "attention_mask", "(1, 3)"),
    (lambda: encoder().with_table(torch.zeros(512, 385)), ValueError, "table", "384", "got 385"),
    (lambda: encoder().with_table(torch.zeros(384)), ValueError, "table", "(positions, 384)"),
    (lambda: encoder().with_table(torch.zeros(2, 384) * NAN), ValueError, "table", "finite"),
    (lambda: encoder().with_table([[0.0]]), TypeError, "table", "list"),
    # exchanges
    (lambda: encoder().with_encoding(), TypeError, "encoding", "options", "got neither"),
    (lambda: encoder().with_encoding(rope(), base=5.0), TypeError, "encoding", "got both"),
    (lambda: encoder().with_encoding("rope"), TypeError, "encoding", "str 'rope'", "create"),
    (lambda: encoder().with_encoding(rope(576, 9)), ValueError, "encoding", "384 and 12", "576"),
    (lambda: encoder().with_encoding(base=5.0), ValueError, "option", "'base'", "Valid: max_len"),
    (lambda: encoder().with_encoding(beyond="x"), ValueError, "beyond", "'x'", "Valid: error"),
    (lambda: encoder().with_encoding(max_len=9), ValueError, "options", "[512, 384]", "[9, 384]"),
    (
        lambda: encoder().with_encoding(create("cope", d_model=384, n_heads=12, causal=True)),
        ValueError,
        "causal",
        "CoPE",
    ),
    (lambda: pretrained.minilm("rope"), TypeError, "encoding", "str 'rope'"),
    (lambda: model().with_encoding(bse=5.0), ValueError, "option", "'bse'", "did you mean 'base'"),
    (lambda: model().with_encoding(base=-1.0), ValueError, "base", "-1.0"),
    (lambda: model().with_encoding(scaling=4), TypeError, "scaling", "YaRN", "int 4"),
    (lambda: model().with_encoding(rope()), ValueError, "encoding", "576 and 9", "384 and 12"),
    (lambda: model().with_encoding(Linear(4)), TypeError, "encoding", "Linear"),
    # the language model
    (lambda: model().encode(3), TypeError, "text", "a string", "int 3"),
    (lambda: model().encode(["a"]), TypeError, "text", "a string", "list"),
    (lambda: model().decode([1, 2]), TypeError, "tokens", "(seq,) or (1, seq)", "list"),
    (lambda: model().decode(IDS.repeat(2, 1)), ValueError, "tokens", "(1, seq)", "(2, 4)"),
    (lambda: model().decode(torch.tensor(3)), ValueError, "tokens", "()"),
    (lambda: model().decode(ROW[:0]), ValueError, "tokens", "empty"),
    (lambda: model().decode(ROW / 2), TypeError, "tokens", "integer", "torch.float32"),
    (lambda: model().decode(ROW - 1), ValueError, "tokens", "0 to 49151", "got -1"),
    (lambda: model().decode(ROW + 49149), ValueError, "tokens", "0 to 49151", "got 49152"),
    (lambda: model()(IDS + 49149), ValueError, "tokens", "0 to 49151", "got 49152"),
    (lambda: model()(model().encode("")), ValueError, "tokens", "empty", "(1, 0)"),
    (lambda: model()(IDS, ROW[:3]), ValueError, "positions", "4 tokens", "got 3"),
    (lambda: model()(IDS, ROW * NAN), ValueError, "positions", "finite"),
    (lambda: model()(IDS, cache=KVCache()), TypeError, "cache", "30 KVCache"),
    (lambda: model()(IDS, cache=[KVCache()]), TypeError, "cache", "30 KVCache"),
    (lambda: model()(IDS, attention_mask=IDS), TypeError, "attention_mask", "torch.int64"),
    (lambda: model().hidden(ROW), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda: model().loss(IDS.float()), TypeError, "tokens", "integer"),
    (lambda: model().loss(IDS, ROW[:2]), ValueError, "positions", "got 2"),
    (lambda: model().generate(IDS, 0), ValueError, "count", "at least 1", "got 0"),
    (lambda: model().generate(IDS, 2.0), TypeError, "count", "float 2.0"),
    (lambda: model().generate(ROW, 2), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda: model().generate(IDS[:, :0], 2), ValueError, "tokens", "empty"),
    (lambda: model().new_cache(0), ValueError, "capacity", "got 0"),
    (lambda: model()(IDS, cache=model().new_cache(3)), ValueError, "cache", "room for 0 + 4"),
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD)
