"""What holds for every encoding and option: fused or step by step, in any precision, anywhere."""

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from pairwise import each_once, pairwise
from variants import (
    CLASSES,
    DYNAMIC,
    SAME_AT_ANY_LENGTH,
    VARIANTS,
    Reader,
    few_examples,
    label,
    sentence,
    tiny,
    variants,
)

from course_utils.attention.blocks import BLOCK
from course_utils.attention.kv_cache import places_of
from course_utils.encodings import FIRE, T5

seeds = st.integers(0, 2**16)

# Two ways to compute it


@each_once(variant=[*VARIANTS, DYNAMIC], causal=(True, False))
@few_examples
@given(seed=seeds, seq=st.sampled_from([1, 2, 7, BLOCK, BLOCK + 1, 2 * BLOCK + 7]), data=st.data())
def test_asking_for_weights_does_not_change_the_output(variant, causal, seed, seq, data):
    torch.manual_seed(seed)
    read, ids = Reader(variant, causal), sentence(1, seq)
    order = data.draw(st.sampled_from(["none", "shuffled", "later"]))
    row = {"none": None, "shuffled": torch.randperm(seq), "later": torch.arange(seq) + 9}[order]
    fused, nothing = read(ids, row)
    explicit, weights = read(ids, row, need_weights=True)
    assert nothing is None
    assert weights.shape == (1, 2, seq, seq)
    assert gap(fused, explicit) <= 1e-5


# Precision, gradients, copies


TOLERANCES = {torch.float64: 1e-5, torch.bfloat16: 0.1, torch.float16: 0.02}


@pairwise(variant=[*VARIANTS, DYNAMIC], dtype=tuple(TOLERANCES), causal=(True, False))
def test_other_precisions_give_the_same_answer_in_their_own_dtype(variant, dtype, causal):
    read, ids = Reader(variant, causal), sentence(1, 40)
    reference = read(ids)[0]
    other = copy.copy(read)
    other.attention, other.words = copy.deepcopy(read.attention).to(dtype), read.words.to(dtype)
    for need_weights in (False, True):
        out = other(ids, need_weights=need_weights)[0]
        assert out.dtype == dtype
        assert gap(out, reference) <= TOLERANCES[dtype]


@pytest.mark.parametrize("variant", [*SAME_AT_ANY_LENGTH, DYNAMIC], ids=label)
def test_half_precision_stays_close_far_from_the_start(variant):
    """bfloat16 has 8 bits: positions, angles and distances must not be held in it."""
    read, ids, row = Reader(variant), sentence(1, 24), torch.arange(24) + 471
    reference = read(ids, row)[0]
    read.attention, read.words = read.attention.bfloat16(), read.words.bfloat16()
    assert gap(read(ids, row)[0], reference) <= 0.1


@variants()
def test_autocast_to_bfloat16_changes_little(variant):
    read, ids = Reader(variant), sentence(1, 20)
    reference = read(ids)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        difference = read(ids)[0] - reference
    assert float(difference.detach().std() / reference.detach().std()) <= 0.03


@each_once(variant=[*VARIANTS, DYNAMIC], seq=(40, BLOCK + 9))
def test_gradients_reach_every_parameter(variant, seq):
    model = tiny(variant)
    model(sentence(2, seq)).pow(2).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert float(parameter.grad.abs().sum()) > 0, name


@variants(DYNAMIC)
def test_fused_and_explicit_attention_have_the_same_gradients(variant):
    read, ids = Reader(variant), sentence(1, 12)
    parameters = list(read.attention.parameters())
    gradients = []
    for need_weights in (False, True):
        loss = read(ids, need_weights=need_weights)[0].square().sum()
        gradients.append(torch.autograd.grad(loss, parameters))
    for fused, explicit in zip(*gradients, strict=True):
        assert gap(fused, explicit) <= 1e-4 * (1 + float(explicit.abs().max()))


@variants(DYNAMIC)
def test_state_dict_round_trip_gives_the_same_logits(variant):
    model, other, ids = tiny(variant), tiny(variant), sentence()
    assert gap(model(ids), other(ids)) > 1e-3
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(model(ids), other(ids))


