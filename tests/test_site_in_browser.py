"""The site as a reader has it: without a kernel, on a phone, in the dark, by keyboard.

Three lessons stand for all; test_whole_site.py visits every page.
"""

import importlib
import inspect
import io
import pkgutil
import re
import zlib
from typing import Any

import pytest
from browser import SECONDS
from bs4 import BeautifulSoup
from PIL import Image
from site_pictures import ON_PHONES
from site_reader import DESKTOP, PHONE, STILL, Reader, axe, cut_off, read_all, screenshot, swipe

import course_utils
from course_lab.recorded_claims import read_claims

pytestmark = pytest.mark.browser
pytest.importorskip("sphinx", reason="the extra 'site' is not installed")

ORDER, WAVES = "01_attention_is_blind_to_order", "02_sinusoidal"
FAR_APART = "two far apart, where all hands meet again"  # the answer to a question of lesson 02
NUMBERS = "closer/01_counting_and_numbers"
CLOSER = "closer/02_in_practice"
FIRST_TEXT, ALL_OF_IT = 300_000, 2_500_000  # bytes of a page
SLOW = 150_000  # bytes a second, so that what is loaded before the first text can be counted


@pytest.fixture
def opened(browser, site):
    """A function that opens a page for a new reader; none may complain or look elsewhere."""
    readers = []

    def open_page(name: str, **options: Any) -> Any:
        readers.append(Reader(browser, site, **options))
        return readers[-1].open(name)

    yield open_page
    for reader in readers:
        reader.context.close()
    assert [complaint for reader in readers for complaint in reader.complaints] == []


def question(page: Any, text: str) -> tuple[Any, Any]:
    """The form of a question, and what is folded until it is answered."""
    form = page.locator(".om-guess", has_text=text)
    key = form.get_attribute("data-question")
    return form, page.locator(f".om-sealed[data-asks='{key}']").first


def about(page: Any) -> None:
    """Unfold what stands below a lesson's line of facts."""
    page.locator(".om-about > summary").click()


def test_an_explorer_moves_by_keyboard(opened):
    page = opened(WAVES)
    mount = page.locator(".om-mount").first
    mount.scroll_into_view_if_needed()
    slider = mount.get_by_role("slider", name="position", exact=True)
    slider.focus()
    sentence = mount.locator(".om-sentence")
    before = slider.get_attribute("aria-valuetext"), sentence.text_content()
    page.keyboard.press("ArrowRight")
    after = slider.get_attribute("aria-valuetext"), sentence.text_content()
    assert int(after[0]) == int(before[0]) + 1
    assert after[1] != before[1]
    assert mount.locator(".om-fallback").count() == 0


def test_the_picture_of_the_doors_stands_in_the_first_screen_and_no_settings_above_it(opened):
    page = opened("05_rope")
    doors = page.locator(".om-figure").first.bounding_box()
    assert doors["y"] + doors["height"] < DESKTOP["height"]
    assert doors["height"] < 110, "what is asked first starts on the first screen"
    assert not page.get_by_text("device cpu").is_visible()
    aims = page.locator(".om-about")
    assert not aims.locator("li").first.is_visible()
    aims.locator("summary").click()
    assert aims.locator("li").first.is_visible()


def test_an_explorer_stands_in_a_card_under_its_title_and_its_call_is_folded(opened):
    page = opened(WAVES)
    card = page.locator(".om-explorer").first
    assert card.locator(".om-explorer-title").text_content()
    assert card.locator(".om-mount").count() == 1
    assert card.evaluate("(card) => getComputedStyle(card).borderTopWidth") == "1px"
    call = page.locator("details.om-code", has_text="explorers.frequencies(")
    assert call.count() == 1 and not call.is_visible()


@pytest.mark.parametrize("width", [1280, 1440])
def test_lines_of_code_fit_into_the_page(opened, width):
    page = opened("04_relative", viewport={"width": width, "height": 800})
    about(page)
    page.get_by_role("button", name="Show the code").click()
    wide = "all => all.filter(part => part.scrollWidth > part.clientWidth + 1).length"
    code = page.locator(".highlight-python pre:visible")
    assert code.count() > 10 and code.evaluate_all(wide) == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_text_code_figures_and_explorers_have_one_right_edge(opened):
    page = opened(WAVES, viewport={"width": 1280, "height": 800})
    right = "all => all.map((part) => Math.round(part.getBoundingClientRect().right))"
    text = max(page.locator("article section > p:visible").evaluate_all(right))
    code = page.locator("article section > [class*=highlight-python]:visible").evaluate_all(right)
    explorers, doors = page.locator(".om-explorer"), page.locator(".om-whole img:visible").first
    assert {*code, *explorers.evaluate_all(right)} == {text}
    assert doors.evaluate("(doors) => Math.round(doors.getBoundingClientRect().right)") == text
    explorers.first.scroll_into_view_if_needed()
    panels = explorers.first.locator(".om-panel")
    panels.last.wait_for(timeout=30 * SECONDS)
    tops = {round(panel.bounding_box()["y"]) for panel in panels.all()}
    assert len(tops) == 2, "six panels in two rows, although the room is no whole number of pixels"


def test_a_seal_says_what_moves_behind_it_and_the_head_leads_there(opened):
    page = opened("04_relative")
    about(page)
    page.locator(".om-moves").get_by_role("link").click()
    seal = page.locator(".om-sealed", has=page.locator(".om-explorer"))
    assert (
        seal.locator("> summary")
        .text_content()
        .startswith("Guess first: then a picture that moves.")
    )
    page.wait_for_load_state("networkidle")
    page.evaluate(STILL)
    assert 0 < seal.bounding_box()["y"] < DESKTOP["height"] / 2
    assert seal.get_attribute("open") is None, "a link is no guess"


def test_the_section_of_exercises_leads_to_those_above(opened):
    page = opened("04_relative")
    links = page.locator("#exercises .om-note a")
    assert [link.get_attribute("href") for link in links.all()] == ["#exercise-1", "#exercise-2"]
    links.first.click()
    page.wait_for_load_state("networkidle")
    page.evaluate(STILL)
    assert 0 <= page.get_by_text("Single out.").bounding_box()["y"] < 100


SUMMARIES = "article details > summary"


@pytest.mark.parametrize("name", ["05_rope", "09_further_doors", "11_capstone"])
def test_code_that_only_draws_asks_or_judges_is_out_of_the_way_until_it_is_wanted(opened, name):
    page = opened(name)
    code = page.locator(".om-code:not(.om-sealed *)")
    about(page)
    folds = page.locator(f"{SUMMARIES}:visible").count()
    assert code.count() > 5 and folds < 24
    assert page.locator(".om-code:visible").count() == 0
    switch = page.get_by_role("button", name="Show the code")
    switch.click()
    assert switch.get_attribute("aria-pressed") == "true"
    assert page.locator(f"{SUMMARIES}:visible").count() == folds + code.count() > 1.4 * folds
    assert all(pre.is_visible() for pre in code.locator("pre").all())
    page.reload()
    assert code.first.locator("pre").first.is_visible(), "and on the next page"
    about(page)
    switch.click()
    assert page.locator(".om-code:visible").count() == 0


@pytest.mark.parametrize("name", ["05_rope", "11_capstone"])
def test_a_phone_shows_four_doors_in_two_rows_large_enough_to_be_read(opened, name):
    page = opened(name, viewport=PHONE)
    strip = page.locator(".om-figure:visible").first
    doors = strip.locator("img")
    assert doors.count() == 2 and min(doors.evaluate_all(SCALES)) > 0.74
    boxes = [half.bounding_box() for half in doors.all()]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    assert max(box["x"] + box["width"] for box in boxes) <= PHONE["width"]
    assert page.locator("h2").first.bounding_box()["y"] < 0.75 * PHONE["height"]
    assert "doors" in strip.locator("[role=img]").get_attribute("aria-label")


