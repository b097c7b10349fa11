// Attention over a sentence whose words can be moved: what becomes of its weights and its rows.
// One head with random matrices; each word has a vector of its own, wherever it stands.

const MOST_WORDS = 9;
const LONGEST_NAME = 9; // characters of a word on an axis
const ROUNDING = 1e-5; // smaller differences are rounding noise
const GROUP_COLOURS = [2, 0, 1]; // of frames around rows that are the same
const WORD_COLOURS = [0, 1, "gold", 3, "grey", 2]; // of different words; then paler once more
const BAR = 0.72; // of a row's height
const SMALLEST_NUMBER = 34; // pixels of a bar's part that holds its number

// The words as typed, with their number among them as `key`.
function typedWords({ text }) {
  const words = text.trim().split(/\s+/).slice(0, MOST_WORDS);
  return words.map((word, key) => ({ key, text: word }));
}

function tilesOf(state) {
  const words = typedWords(state);
  return state.order.map((key) => words[key]);
}

// A vector for a word, the same at every call: random numbers that begin at a hash of the word.
function vectorOf(word, { scale, outputs }) {
  let seed = 2166136261; // FNV-1a
  for (let i = 0; i < word.length; i++) {
    seed = Math.imul(seed ^ word.charCodeAt(i), 16777619) >>> 0;
  }
  const uniform = () => { // xorshift
    seed = (seed ^ seed << 13) >>> 0;
    seed = (seed ^ seed >>> 17) >>> 0;
    seed = (seed ^ seed << 5) >>> 0;
    return seed / 2 ** 32;
  };
  const normal = () => Math.sqrt(3) * (uniform() + uniform() + uniform() + uniform() - 2);
  return Array.from(outputs, () => scale * normal());
}

function times(matrix, vector) {
  return matrix.map((row) => row.reduce((sum, factor, n) => sum + factor * vector[n], 0));
}

function dot(a, b) {
  return a.reduce((sum, value, n) => sum + value * b[n], 0);
}

// One layer: the weights of each query, NaN where the mask hides a key, and the output rows.
function attend(x, { scores, outputs }, mask) {
  const values = x.map((row) => times(outputs, row));
  const asked = x.map((row) => times(scores, row)); // the key that each query would like best
  const weights = x.map((_, i) => {
    const seen = mask ? x.slice(0, i + 1) : x;
    const row = seen.map((key) => dot(asked[i], key));
    const largest = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return x.map((_, j) => (j < powers.length ? powers[j] / total : NaN));
  });
  const rows = weights.map((row) => x[0].map((_, n) =>
    row.reduce((sum, weight, j) => (Number.isNaN(weight) ? sum : sum + weight * values[j][n]), 0)));
  return { weights, rows };
}

// Attention over words in this order. A second layer reads each word beside what the first made.
function read(words, { places = false, mask = false, layers = 1 }, data) {
  let x = words.map(({ text }, place) => {
    const vector = vectorOf(text, data);
    return places ? vector.map((value, n) => value + data.table[place][n]) : vector;
  });
  let result = attend(x, data, mask);
  if (layers === 2) {
    x = x.map((row, i) => row.map((value, n) => value + result.rows[i][n]));
    result = attend(x, data, mask);
  }
  return result;
}

// How much of its weight each place gives to each word as typed, added up over the word's places.
function sharesOf(weights, words, different) {
  return weights.map((row) => different.map((word) => row.reduce((sum, weight, place) =>
    (words[place].text === word && !Number.isNaN(weight) ? sum + weight : sum), 0)));
}

function differentWords(state) {
  return [...new Set(typedWords(state).map(({ text }) => text))];
}

function meanOf(rows) {
  return rows[0].map((_, n) => rows.reduce((sum, row) => sum + row[n], 0) / rows.length);
}

function largestGap(a, b) {
  return Math.max(...a.map((value, n) => Math.abs(value - b[n])));
}

// What an axis calls a word; places count where the mask is.
function nameOf(text, place, { mask }) {
  const name = text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text;
  return mask === undefined ? name : `${place} ${name}`;
}

// A frame around row `place` of a matrix with so many columns.
function frame(panel, place, columns, colour) {
  const [left, right, top, bottom] = [-0.45, columns - 0.55, place - 0.47, place + 0.47];
  const x = [left, right, right, left, left];
  return panel.line(x, [top, top, bottom, bottom, top], { colour, width: 2.5 });
}

