// Tune your own stretch: sixteen hands of the course's RoPE model, each slowed as you wish. The
// model reads here, see model.js.

const WHOLE = 2 * Math.PI;
const OWN_WAY = "your own"; // the last choice
const ROUNDING = 0.002; // nats a byte
const HAND = /^hand(\d+)$/;

let reader = null; // the model, once it has been unpacked
const known = new Map(); // losses of the settings that have been read

function readerOf({ weights }) {
  reader ??= readModel(Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0)).buffer);
  return reader;
}

function factorsOf(state, { speeds }) {
  return speeds.map((_, pair) => state[`hand${pair}`]);
}

// The mean loss of the judged bytes in windows of n, in nats a byte.
function lossAt(n, speeds, data) {
  const turning = { speeds, kept: speeds.map(() => 1), sharpness: 1 };
  const text = Uint8Array.from(data.text), first = data.long - data.judged;
  const bytes = readerOf(data).read(text, first, data.judged, n, turning);
  return bytes.reduce((sum, { loss }) => sum + loss, 0) / bytes.length;
}

const signedRise = (rise) => `${rise < 0 ? "" : "+"}${fixed(rise, 2)}`;

const EXPLORER = {
  slow: true, // a change takes a quarter of a second
  columns: [1, 1],
  minWidth: 280,
  height: () => 300,

  initialise(state, start) {
    if (Object.keys(start).some((name) => HAND.test(name))) state.set = OWN_WAY;
    else EXPLORER.follow(state, "set");
  },

  follow(state, name) {
    const hand = name.match(HAND);
    const { ways, speeds } = SPEC.data;
    if (name === "set" && ways[state.set]) {
      ways[state.set].forEach((factor, pair) => { state[`hand${pair}`] = factor; });
    }
    if (!hand) return;
    state.set = OWN_WAY;
    if (!state.slower) return;
    for (let pair = Number(hand[1]) + 1; pair < speeds.length; pair++) {
      state[`hand${pair}`] = state[name];
    }
  },

  compute(state, data) {
    const factors = factorsOf(state, data);
    const speeds = data.speeds.map((speed, pair) => speed / factors[pair]);
    const key = factors.join();
    const lengths = [data.trained, data.long];
    if (!known.has(key)) known.set(key, lengths.map((n) => lossAt(n, speeds, data)));
    const losses = known.get(key);
    const turns = speeds.map((speed) => data.long * speed / WHOLE);
    const seen = data.speeds.map((speed) => data.trained * speed / WHOLE);
    // A hand that finished a turn has seen every angle; 1 % more is rounding.
    const unseen = turns.map((turn, pair) => Number(seen[pair] < 1 && turn > 1.01 * seen[pair]));
    return { losses, turns, seen, unseen };
  },

  draw([left, right], { losses, turns, seen, unseen }, { slower }) {
    const { rivals, trained, long } = SPEC.data;
    const [home] = rivals.direct;
    const risesOf = ([short, far]) => [short - home, far - home];
    const goal = risesOf(rivals.step).reduce((sum, rise) => sum + rise, 0);
    const [x, y] = risesOf(losses);
    const width = Math.max(0.6, 1.15 * x), top = Math.max(2, 1.15 * y);
    left.axes({
      x: [-0.04 * width, width], y: [0, top], title: "how much worse it reads",
      xlabel: `rise at ${trained} bytes (nats a byte)`, ylabel: `rise at ${long} bytes`,
      legend: [{ name: "yours", colour: 3, mark: "dot" },
        { name: "together as much as the step", colour: "grey", dash: "4 3" }],
    }).line([0, goal], [goal, 0], { dash: "4 3", colour: "grey" });
    for (const [name, pair] of Object.entries(rivals)) {
      const [across, up] = risesOf(pair);
      left.dots([across], [up], { colour: 0, size: 3.5 });
      left.write(left.box.left + left.px(across) + 8,
        left.box.top + left.py(up) + (name === "step" ? 15 : -5), name, "om-start");
    }
    left.dots([x], [y], { colour: 3, size: 6 });

    const pairs = turns.map((_, pair) => pair);
    const crossed = pairs.filter((pair) => unseen[pair]);
    right.axes({
      x: [-0.5, pairs.length - 0.5], xticks: pairs.filter((pair) => pair % 5 === 0), ylog: true,
      y: [1e-3, 200], yticks: [[0.01, "0.01"], [0.1, "0.1"], [1, "1"], [10, "10"], [100, "100"]],
      title: `turns within ${long} bytes`, ylabel: "turns",
      xlabel: slower ? "hand; one takes all slower ones along" : "hand, fast to slow",
      legend: [{ name: `within ${trained}, in training`, colour: "soft", dash: "2 4" },
        { name: "new angles", colour: 3, mark: "cross" }, { name: "one turn", colour: "grey" }],
    }).across(1, { colour: "grey" }).line(pairs, seen, { dash: "2 4", colour: "soft" })
      .dots(pairs, turns, { colour: 0, size: 3 })
      .dots(crossed, crossed.map((pair) => turns[pair]), { mark: "cross", colour: 3, size: 4 });
  },

  sentence({ losses, unseen }) {
    const { rivals, trained, long } = SPEC.data;
    const [home] = rivals.direct;
    const [x, y] = losses.map((loss) => loss - home);
    const goal = rivals.step[0] + rivals.step[1] - 2 * home;
    const ahead = goal - (x + y);
    const verdict = ahead > ROUNDING ? "You are below the line."
      : ahead < -ROUNDING ? "Not below it yet." : "You are level with it.";
    const digits = Math.abs(ahead) < 0.01 ? 3 : 2; // what tells two close sums apart
    return `Loss above the unstretched model at ${trained}: ${signedRise(x)} at ${trained} bytes, `
      + `${signedRise(y)} at ${long}, together ${fixed(x + y, digits)}; the step `
      + `${fixed(goal, digits)}. ${verdict} ${unseen.filter(Boolean).length} hands reach `
      + "new angles.";
  },

  description({ losses, unseen }, state) {
    const { rivals, trained, long } = SPEC.data;
    const [home] = rivals.direct;
    const points = Object.entries({ yours: losses, ...rivals }).map(([name, [short, far]]) =>
      `${name} ${fixed(short - home, 2)} and ${fixed(far - home, 2)}`);
    const crossed = unseen.flatMap((isNew, pair) => (isNew ? [pair] : []));
    return `Left: points, how much the loss rises at ${trained} bytes across and at ${long} up: `
      + `${points.join("; ")}. A dashed line joins what adds up to as much as the step. `
      + `Right: turns `
      + `of each hand within ${long} bytes, beside those within ${trained} in training; hands with `
      + `new angles: ${crossed.join(", ") || "none"}. Set as: ${state.set}.`;
  },
};
