// Heads whose bias is a straight line, slope · distance, and the best linear readout of them.
//
// Nine tokens, five different ones. A head's output is the share of its weight on each token. A
// readout adds the heads' outputs, each with a factor, and names the token with the largest sum.
// By symmetry among tokens least squares over all texts needs the weights alone.

const TOKENS = 9;
const SYMBOLS = 5;
const TEXTS = 1000; // that the readout is judged on
const TASKS = { "place 0": 0, "place 1": 1, "place 2": 2, "place 3": 3 };
const ASKED = 2; // the colour of the key asked for, as in the lesson's figures
const HEADS = [0, 1, "ink", 3]; // the colours of the heads
const ROOM = 5; // the middle panel reaches so many times as far as the sum's longest bar

// Random numbers between 0 and 1, the same ones everywhere: a linear congruential generator.
function uniformNumbers(count) {
  let state = 4;
  return Float64Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  });
}

const texts = uniformNumbers(TEXTS * TOKENS).map((number) => Math.floor(SYMBOLS * number));

// The key that each query is asked for; NaN where it is not asked.
function keysAsked(place) {
  return Array.from({ length: TOKENS }, (_, query) => (query >= place ? place : NaN));
}

// Causal weights of one head, (query, key), with bias slope · (query − key).
function weightsOf(slope) {
  return Array.from({ length: TOKENS }, (_, query) => {
    const powers = Array.from({ length: TOKENS }, (_, key) =>
      (key > query ? 0 : Math.exp(-slope * key)));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  });
}

// Least squares by modified Gram-Schmidt: the factors of the columns that come nearest to right.
function leastSquares(columns, right) {
  const basis = columns.map((column) => Float64Array.from(column));
  const rest = Float64Array.from(right);
  const dot = (u, v) => u.reduce((sum, number, n) => sum + number * v[n], 0);
  const subtract = (u, factor, v) => { for (let n = 0; n < u.length; n++) u[n] -= factor * v[n]; };
  const triangle = basis.map(() => []);
  const projections = basis.map((unit, i) => {
    const length = Math.sqrt(dot(unit, unit));
    triangle[i][i] = length;
    unit.forEach((number, n) => { unit[n] = number / length; });
    for (let j = i + 1; j < basis.length; j++) {
      triangle[i][j] = dot(unit, basis[j]);
      subtract(basis[j], triangle[i][j], unit);
    }
    const projection = dot(unit, rest);
    subtract(rest, projection, unit);
    return projection;
  });
  const factors = new Float64Array(basis.length);
  for (let i = basis.length - 1; i >= 0; i--) {
    let sum = projections[i];
    for (let j = i + 1; j < basis.length; j++) sum -= triangle[i][j] * factors[j];
    factors[i] = sum / triangle[i][i];
  }
  return factors;
}

// The factor of each head by least squares over all texts. Heads of equal slopes share a factor.
function readoutOf(slopes, asked) {
  const queries = asked.flatMap((key, query) => (Number.isNaN(key) ? [] : [query]));
  const different = [...new Set(slopes)];
  const columns = different.map((slope) => {
    const weights = weightsOf(slope);
    return queries.flatMap((query) => weights[query]);
  });
  const right = queries.flatMap((query) => asked.map((_, key) => Number(key === asked[query])));
  const factors = leastSquares(columns, right);
  return Float64Array.from(slopes, (slope) => {
    const sharing = slopes.filter((other) => other === slope).length;
    return factors[different.indexOf(slope)] / sharing;
  });
}

// The heads' weights, added up: (query, key); NaN where nothing is asked or seen.
function sumOf(heads, readout, asked) {
  return asked.flatMap((target, query) => Array.from({ length: TOKENS }, (_, key) => {
    if (key > query || Number.isNaN(target)) return NaN;
    return heads.reduce((sum, weights, head) => sum + readout[head] * weights[query][key], 0);
  }));
}

// The share of answers that are right. Tokens with equal sums share an answer.
function accuracyOf(sum, asked) {
  const equal = 1e-9 * Math.max(...sum.filter((number) => !Number.isNaN(number)).map(Math.abs));
  let right = 0;
  let count = 0;
  for (let text = 0; text < TEXTS; text++) {
    for (let query = 0; query < TOKENS; query++) {
      if (Number.isNaN(asked[query])) continue;
      const sums = new Array(SYMBOLS).fill(0);
      for (let key = 0; key <= query; key++) {
        sums[texts[text * TOKENS + key]] += sum[query * TOKENS + key];
      }
      const least = Math.max(...sums) - equal;
      const best = sums.filter((number) => number >= least).length;
      if (sums[texts[text * TOKENS + asked[query]]] >= least) right += 1 / best;
      count += 1;
    }
  }
  return right / count;
}