def test_a_guess_unfolds_the_answer_is_judged_and_remembered(opened):
    page = opened(WAVES)
    form, answer = question(page, "With these four, which two")
    reveal = answer.locator(".om-reveal")
    assert not reveal.is_visible()
    form.get_by_label("two neighbours").click()
    assert not reveal.is_visible(), "the form says it"
    said = form.locator(".om-said").text_content()
    assert said == f"✗ You said: two neighbours. Measured: {FAR_APART}."
    assert (
        answer.get_by_text("**Look:**").count() == 0 and "meet again after" in answer.text_content()
    )
    assert not answer.locator("> summary").is_visible()
    marked = form.locator("label[data-right=true], label[data-right=false]")
    assert [label.get_attribute("data-right") for label in marked.all()] == ["false", "true"]
    assert [label.inner_text().strip() for label in marked.all()] == ["two neighbours", FAR_APART]
    colours = marked.locator("input").evaluate_all(
        "radios => radios.map(radio => getComputedStyle(radio).borderColor)"
    )
    assert colours == marked.evaluate_all("all => all.map(label => getComputedStyle(label).color)")
    other, sealed = question(page, "Which of the five grants")
    assert not other.get_by_role("button", name="Guess").is_visible(), "a tap is enough"
    other.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    assert not sealed.locator("img").first.is_visible(), "arrow keys only choose"
    other.get_by_label("one-hot").focus()
    page.keyboard.press("Space")
    other.get_by_role("button", name="Guess").click()
    assert other.locator(".om-said").text_content() == "✓ You were right."

    page.reload()
    score = page.locator(".om-score")
    assert "2 of 3, 1 right" in score.text_content()
    assert form.get_by_label("two neighbours").is_checked()
    assert form.get_by_label("two neighbours").is_disabled()
    form.get_by_role("button", name="Guess again").click()
    assert "1 of 3, 1 right" in score.text_content(), "the other guess stays"
    assert not answer.locator("p").first.is_visible()
    form.get_by_label(FAR_APART).click()
    assert form.locator(".om-said").text_content() == "✓ You were right."
    score.get_by_role("button", name="Forget them").click()
    assert not answer.locator("p").first.is_visible()
    assert score.text_content() == "Forgotten · Undo"
    score.get_by_role("button", name="Undo").click()
    assert "2 of 3, 2 right" in score.text_content()
    assert form.locator(".om-said").text_content() == "✓ You were right."
    score.get_by_role("button", name="Forget them").click()
    assert not reveal.is_visible() and form.get_by_label(FAR_APART).is_enabled()
    assert not form.get_by_role("button", name="Guess again").is_visible()
    page.reload()
    assert score.text_content() == "3 guesses "


def test_the_picture_comes_before_its_code_and_five_lines_wait_for_the_last_guess(opened):
    page = opened("08_stretching_rope")
    lines = page.locator(".om-summary")
    assert not lines.locator("li").first.is_visible()
    for form in page.locator(".om-guess").all():
        assert lines.get_attribute("open") is None
        form.get_by_role("radio").first.click()
    assert lines.locator("li").first.is_visible()
    page = opened("04_relative")
    form = page.locator(".om-guess").first
    form.get_by_role("radio").first.click()
    sealed = page.locator(f".om-sealed[data-asks='{form.get_attribute('data-question')}']").first
    picture, code = sealed.locator("img").first, sealed.get_by_text("The code", exact=True)
    assert picture.bounding_box()["y"] < code.bounding_box()["y"]
    assert not sealed.locator(".highlight-python").first.is_visible()


def test_a_myths_numbers_are_folded_under_a_sentence(opened):
    page = opened("myths")
    card = page.locator(".om-card:not([hidden])").first
    card.get_by_role("button", name="false").click()
    assert card.locator("b", has_text="FALSE").first.is_visible()
    numbers = card.locator(".om-numbers")
    assert not numbers.locator("p").first.is_visible()
    numbers.locator("summary").click()
    assert numbers.get_by_text("Evidence").is_visible()


def test_a_verdict_is_said_once_beside_its_question(opened):
    page = opened("08_stretching_rope")
    for form in page.locator(".om-guess[data-kind=choice]").all():
        form.get_by_role("radio").first.click()
        sealed = page.locator(f".om-sealed[data-asks='{form.get_attribute('data-question')}']")
        said = form.locator(".om-said").inner_text()
        assert re.match("✓ You were right.|✗ You said: .* Measured: ", said)
        assert not sealed.locator(".om-reveal").is_visible()
        assert sealed.locator("img").first.is_visible()
    page = opened(WAVES)
    sealed = question(page, "With these four, which two")[1]
    sealed.locator("> summary").click()
    assert sealed.locator(".om-reveal").is_visible(), "there is no guess to judge"


@pytest.mark.parametrize("name", ["08_stretching_rope", "11_capstone", "ledger"])
def test_no_question_and_no_hint_shows_the_marks_of_markdown(opened, name):
    page = opened(name)
    texts = page.locator(".om-guess, .om-hint p").evaluate_all("all => all.map(e => e.textContent)")
    assert len(texts) > 6
    assert [text for text in texts if re.search(r"`|(?<!\w)\*\w[^*]*\w\*", text)] == []
    assert name != "08_stretching_rope" or page.locator(".om-hint code").count() > 3


def test_no_unseen_twin_of_a_formula_lets_a_page_slide_sideways_on_a_phone(opened):
    page = opened("08_stretching_rope", viewport=PHONE)
    page.locator("mjx-assistive-mml").first.wait_for(state="attached", timeout=30 * SECONDS)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.thorough
def test_an_answer_shown_without_a_guess_does_not_count(opened):
    page = opened(WAVES)
    form, answer = question(page, "With these four, which two")
    answer.locator("> summary").focus()
    page.keyboard.press("Enter")
    assert answer.locator(".om-reveal").text_content() == f"Measured: {FAR_APART}. "
    assert "Shown without a guess" in form.text_content()
    assert "3 guesses" in page.locator(".om-score").text_content()
    page.reload()
    assert answer.locator(".om-reveal").is_visible()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("typed", "response"),
    [("20,5", "✓ You said 20,5: right, to a tenth."), ("8", "✗ You said 8.")],
)
def test_a_number_is_right_within_a_tenth(opened, typed, response):
    page = opened(NUMBERS)
    form, answer = question(page, "A second start mark")
    box = form.get_by_role("textbox", name="Your guess")
    box.fill("many")
    page.keyboard.press("Enter")
    assert "“many” is not a number yet." in form.text_content()
    assert not answer.locator(".om-reveal").is_visible()
    box.fill(typed)
    page.keyboard.press("Enter")
    assert answer.locator(".om-verdict").text_content() == response
    page.reload()
    assert box.input_value() == typed


def test_a_claims_verdict_unfolds_with_its_guess(opened):
    for name, key, guess, sign, words in (
        (CLOSER, "C16", "depends", "✓", "DEPENDS on"),
        (WAVES, "C19", "true", "✗", "FALSE."),
    ):
        page = opened(name)
        card = page.locator(f"#claim-{key}")
        verdict = card.get_by_text(words)
        assert not verdict.is_visible()
        card.get_by_label(guess, exact=True).click()
        assert verdict.is_visible()
        assert card.locator(".om-said").text_content().startswith(sign)


def test_hints_unfold_one_by_one_and_a_solution_stands_last(opened):
    page = opened(WAVES)
    exercise = page.locator(".om-exercise").first
    hints = exercise.locator(".om-hint > summary")
    last = exercise.locator("details").last
    for number in range(3):
        assert [hint.is_visible() for hint in hints.all()] == [n <= number for n in range(3)]
        assert not last.is_visible()
        hints.nth(number).press("Enter")
    assert last.locator("> summary").text_content() == "A solution"
    assert not last.locator("pre").first.is_visible()
    last.locator("> summary").click()
    assert "block_diag" in last.text_content() and "✓ looking_back" in last.text_content()


