// Attention of "cat" over a sentence, with four doors that let position in.

const QUERY = 1; // the place of "cat"

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

const EXPLORER = {
  columns: [1, 1],
  minWidth: 280,
  height: () => 250,

  compute({ embed, rotate, bias, values }, { vectors, table, speeds }) {
    const inputs = vectors.map((vector, p) => vector.map((x, n) => x + embed * table[p][n]));
    const atPlaces = inputs.map((x, p) => turned(x, speeds.map((speed) => rotate * p * speed)));
    const scores = atPlaces.map((key, p) =>
      dot(atPlaces[QUERY], key) / key.length - bias * Math.abs(p - QUERY));
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    const weights = powers.map((power) => power / total);
    const brings = weights.map((w, p) => w * (inputs[p][0] + values * (p - QUERY)));
    return { weights, brings };
  },

  draw([left, right], { weights, brings }) {
    const { words } = SPEC.data;
    const places = words.map((_, n) => n);
    const xticks = words.map((word, n) => [n, word]);
    const draw = (panel, heights, y, title, ylabel) => {
      panel.axes({ x: [-0.6, words.length - 0.4], y, xticks, title, ylabel });
      panel.bars(places, heights).across(0);
      const two = places.filter((n) => words[n] === "the");
      panel.bars(two, two.map((n) => heights[n]), { colour: 1 });
      heights.forEach((height, n) => panel.write(panel.box.left + panel.px(n),
        panel.box.top + panel.py(Math.max(height, 0)) - 4, fixed(height, 2)));
    };
    draw(left, weights, [0, 1], "how “cat” shares out its attention", "weight");
    draw(right, brings, [-0.2, 0.8], "what each word brings", "first number of what it adds");
  },

  sentence: ({ weights, brings }) => {
    const [near, far] = [0, 4];
    const apart = Math.abs(weights[near] - weights[far]) > 1e-6;
    const other = Math.abs(brings[near] - brings[far]) > 1e-6;
    const pair = (numbers) => `${fixed(numbers[near], 3)} and ${fixed(numbers[far], 3)}`;
    const verdict = apart || other
      ? "“cat” can tell them apart." : "“cat” cannot tell them apart.";
    return `The two “the” get ${pair(weights)} of its attention and bring ${pair(brings)}: `
      + `${verdict}`;
  },

  description: ({ weights, brings }, { embed, rotate, bias, values }) => {
    const { words } = SPEC.data;
    const list = (numbers) => words.map((word, n) => `${word} ${fixed(numbers[n], 2)}`).join(", ");
    return `Doors open by ${fixed(embed, 2)} (embed), ${fixed(rotate, 2)} (rotate), `
      + `${fixed(bias, 2)} (bias), ${fixed(values, 2)} (values). Left, a bar for each word: how `
      + `much attention “cat” gives it: ${list(weights)}. Right, what each word brings to the sum, `
      + `the first of its numbers: ${list(brings)}.`;
  },
};
