"""Weights in files: the same again, and into nothing that would read them otherwise."""

import copy
import dataclasses
import json
import os
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import torch as safetensors
from torch import nn
from variants import DYNAMIC, VOCABULARY, sentence, tiny, variants

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import (
    NTK,
    Linear,
    Llama3,
    PositionalEncoding,
    Rotary,
    Scaling,
    YaRN,
    create,
)
from course_utils.models import TinyTransformer, from_file, saving, shipped
from course_utils.texts import data

ROPE: dict[str, Any] = {"layout": "half", "base": 500.0, "scaling": YaRN(4, 64)}


class Window(PositionalEncoding):
    """An encoding of one's own, with an option and a weight."""

    def __init__(self, d_model, n_heads, width=4):
        super().__init__(d_model, n_heads)
        self.width = width
        self.height = nn.Parameter(torch.randn(n_heads))

    def bias(self, q, k, at):
        near = torch.where(at.offsets.abs() < self.width, 0.0, -torch.inf)
        return near + self.height[:, None, None] * at.offsets


class Own(nn.Module):
    """A module of one's own around the course's attention; two layers share a matrix."""

    def __init__(self, encoding, n_heads=2, **kind):
        super().__init__()
        self.attention = MultiHeadAttention(16, n_heads, encoding, **kind)
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)
        self.second.weight = self.first.weight
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.tensor(3))

    def forward(self, x):
        return self.second(self.first(self.attention(x)[0]))


def state(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def same(state_dict, other):
    if state_dict.keys() != other.keys():
        return False
    return all(torch.equal(state_dict[name], other[name]) for name in state_dict)


def attention(model, layer):
    return model.blocks[layer].attention


def logits(model, tokens):
    with torch.no_grad():
        return model(tokens)


def refused(module, path, *shown):
    """``module`` does not take the weights, is as it was, and the message shows these words."""
    before = state(module)
    with pytest.raises(ValueError) as caught:
        saving.load(module, path)
    assert caught.type is ValueError
    for words in (path.name, *shown):
        assert words in str(caught.value)
    assert same(before, state(module))


def rewritten(path, **changes):
    """A file that says something else of itself, with a checksum that fits."""
    content = path.read_bytes()
    header, data = saving._split(content)
    description = json.loads(header["__metadata__"][saving.KEY]) | changes
    description.pop("sha256")
    description["sha256"] = saving._digest(description, data)
    header = {saving.KEY: json.dumps(description)}
    path.write_bytes(safetensors.save(safetensors.load(content), header))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture
def rope(path):
    """The file of a RoPE model with options."""
    tiny(("rope", ROPE)).save(path)
    return path


# The same again


@variants(DYNAMIC)
def test_a_model_reads_the_same_once_saved_and_loaded(variant, path):
    model, tokens = tiny(variant), sentence()
    model.save(path)
    expected = logits(model, tokens)
    torch.manual_seed(1)
    other = tiny(variant)
    assert not torch.equal(logits(other, tokens), expected)
    assert other.load(path) is other
    assert torch.equal(logits(other, tokens), expected)
    again = from_file(path)
    assert torch.equal(logits(again, tokens), expected)
    assert again.settings == model.settings
    assert not again.training and same(state(again), state(model))


@pytest.mark.parametrize("variant", [("t5", {}), ("alibi", {})])
def test_a_model_that_sees_both_sides_stays_one(variant, path):
    model, tokens = tiny(variant, causal=False), sentence()
    model.save(path)
    assert torch.equal(logits(from_file(path), tokens), logits(model, tokens))
    assert torch.equal(logits(model.changed(log_n=20), tokens), logits(model, tokens))


@pytest.mark.parametrize(
    "scaling", [YaRN(4, 64, released_code=False), Llama3(4, 64, high_freq=8)], ids=str
)
def test_the_options_of_a_scaling_survive_the_file(scaling, path):
    model = tiny(("rope", {"scaling": scaling}), log_n=4)
    model.save(path)
    again = from_file(path)
    assert again.encoding.options["scaling"] == scaling
    tokens = sentence(seq=40)
    assert torch.equal(logits(again, tokens), logits(model, tokens))


def test_a_tensor_with_several_names_is_written_once(path):
    model = tiny(("learned", {}), n_layers=3)
    model.save(path)
    written = set(safetensors.load(path.read_bytes()))
    assert written == {name for name, _ in model.named_parameters()}  # it names each one once
    assert {"embedding.weight", "encoding.table"} < written
    assert {"head.weight", "blocks.1.attention.encoding.table"} < set(model.state_dict()) - written
    again = from_file(path)
    assert again.head.weight is again.embedding.weight
    assert attention(again, 2).encoding is again.encoding


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_are_rounded_in_the_file_and_float32_in_the_model(dtype, path):
    model = tiny(("t5", {}))
    model.save(path, dtype)
    assert {tensor.dtype for tensor in safetensors.load(path.read_bytes()).values()} == {dtype}
    again = from_file(path)
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name].to(dtype).float())
    assert tiny(("t5", {})).double().load(path).embedding.weight.dtype == torch.float64
    assert next(model.parameters()).dtype == torch.float32  # saving changed nothing


