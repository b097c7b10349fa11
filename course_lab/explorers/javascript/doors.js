// Attention of "cat" over a sentence, with four doors that let position in.

const [QUERY, NEAR, FAR] = [1, 0, 4]; // the places of "cat" and of both "the"
const SAME = 1e-9; // weights that differ by less are the same
const NEARER = { name: "nearer", colour: 1, mark: "dot", hollow: false };
const FARTHER = { name: "farther", colour: 2, mark: "dot", hollow: false };
// What the axis of ratios shows: as much as embed and rotate can do, or all that bias can.
const RATIOS = [
  { y: [0.7, 1.5], yticks: [0.8, 1, 1.25] },
  { y: [0.7, 12], yticks: [1, 2, 4, 8] },
];
const LABEL_SHARE = 0.15; // of the height of the bars, free above and below them for their numbers

function dot(a, b) {
  return a.reduce((sum, value, n) => sum + value * b[n], 0);
}

// Each pair of numbers turned by its angle.
function turned(vector, angles) {
  return vector.map((value, n) => {
    const angle = angles[n >> 1];
    const partner = n % 2 ? vector[n - 1] : -vector[n + 1];
    return value * Math.cos(angle) + partner * Math.sin(angle);
  });
}

// What "cat" gives each word of one drawing, and the words with what door 1 adds.
function attention(vectors, { embed, rotate, bias }, { table, speeds }) {
  const inputs = vectors.map((vector, p) => vector.map((x, n) => x + embed * table[p][n]));
  const atPlaces = inputs.map((x, p) => turned(x, speeds.map((speed) => rotate * p * speed)));
  const scores = atPlaces.map((key, p) =>
    dot(atPlaces[QUERY], key) / key.length - bias * Math.abs(p - QUERY));
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return { inputs, weights: powers.map((power) => power / total) };
}

// Who gets more where the nearer "the" gets so many times as much as the farther.
const nearerWins = (ratio) => ratio > 1 + SAME;
const fartherWins = (ratio) => ratio < 1 - SAME;
const isAlike = (ratio) => !nearerWins(ratio) && !fartherWins(ratio);

// What the axis of bars shows: at least −0.2 to 0.7, and the numbers at their ends.
function roomFor(heights) {
  const [low, high] = [Math.min(-0.2, ...heights), Math.max(0.7, ...heights)];
  const free = LABEL_SHARE * (high - low);
  return [Math.min(low, Math.min(...heights) - free), Math.max(high, Math.max(...heights) + free)];
}

const EXPLORER = {
  columns: [1, 1, 1],
  minWidth: 250,
  height: () => 240,

  compute(state, data) {
    const all = data.drawings.map((vectors) => attention(vectors, state, data));
    const { inputs, weights } = all[state.drawing];
    const adds = weights.map((w, p) => w * (inputs[p][0] + state.values * (p - QUERY)));
    return { weights, adds, ratios: all.map((row) => row.weights[NEAR] / row.weights[FAR]) };
  },

  draw([left, middle, right], { weights, adds, ratios }, { drawing, bias }) {
    const { words } = SPEC.data;
    const legend = [NEARER, FARTHER];
    const places = words.map((_, n) => n);
    const xticks = words.map((word, n) => [n, word]);
    const draw = (panel, heights, y, numbered, title, ylabel) => {
      panel.axes({ x: [-0.6, words.length - 0.4], y, xticks, title, ylabel, legend });
      panel.bars(places, heights, { colour: "grey" }).across(0);
      panel.bars([NEAR], [heights[NEAR]], NEARER).bars([FAR], [heights[FAR]], FARTHER);
      numbered.forEach((n) => panel.write(panel.box.left + panel.px(n),
        panel.box.top + panel.py(heights[n]) + (heights[n] < 0 ? 12 : -4),
        fixed(heights[n], n === NEAR || n === FAR ? 3 : 2)));
    };
    draw(left, weights, [0, 1], places, "weights of “cat”", "weight");
    // Numbers below 0 are wider than their bars, so those of neighbours would touch.
    draw(middle, adds, roomFor(adds), [NEAR, QUERY, FAR], "what each word adds",
      "weight × first number");
    const scale = RATIOS[bias > 0 ? 1 : 0]; // no jump while bias opens
    right.axes({
      x: [-1, ratios.length], ...scale, ylog: true,
      title: "which “the” gets more", xlabel: "draw (click one)", ylabel: "nearer ÷ farther",
      legend,
    }).across(1);
    const dots = (drawn, look) => right.dots(drawn, drawn.map((n) => ratios[n]), look);
    const drawings = [...ratios.keys()];
    dots(drawings.filter((n) => isAlike(ratios[n])), { size: 3.5, colour: "grey" });
    dots(drawings.filter((n) => nearerWins(ratios[n])), { size: 3.5, colour: 1 });
    dots(drawings.filter((n) => fartherWins(ratios[n])), { size: 3.5, colour: 2 });
    dots([drawing], { size: 7, hollow: true, colour: "ink" });
  },

  drag: {
    panel: 2,
    change([x]) {
      return { drawing: Math.min(Math.max(Math.round(x), 0), SPEC.data.drawings.length - 1) };
    },
  },

  sentence({ weights, adds, ratios }) {
    const differ = (numbers) => Math.abs(numbers[NEAR] - numbers[FAR]) >= 1e-5;
    const pair = (numbers) => {
      const [near, far] = [numbers[NEAR], numbers[FAR]];
      const digits = [3, 4, 5].find((n) => fixed(near, n) !== fixed(far, n)) ?? 3;
      return `${fixed(near, digits)} and ${fixed(far, digits)}`;
    };
    let verdict = "“cat” cannot tell them apart";
    if (differ(weights)) verdict = "“cat” can tell them apart";
    else if (differ(adds)) verdict = "“cat” looks at both alike, only what they add differs";
    return `The two “the” get ${pair(weights)} of its attention and add ${pair(adds)}: ${verdict}. `
      + `The nearer gets more in ${ratios.filter(nearerWins).length} of ${ratios.length} draws, `
      + `the farther in ${ratios.filter(fartherWins).length}.`;
  },

  description({ weights, adds, ratios }, { embed, rotate, bias, values, drawing }) {
    const { words } = SPEC.data;
    const list = (numbers) => words.map((word, n) => `${word} ${fixed(numbers[n], 2)}`).join(", ");
    return `Doors open by ${fixed(embed, 2)} (embed), ${fixed(rotate, 2)} (rotate), `
      + `${fixed(bias, 2)} (bias), ${fixed(values, 2)} (values); draw ${drawing}. Left, a bar `
      + `for each word: how much attention “cat” gives it: ${list(weights)}. In the middle, what `
      + `each word adds to the sum, the first of its numbers: ${list(adds)}. Right, a dot for each `
      + "draw of the random words, with a line at 1: how many times as much the nearer “the” "
      + `gets as the farther, from ${fixed(Math.min(...ratios), 3)} to `
      + `${fixed(Math.max(...ratios), 3)}.`;
  },
};