# How large pictures are, compared with how they were drawn.
SCALES = """images => images.map((image) =>
    image.getBoundingClientRect().width / image.style.getPropertyValue('--om-drawn'))"""


def test_a_phone_in_the_dark_shows_all_and_pictures_with_words_without_scrolling_sideways(opened):
    page = opened(WAVES, viewport=PHONE, color_scheme="dark")
    read_all(page)
    assert cut_off(page) == []
    for scroller in page.locator(".highlight pre[tabindex]").all()[:3]:
        assert scroller.get_attribute("aria-label") in ("Code", "Output")
    assert page.locator(".highlight pre[aria-label=Code]").count() > 3
    pictures = page.locator("article .om-figure > :is(img, .om-panels):visible")
    assert pictures.count() > 2
    for picture in pictures.all():
        words = picture.get_attribute("alt") or picture.get_attribute("aria-label")
        assert len(words.split()) > 4
    panels = page.locator("article .om-panels:visible img")
    assert panels.count() > 3
    for rows in page.locator("article .om-panels:visible").all():
        scales = rows.locator("img").evaluate_all(SCALES)
        assert max(scales) < 1.02 * min(scales), "their axes and colours compare"
        assert min(scales) > 0.52 and max(scales) < 1.11
    for figure in page.locator("article .om-figure > img:visible").all():
        assert figure.evaluate(f"image => ({SCALES})([image])[0]") > 0.52, "its words are read"


def test_a_phone_shows_of_twelve_figures_what_the_sentences_are_about(opened):
    page = opened("pictures", viewport=PHONE)
    read_all(page)
    assert page.locator("article .om-figure:visible").count() == 12
    parts = page.locator("article .om-panels:visible > :is(img, .om-numbered)")
    assert parts.count() < 18
    cut = "all => all.filter(part => part.scrollWidth > part.clientWidth + 1).length"
    assert page.locator("article .om-figure:visible").evaluate_all(cut) == 0
    assert page.evaluate("document.documentElement.scrollHeight") < 8300


WORDS_CUT = """([left, top, width, height]) => {
  const figure = document.querySelector("svg"), edge = figure.getBoundingClientRect();
  const scale = figure.viewBox.baseVal.width / edge.width;
  return [...figure.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    const [l, r, t, b] = [box.left - edge.left, box.right - edge.left,
      box.top - edge.top, box.bottom - edge.top].map((pixels) => pixels * scale);
    const meets = r > left + 1 && l < left + width - 1 && b > top + 3 && t < top + height - 3;
    const inside = l > left - 1 && r < left + width + 1 && t > top - 3 && b < top + height + 3;
    return meets && !inside;
  }).map((text) => text.textContent);
}"""  # of a window in a figure; letters are lower than their boxes


@pytest.mark.parametrize(
    "lesson",
    [name for name, parts in ON_PHONES.items() if not all(isinstance(n, int) for n in parts)],
)
def test_no_words_are_cut_where_a_phone_shows_a_part_of_a_figure(opened, site_folder, lesson):
    page = opened("pictures", viewport=PHONE)
    read_all(page)
    section = page.locator(f"section:has(> h2 a[href*='{lesson}'])").last
    address = section.locator("img[src*='svgView']").first.get_attribute("src")
    file, _, window = address.partition("#svgView(viewBox(")
    page.set_content((site_folder / file).read_text("utf-8"))
    edges = [float(number) for number in window.rstrip(")").split(",")]
    assert page.evaluate(WORDS_CUT, edges) == []


@pytest.mark.parametrize(
    ("name", "figures"), [("closer/03_past_the_end", 2), ("closer/05_in_practice", 3)]
)
def test_a_wide_panel_is_squeezed_into_a_phones_width_under_a_title_of_text(opened, name, figures):
    page = opened(name, viewport=PHONE)
    read_all(page)
    titles = page.locator(".om-stacked > .om-figure-title:visible")
    assert titles.count() == figures
    cut = "all => all.filter(part => part.scrollWidth > part.clientWidth + 1).length"
    assert page.locator("article .om-figure:visible").evaluate_all(cut) == 0
    panels = page.locator(".om-figure-title + .om-figure img:visible")
    assert min(panels.evaluate_all(SCALES)) > 0.57
    assert titles.first.bounding_box()["x"] >= 0
    page.set_viewport_size(DESKTOP)
    assert page.locator(".om-figure-title:visible").count() == 0


def test_on_a_desktop_the_page_of_twelve_pictures_has_words_of_one_size(opened):
    page = opened("pictures", viewport={"width": 1280, "height": 800})
    read_all(page)
    figures = page.locator("article .om-figure img:visible")
    scales = figures.evaluate_all(SCALES)
    assert len(scales) >= 12 and min(scales) > 0.72 and max(scales) < 1.01


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_list_of_lessons_has_a_glyph_a_lesson_all_of_one_size(opened, viewport):
    page = opened("index", viewport=viewport)
    glyphs = page.locator(".om-lessons li .om-glyph:visible")
    assert glyphs.count() == page.locator(".om-lessons li").count() == 12
    boxes = [glyph.bounding_box() for glyph in glyphs.all()]
    assert len({(box["x"], box["width"], box["height"]) for box in boxes}) == 1
    assert len(set(glyphs.evaluate_all("all => all.map((glyph) => glyph.innerHTML)"))) == 12
    assert "nats" not in page.locator("article").inner_text()


def test_on_a_phone_formulas_and_lines_fit_and_what_goes_on_fades_until_its_end(opened):
    page = opened(WAVES, viewport=PHONE)
    read_all(page)
    page.locator("mjx-container").first.wait_for(timeout=20 * SECONDS)
    page.evaluate("MathJax.startup.promise.then(() => true)")
    page.wait_for_function(  # three formulas of this lesson are wider than a phone
        "document.querySelectorAll('div.math wbr').length > 1", timeout=20 * SECONDS
    )
    wide = "all => all.filter(part => part.scrollWidth > part.clientWidth + 1).length"
    assert page.locator("div.math").evaluate_all(wide) == 0
    assert page.locator(".om-lines pre").count() > 2
    assert page.locator(".om-lines pre").evaluate_all(wide) == 0
    code = page.locator(".highlight pre.om-more").first.element_handle()
    assert code.evaluate("pre => getComputedStyle(pre).maskImage").startswith("linear-gradient")
    arrow = "(pre) => getComputedStyle(pre, '::after').content"
    assert code.evaluate(arrow) == '"→"'
    wide = "all => all.filter(part => part.scrollWidth > part.clientWidth + 1)"
    shown = f"{wide}.every(part => ({arrow})(part) === '\"→\"')"
    scrollers = page.locator(".highlight pre:visible, .om-figure:visible")
    assert scrollers.evaluate_all(shown)
    code.evaluate("pre => pre.scrollTo({ left: pre.scrollWidth, behavior: 'instant' })")
    page.wait_for_function(
        "pre => !pre.classList.contains('om-more')", arg=code, timeout=10 * SECONDS
    )
    assert code.evaluate(arrow) == "none"
    for figure in page.locator(".om-figure.om-unmoved:visible").all():
        below = "box => box.getBoundingClientRect().bottom - box.firstElementChild"
        height = figure.evaluate(f"{below}.getBoundingClientRect().bottom")
        assert height > 24, "the arrow lies below the figure, not on it"


