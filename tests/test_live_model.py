"""The trained model on the site's pages reads as course_utils does, byte by byte."""

import json
import random
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import live_modules
import pytest
import site_live
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebook_source import BuildError

from course_utils.encodings import Scaling
from course_utils.encodings.functional import rope_frequencies
from course_utils.measures import trained_models
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer, shipped
from course_utils.models.stretching import way_to_stretch
from course_utils.pretrained.ablation import LeftOutPairs, StoppedPairs
from course_utils.texts import data, text

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[1]
LENGTHS = (64, 256, 512)
COUNT = 256  # bytes that are compared at each length
ALL = [1] * 16
PLAIN = rope_frequencies(32).tolist()
CLOSE = 1e-4  # nats, for each byte; a mean is closer


@dataclass(frozen=True)
class Given(Scaling):
    """Any speeds, and a factor on all scores."""

    speeds: tuple[float, ...]
    sharpness: float
    factor: float = 1.0

    def frequencies(self, plain: torch.Tensor, base: float, length: Any = None) -> Any:
        return torch.tensor(self.speeds, dtype=plain.dtype), self.sharpness**0.5


def way(name: str) -> tuple[TinyTransformer, dict[str, Any]]:
    """A way to stretch as Python has it, and as the site's file has it."""
    model = shipped.model("rope", scaling=way_to_stretch(name, 8, 64, 32))
    return model, {**site_live.passage()["ways"][name], "kept": ALL}


def random_speeds() -> tuple[TinyTransformer, dict[str, Any]]:
    generator = random.Random(0)
    speeds = tuple(speed * 2 ** generator.uniform(-4, 1) for speed in PLAIN)
    turning = {"speeds": speeds, "kept": ALL, "sharpness": 1.3}
    return shipped.model("rope", scaling=Given(speeds, 1.3)), turning


def stopped() -> tuple[TinyTransformer, dict[str, Any]]:
    speeds = [0.0 if 1 <= pair <= 3 else speed for pair, speed in enumerate(PLAIN)]
    turning = {"speeds": speeds, "kept": ALL, "sharpness": 1}
    return shipped.model("rope", scaling=StoppedPairs(1, 3)), turning


def left_out() -> tuple[TinyTransformer, dict[str, Any]]:
    kept = [0 if 4 <= pair <= 7 else 1 for pair in range(16)]
    model = shipped.model("rope").changed(encoding=LeftOutPairs(128, 4, first=4, last=7))
    return model, {"speeds": PLAIN, "kept": kept, "sharpness": 1}


MAKERS: dict[str, Callable[[], tuple[TinyTransformer, dict[str, Any]]]] = {
    "as trained": lambda: way("direct"),
    "YaRN": lambda: way("YaRN"),
    "random": random_speeds,
    "stopped": stopped,
    "left out": left_out,
}


PARTS = {name: 512 + COUNT * part for part, name in enumerate(MAKERS)}  # each reads its own
EACH = [(name, n) for name in MAKERS for n in LENGTHS]


@cache
def setting(name: str) -> tuple[TinyTransformer, dict[str, Any]]:
    """A model of torch's, and the setting with which JavaScript does the same."""
    return MAKERS[name]()


@pytest.fixture(scope="module")
def read(browser, tmp_path_factory):
    """What JavaScript finds: the loss of each byte of a part, by setting and length."""
    requests = [
        {"first": PARTS[name], "count": COUNT, "n": n, "turning": setting(name)[1]}
        for name, n in EACH
    ]
    losses = live_modules.losses(browser, tmp_path_factory.mktemp("live"), requests)
    return dict(zip(EACH, losses, strict=True))


def passage() -> torch.Tensor:
    return torch.tensor(list(site_live.passage()["text"].encode("latin-1")))[None]


@pytest.mark.parametrize(("name", "n"), EACH)
def test_each_byte_is_read_as_torch_reads_it(read, name, n):
    model, _ = setting(name)
    windows = text.sliding(passage()[:, : PARTS[name] + COUNT + 1], length=n, first=PARTS[name])
    expected = trained_models.losses(model, windows)[windows.targets >= 0]
    losses = torch.tensor(read[name, n])
    assert losses.shape == expected.shape == (COUNT,)
    torch.testing.assert_close(losses, expected, rtol=0, atol=CLOSE)


