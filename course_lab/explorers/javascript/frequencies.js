// The sinusoidal table: its hands as clocks at two positions, its waves and their lengths.

const FIRST = { colour: 2 }; // of the two positions
const SECOND = { colour: 3, dash: "4 3" };
const LAST = 2000; // position
const TIP = 36; // pixels, the side of the square in which a hand's tip is taken

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

// A hand at two positions, each drawn as it turns: from (1, 0) anticlockwise.
function drawClock(panel, title, speed, positions) {
  const circle = Array.from({ length: 73 }, (_, i) => i / 36 * Math.PI);
  panel.axes({
    x: [-1.25, 1.25], y: [-1.25, 1.25], equal: true, xticks: [-1, 0, 1], yticks: [-1, 0, 1],
    title, xlabel: "cos", ylabel: "sin",
    legend: [FIRST, SECOND].map((style, n) => ({ name: `at ${positions[n]}`, ...style })),
  }).line(circle.map(Math.cos), circle.map(Math.sin), { colour: "grey", width: 1 });
  [FIRST, SECOND].forEach((style, n) => {
    const [x, y] = [Math.cos(positions[n] * speed), Math.sin(positions[n] * speed)];
    panel.line([0, x], [0, y], { ...style, width: 3 }).dots([x], [y], { ...style, size: 5 });
  });
}

// Where the tips of a clock's two hands are, as handles.
function tipsOf(panel, speed, { first, second }) {
  return [first, second].map((position) => {
    const [x, y] = [Math.cos(position * speed), Math.sin(position * speed)];
    return [panel.box.left + panel.px(x), panel.box.top + panel.py(y), TIP, TIP];
  });
}

// A tip is moved along its circle: the position goes on by as much as this hand has to turn.
function movedTo([x, y], speed, state, tip) {
  const name = ["first", "second"][tip], before = state[name];
  const angle = Math.atan2(y, x) - before * speed;
  const shorter = angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
  return { [name]: Math.min(LAST, Math.max(0, Math.round(before + shorter / speed))) };
}

// What drags the hands of the clock in a panel; `pairOf` says which hand that is.
function dragOfClock(panel, pairOf) {
  const speedOf = ({ base, d_model, ...state }) => base ** (-2 * pairOf(state) / d_model);
  return {
    panel,
    onlyHandles: true,
    handles: (drawn, _, state) => tipsOf(drawn, speedOf(state), state),
    change: (place, state, begins, tip) => movedTo(place, speedOf(state), state, tip),
  };
}

