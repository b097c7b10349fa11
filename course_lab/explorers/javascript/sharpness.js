// Attention of "cat" over a sentence, with its scores multiplied by a factor.

const EXPLORER = {
  columns: [1],
  minWidth: 280,
  height: (width) => Math.min(320, 0.75 * width),

  compute({ factor }, { scores }) {
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(factor * (score - largest)));
    const total = powers.reduce((sum, power) => sum + power, 0);
    const weights = powers.map((power) => power / total);
    const entropy = -weights.reduce((sum, w) => sum + (w && w * Math.log(w)), 0);
    return { weights, entropy };
  },

  draw([panel], { weights }) {
    const { words } = SPEC.data;
    panel.axes({
      x: [-0.6, words.length - 0.4], y: [0, 1.08], ylabel: "attention weight",
      xticks: words.map((word, n) => [n, word]), title: "whom “cat” attends to",
    }).bars(words.map((_, n) => n), weights);
    weights.forEach((weight, n) => panel.write(
      panel.box.left + panel.px(n), panel.box.top + panel.py(weight) - 4, fixed(weight, 2)));
  },

  sentence: ({ weights, entropy }) =>
    `Entropy ${fixed(entropy, 2)} of at most ${fixed(Math.log(weights.length), 2)} nats; `
    + `largest weight ${fixed(Math.max(...weights), 2)}.`,

  description: ({ weights }, { factor }) =>
    `A bar for each word: how much attention “cat” gives it when all scores are multiplied by `
    + `${fixed(factor, 2)}. `
    + `${SPEC.data.words.map((word, n) => `${word} ${fixed(weights[n], 2)}`).join(", ")}. `
    + "At factor 0 all bars are equal; with a larger one the best match takes more and more.",
};