// byHand: the factors; null for those by least squares.
function answer(slopes, task, byHand) {
  const heads = slopes.map(weightsOf);
  const asked = keysAsked(TASKS[task]);
  const readout = byHand ?? readoutOf(slopes, asked);
  const sum = sumOf(heads, readout, asked);
  return { readout, sum, accuracy: accuracyOf(sum, asked) };
}

function isByHand({ heads, factors }) {
  return heads === 2 && factors === "by hand";
}

function factor(number) {
  return fixed(number, Math.abs(number) < 100 ? 1 : 0);
}

// What the middle panel shows. The heads' parts can be thousands that add up to 1, and key 0 can
// dwarf the others: so lines and the bar of key 0 may leave the panel, and the other bars do not.
function rangeOf(sum, parts, target) {
  const watched = target === 0 ? sum : sum.slice(1);
  const room = Math.max(0.05, ROOM * Math.max(...watched.map(Math.abs)));
  const ends = [...sum, ...parts.flat()].map((number) => Math.max(-room, Math.min(room, number)));
  return [1.1 * Math.min(0, ...ends), 1.1 * Math.max(0, ...ends)];
}

function isCut(number, [low, high]) {
  return number < low || number > high;
}

// Two gaps in the bar of key 0 near the end of the panel that it passes, and its number beside.
function cutBar(panel, number, [low, high]) {
  const end = number < 0 ? low : high;
  for (const share of [0.8, 0.88]) {
    panel.line([-0.5, 0.5], [(share - 0.03) * end, (share + 0.03) * end], {
      colour: "paper", width: 4,
    });
  }
  const { left, top } = panel.box;
  const text = `key 0: ${fixed(number, 2)}`;
  panel.write(left + panel.px(1.3), top + panel.py(0.93 * end) + 4, text, "om-start");
}

// Parts that leave the panel have their numbers at key 0 on the right, one below the other.
function writePartsAtKey0(panel, parts) {
  const { left, top, width } = panel.box;
  ["parts at key 0:", ...parts.map(([part], head) => `head ${head + 1}: ${factor(part)}`)]
    .forEach((text, row) => panel.write(left + width - 2, top + 14 + 15 * row, text, "om-end"));
}

// The share of right answers over each bar, or over the dashed line that it would stand in. It is
// rounded down: 1.00 only where all are right.
function writeShares(panel, shares, lines) {
  const { left, top } = panel.box;
  shares.forEach((share, n) => {
    const foot = lines.find((line) => share < line && share > line - 0.07) ?? share;
    const text = fixed(Math.floor(100 * share + 1e-6) / 100, 2);
    panel.write(left + panel.px(n), top + panel.py(foot) - 4, text);
  });
}

// The largest entry but for key 0, which can dwarf the others, unless it is asked for; rounded up
// to two digits.
function limitOf(sum, target) {
  const watched = sum.filter((number, n) => !Number.isNaN(number) && (target === 0 || n % TOKENS));
  const largest = Math.max(1e-3, ...watched.map(Math.abs));
  const digit = 10 ** (Math.floor(Math.log10(largest)) - 1);
  return Number((digit * Math.ceil(largest / digit - 1e-6)).toPrecision(2));
}

function favourite(weights) {
  return weights.indexOf(Math.max(...weights));
}

