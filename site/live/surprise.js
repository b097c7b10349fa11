// Watch the course's RoPE model read: each byte is coloured by how much it surprised the model, at
// a length and with a stretch that the reader chooses.
import { create, mountPanel } from "./panel.js";

const LENGTHS = [64, 128, 256, 512, 1024];
const NARROW = matchMedia("(max-width: 40rem)").matches;
const SHOWN = NARROW ? 476 : 768; // bytes of the passage that are coloured
const DARK_INK = 0.66; // share of the strongest colour from which black is easier to read on it
const STRONGEST = 4; // nats, the strongest colour
const STRETCHED = "YaRN";

const END = 10; // the byte that ends a line

// Lines are as long as the page is wide: only an empty one ends a paragraph.
const newline = (isEmptyLine) => (isEmptyLine ? "↵\n" : "↵\u200b");

// A byte as a reader sees it.
const glyph = (byte) => ({ 10: "↵", 32: "␣" }[byte] ?? String.fromCharCode(byte));

function createText({ text, first, trained, ways }, _, want, status) {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const shown = bytes.subarray(first + 1, first + 1 + SHOWN);
  const spans = Array.from(shown, (byte, n) => create("span", { "data-byte": n },
    byte === END ? newline(shown[n - 1] === END) : String.fromCharCode(byte)));
  const read = new Map(); // key → {losses, expected}
  let length = LENGTHS[0], stretched = false, cursor = 0;

  const lengths = LENGTHS.map((n) => create("input", { type: "radio", name: "om-read-length",
    value: n, onchange: () => { length = n; changed(); } }));
  lengths[0].checked = true;
  const tick = create("input", { type: "checkbox",
    onchange: () => { stretched = tick.checked; changed(); } });
  const mean = create("b"), note = create("span");
  const detail = create("p", { class: "om-read-detail" });
  const page = create("pre", { class: "om-read-text", tabindex: 0, role: "img",
    "aria-label": "The passage, each byte coloured by its loss. Arrow keys go from byte to byte." },
  ...spans);
  page.addEventListener("pointerover", (event) => point(event.target));
  page.addEventListener("click", (event) => point(event.target));
  page.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    point(spans[Math.max(0, Math.min(SHOWN - 1, cursor + step))]);
  });

  const way = () => (stretched ? STRETCHED : "direct");
  const key = () => `${way()} ${length}`;

  function changed() {
    const { speeds, sharpness } = ways[way()];
    const turning = { speeds, sharpness, kept: speeds.map(() => 1) };
    want([{ key: key(), lengths: [length], turning }]);
    draw();
  }

  function point(span) {
    if (span.dataset.byte === undefined) return;
    spans[cursor].classList.remove("om-read-cursor");
    cursor = Number(span.dataset.byte);
    span.classList.add("om-read-cursor");
    tell();
  }

  function tell() {
    const { losses = [], expected = [] } = read.get(key()) ?? {};
    if (losses[cursor] === undefined) {
      detail.textContent = "Point at a byte: what did the model expect there?";
      return;
    }
    const byte = bytes[first + 1 + cursor];
    detail.textContent = `“${glyph(byte)}” came. Most expected: “${glyph(expected[cursor])}”. `
      + `Loss ${losses[cursor].toFixed(2)} nats, a probability of `
      + `${(100 * Math.exp(-losses[cursor])).toPrecision(2)} %.`;
  }

  function draw() {
    const losses = read.get(key())?.losses ?? [];
    spans.forEach((span, n) => {
      const share = losses[n] === undefined ? 0 : Math.min(1, losses[n] / STRONGEST);
      span.style.background = share
        ? `color-mix(in srgb, var(--om-warm) ${Math.round(85 * share)}%, transparent)` : "";
      span.classList.toggle("om-read-strong", share >= DARK_INK);
    });
    const count = Math.min(losses.length, SHOWN);
    const sum = losses.slice(0, count).reduce((total, loss) => total + loss, 0);
    mean.textContent = count ? (sum / count).toFixed(2) : "…";
    note.textContent = ` nats a byte, over ${count} of ${SHOWN} bytes`;
    if (count === SHOWN) {
      status.textContent = `${length} bytes, ${stretched ? "stretched" : "as trained"}: `
        + `${mean.textContent} nats a byte.`;
    }
    tell();
  }

  const controls = create("div", { class: "om-live-controls om-read" },
    create("div", { class: "om-read-set" },
      create("fieldset", { class: "om-switch" }, create("legend", {}, "Bytes read at once"),
        ...lengths.map((input, n) => create("label", {}, input,
          create("span", {}, LENGTHS[n].toLocaleString("en"))))),
      create("label", { class: "om-read-tick" }, tick, `stretched by ${STRETCHED}`)),
    create("p", { class: "om-read-mean" }, mean, note), page, detail,
    create("p", { class: "om-note" }, `Trained on texts of ${trained} bytes. The stronger the `
      + "colour, the more a byte surprised the model."));
  changed();
  return {
    controls,
    first: lengths[0],
    note({ key: name, n, losses, expected }) {
      read.set(name, { losses, expected });
      if (name === key() && n === length) draw();
    },
  };
}

export const mount = (element, start) => mountPanel(element, start, {}, createText, true);
