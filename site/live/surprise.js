// Watch the course's RoPE model read: each byte is coloured by how much it surprised the model, at
// a length and with a stretch that the reader chooses. The text may be the reader's own.
import { create, mountPanel } from "./panel.js";

const LENGTHS = [64, 128, 256, 512, 1024];
const NARROW = matchMedia("(max-width: 40rem)").matches;
const POINT = matchMedia("(pointer: coarse)").matches ? "Tap" : "Point at";
const SHOWN = NARROW ? 476 : 768; // bytes of the passage that are coloured
const STRONGEST = 8; // nats, the strongest colour
const WIDEST = 4; // nats a byte of a mean, as wide as its row
const STRETCHED = "YaRN";
const MOST = 768; // bytes of a reader's own text
const MEANS = 6; // that are kept in sight
const MORE = 48; // bytes that the model adds to it

const END = 10; // the byte that ends a line

// The passage's lines are as long as the page is wide: only an empty one ends a paragraph. A
// reader's own lines, which may be code, stay as they are.
const newline = (ends) => (ends ? "↵\n" : "↵\u200b");

// A byte as a reader sees it; one that is no letter by itself by its number.
const PLAIN = 127;
const letter = (byte) => (byte < PLAIN ? String.fromCharCode(byte)
  : byte.toString(16).toUpperCase().padStart(2, "0"));
const glyph = (byte) => ({ 10: "↵", 32: "␣" }[byte] ?? letter(byte));

// The probability of a byte that cost so many nats.
export function percentage(loss) {
  const share = 100 * Math.exp(-loss);
  if (share > 99) return "over 99 %";
  return share < 0.01 ? "under 0.01 %" : `${share.toPrecision(2)} %`;
}