// A bar for each place, in parts by the word that is seen.
function drawShares(panel, shares, state, names) {
  const n = shares.length;
  const lookOf = (number) => ({
    colour: WORD_COLOURS[number % WORD_COLOURS.length],
    fade: number < WORD_COLOURS.length ? 1 : 0.5,
  });
  panel.axes({
    x: [0, 1], y: [n - 0.5, -0.5],
    title: `what each place sees${state.layers === 2 ? ", layer 2" : ""}`,
    xlabel: "share of the weights", ylabel: "query", xticks: [0, 0.5, 1], yticks: names,
    legend: differentWords(state).map((name, number) =>
      ({ name, mark: "square", hollow: false, ...lookOf(number) })),
  });
  const thickness = BAR * panel.box.height / n;
  shares.forEach((parts, place) => {
    let from = 0;
    parts.forEach((share, number) => {
      const look = lookOf(number);
      const to = from + share;
      panel.line([from, to], [place, place], { ...look, width: thickness });
      if (share * panel.box.width > SMALLEST_NUMBER) {
        const ink = look.colour === 0 && look.fade === 1 && !panel.dark ? "#fff" : "#111";
        panel.inside.push(`<text x="${panel.px((from + to) / 2).toFixed(1)}" `
          + `y="${(panel.py(place) + 4).toFixed(1)}" class="om-number" `
          + `style="font-size:12px;fill:${ink}">${fixed(100 * share, 0)} %</text>`);
      }
      from = to;
    });
  });
}

// A frame around what belongs to a place: its bar.
function frameBar(panel, place, colour) {
  const [top, bottom] = [place - 0.47, place + 0.47];
  return panel.line([0.004, 0.996, 0.996, 0.004, 0.004], [top, top, bottom, bottom, top],
    { colour, width: 2.5 });
}

// Places whose rows are the same, group by group: "0, 2 and 6; and at 1 and 3".
function groupsOf(alike) {
  const firstLike = new Map(); // a place → the first with the same row
  alike.forEach(([j, i]) => {
    if (!firstLike.has(j)) firstLike.set(j, j);
    if (!firstLike.has(i)) firstLike.set(i, firstLike.get(j));
  });
  const groups = new Map();
  [...firstLike].forEach(([place, first]) => {
    groups.set(first, [...(groups.get(first) ?? []), place].sort((a, b) => a - b));
  });
  return [...groups.values()];
}

function namesOf(groups) {
  const names = groups.map((group) => `${group.slice(0, -1).join(", ")} and ${group.at(-1)}`);
  return names.join("; and at ");
}

// How many rows have changed since the sentence was typed, and by how much.
function changesInWords({ apart, changed }, { order }) {
  const which = `${changed} of ${order.length} rows differ from what they were as typed`;
  return changed ? `${which}, by ${inWords(apart)}` : `${which} by more than rounding noise`;
}

function inWords(gap) {
  return gap < ROUNDING ? "rounding noise" : `up to ${fixed(gap, 2)}`;
}

