// What moves on a page: explorers, guesses, and blocks that scroll. Loaded on every page, needs
// nothing. Without it explorers are described, and whatever is folded can still be unfolded.
"use strict";
document.documentElement.classList.add("om-js");

const all = (selector) => [...document.querySelectorAll(selector)];

// ---------------------------------------------------------------------------------------- guesses

// A guess is kept by its question's key: {guess: "never"}, or {shown: true} where there was none.
const STORE = "order-matters guesses";
const UNDO = 10_000; // milliseconds in which guesses that were forgotten can be had back
let forgotten = null, undoing = 0; // those, by key, and the timer
const NEAR = 0.1; // a number is right within a tenth of what was measured
let guesses = kept(STORE) ?? {};

function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null; // a browser that keeps nothing, or something else under that name
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // then it lasts as long as the page
  }
}

function keepGuesses() {
  keep(STORE, guesses);
  showGuesses();
}

function forget(questions) {
  for (const question of questions) delete guesses[question];
  keepGuesses();
}

function numberIn(text) {
  return text.trim() === "" ? NaN : Number(text.replace(",", "."));
}

function revealOf(question) {
  return all(".om-reveal").find((reveal) => reveal.dataset.question === question);
}

function answerOf({ dataset: { question, measured } }) {
  return measured ?? revealOf(question)?.dataset.measured;
}

// What a question's guess came to: its words, and whether it was right; null without a judgement.
function judged(form) {
  const { question, kind } = form.dataset;
  const guess = guesses[question]?.guess;
  if (guess === undefined) return null;
  const answer = answerOf(form);
  const words = ended(`You said: ${asRead(form, guess)}`);
  if (answer === undefined || answer === "not tested") return { words };
  if (kind !== "number") {
    return guess === answer ? { right: true, words: "You were right." }
      : { right: false, words, measured: asRead(form, answer) };
  }
  const right = Math.abs(numberIn(guess) / parseFloat(answer) - 1) <= NEAR;
  const grade = right ? ": right, to a tenth" : "";
  return { right, words: `You said ${guess}${grade}.`, measured: answer };
}

// An answer as its option reads.
function asRead(form, answer) {
  const options = [...form.querySelectorAll("input[type=radio]")];
  const chosen = options.find(({ value }) => value === answer);
  return chosen?.parentElement.textContent.trim() ?? answer;
}

// A sentence that these words end, which may have a full stop already.
function ended(words) {
  return /[.…!?]$/.test(words) ? words : `${words}.`;
}

function showGuesses() {
  for (const form of all(".om-guess")) showForm(form);
  for (const fold of all(".om-sealed")) {
    fold.open = fold.dataset.asks.split(" ").every((key) => guesses[key]);
  }
  for (const summary of all(".om-summary")) { // a reader may open it before, and shut it again
    if (summary.dataset.asks.split(" ").every((key) => guesses[key])) summary.open = true;
  }
  for (const line of all(".om-score")) showScore(line);
  showProgress();
}

function showForm(form) {
  const { question, kind } = form.dataset, mine = guesses[question], verdict = judged(form);
  // A claim's verdict unfolds in the same box; another question's answer may stand far below.
  const said = verdict?.measured && kind !== "claim"
    ? ended(` Measured: ${verdict.measured}`) : "";
  for (const input of form.querySelectorAll("input")) {
    if (input.type === "radio") showOption(input, form, mine);
    else if (!mine || mine.guess) input.value = mine?.guess ?? "";
  }
  form.querySelector("fieldset").disabled = Boolean(mine);
  const response = form.querySelector(".om-said");
  if (mine?.shown) mark(response, { words: "Shown without a guess." });
  else mark(response, verdict, said);
  form.querySelector(".om-again").hidden = !mine?.guess;
  const reveal = revealOf(question);
  if (!reveal) return;
  mark(reveal.querySelector(".om-verdict"), verdict);
  reveal.hidden = Boolean(verdict); // the form has said it
}

// Once a question is answered, the right option is marked, and a guess that was another.
function showOption(radio, form, mine) {
  radio.checked = radio.value === mine?.guess;
  const isRight = Boolean(mine) && radio.value === answerOf(form);
  const isWrong = radio.checked && !isRight && judged(form)?.right === false;
  radio.parentElement.dataset.right = isRight ? "true" : isWrong ? "false" : "";
}

function mark(element, verdict, measured = "") {
  const sign = { true: "✓ ", false: "✗ " }[verdict?.right] ?? "";
  element.textContent = verdict ? sign + verdict.words + measured : "";
  element.dataset.right = verdict?.right ?? "";
}

