// Attention of "cat" over a sentence, with four doors that let position in.

const [QUERY, NEAR, FAR] = [1, 0, 4]; // the places of "cat" and of both "the"
const SAME = 1e-9; // weights that differ by less are the same

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

const EXPLORER = {
  columns: [1, 1, 1],
  minWidth: 250,
  height: () => 240,

  compute(state, data) {
    const all = data.drawings.map((vectors) => attention(vectors, state, data));
    const { inputs, weights } = all[state.drawing];
    const adds = weights.map((w, p) => w * (inputs[p][0] + state.values * (p - QUERY)));
    return { weights, adds, ahead: all.map((seen) => seen.weights[NEAR] - seen.weights[FAR]) };
  },

  draw([left, middle, right], { weights, adds, ahead }, { drawing }) {
    const { words } = SPEC.data;
    const places = words.map((_, n) => n);
    const xticks = words.map((word, n) => [n, word]);
    const draw = (panel, heights, y, title, ylabel) => {
      panel.axes({ x: [-0.6, words.length - 0.4], y, xticks, title, ylabel });
      panel.bars(places, heights).across(0);
      const two = [NEAR, FAR];
      panel.bars(two, two.map((n) => heights[n]), { colour: 1 });
      heights.forEach((height, n) => panel.write(panel.box.left + panel.px(n),
        panel.box.top + panel.py(Math.max(height, 0)) - 4, fixed(height, 2)));
    };
    const room = [Math.min(-0.2, 1.1 * Math.min(...adds)), Math.max(0.8, 1.2 * Math.max(...adds))];
    draw(left, weights, [0, 1], "weights of “cat”", "weight");
    draw(middle, adds, room, "what each word adds", "weight × first number");
    right.axes({
      x: [-1, ahead.length], y: [-0.06, 0.17], title: "which “the” gets more",
      xlabel: "drawing (click one)", ylabel: "nearer − farther",
    }).across(0).dots(ahead.keys(), ahead, { size: 3.5 });
    const below = [...ahead.keys()].filter((n) => ahead[n] < -SAME);
    right.dots(below, below.map((n) => ahead[n]), { size: 3.5, colour: 1 });
    right.dots([drawing], [ahead[drawing]], { size: 7, hollow: true });
    const [start, top] = [right.box.left + 8, right.box.top];
    right.write(start, top + 14, "above 0: the nearer", "om-start");
    right.write(start, top + right.box.height - 6, "below 0: the farther", "om-start");
  },

  drag: {
    panel: 2,
    change([x]) {
      return { drawing: Math.min(Math.max(Math.round(x), 0), SPEC.data.drawings.length - 1) };
    },
  },

  sentence({ weights, adds, ahead }) {
    const same = [weights, adds].every((n) => Math.abs(n[NEAR] - n[FAR]) < 1e-5);
    const pair = (numbers) => {
      const [near, far] = [numbers[NEAR], numbers[FAR]];
      const digits = [3, 4, 5].find((n) => fixed(near, n) !== fixed(far, n)) ?? 3;
      return `${fixed(near, digits)} and ${fixed(far, digits)}`;
    };
    return `The two “the” get ${pair(weights)} of its attention and add ${pair(adds)}: “cat” `
      + `${same ? "cannot" : "can"} tell them apart. The nearer gets more in `
      + `${ahead.filter((gap) => gap > SAME).length} of ${ahead.length} drawings, the farther in `
      + `${ahead.filter((gap) => gap < -SAME).length}.`;
  },

  description({ weights, adds, ahead }, { embed, rotate, bias, values, drawing }) {
    const { words } = SPEC.data;
    const list = (numbers) => words.map((word, n) => `${word} ${fixed(numbers[n], 2)}`).join(", ");
    return `Doors open by ${fixed(embed, 2)} (embed), ${fixed(rotate, 2)} (rotate), `
      + `${fixed(bias, 2)} (bias), ${fixed(values, 2)} (values); drawing ${drawing}. Left, a bar `
      + `for each word: how much attention “cat” gives it: ${list(weights)}. In the middle, what `
      + `each word adds to the sum, the first of its numbers: ${list(adds)}. Right, a dot for each `
      + "drawing of the random words: the weight of the nearer “the” less that of the farther, "
      + `from ${fixed(Math.min(...ahead), 3)} to ${fixed(Math.max(...ahead), 3)}.`;
  },
};
