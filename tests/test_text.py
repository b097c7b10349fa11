"""Real text: split without loss or leak, drawn and cut as it stands, read as the model reads."""

import pytest
import torch
from bad_calls import bad_calls
from hypothesis import given
from hypothesis import strategies as st

from course_experiments.extract_documentation import without_repetitions
from course_utils.measures import trained_models
from course_utils.models import TinyTransformer
from course_utils.models.training import fit
from course_utils.texts import tasks, text


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_shipped_text_is_readable_english_about_python():
    words = bytes(text.documentation().tolist()).decode().split()
    assert len(words) > 40_000
    assert {"the", "expression", "returns"} <= set(words)


def test_no_paragraph_of_the_shipped_text_comes_twice():
    paragraphs = bytes(text.documentation().tolist()).decode().split("\n\n")
    normalised = [" ".join(paragraph.split()) for paragraph in paragraphs]
    assert len(normalised) == len(set(normalised))


def test_the_tool_keeps_each_paragraph_where_it_comes_first():
    assert without_repetitions(["one\n\ntwo  words", "two words\n\n\n\nthree", ""]) == (
        "one\n\ntwo  words\n\nthree\n"
    )


@given(st.integers(1, 40), st.integers(2, 5), st.integers(0, 60))
def test_a_split_text_has_every_byte_once(block, every, rest):
    ids = torch.randperm(block * every + rest)  # no two bytes alike
    train, held_out = text.split(ids, block=block, every=every)
    assert sorted(train.tolist() + held_out.flatten().tolist()) == list(range(len(ids)))


def test_a_held_out_block_is_a_stretch_of_the_text():
    _, held_out = text.split(torch.arange(100), block=10, every=5)
    assert held_out[:, 0].tolist() == [20, 70]
    assert bool((held_out.diff(dim=1) == 1).all())


@given(st.integers(1, 30), st.integers(0, 2**16))
def test_a_drawn_piece_asks_each_byte_for_the_next(length, seed):
    examples = text.draw(torch.arange(50), length=length, batch=3, generator=seeded(seed))
    assert examples.tokens.shape == examples.targets.shape == (3, length)
    assert torch.equal(examples.targets, examples.tokens + 1)
    assert bool((examples.tokens.diff(dim=1) == 1).all())


def test_drawn_pieces_reach_the_first_and_the_last_byte():
    examples = text.draw(torch.arange(12), length=10, batch=200, generator=seeded())
    assert (int(examples.tokens.min()), int(examples.targets.max())) == (0, 11)


@given(st.integers(1, 19))
def test_cut_pieces_do_not_overlap_and_drop_less_than_a_piece(length):
    blocks = torch.arange(40).view(2, 20)
    examples = text.pieces(blocks, length=length)
    targets = examples.targets.flatten().tolist()
    assert len(targets) == len(set(targets)) == 2 * ((20 - 1) // length) * length
    assert torch.equal(examples.targets, examples.tokens + 1)


@pytest.mark.parametrize("length", [8, 500])
def test_losses_are_those_of_a_model_that_reads_each_piece_alone(length, monkeypatch):
    monkeypatch.setattr(
        trained_models, "TOKENS_AT_ONCE", 40
    )  # so several forward passes are needed
    torch.manual_seed(0)
    model = TinyTransformer(256, "rope", d_model=16, n_layers=1, n_heads=2).eval()
    blocks = torch.randint(256, (3, 1001), generator=seeded())
    examples = text.pieces(blocks, length=length)
    with torch.no_grad():
        alone = [
            -model(tokens[None])[0].log_softmax(-1)[range(length), targets]
            for tokens, targets in zip(*examples, strict=True)
        ]
    torch.testing.assert_close(trained_models.losses(model, examples), torch.stack(alone))
    curve = trained_models.loss_by_position(model, blocks, length=length)
    torch.testing.assert_close(curve, torch.stack(alone).mean(0))


def test_what_is_not_asked_has_no_loss_and_changes_none():
    torch.manual_seed(0)
    model = TinyTransformer(256, "rope", d_model=16, n_layers=1, n_heads=2).eval()
    tokens, targets = text.pieces(torch.randint(256, (3, 41), generator=seeded()), length=8)
    has_target = torch.rand(targets.shape, generator=seeded()) < 0.5
    some = tasks.Examples(tokens, targets.masked_fill(~has_target, tasks.IGNORED_TARGET))
    whole = trained_models.losses(model, tasks.Examples(tokens, targets))
    torch.testing.assert_close(trained_models.losses(model, some), whole * has_target)


def test_a_model_learns_from_the_text_to_read_what_it_never_saw():
    known = text.split(text.documentation())
    torch.manual_seed(0)
    model = TinyTransformer(256, "alibi", d_model=32, n_layers=1, n_heads=2)
    before = trained_models.loss_by_position(model, known.held_out[:1], length=32).mean()
    generator = seeded()

    def batch_loss():
        examples = text.draw(known.train, length=32, batch=16, generator=generator)
        return tasks.loss(model, examples)

    fit(model, batch_loss, 60, lr=1e-2)
    after = trained_models.loss_by_position(model, known.held_out[:1], length=32)
    assert float(after.mean()) < 0.6 * float(before)
    assert float(after[8:].mean()) < float(after[0])  # context helps


def test_a_text_moves_to_a_device():
    moved = text.split(torch.arange(100), block=10, every=5).to(torch.device("meta"))
    assert {part.device.type for part in moved} == {"meta"}


def test_any_file_can_be_read(tmp_path):
    (tmp_path / "mine.txt").write_bytes(b"\x00ab\xff")
    assert text.from_file(tmp_path / "mine.txt").tolist() == [0, 97, 98, 255]


def test_an_empty_file_is_named(tmp_path):
    (tmp_path / "none.txt").touch()
    with pytest.raises(ValueError, match="none.txt is empty"):
        text.from_file(tmp_path / "none.txt")


TEN = torch.arange(10)


def draw(ids=TEN, length=3, batch=2, generator=None):
    return text.draw(ids, length=length, batch=batch, generator=generator or seeded())


test_bad_input_names_the_argument_and_what_it_got = bad_calls(
    [
        (lambda: draw(length=10), ValueError, "length", "10", "got 10"),
        (lambda: draw(length=0), ValueError, "length", "got 0"),
        (lambda: draw(batch=0), ValueError, "batch", "got 0"),
        (lambda: draw(generator=3), TypeError, "generator", "int 3"),
        (lambda: draw(ids="text"), TypeError, "ids", "str"),
        (lambda: draw(ids=TEN[None]), TypeError, "ids", "(1, 10)"),
        (lambda: draw(ids=TEN.float()), TypeError, "ids", "(10,)"),
        (lambda: text.split(TEN, block=2, every=6), ValueError, "ids", "12", "got 10"),
        (lambda: text.split(TEN, block=0), ValueError, "block", "got 0"),
        (lambda: text.split(TEN, every=1), ValueError, "every", "got 1"),
        (lambda: text.split("text"), TypeError, "ids", "str"),  # type: ignore[arg-type]
        (lambda: text.pieces(TEN[None], length=10), ValueError, "blocks", "(1, 10)"),
        (lambda: text.pieces(TEN, length=2), ValueError, "blocks", "(10,)"),
        (lambda: text.pieces(TEN[None], length=0), ValueError, "length", "got 0"),
    ]
)
