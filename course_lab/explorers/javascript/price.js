// A price on distance, drawn by hand: each of four heads charges for every step away from a
// distance that it likes. With all scores equal, its weights follow.

const HEADS = 4;
const DRAWN = 16; // positions up to which prices and weights are drawn
const LOWEST = -8; // of the drawn prices: a key down there weighs e⁻⁸ of the best
const PANEL = [DRAWN + 0.8, 0.8 - LOWEST]; // width and height, in positions and score
const CIRCLE = 0.06; // of the panel: a pointer this near to a circle holds the top
const SHARE = 0.95; // of a query's weight
const SLOPES = [1 / 256, 4]; // lowest and highest
const STEPS = 20; // of the slopes, in a factor of ten

const steep = () => [2, 1, 1 / 2, 1 / 4].map((slope) => [0, slope]);
const within = (value, [low, high]) => Math.min(high, Math.max(low, value));

// What a head adds to the score of a key at this distance.
const priceAt = ([peak, slope], distance) => -slope * Math.abs(distance - peak);

// The nearest power of two, or the nearest slope that the slider has, where that is nearer.
function nearestSlope(slope) {
  const inside = within(slope, SLOPES);
  const power = 2 ** Math.round(Math.log2(inside));
  if (Math.abs(Math.log10(power / inside)) <= 0.5 / STEPS + 1e-9) return power;
  const step = Math.round(STEPS * Math.log10(inside)) / STEPS;
  return within(Number((10 ** step).toPrecision(2)), SLOPES);
}

// How far apart two points [distance, score] are on the panel, as a share of its sides.
const apart = (a, b) => Math.hypot(...PANEL.map((side, n) => (a[n] - b[n]) / side));

// What the pointer holds: of the nearest head its top, or its line. The chosen head is the first.
function heldAt(pointer, prices, chosen) {
  const order = [chosen, ...prices.keys()].filter((n, at, all) => all.indexOf(n) === at);
  const nearest = (gaps) => gaps.reduce((best, gap, n) => (gap < gaps[best] - 1e-9 ? n : best), 0);
  const tops = order.map((n) => apart(pointer, [prices[n][0], 0]));
  const top = nearest(tops);
  if (tops[top] <= CIRCLE) return { held: order[top], byTop: true };
  const points = Array.from({ length: 8 * DRAWN + 1 }, (_, n) => n / 8);
  const lines = order.map((n) => Math.min(...points.map((distance) =>
    apart(pointer, [distance, Math.max(LOWEST, priceAt(prices[n], distance))]))));
  return { held: order[nearest(lines)], byTop: false };
}

