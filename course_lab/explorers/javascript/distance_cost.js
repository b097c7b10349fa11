// ALiBi: what distance costs a head, and whom the head therefore looks at.

const DEAREST = 8; // costs above have one colour: such a key weighs less than e⁻⁸ of the best

// The slopes of the authors' code: powers of two, and those between for a count that is none.
function slopes(heads) {
  const lower = 2 ** Math.floor(Math.log2(heads));
  const powers = Array.from({ length: lower }, (_, h) => 2 ** (-8 * (h + 1) / lower));
  const between = Array.from({ length: lower }, (_, h) => 2 ** (-4 * (2 * h + 1) / lower));
  return [...powers, ...between].slice(0, heads);
}

const EXPLORER = {
  columns: [1.15, 1.05, 1],
  least: 240,
  height: () => 290,
  limits: ({ heads }) => ({ head: [0, heads - 1] }),

  compute({ heads, head, length, symmetric }) {
    const slope = slopes(heads)[head], size = length * length;
    const bias = new Float64Array(size).fill(NaN), weights = new Float64Array(size).fill(NaN);
    const power = Array.from({ length }, (_, distance) => Math.exp(-slope * distance));
    for (let i = 0; i < length; i++) {
      const end = symmetric ? length : i + 1; // later keys are hidden by a causal mask
      let total = 0;
      for (let j = 0; j < end; j++) total += power[Math.abs(i - j)];
      for (let j = 0; j < end; j++) {
        bias[i * length + j] = -slope * Math.abs(i - j);
        weights[i * length + j] = power[Math.abs(i - j)] / total;
      }
    }
    const query = symmetric ? length / 2 : length - 1;
    const row = Array.from(weights.slice(query * length, (query + 1) * length));
    const seen = row.filter((weight) => weight >= 0), held = new Array(length).fill(0);
    row.forEach((weight, j) => { held[Math.abs(query - j)] += weight || 0; });
    let reach = 0, sum = held[0];
    while (sum < 0.95) sum += held[++reach]; // the distance within which 95 % of the weight lies
    const entropy = -seen.reduce((all, w) => all + (w && w * Math.log(w)), 0);
    return { slope, bias, weights, row, query, reach, entropy, most: Math.log(seen.length) };
  },

  draw([left, middle, right], { bias, weights, row, query }, { length }) {
    const axes = { x: [-0.5, length - 0.5], y: [length - 0.5, -0.5], equal: true, xlabel: "key" };
    const costs = { limit: DEAREST };
    const largest = Math.max(...row.filter((weight) => weight >= 0));
    left.axes({ ...axes, title: `cost in score (to ${DEAREST})`, ylabel: "query", bar: costs })
      .matrix(bias.map((one) => -one), length, costs);
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

  words: ({ slope, query, reach }, { heads, head, length, symmetric }) =>
    `Head ${head} of ${heads}, over ${length} tokens ${symmetric ? "without" : "behind"} a causal `
    + `mask. Left: what each key costs each query, ${fixed(slope, 4)} a position: nothing on the `
    + "diagonal, more and more away from it. Middle: the attention that is left when all scores "
    + `are equal, a band along the diagonal. Right: the weights of query ${query}, highest at `
    + `itself; 95 % of them lie within ${reach} positions.`,
};
