// The sinusoidal encoding as clock hands: some of its pairs at one position.

const WIDTH = 32; // of the encoding

const EXPLORER = {
  columns: [1, 1, 1, 1],
  minWidth: 165,
  height: (width) => Math.min(270, width + 30),

  compute({ position, base }, { pairs }) {
    const angles = Array.from({ length: WIDTH / 2 }, (_, m) => position * base ** (-2 * m / WIDTH));
    return {
      turns: pairs.map((pair) => angles[pair] / (2 * Math.PI)),
      cosines: pairs.map((pair) => Math.cos(angles[pair])),
      sines: pairs.map((pair) => Math.sin(angles[pair])),
      // All vectors have the same length, so the cosine between two is the mean of all pairs.
      similarity: angles.reduce((sum, angle) => sum + Math.cos(angle), 0) / angles.length,
    };
  },

  draw(panels, { cosines, sines }) {
    const circle = Array.from({ length: 73 }, (_, i) => i / 36 * Math.PI);
    panels.forEach((panel, n) => panel.axes({
      x: [-1.25, 1.25], y: [-1.25, 1.25], equal: true, xticks: [-1, 0, 1], yticks: [-1, 0, 1],
      title: `pair ${SPEC.data.pairs[n]}`, xlabel: "cos", ylabel: "sin",
    }).line(circle.map(Math.cos), circle.map(Math.sin), { colour: "grey", width: 1 })
      .line([0, cosines[n]], [0, sines[n]], { width: 3 })
      .dots([cosines[n]], [sines[n]], { colour: 1, size: 5 }));
  },

  sentence: ({ turns, similarity }, { position }) =>
    `Turns made by position ${position}: ${turns.map((turn) => fixed(turn, 2)).join(", ")}. `
    + `Cosine similarity with position 0: ${fixed(similarity, 2)}.`,

  description({ turns }, { position, base }) {
    const sentences = turns.map((turn, n) =>
      `pair ${SPEC.data.pairs[n]} has made ${fixed(turn, 3)} turns`);
    return "Four circles, each with a hand that pointed to the right (cosine 1) at position 0. "
      + `At position ${position} and base ${fixed(base, 0, 3)}, ${sentences.join(", ")}. The `
      + "hands turn anticlockwise; those further right are slower.";
  },
};
