// RoPE on a longer context: which pairs a scaling slows, and how long their waves then are.

const TURN = 2 * Math.PI;

// Each way: from plain speeds to scaled ones, and the factor on cos and sin. `grown` is the factor
// by which the context grows, `trained` the trained length.
const WAYS = {
  "direct": (plain) => [plain, 1],
  "interpolation": (plain, grown) => [plain.map((speed) => speed / grown), 1],
  "NTK-aware": (plain, grown) => [largerBase(plain, grown), 1],
  // Its factor follows from the length of the text; at the full length it is the same.
  "dynamic NTK": (plain, grown) => [largerBase(plain, grown), 1],
  "by parts": (plain, grown, trained) => [overPairs(plain, grown, trained), 1],
  "YaRN": (plain, grown, trained) =>
    [overPairs(plain, grown, trained), Math.max(0.1 * Math.log(grown) + 1, 1)],
  "Llama 3.1": (plain, grown, trained) =>
    [blend(plain, grown, (speed) => (trained * speed / TURN - 1) / 3), 1],
  "step": (plain, grown, trained) =>
    [plain.map((speed) => (trained * speed >= TURN ? speed : speed / grown)), 1],
};

function largerBase(plain, grown) {
  return plain.map((speed, m) => speed * grown ** (-m / (plain.length - 1)));
}

// A speed stays where its share is 1, is slowed where it is 0, and a mixture in between.
function blend(plain, grown, shareKept) {
  return plain.map((speed, m) => {
    const share = Math.min(1, Math.max(0, shareKept(speed, m)));
    return speed * (share + (1 - share) / grown);
  });
}

// The ramp of YaRN's released code, over pairs that turn 32 times to once in the trained length.
function overPairs(plain, grown, trained) {
  const { base } = SPEC.data;
  const d = 2 * plain.length;
  const pair = (turns) => d / 2 * Math.log(trained / (TURN * turns)) / Math.log(base);
  const first = Math.max(Math.floor(pair(32)), 0);
  const last = Math.min(Math.ceil(pair(1)), d - 1);
  return blend(plain, grown, (_, m) => 1 - (m - first) / Math.max(last - first, 1));
}

const EXPLORER = {
  columns: [1, 1],
  minWidth: 280,
  height: () => 300,

  compute({ way, factor }, { width, base, trained }) {
    const plain = Array.from({ length: width / 2 }, (_, m) => base ** (-2 * m / width));
    const [speeds, sharper] = WAYS[way](plain, factor, trained);
    // A pair that finished a turn in training has seen every angle. 1 % more is rounding, not a
    // new angle.
    const unseen = plain.map((speed, m) => {
      const before = speed * trained;
      return Number(before < TURN && speeds[m] * factor * trained > 1.01 * before);
    });
    return { plain, speeds, unseen, sharper };
  },

  draw([left, right], { plain, speeds, unseen }, { factor }) {
    const { trained } = SPEC.data;
    const pairs = plain.map((_, m) => m);
    const crossed = pairs.filter((m) => unseen[m]);
    const waves = speeds.map((speed) => TURN / speed);
    const dotted = { dash: "2 4", colour: "soft" };
    const dashed = { colour: 1, dash: "6 3" };
    const x = [-1, pairs.length];
    const xticks = pairs.filter((m) => m % 16 === 0);
    left.axes({
      x, xticks, y: [0.02, 1.5], ylog: true, yticks: [[1, "1"], [1 / 8, "1/8"], [1 / 32, "1/32"]],
      title: "how much slower each pair turns", xlabel: "pair", ylabel: "speed / trained speed",
    }).line(pairs, speeds.map((speed, m) => speed / plain[m]), { width: 2 });
    right.axes({
      x, xticks, y: [3, 3e7], ylog: true, title: "how many positions make a turn",
      xlabel: "pair", ylabel: "positions a turn",
      legend: [
        { name: "as trained", ...dotted }, { name: "stretched" },
        { name: "trained length", colour: "grey" }, { name: "new length", ...dashed },
        { name: "new angles", colour: 3, mark: "cross" },
      ],
    }).across(trained).across(factor * trained, dashed)
      .line(pairs, plain.map((speed) => TURN / speed), dotted).line(pairs, waves)
      .dots(crossed, crossed.map((m) => waves[m]), { mark: "cross", colour: 3, size: 3 });
  },

  sentence({ plain, speeds, unseen, sharper }, { way, factor }) {
    const { trained } = SPEC.data;
    const last = plain.length - 1;
    return `${way}, ${factor} × ${fixed(trained, 0)} = ${fixed(factor * trained, 0)} positions. `
      + `The fastest pair keeps ${fixed(speeds[0] / plain[0], 2)} of its speed, the slowest `
      + `${fixed(speeds[last] / plain[last], 2)}. ${unseen.filter(Boolean).length} of `
      + `${plain.length} pairs reach angles that training never showed. `
      + `Scores × ${fixed(sharper ** 2, 2)}.`;
  },

  description({ plain, speeds, unseen }, { way, factor }) {
    const crossed = plain.map((_, m) => m).filter((m) => unseen[m]);
    const slower = speeds.filter((speed, m) => speed < 0.99 * plain[m]).length;
    const crosses = crossed.length
      ? `Crosses mark pairs ${crossed[0]} to ${crossed[crossed.length - 1]}, which reach angles `
        + "they never had."
      : "No pair is marked with a cross: all angles are known.";
    return `Left: the speed of each of ${plain.length} pairs against the trained one, fast pairs `
      + `first, under “${way}” at factor ${factor}: ${slower} pairs turn slower. Right: how many `
      + "positions each pair takes for a turn, dotted as trained and solid now, with lines at the "
      + `trained length, ${fixed(SPEC.data.trained, 0)}, and the new one. ${crosses}`;
  },
};
