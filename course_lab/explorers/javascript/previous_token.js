// A head that looks k tokens back, without training: queries are the sinusoidal vectors, keys the
// same vectors shifted by k, and the scores are multiplied by a gain.

const TOKENS = 48;
const WIDTH = 128;
const CORNER = 12; // rows and columns of the shift matrix that are shown

// The corner of the matrix that shifts the encoding by k: a rotation for each pair.
function cornerOfShift(k, speeds) {
  const corner = new Float64Array(CORNER * CORNER);
  for (let m = 0; m < CORNER / 2; m++) {
    const cos = Math.cos(k * speeds[m]);
    const sin = Math.sin(k * speeds[m]);
    const start = 2 * m * (CORNER + 1);
    corner.set([cos, sin], start);
    corner.set([-sin, cos], start + CORNER);
  }
  return corner;
}

// Causal attention weights from scores by distance, queries by rows; later keys are NaN.
function causalWeights(scores) {
  const weights = new Float64Array(TOKENS * TOKENS).fill(NaN);
  for (let i = 0; i < TOKENS; i++) {
    const visible = scores.slice(0, i + 1);
    const largest = Math.max(...visible);
    const powers = visible.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    powers.forEach((power, distance) => {
      weights[i * TOKENS + i - distance] = power / total;
    });
  }
  return weights;
}

function largestAt(row) {
  return row.indexOf(Math.max(...row));
}

const EXPLORER = {
  columns: [0.95, 1.1, 1],
  minWidth: 240,
  height: () => 280,

  drag: {
    panel: 1,
    change: ([, y]) => ({ query: Math.min(TOKENS - 1, Math.max(0, Math.round(y))) }),
  },

  compute({ k, gain, query }) {
    const pairs = WIDTH / 2;
    const speeds = Array.from({ length: pairs }, (_, m) => 1e4 ** (-m / pairs));
    // PE of i times PE of j + k is a sum of cosines of i − j − k; here by distance i − j.
    const scores = Array.from({ length: TOKENS }, (_, distance) => gain / Math.sqrt(WIDTH)
      * speeds.reduce((sum, speed) => sum + Math.cos((distance - k) * speed), 0));
    const weights = causalWeights(scores);
    const row = Array.from(weights.slice(query * TOKENS, query * TOKENS + query + 1));
    const exact = query < k ? NaN : row[query - k]; // the first queries have no key k back
    return { shift: cornerOfShift(k, speeds), weights, row, exact, favourite: largestAt(row) };
  },

  draw([left, middle, right], { shift, weights, row }, { k, query }) {
    left.axes({
      x: [-0.5, CORNER - 0.5], y: [CORNER - 0.5, -0.5], equal: true, title: `shift by ${k}`,
      xlabel: `first ${CORNER} of ${WIDTH} columns`, bar: { signed: true, limit: 1 },
    }).matrix(shift, CORNER, { signed: true, limit: 1 });
    middle.axes({
      x: [-0.5, TOKENS - 0.5], y: [TOKENS - 0.5, -0.5], equal: true, title: "attention",
      xlabel: "key", ylabel: "query", bar: { limit: 1 },
    }).matrix(weights, TOKENS, { limit: 1 }).across(query);
    right.axes({
      x: [-0.5, TOKENS - 0.5], y: [0, 1.05], title: `weights of query ${query}`,
      xlabel: "key", ylabel: "weight",
    }).line(row.map((_, j) => j), row, { steps: true }).dots(row.map((_, j) => j), row);
    if (query >= k) right.upright(query - k);
  },

  sentence({ row, exact, favourite }, { k, query }) {
    if (query < k) {
      return `Query ${query} has no key ${k} back. Its largest weight, `
        + `${fixed(row[favourite], 2)}, goes to key ${favourite}.`;
    }
    const key = query - k;
    const neighbours = [row[key - 1], row[key + 1]].filter((weight) => weight >= 0);
    const rest = neighbours.length
      ? `, and ${neighbours.map((weight) => fixed(weight, 2)).join(" and ")} to the next nearest`
      : "";
    return `Query ${query} gives ${fixed(exact, 2)} of its weight to the key exactly ${k} back`
      + `${rest}.`;
  },

  description: ({ row, favourite }, { k, gain, query }) =>
    `Left: a corner of the matrix that shifts the encoding by ${k}: blocks of two by two along the `
    + "diagonal, each a rotation, and 0 elsewhere. Middle: attention of 48 tokens with a causal "
    + `mask, with W_q = I, W_k this shift and scores times ${fixed(gain, 0, 2)}: a line ${k} below `
    + "the diagonal, darker for a larger gain. The first queries have no key so far back. Right: "
    + `the weights of query ${query}, whose row is marked in the middle: the largest is `
    + `${fixed(row[favourite], 2)}, at key ${favourite}.`,
};