def test_any_module_is_saved_and_loaded(path):
    module, x = Own(create("t5", d_model=16, n_heads=2)), torch.randn(1, 5, 16)
    module.seen += 1
    saving.save(module, path, torch.float16)
    other = Own(create("t5", d_model=16, n_heads=2))
    assert saving.load(other, path) is other
    rounded = copy.deepcopy(module).half().float()
    assert torch.equal(other(x), rounded(x))
    assert int(other.seen) == 4 and other.seen.dtype == torch.int64  # whole numbers stay whole
    assert other.second.weight is other.first.weight
    refused(Own(create("t5", d_model=16, n_heads=2), causal=True), path, "attention.options.causal")
    refused(Own(create("alibi", d_model=16, n_heads=2)), path, "attention.encoding.class", "T5")
    plain = nn.Linear(4, 4)
    saving.save(plain, path)
    assert same(state(saving.load(nn.Linear(4, 4), path)), state(plain))
    with pytest.raises(ValueError, match=r"holds no TinyTransformer"):
        from_file(path)


def test_an_encoding_alone_is_a_module_too(path):
    saving.save(create("sinusoidal", d_model=16, n_heads=2), path)
    refused(
        create("sinusoidal", d_model=16, n_heads=2, base=50.0), path, "base: 10000.0 there, 50.0"
    )
    refused(create("alibi", d_model=16, n_heads=2), path, "class: Sinusoidal there, ALiBi here")


@pytest.mark.usefixtures("plain_arguments")
def test_numpys_whole_numbers_and_another_default_dtype_do_no_harm(path):
    model = tiny(("fire", {"original_len": np.int64(8)}), d_model=np.int64(16))
    model.save(path)
    try:
        torch.set_default_dtype(torch.float64)
        again = from_file(path, log_n=4)
    finally:
        torch.set_default_dtype(torch.float32)
    assert again.settings == {**model.settings, "log_n": 4}
    assert {parameter.dtype for parameter in again.parameters()} == {torch.float32}
    assert same(state(again), state(model))


def test_a_file_says_what_it_holds(path):
    tiny(("rope", ROPE)).save(path, recipe={"steps": 3}, by="hand", scaling=Linear(2))
    description = saving.about(path)
    scaling = {"kind": "YaRN", **dataclasses.asdict(ROPE["scaling"])}
    options = {"d_model": 16, "n_heads": 2, "fraction": 1.0, **ROPE, "scaling": scaling}
    assert description["parts"]["encoding"] == {"class": "Rotary", "options": options}
    encodings = [name for name, part in description["parts"].items() if part["class"] == "Rotary"]
    assert encodings == ["encoding"]  # all layers share it
    assert description["notes"]["recipe"] == {"steps": 3} and description["notes"]["by"] == "hand"
    assert description["notes"]["scaling"] == {"kind": "Linear", "factor": 2}
    assert description["format"] == saving.FORMAT


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in "ab":
        torch.manual_seed(0)
        tiny(("rope", ROPE)).save(tmp_path / name, recipe={"b": 1, "a": 2})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# What is refused