function showScore(line) {
  const forms = all(".om-guess"), verdicts = forms.map(judged).filter(Boolean);
  const right = verdicts.filter((verdict) => verdict.right).length;
  const begun = forms.some((form) => guesses[form.dataset.question]);
  if (forgotten && !begun) {
    line.textContent = "Forgotten · ";
    line.append(newButton("Undo", () => {
      const before = forgotten;
      forgotten = null;
      Object.assign(guesses, before);
      keepGuesses();
      focusOn(line);
    }));
    return;
  }
  line.dataset.before ??= line.textContent;
  line.textContent = verdicts.length
    ? `Your guesses: ${verdicts.length} of ${forms.length}, ${right} right. `
    : `${line.dataset.before} `;
  if (!begun) return;
  line.append(newButton("Forget them", () => {
    const asked = forms.map((form) => form.dataset.question).filter((key) => guesses[key]);
    forgotten = Object.fromEntries(asked.map((key) => [key, guesses[key]]));
    clearTimeout(undoing);
    undoing = setTimeout(() => {
      forgotten = null;
      showGuesses();
    }, UNDO);
    forget(asked);
    focusOn(line);
  }));
}

function newButton(words, act) {
  const button = document.createElement("button");
  button.textContent = words;
  button.addEventListener("click", act);
  return button;
}

function focusOn(line) { // the button that had the focus is gone
  line.tabIndex = -1;
  line.focus();
}

for (const form of all(".om-guess")) {
  const again = document.createElement("button"); // a tap may have missed
  again.type = "button";
  again.className = "om-again";
  again.textContent = "Guess again";
  again.addEventListener("click", () => {
    forget([form.dataset.question]);
    form.querySelector("input").focus({ preventScroll: true });
  });
  form.append(again);
  for (const radio of form.querySelectorAll("input[type=radio]")) {
    // A tap is a guess. Arrow keys choose among the options, which the browser also calls a click,
    // but without a count: there Enter or the button is the guess.
    radio.addEventListener("click", (event) => { if (event.detail) form.requestSubmit(); });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { question, kind } = form.dataset, response = form.querySelector(".om-said");
    const guess = new FormData(form).get(question).trim();
    if (kind === "number" && !Number.isFinite(numberIn(guess))) {
      response.textContent = `“${guess}” is not a number yet.`;
      return;
    }
    guesses[question] = { guess };
    keepGuesses();
    response.tabIndex = -1; // the button that had the focus cannot keep it
    response.focus({ preventScroll: true });
  });
}
for (const fold of all(".om-sealed")) {
  fold.querySelector("summary").addEventListener("click", (event) => {
    event.preventDefault();
    for (const key of fold.dataset.asks.split(" ")) guesses[key] ??= { shown: true };
    keepGuesses();
    fold.tabIndex = -1;
    fold.focus({ preventScroll: true });
  });
}
for (const fold of all(".om-summary")) { // its words say what a tap does now
  const heading = fold.querySelector("summary"), before = heading.textContent;
  const name = () => { heading.textContent = fold.open ? "Fold these lines" : before; };
  fold.addEventListener("toggle", name);
  name();
}
addEventListener("storage", (event) => { // the same lesson in another tab
  if (event.key !== STORE) return;
  guesses = kept(STORE) ?? {};
  showGuesses();
});
showGuesses();

// --------------------------------------------------------------------------------------- progress

// questions.js, loaded before, has the questions of each page. What is done stands in the sidebar
// and in the list of lessons.
function showProgress() {
  const questions = window.omQuestions ?? {};
  const done = (keys) => keys.filter((key) => guesses[key]).length;
  for (const place of all(".sidebar-tree a.internal, .om-lessons li")) {
    const page = place.dataset.page
      ?? new URL(place.href).pathname.replace(/\.html$/, "").split("/").slice(-2).join("/");
    const keys = questions[page] ?? questions[page.split("/").pop()] ?? [];
    place.querySelector(".om-progress")?.remove();
    if (!done(keys)) continue;
    const mark = document.createElement("span");
    mark.className = "om-progress";
    mark.textContent = done(keys) === keys.length ? "✓" : `${done(keys)}/${keys.length}`;
    mark.title = `${done(keys)} of ${keys.length} guesses`;
    place.append(mark);
  }
  continueAt(all(".om-lessons li"), (lesson) => {
    const keys = questions[lesson.dataset.page] ?? [];
    // A claim may have been guessed on a card; the other questions stand in the lesson alone.
    const begun = done(keys.filter((key) => !/^C\d+$/.test(key))) > 0;
    return { begun, ended: done(keys) === keys.length };
  });
  const every = [...new Set(Object.values(questions).flat())];
  let bar = document.querySelector(".om-course");
  if (!bar) {
    bar = document.createElement("p");
    bar.className = "om-course";
    document.querySelector(".sidebar-search-container")?.after(bar);
  }
  bar.hidden = !done(every);
  bar.style.setProperty("--om-done", done(every) / every.length);
  bar.textContent = `Your guesses: ${done(every)} of ${every.length}`;
}