// The weights of so many keys with equal scores, nearest first.
function weightsOf(price, keys) {
  const costs = Array.from({ length: keys }, (_, distance) => priceAt(price, distance));
  const highest = Math.max(...costs);
  const powers = costs.map((cost) => Math.exp(cost - highest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

// How many keys, counted from the query back, hold nearly all of the weight.
function reachOf(weights) {
  let sum = 0;
  const last = weights.findIndex((weight) => {
    sum += weight;
    return sum >= SHARE;
  });
  return last < 0 ? weights.length : last + 1;
}

const EXPLORER = {
  columns: [1, 1],
  minWidth: 260,
  height: () => 300,

  initialise(state, start) {
    state.prices ??= steep();
    if (start.prices === undefined) {
      state.prices = state.prices.map(([peak, slope], n) =>
        (n === state.head - 1 ? [start.peak ?? peak, start.slope ?? slope] : [peak, slope]));
    }
    this.follow(state, "head");
  },

  linked: {
    prices: (value) => Array.isArray(value) && value.length === HEADS
      && value.every((price) => Array.isArray(price) && price.length === 2
        && price[0] >= 0 && price[0] <= DRAWN && price[1] >= SLOPES[0] && price[1] <= SLOPES[1]),
  },

  follow(state, name) {
    if (name === "pointer" && state.pointer[2]) {
      Object.assign(state, heldAt(state.pointer, state.prices, state.head - 1));
      state.head = state.held + 1;
    }
    const chosen = state.head - 1;
    const change = (place, value) => {
      state.prices = state.prices.map((price, n) =>
        price.map((old, at) => (n === chosen && at === place ? value : old)));
    };
    if (name === "pointer") {
      const [distance, price] = state.pointer;
      const away = Math.abs(distance - state.prices[chosen][0]);
      if (state.byTop) change(0, within(Math.round(distance), [0, DRAWN]));
      else if (away > 0.5) change(1, nearestSlope(-price / away));
    }
    if (name === "peak") change(0, state.peak);
    if (name === "slope") change(1, nearestSlope(state.slope));
    [state.peak, state.slope] = state.prices[chosen];
  },

  drag: { panel: 0, change: (values, _, begins) => ({ pointer: [...values, begins] }) },

  compute({ prices, keys }) {
    const weights = prices.map((price) => weightsOf(price, keys));
    const drawn = Array.from({ length: DRAWN + 1 }, (_, distance) => distance);
    return {
      lines: prices.map((price) => drawn.map((distance) => priceAt(price, distance))),
      weights: weights.map((row) => row.slice(0, DRAWN + 1)),
      tops: weights.map((row) => row.indexOf(Math.max(...row))),
      largest: weights.map((row) => Math.max(...row)),
      reach: weights.map(reachOf),
    };
  },

  draw([left, right], { lines, weights, reach }, { prices, head }) {
    const chosen = head - 1;
    const look = (n) => ({ colour: n, width: n === chosen ? 3.2 : 1.6 });
    const legend = lines.map((_, n) => ({ name: `head ${n + 1}`, colour: n }));
    const distances = lines[0].map((_, distance) => distance);
    left.axes({
      x: [-0.4, DRAWN + 0.4], y: [LOWEST, 0.8], title: "draw here: price by distance",
      xlabel: "distance back (positions)", ylabel: "added to the score", legend,
    });
    // A tent's top may lie between two keys, where only its lines show it.
    lines.forEach((line, n) => left.line(distances, line, look(n)));
    prices.forEach(([peak], n) => left.dots([peak], [0],
      { colour: n, size: n === chosen ? 7 : 4, hollow: true }));
    right.axes({
      x: [-0.4, DRAWN + 0.4], y: [0, 1.05],
      title: "weights, all scores equal",
      xlabel: "distance back (positions)", ylabel: "share of the weight",
    });
    if (reach[chosen] <= DRAWN) {
      const edge = reach[chosen] - 0.5;
      right.upright(edge, { colour: chosen, dash: "4 4", width: 1.2 });
      const [gap, anchor] = edge > 0.8 * DRAWN ? [-5, "om-end"] : [5, "om-start"];
      right.write(right.box.left + right.px(edge) + gap, right.box.top + 14, "95 %", anchor);
    }
    weights.forEach((row, n) => right.line(row.map((_, distance) => distance), row, look(n)));
    weights.forEach((row, n) => right.dots(row.map((_, distance) => distance), row,
      { colour: n, size: n === chosen ? 3.5 : 2 }));
  },

  sentence({ tops, largest, reach }, { prices, head, keys }) {
    const row = (place) => prices.map((price) => fixed(price[place], 0, 4)).join(", ");
    const [top, share] = [tops[head - 1], 100 * largest[head - 1]];
    const where = top === 0 ? "its own token" : `the key ${top} back`;
    const number = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    return `Head ${head} likes ${where} best and gives it ${fixed(share, share < 10 ? 1 : 0)} % `
      + `of its weight. Of ${keys} keys the nearest ${number(reach[head - 1], "key")} hold 95 %; `
      + `by `
      + `head: ${reach.join(", ")}. In Python: peaks = (${row(0)}); slopes = (${row(1)})`;
  },

  description({ tops, reach }, { prices, head, keys }) {
    const heads = prices.map(([peak, slope], n) =>
      `head ${n + 1} is 0 at distance ${fixed(peak, 0, 2)} and falls by ${fixed(slope, 0, 4)} a `
      + "position on both sides");
    return `Left: what four heads add to the score of a key by its distance, 0 to ${DRAWN} back: `
      + `${heads.join("; ")}. Head ${head} is chosen; circles mark the tops. Right: the weights `
      + `that this makes of ${keys} equal scores, largest at distance ${tops.join(", ")}; 95 % of `
      + `the weight is on the nearest ${reach.join(", ")} keys; a dashed line shows where those of `
      + `head ${head} end, if within ${DRAWN}.`;
  },
};
