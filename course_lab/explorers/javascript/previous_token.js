// A head that looks k tokens back, without training: queries are the sinusoidal vectors, keys the
// same vectors shifted by k, and the scores are multiplied by a gain.

const TOKENS = 48, WIDTH = 128, CORNER = 12; // CORNER: how much of the shift is shown

const EXPLORER = {
  columns: [0.95, 1.1, 1],
  least: 240,
  height: () => 280,

  compute({ k, gain }) {
    const pairs = WIDTH / 2, theta = Array.from({ length: pairs }, (_, m) => 1e4 ** (-m / pairs));
    const shift = new Float64Array(CORNER * CORNER);
    for (let m = 0; m < CORNER / 2; m++) {
      const cos = Math.cos(k * theta[m]), sin = Math.sin(k * theta[m]), at = 2 * m * (CORNER + 1);
      shift.set([cos, sin], at);
      shift.set([-sin, cos], at + CORNER);
    }
    // PE of i times PE of j + k is a sum of cosines of i − j − k; here by distance i − j.
    const score = Array.from({ length: TOKENS }, (_, back) => gain / Math.sqrt(WIDTH)
      * theta.reduce((sum, one) => sum + Math.cos((back - k) * one), 0));
    const weights = new Float64Array(TOKENS * TOKENS).fill(NaN); // later keys are hidden
    for (let i = 0; i < TOKENS; i++) {
      const seen = score.slice(0, i + 1), largest = Math.max(...seen);
      const total = seen.reduce((sum, one) => sum + Math.exp(one - largest), 0);
      seen.forEach((one, back) => {
        weights[i * TOKENS + i - back] = Math.exp(one - largest) / total;
      });
    }
    const row = Array.from(weights.slice(-TOKENS));
    return { shift, weights, row, exact: row[TOKENS - 1 - k] };
  },

  draw([left, middle, right], { shift, weights, row }, { k }) {
    left.axes({
      x: [-0.5, CORNER - 0.5], y: [CORNER - 0.5, -0.5], equal: true, title: `shift by ${k}`,
      xlabel: `first ${CORNER} of ${WIDTH} columns`, bar: { signed: true, limit: 1 },
    }).matrix(shift, CORNER, { signed: true, limit: 1 });
    middle.axes({
      x: [-0.5, TOKENS - 0.5], y: [TOKENS - 0.5, -0.5], equal: true, title: "attention",
      xlabel: "key", ylabel: "query", bar: { limit: 1 },
    }).matrix(weights, TOKENS, { limit: 1 });
    const keys = row.map((_, j) => j);
    right.axes({
      x: [-0.5, TOKENS - 0.5], y: [0, 1.05], title: `weights of query ${TOKENS - 1}`,
      xlabel: "key", ylabel: "weight",
    }).upright(TOKENS - 1 - k).line(keys, row, { steps: true });
  },

  sentence({ row, exact }, { k }) {
    const at = TOKENS - 1 - k, near = [row[at - 1], row[at + 1]].filter((one) => one >= 0);
    return `The last query gives ${fixed(exact, 2)} of its weight to the key exactly ${k} back, `
      + `and ${near.map((one) => fixed(one, 2)).join(" and ")} to the next nearest.`;
  },

  words: ({ exact }, { k, gain }) =>
    `Left: a corner of the matrix that shifts the encoding by ${k}: blocks of two by two along the `
    + "diagonal, each a rotation, and 0 elsewhere. Middle: attention of 48 tokens behind a causal "
    + `mask, with W_q = I, W_k this shift and scores times ${fixed(gain, 0, 2)}: a line ${k} below `
    + "the diagonal, darker for a larger gain. The first queries have no key so far back. Right: "
    + `the weights of the last query, with a peak of ${fixed(exact, 2)} at key ${TOKENS - 1 - k}.`,
};
