// The sinusoidal table: its waves and their lengths.

function sinusoidalTable(length, d_model, speeds) {
  const table = new Float64Array(length * d_model);
  for (let p = 0; p < length; p++) {
    speeds.forEach((speed, m) => {
      table[p * d_model + 2 * m] = Math.sin(p * speed);
      table[p * d_model + 2 * m + 1] = Math.cos(p * speed);
    });
  }
  return table;
}

const EXPLORER = {
  columns: [1.15, 1, 1],
  minWidth: 240,
  height: () => 270,
  limits: ({ d_model }) => ({ pair: [0, d_model / 2 - 1] }),

  compute({ base, d_model, length, pair }) {
    const speeds = Array.from({ length: d_model / 2 }, (_, m) => base ** (-2 * m / d_model));
    const table = sinusoidalTable(length, d_model, speeds);
    const column = (n) => Array.from({ length }, (_, p) => table[p * d_model + n]);
    const wavelengths = speeds.map((speed) => 2 * Math.PI / speed);
    return {
      table,
      wavelengths,
      sine: column(2 * pair),
      cosine: column(2 * pair + 1),
      slow: wavelengths.filter((wavelength) => wavelength > length).length,
    };
  },

  draw([left, middle, right], { table, wavelengths, sine, cosine }, { d_model, length, pair }) {
    left.axes({
      x: [-0.5, d_model - 0.5], y: [length - 0.5, -0.5], title: "table", xlabel: "dimension",
      ylabel: "position", bar: { signed: true, limit: 1 },
    }).matrix(table, d_model, { signed: true, limit: 1 });
    const positions = sine.map((_, p) => p);
    const dashed = { colour: 1, dash: "5 3" };
    middle.axes({
      x: [0, length - 1], y: [-1.1, 1.1], xlabel: "position", ylabel: "value",
      title: `pair ${pair}: dimensions ${2 * pair}, ${2 * pair + 1}`,
      legend: [{ name: "sin" }, { name: "cos", ...dashed }],
    }).line(positions, sine).line(positions, cosine, dashed);
    right.axes({
      x: [-0.8, wavelengths.length - 0.2], y: [3, 1e7], ylog: true, title: "wavelengths",
      xlabel: "pair", ylabel: "positions a turn",
    }).across(length).dots(wavelengths.map((_, m) => m), wavelengths)
      .dots([pair], [wavelengths[pair]], { size: 5.5, hollow: true, colour: 1 });
  },

  sentence: ({ wavelengths, slow }, { length, pair }) =>
    `Pair ${pair} takes ${fixed(wavelengths[pair], 1)} positions for one turn. ${slow} of `
    + `${wavelengths.length} pairs do not finish a turn in ${length} positions (grey line).`,

  description({ wavelengths, sine }, { d_model, length, pair, base }) {
    const turns = length / wavelengths[pair];
    const longest = wavelengths[wavelengths.length - 1];
    return `Left: the table, ${length} positions down and ${d_model} dimensions across, as colours `
      + "from −1 to 1. Columns on the left change quickly from row to row, those on the right "
      + `slowly. Middle: the sine and the cosine of pair ${pair}, which make ${fixed(turns, 1)} `
      + `turns over the table; the sine ends at ${fixed(sine[length - 1], 2)}. Right: the `
      + "wavelengths of all pairs on a logarithmic axis, a straight line from "
      + `${fixed(wavelengths[0], 1)} to ${fixed(longest, 1)} positions at base `
      + `${fixed(base, 0, 3)}; a grey line stands at the length, ${length}.`;
  },
};