const EXPLORER = {
  columns: [1, 1, 1.15, 1.15, 1, 1],
  minWidth: 165,
  height: (width) => Math.min(200, Math.max(190, width)), // both rows stand in a laptop's window
  limits: ({ d_model }) => ({ pair: [0, d_model / 2 - 1] }),
  drag: [dragOfClock(0, () => 0), dragOfClock(1, ({ pair }) => pair), { // choose a hand
    panel: 2,
    change: ([x], { d_model }) => ({ pair: Math.min(d_model / 2 - 1, Math.max(0, Math.round(x))) }),
  }],
  play: {
    label: "let both positions run",
    step: ({ first, second }) => { // at the last position, back to the first
      const back = Math.max(first, second) === LAST ? Math.min(first, second) : -1;
      return { first: first - back, second: second - back };
    },
  },

  compute({ base, d_model, length, pair, first, second }) {
    const speeds = Array.from({ length: d_model / 2 }, (_, m) => base ** (-2 * m / d_model));
    const table = sinusoidalTable(length, d_model, speeds);
    const column = (n) => Array.from({ length }, (_, p) => table[p * d_model + n]);
    const wavelengths = speeds.map((speed) => 2 * Math.PI / speed);
    // The tips of a hand at two positions are a chord apart.
    const gaps = speeds.map((speed) => 2 * Math.abs(Math.sin((second - first) * speed / 2)));
    return {
      table,
      wavelengths,
      sine: column(2 * pair),
      cosine: column(2 * pair + 1),
      slow: wavelengths.filter((wavelength) => wavelength > length).length,
      gaps,
      distance: Math.hypot(...gaps),
    };
  },

  draw([clock0, clock, apart, left, middle, right], numbers, state) {
    const { table, wavelengths, sine, cosine, gaps } = numbers;
    const { d_model, length, pair, first, second } = state;
    const hands = gaps.map((_, m) => m);
    const speeds = wavelengths.map((wavelength) => 2 * Math.PI / wavelength);
    drawClock(clock0, "hand 0", speeds[0], [first, second]);
    drawClock(clock, `hand ${pair}`, speeds[pair], [first, second]);
    const chosen = { size: 5.5, hollow: true, colour: 1 };
    apart.axes({
      x: [-0.8, hands.length - 0.2], y: [0, 2.1], title: "distance of tips",
      xlabel: "hand", ylabel: "distance",
    }).dots(hands, gaps).dots([pair], [gaps[pair]], chosen);

    left.axes({
      x: [-0.5, d_model - 0.5], y: [length - 0.5, -0.5], title: "table", xlabel: "column",
      ylabel: "position", bar: { signed: true, limit: 1 },
    }).matrix(table, d_model, { signed: true, limit: 1 })
      .across(first, { ...FIRST, width: 2 }).across(second, { ...SECOND, width: 2 });
    const positions = sine.map((_, p) => p);
    const dashed = { colour: "grey", dash: "5 3" };
    middle.axes({
      x: [0, length - 1], y: [-1.1, 1.1], xlabel: "position", ylabel: "value",
      title: `columns ${2 * pair}, ${2 * pair + 1}`,
      legend: [{ name: "sin" }, { name: "cos", ...dashed }],
    }).line(positions, sine).line(positions, cosine, dashed)
      .upright(first, FIRST).upright(second, SECOND);
    right.axes({
      x: [-0.8, hands.length - 0.2], y: [3, 1e7], ylog: true, title: "wavelengths",
      xlabel: "hand", ylabel: "positions a turn",
    }).across(length).dots(hands, wavelengths).dots([pair], [wavelengths[pair]], chosen);
  },

  sentence({ wavelengths, slow, gaps, distance }, { length, pair, first, second }) {
    const hands = pair === 0 ? "" : `, for hand ${pair} ${fixed(gaps[pair], 2)}`;
    const past = [first, second].filter((position) => position >= length)
      .map((position) => fixed(position, 0)).join(" and ");
    return `Hand ${pair} takes ${fixed(wavelengths[pair], 1)} positions for one turn. ${slow} of `
      + `${wavelengths.length} hands do not finish a turn in ${length} positions (grey line). `
      + `Positions ${fixed(first, 0)} and ${fixed(second, 0)}: for hand 0 they are `
      + `${fixed(gaps[0], 2)} apart${hands}, `
      + `for all hands together ${fixed(distance, 2)}.`
      + (past && ` No line in table and waves for ${past}: they end at ${length - 1}.`);
  },

  description({ wavelengths, sine, gaps }, { d_model, length, pair, base, first, second }) {
    const turns = length / wavelengths[pair];
    const longest = wavelengths[wavelengths.length - 1];
    return `Two circles, for hand 0 and hand ${pair}, with the hand at positions ${first} (solid) `
      + `and ${second} (dashed); it pointed to the right at position 0 and turns anticlockwise. `
      + `Then the distance of the two tips for each hand, from 0 to 2: ${fixed(gaps[0], 2)} for `
      + `hand 0, ${fixed(gaps[pair], 2)} for hand ${pair}. The table, ${length} positions down and `
      + `${d_model} columns across, as colours from −1 to 1, with a line across at each of the two `
      + "positions: columns on the left change quickly from row to row, those on the right slowly. "
      + `The sine and the cosine of hand ${pair}, which make ${fixed(turns, 1)} turns over the `
      + `table; the sine ends at ${fixed(sine[length - 1], 2)}. The wavelengths of all hands on a `
      + `logarithmic axis, a straight line from ${fixed(wavelengths[0], 1)} to `
      + `${fixed(longest, 1)} positions at base ${fixed(base, 0, 3)}; a grey line stands at the `
      + `length, ${length}.`;
  },
};