// The first page's button leads a reader who has guessed to the last lesson begun, or the next one.
function continueAt(lessons, state) {
  const button = document.querySelector(".om-start .om-button");
  const last = lessons.findLastIndex((lesson) => state(lesson).begun);
  if (!button || last < 0) return;
  const lesson = lessons[state(lessons[last]).ended ? last + 1 : last] ?? lessons[last];
  button.href = lesson.querySelector(".om-name").href;
  button.textContent = `Continue at ${lesson.querySelector(".om-number").textContent}`;
}

// ------------------------------------------------------------------------------------------- code

// Code that only draws, asks or judges is out of the way until a reader wants it, on all pages.
const CODE = "order-matters code";
function showCode(shown) {
  document.documentElement.classList.toggle("om-code-shown", shown);
  for (const button of all(".om-all-code")) button.setAttribute("aria-pressed", shown);
  for (const fold of all(".om-code")) fold.open = shown;
}
for (const button of all(".om-all-code")) {
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") === "false";
    showCode(shown);
    keep(CODE, shown);
  });
}
if (kept(CODE) === true) showCode(true);

// -------------------------------------------------------------------------------------- explorers

// An explorer, or the panel of a live model, is loaded shortly before it comes into view.
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    const { module, start } = target.dataset;
    import(new URL(module, document.baseURI)).then(({ mount }) => {
      target.replaceChildren();
      mount(target, JSON.parse(start));
    }, () => {}); // from a file: browsers refuse modules there, and the description stays
  }
}, { rootMargin: "600px" });
all(".om-mount, .om-live").forEach((mount) => near.observe(mount));

// The first explorer whose state stands in the address, as shell.js writes it there: the name of its
// module, and its number if others of the page have the same.
function explorerOfAddress() {
  const mounts = all(".om-mount");
  const asked = [...new URLSearchParams(location.search).keys()].flatMap((key) => {
    const [, name, number] = key.match(/^(\w+?)(?:-(\d+))?$/) ?? [];
    const same = mounts.filter(({ dataset }) => dataset.module.includes(`/${name}.js`));
    return same[(number ?? 1) - 1] ?? [];
  });
  return asked[0] ?? null;
}

// Where a link leads stays at the top of the screen while what stands above it is loaded and grows,
// until the reader moves. A page that is loaded again stays where its reader was.
let target = null;
const setTarget = () => {
  const id = decodeURIComponent(location.hash.slice(1));
  target = id ? document.getElementById(id) : explorerOfAddress();
};
const [{ type: arrival }] = performance.getEntriesByType("navigation");
if (arrival === "navigate") setTarget();
addEventListener("hashchange", setTarget);
for (const moves of ["wheel", "touchmove", "pointerdown", "keydown"]) {
  addEventListener(moves, () => { target = null; }, { passive: true });
}
const growing = new ResizeObserver(() => target?.scrollIntoView({ behavior: "instant" }));
all("article").forEach((article) => growing.observe(article));

// The toy of the first page.
for (const toy of all(".om-first")) {
  const module = new URL("_static/first_screen.js", document.baseURI);
  import(module).then(({ mount }) => mount(toy), () => {});
}

// ------------------------------------------------------------------------- a phone's contents

// Below a page's width its contents are a drawer: a tap leads to a section, and shuts it.
const drawer = document.getElementById("__toc");
for (const link of all(".toc-tree a")) {
  link.addEventListener("click", () => {
    if (drawer) drawer.checked = false;
    const mark = () => { // furo marks the section before, whose end is still in sight
      for (const item of all(".toc-tree .scroll-current")) item.classList.remove("scroll-current");
      link.parentElement.classList.add("scroll-current");
    };
    for (const late of [100, 700]) setTimeout(mark, late); // milliseconds, while the page scrolls
  });
}

