// Heads whose bias is a straight line, slope · distance, and the best linear readout of them.
//
// Nine tokens, five different ones. A head's output is the share of its weight on each token. A
// readout adds the heads' outputs, each with a factor, and names the token with the largest sum.
// By symmetry among tokens least squares over all texts needs the weights alone.

const TOKENS = 9;
const SYMBOLS = 5;
const TEXTS = 500; // that the readout is judged on
const TASKS = { "token before": null, "place 0": 0, "place 1": 1, "place 2": 2, "place 3": 3 };
const HIGHEST_BAR = 1.6; // with three heads bars run to 40, with four to 4,000; sums stay near 1
const COLOURS = [0, 2, 3, "soft"]; // of heads; gold is the key asked for
const NOISES = {
  none: 0, "1 in 100,000": 1e-5, "1 in 10,000": 1e-4, "1 in 1,000": 1e-3, "1 in 100": 1e-2,
};

// Random numbers between 0 and 1, the same ones everywhere: a linear congruential generator.
function uniformNumbers(count) {
  let state = 4;
  return Float64Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  });
}

let drawn = null; // the texts, and noise of standard deviation 1 on each sum

function textsAndNoise() {
  if (drawn) return drawn;
  const sums = TEXTS * TOKENS * SYMBOLS;
  const uniform = uniformNumbers(TEXTS * TOKENS + 4 * sums);
  const texts = uniform.slice(0, TEXTS * TOKENS).map((number) => Math.floor(SYMBOLS * number));
  const noise = new Float64Array(sums).map((_, n) => {
    const at = TEXTS * TOKENS + 4 * n;
    return Math.sqrt(3) * (uniform[at] + uniform[at + 1] + uniform[at + 2] + uniform[at + 3] - 2);
  });
  drawn = { texts, noise };
  return drawn;
}

// The key that each query is asked for; NaN where it is not asked.
function keysAsked(place) {
  return Array.from({ length: TOKENS }, (_, query) => {
    if (place === null) return query > 0 ? query - 1 : NaN;
    return query >= place ? place : NaN;
  });
}

