// A real trained position table, rebuilt from its principal components: which positions are alike.

let scores; // of each row of the table along its components, row by row

function unpacked(data) { // float32 in base64
  scores ??= new Float32Array(
    Uint8Array.from(atob(data.scores), (character) => character.charCodeAt(0)).buffer);
  return scores;
}

// The cosine of one row with each row of the table, along the first components alone.
function similarities(table, width, count, from, kept) {
  const square = (row) => {
    let sum = 0;
    for (let n = 0; n < kept; n++) sum += table[row * width + n] ** 2;
    return sum;
  };
  return Float64Array.from({ length: count }, (_, row) => {
    let product = 0;
    for (let n = 0; n < kept; n++) product += table[from * width + n] * table[row * width + n];
    return product / Math.sqrt(square(from) * square(row));
  });
}

const EXPLORER = {
  columns: [1, 1],
  minWidth: 280,
  height: () => 280,

  compute({ position, kept }, data) {
    const { width, held } = data;
    const table = unpacked(data);
    const rowOfPosition = position - 1;
    const similarity = similarities(table, width, table.length / width, rowOfPosition, kept);
    const component = similarity.map((_, row) => table[row * width + kept - 1]);
    const others = similarity.map((cosine, row) => (row === rowOfPosition ? -Infinity : cosine));
    const highest = Math.max(...others);
    return {
      similarity,
      component,
      held: held[kept - 1],
      highest,
      nearest: others.findIndex((cosine) => cosine > highest - 1e-9) + 1, // rounding breaks no tie
    };
  },

  draw([left, right], { similarity, component }, { position, kept }) {
    const positions = Array.from(similarity, (_, row) => row + 1);
    left.axes({
      x: [position - 40, position + 40], y: [-1.05, 1.05], xlabel: "position",
      ylabel: "cosine similarity", title: `similarity to position ${position}, ${kept} kept`,
    }).across(0).upright(position).line(positions, similarity, { width: 1.5 });
    right.axes({
      x: [1, positions.length], y: [-0.5, 0.5], title: `component ${kept}`,
      xlabel: "position", ylabel: "value along the component",
    }).across(0).upright(position).line(positions, component, { width: 1.5, colour: 1 });
  },

  sentence: ({ held, highest, nearest }, { position, kept }) =>
    `${kept} of ${SPEC.data.components} components hold ${fixed(100 * held, 0)} % of the variance. `
    + `Most like position ${position}: position ${nearest}, cosine ${fixed(highest, 2)}.`,

  description({ similarity, component, nearest }, { position, kept }) {
    const alike = similarity.filter((cosine) => cosine > 0.9).length;
    const largest = Math.max(...component.map(Math.abs));
    return `Left: the cosine of position ${position} with each of its neighbours, 40 to both `
      + `sides, when the trained table is rebuilt from ${kept} components. It is 1 at ${position} `
      + `and next highest at ${nearest}; ${alike} positions of the table are above 0.9. Right: `
      + `component ${kept} over all positions, at most ${fixed(largest, 2)} in size.`;
  },
};