# What keeps a vertical swipe for itself.
TRAPS = """() => [...document.querySelectorAll("article *")].filter((block) =>
    block.scrollHeight > block.clientHeight && block.clientHeight && block.tagName !== "TEXTAREA"
        && ["auto", "scroll"].includes(getComputedStyle(block).overflowY)
).map((block) => block.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("name", [ORDER, WAVES])
def test_on_a_phone_the_first_swipe_over_a_block_that_scrolls_sideways_moves_the_page(opened, name):
    page = opened(name, viewport=PHONE, has_touch=True, is_mobile=True)
    read_all(page)
    code = page.locator(".highlight pre.om-unmoved:visible").first
    code.evaluate("code => code.scrollIntoView({ block: 'center', behavior: 'instant' })")
    page.evaluate(STILL)
    assert page.evaluate(TRAPS) == []
    box, before = code.bounding_box(), page.evaluate("scrollY")
    swipe(page, {"x": box["x"] + 100, "y": box["y"] + box["height"] / 2}, up=120)
    page.evaluate(STILL)
    assert page.evaluate("scrollY") > before + 50


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_a_figure_is_drawn_once_and_follows_light_and_dark(opened, scheme, is_dark):
    page = opened(WAVES, color_scheme=scheme)
    read_all(page)
    figure = page.locator("article .om-figure:visible img").first
    size = figure.evaluate("(image) => [image.naturalWidth, image.naturalHeight]")
    assert size == [int(figure.get_attribute(side)) for side in ("width", "height")]
    assert figure.evaluate("(image) => getComputedStyle(image).filter") == "none"
    assert (paper(figure) < 100) is is_dark
    if is_dark:
        page.evaluate("document.body.dataset.theme = 'light'")
        assert paper(figure) > 200


def paper(figure: Any) -> float:
    """The brightness of a figure's upper left corner, 0 to 255."""
    shot = Image.open(io.BytesIO(figure.screenshot())).convert("L")
    return shot.crop((3, 3, 4, 4)).tobytes()[0]


def test_a_block_that_scrolls_is_moved_by_keyboard(opened):
    page = opened(WAVES, viewport=PHONE)
    code = page.locator(".highlight pre[tabindex='0']").first
    code.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0", timeout=10 * SECONDS)


def test_without_javascript_explorers_are_described_and_answers_unfold(opened):
    page = opened(WAVES, java_script_enabled=False)
    assert "its clock hands" in page.locator(".om-fallback").first.text_content()
    answer = page.locator(".om-sealed").first
    assert not answer.locator(".om-reveal").is_visible()
    answer.locator("> summary").click()
    assert answer.locator(".om-reveal").is_visible()
    assert not page.get_by_role("button", name="Guess").first.is_visible()


def test_the_first_page_leads_on_where_a_reader_has_guessed(opened):
    page = opened("myths")
    card = page.locator(".om-card:not([hidden])").first  # a claim of a lesson nobody has opened
    card.get_by_role("button", name="false").click()
    page.goto(page.url.replace("myths", "index"))
    start = page.locator(".om-start .om-button")
    assert start.text_content() == "Start"
    page.goto(page.url.replace("index", WAVES))
    page.locator(".om-sealed > summary:visible").first.click()
    page.goto(page.url.replace(WAVES, "index"))
    assert start.text_content() == "Continue at 02"
    assert start.get_attribute("href").endswith(f"{WAVES}.html")


def test_on_a_phone_the_ledger_starts_as_elsewhere_and_questions_stand_above_their_picture(opened):
    page = opened("ledger", viewport=PHONE)
    assert page.get_by_role("button", name="Show all").first.is_disabled()
    page.goto(page.url.replace("ledger", "choose"))
    page.locator(".om-explorer").scroll_into_view_if_needed()
    view = page.locator(".om-explorer .om-view")
    view.wait_for(timeout=30 * SECONDS)
    controls = page.locator(".om-explorer .om-controls")
    assert controls.bounding_box()["y"] < view.bounding_box()["y"]


def test_axe_finds_nothing_serious_and_notices_what_is(opened):
    page = opened("index")
    assert axe(page) == []
    pale = "<p style=color:#ccc>pale</p>"
    page.evaluate(f"document.querySelector('article').insertAdjacentHTML('beforeend', '{pale}')")
    assert [finding.split(":")[0] for finding in axe(page)] == ["color-contrast"]


def test_the_reference_has_every_public_name_once(site_folder):
    compressed = (site_folder / "objects.inv").read_bytes().split(b"\n", 4)[4]
    lines = [line.split() for line in zlib.decompress(compressed).decode().splitlines()]
    listed = [name for name, kind, *_ in lines if kind in ("py:class", "py:function")]
    public = []
    for module in pkgutil.walk_packages(course_utils.__path__, "course_utils."):
        if "._" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            documented = inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value))
            if documented and value.__module__ == module.name and not name.startswith("_"):
                public += [f"{module.name}.{name}"] if value.__name__ == name else []
    assert len(public) > 200
    assert sorted(listed) == sorted(public)


def test_the_reference_shows_shapes_in_signatures(site_folder):
    page = (site_folder / "reference" / "course_utils.attention.attention.html").read_text("utf-8")
    text = " ".join(BeautifulSoup(page, "html.parser").get_text().split())
    assert "x: Float[Tensor, 'batch seq d_model']" in text
    assert (site_folder / "genindex.html").exists()


@pytest.mark.thorough
def test_a_page_is_light_and_its_text_comes_first(opened, site):
    page = opened("index")
    wire, loaded = page.context.new_cdp_session(page), []

    def note(event: dict[str, Any]) -> None:
        loaded.append((event["timestamp"], event.get("dataLength", 0)))

    wire.on("Network.requestWillBeSent", note)
    wire.on("Network.dataReceived", note)
    wire.send("Network.enable")
    slow = {"offline": False, "latency": 20, "downloadThroughput": SLOW, "uploadThroughput": SLOW}
    wire.send("Network.emulateNetworkConditions", slow)
    page.goto(f"{site}/{ORDER}.html")
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    page.wait_for_function(paint, timeout=30 * SECONDS)
    seconds = page.evaluate(paint) / 1000
    start = loaded[0][0]
    first = sum(size for when, size in loaded if when - start <= seconds)
    assert 0 < first < FIRST_TEXT

    wire.send("Network.emulateNetworkConditions", {**slow, "latency": 0, "downloadThroughput": -1})
    read_all(page)
    kinds = "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
    total = page.evaluate(f"{kinds}.reduce((sum, entry) => sum + entry.encodedBodySize, 0)")
    assert 5 * first < total < ALL_OF_IT


@pytest.mark.parametrize(
    ("word", "title", "sentence"),
    [
        ("equivariant", "01 · Attention is blind to order", r"[A-Z“].*quivariant.*[.?!:]"),
        ("squeezes", "02 · Sinusoidal", r"In an answer of this section\."),  # no spoiler
    ],
)
def test_the_search_shows_a_sentence_and_leads_to_its_section(opened, site, word, title, sentence):
    page = opened("index")
    page.goto(f"{site}/search.html?q={word}")
    result = page.locator("#search-results li", has=page.get_by_role("link", name=title)).last
    text = result.locator(".context").text_content(timeout=20 * SECONDS)
    assert re.fullmatch(sentence, text, re.DOTALL), text
    link = result.get_by_role("link")
    page.wait_for_function("(link) => link.hash", arg=link.element_handle())
    link.click()
    page.wait_for_function("scrollY > 300", timeout=20 * SECONDS)  # not at the top of the page
    page.wait_for_load_state("networkidle")
    page.evaluate(STILL)
    section = page.evaluate("document.getElementById(location.hash.slice(1)).textContent")
    assert word in section.lower()
    top = page.evaluate(
        "document.getElementById(location.hash.slice(1)).getBoundingClientRect().top"
    )
    assert -5 < top < 100
    assert page.locator(".highlighted").count() == 0


FOUND = "#search-results ul.search li"


def search_for(page: Any, site: str, words: str) -> list[str]:
    """The titles of what a search finds, in order."""
    page.goto(f"{site}/search.html?q={words}")
    done = page.get_by_text(re.compile("Search finished|No page has"))
    done.wait_for(timeout=20 * SECONDS)
    return page.locator(f"{FOUND} > a").all_text_contents()


