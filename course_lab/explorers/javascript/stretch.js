// Tune your own stretch: sixteen hands of the course's RoPE model, each slowed as you wish. The
// model reads here, see model.js.

const WHOLE = 2 * Math.PI;
const OWN_WAY = "your own"; // the last choice
const ROUNDING = 0.002; // nats a byte
const SLOWEST = 8; // times slower

let reader = null; // the model, once it has been unpacked
const known = new Map(); // losses of the settings that have been read, the last one last
const PAST = 8; // settings that the picture remembers
const NEAR = { x: [-0.03, 0.97], y: [0, 0.8] }; // nats a byte, of the right panel
const MAP = { x: [0.5, 0.95], y: [0.33, 0.78], all: [-0.15, 2.5] }; // its inset: where, and what
const INSET = 8; // pixels between the edge and a point that is held inside
const CLOCKS = 9.5; // times slower: where the clocks stand, above the bars
const HEAD = 44; // pixels, how high the place is in which a finger takes a bar's head

function readerOf({ weights }) {
  reader ??= readModel(Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0)).buffer);
  return reader;
}

// Which hands turn farther than they did in training, so that their angles are new.
function unseenOf(factors, { speeds, trained, long }) {
  return speeds.map((speed, pair) => {
    const seen = trained * speed / WHOLE, turns = long * speed / factors[pair] / WHOLE;
    // A hand that finished a turn has seen every angle; 1 % more is rounding.
    return Number(seen < 1 && turns > 1.01 * seen);
  });
}

// The mean loss of the judged bytes in windows of n, in nats a byte.
function lossAt(n, speeds, sharpness, data) {
  const turning = { speeds, kept: speeds.map(() => 1), sharpness };
  const text = Uint8Array.from(data.text), first = data.long - data.judged;
  const bytes = readerOf(data).read(text, first, data.judged, n, turning);
  return bytes.reduce((sum, { loss }) => sum + loss, 0) / bytes.length;
}

function countOf(unseen) {
  const count = unseen.filter(Boolean).length;
  return count === 1 ? "1 hand reaches" : `${count} hands reach`;
}

const isNear = ([x, y]) => x < NEAR.x[1] && y < NEAR.y[1]
  && (x < MAP.x[0] || y < MAP.y[0]); // the inset shows all others

// A value held inside the range of an axis of so many pixels.
function heldInside(value, [low, high], pixels) {
  const inset = INSET * (high - low) / pixels;
  return Math.min(high - inset, Math.max(low + inset, value));
}

// A clock's slice in pixels around its centre, from one share of a turn to another, clockwise.
function slice(x, y, radius, from, to) {
  if (to - from > 0.999) return `M${x},${y - radius}a${radius},${radius} 0 1,1 -0.01,0z`;
  const [first, last] = [from, to].map((turns) =>
    `${(x + radius * Math.sin(WHOLE * turns)).toFixed(2)},`
    + `${(y - radius * Math.cos(WHOLE * turns)).toFixed(2)}`);
  return `M${x},${y}L${first}A${radius},${radius} 0 ${Number(to - from > 0.5)},1 ${last}z`;
}

// A clock for each hand above its bar: what training showed is blue, what is new orange.
function clocks(panel, factors, unseen, { speeds, trained, long }) {
  const radius = 0.44 * (panel.px(1) - panel.px(0));
  const y = panel.py(CLOCKS);
  speeds.forEach((speed, pair) => {
    const x = Number(panel.px(pair).toFixed(2));
    const seen = Math.min(1, trained * speed / WHOLE);
    const reached = Math.min(1, long * speed / factors[pair] / WHOLE);
    const fill = (path, colour) =>
      panel.inside.push(`<path d="${path}" style="fill:var(--om-${colour})"/>`);
    fill(slice(x, y, radius, 0, seen), 0);
    if (unseen[pair]) fill(slice(x, y, radius, seen, reached), 3);
    const rim = stroke({ colour: "grey", width: 1 });
    panel.inside.push(`<path d="${slice(x, y, radius, 0, 1)}" ${rim}/>`);
  });
}

function writeInside(panel, x, y, text, kind) {
  const place = `x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}"`;
  panel.inside.push(`<text ${place} class="${kind}">${text}</text>`);
}

