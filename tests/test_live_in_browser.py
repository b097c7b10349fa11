"""The trained model on a page as a reader has it: loaded when asked for, moved, read out."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import build_site
import live_modules
import pytest
import site_live
from browser import SECONDS
from site_reader import PHONE, Reader, axe, cut_off, screenshot

pytestmark = pytest.mark.browser
furo = pytest.importorskip("furo", reason="the extra 'site' is not installed")

STATIC = Path(__file__).resolve().parents[1] / "site" / "static"
STYLES = Path(furo.__file__).parent / "theme" / "furo" / "static" / "styles"
MODEL = "model.safetensors"
LATE = 60 * SECONDS
ASKED_FOR = [place.name for place in site_live.PLACES.values()]
AT_ONCE = "surprise"  # what is loaded without being asked for
PAGE = """<!doctype html><html lang=en><title>{name}</title>
<meta name=viewport content="width=device-width">
<link rel=stylesheet href=furo.css><link rel=stylesheet href=site.css>
<body style="margin: 16px"><main><h1>{name}</h1><article>{block}</article></main>
<script src=site.js defer></script>"""


class Handler(build_site.Handler):
    """Serves a folder; a test can have the model come late, cut off, damaged, another, or not."""

    requests: list[str]  # names of files, in order
    how = "whole"
    go_on: threading.Event  # for what comes late

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        type(self).requests.append(name)
        if name != MODEL or self.how == "whole":
            super().do_GET()
        elif self.how == "missing":
            self.send_error(404)
        else:
            self._send((Path(self.directory) / name).read_bytes())

    def _send(self, content: bytes) -> None:
        half = len(content) // 2
        self.send_response(200)
        self.send_header("Content-Length", str(half if self.how == "another" else len(content)))
        self.end_headers()
        self.wfile.write(content[:half])
        if self.how == "late" and self.go_on.wait(60):
            self.wfile.write(content[half:])
        elif self.how == "damaged":
            self.wfile.write(bytes(half))
        self.close_connection = True


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a folder with a plain page for each live model, in the site's colours."""
    folder = tmp_path_factory.mktemp("live")
    live_modules.write(folder)
    for path in (STYLES / "furo.css", STATIC / "site.css", STATIC / "site.js"):
        (folder / path.name).write_bytes(path.read_bytes())
    for name in (*ASKED_FOR, AT_ONCE):
        reads = site_live.PROSE if name == AT_ONCE else site_live.READ
        block = site_live.element(name, "", reads).replace(f"{site_live.folder()}/", "")
        text = PAGE.format(name=name, block=block)
        (folder / f"{name}.html").write_text(text, encoding="utf-8")

    with build_site.served(folder, Handler) as address:
        yield address


@pytest.fixture
def opened(browser, site):
    """A function that opens the page of a live model; none may complain or ask elsewhere."""
    readers = []
    Handler.requests, Handler.how, Handler.go_on = [], "whole", threading.Event()

    def open_page(name: str, **options: Any) -> Any:
        readers.append(Reader(browser, site, **options))
        page = readers[-1].open(name)
        if name == AT_ONCE:
            page.locator(".om-live-controls").wait_for(timeout=LATE)
        else:
            page.get_by_role("button", name="Load the model, 1.65 MB").wait_for(timeout=LATE)
        return page

    yield open_page
    Handler.go_on.set()
    for reader in readers:
        reader.context.close()
    complaints = [text for reader in readers for text in reader.complaints]
    assert [text for text in complaints if "Failed to load resource" not in text] == []  # tested


def load(page: Any) -> None:
    page.get_by_role("button", name=re.compile("MB$")).click()
    page.get_by_role("table", name="Loss, nats a byte").wait_for(timeout=LATE)


def losses(page: Any, row: str) -> list[str]:
    """What the table shows in a row; "≈" is left off."""
    cells = page.get_by_role("row", name=re.compile(f"^{row} ")).get_by_role("cell")
    return [text.removeprefix("≈ ") for text in cells.all_text_contents()]


