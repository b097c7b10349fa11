// ALiBi: what distance costs a head, and which tokens the head therefore attends to.

const LARGEST_COST = 8; // costs above have one colour: such a key weighs less than e⁻⁸ of the best
const SHARE = 0.95; // of a query's weight, which lies within its reach

// The slopes of the authors' code: powers of two, and those between for other numbers of heads.
function slopes(heads) {
  const lower = 2 ** Math.floor(Math.log2(heads));
  const powers = Array.from({ length: lower }, (_, h) => 2 ** (-8 * (h + 1) / lower));
  const between = Array.from({ length: lower }, (_, h) => 2 ** (-4 * (2 * h + 1) / lower));
  return [...powers, ...between].slice(0, heads);
}

// Bias and attention weights over tokens of equal scores, queries by rows; hidden keys are NaN.
function attentionOf(slope, length, symmetric) {
  const bias = new Float64Array(length * length).fill(NaN);
  const weights = new Float64Array(length * length).fill(NaN);
  const power = Array.from({ length }, (_, distance) => Math.exp(-slope * distance));
  for (let i = 0; i < length; i++) {
    const end = symmetric ? length : i + 1; // a causal mask hides later keys
    let total = 0;
    for (let j = 0; j < end; j++) total += power[Math.abs(i - j)];
    for (let j = 0; j < end; j++) {
      bias[i * length + j] = -slope * Math.abs(i - j);
      weights[i * length + j] = power[Math.abs(i - j)] / total;
    }
  }
  return { bias, weights };
}

// The distance within which most of a query's weight lies.
function reachOf(row, query) {
  const byDistance = new Array(row.length).fill(0);
  row.forEach((weight, j) => { byDistance[Math.abs(query - j)] += weight || 0; });
  let reach = 0;
  let sum = byDistance[0];
  while (sum < SHARE) {
    reach += 1;
    sum += byDistance[reach];
  }
  return reach;
}

const EXPLORER = {
  columns: [1.15, 1.05, 1],
  minWidth: 240,
  height: () => 290,
  limits: ({ heads }) => ({ head: [0, heads - 1] }),

  compute({ heads, head, length, symmetric }) {
    const slope = slopes(heads)[head];
    const { bias, weights } = attentionOf(slope, length, symmetric);
    const query = symmetric ? length / 2 : length - 1;
    const row = Array.from(weights.slice(query * length, (query + 1) * length));
    const visible = row.filter((weight) => weight >= 0);
    const entropy = -visible.reduce((sum, w) => sum + (w && w * Math.log(w)), 0);
    const reach = reachOf(row, query);
    return { slope, bias, weights, row, query, reach, entropy, most: Math.log(visible.length) };
  },

  draw([left, middle, right], { bias, weights, row, query }, { length }) {
    const axes = { x: [-0.5, length - 0.5], y: [length - 0.5, -0.5], equal: true, xlabel: "key" };
    const costs = { limit: LARGEST_COST };
    const largest = Math.max(...row.filter((weight) => weight >= 0));
    left.axes({ ...axes, title: `cost in score (to ${LARGEST_COST})`, ylabel: "query", bar: costs })
      .matrix(bias.map((score) => -score), length, costs);
    middle.axes({ ...axes, title: "attention, equal scores", bar: { limit: largest } })
      .matrix(weights, length, { limit: largest });
    right.axes({
      x: [-0.5, length - 0.5], y: [0, 1.05], title: `weights of query ${query}`,
      xlabel: "key", ylabel: "weight / largest",
    }).line(row.map((_, j) => j), row.map((weight) => weight / largest), { steps: true });
  },

  sentence: ({ slope, query, reach, entropy, most }) =>
    `Slope ${fixed(slope, 4)}. Query ${query} gives 95 % of its weight to keys at most ${reach} `
    + `positions away; entropy ${fixed(entropy, 2)} of at most ${fixed(most, 2)} nats.`,

  description: ({ slope, query, reach }, { heads, head, length, symmetric }) =>
    `Head ${head} of ${heads}, over ${length} tokens ${symmetric ? "without" : "with"} a causal `
    + `mask. Left: what each key costs each query, ${fixed(slope, 4)} a position: nothing on the `
    + "diagonal, more and more away from it. Middle: the attention that is left when all scores "
    + `are equal, a band along the diagonal. Right: the weights of query ${query}, highest at `
    + `itself; 95 % of them lie within ${reach} positions.`,
};
