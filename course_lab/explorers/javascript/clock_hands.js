// Five clock hands of a position table, foretold by the turn that its first rows teach.

const HANDS = 5;
const ONE_HAND = "one hand of five tables"; // else five hands of one table
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
  return { x, y, foretoldX };
}

// What forecasts `ahead` rows on miss in the rows after the learned ones. 0: exact, 1: nothing in
// common, 2: opposite.
function missedShare({ x, y }, period, learned, ahead) {
  const cos = Math.cos(2 * Math.PI * ahead / period);
  const sin = Math.sin(2 * Math.PI * ahead / period);
  let missed = 0;
  let size = 0;
  for (let row = learned + ahead; row < x.length; row++) {
    const foretoldX = cos * x[row - ahead] - sin * y[row - ahead];
    const foretoldY = sin * x[row - ahead] + cos * y[row - ahead];
    missed += (x[row] - foretoldX) ** 2 + (y[row] - foretoldY) ** 2;
    size += x[row] ** 2 + y[row] ** 2 + foretoldX ** 2 + foretoldY ** 2;
  }
  return missed / size;
}

// The largest miss of forecasts from one row to half a turn ahead.
function worstMiss(hand, period, learned) {
  const horizons = Array.from({ length: rowsAhead(0.5, period) }, (_, n) => n + 1);
  return Math.max(...horizons.map((ahead) => missedShare(hand, period, learned, ahead)));
}

const MOST_ROWS = 200; // ahead, so that some remain to be judged
const JUDGED_TURNS = 4; // in view
const FITTED = "grey"; // rows that the turn was fitted to; the lesson's pictures colour the hands
const UNSEEN = "ink";
const FORECAST = { colour: "gold", dash: "4 2" };
const rowsAhead = (part, period) => Math.min(MOST_ROWS, Math.max(1, Math.round(part * period)));

// Of the panels that are asked for fewer turns than the others, since 200 rows are the most.
function shortOf({ periods, rows }) {
  const panels = rows.flatMap((count, n) => (count === MOST_ROWS ? [n] : []));
  return panels.map((n) => [n, fixed(MOST_ROWS / periods[n], 2)]);
}

// What the five panels show: the table and the hand of each, and what it is called.
function shownIn({ show, table, hand }) {
  const names = Object.keys(SPEC.data.tables);
  return Array.from({ length: HANDS }, (_, n) => (show === ONE_HAND
    ? { from: names[n], hand, title: `table ${names[n]}` }
    : { from: table, hand: n, title: `hand ${n}` }));
}

// A hand's horizontal part along its own turns: one turn of what was learned, then what was not.
function drawAlong(panel, x, foretoldX, period, rows, title) {
  const { learned } = SPEC.data;
  const first = Math.max(0, learned - Math.round(period));
  const last = Math.min(x.length, learned + rows + Math.round(JUDGED_TURNS * period));
  const inView = [...x.slice(first, last), ...foretoldX.slice(learned, last)];
  const low = Math.min(...inView);
  const high = Math.max(...inView);
  const room = 0.08 * (high - low);
  const turns = Array.from(x, (_, row) => (row + 1 - learned) / period);
  const dashed = { width: 1.8, ...FORECAST };
  panel.axes({
    x: [turns[first], turns[last - 1]], y: [low - room, high + room], yticks: [], title,
    xlabel: "turns after row 255",
  }).upright(0.5 / period)
    .line(turns.slice(first, learned), x.slice(first, learned), { width: 1.6, colour: FITTED })
    .line(turns.slice(learned - 1, last), x.slice(learned - 1, last),
      { width: 1.6, colour: UNSEEN })
    .line(turns.slice(learned, learned + rows + 1), foretoldX.slice(learned, learned + rows + 1),
      { ...dashed, fade: 0.3 })
    .line(turns.slice(learned + rows, last), foretoldX.slice(learned + rows, last), dashed);
}