def rest(page: Any) -> None:
    """Wait until the whole passage has been read."""
    page.get_by_text("All have read the whole passage.").wait_for(timeout=LATE)


@pytest.mark.parametrize("name", ASKED_FOR)
def test_nothing_of_the_model_is_loaded_before_it_is_asked_for(opened, name):
    page = opened(name)
    page.wait_for_load_state("networkidle")
    needs = {f"{name}.html", f"{name}.js", "panel.js", "live.css", "furo.css", "site.css"}
    assert set(Handler.requests) - {"favicon.ico"} == needs | {"site.js"}
    page.get_by_role("button", name=re.compile("MB$")).click()
    page.locator(".om-live-controls").wait_for(timeout=LATE)
    assert {MODEL, "passage.json", "worker.js", "model.js"} <= set(Handler.requests)
    assert Handler.requests.count(MODEL) == 1


def test_the_bar_moves_with_the_bytes_and_loading_can_be_cancelled(opened):
    page = opened("pairs_off")
    Handler.how = "late"
    page.get_by_role("button", name=re.compile("MB$")).click()
    bar = page.get_by_role("progressbar", name="Loading the model")
    page.wait_for_function("document.querySelector('progress').position > 0.49", timeout=LATE)
    assert bar.evaluate("(bar) => bar.position") == pytest.approx(0.5, abs=0.01)
    assert page.get_by_text("0.83 of 1.65 MB").is_visible()
    page.get_by_role("button", name="Cancel").click()
    assert page.get_by_role("status").text_content() == "Cancelled. Nothing is kept."
    button = page.get_by_role("button", name="Load the model, 1.65 MB")
    assert button.evaluate("(button) => button === document.activeElement") and not bar.is_visible()
    assert page.workers == []

    button.click()
    page.wait_for_function("document.querySelector('progress').position > 0.49", timeout=LATE)
    Handler.go_on.set()
    page.get_by_role("table").wait_for(timeout=LATE)
    assert not bar.is_visible()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "The model did not come. The server answered: 404."),
        ("cut off", "The model did not come. The connection broke off."),
        ("another", "The model did not come. The file is not the one expected."),
        ("damaged", "The model did not come. The file is damaged."),
    ],
)
def test_a_failure_is_told_in_words_and_can_be_tried_again(opened, how, message):
    page = opened("pairs_off")
    Handler.how = how
    page.get_by_role("button", name=re.compile("MB$")).click()
    page.get_by_text(message, exact=True).wait_for(timeout=LATE)
    Handler.how = "whole"
    page.get_by_role("button", name="Try again, 1.65 MB").click()
    page.get_by_role("table").wait_for(timeout=LATE)


def test_pairs_are_switched_off_by_keyboard_and_by_groups(opened):
    page = opened("pairs_off")
    load(page)
    rest(page)
    (trained,) = losses(page, "all on")
    assert losses(page, "stopped") == losses(page, "left out of q·k") == [trained]
    page.get_by_role("checkbox", name="0", exact=True).focus()
    page.keyboard.press("Space")
    rest(page)
    (stopped,), (left_out,) = losses(page, "stopped"), losses(page, "left out of q·k")
    assert float(trained) + 0.2 < float(left_out) < float(stopped)
    announced = f"stopped: {stopped} at 64 bytes. left out of q·k: {left_out} at 64 bytes."
    assert page.get_by_role("status").text_content() == announced
    group = page.get_by_role("group", name="Switch off")
    group.get_by_role("button", name="4 to 7").click()
    on = [box.is_checked() for box in page.get_by_role("checkbox").all()]
    assert on == [not 4 <= pair <= 7 for pair in range(16)]
    group.get_by_role("button", name="none").click()
    assert losses(page, "stopped") == [trained], "what was read once is at hand"


# Sends to a worker of its own; `answers` are its messages, answer() waits for one.
IN_WORKER = """async (start) => {
  const worker = new Worker("worker.js", { type: "module" }), answers = [];
  const answer = (wants) => new Promise((done, late) => {
    setTimeout(late, LATE, "no answer");
    worker.onmessage = ({ data }) => { answers.push(data); if (wants(data)) done(data); };
  });
  worker.postMessage({ load: start });
  const { ready } = await answer((data) => data.ready ?? data.failed);
  const want = (key, turning) =>
    worker.postMessage({ wanted: [{ key, lengths: [64], turning }] });
  ASK
}"""