const EXPLORER = {
  columns: [1, 1.25],
  minWidth: 280,
  height: () => 310,

  initialise(state) {
    state.order ??= typedWords(state).map(({ key }) => key);
    state.moved ??= -1;
  },

  follow(state, name) {
    if (name !== "text") return;
    state.order = typedWords(state).map(({ key }) => key);
    state.moved = -1;
  },

  linked: {
    order: (value, { text = "" }) => Array.isArray(value)
      && [...value].sort((a, b) => a - b).join()
        === typedWords({ text }).map(({ key }) => key).join(),
  },

  tiles: {
    label: "The sentence. Drag a word, or move it with the arrow keys.",
    list: tilesOf,
    move({ order }, from, to) {
      const others = order.filter((_, place) => place !== from);
      const moved = order[from];
      return { order: [...others.slice(0, to), moved, ...others.slice(to)], moved };
    },
  },

  // One order after another, at random.
  play: {
    label: "shuffle",
    step({ order }) {
      const drawn = order.map((key) => [Math.random(), key]).sort(([a], [b]) => a - b);
      return { order: drawn.map(([, key]) => key), moved: -1 };
    },
  },

  compute(state, data) {
    const words = tilesOf(state);
    const { weights, rows } = read(words, state, data);
    const typed = read(typedWords(state), state, data).rows;
    const apart = rows.map((row, place) => largestGap(row, typed[state.order[place]]));
    const alike = rows.flatMap((row, i) => rows.slice(0, i)
      .flatMap((other, j) => (largestGap(row, other) < ROUNDING ? [[j, i]] : [])));
    const mean = meanOf(rows);
    const pooled = largestGap(mean, meanOf(typed));
    const changed = apart.filter((gap) => gap >= ROUNDING).length;
    const shares = sharesOf(weights, words, differentWords(state));
    return { weights, shares, rows, mean, apart: Math.max(...apart), changed, pooled, alike };
  },

  draw([left, right], { weights, shares, rows, mean, alike }, state) {
    const n = rows.length;
    const width = mean.length;
    const masked = state.mask !== undefined;
    const names = tilesOf(state).map(({ text }, place) => [place, nameOf(text, place, state)]);
    if (masked) drawShares(left, shares, state, names);
    else {
      left.axes({
        x: [-0.5, n - 0.5], y: [n - 0.5, -0.5], equal: true, upright: true, title: "weights",
        xlabel: "key", ylabel: "query", xticks: names, yticks: names, bar: { limit: 1 },
      }).matrix(weights.flat(), n, { limit: 1 });
    }
    const frameLeft = (place, colour) => (masked ? frameBar(left, place, colour)
      : frame(left, place, n, colour));
    const gap = Array(width).fill(NaN);
    const colours = { signed: true, limit: masked ? 1 : 2 };
    right.axes({
      x: [-0.5, width - 0.5], y: [n + 1.5, -0.5], title: "output, a row for each word",
      xlabel: "feature", xticks: [0, 5, 10, 15], yticks: [...names, [n + 1, "mean"]], bar: colours,
    }).matrix([...rows, gap, mean].flat(), width, colours);
    if (masked) {
      groupsOf(alike).forEach((group, number) => group.forEach((twin) => {
        const colour = GROUP_COLOURS[number % GROUP_COLOURS.length];
        frameLeft(twin, colour);
        frame(right, twin, width, colour);
      }));
    }
    const place = state.order.indexOf(state.moved);
    if (place < 0) return;
    frameLeft(place, 3);
    frame(right, place, width, 3);
  },

  sentence({ apart, changed, pooled, alike }, state) {
    const order = tilesOf(state).map(({ text }) => text).join(" ");
    const moved = state.order.some((key, place) => key !== place);
    if (state.mask === undefined && !moved) {
      return `${order}: ${state.order.length} words, as typed. Move one.`;
    }
    if (state.mask === undefined) {
      return `${order}: ${changesInWords({ apart, changed }, state)}; the mean differs by `
        + `${inWords(pooled)}.`;
    }
    const groups = namesOf(groupsOf(alike));
    return `${order}: ${groups ? `the same row at places ${groups}` : "no two rows are the same"}. `
      + (moved
        ? `${changesInWords({ apart, changed }, state)}.`
        : `${state.order.length} words, as typed.`);
  },

  description({ apart, pooled, alike }, state) {
    const words = tilesOf(state).map(({ text }) => text);
    const mask = state.mask ? "behind a causal mask" : "without a mask";
    const layers = state.layers === 2 ? "two layers" : "one layer";
    const places = state.places ? "with a vector for its place added to each word" : "no positions";
    const groups = namesOf(groupsOf(alike)) || "none";
    const masked = state.mask !== undefined;
    const seen = masked
      ? "a bar for each place, in parts by the word that gets the weight"
      : `a square of weights, queries down and keys across, in the order ${words.join(" ")}`;
    const framed = masked ? "Places with the same row have frames of one colour. " : "";
    return `Attention ${mask}, ${layers}, ${places}. Left: ${seen}. Right: the output as coloured `
      + `rows of 16 numbers, a row for each word in the order ${words.join(" ")}, and below them `
      + "their mean. The row of the word that was moved last has a frame. "
      + `${framed}Against the order as typed, a word's row differs by ${inWords(apart)} and the `
      + `mean by ${inWords(pooled)}. Places with the same row: ${groups}.`;
  },
};