const EXPLORER = {
  columns: [1, 1, 1, 1, 1, 1],
  minWidth: 200,
  height: () => 195,

  compute({ show, table, hand, ahead }, { learned, tables }) {
    const shown = shownIn({ show, table, hand });
    const periods = shown.map((panel) => tables[panel.from].periods[panel.hand]);
    const rows = periods.map((period) => rowsAhead(ahead, period));
    const hands = shown.map((panel, n) => handOf(
      pointingOf(panel.from, tables[panel.from]), panel.hand, periods[n], rows[n],
    ));
    const missed = hands.map((each, n) => missedShare(each, periods[n], learned, rows[n]));
    const worst = hands.map((each, n) => worstMiss(each, periods[n], learned));
    const [x, y, foretoldX] = ["x", "y", "foretoldX"]
      .map((part) => hands.map((each) => Array.from(each[part])));
    return { x, y, foretoldX, periods, rows, missed, worst };
  },

  draw(panels, numbers, { show, table, hand, misses }) {
    const { x, y, foretoldX, periods, rows, missed, worst } = numbers;
    const { learned } = SPEC.data;
    const short = new Map(shortOf(numbers));
    const shown = shownIn({ show, table, hand });
    shown.forEach(({ title }, n) => {
      const turns = short.has(n) ? `: ${short.get(n)} turns ahead` : "";
      const shares = `: miss ${fixed(missed[n], 2)}, worst ${fixed(worst[n], 2)}`;
      const after = misses ? shares : turns; // the sentence has the turns
      drawAlong(panels[n], x[n], foretoldX[n], periods[n], rows[n], title + after);
    });
    const inPlane = shown.findIndex((panel) => panel.from === table && panel.hand === hand);
    const [across, up] = [x[inPlane], y[inPlane]];
    const size = 1.1 * Math.max(...across.map((value, row) => Math.hypot(value, up[row])));
    panels[HANDS].axes({
      x: [-size, size], y: [-size, size], equal: true, xticks: [], yticks: [],
      title: `table ${table}, hand ${hand} in its plane`,
      legend: [
        { name: "fitted to", colour: FITTED }, { name: "not seen", colour: UNSEEN },
        { name: "forecast", ...FORECAST }, { name: "not judged", ...FORECAST, fade: 0.3 },
      ],
    }).line(across.slice(0, learned), up.slice(0, learned), { width: 1, colour: FITTED })
      .line(across.slice(learned), up.slice(learned), { width: 1, colour: UNSEEN, fade: 0.8 })
      .dots([0], [0], { mark: "cross", size: 4, colour: "ink" });
  },

  sentence(numbers, { show, table, hand, ahead }) {
    const shown = shownIn({ show, table, hand });
    const short = shortOf(numbers).map(([n, turns]) => `${shown[n].title} ${turns} turns`);
    return `${show === ONE_HAND ? `Hand ${hand} of five tables` : `Table ${table}`}: each dashed `
      + `point is foretold from the table's own row ${fixed(ahead, 2)} turns before, to whole rows`
      + (short.length === 0 ? "" : `; ${MOST_ROWS} rows are the most, for ${short.join(", ")}`)
      + ". Faint: foretold from a row that the turn was fitted to, so not judged.";
  },

  description({ x, y, missed }, { show, table, hand }) {
    const shown = shownIn({ show, table, hand });
    const inPlane = shown.findIndex((panel) => panel.from === table && panel.hand === hand);
    const reach = Math.max(...x[inPlane].map((value, row) => Math.hypot(value, y[inPlane][row])));
    const { learned } = SPEC.data;
    const panels = show === ONE_HAND
      ? `one for hand ${hand} of each table` : `one for each hand of table ${table}`;
    return `Five panels, ${panels}: its horizontal part along its own `
      + `turns, the last turn of rows 1 to ${learned}, which the turn was fitted to, in one `
      + "colour, and the rows after them in a second; dashed, where the turn foretold it to be, "
      + "faint where it was foretold from a row that it was fitted to, then for "
      + `${JUDGED_TURNS} turns or to the last row. From 0 (exact) to 2 (opposite), the forecasts `
      + `of ${shown[0].title} to ${shown[HANDS - 1].title} are off by `
      + `${missed.map((share) => fixed(share, 2)).join(", ")}. Last, where hand ${hand} of table `
      + `${table} points in each of ${x[inPlane].length} rows, around a cross at its centre, at `
      + `most ${fixed(reach, 2)} away.`;
  },
};