@variants(DYNAMIC)
def test_a_state_dict_holds_what_is_learned_and_nothing_else(variant):
    model = tiny(variant)
    assert set(model.state_dict()) == {
        name for name, _ in model.named_parameters(remove_duplicate=False)
    }


@variants(DYNAMIC)
def test_a_used_encoding_can_be_copied_and_pickled(variant):
    model, ids = tiny(variant), sentence()
    with torch.no_grad():
        expected = model(ids)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert torch.equal(other(ids), expected)


@variants(DYNAMIC)
def test_no_tensor_hides_from_to_device(variant):
    """What is neither a parameter nor a buffer stays behind when a model moves."""
    model = tiny(variant)
    with torch.no_grad():  # then tables are kept for the next call
        model(sentence())
    for module in model.modules():
        for name, value in vars(module).items():
            assert not isinstance(value, torch.Tensor), f"{type(module).__name__}.{name}"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@variants(DYNAMIC)
def test_a_gpu_gives_what_the_cpu_gives(variant):
    read, ids = Reader(variant), sentence(1, BLOCK + 5)
    reference = read(ids)[0]
    read.attention, read.words = read.attention.cuda(), read.words.cuda()
    row = torch.arange(BLOCK + 5, device="cuda")
    for need_weights in (False, True):
        out = read(ids.cuda(), row, need_weights=need_weights)[0]
        assert out.device.type == "cuda"
        assert gap(out.cpu(), reference) <= 1e-4


@variants(DYNAMIC)
def test_a_model_used_in_inference_mode_can_still_be_trained(variant):
    model, ids = tiny(variant), sentence()
    with torch.inference_mode():
        model(ids)
    model(ids).sum().backward()
    with torch.no_grad():
        model(ids)
    model(ids).sum().backward()


@variants(DYNAMIC)
def test_a_model_turned_to_float64_is_exact_at_once(variant):
    """Tables kept from float32 would be off by 1e-8."""
    model, ids, row = tiny(variant), sentence(), torch.arange(9)
    with torch.no_grad():
        model(ids, row)
        assert torch.equal(model.double()(ids, row), copy.deepcopy(model)(ids, row.clone()))


@variants(DYNAMIC)
def test_positions_changed_in_place_are_seen(variant):
    if variant[0] == "none":
        pytest.skip("sees no positions")
    model, ids, row = tiny(variant), sentence(), torch.arange(9)
    with torch.no_grad():
        model(ids, row)
        row.mul_(3)
        assert torch.equal(model(ids, row), model(ids, 3 * torch.arange(9)))


# No table is stale after what it was made from has changed


def by_data(model, name):
    parameter = dict(model.named_parameters())[name]
    parameter.data.add_(torch.randn_like(parameter) / 3)


def by_load_state_dict(model, name):
    parameter = dict(model.named_parameters())[name]
    other = parameter.detach() + torch.randn_like(parameter) / 3
    changed = {
        key: other if value.data_ptr() == parameter.data_ptr() else value.clone()
        for key, value in model.state_dict().items()  # a shared one is in it several times
    }
    model.load_state_dict(changed)


def by_optimizer(model, name):
    parameter = dict(model.named_parameters())[name]
    model.zero_grad()
    parameter.grad = torch.randn_like(parameter)
    torch.optim.SGD([parameter], lr=0.3).step()


CHANGES = {"data": by_data, "load_state_dict": by_load_state_dict, "optimizer": by_optimizer}
MODES = {"no_grad": torch.no_grad, "grad": torch.enable_grad, "inference": torch.inference_mode}
TEXTS = (6, BLOCK + 5)  # in one block of queries and in several


def outputs(model, ids):
    with torch.no_grad():
        logits = [model(ids), model(ids, torch.arange(ids.shape[1]))]
    return [*logits, model(ids).detach()]


def check_nothing_is_stale(variant, mode, change):
    """What a used model says after a change is what one says that never ran before it.

    One text at a time: an encoding may remember its last one only.
    """
    model, texts = tiny(variant, n_layers=1), [sentence(1, length) for length in TEXTS]
    for name in [name for name, _ in model.named_parameters() if "encoding" in name.split(".")]:
        changes = []
        for ids in texts:
            with MODES[mode]():
                before = model(ids).clone()
            CHANGES[change](model, name)
            fresh = tiny(variant, n_layers=1)
            fresh.load_state_dict(model.state_dict())
            after = outputs(model, ids)
            assert all(map(torch.equal, after, outputs(fresh, ids))), name
            changes.append(gap(before, after[0]))
        assert max(changes) > 0, name


