// The toy of the first page: the words of a sentence, which can be moved, and one attention head
// that reads them. Its weights are random and fixed; nothing is trained. `read` is the head,
// without a page; tests compare it with course_utils. `mount` is what a reader moves.

const WIDTH = 16; // of a word's vector
const SHOWN = 8; // numbers of an output row that are drawn
const GAIN = 1; // of queries and keys: at this size a word prefers some of the others, not one
const SLOPE = 0.5; // ALiBi's price a position; the first of eight heads has this one
const BASE = 10000;
const LONGEST = 7; // words
const LETTERS = { smallest: 12, largest: 20 }; // sizes in pixels
const FRAME = 12; // pixels of a word's frame, left and right
const ROW = 20; // pixels for the numbers, between the arcs and the words
const ROOM = 32; // pixels that a number takes: a narrower word has none
const LEAST = 0.005; // a smaller share is written as below 1 %
const SAME = 1e-9; // a smaller change is rounding
const TAP = 5; // pixels that a pointer may move between down and up
const SENTENCE = "John loves Mary";
export const ENCODINGS = ["no positions", "sinusoidal", "RoPE", "ALiBi"];

// -------------------------------------------------------------------------------------- the head

// Random numbers of a normal distribution that only depend on the text.
function normals(text, count) {
  let state = 2166136261;
  for (const letter of text) state = Math.imul(state ^ letter.codePointAt(0), 16777619) >>> 0;
  const uniform = () => { // mulberry32
    state = (state + 0x6D2B79F5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return Array.from({ length: count }, () =>
    Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
}

function matrix(name, size = 1) {
  const numbers = normals(name, WIDTH * WIDTH);
  return Array.from({ length: WIDTH }, (_, row) =>
    numbers.slice(row * WIDTH, (row + 1) * WIDTH)
      .map((number) => number * size / Math.sqrt(WIDTH)));
}

const W_q = matrix("queries", GAIN);
const W_k = matrix("keys", GAIN);
const W_v = matrix("values");

const product = (vector, W) =>
  W[0].map((_, column) => vector.reduce((sum, number, row) => sum + number * W[row][column], 0));
const dot = (a, b) => a.reduce((sum, number, n) => sum + number * b[n], 0);
const speed = (pair) => BASE ** (-2 * pair / WIDTH);

// Sines and cosines of a position, alternating.
function sinusoidal(position) {
  return Array.from({ length: WIDTH }, (_, n) => {
    const angle = position * speed(Math.floor(n / 2));
    return n % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

// Each pair of neighbouring numbers, turned by its angle at this position.
function turned(vector, position) {
  return vector.map((number, n) => {
    const angle = position * speed(Math.floor(n / 2));
    const partner = vector[n ^ 1];
    const sign = n % 2 ? 1 : -1;
    return number * Math.cos(angle) + sign * partner * Math.sin(angle);
  });
}

// The head reads these words in this order: weights, a row for each word that asks, and what each
// word takes home.
export function read(words, encoding) {
  const vectors = words.map((word, position) => {
    const vector = normals(`word ${word.toLowerCase()}`, WIDTH);
    if (encoding !== "sinusoidal") return vector;
    const added = sinusoidal(position);
    return vector.map((number, n) => number + added[n]);
  });
  const place = (vector, position) => (encoding === "RoPE" ? turned(vector, position) : vector);
  const queries = vectors.map((vector, position) => place(product(vector, W_q), position));
  const keys = vectors.map((vector, position) => place(product(vector, W_k), position));
  const values = vectors.map((vector) => product(vector, W_v));
  const weights = queries.map((query, i) => softmax(keys.map((key, j) => {
    const price = encoding === "ALiBi" ? SLOPE * Math.abs(i - j) : 0;
    return dot(query, key) / Math.sqrt(WIDTH) - price;
  })));
  const outputs = weights.map((row) =>
    values[0].map((_, n) => row.reduce((sum, weight, j) => sum + weight * values[j][n], 0)));
  return { vectors, weights, outputs, W_q, W_k, W_v };
}

function softmax(scores) {
  const largest = Math.max(...scores);
  const positive = scores.map((score) => Math.exp(score - largest));
  const sum = positive.reduce((total, number) => total + number, 0);
  return positive.map((number) => number / sum);
}

// How many weights differ between two orders of the same words, and of those of the word that asks
// the largest difference: the word it asks, and the weight before and after. `order` says which
// word of the sentence as it was typed stands at each place.
export function changes(words, order, encoding, asking) {
  const before = read(words, encoding).weights;
  const after = read(order.map((n) => words[n]), encoding).weights;
  const pairs = order.flatMap((from, row) => order.map((to, column) => ({
    from, to, before: before[from][to], after: after[row][column],
  })));
  const difference = (pair) => Math.abs(pair.after - pair.before);
  return {
    changed: pairs.filter((pair) => difference(pair) > SAME).length,
    of: pairs.length,
    largest: pairs.filter(({ from }) => from === asking)
      .reduce((most, pair) => (difference(pair) > difference(most) ? pair : most)),
  };
}

// ---------------------------------------------------------------------------------------- the page

function shuffled(items) {
  const mixed = [...items];
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [mixed[last], mixed[other]] = [mixed[other], mixed[last]];
  }
  return mixed;
}

// How wide each word may be, if they share this room: long words give way first.
function shared(widths, room) {
  let left = room;
  for (const [n, width] of [...widths].sort((a, b) => a - b).entries()) {
    const most = left / (widths.length - n);
    if (width > most) return widths.map((wanted) => Math.min(wanted, most));
    left -= width;
  }
  return widths;
}

const create = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

export function mount(element) {
  let words = SENTENCE.split(" ");
  let order = words.map((_, n) => n); // the word at each place
  let asking = 1; // the word whose attention is drawn
  let encoding = ENCODINGS[0];
  let dragged = false; // the word under the pointer, since that went down
  let held = null; // the word that follows the pointer, and where its middle is then

  const input = create("input", { type: "text", value: SENTENCE, maxlength: 300,
    "aria-label": "Your sentence", spellcheck: "false", autocomplete: "off" });
  const options = ENCODINGS.map((name) => {
    const radio = create("input", { type: "radio", name: "om-encoding", value: name });
    radio.checked = name === encoding;
    radio.addEventListener("change", () => { encoding = name; draw(); });
    return create("label", {}, radio, create("span", {}, name));
  });
  const switches = create("fieldset", { class: "om-switch" },
    create("legend", {}, "Positions"), ...options);
  const arcs = create("div", { class: "om-arcs", "aria-hidden": "true" });
  const row = create("div", { class: "om-words", role: "group",
    "aria-label": "Words, to be moved" });
  const shuffle = create("button", { type: "button" }, "Shuffle");
  const verdict = create("p", { class: "om-heard", role: "status" });
  element.replaceChildren(
    create("div", { class: "om-typed" }, input, shuffle), arcs, row, verdict, switches);

  // A chip for each word, in the order of the sentence as it was typed; `draw` puts them in place.
  let chips = [];
  function makeChips() {
    chips = words.map((word, n) => {
      const cells = Array.from({ length: SHOWN }, () => create("i"));
      const bars = create("span", { class: "om-bars", "aria-hidden": "true" }, ...cells);
      const chip = create("button", { type: "button", class: "om-chip" },
        create("b", {}, word), bars);
      chip.addEventListener("pointerdown", (event) => drag(event, n));
      chip.addEventListener("click", () => { // also by Enter; a word that was dragged only moved
        if (!dragged) asking = n;
        dragged = false;
        draw();
      });
      chip.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        event.preventDefault();
        move(n, order.indexOf(n) + step);
        chip.focus();
      });
      return chip;
    });
    row.replaceChildren(...chips);
  }

  // The size of the letters, and the left edge and the width of each word of the sentence as it
  // was typed, where it stands now. All in pixels.
  const pen = create("canvas").getContext("2d");
  function layout() {
    const room = row.clientWidth - FRAME * words.length;
    pen.font = `bold ${LETTERS.largest}px ${getComputedStyle(row).fontFamily}`;
    const widest = words.map((word) => Math.ceil(pen.measureText(word).width));
    const sum = widest.reduce((total, width) => total + width, 0);
    const scale = Math.max(LETTERS.smallest / LETTERS.largest, Math.min(1, room / sum));
    const fitting = shared(widest.map((width) => scale * width), room);
    const spare = (room - fitting.reduce((total, width) => total + width, 0)) / words.length;
    const widths = fitting.map((width) => width + FRAME + spare);
    const lefts = [];
    order.reduce((left, n) => {
      lefts[n] = left;
      return left + widths[n];
    }, 0);
    return { letters: scale * LETTERS.largest, widths, lefts,
      centres: lefts.map((left, n) => left + widths[n] / 2) };
  }

  function move(n, place) {
    const target = Math.max(0, Math.min(words.length - 1, place));
    order = order.filter((other) => other !== n);
    order.splice(target, 0, n);
    write();
    draw();
  }

  // The sentence as it stands now, and typed words that are too many.
  function write() {
    input.value = [...order.map((n) => words[n]), ...typedWords().slice(LONGEST)].join(" ");
  }

  // While the pointer is down, the word follows it sideways; a move up or down scrolls the page.
  function drag(event, n) {
    if (event.button) return;
    const chip = chips[n];
    const grabbed = event.clientX - layout().centres[n];
    dragged = false;
    const follow = ({ clientX }) => {
      const middle = clientX - grabbed;
      dragged ||= Math.abs(clientX - event.clientX) > TAP;
      held = { word: n, middle };
      move(n, layout().centres.filter((centre, m) => m !== n && centre < middle).length);
      chip.style.setProperty("--om-pull", `${middle - layout().centres[n]}px`);
    };
    const drop = () => {
      chip.classList.remove("om-held");
      chip.style.removeProperty("--om-pull");
      chip.removeEventListener("pointermove", follow);
      held = null;
      draw();
    };
    chip.setPointerCapture(event.pointerId);
    chip.classList.add("om-held");
    chip.addEventListener("pointermove", follow);
    for (const end of ["pointerup", "pointercancel"]) {
      chip.addEventListener(end, drop, { once: true });
    }
  }

  function draw() {
    const { weights, outputs } = read(order.map((n) => words[n]), encoding);
    const { letters, widths, lefts, centres } = layout();
    if (held) centres[held.word] = held.middle;
    const from = order.indexOf(asking);
    row.style.setProperty("--om-letters", `${letters}px`);
    chips.forEach((chip, n) => {
      const place = order.indexOf(n);
      chip.style.setProperty("--om-left", `${lefts[n]}px`);
      chip.style.width = `${widths[n]}px`;
      chip.classList.toggle("om-asking", n === asking);
      chip.setAttribute("aria-pressed", n === asking);
      chip.setAttribute("aria-label", `${words[n]}, place ${place + 1} of ${words.length}. `
        + "Arrow keys move it, Enter shows what it attends to.");
      chip.querySelectorAll("i").forEach((cell, number) => {
        const value = Math.max(-1, Math.min(1, outputs[place][number] / 1.5));
        cell.style.background = `color-mix(in srgb, var(--om-${value < 0 ? "cold" : "warm"}) `
          + `${Math.round(100 * Math.abs(value))}%, transparent)`;
      });
    });
    const before = read(words, encoding).weights[asking];
    drawArcs(weights[from], order.map((n) => before[n]), from, order.map((n) => centres[n]),
      order.map((n) => widths[n]));
    const { changed, of, largest } = changes(words, order, encoding, asking);
    const moved = order.some((n, place) => n !== place);
    verdict.dataset.changed = changed > 0;
    verdict.textContent = sentence(moved, changed, of, largest);
  }

  function sentence(moved, changed, of, largest) {
    const reader = encoding === ENCODINGS[0] ? "Attention" : `Attention with ${encoding}`;
    const only = typedWords().length > LONGEST ? `at most ${LONGEST} words: ` : "";
    if (!moved) return `${reader} reads ${only}“${words.join(" ")}”. Move a word; tap one to `
      + "see what it attends to.";
    if (!changed) return `${reader} has taken no notice: 0 of ${of} weights have changed.`;
    const percent = (share) => (100 * share).toFixed(share > 0.01 && share < 0.995 ? 0 : 1);
    return `${reader} has noticed: ${changed} of ${of} weights have changed. Most changed of `
      + `the arcs drawn, ${named(largest.from)} → ${named(largest.to)}: `
      + `${percent(largest.before)} % before, ${percent(largest.after)} % now.`;
  }

  // A word in a sentence; equal ones are counted from the left.
  function named(n) {
    const equal = order.filter((other) => words[other] === words[n]);
    const count = ["1st", "2nd", "3rd"][equal.indexOf(n)] ?? `${equal.indexOf(n) + 1}th`;
    return `“${words[n]}”${equal.length > 1 ? ` (${count})` : ""}`;
  }

  // Each number stands between its arc and the word that the arc leads to. Where an arc was wider
  // before words were moved, its former width shows behind it.
  function drawArcs(shares, former, from, centres, widths) {
    const { clientWidth: width, clientHeight: height } = arcs;
    const base = height - ROW;
    const paths = shares.map((share, to) => {
      const [a, b] = [centres[from], centres[to]];
      const rise = 1.33 * Math.min(base - 10, 26 + 0.28 * Math.abs(b - a));
      const curve = from === to
        ? `M${a - 12},${base}C${a - 34},${base - 52} ${a + 34},${base - 52} ${a + 12},${base}`
        : `M${a},${base}C${a},${base - rise} ${b},${base - rise} ${b},${base}`;
      const path = (of, kind) =>
        `<path class="${kind}" d="${curve}" stroke-width="${(1 + 13 * of).toFixed(1)}"/>`;
      return path(former[to], "om-former") + path(share, "om-now");
    });
    const numbers = shares.map((share, to) => (widths[to] < ROOM ? ""
      : `<text x="${centres[to]}" y="${height - 5}">`
        + `${share < LEAST ? "&lt; 1" : Math.round(100 * share)} %</text>`));
    arcs.innerHTML = `<svg width="${width}" height="${height}">${[...paths, ...numbers].join("")}`
      + "</svg>";
  }

  function typedWords() {
    return input.value.trim().split(/\s+/).filter(Boolean);
  }

  input.addEventListener("input", () => {
    const typed = typedWords().slice(0, LONGEST);
    if (!typed.length) {
      verdict.textContent = "Type a word or two: until then the last ones stand here.";
      return;
    }
    words = typed;
    order = words.map((_, n) => n);
    asking = Math.min(asking, words.length - 1);
    makeChips();
    draw();
  });
  shuffle.addEventListener("click", () => {
    if (new Set(words).size < 2) return;
    const asTyped = words.map((_, n) => n).join();
    const shown = words.length > 2 ? [asTyped, order.join()] : [order.join()];
    while (shown.includes(order.join())) order = shuffled(order);
    write();
    draw();
  });
  new ResizeObserver(draw).observe(row);
  makeChips();
  draw();
}