def test_a_search_finds_lessons_before_objects_of_the_reference(opened, site):
    titles = search_for(opened("index"), site, "yarn")
    lessons = [n for n, title in enumerate(titles) if re.match(r"\d\d · ", title)]
    objects = [n for n, title in enumerate(titles) if title.startswith("course_utils.")]
    assert lessons and objects and max(lessons) < min(objects)


def test_a_search_finds_the_glossarys_entry_before_modules_of_the_reference(opened, site):
    page = opened("index")
    titles = search_for(page, site, "attention sink")
    links = page.locator(f"{FOUND} > a").evaluate_all("all => all.map(link => link.href)")
    modules = [place for place, link in enumerate(links) if "/reference/" in link]
    assert modules and titles.index("Glossary > Attention sink") < min(modules)


def test_a_search_finds_lessons_and_then_the_glossarys_entry_once(opened, site):
    page = opened("index")
    titles = search_for(page, site, "needle")
    glossary = [n for n, title in enumerate(titles) if title.startswith("Glossary")]
    assert [titles[n] for n in glossary] == ["Glossary > Needle"]
    assert re.match(r"\d\d · ", titles[0]) and glossary[0] < 4
    text = page.locator(FOUND).nth(glossary[0]).locator(".context")
    assert text.text_content(timeout=20 * SECONDS).startswith("A fact hidden in a long text")


def test_a_hit_in_a_lesson_names_its_section_and_quotes_the_sentence_with_most_words(opened, site):
    page = opened("index")
    page.goto(f"{site}/search.html?q=secret number of Lima")
    hit = page.locator(FOUND, has_text="A real model")
    text = hit.locator(".context").text_content(timeout=20 * SECONDS)
    assert "The secret number of Lima" in text
    assert hit.locator("a").text_content() == "08 · Stretching RoPE > A real model"


def test_a_search_finds_a_number_with_and_without_its_comma(opened, site):
    page = opened("index")
    with_comma, without = (
        [title.partition(" > ")[0] for title in search_for(page, site, text)]
        for text in ("10,000", "10000")
    )
    assert with_comma == without and any(title.startswith("02") for title in without)


def test_a_summary_of_a_search_has_no_tex_and_does_not_end_at_et_al(opened, site):
    page = opened("index")
    search_for(page, site, "yarn")
    summaries = page.locator(f"{FOUND} .context").all_text_contents()
    assert summaries and not [text for text in summaries if "\\" in text or text.endswith("al.")]
    assert not page.get_by_role("heading", name="Search Results").is_visible()


def test_a_summary_of_a_search_shows_no_code_and_no_word_of_the_page_itself(opened, site):
    page = opened("index")
    search_for(page, site, "rotate")
    lesson = page.locator(FOUND, has_text=re.compile("^01"))
    text = lesson.locator(".context").text_content(timeout=20 * SECONDS)
    assert text == "The four doors embed, rotate, bias and values, all shut."


def test_a_hit_in_the_glossary_looks_like_the_others_and_says_what_the_word_means(opened, site):
    page = opened("index")
    search_for(page, site, "yarn")
    hit = page.locator(FOUND, has=page.locator("a[href*='glossary.html#yarn']")).first
    text = hit.locator(".context").text_content(timeout=20 * SECONDS)
    assert len(text.split()) > 5 and text.endswith((".", ":"))
    colours = page.locator(f"{FOUND} > a").evaluate_all(
        "all => all.map((link) => getComputedStyle(link).color)"
    )
    assert len(set(colours)) == 1


def test_a_search_in_vain_says_what_to_try(opened, site):
    page = opened("index")
    assert search_for(page, site, "xylophone") == []
    assert page.get_by_text("No page has this word.").is_visible()
    assert search_for(page, site, "xylophone zither") == []
    assert page.get_by_text("Try one of them alone").is_visible()


def test_a_search_for_the_words_of_a_functions_name_finds_it_first(opened, site):
    assert search_for(opened("index"), site, "kv cache")[0].endswith("attention.kv_cache")


def shown_rows(page: Any, table: str) -> list[str]:
    return page.locator(f"#{table} .om-row:visible th").all_text_contents()


def test_results_are_filtered_sorted_and_found_from_their_number(opened):
    page = opened("choose", viewport=PHONE)
    page.locator(".om-mount").scroll_into_view_if_needed()  # it is loaded shortly before
    page.locator(".om-mount svg").first.wait_for(timeout=20 * SECONDS)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    results = page.locator("form[data-rows=results]")
    assert len(shown_rows(page, "results")) == 17
    assert "17 of" in results.get_by_role("status").text_content()
    mean = page.locator("#results").get_by_role("button", name="mean ± margin")
    for name, first in (("ascending", "DeBERTa"), ("descending", "no encoding")):
        mean.press("Enter")
        heading = page.locator("#results th[aria-sort]")
        assert heading.get_attribute("aria-sort") == name
        assert shown_rows(page, "results")[0] == first
    results.get_by_label("encoding").select_option("RoPE")
    assert shown_rows(page, "results") == ["RoPE"]

    page.locator("#encoding-alibi a[href='#causal-alibi-1024']").click()  # no filter shows it now
    row = page.locator("#causal-alibi-1024")
    row.wait_for(timeout=20 * SECONDS)  # the page hears of the new place a moment later
    assert "extrapolation.csv" in row.text_content()
    assert results.get_by_label("text length").input_value() == "1024"

    page.locator("form[data-rows=encodings]").get_by_label("kernel").select_option("plain")
    assert "RoPE" in shown_rows(page, "encodings")
    assert "ALiBi" not in shown_rows(page, "encodings")


def test_a_phone_has_a_block_for_each_row_of_the_evidence(opened):
    page = opened("choose", viewport=PHONE)
    table = page.locator(".om-blocks")
    right = "all => Math.max(...all.map(cell => cell.getBoundingClientRect().right))"
    assert table.locator("td").evaluate_all(right) < PHONE["width"]
    for row in table.locator("tbody tr").all():
        tops = [cell.bounding_box()["y"] for cell in row.locator("td").all()[2:]]
        assert len(set(tops)) == len(tops) == 3
    heights = "rows => Math.max(...rows.map(row => row.offsetHeight))"
    for name in ("encodings", "results"):  # which scroll, under a first column that stays
        rows = page.locator(f"#{name} tbody tr:visible")
        assert rows.evaluate_all(heights) < 45
        assert rows.locator("th").first.evaluate("th => getComputedStyle(th).position") == "sticky"
    heading = "cell => getComputedStyle(cell, '::before').content"
    assert "plain" in table.locator("td:last-child").first.evaluate(heading)


def test_a_phone_has_a_block_for_each_row_of_a_table_with_long_words(opened):
    page = opened("symbols", viewport=PHONE)
    cells = page.locator(".om-rows tbody tr").first.locator("td")
    lefts = {cell.bounding_box()["x"] for cell in cells.all()}
    assert len(lefts) == 1
    assert cells.nth(1).get_attribute("data-heading") == "what it is"
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_a_tap_in_a_phones_contents_shuts_them_and_marks_where_it_led(opened):
    page = opened(WAVES, viewport=PHONE, has_touch=True)
    page.locator("label[for=__toc]:visible").first.click()
    link = page.locator(".toc-tree li li a").nth(3)
    assert link.bounding_box()["height"] > 38
    link.click()
    assert not page.locator("#__toc").is_checked()
    page.wait_for_function(
        "link => link.closest('li').matches('.scroll-current')", arg=link.element_handle()
    )


def test_on_a_phone_a_choice_stands_below_its_label_and_touches_no_other(opened):
    page = opened("05_rope", viewport=PHONE, has_touch=True)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    for mount in page.locator(".om-mount").all():
        mount.scroll_into_view_if_needed()
    choice = page.locator(".om-control:has(> select)").first
    choice.wait_for()
    label, field = (choice.locator(part).bounding_box() for part in ("> span", "> select"))
    below = choice.locator("xpath=following-sibling::*[1]").bounding_box()
    assert label["y"] + label["height"] <= field["y"] + 1
    assert field["y"] + field["height"] + 8 <= below["y"]