def test_the_byte_expected_is_the_likeliest_by_torch(browser, tmp_path):
    model, turning = way("direct")
    first, n = 512, 64
    request = {"first": first, "count": n // 2, "n": n, "turning": turning}
    answer = live_modules.read(browser, tmp_path, [request])[0]
    window = passage()[:, first - n // 2 : first + n // 2]
    logits = model(window)
    likeliest = logits[0, n // 2 :].argmax(-1)
    assert [byte["expected"] for byte in answer] == likeliest.tolist()


def test_settings_differ_by_more_than_that(read):
    plain = shipped.model("rope")
    for name in set(MAKERS) - {"as trained"}:
        windows = text.sliding(
            passage()[:, : PARTS[name] + COUNT + 1], length=64, first=PARTS[name]
        )
        unchanged = trained_models.losses(plain, windows)[windows.targets >= 0].mean()
        assert abs(sum(read[name, 64]) / COUNT - unchanged) > 100 * CLOSE


def test_a_page_reads_a_third_of_the_bytes_that_the_table_of_stretches_judges():
    held_out = text.spread(text.split(text.documentation()).held_out, 3)[:, : 3 * 1024 + 1]
    on_page = site_live.passage()
    assert torch.equal(passage(), held_out[1:2]), "its `passage`"
    longest = max(data.results("stretching")["read"])
    judged = text.sliding(passage(), length=longest, first=longest // 2)
    assert on_page["first"] == longest // 2
    assert on_page["count"] == int((judged.targets >= 0).sum())
    assert on_page["count"] % (max(LENGTHS) // 2) == 0, "the last step is as long as the others"


@pytest.mark.thorough
@pytest.mark.parametrize("name", site_live.WAYS)
def test_a_whole_passage_is_read_as_python_reads_it(browser, tmp_path, name):
    model, turning = way(name)
    whole = {key: site_live.passage()[key] for key in ("first", "count")}
    requests = [{**whole, "n": n, "turning": turning} for n in LENGTHS]
    for n, losses in zip(LENGTHS, live_modules.losses(browser, tmp_path, requests), strict=True):
        expected, judged = sliding_loss(model, passage(), n, 1024)
        assert len(losses) == judged == 2560
        assert sum(losses) / judged == pytest.approx(expected, abs=1e-5)


def test_what_the_page_says_of_fast_and_slow_pairs_is_so():
    losses = site_live.without_pairs()
    lost = {name: loss - losses["all"] for name, loss in losses.items()}
    assert min(lost["fast_stopped"], lost["fast_out"]) > 1
    assert abs(lost["slow_stopped"]) < 0.005 < lost["slow_out"] < 0.1
    below = site_live.block("pairs_off", "").partition("</div>")[2]
    assert all(f"{loss:.2f}" in below for loss in losses.values())


def cells_with(*texts: str) -> list[Any]:
    cells = [new_markdown_cell("# 08"), new_code_cell("1"), *map(new_markdown_cell, texts)]
    for n, cell in enumerate(cells):
        cell.id = f"c{n}"
    return cells


def test_a_live_model_stands_before_its_paragraph():
    cells = cells_with("**Look:** a\n\nb\n\n## Exercises\n\nc", "d")
    before = deepcopy(cells)
    with_model = site_live.inserted(cells, "05_rope")
    first, live, rest = (cell.source for cell in with_model[2:5])
    assert first == "**Look:** a\n\nb" and rest == "## Exercises\n\nc"
    assert live.startswith("**Switch pairs off.**") and "/pairs_off.js" in live
    assert [cell.source for cell in [*with_model[:2], with_model[5]]] == ["# 08", "1", "d"]
    assert len({cell.id for cell in with_model}) == len(with_model) and cells == before
    assert site_live.inserted(cells, "02_sinusoidal") == cells


@pytest.mark.parametrize("texts", [("a",), ("## Exercises",) * 2, ("see ## Exercises",)])
def test_a_lesson_that_has_changed_says_where_its_live_model_is_named(texts):
    with pytest.raises(BuildError, match="05_rope has not one paragraph .*PLACES"):
        site_live.inserted(cells_with(*texts), "05_rope")


def test_only_a_page_that_needs_the_model_brings_it():
    assert site_live.files(["02_sinusoidal", "closer/02_in_practice"]) == {}
    files = {Path(name).name: content for name, content in site_live.files(["05_rope"]).items()}
    assert files["model.safetensors"] == (ROOT / "data" / "model_rope.safetensors").read_bytes()
    assert json.loads(files["passage.json"]) == site_live.passage()
    for place in site_live.PLACES.values():
        module = re.search(r'data-module="([^"]+)"', site_live.block(place.name, ""))
        assert module and module[1] in site_live.files(["05_rope"])
    size = re.search(r"bytes&quot;: (\d+)", site_live.block("pairs_off", ""))
    assert size and int(size[1]) == len(files["model.safetensors"])