@pytest.mark.parametrize(("there", "here"), [*permutations(["rope", "alibi", "none"], 2)])
def test_encodings_without_weights_are_told_apart(there, here, path):
    saved, other = tiny((there, {})), tiny((here, {}))
    saved.save(path)
    names = (type(saved.encoding).__name__, type(other.encoding).__name__)
    refused(other, path, "encoding.class: {} there, {} here".format(*names))


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"layout": "interleaved"}, "encoding.options.layout: half there, interleaved here"),
        ({"base": 400.0}, "encoding.options.base: 500.0 there, 400.0 here"),
        ({"fraction": 0.5}, "encoding.options.fraction: 1.0 there, 0.5 here"),
        ({"scaling": None}, "here"),
        ({"scaling": NTK(4)}, "encoding.options.scaling.kind: YaRN there, NTK here"),
        ({"scaling": YaRN(8, 64)}, "encoding.options.scaling.factor: 4 there, 8 here"),
        ({"scaling": YaRN(4, 32)}, "encoding.options.scaling.original_len: 64 there, 32 here"),
        ({"scaling": YaRN(4, 64, released_code=False)}, "scaling.released_code: True there, False"),
        ({"d_model": 32}, "encoding.options.d_model: 16 there, 32 here"),
        ({"n_heads": 4}, "encoding.options.n_heads: 2 there, 4 here"),
        ({"n_layers": 1}, "blocks.1.attention"),
        ({"n_layers": 3}, "blocks.2.attention"),
        ({"causal": False}, "blocks.0.attention.options.causal: True there, False here"),
        ({"log_n": 8}, "blocks.0.attention.options.log_n: None there, 8 here"),
    ],
    ids=str,
)
def test_a_model_that_would_read_the_weights_otherwise_is_refused(changes, shown, rope):
    kind = {name: changes[name] for name in changes.keys() - ROPE.keys() - {"fraction"}}
    options = ROPE | {name: changes[name] for name in changes.keys() - kind.keys()}
    refused(tiny(("rope", options), kind.pop("causal", True), **kind), rope, shown)


@pytest.mark.parametrize(
    ("name", "there", "here"),
    [
        ("learned", {"beyond": "clamp"}, {"beyond": "interpolate"}),
        ("learned", {"std": 1.0}, {"std": 0.5}),
        ("fire", {"original_len": 8}, {"original_len": 9}),
        ("deberta", {"released_code": True}, {"released_code": False}),
        ("kerple", {"kind": "log"}, {"kind": "power"}),
        ("t5", {"max_distance": 20}, {"max_distance": 30}),
    ],
)
def test_every_option_counts(name, there, here, path):
    tiny((name, there)).save(path)
    ((option, value),) = here.items()
    words = f"encoding.options.{option}: {there[option]} there, {value} here"
    refused(tiny((name, here)), path, words)
    assert tiny((name, there)).load(path)


def test_a_tables_number_of_rows_counts(path):
    tiny(("learned", {}), max_len=20).save(path)
    refused(tiny(("learned", {}), max_len=30), path, "max_len: 20 there, 30 here")
    tiny(("rope", {}), max_len=20).save(path)
    assert tiny(("rope", {}), max_len=30).load(path)  # it keeps no table


def test_other_weights_are_named(path):
    saving.save(nn.Linear(4, 3), path)
    refused(nn.Linear(4, 2), path, "weight: float (3, 4) there, float (2, 4) here")
    refused(nn.Linear(4, 3, bias=False), path, "bias: float (3,) there, nothing here")
    refused(nn.Sequential(nn.Linear(4, 3)), path, "0.weight: nothing there, float (3, 4) here")
    whole = nn.Module()
    whole.weight = nn.Parameter(torch.zeros(3, 4))
    whole.register_buffer("bias", torch.zeros(3, dtype=torch.int64))
    refused(whole, path, "bias: float (3,) there, whole (3,) here")


def test_a_matrix_that_is_not_shared_in_the_file_is_not_put_where_it_is(path):
    first = Own(None)
    apart = Own(None)
    apart.second.weight = nn.Parameter(torch.randn(16, 16))
    saving.save(apart, path)
    refused(first, path, "second.weight: float (16, 16) there, nothing here")
    saving.save(first, path)
    refused(apart, path, "second.weight: nothing there, float (16, 16) here")