const EXPLORER = {
  columns: [1, 1.1, 1],
  minWidth: 240,
  height: () => 290,

  unused: (state) => [
    ...["first", "second", "third", "fourth"].slice(state.heads),
    ...(state.heads === 2 ? [] : ["factors"]),
    ...(isByHand(state) ? [] : ["head_1_factor"]),
  ],

  compute(state) {
    const { task, heads: count, first, second, third, fourth } = state;
    const slopes = [first, second, third, fourth].slice(0, count);
    const byHand = isByHand(state) ? Float64Array.of(state.head_1_factor, 1) : null;
    const answers = Object.keys(TASKS).map((name) => answer(slopes, name, byHand));
    const { readout, sum, accuracy } = answers[Object.keys(TASKS).indexOf(task)];
    const last = slopes.map((slope) => weightsOf(slope)[TOKENS - 1]);
    const parts = last.map((weights, head) => weights.map((weight) => readout[head] * weight));
    const accuracies = answers.map((each) => each.accuracy);
    return { last, parts, readout, sum, accuracy, accuracies };
  },

  draw([shares, lastQuery, sums], { parts, sum, accuracies }, { task, ...others }) {
    const keys = Array.from({ length: TOKENS }, (_, key) => key);
    const lastSum = sum.slice(-TOKENS);
    const asked = keysAsked(TASKS[task]);
    const target = asked.at(-1);
    const y = rangeOf(lastSum, parts, target);
    const later = lastSum.slice(target + 1).reduce((total, number) => total + number, 0);
    const legend = parts.map((_, head) => ({ name: `head ${head + 1}`, colour: HEADS[head] }));
    legend.push({ name: "sum", colour: "grey", mark: "square", hollow: false });
    lastQuery.axes({
      x: [-0.6, TOKENS - 0.4], y, xticks: keys, title: "last query: parts and sum", legend,
      xlabel: `key (green: ${fixed(lastSum[target], 2)}, all later: ${fixed(later, 2)})`,
    }).bars(keys, lastSum, { colour: "grey" })
      .bars([target], [lastSum[target]], { colour: ASKED }).across(0);
    if (isCut(lastSum[0], y)) cutBar(lastQuery, lastSum[0], y);
    if (parts.flat().some((part) => isCut(part, y))) writePartsAtKey0(lastQuery, parts);
    parts.forEach((part, head) => {
      lastQuery.line(keys, part, { colour: HEADS[head] }).dots(keys, part, { colour: HEADS[head] });
    });
    const queries = keys.filter((query) => !Number.isNaN(asked[query]));
    const colours = { signed: true, limit: limitOf(sum, target) };
    sums.axes({
      x: [-0.5, TOKENS - 0.5], y: [TOKENS - 0.5, -0.5], equal: true, title: "each query: the sum",
      xlabel: "key (squares: asked for)", ylabel: "query", bar: colours,
    }).matrix(sum, TOKENS, colours)
      .dots(queries.map((query) => asked[query]), queries, {
        mark: "square", size: 7, colour: "paper", width: 5,
      })
      .dots(queries.map((query) => asked[query]), queries, {
        mark: "square", size: 7, colour: ASKED,
      });
    const names = Object.keys(TASKS);
    const chosen = names.indexOf(task);
    shares.axes({
      x: [-0.6, names.length - 0.4], y: [0, 1.12],
      title: isByHand(others) ? "right, same factors" : "right answers",
      xticks: keys.slice(0, names.length), xlabel: "place", ylabel: "share",
      yticks: [0, [1 / SYMBOLS, "guessing"], 0.5, [0.98, "98 %"]],
    }).bars(names.map((_, n) => n), accuracies, { colour: "grey" })
      .bars([chosen], [accuracies[chosen]], { colour: ASKED })
      .across(1 / SYMBOLS, { dash: "4 3" }).across(0.98, { dash: "4 3" });
    writeShares(shares, accuracies, [1 / SYMBOLS, 0.98]);
  },

  sentence({ readout, accuracy }, { task }) {
    const terms = Array.from(readout, (number, n) => `${factor(number)} × head ${n + 1}`);
    const percent = Math.floor(1000 * accuracy + 1e-6) / 10; // 100 only where all are right
    return `The token at ${task} is named right in ${fixed(percent, 0, 1)} % of answers to `
      + `${TEXTS} texts; guessing gets 20 %. The readout adds ${terms.join(", ")}.`;
  },

  description: ({ last, parts, sum, accuracies }, { task, ...others }) =>
    "Left: bars of the share of right answers: "
    + `${Object.keys(TASKS).map((name, n) => `${name} ${fixed(accuracies[n], 2)}`).join(", ")}; `
    + "dashed lines are guessing and 98 %. "
    + (isByHand(others) ? "All bars have the same factors, set by hand. "
      : "Each bar has its task's factors by least squares. ")
    + "Middle, the last of nine queries: a line a head, its weights times its factor, at key 0 "
    + `${parts.map(([part]) => fixed(part, 2)).join(", ")}; bars, what they add up to, green at `
    + "the key asked for, at keys 0 to 8 "
    + `${sum.slice(-TOKENS).map((number) => fixed(number, 2)).join(", ")}`
    + `${isCut(sum.at(-TOKENS), rangeOf(sum.slice(-TOKENS), parts, TASKS[task]))
      ? "; the bar of key 0 is cut" : ""}. Each of ${last.length} `
    + `heads has the largest weight on key ${last.map(favourite).join(", ")}. Right: such sums of `
    + `each query; squares mark the key that “${task}” asks for, grey what is not asked or not `
    + "seen.",
};
