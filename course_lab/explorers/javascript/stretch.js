// Tune your own stretch: sixteen hands of the course's RoPE model, each slowed as you wish. The
// model reads here, see model.js.

const WHOLE = 2 * Math.PI;
const OWN_WAY = "your own"; // the last choice
const ROUNDING = 0.002; // nats a byte
const SLOWEST = 8; // times slower

let reader = null; // the model, once it has been unpacked
const known = new Map(); // losses of the settings that have been read, the last one last
const PAST = 8; // settings that the picture remembers
const WIDE = { x: [-0.02, 0.6], y: [0, 2] }; // nats a byte, of the right panel
const NEAR = { x: [-0.01, 0.4], y: [0.3, 0.8] }; // as soon as the last three settings are there
const INSET = 8; // pixels between the edge and a point that is held inside
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

// The axes of the right panel for the rises of the last settings, [x, y] each, yours the last.
// They stay wide while a large fall is to be seen.
function rangesOf(settings) {
  const recent = settings.slice(-3);
  if (recent.some(([x, y]) => x > NEAR.x[1] || y > NEAR.y[1] - 0.1)) return WIDE;
  const [x, y] = recent[recent.length - 1];
  return {
    x: [Math.min(NEAR.x[0], x - 0.02), NEAR.x[1]],
    y: [Math.min(NEAR.y[0], y - 0.05), NEAR.y[1]],
  };
}

// A value held inside the range of an axis of so many pixels.
function heldInside(value, [low, high], pixels) {
  const inset = INSET * (high - low) / pixels;
  return Math.min(high - inset, Math.max(low + inset, value));
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
      y: [0, SLOWEST + 0.4], title: "draw here: how much slower", ylabel: "times slower",
      xlabel: slower ? "hand; one takes all slower ones along" : "hand, fast to slow",
      legend: [{ name: "no new angle", colour: 0, mark: "square", hollow: false },
        { name: "new angles", colour: 3, mark: "square", hollow: false }],
    }).bars(pairs.filter((pair) => !unseen[pair]), factors.filter((_, pair) => !unseen[pair]))
      .bars(pairs.filter((pair) => unseen[pair]), factors.filter((_, pair) => unseen[pair]),
        { colour: 3 })
      .across(1)
      .dots([hand], [factors[hand]], { colour: "ink", size: 6, hollow: true });

    const [home] = rivals.direct;
    const risesOf = ([short, far]) => [short - home, far - home];
    const goal = risesOf(rivals.step).reduce((sum, rise) => sum + rise, 0);
    const [x, y] = risesOf(losses);
    const past = [...known.values()].filter((other) => other !== losses).slice(-PAST).map(risesOf);
    const ranges = rangesOf([...past, [x, y]]);
    right.axes({
      ...ranges, title: reading ? "reading …" : "how much worse it reads",
      xlabel: `rise at ${trained} bytes (nats a byte)`, ylabel: `rise at ${long} bytes`,
      legend: [{ name: "yours", colour: "ink", mark: "dot" },
        { name: "earlier", colour: "grey", mark: "dot", hollow: false },
        { name: "as good as the step", colour: "grey", dash: "4 3" }],
    }).line([0, goal], [goal, 0], { dash: "4 3", colour: "grey" });
    const { box } = right;
    let outside = 0; // points named so far at the edge
    for (const [name, pair] of Object.entries({ ...rivals, yours: losses })) {
      const [across, up] = risesOf(pair);
      if (across > ranges.x[1] || up > ranges.y[1]) {
        const values = `${fixed(across, 1)}, ${fixed(up, 1)}`;
        const arrow = across > ranges.x[1] ? "↗" : "↑";
        const level = box.top + 12 + 15 * outside;
        right.write(box.left + box.width, level, `${name} (${values}) ${arrow}`, "om-end");
        outside += 1;
      } else if (name !== "yours") {
        right.dots([across], [up], { colour: 0, size: 3.5 });
        // The step's below the dashed line on which it stands: earlier settings come from above.
        const [aside, above, kind] = {
          step: [-6, -13, "om-end"], YaRN: [8, -7, "om-start"],
        }[name] ?? [8, 6, "om-start"];
        const height = box.top + right.py(up) - above;
        right.write(box.left + right.px(across) + aside, height, name, kind);
      }
    }
    const [acrosses, ups] = [0, 1].map((side) => [...past, [x, y]].map((rises) => rises[side]));
    right.line(acrosses, ups, { colour: "grey", width: 1, fade: 0.6 })
      .dots(acrosses.slice(0, -1), ups.slice(0, -1), { colour: "grey", size: 2.5 })
      .dots([heldInside(x, ranges.x, box.width)], [heldInside(y, ranges.y, box.height)],
        { colour: reading ? "grey" : "ink", size: 6, hollow: true });
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
      + "is chosen; those with new angles are orange. Right: points, how much the loss rises at "
      + `${trained} bytes across and at ${long} up: ${points.join("; ")}. `
      + "Those outside the axes are named at the edge, blue ones are known ways. Grey "
      + "points are your last settings. A dashed line joins what adds up to as much as the step. "
      + `Hands with new angles: ${crossed.join(", ") || "none"}. Set as: ${state.set}. `
      + `In Python: mine = ${writtenOf(state.factors)}.`;
  },
};
