// Five clock hands of a position table, foretold by the turn that its first rows teach.

const HANDS = 5;
const unpackedTables = new Map(); // by name: it takes a while

function pointingOf(name, { pointing }) { // float32 in base64: hand by hand, row by row, x and y
  if (!unpackedTables.has(name)) {
    const bytes = Uint8Array.from(atob(pointing), (character) => character.charCodeAt(0));
    unpackedTables.set(name, new Float32Array(bytes.buffer));
  }
  return unpackedTables.get(name);
}

// One hand: where it points in each row, and where it was foretold to, `ahead` rows before.
function handOf(numbers, hand, period, ahead) {
  const count = numbers.length / 2 / HANDS;
  const at = (row) => 2 * (hand * count + row);
  const x = Float64Array.from({ length: count }, (_, row) => numbers[at(row)]);
  const y = Float64Array.from({ length: count }, (_, row) => numbers[at(row) + 1]);
  const cos = Math.cos(2 * Math.PI * ahead / period);
  const sin = Math.sin(2 * Math.PI * ahead / period);
  const foretoldX = x.map((_, row) =>
    (row < ahead ? NaN : cos * x[row - ahead] - sin * y[row - ahead]));
  const foretoldY = y.map((_, row) =>
    (row < ahead ? NaN : sin * x[row - ahead] + cos * y[row - ahead]));
  return { x, y, foretoldX, foretoldY };
}

// What is missed in the rows after the learned ones. 0: exact, 1: nothing in common, 2: opposite.
function missedShare({ x, y, foretoldX, foretoldY }, learned, ahead) {
  let missed = 0;
  let size = 0;
  for (let row = learned + ahead; row < x.length; row++) {
    missed += (x[row] - foretoldX[row]) ** 2 + (y[row] - foretoldY[row]) ** 2;
    size += x[row] ** 2 + y[row] ** 2 + foretoldX[row] ** 2 + foretoldY[row] ** 2;
  }
  return missed / size;
}

const MOST_ROWS = 200; // ahead, so that some remain to be judged
const rowsAhead = (part, period) => Math.min(MOST_ROWS, Math.max(1, Math.round(part * period)));

// Whole rows: 200 may be less than was asked for, one row of a fast hand may be more.
const turnsAhead = (rows, period) => `${fixed(rows / period, 2)} turns`;

const EXPLORER = {
  columns: [1, 1.5],
  minWidth: 280,
  height: (width) => Math.min(330, width),

  compute({ table, hand, ahead }, { learned, tables }) {
    const { periods } = tables[table];
    const rows = rowsAhead(ahead, periods[hand]);
    const pointing = handOf(pointingOf(table, tables[table]), hand, periods[hand], rows);
    return { ...pointing, periods, rows, missed: missedShare(pointing, learned, rows) };
  },

  draw([left, right], { x, y, foretoldX, periods, rows }, { table, hand }) {
    const { learned } = SPEC.data;
    const period = periods[hand];
    const half = Math.round(Math.min(255, 4 * period)); // rows in view on either side
    const size = 1.1 * Math.max(...x.map((value, row) => Math.hypot(value, y[row])));
    left.axes({
      x: [-size, size], y: [-size, size], equal: true,
      title: `table ${table}, hand ${hand} in its plane`,
      legend: [{ name: "learned from" }, { name: "not seen", colour: 1 }],
    }).line(x.slice(0, learned), y.slice(0, learned), { width: 1, fade: 0.8 })
      .line(x.slice(learned), y.slice(learned), { width: 1, colour: 1, fade: 0.8 })
      .dots([0], [0], { mark: "cross", size: 4, colour: "grey" });
    const turns = Array.from(x, (_, row) => (row + 1 - learned) / period);
    const first = Math.max(0, learned - half);
    const last = Math.min(x.length, learned + half);
    const inView = [...x.slice(first, last), ...foretoldX.slice(learned, last)]
      .filter(Number.isFinite);
    const low = Math.min(...inView);
    const high = Math.max(...inView);
    const room = 0.08 * (high - low);
    right.axes({
      x: [(0.5 - half) / period, (0.5 + half) / period], y: [low - room, high + room],
      title: `foretold ${turnsAhead(rows, period)} ahead`, xlabel: "turns after row 255",
      ylabel: "its horizontal part",
      legend: [{ name: "learned from" }, { name: "not seen", colour: 1 },
        { name: "foretold", colour: "ink", dash: "5 3" }],
    }).upright(0.5 / period)
      .line(turns.slice(0, learned), x.slice(0, learned), { width: 1.6 })
      .line(turns.slice(learned - 1), x.slice(learned - 1), { width: 1.6, colour: 1 })
      .line(turns.slice(learned), foretoldX.slice(learned),
        { width: 1.6, colour: "ink", dash: "5 3" });
  },

  sentence: ({ periods, rows, missed }, { table, hand }) =>
    `Table ${table}, hand ${hand}: ${fixed(periods[hand], 0)} rows a turn. Each dashed point is `
    + `foretold from the table's own row ${turnsAhead(rows, periods[hand])} before`
    + `${rows === MOST_ROWS ? ` (${MOST_ROWS} rows, the most)` : ""}. In rows not seen it misses `
    + `${fixed(missed, 2)} (0: exact, 1: nothing in common).`,

  description({ x, y, periods, rows, missed }, { table, hand }) {
    const reach = Math.max(...x.map((value, row) => Math.hypot(value, y[row])));
    return `Left: where hand ${hand} of table ${table} points in each of 511 rows, around a cross `
      + `at its centre, at most ${fixed(reach, 2)} away; the first ${SPEC.data.learned} rows, `
      + "which the turn was learned from, in one colour, the others in a second. Right: its "
      + "horizontal part along its own turns, and dashed where the turn foretold it to be, from "
      + `the table's row ${turnsAhead(rows, periods[hand])} before. In rows not seen the `
      + `forecast of this hand misses ${fixed(missed, 2)}.`;
  },
};