function createText({ text, first, trained, ways }, _, want, status, put) {
  const before = text.slice(0, first + 1).split("\n").length; // lines
  const passage = Uint8Array.from(text, (character) => character.charCodeAt(0))
    .subarray(first + 1, first + 1 + SHOWN);
  let shown, spans;
  let version = 0; // of the text
  const read = new Map(); // key → {losses, expected}
  const results = new Map(); // key → {name, mean}, of all bytes
  let length = LENGTHS[0], stretched = false;
  let cursor = -1; // the byte that was pointed at

  const lengths = LENGTHS.map((n) => create("input", { type: "radio", name: "om-read-length",
    value: n, onchange: () => { length = n; changed(); } }));
  lengths[0].checked = true;
  const tick = create("input", { type: "checkbox",
    onchange: () => { stretched = tick.checked; changed(); } });
  const unread = create("span", { class: "om-read-unread" }, "not read yet");
  const mean = create("b"), note = create("p", { class: "om-note" });
  const kept = create("ol", { class: "om-read-kept", "aria-label": "Means so far, nats a byte" });
  const detail = create("p", { class: "om-read-detail" });
  const page = create("pre", { class: "om-read-text", tabindex: 0, role: "img",
    "aria-label": "The text, each byte coloured by its loss. Arrow keys go from byte to byte." });
  page.addEventListener("pointerover", (event) => point(event.target));
  page.addEventListener("click", (event) => point(event.target));
  page.addEventListener("pointermove", (event) => { // a finger goes along the line
    if (event.pointerType === "mouse") return;
    const under = document.elementFromPoint(event.clientX, event.clientY);
    if (under?.closest("pre") === page) point(under);
  });
  page.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    point(spans[Math.max(0, Math.min(shown.length - 1, cursor + step))]);
  });

  const own = create("textarea", { rows: 2, "aria-label": "Your own text", spellcheck: "false",
    placeholder: "Your own text, or code", autocomplete: "off", oninput: () => {
      own.style.height = ""; // as many lines as there are
      own.style.height = `${own.scrollHeight + own.offsetHeight - own.clientHeight}px`;
    } });
  const answer = create("p", { class: "om-read-answer", role: "status" });
  const back = create("button", { type: "button", hidden: "", onclick: () => {
    answer.textContent = "";
    back.hidden = true;
    put({});
    show(passage);
    own.focus();
  } }, "Back to the passage");
  const form = create("form", { class: "om-read-own", onsubmit: (event) => {
    event.preventDefault();
    readOwn();
  } }, own, create("button", { type: "submit" }, "Read mine"), back, answer);
  let said = ""; // of the reader's own text

  function readOwn() {
    const bytes = new TextEncoder().encode(own.value);
    if (!own.value.trim()) {
      answer.textContent = "There is nothing to read yet: type a sentence, then press the button.";
      own.focus();
      return;
    }
    const cut = bytes.length > MOST ? ` That is ${bytes.length.toLocaleString("en")} bytes: the `
      + `first ${MOST} are read.` : "";
    const foreign = bytes.some((byte) => byte >= PLAIN)
      ? " What is not plain ASCII is several bytes, shown by their numbers." : "";
    said = `${cut}${foreign}`.trim();
    answer.textContent = said || "Reading …";
    back.hidden = false;
    put({ bytes: bytes.slice(0, MOST), turning: turningOf("direct"), more: MORE });
    show(bytes.slice(0, MOST));
  }

  function show(bytes) {
    shown = bytes;
    version += 1;
    cursor = -1;
    spans = Array.from(shown, (byte, n) => create("span", { "data-byte": n },
      byte === END ? newline(shown !== passage || shown[n - 1] === END) : letter(byte)));
    page.replaceChildren(...spans);
    const isCode = shown !== passage && /^[ \t]/m.test(own.value);
    page.classList.toggle("om-read-code", isCode);
    changed();
  }

  const way = () => (stretched ? STRETCHED : "direct");
  const key = () => `${version} ${way()} ${length}`;
  const turningOf = (name) => {
    const { speeds, sharpness } = ways[name];
    return { speeds, sharpness, kept: speeds.map(() => 1) };
  };

  function changed() {
    want([{ key: key(), lengths: [length], turning: turningOf(way()) }]);
    draw();
  }

  function point(span) {
    if (span.dataset.byte === undefined) return;
    spans[cursor]?.classList.remove("om-read-cursor");
    cursor = Number(span.dataset.byte);
    span.classList.add("om-read-cursor");
    tell();
  }

  // The means of this text so far, in the order in which they were asked for.
  function showResults() {
    const ofText = [...results].filter(([name]) => name.startsWith(`${version} `)).slice(-MEANS);
    const compared = ofText.length < 2 ? [] : ofText;
    kept.replaceChildren(...compared.map(([name, result]) => {
      const bar = create("i", { style: `width: ${100 * Math.min(1, result.mean / WIDEST)}%` });
      return create("li", name === key() ? { "aria-current": "true" } : {},
        create("span", {}, result.name), create("b", {}, result.mean.toFixed(2)), bar);
    }));
  }

  function tell() {
    const { losses = [], expected = [] } = read.get(key()) ?? {};
    if (losses[cursor] === undefined) {
      detail.textContent = `${POINT} a byte: what did the model expect there?`;
      return;
    }
    const byte = shown[cursor];
    detail.textContent = `“${glyph(byte)}” came. Most expected: “${glyph(expected[cursor])}”. `
      + `Loss ${losses[cursor].toFixed(2)} nats, a probability of ${percentage(losses[cursor])}.`;
  }

  function draw() {
    const losses = read.get(key())?.losses ?? [];
    spans.forEach((span, n) => {
      const share = losses[n] === undefined ? 0 : Math.min(1, losses[n] / STRONGEST);
      span.style.setProperty("--om-share", share.toFixed(2));
      span.classList.toggle("om-read-unread", losses[n] === undefined);
    });
    // Two lengths are compared once both have read the same bytes; until then a mean is about.
    const count = Math.min(losses.length, shown.length), isWhole = count === shown.length;
    const sum = losses.slice(0, count).reduce((total, loss) => total + loss, 0);
    mean.textContent = count ? `${isWhole ? "" : "≈ "}${(sum / count).toFixed(2)}` : "…";
    mean.classList.toggle("om-read-part", !isWhole);
    note.textContent = isWhole ? `The mean over all ${count} bytes shown.`
      : `Reading: ${count} of ${shown.length} bytes so far.`;
    unread.hidden = isWhole;
    if (isWhole) {
      status.textContent = `${length} bytes, ${stretched ? "stretched" : "as trained"}: `
        + `${mean.textContent} nats a byte.`;
      const how = stretched ? ` ${STRETCHED}` : "";
      results.set(key(), { name: `${length.toLocaleString("en")}${how}`, mean: sum / count });
    }
    showResults();
    tell();
  }

  // What stays in sight leaves it with the text: the buttons at its end, the detail below it.
  const reading = create("div", {},
    create("div", { class: "om-read-set" },
      create("fieldset", { class: "om-switch" }, create("legend", {}, "Bytes read at once"),
        ...lengths.map((input, n) => create("label", {}, input,
          create("span", {}, LENGTHS[n].toLocaleString("en"))))),
      create("label", { class: "om-read-tick" }, tick, `stretched by ${STRETCHED}`),
      create("p", { class: "om-read-mean" }, mean, " nats a byte")), kept, note, page);
  const controls = create("div", { class: "om-live-controls om-read" },
    create("div", {}, reading,
      create("p", { class: "om-read-scale", "aria-hidden": "true" }, "0", create("i"),
        `${STRONGEST} nats and more`, unread), detail),
    form,
    create("p", { class: "om-note" }, `Trained on texts of ${trained} bytes. The stronger the `
      + "colour, the more a byte surprised the model. At every length the same bytes are judged; "
      + "what stands before them is only read. Your text takes the passage's place."));
  show(passage);
  return {
    controls,
    first: lengths[0],
    note({ key: name, n, losses, expected }) {
      read.set(name, { losses, expected });
      if (name === key() && n === length) draw();
    },
    goOn(bytes) {
      const more = bytes.map((byte) => (byte === END ? "↵" : letter(byte))).join("");
      const goesOn = more.trim() ? `: “${more}”.` : " with blanks.";
      answer.textContent = `The model goes on after your text${goesOn} It has read nothing but `
        + `Python's manual, and your text stands after ${before} of its lines. ${said}`.trim();
    },
  };
}

export const mount = (element, start) => mountPanel(element, start, {}, createText, true);
