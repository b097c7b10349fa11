// A price on distance, drawn by hand: each of four heads charges for every step away from a
// distance that it likes. With all scores equal but one key's, which may be higher, its weights
// follow.

const HEADS = 4;
const DRAWN = 16; // positions up to which prices and weights are drawn
const KEYS = 1024; // in sight
const MARKED = 10; // the key so far back may score higher than the others
const LOWEST = -8; // of the drawn prices: a key down there weighs e⁻⁸ of the best
const HIGHEST = 5.6; // has room for the marked key at a tent's top
const PANEL = [DRAWN + 0.8, HIGHEST - LOWEST]; // width and height, in positions and score
const NEAR = 0.05; // of the panel: a pointer this near to a circle or square holds it
const RISES = [0, 5, 0.5]; // of the marked key's score: lowest, highest, step
const FINGER = 32; // pixels: what it takes hold of
const SHARE = 0.95; // of a query's weight
const SLOPES = [1 / 256, 4]; // lowest and highest
const STEPS = 20; // of the slopes, in a factor of ten
const SIGHT = { "all keys": KEYS, "12 keys": 12, "3 keys": 3 }; // the nearest, others cut off
const RINGS = [10, 7]; // pixels: radius of the chosen head's circle, and of another
const INSIDE = 3; // pixels: by how much a circle is smaller than the one around it

const steep = () => [2, 1, 1 / 2, 1 / 4].map((slope) => [0, slope]);
const within = (value, [low, high]) => Math.min(high, Math.max(low, value));

// What a head adds to the score of a key at this distance.
const priceAt = ([peak, slope], distance) => -slope * Math.abs(distance - peak);

// The nearest power of two, or the nearest slope that the slider has, where that is nearer. The
// lowest slope is a power, too; the slider's next step is so near that it counts as itself.
function nearestSlope(slope) {
  const inside = within(slope, SLOPES);
  if (inside === SLOPES[0]) return inside;
  const power = 2 ** Math.round(Math.log2(inside));
  const isNear = Math.abs(Math.log10(power / inside)) <= 0.5 / STEPS + 1e-9;
  if (isNear && power > SLOPES[0]) return power;
  const step = Math.round(STEPS * Math.log10(inside)) / STEPS;
  return within(Number((10 ** step).toPrecision(2)), SLOPES);
}

// How far apart two points [distance, score] are on the panel, as a share of its sides.
const apart = (a, b) => Math.hypot(...PANEL.map((side, n) => (a[n] - b[n]) / side));

// What the chosen head adds to the marked key, whose own score is higher by so much.
const markedAt = (price, higher) => priceAt(price, MARKED) + higher;

// Where its square stands: at the edge if that is too low.
const squareAt = (price, higher) => [MARKED, Math.max(markedAt(price, higher), LOWEST + 0.5)];

// The radius of each head's circle: heads that share a peak stand inside one another, the chosen
// one around all.
function ringsOf(prices, chosen) {
  const order = [chosen, ...prices.keys()].filter((n, at, all) => all.indexOf(n) === at);
  return order.reduce((radii, n, at) => {
    const around = order.slice(0, at).filter((other) =>
      Math.abs(prices[other][0] - prices[n][0]) < 0.5);
    const outer = n === chosen ? RINGS[0] : RINGS[1];
    radii[n] = around.length ? radii[around.at(-1)] - INSIDE : outer;
    return radii;
  }, []);
}

// What the pointer holds: the marked key, or of the nearest head its top, or its line. The chosen
// head is the first.
function heldAt(pointer, prices, chosen, higher) {
  const mark = squareAt(prices[chosen], higher);
  if (higher > 0 && apart(pointer, mark) <= NEAR) return { held: chosen, part: "mark" };
  const order = [chosen, ...prices.keys()].filter((n, at, all) => all.indexOf(n) === at);
  const nearest = (gaps) => gaps.reduce((best, gap, n) => (gap < gaps[best] - 1e-9 ? n : best), 0);
  const tops = order.map((n) => apart(pointer, [prices[n][0], 0]));
  const top = nearest(tops);
  if (tops[top] <= NEAR) return { held: order[top], part: "top" };
  const points = Array.from({ length: 8 * DRAWN + 1 }, (_, n) => n / 8);
  const lines = order.map((n) => Math.min(...points.map((distance) =>
    apart(pointer, [distance, Math.max(LOWEST, priceAt(prices[n], distance))]))));
  return { held: order[nearest(lines)], part: "line" };
}

