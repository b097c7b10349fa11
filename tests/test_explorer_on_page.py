"""Explorers on a plain page without a kernel: on a phone, in the dark, for those who listen."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser import SECONDS
from site_reader import STILL, swipe

from course_lab import explorers

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 800}
MOUNT = """
window.explorer = mount(document.querySelector("main"), {start});
window.controls = SPEC.controls;
"""
EVERY = pytest.mark.parametrize("name", explorers.ALL)
ASKING = ("chooser",)  # their controls stand above the picture


@pytest.fixture
def mounted(browser):
    """A function that mounts an explorer on a page of its own; pages must not complain."""
    complaints: list[str] = []
    contexts = []

    def mount(name: str, start: str = "{}", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.clock.install()  # it goes as any clock, until a test sets it forward
        page.set_content(
            "<meta name=viewport content='width=device-width'><main></main><script type=module>"
            f"{explorers.ALL[name].module}{MOUNT.format(start=start)}</script>"
        )
        page.wait_for_selector(".om svg", timeout=10 * SECONDS)
        return page

    yield mount
    for context in contexts:
        context.close()
    assert complaints == []


@EVERY
def test_a_phone_in_the_dark_shows_all_of_it(mounted, name):
    page = mounted(name, viewport=PHONE, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert page.locator(".om").get_attribute("data-theme") == "dark"
    cut = """panel => [...panel.querySelectorAll('svg text')].filter(text => {
        const inner = text.getBoundingClientRect();
        const outer = panel.getBoundingClientRect();
        return inner.left < outer.left - 1 || inner.right > outer.right + 1
            || inner.bottom > outer.bottom + 1;
    }).map(text => text.textContent)"""
    for _ in each_picture(page):
        for panel in page.locator(".om-panel").all():
            assert panel.evaluate(cut) == []


def each_picture(page: Any) -> Iterator[None]:
    """Goes to each row of panels, where a phone shows one at a time."""
    tabs = page.locator(".om-tabs button").all()
    if not tabs:
        yield
    for tab in tabs:
        tab.click()
        yield


def test_a_phone_has_the_controls_below_the_picture_and_its_sentence(mounted):
    page = mounted("stretch", viewport=PHONE)
    tops = [
        page.locator(f".om {part}").first.bounding_box()["y"]
        for part in (".om-picture", ".om-sentence", ".om-controls", "details")
    ]
    assert tops == sorted(tops)
    page.set_viewport_size({"width": 1000, "height": 800})
    controls, picture = (page.locator(f".om {part}") for part in (".om-controls", ".om-picture"))
    assert controls.bounding_box()["y"] < picture.bounding_box()["y"]


@pytest.mark.parametrize("name", [name for name in explorers.ALL if name not in ASKING])
def test_on_a_phone_no_control_can_be_moved_where_the_picture_is_out_of_sight(mounted, name):
    page = mounted(name, viewport=PHONE, has_touch=True, is_mobile=True)
    controls = page.locator(".om-control:visible, .om-tile, .om-play")
    for _ in each_picture(page):
        for control in controls.all():
            control.evaluate(
                "control => scrollBy(0, control.getBoundingClientRect().bottom - innerHeight)"
            )
            pinned, box = page.locator(".om-view").bounding_box(), control.bounding_box()
            assert pinned["y"] >= 0 and pinned["y"] + pinned["height"] <= box["y"] + 1


OVERLAPS = """() => {
    const seen = [...document.querySelectorAll(".om-panel text")]
        .map((text) => [text.textContent, text.getBoundingClientRect()])
        .filter(([, box]) => box.width > 0);
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    return seen.flatMap(([label, a], n) =>
        seen.slice(n + 1).filter(([, b]) => meet(a, b)).map(([other]) => `${label} | ${other}`));
}"""


@EVERY
def test_on_a_phone_no_label_lies_on_another_however_low_its_screen(mounted, name):
    for height in (667, 844):
        screen = {"width": 390, "height": height}
        page = mounted(name, viewport=screen, has_touch=True, is_mobile=True)
        for _ in each_picture(page):
            assert page.evaluate(OVERLAPS) == []


@EVERY
def test_on_a_phone_controls_are_large_and_share_the_screen_with_each_picture(mounted, name):
    page = mounted(name, viewport=PHONE, has_touch=True, is_mobile=True)
    rest = page.locator("summary, .om-tile, .om-play, .om-tabs button").all()
    for control in [*page.locator("input:not([type=checkbox]), select").all(), *rest]:
        assert control.bounding_box() is None or control.bounding_box()["height"] >= 36
    for slider in page.locator("input[type=range]").all():
        assert slider.bounding_box()["width"] > 0.9 * PHONE["width"]
    panels = page.locator(".om-panel")
    seen = set()
    for _ in each_picture(page):
        top = page.locator(".om-controls").bounding_box()["y"]
        picture = page.locator(".om-picture").bounding_box()
        assert picture["y"] + picture["height"] - top <= PHONE["height"]
        seen |= {n for n in range(panels.count()) if panels.nth(n).is_visible()}
        pressed = page.locator(".om-tabs button[aria-pressed=true]")
        assert pressed.count() <= 1
    assert len(seen) == panels.count()


def test_pictures_that_fit_the_screen_with_their_controls_stand_below_each_other(mounted):
    for height, tabs in ((800, 3), (1100, 0)):
        page = mounted("previous_token", viewport={"width": 390, "height": height})
        assert page.locator(".om-tabs button:visible").count() == tabs
        assert page.locator(".om-panel:visible").count() == (1 if tabs else 3)
        page.set_viewport_size({"width": 1000, "height": height})
        page.wait_for_function(
            "document.querySelectorAll('.om-tabs button').length === 0 ||"
            " document.querySelector('.om-tabs').hidden"
        )
        assert page.locator(".om-panel:visible").count() == 3


@EVERY
def test_who_listens_is_told_every_controls_name_and_value_and_what_is_seen(mounted, name):
    page, explorer = mounted(name), explorers.ALL[name]
    roles = {"range": "slider", "checkbox": "checkbox", "text": "textbox", None: "combobox"}
    for field in page.locator("input[type=number]").all():
        assert field.get_attribute("aria-label").endswith(", as a number")
    for control in page.locator("input:not([type=number]), select").all():
        label = control.evaluate("input => input.labels[0].firstChild.textContent")
        role = roles[control.get_attribute("type")]
        assert page.get_by_role(role, name=label, exact=True).count() == 1
    for slider in page.locator("input[type=range]").all():
        shown = slider.evaluate("input => input.nextSibling.value")
        assert slider.get_attribute("aria-valuetext").replace(",", "") == shown.replace(",", "")
    picture = page.get_by_role("img", name=explorer.title)
    description = page.locator(f"[id='{picture.get_attribute('aria-describedby')}']")
    assert len(description.text_content().split()) > 20
    page.clock.run_for(2 * SECONDS)  # the words are spoken once the controls rest
    page.wait_for_function(
        "document.querySelector('[aria-live=polite]').textContent.length > 20",
        timeout=10 * SECONDS,
    )


def test_a_mounted_explorer_starts_where_it_is_told_and_can_be_set_and_removed(mounted):
    page = mounted("frequencies", "{base: 123.4, pair: 31}")
    assert page.get_by_role("slider", name="base").get_attribute("aria-valuetext") == "123.4"
    page.evaluate("explorer.set({d_model: 8})")
    assert page.evaluate("explorer.state.pair") == 3  # the last there is
    page.evaluate("explorer.set({d_model: 128})")
    assert page.evaluate("explorer.state.pair") == 31  # as it was asked for
    page.evaluate("explorer.remove()")
    assert page.locator("main").inner_html() == ""


# Controls are changed as a reader does it, by their own events; returns what is wrong afterwards.
SHAKE = """([count, seed]) => {
    const random = () => (seed = 16807 * seed % (2 ** 31 - 1)) / 2 ** 31;
    const inputs = [...document.querySelectorAll(".om-control input, .om-control select")];
    const wrong = [];
    const root = document.querySelector(".om");
    for (let event = 0; event < count; event++) {
        const input = inputs[Math.floor(random() * inputs.length)];
        if (input.type === "checkbox") input.checked = !input.checked;
        else if (input.type === "text") input.value = random().toString(36).replace(/[a-f]/g, " ");
        else if (input.options) input.selectedIndex = Math.floor(random() * input.options.length);
        else input.value = +input.min + Math.round(random() * (input.max - input.min));
        input.dispatchEvent(new Event("input", { bubbles: true }));
        const { state } = explorer;
        for (const { name, values, options } of controls) {
            const value = state[name], valid = values ?? options ?? [true, false];
            if (typeof value === "string" && !options) continue;
            const inside = values && value >= values[0] && value <= values[values.length - 1];
            if (!inside && !valid.includes(value)) wrong.push(`${name}: ${value}`);
            if (!values) continue;
            const stands = values[inputs.find((other) => other.name === name).value];
            const nearest = Math.min(...values.map((other) => Math.abs(other - value)));
            if (Math.abs(stands - value) > nearest) wrong.push(`${name}: ${value} at ${stands}`);
        }
        if (/NaN|undefined|Infinity|null/.test(root.innerHTML)) wrong.push(JSON.stringify(state));
    }
    return wrong;
}"""


@pytest.mark.thorough
def test_after_200_random_events_every_value_is_valid_and_the_picture_whole(mounted):
    page = mounted("turned_pair")
    for seed, (name, explorer) in enumerate(explorers.ALL.items(), start=1):
        page.evaluate("explorer.remove()")
        page.add_script_tag(type="module", content=explorer.module + MOUNT.format(start="{}"))
        page.wait_for_selector(".om svg", timeout=10 * SECONDS)
        assert page.evaluate(SHAKE, [200, seed]) == [], name


def test_a_word_is_moved_by_pointer_and_by_arrow_keys_and_its_row_travels(mounted):
    page = mounted("sentence", "{text: 'John loves Mary'}")
    words = page.locator(".om-tile")
    first, last = (words.nth(place).bounding_box() for place in (0, 2))
    page.mouse.move(first["x"] + 9, first["y"] + 9)
    page.mouse.down()
    page.mouse.move(last["x"] + 9, last["y"] + 9, steps=9)
    assert words.nth(2).get_attribute("data-held") == ""
    page.mouse.up()
    assert words.all_text_contents() == ["loves", "Mary", "John"]
    page.keyboard.press("Tab")
    words.nth(2).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # it stands first already
    assert words.all_text_contents() == ["John", "loves", "Mary"]
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("John")
    page.get_by_role("textbox", name="sentence").fill("a b")
    assert words.all_text_contents() == ["a", "b"]
    assert page.evaluate("explorer.state.order") == [0, 1]


def test_a_cell_says_its_value_under_the_pointer(mounted):
    page = mounted("turned_pair", "{p: 12, r: 9}")
    picture = page.locator(".om-panel").nth(1).bounding_box()
    cells = page.locator(".om-panel canvas").nth(1).bounding_box()
    size = cells["width"] / 41  # places 0 to 40
    page.mouse.move(cells["x"] + 9.5 * size, cells["y"] + 12.5 * size)
    tip = page.locator(".om-tip:visible")
    named = r"position of the query 12 · position of the key 9: (\S+)"
    words = re.fullmatch(named, tip.text_content())
    exact = re.search(r"q·k = (\S+)\.$", page.locator(".om-sentence").text_content())
    assert words and exact and words[1] == f"{float(exact[1]):.2f}"
    page.mouse.move(picture["x"] + 2, picture["y"] + 2)  # beside the cells
    assert tip.count() == 0
    page.mouse.move(picture["x"] + 200, picture["y"] + 150)
    assert tip.count() == 1
    page.mouse.move(1, 1)
    assert tip.count() == 0


def test_only_the_words_keep_a_finger_from_scrolling(mounted):
    page = mounted("sentence", viewport=PHONE, has_touch=True)
    held = "[...document.querySelectorAll('.om, .om *')].filter(element =>"
    held += " getComputedStyle(element).touchAction === 'none').map(element => element.className)"
    assert set(page.evaluate(held)) == {"om-tile"}


def test_a_finger_that_swipes_over_a_slider_scrolls_and_leaves_it_but_sideways_it_moves(mounted):
    page = mounted("turned_pair", viewport=PHONE, has_touch=True, is_mobile=True)
    page.add_style_tag(content="main { padding-bottom: 900px }")
    slider = page.get_by_role("slider", name="p (query)")
    box, state = slider.bounding_box(), "explorer.state.p"
    place = {"x": box["x"] + 0.8 * box["width"], "y": box["y"] + 0.6 * box["height"]}
    before, words = page.evaluate(state), page.locator(".om-sentence").text_content()
    swipe(page, place, up=200)
    page.wait_for_function("scrollY > 50", timeout=10 * SECONDS)
    assert page.evaluate(state) == before == int(slider.get_attribute("aria-valuetext"))
    assert page.locator(".om-sentence").text_content() == words
    page.evaluate(STILL)
    page.evaluate("scrollTo(0, 0)")
    swipe(page, place, right=40)
    assert page.evaluate(state) > before
    page.touchscreen.tap(box["x"] + 0.2 * box["width"], place["y"])
    assert page.evaluate(state) < before


@pytest.mark.parametrize("width", [736, 864, 960])
def test_sliders_are_wide_and_those_with_many_steps_have_a_field(mounted, width):
    page = mounted("frequencies", viewport={"width": width + 16, "height": 800})
    for slider in page.locator("input[type=range]").all():
        assert slider.bounding_box()["width"] >= 240
    field = page.get_by_role("spinbutton", name="and position, as a number")
    field.fill("1419")
    assert page.evaluate("explorer.state.second") == 1419
    assert page.get_by_role("slider", name="and position").get_attribute("aria-valuetext") == (
        "1,419"
    )
    field.fill("9999")  # farther than the slider goes
    field.press("Enter")
    assert page.evaluate("explorer.state.second") == int(field.input_value()) == 1419
    page.get_by_role("slider", name="and position").press("End")
    assert field.input_value() == "2000"
    assert page.get_by_role("spinbutton").count() == 3, "of hand, base and width there is none"


def test_a_finger_pulls_a_bars_head_upwards_and_above_it_scrolls(mounted):
    page = mounted("stretch", viewport=PHONE, has_touch=True, is_mobile=True)
    page.add_style_tag(content="main { padding-bottom: 900px }")
    head = page.locator(".om-handle").nth(7).bounding_box()
    place = {"x": head["x"] + head["width"] / 2, "y": head["y"] + head["height"] / 2}
    swipe(page, place, up=80, right=4)
    pulled = page.evaluate("explorer.state.factors")
    assert pulled[7] > 2 and pulled[:7] + pulled[8:] == [1] * 15
    assert page.evaluate("scrollY") == 0
    swipe(page, {**place, "y": place["y"] - 130, "x": place["x"] + 60}, up=60)
    page.wait_for_function("scrollY > 20", timeout=10 * SECONDS)
    assert page.evaluate("explorer.state.factors") == pulled


@pytest.mark.parametrize(
    ("handle", "state", "rises"),
    [(4, "slope", False), (5, "higher", True)],  # the line, which gets flatter, and the square
)
def test_a_finger_pulls_a_price_and_the_marked_key_upwards(mounted, handle, state, rises):
    page = mounted("price", '{"slope": 0.25}', viewport=PHONE, has_touch=True, is_mobile=True)
    page.add_style_tag(content="main { padding-bottom: 900px }")
    box, before = (
        page.locator(".om-handle").nth(handle).bounding_box(),
        page.evaluate("explorer.state"),
    )
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    swipe(page, place, up=40)
    after = page.evaluate("explorer.state")
    assert (after[state] > before[state]) is rises and after[state] != before[state]
    assert after["head"] == before["head"] and page.evaluate("scrollY") == 0


@pytest.mark.parametrize("by", ["mouse", "finger"])
@pytest.mark.parametrize(
    ("name", "panel", "tip", "state", "up"),
    [
        ("turned_pair", 0, 0, "p", 25),
        ("turned_pair", 0, 1, "r", 25),
        ("frequencies", 1, 1, "second", -25),
    ],
)
def test_an_arrow_is_turned_by_its_tip(mounted, name, panel, tip, state, up, by):
    touch = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if by == "finger" else {}
    page = mounted(name, **touch)
    handles = page.locator(".om-panel").nth(panel).locator(".om-handle")
    before, box = page.evaluate("explorer.state"), handles.nth(tip).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if by == "mouse":
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 40, y - up, steps=5)
        page.mouse.up()
    else:
        swipe(page, {"x": x, "y": y}, up=up, right=-40)
    after = page.evaluate("explorer.state")
    assert {key for key in after if after[key] != before[key]} == {state}
    moved = handles.nth(tip).bounding_box()
    assert abs(moved["x"] + moved["width"] / 2 - (x - 40)) < 35, "it follows the pointer"


LOW_PHONE = {"width": 390, "height": 640}


def test_on_a_phone_a_picture_lies_on_no_control_where_both_fit_and_else_is_low(mounted):
    for name in ("frequencies", "sentence"):
        page = mounted(name, viewport=PHONE, has_touch=True, is_mobile=True)
        page.add_style_tag(content="main { padding-bottom: 1500px }")
        controls = page.locator(".om-controls")
        controls.evaluate("controls => scrollBy(0, controls.getBoundingClientRect().top - 60)")
        view = page.locator(".om-view").bounding_box()
        assert view["y"] + view["height"] <= controls.bounding_box()["y"] + 1
    page = mounted("frequencies", viewport=LOW_PHONE, has_touch=True, is_mobile=True)
    assert page.locator(".om-view").bounding_box()["height"] < 0.52 * LOW_PHONE["height"]
    page = mounted("sentence", viewport=LOW_PHONE, has_touch=True, is_mobile=True)
    position = "view => getComputedStyle(view).position"
    assert page.locator(".om-view").evaluate(position) == "static", "never over words"


def test_on_a_phone_who_draws_sees_at_once_what_it_does(mounted):
    page = mounted("stretch", viewport=PHONE, has_touch=True, is_mobile=True)
    assert page.locator(".om-tabs button:visible").count() == 0
    bottoms = [
        box.bounding_box()["y"] + box.bounding_box()["height"]
        for box in page.locator(".om-panel").all()
    ]
    assert len(bottoms) == 2 and max(bottoms) < 0.7 * PHONE["height"]


def test_the_picture_leaves_a_phones_screen_with_the_last_control_not_after_it(mounted):
    page = mounted("frequencies", viewport=LOW_PHONE, has_touch=True, is_mobile=True)
    page.add_style_tag(content="main { padding-bottom: 1500px }")
    last = "document.querySelector('.om-play').getBoundingClientRect()"
    page.evaluate(f"scrollBy(0, {last}.bottom - 500)")
    assert page.locator(".om-view").bounding_box()["y"] == 0
    page.evaluate(f"scrollBy(0, {last}.top - 200)")
    view = page.locator(".om-view").bounding_box()
    assert view["y"] < 0 and view["y"] + view["height"] <= page.evaluate(f"{last}.top") + 1


def test_a_finger_that_swipes_over_a_picture_scrolls_and_changes_nothing_but_a_tap_does(mounted):
    page = mounted("previous_token", viewport=PHONE, has_touch=True)
    page.get_by_role("button", name="attention").click()
    panel = page.locator(".om-draggable")
    panel.scroll_into_view_if_needed()
    assert panel.evaluate("(element) => getComputedStyle(element).touchAction") == "pan-y"
    box, query = panel.bounding_box(), "explorer.state.query"
    place = {"x": box["x"] + 0.4 * box["width"], "y": box["y"] + 0.4 * box["height"]}
    before = page.evaluate(query)
    swipe(page, place, up=105)
    assert page.evaluate(query) == before
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    page.touchscreen.tap(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"])
    assert page.evaluate(query) < before


def test_two_explorers_on_a_page_do_not_meet(mounted):
    page = mounted("wanted_distance")
    page.evaluate("document.querySelector('main').append(document.createElement('div'))")
    last = "document.querySelector('main > div:last-child')"
    page.add_script_tag(type="module", content=f"{explorers.turned_pair.module}\nmount({last})")
    page.wait_for_function("document.querySelectorAll('.om:has(svg)').length === 2")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))


def test_narrowing_the_page_moves_panels_below_each_other(mounted):
    page = mounted("frequencies")
    tops = "[...document.querySelectorAll('.om-panel')].map(box => box.getBoundingClientRect().top)"
    rows, panels = len(set(page.evaluate(tops))), len(page.evaluate(tops))
    assert rows < panels
    page.set_viewport_size({**PHONE, "height": 1200})
    page.wait_for_function(f"new Set({tops}).size > {rows}", timeout=10 * SECONDS)


def test_keys_and_presses_on_an_explorer_do_not_reach_the_page(mounted):
    page = mounted("frequencies")
    page.evaluate(
        "window.heard = 0; for (const kind of ['keydown', 'pointerdown', 'mousedown'])"
        " document.body.addEventListener(kind, () => window.heard++)"
    )
    page.locator("input").first.click()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.heard") == 0


def test_a_point_of_the_profile_is_set_by_keyboard_too(mounted):
    page = mounted("profile")
    page.get_by_role("combobox", name="wish").select_option("12 back")
    page.get_by_role("slider", name="point at").focus()
    page.keyboard.press("Home")
    page.get_by_role("slider", name="its height").focus()
    page.keyboard.press("End")
    assert page.evaluate("explorer.state.heights.slice(0, 4)") == [1, 0, 0, 1]
    assert page.evaluate("explorer.state.wish") == "my own"
    page.get_by_role("combobox", name="wish").select_option("8 or 40 back")
    assert page.evaluate("explorer.state.heights.slice(0, 4)") == [0, 0, 1, 0]
    assert page.evaluate("explorer.state.height") == 0


SLOWED = """() => {
    const slider = document.querySelector("input[name=slowed]");
    slider.value = slider.max;
    slider.dispatchEvent(new Event("input"));
    return [explorer.state.factors, document.querySelector(".om-sentence").textContent];
}"""


def test_hands_are_slowed_by_drawing_bars_which_do_not_wait_for_the_model(mounted):
    page = mounted("stretch")
    before = page.locator(".om-panel").first.inner_html()
    factors, sentence = page.evaluate(SLOWED)
    assert factors == [1] * 5 + [8] + [1] * 10 and sentence == "Reading …"
    assert page.locator(".om-panel").first.inner_html() != before
    page.get_by_text("The loss rises by +0.06 at 64 bytes, +0.90 at 512").wait_for(
        timeout=10 * SECONDS
    )
    panel = page.locator(".om-panel").first.bounding_box()
    page.mouse.move(panel["x"] + 0.9 * panel["width"], panel["y"] + 60)
    page.mouse.down()
    page.mouse.move(panel["x"] + panel["width"] + 40, panel["y"] - 40, steps=3)  # past its corner
    page.mouse.up()
    assert page.evaluate("[explorer.state.hand, explorer.state.factors[15]]") == [15, 8]
    page.get_by_role("combobox", name="set all as").select_option("direct")
    assert page.evaluate("explorer.state.factors") == [1] * 16
    assert page.get_by_role("slider", name="times slower").get_attribute("aria-valuetext") == "1"
    page.get_by_role("checkbox", name="and all slower").check()
    page.get_by_role("slider", name="hand").press("Home")
    page.get_by_role("slider", name="times slower").press("End")
    assert page.evaluate("explorer.state.factors") == [8] * 16


def test_nothing_moves_by_itself(mounted):
    """So a reader who wants less motion gets none."""
    page = mounted("turned_pair")
    moving = (
        "[...document.querySelectorAll('*')].flatMap(element => element.getAnimations()).length"
    )
    page.locator("input").first.press("End")
    assert page.evaluate(moving) == 0


def test_sliders_of_heads_that_are_not_used_are_greyed_and_share_the_others_range(mounted):
    page = mounted("ladder")
    sliders = [page.get_by_role("slider", name=f"slope, head {n}") for n in (1, 2, 3, 4)]
    assert [slider.is_disabled() for slider in sliders] == [False, False, True, True]
    assert len({slider.get_attribute("max") for slider in sliders}) == 1
    page.evaluate("explorer.set({heads: 3})")
    assert [slider.is_disabled() for slider in sliders] == [False, False, False, True]


def test_the_curve_past_a_wish_keeps_off_the_frame_and_the_grey_line_has_its_number(mounted):
    page = mounted("profile", start='{ wish: "every eighth" }')
    panel = page.locator(".om-panel").nth(1)
    tops = panel.evaluate(
        "panel => [...panel.querySelectorAll(':scope > div')[0].querySelectorAll('path')]"
        ".filter((path) => path.getBBox().width > 50).map((path) => path.getBBox().y)"
    )
    assert len(tops) > 1 and min(tops) > 4
    assert "64" in panel.locator("text").all_text_contents()


def test_a_name_that_is_struck_out_stands_at_its_cross_or_only_on_the_board(mounted):
    page = mounted("chooser", start='{ texts: "16 times as long" }')
    board, chart = (page.locator(".om-panel").nth(n) for n in (0, 1))
    left = int(board.locator(".om-title").text_content().split()[0])
    lines = chart.locator("path[d*='L'][style*='stroke-width:0.8']").count()
    assert lines <= left + 1, "only those left, and the one drawn, are moved"
    texts = chart.locator(".om-start, .om-end").all()
    boxes = [text.bounding_box() for text in texts if text.text_content().islower()]
    assert len(boxes) > left
    for n, first in enumerate(boxes):
        for second in boxes[:n]:
            sideways = first["x"] < second["x"] + second["width"] - 1
            back = second["x"] < first["x"] + first["width"] - 1
            assert not (sideways and back) or abs(first["y"] - second["y"]) > 9