def in_worker(page: Any, ask: str) -> Any:
    start = json.loads(page.locator(".om-live").get_attribute("data-start"))
    return page.evaluate(IN_WORKER.replace("ASK", ask).replace("LATE", str(LATE)), start)


def test_the_worker_drops_what_is_no_longer_wanted(opened):
    ask = """for (const way of ["step", "NTK-aware", "YaRN"]) {
        want(way, { ...ready.ways[way], kept: Array(16).fill(1) });
    }
    await answer(({ read }) => read?.key === "YaRN" && read.losses.length === 128);
    return answers.filter(({ read }) => read).map(({ read }) => read.key);"""
    read = in_worker(opened("pairs_off"), ask)
    assert read[-2:] == ["YaRN", "YaRN"] and len(read) <= 4, (
        "a step of each at most, then two of the last"
    )


def test_a_worker_that_cannot_go_on_says_so(opened):
    ask = 'want("no speeds", {}); return (await answer(({ failed }) => failed)).failed;'
    assert "TypeError" in in_worker(opened("pairs_off"), ask)


def test_an_estimate_knows_how_hard_the_parts_are(opened):
    page = opened("pairs_off")
    estimated = """async () => {
      const { estimate } = await import("/panel.js");
      return [estimate([1, 2], [1, 1, 4], 3), estimate([1, 2], [1], 3), estimate([], [], 3),
              estimate([1, 2, 6], [1, 1, 4], 3)];
    }"""
    assert page.evaluate(estimated) == [
        {"loss": 2.5, "done": False},  # half more than the base on the first two, whose mean is 2
        {"loss": 1.5, "done": False},  # the base is not known yet
        None,
        {"loss": 3, "done": True},
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_legibly(opened, scheme):
    page = opened("pairs_off", viewport=PHONE, color_scheme=scheme)
    load(page)
    page.locator(".om-live-bar").first.wait_for(timeout=LATE)
    assert cut_off(page) == []
    assert axe(page) == []
    for control in page.locator("input, button").all():
        if control.is_visible():
            assert control.bounding_box()["height"] >= 17


def test_without_javascript_a_page_says_what_would_be_there(site, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/pairs_off.html")
    assert page.get_by_text(site_live.NEEDS).is_visible()
    context.close()


def test_text_is_coloured_by_surprise_which_grows_past_the_trained_length_until_stretched(opened):
    page = opened(AT_ONCE)
    whole = page.get_by_text("over all 768 bytes")
    mean = page.locator(".om-read-mean b")

    def loss() -> float:
        whole.wait_for(timeout=LATE)
        return float(mean.text_content())

    trained = loss()
    coloured = page.locator(".om-read-text span:not(.om-read-unread)")
    assert coloured.count() > 100
    late = "span => getComputedStyle(span).transitionDuration"
    assert coloured.first.evaluate(late) == "0s", "the colours come with their mean"
    page.get_by_label("64", exact=True).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.get_by_label("512", exact=True).is_checked()
    direct = loss()
    page.get_by_label("stretched by YaRN").check()
    stretched = loss()
    assert trained < stretched < direct - 0.5
    kept = page.get_by_role("list", name="Means so far").locator("li")
    said = [" ".join(text.split()) for text in kept.all_inner_texts()]
    assert said[0] == f"64 {trained:.2f}"
    assert said[-2:] == [f"512 {direct:.2f}", f"512 YaRN {stretched:.2f}"]
    assert kept.last.get_attribute("aria-current") == "true"
    screenshot(page, "watch")
    text = page.locator(".om-read-text")
    assert "Point at a byte" in page.locator(".om-read-detail").text_content()
    text.focus()
    page.keyboard.press("ArrowRight")
    assert "Most expected" in page.locator(".om-read-detail").text_content()


def test_a_probability_has_no_exponent(opened):
    page = opened(AT_ONCE)
    asked = "losses => import('/surprise.js').then(it => losses.map(it.percentage))"
    said = page.evaluate(asked, [0.0, 0.005, 0.0101, 0.02, 2.3, 9.2, 9.3, 30.0])
    assert said == [
        *["over 99 %"] * 2,
        *["99 %", "98 %", "10 %", "0.010 %"],
        *["under 0.01 %"] * 2,
    ]


def test_a_readers_own_text_is_read_and_the_model_goes_on(opened):
    page = opened(AT_ONCE)
    page.get_by_text("over all 768 bytes").wait_for(timeout=LATE)
    own, answer = page.get_by_label("Your own text"), page.locator(".om-read-answer")
    mine = page.get_by_role("button", name="Read mine")
    mine.click()
    assert "nothing to read yet" in answer.text_content()

    def loss_of(text: str, count: int) -> float:
        own.fill(text)
        mine.click()
        page.get_by_text(f"over all {count} bytes").wait_for(timeout=LATE)
        return float(page.locator(".om-read-mean b").text_content())

    english = "The function returns a list of the names that are defined in the module."
    assert loss_of(english, len(english)) + 1 < loss_of(english[::-1], len(english))
    assert page.locator(".om-read-text").inner_text().strip() == english[::-1]
    page.get_by_text(
        re.compile("goes on after your text: “.{40,}”. It has read nothing but")
    ).wait_for(timeout=LATE)
    code = "def add(a, b):\n    return a + b\n"
    loss_of(code, len(code))
    assert page.locator(".om-read-text").inner_text().split("\n")[1] == "    return a + b↵"
    loss_of("é", 2)
    assert page.locator(".om-read-text").inner_text().strip() == "C3A9"
    page.get_by_text(re.compile("goes on.*not plain ASCII is several bytes")).wait_for(timeout=LATE)
    loss_of(12 * english, 768)
    page.get_by_text("That is 864 bytes: the first 768 are read.").wait_for(timeout=LATE)
    page.get_by_role("button", name="Back to the passage").click()
    page.get_by_text("over all 768 bytes").wait_for(timeout=LATE)
    assert page.locator(".om-read-text").inner_text().startswith("The ")
    assert answer.text_content() == ""


def test_a_phone_shows_sentences_in_lines_as_long_as_it_is_wide(opened):
    page = opened(AT_ONCE, viewport=PHONE, has_touch=True, is_mobile=True)
    page.get_by_text("over all 476 bytes").wait_for(timeout=LATE)
    assert "Tap a byte" in page.locator(".om-read-detail").text_content()
    text = page.locator(".om-read-text").inner_text()
    assert "|" not in text and "---" not in text
    assert text.startswith("The ") and len(text.strip().splitlines()) == 2, "two paragraphs"
    assert cut_off(page) == []


def test_what_is_not_read_yet_is_grey_and_the_mean_until_then_is_marked_as_about(opened):
    page = opened(AT_ONCE)
    page.get_by_text("over all 768 bytes").wait_for(timeout=LATE)
    legend, mean = page.get_by_text("not read yet"), page.locator(".om-read-mean b")
    assert not legend.is_visible()
    # What the page shows while the worker has begun: 1,024 bytes are two steps.
    page.evaluate("""() => {
        window.seen = [];
        const note = document.querySelector('.om-read-set ~ .om-note');
        new MutationObserver(() => window.seen.push([note.textContent,
            document.querySelector('.om-read-mean b').textContent,
            document.querySelectorAll('.om-read-text .om-read-unread').length,
        ])).observe(note, { childList: true });
    }""")
    page.get_by_label("1,024", exact=True).check(force=True)
    page.wait_for_function("seen.length && seen.at(-1)[0].includes('all 768 bytes')", timeout=LATE)
    halves = [seen for seen in page.evaluate("seen") if "512 of 768" in seen[0]]
    [(text, so_far, unread)] = halves
    assert (text, unread) == ("Reading: 512 of 768 bytes so far.", 256)
    assert so_far.startswith("≈ ") and float(so_far[2:]) > 2
    assert page.get_by_text("The mean over all").is_visible()
    assert float(mean.text_content()) > 3 and not legend.is_visible()


def test_the_passage_is_whole_on_a_phone_and_the_field_grows_with_a_text(opened):
    page = opened(AT_ONCE, viewport=PHONE, has_touch=True, is_mobile=True)
    page.get_by_text("over all 476 bytes").wait_for(timeout=LATE)
    hidden = "box => box.scrollHeight - box.clientHeight"
    assert page.locator(".om-read-text").evaluate(hidden) <= 1
    own = page.get_by_label("Your own text")
    own.fill("def attention(q, k, v):\n    scores = q @ k.T\n    w = scores\n    return w @ v\n")
    assert own.evaluate(hidden) <= 1


def test_who_saves_on_data_is_asked_before_the_model_comes(browser, site):
    page = browser.new_page()
    page.add_init_script(
        "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
    )
    page.goto(f"{site}/{AT_ONCE}.html")
    page.get_by_role("button", name="Load the model, 1.65 MB").wait_for(timeout=LATE)
    page.close()


INKS = """() => {
    const linear = (part) => part <= 0.04 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const canvas = document.createElement('canvas')
        .getContext('2d', { willReadFrequently: true });
    const page = getComputedStyle(document.querySelector('.om-read-text')).backgroundColor;
    const luminance = (...colours) => { // each over the one before
        for (const colour of colours) {
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
        }
        const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data]
            .map((part) => linear(part / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
    };
    return Math.min(...[...document.querySelectorAll('.om-read-text span')].map((span) => {
        const { color, backgroundColor } = getComputedStyle(span);
        const pair = [luminance(color), luminance(page, backgroundColor)];
        return Math.max(...pair) / Math.min(...pair);
    }));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_byte_can_be_read_however_strong_its_colour(opened, scheme):
    page = opened(AT_ONCE, color_scheme=scheme)
    page.get_by_text("over all 768 bytes").wait_for(timeout=LATE)
    page.get_by_label("1,024", exact=True).check(force=True)
    page.get_by_text("over all 768 bytes").wait_for(timeout=LATE)
    page.wait_for_function("!document.getAnimations().length", timeout=LATE)
    strong = (
        "spans => spans.filter((span) => span.style.getPropertyValue('--om-share') > 0.9).length"
    )
    assert page.locator(".om-read-text span").evaluate_all(strong) > 30
    assert page.evaluate(INKS) >= 4.5


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}])
def test_the_number_stays_beside_the_buttons_that_change_it(opened, viewport):
    page = opened(AT_ONCE, viewport=viewport)
    page.get_by_text(re.compile(r"over all \d+ bytes")).wait_for(timeout=LATE)
    end = "text => scrollBy({ top: text.getBoundingClientRect().bottom - 300 })"
    page.locator(".om-read-text").evaluate(end)
    assert page.evaluate("scrollY") > 0
    number, button = (page.locator(part) for part in (".om-read-mean b", ".om-read-tick"))
    for part in (number, button):
        assert part.evaluate(
            "part => { const { left, top, width, height } = part.getBoundingClientRect();"
            " return part.contains("
            "document.elementFromPoint(left + width / 2, top + height / 2)); }"
        )


def test_what_stays_in_sight_on_a_phone_leaves_it_with_the_text_and_nothing_meets(opened):
    page = opened(AT_ONCE, viewport=PHONE, has_touch=True, is_mobile=True)
    page.get_by_text("over all 476 bytes").wait_for(timeout=LATE)
    page.add_style_tag(content="body { padding-bottom: 1500px }")
    parts = [page.locator(f".om-read-{name}") for name in ("set", "detail", "own")]
    for below in range(0, 1600, 80):
        page.evaluate(f"scrollTo({{ top: {below}, behavior: 'instant' }})")
        buttons, detail, own = (part.bounding_box() for part in parts)
        assert buttons["y"] + buttons["height"] <= detail["y"] + 1, below
        assert detail["y"] + detail["height"] <= own["y"] + 1, below