// On a phone the rows of a table with long words are blocks; each cell says its heading.
const LONG = 25; // letters in a cell
for (const table of all("article table:not(.om-sortable, .om-blocks, .indextable)")) {
  const headings = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent.trim());
  const cells = [...table.querySelectorAll("tbody :is(td, th)")];
  if (headings.length < 3 || !cells.some(({ textContent }) => textContent.length > LONG)) continue;
  table.classList.add("om-rows");
  for (const cell of cells) {
    const heading = headings[cell.cellIndex];
    if (cell.cellIndex && heading) cell.dataset.heading = heading;
  }
}

// -------------------------------------------------------------------------------- what scrolls

// A block that scrolls sideways can be reached and moved by keyboard, and says what it is.
const NAMES = {
  ".om-output pre": "Output", ".highlight pre": "Code", ".table-wrapper": "Table",
  ".om-figure": "Picture", "div.math": "Formula",
};
const SMALLEST = 0.85; // of a formula's letters, before it breaks or scrolls
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.matches("div.math")) fit(target);
    showMore(target);
    const scrolls = target.scrollWidth > target.clientWidth;
    const name = Object.keys(NAMES).find((selector) => target.matches(selector));
    if (scrolls) {
      target.tabIndex = 0;
      target.setAttribute("role", "group");
      target.setAttribute("aria-label", NAMES[name]);
    } else {
      for (const attribute of ["tabindex", "role", "aria-label"]) target.removeAttribute(attribute);
    }
  }
});
for (const block of all(Object.keys(NAMES).join())) {
  sizes.observe(block);
  block.addEventListener("scroll", () => showMore(block), { passive: true });
}

// Its right edge fades while there is more to the right; an arrow says so until it was moved.
function showMore(block) {
  const { scrollLeft, clientWidth, scrollWidth } = block;
  const more = scrollLeft + clientWidth < scrollWidth - 1;
  block.classList.toggle("om-more", more);
  block.classList.toggle("om-unmoved", more && scrollLeft < 1);
}

// A formula that is too wide becomes a little smaller, or breaks: after wide spaces, else before
// relations, else before a plus. What MathJax has set as one piece scrolls.
const WIDE = 14; // pixels; a narrower space is no place to break
const BREAKS = [
  ["mjx-mstyle:has(> mjx-mspace)", "after"], ["mjx-mo[space='4']", "before"],
  ["mjx-mo[space='3']:has(.mjx-c2B)", "before"],
];
function fit(formula) {
  const share = () => formula.clientWidth / formula.scrollWidth;
  formula.style.fontSize = "";
  for (const place of formula.querySelectorAll("wbr")) place.remove();
  for (const [part, side] of BREAKS) {
    if (share() >= SMALLEST) break;
    for (const place of formula.querySelectorAll(`mjx-math > ${part}`)) {
      if (side === "after" && place.offsetWidth < WIDE) continue;
      place[side](document.createElement("wbr"));
    }
  }
  if (share() < 1) formula.style.fontSize = `${Math.max(SMALLEST, 0.99 * share())}em`;
}
// Letters are as wide as they are once their fonts are there.
document.fonts.addEventListener("loadingdone", () => all("div.math").forEach(fit));

// ------------------------------------------------------------------------------------- the search

// A result shows the sentence with most words of the search, below the heading of its section, and
// leads there. Sphinx alone cuts 240 letters out of the page, code and hidden answers too, and
// leads to the page's top.
const HIDDEN = ".om-sealed, .om-hint";
const SENTENCES = /(?<=[.?!])(?<!\b(?:al|e\.g|i\.e|eq|Eq)\.)\s+/;
const NOTHING = "Your search did not match any documents. Please make sure that all words are "
  + "spelled correctly and that you've selected enough categories."; // Sphinx's

// What stands for a command of TeX in a line of text; other commands are left out.
const SIGNS = {
  theta: "θ", beta: "β", alpha: "α", pi: "π", phi: "φ", omega: "ω", lambda: "λ", Delta: "Δ",
  lfloor: "⌊", rfloor: "⌋", bmod: "mod", cdot: "·", times: "×", le: "≤", ge: "≥", log: "log",
  sin: "sin", cos: "cos", max: "max", min: "min", exp: "exp", ln: "ln", infty: "∞", to: "→",
};
function inLetters(tex) {
  return tex.replaceAll(/\\[,;:! ]/g, " ")
    .replaceAll(/\\([a-zA-Z]+)/g, (_, command) => SIGNS[command] ?? "")
    .replaceAll(/[\\{}_]/g, "");
}

// A text as it is read: without what formulas need in TeX, and without signs beside headings.
function read(text) {
  return text.replaceAll(/\\\((.*?)\\\)/gs, (_, tex) => inLetters(tex))
    .replaceAll("¶", "");
}