// All ways, and yours, in a small map in the corner of the right panel.
function map(panel, known, yours, colour) {
  const place = ([first, last], value) =>
    first + (last - first) * (value - MAP.all[0]) / (MAP.all[1] - MAP.all[0]);
  const [left, right] = MAP.x.map((x) => panel.px(x)), [low, high] = MAP.y.map((y) => panel.py(y));
  const at = ([x, y]) => [place(MAP.x, x), place(MAP.y, y)];
  panel.inside.push(`<path d="M${left},${low}V${high}H${right}V${low}z" `
    + 'style="fill:var(--om-paper);stroke:var(--om-grey)"/>');
  const corners = [[0, 0], [0, NEAR.y[1]], [NEAR.x[1], NEAR.y[1]], [NEAR.x[1], 0], [0, 0]].map(at);
  panel.line(...[0, 1].map((side) => corners.map((corner) => corner[side])),
    { colour: "grey", width: 1, dash: "2 2" });
  for (const [name, rises] of Object.entries(known)) {
    const [x, y] = at(rises);
    panel.dots([x], [y], { colour: 0, size: 2.5 });
    if (isNear(rises)) continue;
    const isRight = x > (MAP.x[0] + MAP.x[1]) / 2;
    const aside = isRight ? -8 : 8;
    writeInside(panel, panel.px(x) + aside, panel.py(y), name, isRight ? "om-end" : "om-start");
  }
  writeInside(panel, right - 6, low - 11, "all ways", "om-end");
  const [x, y] = at(yours.map((rise) => Math.min(MAP.all[1], rise)));
  panel.dots([x], [y], { colour, size: 4.5, hollow: true });
}

// What the learner may write in the next cell: {5: 6, 6: 8}, hand and how many times slower.
function writtenOf(factors) {
  const slowed = factors.flatMap((factor, pair) =>
    (factor > 1 ? [`${pair}: ${fixed(factor, 0, 2)}`] : []));
  return `{${slowed.join(", ")}}`;
}

const signedRise = (rise) => `${rise < 0 ? "" : "+"}${fixed(rise, 2)}`;