// Causal weights of one head, (query, key), with bias slope · (query − key).
function weightsOf(slope) {
  return Array.from({ length: TOKENS }, (_, query) => {
    const powers = Array.from({ length: TOKENS }, (_, key) =>
      (key > query ? 0 : Math.exp(slope * (slope > 0 ? -key : query - key))));
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
function accuracyOf(sum, asked, noise) {
  const { texts, noise: unit } = textsAndNoise();
  const equal = 1e-9 * Math.max(...sum.filter((number) => !Number.isNaN(number)).map(Math.abs));
  let right = 0;
  let count = 0;
  for (let text = 0; text < TEXTS; text++) {
    for (let query = 0; query < TOKENS; query++) {
      if (Number.isNaN(asked[query])) continue;
      const start = (text * TOKENS + query) * SYMBOLS;
      const sums = Array.from({ length: SYMBOLS }, (_, n) => noise * unit[start + n]);
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

function answer(slopes, task, noise) {
  const heads = slopes.map(weightsOf);
  const asked = keysAsked(TASKS[task]);
  const readout = readoutOf(slopes, asked);
  const sum = sumOf(heads, readout, asked);
  const size = Math.sqrt(readout.reduce((total, factor) => total + factor * factor, 0));
  return { readout, sum, accuracy: accuracyOf(sum, asked, noise * size) };
}

function factor(number) {
  return fixed(number, Math.abs(number) < 100 ? 1 : 0);
}

// The heads' weights times their factors, above 0 or below it, added up from head to head: what to
// draw so that they stand upon one another.
function stacked(parts, sign) {
  const total = new Float64Array(TOKENS);
  return parts.map((part) => {
    part.forEach((number, key) => { total[key] += Math.max(0, sign * number); });
    return total.map((number) => sign * number);
  });
}

const EXPLORER = {
  columns: [1, 1.1, 1],
  minWidth: 240,
  height: () => 290,

  unused: ({ heads }) => ["first", "second", "third", "fourth"].slice(heads),

  compute({ task, noise, heads: count, first, second, third, fourth }) {
    const slopes = [first, second, third, fourth].slice(0, count);
    const answers = Object.keys(TASKS).map((name) => answer(slopes, name, NOISES[noise]));
    const { readout, sum, accuracy } = answers[Object.keys(TASKS).indexOf(task)];
    const last = slopes.map((slope) => weightsOf(slope)[TOKENS - 1]);
    const parts = last.map((weights, head) => weights.map((weight) => readout[head] * weight));
    const accuracies = answers.map((each) => each.accuracy);
    return { last, parts, readout, sum, accuracy, accuracies };
  },

  draw([shares, lastQuery, sums], { parts, sum, accuracies }, state) {
    const { task, noise } = state;
    const slopes = [state.first, state.second, state.third, state.fourth];
    const keys = Array.from({ length: TOKENS }, (_, key) => key);
    const [above, below] = [stacked(parts, 1), stacked(parts, -1)];
    const lastSum = sum.slice(-TOKENS);
    const asked = keysAsked(TASKS[task]);
    const target = asked.at(-1);
    const farthest = Math.max(...above.at(-1), ...below.at(-1).map(Math.abs));
    const highest = Math.min(HIGHEST_BAR, Math.max(0.2, ...above.at(-1)));
    const lowest = Math.max(-HIGHEST_BAR, Math.min(-0.2 * highest, ...below.at(-1)));
    const shortened = (heights) => heights.map(
      (height) => Math.min(1.08 * highest, Math.max(1.08 * lowest, height)));
    const runOn = farthest > HIGHEST_BAR ? `; bars to ±${fixed(farthest, 0)}` : "";
    lastQuery.axes({
      x: [-0.6, TOKENS - 0.4], y: [1.08 * lowest, 1.08 * highest], xticks: keys,
      title: "last query: factor × weight",
      xlabel: `key (gold dot: ${fixed(lastSum[target], 2)}${runOn})`, ylabel: "added up",
      legend: [...parts.map((_, n) => ({
        name: `${n ? "" : "slope "}${fixed(slopes[n], 2)}`,
        colour: COLOURS[n], mark: "square", hollow: false,
      })), { name: "sum", colour: "ink", mark: "dot", hollow: false }],
    });
    for (let n = parts.length - 1; n >= 0; n--) {
      const colour = COLOURS[n];
      lastQuery.bars(keys, shortened(above[n]), { colour })
        .bars(keys, shortened(below[n]), { colour });
    }
    lastQuery.across(0).dots(keys, lastSum, { colour: "paper", size: 5 })
      .dots(keys, lastSum, { colour: "ink", size: 3.5 });
    lastQuery.dots([target], [lastSum[target]], { colour: "paper", size: 8 })
      .dots([target], [lastSum[target]], { colour: "gold", size: 6.5 });
    const queries = keys.filter((query) => !Number.isNaN(asked[query]));
    sums.axes({
      x: [-0.5, TOKENS - 0.5], y: [TOKENS - 0.5, -0.5], equal: true, title: "read out: their sum",
      xlabel: "key (squares: asked for)", ylabel: "query", bar: { signed: true, limit: 1 },
    }).matrix(sum, TOKENS, { signed: true, limit: 1 })
      .dots(queries.map((query) => asked[query]), queries, {
        mark: "square", size: 7, colour: "paper", width: 5,
      })
      .dots(queries.map((query) => asked[query]), queries, {
        mark: "square", size: 7, colour: "gold",
      });
    const names = Object.keys(TASKS);
    const chosen = names.indexOf(task);
    shares.axes({
      x: [-0.6, names.length - 0.4], y: [0, 1.05],
      title: noise === "none" ? "right answers" : `right, noise ${noise}`,
      xticks: names.map((name, n) => [n, name.replace("token ", "").replace("place ", "")]),
      xlabel: "token before · place 0, 1, 2, 3", ylabel: "share",
    }).bars(names.map((_, n) => n), accuracies, { colour: "grey" })
      .bars([chosen], [accuracies[chosen]], { colour: "gold" })
      .across(1 / SYMBOLS, { dash: "4 3" }).across(0.98, { dash: "4 3" });
  },

  sentence({ readout, accuracy }, { task, noise }) {
    const terms = Array.from(readout, (number, n) => `${factor(number)} × head ${n + 1}`);
    const what = task === "token before" ? "The token before" : `The token at ${task}`;
    const under = noise === "none" ? "" : ` with noise of ${noise} on each output`;
    const percent = Math.floor(1000 * accuracy + 1e-6) / 10; // 100 only where all are right
    return `${what} is named right in ${fixed(percent, 0, 1)} % of answers${under}; guessing `
      + `gets 20 %. The readout adds ${terms.join(", ")}.`;
  },

  description: ({ last, parts, sum, accuracies }, { task, noise }) =>
    `Left: bars of the share of right answers, noise: ${noise}: `
    + `${Object.keys(TASKS).map((name, n) => `${name} ${fixed(accuracies[n], 2)}`).join(", ")}; `
    + "dashed lines are guessing and 98 %. Each bar has its task's factors by least squares. "
    + "Middle: bars of the weights that the last of nine queries gives the keys, times the "
    + `factors, one upon another, one colour for each of ${last.length} heads whose bias is a `
    + "straight line; their largest weights are on key "
    + `${last.map((weights) => weights.indexOf(Math.max(...weights))).join(", ")}. At key 0 the `
    + `heads add ${parts.map((part) => factor(part[0])).join(", ")}. Dots, gold at the key asked `
    + "for: the sums, at keys 0 to 8 "
    + `${sum.slice(-TOKENS).map((number) => fixed(number, 2)).join(", ")}. Right: the sums of `
    + `each query; squares mark the key that “${task}” asks for, grey what is not asked or not `
    + "seen.",
};