TOO_LOW = """() => [...document.querySelectorAll('.om-row')]
    .filter((row) => row.scrollHeight > row.clientHeight + 1).map((row) => row.outerHTML)"""
EDGES = """(row) => [...row.cells].filter((cell) => !cell.hidden)
    .map((cell) => Math.round(cell.getBoundingClientRect().left))"""


@pytest.mark.parametrize(("name", "tables"), [("ledger", []), ("choose", ["encodings", "results"])])
def test_rows_are_as_high_as_what_they_hold_and_headings_stand_above_their_columns(
    opened, name, tables
):
    page = opened(name)
    assert page.locator(".om-row:visible").count() > 30
    assert page.evaluate(TOO_LOW) == []
    for table in tables:
        headings, rows = page.locator(f"#{table} thead tr"), page.locator(f"#{table} .om-row")
        columns = headings.evaluate(EDGES)
        assert len(set(columns)) == len(columns) > 3
        assert rows.locator("visible=true").first.evaluate(EDGES) == columns


def test_a_long_table_leaves_out_what_its_filter_fixes_and_scrolls_under_its_headings(opened):
    page = opened("choose")
    headings = page.locator("#results thead th:visible")
    assert headings.all_text_contents() == [
        "encoding",
        "mean ± margin",
        "each seed",
        "lines in the file",
    ]
    page.locator("form[data-rows=results]").get_by_role("button", name="Show all").click()
    assert headings.count() == 7
    table = page.locator(".table-wrapper:has(> #results)")
    top = headings.first.bounding_box()["y"] - table.bounding_box()["y"]
    table.evaluate("box => box.scrollTo({ top: 400, behavior: 'instant' })")
    assert table.evaluate("box => box.scrollTop") == 400
    assert headings.first.bounding_box()["y"] - table.bounding_box()["y"] == pytest.approx(
        top, abs=2
    )


def test_no_table_of_a_few_rows_keeps_the_wheel_and_columns_are_not_cut_on_a_desktop(opened):
    page = opened("choose", viewport={"width": 1440, "height": 800})
    page.locator("#results tr[hidden]").first.wait_for(state="attached")
    assert page.evaluate(TRAPS) == []
    table = page.locator(".table-wrapper:has(> #encodings)")
    right = table.evaluate("box => box.getBoundingClientRect().right")
    edges = table.locator("thead th").evaluate_all(
        "all => all.map((cell) => cell.getBoundingClientRect().right)"
    )
    assert sum(edge <= right + 1 for edge in edges) >= 11


def test_the_ledgers_controls_stand_in_one_row_and_rare_ones_behind_more(opened):
    page = opened("ledger")
    controls = page.locator(".om-filter")
    shown = controls.locator("select:visible, input:visible, button:visible, summary")
    boxes = [part.bounding_box() for part in shown.all()]
    middles = [box["y"] + box["height"] / 2 for box in boxes]
    assert len(middles) == 5 and max(middles) - min(middles) < 8
    evidence = controls.get_by_label("evidence")
    assert not evidence.is_visible()
    controls.get_by_text("more", exact=True).click()
    show_all = controls.get_by_role("button", name="Show all")
    assert show_all.is_disabled()
    evidence.select_option("source")
    assert show_all.is_enabled()
    screenshot(page, "ledger")


@pytest.mark.thorough
def test_a_guess_in_a_lesson_counts_in_the_ledger_which_can_be_searched(opened, site):
    claims = {claim["id"]: claim for claim in read_claims()}
    cell = claims["C19"]["cell"]
    page = opened(WAVES)
    card = page.locator("#claim-C19")
    card.get_by_label("false", exact=True).click()
    page.goto(f"{site}/ledger.html")
    assert f"1 of {len(claims)}, 1 right" in page.locator(".om-score").text_content()
    controls = page.locator(".om-filter")
    controls.get_by_label("my guess").select_option("right")
    shown = page.locator(".om-claim:visible").all()
    assert [claim.get_attribute("id") for claim in shown] == ["claim-C19"]
    controls.get_by_role("button", name="Show all").click()
    controls.get_by_label("words").fill("PALM alibi")
    assert f"1 of {len(claims)}" in controls.get_by_role("status").text_content()
    verdict = page.locator("#claim-C38 .om-sealed p").first
    assert not verdict.is_visible()
    controls.get_by_text("more", exact=True).click()
    controls.get_by_role("button", name="Unfold").click()
    assert verdict.is_visible() and verdict.text_content().startswith("FALSE.")
    assert not page.locator("#claim-C39 .om-sealed").get_attribute("open")
    controls.get_by_role("button", name="Show all").click()
    page.locator("#claim-C19").get_by_role("link", name="where it is settled").click()
    page.wait_for_url(f"**/02_sinusoidal.html#{cell}")


@pytest.mark.thorough
def test_a_term_leads_to_the_glossary_and_back_to_the_lesson(opened):
    page = opened(CLOSER)
    page.locator("a[href*='glossary.html#']").first.click()
    page.get_by_role("link", name="In the glossary").click()
    page.wait_for_url("**/glossary.html#*")
    assert page.locator(":target h2").is_visible()
    page.get_by_role("link", name="Lesson 02", exact=True).first.click()
    page.get_by_role("heading", name="The formula").wait_for(timeout=10 * SECONDS)


def test_a_word_of_the_glossary_says_at_a_tap_what_it_means_and_the_page_stays(opened):
    page = opened(WAVES, viewport=PHONE, has_touch=True, is_mobile=True)
    words = page.locator("article :not(.om-term) > a[href*='glossary.html#']:visible")
    card = page.locator(".om-term")
    for word in words.all()[:3]:
        word.tap()
        card.get_by_role("link", name="In the glossary").wait_for(timeout=10 * SECONDS)
        box, below = card.bounding_box(), word.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
        assert min(abs(box["y"] - below["y"]), abs(box["y"] + box["height"] - below["y"])) < 90
        page.touchscreen.tap(5, 400)
        card.wait_for(state="hidden", timeout=10 * SECONDS)
    assert page.url.endswith(f"/{WAVES}.html")


def test_a_word_of_the_glossary_says_to_mouse_and_keyboard_what_it_means(opened):
    page = opened("05_rope")
    words = page.locator("article :not(.om-term) > a[href*='glossary.html#']:visible")
    word, card = words.first, page.locator(".om-term")
    where = word.get_attribute("href")
    word.hover()
    card.wait_for(timeout=10 * SECONDS)
    assert word.get_attribute("aria-describedby") == card.get_attribute("id")
    card.hover()
    page.mouse.move(1, 1)
    card.wait_for(state="hidden", timeout=10 * SECONDS)
    word.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    card.wait_for(timeout=10 * SECONDS)
    page.keyboard.press("Escape")
    assert card.is_hidden() and word.get_attribute("aria-describedby") is None
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{where}")


def test_on_the_first_page_attention_notices_a_moved_word_only_with_positions(opened):
    page = opened("index")
    toy = page.locator(".om-first")
    heard = toy.locator(".om-heard")
    toy.get_by_label("Your sentence").fill("dogs chase cats")
    toy.get_by_role("button", name="dogs").focus()
    page.keyboard.press("ArrowRight")
    assert "0 of 9 weights have changed" in heard.text_content()
    toy.get_by_text("RoPE").click()
    assert "has noticed" in heard.text_content()
    toy.get_by_text("no positions").click()
    chip = toy.get_by_role("button", name="cats")
    box, words = chip.bounding_box(), toy.locator(".om-words").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(words["x"] + 5, box["y"] + 10, steps=5)
    page.mouse.up()
    assert "place 1 of 3" in chip.get_attribute("aria-label")
    assert "0 of 9 weights have changed" in heard.text_content()


