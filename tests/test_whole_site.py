"""Every page of the site as its readers have it: light on a desk, dark on a phone.

Each page is visited once a reader; what was found is sorted by what it speaks of. Run with -s to
see how long explorers take. ORDER_MATTERS_SCREENSHOTS names a folder for pictures of every page.
"""

import statistics
from collections import defaultdict
from typing import Any

import pytest
from site_reader import PHONE, Reader, axe, broken_links, cut_off, read_all, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.thorough]
pytest.importorskip("sphinx", reason="the extra 'site' is not installed")

WITH_CODE = "02_sinusoidal"  # whose code is looked at too
Findings = dict[str, dict[str, list[str]]]  # what is wrong: kind → page → findings

# Move a control to and fro as a reader does, twelve times; the milliseconds that a change took, in
# the middle, and whether anything changed.
MOVE = """(root) => {
    const input = root.querySelector(".om-control input, .om-control select");
    const seen = () => root.querySelector(".om-picture").innerHTML
        + root.querySelector(".om-sentence").textContent;
    const before = seen(), times = [];
    let changed = false;
    for (let move = 0; move < 12; move++) {
        if (input.type === "checkbox") input.checked = !input.checked;
        else if (input.options) input.selectedIndex = input.selectedIndex ? 0 : 1;
        else input.value = +input.value === +input.max ? input.min : input.max;
        const start = performance.now();
        input.dispatchEvent(new Event("input", { bubbles: true }));
        times.push(performance.now() - start);
        changed ||= seen() !== before;
    }
    return [times.sort((a, b) => a - b)[6], changed];
}"""
WORDLESS = """() => [...document.querySelectorAll("article img:not(.om-panels img)")]
    .filter((image) => image.alt.split(" ").length < 5
        || image.naturalWidth !== Number(image.getAttribute("width")))
    .map((image) => image.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def findings(browser, site_folder, site):
    """What a reader at a desk and one with a phone in the dark find wrong, on every page."""
    paths = [path.relative_to(site_folder) for path in sorted(site_folder.rglob("*.html"))]
    pages = [path.with_suffix("").as_posix() for path in paths]
    assert {"index", "02_sinusoidal", "closer/02_in_practice", "search"} <= set(pages)
    wrong: Findings = defaultdict(dict)
    times: list[float] = []
    for name in pages:
        for kind, complaints in visit(browser, site, name, times).items():
            if complaints:
                wrong[kind][name] = complaints
    middle, longest = statistics.median(times), max(times)
    print(f"\n{len(times)} explorers moved: {middle:.1f} ms in the middle, {longest:.1f} at most")
    return wrong


def visit(browser: Any, site: str, name: str, times: list[float]) -> dict[str, list[str]]:
    """What is wrong with a page, by kind."""
    wrong: dict[str, list[str]] = {"explorers": []}
    desk = Reader(browser, site)
    page = desk.open(name)
    read_all(page)
    wrong["pictures"] = page.evaluate(WORDLESS)
    wrong["axe, light"] = axe(page, code=name == WITH_CODE)
    for root in page.locator(".om").all():
        took, changed = root.evaluate(MOVE)
        times.append(took)
        if not changed:
            wrong["explorers"].append(root.get_attribute("aria-label"))
    page.evaluate("scrollTo(0, 0)")
    screenshot(page, f"{name}-light")
    phone = Reader(browser, site, viewport=PHONE, color_scheme="dark")
    page = phone.open(name)
    read_all(page)
    wrong["phone"] = cut_off(page)
    wrong["axe, dark"] = axe(page, "color-contrast", code=name == WITH_CODE)
    page.evaluate("scrollTo(0, 0)")
    screenshot(page, f"{name}-dark")
    for reader in (desk, phone):
        reader.context.close()
    wrong["complaints"] = desk.complaints + phone.complaints
    return wrong


def test_no_page_complains_or_asks_anything_of_another_machine(findings):
    assert findings["complaints"] == {}


def test_every_explorer_moves(findings):
    assert findings["explorers"] == {}


def test_every_picture_has_words_and_its_own_size(findings):
    assert findings["pictures"] == {}


def test_no_page_is_wider_than_a_phone(findings):
    assert findings["phone"] == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(findings, scheme):
    assert findings[f"axe, {scheme}"] == {}


def test_no_link_is_broken_and_one_would_be_noticed(site_folder):
    assert broken_links(site_folder) == []
    page = site_folder / f"{WITH_CODE}.html"
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole.replace("</article>", "<a href='#nowhere'></a></article>"), "utf-8")
    assert broken_links(site_folder) == [f"{WITH_CODE}.html: #nowhere"]
    page.write_text(whole, encoding="utf-8")