# Encodings from outside


def test_a_model_around_an_encoding_object_is_made_first_and_loaded_then(path):
    model, tokens = TinyTransformer(VOCABULARY, Window(16, 2), 16, 2, 2), sentence()
    model.save(path)
    with pytest.raises(ValueError, match=r"given as an object, of class Window"):
        from_file(path)
    other = TinyTransformer(VOCABULARY, Window(16, 2), 16, 2, 2).load(path)
    assert torch.equal(logits(other, tokens), logits(model, tokens))
    narrow = TinyTransformer(VOCABULARY, Window(16, 2, width=2), 16, 2, 2)
    refused(narrow, path, "encoding.options.width: 4 there, 2 here")


def test_an_option_that_is_no_json_is_named(path):
    window = Window(16, 2, width=torch.ones(1))
    with pytest.raises(TypeError, match=r"options of Window must be JSON or scalings.*Tensor"):
        saving.save(window, path)
    with pytest.raises(TypeError, match=r"note 'by' must be JSON"):
        saving.save(nn.Linear(1, 1), path, by=object())
    assert not path.exists()


def test_a_scaling_from_outside_is_compared_too(path):
    @dataclasses.dataclass(frozen=True)
    class Third(Scaling):
        factor: float

        def frequencies(self, plain, base, length=None):
            return plain / 3, 1.0

    tiny(("rope", {"scaling": Third(2)})).save(path)
    assert tiny(("rope", {"scaling": Third(2)})).load(path)
    refused(tiny(("rope", {"scaling": Third(3)})), path, "scaling.factor: 2 there, 3 here")
    rewritten(
        path, notes=json.loads(json.dumps(saving.about(path)["notes"]).replace("Third", "Nth"))
    )
    with pytest.raises(ValueError, match=r"kind of scaling 'Nth' is unknown"):
        from_file(path)


# Files