// Where most of the words stand on a page: a sentence, its section's id, and that one's heading.
function bestFor(words, page) {
  const wordsIn = (text) => {
    const searched = text.toLowerCase().replaceAll(/(?<=\d),(?=\d{3})/g, ""); // as in search.js
    return words.filter((word) => searched.includes(word)).length;
  };
  const kinds = ["p", "li, dd, td, summary", "h1, h2, h3", "details", "pre"]; // the best first
  if (page.querySelector("#glossary")) kinds.unshift("h2"); // an entry before its word elsewhere
  const parts = kinds.flatMap((kind) => [...page.querySelectorAll(kind)]).filter((part) =>
    !part.querySelector("p, li, pre") && !part.closest(".om-facts, .om-moves, .no-search")
    && !part.textContent.startsWith("Next:"));
  let best = null;
  for (const isSought of [
    (part) => !part.matches("pre") && !part.closest(HIDDEN), // what all can read
    (part) => !part.matches("pre"),
    () => true,
  ]) {
    let most = 0;
    for (const part of parts.filter(isSought)) {
      const summary = part.querySelector("summary")?.textContent ?? ""; // of a figure in words
      const text = read(part.textContent.slice(summary.length));
      const count = wordsIn(text);
      if (count > most) [best, most] = [{ part, text }, count];
    }
    if (best) break;
  }
  if (!best) return null;
  const { part, text } = best, section = part.closest("section[id]");
  const heading = section?.querySelector("h2, h3") === section?.firstElementChild
    ? read(section?.firstElementChild.textContent ?? "") : "";
  const place = { section: section?.id, heading };
  if (part.closest(HIDDEN)) return { ...place, sentence: "In an answer of this section." };
  if (part.matches("pre")) return { ...place, sentence: "In the code of this section." };
  const heads = part.matches("h1, h2, h3"); // then what stands below it says more
  const passage = heads ? read(part.parentElement.querySelector("p")?.textContent ?? text) : text;
  const sentences = passage.split(SENTENCES);
  const counts = sentences.map(wordsIn);
  const sentence = sentences[counts.indexOf(Math.max(...counts))];
  return { ...place, sentence: sentence.trim() };
}

if (typeof Search === "object") {
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  Documentation.TRANSLATIONS[NOTHING] = splitQuery(asked).length > 1
    ? "No page has all of these words. Try one of them alone."
    : "No page has this word. Try its beginning, or another word for it: the glossary has many.";
  const parse = Search._parseQuery; // it leaves numbers out
  Search._parseQuery = (query) => {
    const parsed = parse(query);
    for (const number of splitQuery(query).filter((word) => /^\d{3,}$/.test(word))) {
      for (const words of [parsed[1], parsed[3]]) words.add(number); // to find, and to show
    }
    return parsed;
  };
  const perform = Search._performSearch; // it finds the glossary once more, without the entry
  Search._performSearch = (...parsed) => {
    const results = perform(...parsed); // the best last
    const entries = results.filter(([page, , anchor]) => page === "glossary" && anchor);
    return entries.length
      ? results.filter(([page, , anchor]) => page !== "glossary" || anchor) : results;
  };
  Search.makeSearchSummary = (html, keywords, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const place = anchor ? page.querySelector(anchor) : page.querySelector("[role=main]");
    const words = [...keywords].map((word) => word.toLowerCase());
    const match = bestFor(words, place ?? page) // or what the page is about
      ?? { sentence: read(page.querySelector("[role=main] p")?.textContent ?? "") };
    const summary = document.createElement("p");
    summary.className = "context";
    summary.textContent = match.sentence;
    queueMicrotask(() => { // by then it stands in its result
      const link = summary.parentElement?.querySelector("a");
      if (!link || anchor || !match.section) return;
      link.hash = match.section;
      if (match.heading) link.append(` > ${match.heading}`);
    });
    return summary;
  };
}

// ------------------------------------------------------------------- what Sphinx and furo left out

// A page found by a search shows what was found, and does not light up each of its words.
try {
  localStorage.removeItem("sphinx_highlight_terms");
} catch {
  // a browser that keeps nothing
}

for (const caption of all(".caption[role=heading]")) caption.setAttribute("aria-level", "2");
// A long signature is a list of definitions without terms: to a screen reader it is text.
for (const list of all("dt.sig dl")) list.setAttribute("role", "presentation");
for (const [selector, name] of [[".sidebar-drawer", "Course"], [".toc-drawer", "On this page"]]) {
  for (const drawer of all(selector)) drawer.setAttribute("aria-label", name);
}
