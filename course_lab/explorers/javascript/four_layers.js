// Four layers that promise one output: by how much it changes for each word of a text, read from
// another start, in pieces or among other texts. The numbers are the course's, see four_layers.py.

const FLOOR = -7; // where changes up to rounding are drawn, on the axis of logarithms
const TEXTS = [-8.6, -9.5, -10.2]; // where texts are drawn: the one that is looked at, and others
const KEPT = 0, CHANGED = 3; // colours
const PHONE_WIDTH = 480; // pixels; below, not every word's position has room

let logs; // of all changes, unpacked

// The logarithms of the changes at this state, one a word; those of rounding are NaN.
function changesAt({ layer, start, in_pieces, among_others }) {
  const { data } = SPEC;
  logs ??= new Int16Array(Uint8Array.from(atob(data.logs), (byte) => byte.charCodeAt(0)).buffer);
  const place = (data.layers.indexOf(layer) * data.starts.length + data.starts.indexOf(start)) * 4
    + 2 * in_pieces + Number(among_others);
  const row = logs.slice(data.words * place, data.words * (place + 1));
  return Array.from(row, (log) => log / data.steps)
    .map((log) => (log > Math.log10(data.rounding) ? log : NaN));
}

function isChanged(log) {
  return log > Math.log10(SPEC.data.allowed);
}

// How the text is read otherwise, in words.
function waysOf({ start, in_pieces, among_others }) {
  return [start && "its start", in_pieces && "pieces", among_others && "others"].filter(Boolean);
}

// A layer that changes while one way alone is other than before has been caught by that way.
function remember(state) {
  const ways = waysOf(state);
  const finding = `${state.layer} by ${ways[0]}`;
  if (ways.length === 1 && changesAt(state).some(isChanged) && !state.seen.includes(finding)) {
    state.seen = [...state.seen, finding].sort();
  }
}

// The first and the last word of each piece in which the text is read.
function piecesOf({ in_pieces }) {
  const { words, piece } = SPEC.data;
  const length = in_pieces ? piece : words;
  return Array.from({ length: Math.ceil(words / length) }, (_, n) =>
    [n * length, Math.min(words, (n + 1) * length) - 1]);
}

const EXPLORER = {
  columns: [1],
  minWidth: 280,
  height: (width) => Math.min(330, Math.max(270, 0.8 * width)),

  initialise(state) {
    state.seen ??= [];
    remember(state);
  },

  follow: remember,

  linked: {
    seen: (value) => Array.isArray(value) && value.every((finding) =>
      /^[PQRS] by (its start|pieces|others)$/.test(finding)) && value.length <= 12,
  },

  compute(state) {
    const changes = changesAt(state);
    const count = changes.filter(isChanged).length;
    return { changes, count, first: changes.findIndex(isChanged) };
  },

  draw([panel], { changes, count, first }, state) {
    const { words, allowed } = SPEC.data;
    const { layer, start, among_others } = state;
    const every = panel.width < PHONE_WIDTH ? 5 : 1;
    const places = changes.map((_, word) => word);
    panel.axes({
      x: [-0.7, words - 0.3], y: [-10.8, 0.4], xlabel: "position of the word",
      ylabel: "change of its output",
      title: `layer ${layer}: ${count} of ${words} outputs changed`,
      xticks: places.filter((word) => word % every === 0).map((word) => [word, start + word]),
      yticks: [[0, "1"], [-3, "0.001"], [-6, "10⁻⁶"], [FLOOR, "rounding"], [TEXTS[0], "the text"],
        ...(among_others ? [[(TEXTS[1] + TEXTS[2]) / 2, "others"]] : [])],
      legend: [{ name: "kept", colour: KEPT, mark: "dot", hollow: false },
        { name: "changed", colour: CHANGED, mark: "square", hollow: false }],
    });
    panel.across(Math.log10(allowed), { dash: "5 3" }).across(-7.8, { width: 0.8 });
    panel.write(panel.box.left + panel.box.width - 4, panel.box.top + panel.py(-3) - 5,
      `allowed: ${allowed}`, "om-end");
    if (first >= 0) panel.upright(first, { dash: "2 4" });
    for (const [from, to] of piecesOf(state)) {
      if (from) panel.upright(from - 0.5, { width: 0.8, fade: 0.6 });
      TEXTS.slice(0, among_others ? 3 : 1).forEach((row, n) =>
        panel.line([from - 0.35, to + 0.35], [row, row],
          n ? { colour: "grey", width: 9, fade: 0.5 } : { colour: "ink", width: 12 }));
    }
    const kept = places.filter((word) => !isChanged(changes[word]));
    const changed = places.filter((word) => isChanged(changes[word]));
    panel.dots(kept, kept.map((word) => changes[word] || FLOOR), { colour: KEPT, size: 4 })
      .dots(changed, changed.map((word) => changes[word]),
        { colour: CHANGED, mark: "square", hollow: false, size: 4 });
  },

  sentence({ count, first }, { layer, start, seen }) {
    const { words, allowed } = SPEC.data;
    const which = count ? `, first that of word ${first}, at position ${start + first}` : "";
    const findings = seen.length ? ` Seen to change so far: ${seen.join("; ")}.` : "";
    return `Layer ${layer}: ${count} of ${words} outputs change by more than ${allowed}${which}.`
      + findings;
  },

  description({ changes, count }, state) {
    const { words, allowed } = SPEC.data;
    const { layer, start, in_pieces, among_others } = state;
    const listed = changes.map((log, word) => (isChanged(log)
      ? `word ${word} by ${fixed(10 ** log, 3)}` : "")).filter(Boolean).join(", ");
    return `A dot for each of ${words} words, by position from ${start} to ${start + words - 1}: `
      + "how much its output changes, on a logarithmic axis with a line at what is allowed, "
      + `${allowed}. Layer ${layer} reads the text ${in_pieces
        ? `in pieces of ${SPEC.data.piece}` : "at once"}, ${among_others
        ? "as the last of three texts" : "alone"}: a bar below, with gaps between pieces. `
      + (count ? `Changed: ${listed}.` : "All dots are below the line, of the size of rounding.");
  },
};