def test_the_first_page_is_at_rest_until_somebody_moves_a_word_and_its_words_can_be_grabbed(opened):
    page = opened("index")
    toy = page.locator(".om-first")
    chip = toy.get_by_role("button", name="John")
    assert chip.evaluate("chip => getComputedStyle(chip).cursor") == "grab"
    page.wait_for_timeout(2 * SECONDS)
    assert toy.get_by_label("Your sentence").input_value() == "John loves Mary"
    assert "Move a word" in toy.locator(".om-heard").text_content()


# The middle of the numbers of the asking word's arcs, and of its chip.
AT_THE_ASKING = """toy => {
    const middle = (element) => {
        const { left, right } = element.getBoundingClientRect();
        return (left + right) / 2;
    };
    const held = middle(toy.querySelector('.om-held'));
    return [...toy.querySelectorAll('.om-arcs text')].map((text) => Math.abs(middle(text) - held));
}"""


def test_while_a_word_is_dragged_its_arc_follows(opened):
    page = opened("index", reduced_motion="reduce")
    toy = page.locator(".om-first")
    box = toy.get_by_role("button", name="Mary").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 10, steps=3)  # no place of its own
    assert min(toy.evaluate(AT_THE_ASKING)) < 3
    screenshot(page, "dragged")
    page.mouse.up()


def test_equal_words_are_told_apart_and_a_long_sentence_stays_in_its_field(opened):
    page = opened("index", reduced_motion="reduce")
    toy = page.locator(".om-first")
    field = toy.get_by_label("Your sentence")
    field.fill("the the cat")
    toy.get_by_text("ALiBi").click()
    toy.get_by_role("button", name="cat").focus()
    page.keyboard.press("ArrowLeft")
    heard = toy.locator(".om-heard").text_content()
    assert re.search(r"“the” \((1st|2nd)\)", heard), heard
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    field.fill(long)
    assert field.input_value() == long


# Where arcs end, in pixels from the top.
FEET = "all => all.map((arc) => Number(arc.getAttribute('d').split(',').pop()))"


def test_on_the_first_page_a_dragged_word_only_moves_and_a_tapped_one_asks(opened):
    page = opened("index", reduced_motion="reduce")
    toy = page.locator(".om-first")
    asking = toy.locator(".om-asking")
    numbers = toy.locator(".om-arcs text")
    assert asking.text_content() == "loves"
    shares = set(numbers.all_text_contents())
    assert numbers.count() == 3, "the share of a thin arc too"
    (foot,) = set(toy.locator(".om-arcs path.om-now").evaluate_all(FEET))
    lines = {
        float(y) for y in numbers.evaluate_all("all => all.map((text) => text.getAttribute('y'))")
    }
    assert min(lines) > foot + 10, "they stand below the arcs, not upon them"
    page.wait_for_function("!document.getAnimations().length")  # words move to their places
    box = toy.get_by_role("button", name="Mary").bounding_box()
    words = toy.locator(".om-words").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(words["x"] + 5, box["y"] + 10, steps=5)
    page.mouse.up()
    assert "place 1 of 3" in toy.get_by_role("button", name="Mary").get_attribute("aria-label")
    assert toy.get_by_label("Your sentence").input_value() == "Mary John loves"
    assert asking.text_content() == "loves"
    assert set(numbers.all_text_contents()) == shares, "no weight has changed, and none seems to"
    page.wait_for_function("!document.getAnimations().length")
    toy.get_by_role("button", name="Mary").click()
    assert asking.text_content() == "Mary"
    toy.get_by_text("RoPE").click()
    assert re.search(r"“\w+” → “\w+”: [\d.]+ % before", toy.locator(".om-heard").text_content())
    toy.get_by_label("Your sentence").fill("")
    assert "Type a word" in toy.locator(".om-heard").text_content()


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_typed_sentence_stands_in_one_line_and_who_types_more_is_told(opened, viewport):
    page = opened("index", viewport=viewport, reduced_motion="reduce")
    toy = page.locator(".om-first")
    toy.get_by_label("Your sentence").fill(
        "a very extraordinarily complicated sentence with 2 more"
    )
    chips, words = toy.locator(".om-chip"), toy.locator(".om-words").bounding_box()
    assert chips.count() == 7
    boxes = [chip.bounding_box() for chip in chips.all()]
    assert len({box["height"] for box in boxes}) == 1
    assert boxes[0]["height"] <= words["height"]
    assert boxes[0]["width"] < boxes[2]["width"]
    page.wait_for_function("!document.getAnimations().length")  # they move to their places
    boxes = [chip.bounding_box() for chip in chips.all()]
    edges = [edge for box in boxes for edge in (box["x"], box["x"] + box["width"])]
    assert edges == pytest.approx(sorted(edges), abs=0.1)
    assert words["x"] - 1 < edges[0] and edges[-1] < words["x"] + words["width"] + 1
    assert "at most 7 words" in toy.locator(".om-heard").text_content()
    toy.get_by_text("ALiBi").click()
    numbers = [number.bounding_box() for number in toy.locator(".om-arcs text").all()]
    assert 1 < len(numbers) <= 7, "short words may have no room for theirs"
    numbers.sort(key=lambda box: box["x"])
    for left, right in zip(numbers, numbers[1:], strict=False):
        apart = left["x"] + left["width"] <= right["x"]
        assert apart or abs(left["y"] - right["y"]) >= left["height"]


def test_on_a_phone_a_swipe_over_the_words_scrolls_the_page(opened):
    page = opened("index", viewport=PHONE, has_touch=True)
    actions = page.locator(".om-chip").first.evaluate("chip => getComputedStyle(chip).touchAction")
    assert actions == "pan-y"


def seen(page: Any, mount: Any, below: int) -> None:
    """Scroll until the top of an explorer is so many pixels above the screen's."""
    mount.scroll_into_view_if_needed()
    mount.locator("svg").first.wait_for(timeout=20 * SECONDS)
    page.evaluate(
        "([mount, below]) => scrollBy({ top: mount.getBoundingClientRect().top + below,"
        " behavior: 'instant' })",
        [mount.element_handle(), below],
    )


def test_on_a_low_phone_a_picture_stays_below_the_header_while_its_controls_scroll(opened):
    page = opened(WAVES, viewport={**PHONE, "height": 660}, has_touch=True, is_mobile=True)
    mount = page.locator(".om-mount").first
    seen(page, mount, 110)
    header, picture = (page.locator(place).first for place in (".mobile-header", ".om-view"))
    box, top = picture.bounding_box(), header.bounding_box()
    assert box["y"] == top["y"] + top["height"]
    assert mount.locator(".om-controls").bounding_box()["y"] < box["y"] + box["height"]
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize("name", ["choose", "10_choosing"])
def test_on_a_phone_the_choosers_questions_stand_above_its_picture_and_not_on_it(opened, name):
    page = opened(name, viewport=PHONE, has_touch=True, is_mobile=True)
    mount = page.locator("#explorer-chooser-1")
    seen(page, mount, 0)
    controls, view = (mount.locator(place).bounding_box() for place in (".om-controls", ".om-view"))
    assert 0 <= view["y"] - (controls["y"] + controls["height"]) < 20
    room = "box => box.getBoundingClientRect().bottom"
    below = mount.locator(".om-stage").evaluate(room) - mount.locator(".om-view").evaluate(room)
    assert below < 10, "no room is kept for controls below it"


SMALL = """() => [...document.querySelectorAll(
    'article :is(button, summary, select, input[type=text], input[type=search], .om-switch span,'
        + ' .om-options label)')]
    .filter(({ offsetHeight }) => offsetHeight && offsetHeight < 38).map((part) => part.outerHTML)
"""


@pytest.mark.parametrize("name", ["index", "myths", "ledger", "choose", WAVES])
def test_on_a_phone_whatever_a_finger_hits_is_large(opened, name):
    page = opened(name, viewport=PHONE, has_touch=True, is_mobile=True)
    if name == "index":
        page.locator(".om-switch").wait_for()
    assert page.locator("article :is(button, summary, select)").count() > 2
    icons = page.locator(".mobile-header .header-right :is(button, label):visible")
    assert min(icons.evaluate_all("all => all.map(({ offsetWidth }) => offsetWidth)")) >= 40
    assert page.evaluate(SMALL) == []


