// RoPE: one pair of numbers that turns.

const PLACES = 41; // positions 0 to 40
const FARTHEST_MOVE = 20; // positions that both can be moved on by
const QUERY = [1, 0.4];
const KEY = [-0.2, 0.9];
const TIP = 40; // pixels, the side of the square in which a tip is taken
const JUMP = 0.02; // radians that one position less of a jump is worth

function turned([x, y], angle) {
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  return [x * cos - y * sin, x * sin + y * cos];
}

// q·k of all places, queries by rows.
function productsAtAllPlaces(theta) {
  const products = new Float64Array(PLACES * PLACES);
  // q·k, and q·k with the key turned by a quarter: all else is between them.
  const straight = QUERY[0] * KEY[0] + QUERY[1] * KEY[1];
  const quarter = QUERY[1] * KEY[0] - QUERY[0] * KEY[1];
  for (let i = 0; i < PLACES; i++) {
    for (let j = 0; j < PLACES; j++) {
      const angle = (j - i) * theta;
      products[i * PLACES + j] = straight * Math.cos(angle) + quarter * Math.sin(angle);
    }
  }
  return products;
}

// An arrow before and after its turn, on the circle that it turns on.
function drawTurn(panel, before, after, colour) {
  const size = Math.hypot(...after);
  const angles = Array.from({ length: 73 }, (_, i) => i / 36 * Math.PI);
  const circle = { colour: "grey", width: 0.8 };
  panel.line(angles.map((a) => size * Math.cos(a)), angles.map((a) => size * Math.sin(a)), circle)
    .line([0, before[0]], [0, before[1]], { colour, dash: "2 4", width: 2 })
    .line([0, after[0]], [0, after[1]], { colour, width: 3 })
    .dots([after[0]], [after[1]], { colour, size: 4 });
}

// Radians from the query to the key, the shorter way.
function angleBetween([a, b], [x, y]) {
  return Math.atan2(a * y - b * x, a * x + b * y);
}

// The angle between both arrows, as an arc.
function drawAngle(panel, query, key) {
  const start = Math.atan2(query[1], query[0]);
  const between = angleBetween(query, key);
  const angles = Array.from({ length: 25 }, (_, i) => start + i / 24 * between);
  panel.line(angles.map((a) => 0.45 * Math.cos(a)), angles.map((a) => 0.45 * Math.sin(a)),
    { colour: "grey", width: 2 });
}

function within(position) {
  return Math.min(FARTHEST_MOVE, Math.max(0, Math.round(position)));
}

// The position in which an arrow points where the pointer is; of several the nearest to the last.
function turnedTo(pointer, start, before, both, theta) {
  const missed = (position) =>
    Math.abs(angleBetween(turned(start, (position + both) * theta), pointer))
    + JUMP * Math.abs(position - before);
  const positions = Array.from({ length: FARTHEST_MOVE + 1 }, (_, position) => position);
  return positions.reduce((best, position) => (missed(position) < missed(best) ? position : best));
}

const EXPLORER = {
  columns: [1, 1],
  minWidth: 280,
  height: (width) => Math.min(330, width),

  drag: [{ // turn an arrow by its tip: it goes on to the position that comes nearest
    panel: 0,
    onlyHandles: true,
    handles: (panel, { query, key }) => [query, key].map(([x, y]) =>
      [panel.box.left + panel.px(x), panel.box.top + panel.py(y), TIP, TIP]),
    change: ([x, y], { p, r, both, theta }, begins, tip) => (tip === 0
      ? { p: turnedTo([x, y], QUERY, p, both, theta) }
      : { r: turnedTo([x, y], KEY, r, both, theta) }),
  }, { // choose the positions of query and key
    panel: 1,
    change: ([x, y]) => ({ p: within(y), r: within(x), both: 0 }),
  }],
  play: {
    label: "move both",
    step: ({ both }) => ({ both: both === FARTHEST_MOVE ? 0 : both + 1 }),
  },

  compute({ p, r, both, theta }) {
    const query = turned(QUERY, (p + both) * theta);
    const key = turned(KEY, (r + both) * theta);
    const product = query[0] * key[0] + query[1] * key[1];
    return { query, key, products: productsAtAllPlaces(theta), product };
  },

  draw([left, right], { query, key, products }, { p, r, both }) {
    left.axes({
      x: [-1.3, 1.3], y: [-1.3, 1.3], equal: true, title: "turned (dotted: before)",
      xticks: [-1, 0, 1], yticks: [-1, 0, 1],
      xlabel: "first number", ylabel: "second number",
      legend: [{ name: "query" }, { name: "key", colour: 1 }],
    });
    drawTurn(left, QUERY, query, 0);
    drawTurn(left, KEY, key, 1);
    drawAngle(left, query, key);
    right.axes({
      x: [-0.5, PLACES - 0.5], y: [PLACES - 0.5, -0.5], equal: true, title: "q·k of all positions",
      xlabel: "position of the key", ylabel: "position of the query",
      bar: { signed: true, limit: 1 },
    }).matrix(products, PLACES, { signed: true, limit: 1 })
      .dots([r + both], [p + both], { mark: "square", size: 5, colour: "paper" })
      .dots([r + both], [p + both], { mark: "square", size: 7, colour: "ink" });
  },

  sentence: ({ query, key, product }, { p, r, both, theta }) =>
    `The query stands at ${fixed(p + both, 0)} and has turned by `
    + `${fixed((p + both) * theta, 2)} radians, the key at ${fixed(r + both, 0)} by `
    + `${fixed((r + both) * theta, 2)}. From key to query it is `
    + `${fixed(-angleBetween(query, key), 2)} radians. Distance ${fixed(p - r, 0)}, `
    + `q·k = ${fixed(product, 3)}.`,

  description({ query, key, product }, { p, r, both, theta }) {
    const point = ([x, y]) => `(${fixed(x, 2)}, ${fixed(y, 2)})`;
    return "Left: a query and a key as arrows from the centre, dotted where they start and solid "
      + `where they are after turning by ${fixed(theta, 2)} radians a position. The query, at `
      + `${p + both}, now ends at ${point(query)}, the key, at ${r + both}, at ${point(key)}. An `
      + "arc shows the angle between them. "
      + "Right: their product for all positions from 0 to 40, as colours from −1 to 1. Each "
      + "diagonal has one colour, since only p − r counts. A square marks this pair: "
      + `${fixed(product, 3)}.`;
  },
};