@each_once(variant=VARIANTS, mode=tuple(MODES), change=tuple(CHANGES))
def test_no_table_is_stale_after_a_parameter_changed(variant, mode, change):
    check_nothing_is_stale(variant, mode, change)


class Remembering(T5):
    """T5 with a bug: its table of a pass serves later passes."""

    modes: tuple[bool, ...] = (True, False)  # whether gradients are wanted

    def __init__(self, d_model, n_heads, causal=False):
        super().__init__(d_model, n_heads, causal=causal)
        self.tables: dict[Any, torch.Tensor] = {}

    def bias(self, q, k, at):
        key = (self.sign(), at.q_len, at.k_len, int(at.q[0]))
        if torch.is_grad_enabled() in self.modes:
            if key not in self.tables:
                bias = super().bias(q, k, at)
                assert bias is not None
                self.tables[key] = bias.detach().clone()
            return self.tables[key]
        return super().bias(q, k, at)

    def sign(self):
        return 0


class RememberingWithoutGradients(Remembering):
    modes = (False,)


class RememberingUntilItsVersionChanges(Remembering):
    def sign(self):  # which a change through .data leaves as it is
        return self.table._version


class RememberingUntilItMoves(Remembering):
    def sign(self):
        return self.table.data_ptr()


@pytest.mark.parametrize(
    ("mutant", "change"),
    [
        *((Remembering, change) for change in CHANGES),
        (RememberingWithoutGradients, "optimizer"),
        (RememberingUntilItsVersionChanges, "data"),
        (RememberingUntilItMoves, "optimizer"),
    ],
)
@pytest.mark.parametrize("mode", ["no_grad", "inference"])
def test_an_encoding_that_remembers_a_table_made_from_a_parameter_is_found(
    mutant, change, mode, scheme
):
    scheme("forgetful", mutant)
    with pytest.raises(AssertionError):
        check_nothing_is_stale(("forgetful", {}), mode, change)


class RememberingForAllLayers(FIRE):
    """FIRE with a bug: all layers of a pass get what the first one's parameters give."""

    def bias(self, q, k, at):
        if "fire" not in at.kept:
            at.keep("fire", super().bias(q, k, at))
        return at.kept["fire"]


def check_layers_share_nothing_learned(variant):
    model, ids = tiny(variant, n_layers=3), sentence(1, 9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
        x = model.embedding(ids) * 4
        for number, block in enumerate(model.blocks):
            encoding = block.attention.encoding
            if number == 0 or encoding.every_layer:
                x = encoding.embed(x, torch.arange(9), ids)
            x, _ = block(x, places_of(x), None)  # places of its own
        assert torch.equal(model.head(model.norm(x)), model(ids))


@variants(DYNAMIC)
def test_layers_that_share_the_places_of_a_pass_share_nothing_learned(variant):
    check_layers_share_nothing_learned(variant)


def test_a_bias_that_one_layer_keeps_for_the_next_is_found(scheme):
    scheme("forgetful", RememberingForAllLayers)
    with pytest.raises(AssertionError):
        check_layers_share_nothing_learned(("forgetful", {}))


@each_once(
    variant=[variant for variant in [*VARIANTS, DYNAMIC] if CLASSES[variant[0]].adjustable],
    mode=tuple(MODES),
    n=TEXTS,
)
def test_no_table_is_stale_after_an_option_is_set_anew(variant, mode, n):
    name, options = variant
    for option, value in CLASSES[name].adjustable.items():
        ids, model = sentence(1, n), tiny(variant, n_layers=1)
        with MODES[mode]():
            model(ids)
        for block in model.blocks:
            setattr(block.attention.encoding, option, value)
        fresh = tiny((name, options | {option: value}), n_layers=1)
        fresh.load_state_dict(model.state_dict())
        assert all(map(torch.equal, outputs(model, ids), outputs(fresh, ids))), option