const EXPLORER = {
  columns: [1, 1.1],
  minWidth: 240,
  height: () => 300,
  lows: [210, 285], // who draws sees at once what it does

  initialise(state, start) {
    const { ways, speeds } = SPEC.data;
    if (start.factors && start.set === undefined) state.set = OWN_WAY;
    state.factors ??= ways[state.set] ?? speeds.map(() => 1);
    const slowed = start.slowed !== undefined && start.factors === undefined;
    this.follow(state, slowed ? "slowed" : "hand");
  },

  linked: {
    factors: (value) => Array.isArray(value) && value.length === SPEC.data.speeds.length
      && value.every((factor) => factor > 0.99 && factor < SLOWEST + 0.01),
  },

  follow(state, name) {
    const { hand, slowed, slower } = state;
    if (name === "slowed") {
      state.set = OWN_WAY;
      state.factors = state.factors.map((factor, pair) =>
        (pair === hand || (slower && pair > hand) ? slowed : factor));
    }
    if (name === "set") state.factors = SPEC.data.ways[state.set] ?? state.factors;
    state.slowed = Math.round(100 * state.factors[hand]) / 100;
  },

  drag: {
    panel: 0,
    handles: (panel, _, { factors }) => factors.map((factor, pair) => {
      const { left, top } = panel.box;
      return [left + panel.px(pair), top + panel.py(factor), panel.px(1) - panel.px(0), HEAD];
    }),
    change([x, y], { factors }, begins, head) {
      const isStraight = head !== undefined && Math.abs(x - head) < 1; // a finger sways
      const hand = isStraight ? head : Math.round(x);
      return {
        hand: Math.min(factors.length - 1, Math.max(0, hand)),
        slowed: Math.round(2 * Math.min(SLOWEST, Math.max(1, y))) / 2, // as the slider
      };
    },
  },

  compute({ factors, set }, data) {
    const speeds = data.speeds.map((speed, pair) => speed / factors[pair]);
    const sharpness = data.sharpness[set] ?? 1; // YaRN's, as long as no bar is moved
    const key = [sharpness, ...factors].join();
    const lengths = [data.trained, data.long];
    const losses = known.get(key) ?? lengths.map((n) => lossAt(n, speeds, sharpness, data));
    known.delete(key);
    known.set(key, losses);
    return { losses, unseen: unseenOf(factors, data) };
  },

  meanwhile: ({ factors }, data, { losses }) =>
    ({ losses, unseen: unseenOf(factors, data), reading: true }),

  draw([left, right], { losses, unseen, reading }, { factors, hand, slower }) {
    const { rivals, trained, long } = SPEC.data;
    const pairs = factors.map((_, pair) => pair);
    left.axes({
      x: [-0.7, pairs.length - 0.3], xticks: pairs.filter((n) => n % 5 === 0),
      y: [0, CLOCKS + 0.7], yticks: [0, 2, 4, 6, 8],
      title: "draw here: how much slower", ylabel: "times slower",
      xlabel: slower ? "hand; one takes all slower ones along" : "hand, fast to slow",
      legend: [{ name: "seen in training", colour: 0, mark: "square", hollow: false },
        { name: "new angles", colour: 3, mark: "square", hollow: false }],
    }).bars(pairs.filter((pair) => !unseen[pair]), factors.filter((_, pair) => !unseen[pair]))
      .bars(pairs.filter((pair) => unseen[pair]), factors.filter((_, pair) => unseen[pair]),
        { colour: 3 })
      .across(1)
      .dots([hand], [factors[hand]], { colour: "ink", size: 6, hollow: true });
    clocks(left, factors, unseen, SPEC.data);

    const [home] = rivals.direct;
    const risesOf = ([short, far]) => [short - home, far - home];
    const goal = risesOf(rivals.step).reduce((sum, rise) => sum + rise, 0);
    const [x, y] = risesOf(losses);
    const past = [...known.values()].filter((other) => other !== losses).slice(-PAST).map(risesOf);
    right.axes({
      ...NEAR, equal: true, title: reading ? "reading …" : "how much worse it reads",
      xlabel: `rise at ${trained} bytes (nats a byte)`, ylabel: `rise at ${long} bytes`,
      legend: [{ name: "yours", colour: "ink", mark: "dot" },
        { name: "earlier", colour: "grey", mark: "dot", hollow: false },
        { name: "as good as the step", colour: "grey", dash: "4 3" }],
    }).line([0, goal], [goal, 0], { dash: "4 3", colour: "grey" });
    const { box } = right;
    const all = Object.fromEntries(Object.entries(rivals).map(([name, pair]) =>
      [name, risesOf(pair)]));
    for (const [name, [across, up]] of Object.entries(all)) {
      if (!isNear([across, up])) continue;
      right.dots([across], [up], { colour: 0, size: 3.5 });
      // The step's below the dashed line on which it stands: earlier settings come from above.
      const [aside, above, kind] = {
        step: [-6, -13, "om-end"], YaRN: [8, -7, "om-start"],
      }[name] ?? [8, 6, "om-start"];
      right.write(box.left + right.px(across) + aside, box.top + right.py(up) - above, name, kind);
    }
    const [acrosses, ups] = [0, 1].map((side) => [...past, [x, y]].map((rises) => rises[side]));
    right.line(acrosses, ups, { colour: "grey", width: 1, fade: 0.6 })
      .dots(acrosses.slice(0, -1), ups.slice(0, -1), { colour: "grey", size: 2.5 });
    const colour = reading ? "grey" : "ink";
    map(right, all, [x, y], colour);
    if (x < MAP.x[0] || isNear([x, y])) {
      right.dots([heldInside(x, NEAR.x, box.width)], [heldInside(y, NEAR.y, box.height)],
        { colour, size: 6, hollow: true });
      const above = y > NEAR.y[1] ? `${fixed(y, 2)} ↑` : "";
      const aside = heldInside(x, NEAR.x, box.width);
      if (above) writeInside(right, right.px(aside) + 10, INSET, above, "om-start");
    }
  },

  sentence({ losses, unseen }, { set }) {
    const { rivals, trained, long } = SPEC.data;
    const [home] = rivals.direct;
    const [x, y] = losses.map((loss) => loss - home);
    const goal = rivals.step[0] + rivals.step[1] - 2 * home;
    const ahead = goal - (x + y);
    const isClose = Math.abs(ahead) < 0.01;
    const digits = isClose ? 3 : 2; // what tells two close sums apart
    const apart = isClose ? "just" : fixed(Math.abs(ahead), 2);
    const verdict = ahead > ROUNDING ? `You are ${apart} below the line.`
      : ahead < -ROUNDING ? `You are ${apart} above the line.` : "You are level with the line.";
    return `${verdict} The loss rises by ${signedRise(x)} at ${trained} bytes, ${signedRise(y)} at `
      + `${long}, together ${fixed(x + y, digits)}; the step's by ${fixed(goal, digits)}. `
      + `${countOf(unseen)} new angles.`
      + (set === OWN_WAY ? " Your hands as Python: “In words”." : "");
  },

  description({ losses, unseen }, state) {
    const { rivals, trained, long } = SPEC.data;
    const [home] = rivals.direct;
    const points = Object.entries({ yours: losses, ...rivals }).map(([name, [short, far]]) =>
      `${name} ${fixed(short - home, 2)} and ${fixed(far - home, 2)}`);
    const crossed = unseen.flatMap((isNew, pair) => (isNew ? [pair] : []));
    const slowed = state.factors.map((factor) => fixed(factor, 0, 2)).join(", ");
    return `Left: a bar for each hand, how many times slower it is: ${slowed}; hand ${state.hand} `
      + "is chosen; those with new angles are orange. Above each a clock: "
      + "blue what training showed, orange what is new. Right: points, how much the loss rises at "
      + `${trained} bytes across and at ${long} up: ${points.join("; ")}. `
      + "An inset shows also those outside the axes. Blue ones are known ways. Grey "
      + "points are your last settings. A dashed line joins what adds up to as much as the step. "
      + `Hands with new angles: ${crossed.join(", ") || "none"}. Set as: ${state.set}. `
      + `In Python: mine = ${writtenOf(state.factors)}.`;
  },
};