def test_a_damaged_file_is_named_wherever_the_damage_is(rope, path):
    whole, model = rope.read_bytes(), tiny(("rope", ROPE))
    before = state(model)
    for place in (0, 20, len(whole) // 2, *range(100, len(whole), 2003), len(whole) - 1):
        broken = bytearray(whole)
        broken[place] ^= 1
        path.write_bytes(broken)
        with pytest.raises((OSError, ValueError), match=r"model\.safetensors") as caught:
            model.load(path)
    assert caught.match(r"damaged: .*checksum")  # the last byte is part of a weight
    for part in (b"", whole[:7], whole[:100], whole[:-1], whole + b"\0"):
        path.write_bytes(part)
        with pytest.raises(OSError, match=r"model\.safetensors is no model of this course"):
            model.load(path)
    assert same(before, state(model))


def test_a_pickle_is_refused_and_nothing_in_it_is_run(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    torch.save(Trap(), path)
    for read in (saving.about, from_file, tiny(("rope", {})).load):
        with pytest.raises(OSError, match=r"model\.safetensors is no model of this course"):
            read(path)
    assert not (tmp_path / "ran").exists()


def test_a_foreign_file_and_a_missing_one_are_refused(path, tmp_path):
    model = tiny(("rope", {}))
    headers = [None, {"format": "pt"}, {saving.KEY: "{}"}, {saving.KEY: "[1]"}, {saving.KEY: ""}]
    for header in headers:
        path.write_bytes(safetensors.save(saving.weights(model), header))
        with pytest.raises(OSError, match=r"model\.safetensors is no model of this course"):
            model.load(path)
    with pytest.raises(FileNotFoundError, match=r"other\.safetensors"):
        model.load(tmp_path / "other.safetensors")


def test_a_file_of_a_newer_course_is_refused(rope):
    rewritten(rope, format=saving.FORMAT + 1, course="9.9")
    refused(tiny(("rope", ROPE)), rope, "course 9.9, format 2", "install a newer")
    rewritten(rope, format=saving.FORMAT)
    assert tiny(("rope", ROPE)).load(rope)
    rewritten(rope, format="1")
    with pytest.raises(OSError, match=r"format must be an integer"):
        from_file(rope)


@pytest.mark.parametrize("where", ["open", "replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(where, rope, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    before = rope.read_bytes()
    monkeypatch.setattr(*((Path, "open") if where == "open" else (os, where)), full)
    with pytest.raises(OSError, match="No space left"):
        tiny(("alibi", {})).save(rope)
    monkeypatch.undo()
    assert rope.read_bytes() == before
    assert [*rope.parent.iterdir()] == [rope]


def test_what_is_wrong_is_found_before_the_old_file_is_touched(rope):
    before, model = rope.read_bytes(), tiny(("rope", {}))
    with torch.no_grad():
        model.norm.weight[0] = 1e6
    with pytest.raises(ValueError, match=r"torch.float16 is too small for norm.weight"):
        model.save(rope, torch.float16)
    with pytest.raises(TypeError, match=r"dtype must be a floating-point type"):
        model.save(rope, torch.int8)
    assert rope.read_bytes() == before
    model.save(rope, torch.bfloat16)


# Copies that read otherwise


def test_a_changed_copy_has_the_weights_and_the_change_and_nothing_in_common():
    model, tokens = tiny(("learned", {"std": 1.0})).train(), sentence(seq=9)
    copied = model.changed(beyond="interpolate", log_n=4)
    assert copied.encoding.options == {"max_len": 512, "beyond": "interpolate", "std": 1.0}
    assert attention(copied, 1).log_n == 4
    assert not copied.training and model.training
    assert same(state(copied), state(model))
    assert torch.equal(logits(model.changed(), tokens), logits(model, tokens))
    for parameter in (*copied.parameters(), *copied.changed(log_n=None).parameters()):
        parameter.data.add_(1)
    assert not same(state(copied), state(model))
    assert copied.changed(log_n=None).settings == {**model.settings, "beyond": "interpolate"}


def test_a_copy_stretched_by_4_reads_as_positions_a_quarter_apart():
    model, tokens = tiny(("rope", {})), sentence()
    slow = logits(model.changed(scaling=Linear(4)), tokens)
    with torch.no_grad():
        torch.testing.assert_close(slow, model(tokens, torch.arange(9) / 4))
    assert torch.equal(
        logits(model.changed(scaling=Linear(4)).changed(scaling=None), tokens),
        logits(model, tokens),
    )


def test_a_copy_keeps_its_own_encoding_object_and_its_dtype():
    model = TinyTransformer(VOCABULARY, Window(16, 2), 16, 2, 2).double()
    copied = model.changed(log_n=3)
    assert copied.encoding is not model.encoding and copied.embedding.weight.dtype == torch.float64
    assert attention(copied, 1).encoding is copied.encoding
    copied.encoding.get_parameter("height").data.zero_()
    assert bool(model.encoding.get_parameter("height").all())


def test_weights_that_do_not_fit_a_change_are_refused():
    with pytest.raises(
        ValueError, match=r"embedding.weight: float \(16, 16\) there, float \(16, 32\)"
    ):
        tiny(("rope", {})).changed(d_model=32)
    with pytest.raises(ValueError, match=r"blocks.2"):
        tiny(("rope", {})).changed(n_layers=3)
    with pytest.raises(ValueError, match=r"option of 'rope' 'bass' is unknown"):
        tiny(("rope", {})).changed(bass=3)


def test_changes_are_made_to_what_the_file_describes(rope):
    longer = from_file(rope, scaling=YaRN(8, 64), log_n=16)
    assert longer.encoding.options["scaling"] == YaRN(8, 64)
    assert longer.encoding.options["layout"] == "half"
    assert longer.settings["log_n"] == 16
    assert same(state(longer), state(from_file(rope)))


@dataclasses.dataclass(frozen=True)
class GentleYaRN(YaRN):
    """A scaling of a scaling."""


def test_a_scaling_that_inherits_from_another_is_made_again(path):
    scaling = GentleYaRN(4, 64, mscale=0.5, mscale_all_dim=1.0)
    tiny(("rope", {"scaling": scaling})).save(path)
    again = from_file(path).encoding.options["scaling"]
    assert type(again) is GentleYaRN and again == scaling


def test_random_numbers_outside_go_on_as_if_no_model_had_been_read(rope):
    before = torch.get_rng_state()
    from_file(rope, log_n=4).changed(log_n=5)
    assert torch.equal(torch.get_rng_state(), before)


# What the course ships


@pytest.mark.parametrize("name", shipped.NAMES)
def test_a_shipped_model_is_what_its_name_says(name):
    model = shipped.model(name)
    assert model.settings["encoding"] == name
    assert shipped.length(name) == model.settings["max_len"] == 64
    assert not model.training and model.embedding.weight.dtype == torch.float32
    assert attention(shipped.model(name, log_n=64), 0).log_n == 64


def test_other_seeds_of_a_shipped_model_have_other_weights_of_the_same_recipe():
    models = [shipped.model("rope", seed=seed) for seed in shipped.SEEDS["rope"]]
    assert len({model.embedding.weight.sum().item() for model in models}) == len(models)
    for seed in shipped.SEEDS["rope"]:
        path = data.verified(shipped.file_name("rope", seed))
        assert saving.about(path)["notes"]["recipe"]["seed"] == seed
    with pytest.raises(ValueError, match=r"seed must be one of \(0,\) for alibi, got 1"):
        shipped.model("alibi", seed=1)


def test_a_model_that_is_not_shipped_is_named():
    for ask in (shipped.model, shipped.length):
        with pytest.raises(ValueError, match=r"name 't5' is unknown.*Valid: none, sinusoidal"):
            ask("t5")


# Layers with encodings of their own


def mixed(d_model, n_heads, layer):
    """RoPE in even layers, nothing in odd ones."""
    return create("none" if layer % 2 else "rope", d_model=d_model, n_heads=n_heads)


class BaseByLayer(Rotary):
    """RoPE whose base grows from layer to layer."""

    def __init__(self, d_model, n_heads, layer, factor=10.0):
        super().__init__(d_model, n_heads, base=100.0 * factor**layer)
        self.factor = factor


@pytest.mark.parametrize("maker", [mixed, BaseByLayer])
def test_a_model_with_another_encoding_in_each_layer_comes_back_the_same(maker, scheme, tmp_path):
    scheme("by layer", maker)
    sizes: dict[str, Any] = {"d_model": 16, "n_layers": 3, "n_heads": 2}
    model, ids = TinyTransformer(9, "by layer", **sizes).eval(), torch.randint(9, (1, 30))
    kinds: list[Any] = [block.attention.encoding for block in model.blocks]  # type: ignore
    assert len({id(kind) for kind in kinds}) == 3
    if maker is mixed:
        assert [type(kind).__name__ for kind in kinds] == ["Rotary", "NoEncoding", "Rotary"]
    else:
        assert [kind.base for kind in kinds] == [100.0, 1000.0, 10_000.0]
    model.save(tmp_path / "model.safetensors")
    again = from_file(tmp_path / "model.safetensors")
    assert torch.equal(again(ids), model(ids))
    rope = TinyTransformer(9, "rope", **sizes)
    with pytest.raises(ValueError, match="does not fit"):
        rope.load(tmp_path / "model.safetensors")


def test_a_later_layer_has_no_door_1_of_its_own():
    def sinusoidal_later(d_model, n_heads, layer):
        name = "sinusoidal" if layer else "rope"
        return create(name, d_model=d_model, n_heads=n_heads)

    with pytest.raises(ValueError, match="door 1 in layer 0.*got Sinusoidal in layer 1"):
        TinyTransformer(9, sinusoidal_later, d_model=16, n_layers=2, n_heads=2)


def test_an_option_that_is_not_stored_is_refused():
    class Dropped(Rotary):
        def __init__(self, d_model, n_heads, speed=1.0):
            super().__init__(d_model, n_heads, base=speed * 100)

    with pytest.raises(TypeError, match="Dropped must store each of its options.*self.speed"):
        TinyTransformer(9, Dropped, d_model=16, n_layers=1, n_heads=2)
