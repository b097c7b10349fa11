// A real trained position table, rebuilt from its principal components: whom a position resembles.

let rows; // of the table along its components, one after the other

function unpacked({ scores }) { // float32 in base64
  rows ??= new Float32Array(Uint8Array.from(atob(scores), (c) => c.charCodeAt(0)).buffer);
  return rows;
}

const EXPLORER = {
  columns: [1, 1],
  least: 280,
  height: () => 280,

  compute({ position, kept }, data) {
    const all = unpacked(data), { width, held } = data, count = all.length / width;
    const own = (position - 1) * width, like = new Float64Array(count);
    let size = 0;
    for (let n = 0; n < kept; n++) size += all[own + n] ** 2;
    for (let row = 0; row < count; row++) {
      let product = 0, square = 0;
      for (let n = 0; n < kept; n++) {
        product += all[own + n] * all[row * width + n];
        square += all[row * width + n] ** 2;
      }
      like[row] = product / Math.sqrt(size * square);
    }
    const component = Float64Array.from(like, (_, row) => all[row * width + kept - 1]);
    const others = like.map((one, row) => (row === position - 1 ? -Infinity : one));
    const alike = Math.max(...others), near = (one) => one > alike - 1e-9; // rounding breaks no tie
    return { like, component, held: held[kept - 1], alike, most: others.findIndex(near) + 1 };
  },

  draw([left, right], { like, component }, { position, kept }) {
    const places = Array.from(like, (_, row) => row + 1);
    left.axes({
      x: [position - 40, position + 40], y: [-1.05, 1.05], xlabel: "position",
      ylabel: "cosine similarity", title: `similarity to position ${position}, ${kept} kept`,
    }).across(0).upright(position).line(places, like, { width: 1.5 });
    right.axes({
      x: [1, places.length], y: [-0.5, 0.5], title: `component ${kept}`,
      xlabel: "position", ylabel: "value along the component",
    }).across(0).upright(position).line(places, component, { width: 1.5, colour: 1 });
  },

  sentence: ({ held, alike, most }, { position, kept }) =>
    `${kept} of ${SPEC.data.components} components hold ${fixed(100 * held, 0)} % of the variance. `
    + `Most like position ${position}: position ${most}, cosine ${fixed(alike, 2)}.`,

  words({ like, component, most }, { position, kept }) {
    const near = like.filter((one) => one > 0.9).length, sizes = Array.from(component, Math.abs);
    return `Left: the cosine of position ${position} with each of its neighbours, 40 to both `
      + `sides, when the trained table is rebuilt from ${kept} components. It is 1 at ${position} `
      + `and next highest at ${most}; ${near} positions of the table are above 0.9. Right: `
      + `component ${kept} over all positions, at most ${fixed(Math.max(...sizes), 2)} in size.`;
  },
};