def test_cards_judge_each_tap_and_end_with_a_score(opened):
    page = opened("myths")
    truth = {claim["id"]: claim["verdict"] for claim in read_claims()}
    cards = page.locator(".om-card:not(.om-end)")
    count = cards.count()
    keys = cards.locator(".om-guess").evaluate_all(
        "all => all.map(({ dataset }) => dataset.question)"
    )
    verdicts = [truth[key] for key in keys]
    assert count == 10 and max(map(verdicts.count, verdicts)) < 5, (
        "one answer to all is no strategy"
    )
    for number in range(count):
        card = page.locator(".om-card:not([hidden])")
        key = card.locator(".om-guess").get_attribute("data-question")
        verdict = truth[key] if number else {"true": "false"}.get(truth[key], "true")
        card.get_by_role("button", name=verdict.replace("depends", "it depends")).click()
        said = card.locator(".om-sealed b").first
        assert said.is_visible() and said.text_content().startswith(truth[key].upper())
        sign = "✓" if number else "✗"
        assert card.locator(".om-said").text_content().startswith(sign)
        last = number + 1 == count
        card.locator(".om-claim").get_by_role("button", name="My score" if last else "Next").click()
    marks = page.locator(".om-dots span")
    assert "".join(marks.all_text_contents()) == "✗" + "✓" * (count - 1)
    colours = marks.evaluate_all("all => all.map((mark) => getComputedStyle(mark).color)")
    assert colours[0] != colours[1]
    assert f"I told {count - 1} of {count} myths" in page.locator(".om-result").text_content()
    page.get_by_role("button", name="Once more").click()
    assert page.locator(".om-card:not([hidden])").count() == 1
    assert page.locator(".om-card:not([hidden]) .om-answer").first.is_enabled()


def test_next_leads_where_a_lesson_and_a_closer_look_say(site_folder):
    for name, previous, following in (
        ("05_rope", "04_relative", "06_alibi"),
        ("11_capstone", "10_choosing", "pictures"),
        ("closer/02_in_practice", "02_sinusoidal", "closer/02_word_and_place"),
        ("closer/08_search_and_needles", "08_stretching_rope", "09_further_doors"),
    ):
        page = BeautifulSoup((site_folder / f"{name}.html").read_text("utf-8"), "html.parser")
        for way, other in (("prev", previous), ("next", following)):
            link = page.select_one(f"a.{way}-page")
            assert link, name
            target = (site_folder / name).parent / str(link["href"])
            assert target.resolve() == (site_folder / f"{other}.html").resolve()


def test_the_sidebar_says_how_far_a_reader_is(opened):
    page = opened(WAVES)
    assert page.locator(".om-progress").count() == 0
    form, _ = question(page, "With these four, which two")
    form.get_by_label(FAR_APART).click()
    mark = page.locator(".sidebar-tree .om-progress")
    assert mark.text_content() == "1/3"
    bar = page.locator(".om-course")
    assert "Your guesses: 1 of" in bar.text_content()
    page.evaluate("for (const key of Object.values(omQuestions).flat()) guesses[key] = {}")
    page.evaluate("showProgress()")
    assert re.fullmatch(r"Your guesses: (\d{3}) of \1", bar.text_content())
    lines = "bar => { const r = new Range(); r.selectNodeContents(bar); return r.getClientRects() }"
    assert bar.evaluate(f"bar => ({lines})(bar).length") == 1


def test_no_heading_of_a_table_is_empty(site_folder):
    for path in [*site_folder.glob("*.html"), *site_folder.glob("closer/*.html")]:
        page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        assert [heading for heading in page.find_all("th") if not heading.text.strip()] == []


def test_every_page_has_a_description_and_a_title_for_those_who_share_it(site_folder):
    descriptions = {}
    for path in [*site_folder.glob("*.html"), *site_folder.glob("closer/*.html")]:
        if path.stem in ("genindex", "search"):
            continue
        head = BeautifulSoup(path.read_text("utf-8"), "html.parser").head
        assert head is not None
        described = head.find("meta", attrs={"name": "description"})
        title = head.find("meta", attrs={"property": "og:title"})
        assert described and len(described["content"]) > 15, path.name
        assert title and title["content"], path.name
        descriptions[path.name] = described["content"]
    assert len(set(descriptions.values())) == len(descriptions)


def test_a_link_shows_an_explorer_as_its_reader_left_it(opened):
    page = opened(WAVES)
    mount = page.locator(".om-mount").first
    mount.scroll_into_view_if_needed()
    slider = mount.get_by_role("slider", name="position", exact=True)
    for _ in range(3):
        slider.press("ArrowRight")
    page.wait_for_function("location.search.includes('frequencies')")
    value, address = slider.get_attribute("aria-valuetext"), page.url
    page.goto(address)
    mount.locator("svg").first.wait_for()
    assert 0 <= mount.bounding_box()["y"] < 700
    assert slider.get_attribute("aria-valuetext") == value
    page.goto(re.sub(r"\?.*", "?frequencies=%7B%22first%22%3A%22far%22%7D", address))
    mount.scroll_into_view_if_needed()
    assert slider.get_attribute("aria-valuetext") == "0", "what cannot be is left out"


def test_explorers_that_share_a_picture_have_links_of_their_own(opened):
    page = opened("01_attention_is_blind_to_order")
    page.evaluate("document.querySelectorAll('.om-sealed > summary').forEach((s) => s.click())")
    for name, text in (("sentence", "dogs chase cats"), ("masked_sentence", "a a b b")):
        mount = page.locator(f".om-mount[data-module*='/{name}.js']")
        mount.scroll_into_view_if_needed()
        mount.get_by_role("textbox").fill(text)
        page.wait_for_function("(key) => new URLSearchParams(location.search).has(key)", arg=name)
    page.goto(page.url)
    for name, text in (("sentence", "dogs chase cats"), ("masked_sentence", "a a b b")):
        mount = page.locator(f".om-mount[data-module*='/{name}.js']")
        mount.scroll_into_view_if_needed()
        assert mount.get_by_role("textbox").input_value() == text


TOP = "(part) => part.getBoundingClientRect().top"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("anchor", ["exercises", "is-it-better"])
def test_a_link_leads_to_its_heading_though_explorers_above_it_grow(opened, site, viewport, anchor):
    page = opened("index", viewport=viewport)
    page.goto(f"{site}/05_rope.html#{anchor}")
    page.wait_for_load_state("networkidle")
    page.evaluate(STILL)
    section = page.locator(f"#{anchor}")
    assert -5 < section.evaluate(TOP) < 100
    article = page.locator("article").bounding_box()
    page.mouse.move(article["x"] + 100, 400)
    page.mouse.wheel(0, 300)  # from here on the reader decides
    page.wait_for_function(f"section => ({TOP})(section) < -100", arg=section.element_handle())
    page.evaluate("document.querySelector('article').style.paddingBottom = '50px'")
    page.evaluate(STILL)
    assert section.evaluate(TOP) < -100


def test_what_plays_moves_until_it_is_paused(opened):
    page = opened("05_rope")
    page.locator(".om-sealed > summary").first.click()
    mount = page.locator(".om-mount").first
    mount.scroll_into_view_if_needed()
    moved = mount.get_by_role("slider", name="both moved on by", exact=True)
    before = int(moved.get_attribute("aria-valuetext"))
    button = mount.get_by_role("button", name="move both")
    button.click()
    page.wait_for_timeout(700)
    button.click()
    after = int(moved.get_attribute("aria-valuetext"))
    assert after > before
    page.wait_for_timeout(400)
    assert int(moved.get_attribute("aria-valuetext")) == after