// The weights of the keys, nearest first: equal scores, but one is higher; none out of sight.
function weightsOf(price, higher, sight) {
  const costs = Array.from({ length: KEYS }, (_, distance) => {
    if (distance >= sight) return -Infinity;
    return distance === MARKED ? markedAt(price, higher) : priceAt(price, distance);
  });
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

// The marked key of the chosen head: from its price up by as much as its score is higher.
function drawMarked(panel, price, higher, chosen) {
  const [low, high] = [priceAt(price, MARKED), markedAt(price, higher)];
  const [, seen] = squareAt(price, higher);
  panel.line([MARKED, MARKED], [low, high], { colour: chosen, width: 2, dash: "3 3" });
  const fade = high < seen ? 0.4 : 1;
  panel.dots([MARKED], [seen], { colour: chosen, mark: "square", size: 6, fade });
  const words = `${fixed(low, 0, 2)} + ${higher} = ${fixed(high, 0, 2)}`;
  panel.write(panel.box.left + panel.px(MARKED) + 11, panel.box.top + panel.py(seen) + 4, words,
    "om-start");
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
      Object.assign(state, heldAt(state.pointer, state.prices, state.head - 1, state.higher));
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
      if (state.part === "mark") {
        const [lowest, highest, step] = RISES;
        const higher = price - priceAt(state.prices[chosen], MARKED);
        state.higher = within(step * Math.round(higher / step), [lowest, highest]);
      } else if (state.part === "top") change(0, within(Math.round(distance), [0, DRAWN]));
      else if (away > 0.5) change(1, nearestSlope(-price / away));
    }
    if (name === "peak") change(0, state.peak);
    if (name === "slope") change(1, nearestSlope(state.slope));
    [state.peak, state.slope] = state.prices[chosen];
  },

  drag: {
    panel: 0,
    handles(panel, _, { prices, head, higher }) {
      const chosen = head - 1;
      const [peak, slope] = prices[chosen];
      const halfway = peak + Math.min(DRAWN - peak, -LOWEST / slope) / 2; // down the chosen line
      const points = [
        ...prices.map(([distance]) => [distance, 0]),
        [halfway, priceAt(prices[chosen], halfway)],
        ...(higher > 0 ? [squareAt(prices[chosen], higher)] : []),
      ];
      return points.map(([x, y]) =>
        [panel.box.left + panel.px(x), panel.box.top + panel.py(y), FINGER, FINGER]);
    },
    change: (values, _, begins) => ({ pointer: [...values, begins] }),
  },

  compute({ prices, higher, sight }) {
    const weights = prices.map((price) => weightsOf(price, higher, SIGHT[sight]));
    const drawn = Array.from({ length: DRAWN + 1 }, (_, distance) => distance);
    return {
      lines: prices.map((price) => drawn.map((distance) => priceAt(price, distance))),
      weights: weights.map((row) => row.slice(0, DRAWN + 1)),
      tops: weights.map((row) => row.indexOf(Math.max(...row))),
      largest: weights.map((row) => Math.max(...row)),
      reach: weights.map(reachOf),
    };
  },

  draw([left, right], { lines, weights, reach }, { prices, head, higher, sight }) {
    const chosen = head - 1;
    const seen = SIGHT[sight];
    const look = (n) => ({ colour: n, width: n === chosen ? 3.2 : 1.6 });
    const legend = lines.map((_, n) => ({ name: `head ${n + 1}`, colour: n }));
    const distances = lines[0].map((_, distance) => distance);
    left.axes({
      x: [-0.4, DRAWN + 0.4], y: [LOWEST, HIGHEST], title: "draw here: price by distance",
      xlabel: "distance back (positions)", ylabel: "added to the score", legend,
    });
    // A tent's top may lie between two keys, where only its lines show it.
    lines.forEach((line, n) => left.line(distances, line, look(n)));
    if (seen <= DRAWN) {
      left.upright(seen - 0.5, { dash: "2 3", width: 1.4 });
      left.write(left.box.left + left.px(seen - 0.5) + 5, left.box.top + 14, "cut", "om-start");
    }
    const radii = ringsOf(prices, chosen);
    prices.forEach(([peak], n) => left.dots([peak], [0],
      { colour: n, size: radii[n], hollow: true }));
    if (higher > 0 && MARKED < seen) drawMarked(left, prices[chosen], higher, chosen);
    right.axes({
      x: [-0.4, DRAWN + 0.4], y: [0, 1.05],
      title: `weights, scores equal${higher > 0 ? ` but ${MARKED} back` : ""}`,
      xlabel: "distance back (positions)", ylabel: "share of the weight",
    });
    if (reach[chosen] <= DRAWN) {
      const edge = reach[chosen] - 0.5;
      right.upright(edge, { colour: chosen, dash: "4 4", width: 1.2 });
      const [gap, anchor] = edge > 0.6 * DRAWN ? [-5, "om-end"] : [5, "om-start"];
      ["95 % of the", "weight is nearer"].forEach((words, line) =>
        right.write(right.box.left + right.px(edge) + gap, right.box.top + 14 + 14 * line, words,
          anchor));
    }
    // Past a key that scores higher the line goes on from its neighbours: it is no ramp.
    const alike = distances.filter((distance) => !(higher > 0 && distance === MARKED));
    weights.forEach((row, n) => right.line(alike, alike.map((distance) => row[distance]), look(n)));
    weights.forEach((row, n) => right.dots(row.map((_, distance) => distance), row,
      { colour: n, size: n === chosen ? 3.5 : 2 }));
    if (higher > 0 && MARKED < seen) {
      right.dots([MARKED], [weights[chosen][MARKED]], { colour: chosen, mark: "square", size: 6 });
    }
  },

  sentence({ tops, largest, weights, reach }, { prices, head, higher, sight }) {
    const row = (place) => prices.map((price) => fixed(price[place], 0, 4)).join(", ");
    const percent = (share) => `${fixed(100 * share, share < 0.1 ? 1 : 0)} %`;
    const [top, share, marked] = [tops, largest, weights.map((row) => row[MARKED])]
      .map((of) => of[head - 1]);
    const alike = top !== MARKED && Math.abs(marked - share) < 1e-9;
    const where = (top === 0 ? "its own token" : `the key ${top} back`)
      + (alike ? ` and the key ${MARKED} back alike` : "");
    const number = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    const other = higher > 0 && top !== MARKED && !alike
      ? ` The key ${MARKED} back, whose score is higher by ${higher}, gets ${percent(marked)}.`
      : "";
    const each = higher > 0 ? ", with such a key in each" : "";
    const cut = SIGHT[sight] < KEYS ? `Cut to the nearest ${sight}. ` : "";
    return `${cut}Head ${head} likes ${where} best and gives it ${percent(share)} of its weight.`
      + `${other} Of ${KEYS} keys the nearest ${number(reach[head - 1], "key")} hold 95 %; `
      + `by head${each}: `
      + `${reach.join(", ")}. In Python: peaks = (${row(0)}); slopes = (${row(1)})`;
  },

  description({ tops, weights, reach }, { prices, head, higher, sight }) {
    const heads = prices.map(([peak, slope], n) =>
      `head ${n + 1} is 0 at distance ${fixed(peak, 0, 2)} and falls by ${fixed(slope, 0, 4)} a `
      + "position on both sides");
    const marked = higher > 0
      ? ` A square marks the key ${MARKED} back: its score is higher by ${higher}; with the price `
        + `of head ${head} that makes ${fixed(markedAt(prices[head - 1], higher), 0, 2)}, and `
        + `${fixed(100 * weights[head - 1][MARKED], 0, 1)} % of the weight.`
      : "";
    const alike = higher > 0 ? ` that score alike but for the one ${MARKED} back` : "";
    return `Left: what four heads add to the score of a key by its distance, 0 to ${DRAWN} back: `
      + `${heads.join("; ")}. Head ${head} is chosen; circles mark the tops, one inside another `
      + "where heads share one. Each head sees "
      + `${sight === "all keys" ? sight : `the nearest ${sight}`}. `
      + `Right: the weights of ${KEYS} keys${alike}, `
      + `largest at distance ${tops.join(", ")}; 95 % of the weight is on the nearest `
      + `${reach.join(", ")} keys; a dashed line shows where those of head ${head} end, if within `
      + `${DRAWN}.${marked}`;
  },
};
