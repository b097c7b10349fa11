// RoPE on a longer context: which pairs a scaling slows, and how long their waves then are.

const TURN = 2 * Math.PI;

// Each way: from plain speeds to scaled ones, and the factor on cos and sin. s is the factor by
// which the context grows, L the trained length.
const WAYS = {
  "direct": (plain) => [plain, 1],
  "interpolation": (plain, s) => [plain.map((one) => one / s), 1],
  "NTK-aware": (plain, s) => [largerBase(plain, s), 1],
  "dynamic NTK": (plain, s) => [largerBase(plain, s), 1], // s from the length: the same, fully used
  "by parts": (plain, s, L) => [overPairs(plain, s, L), 1],
  "YaRN": (plain, s, L) => [overPairs(plain, s, L), Math.max(0.1 * Math.log(s) + 1, 1)],
  "Llama 3.1": (plain, s, L) => [blend(plain, s, (one) => (L * one / TURN - 1) / 3), 1],
  "step": (plain, s, L) => [plain.map((one) => (L * one >= TURN ? one : one / s)), 1],
};

function largerBase(plain, s) {
  return plain.map((one, m) => one * s ** (-m / (plain.length - 1)));
}

// Kept where keep is 1, slowed by s where it is 0, a mixture in between.
function blend(plain, s, keep) {
  return plain.map((one, m) => {
    const kept = Math.min(1, Math.max(0, keep(one, m)));
    return one * (kept + (1 - kept) / s);
  });
}

// The ramp of YaRN's released code, over pairs that turn 32 times to once in the trained length.
function overPairs(plain, s, L) {
  const { base } = SPEC.data, d = 2 * plain.length;
  const pair = (turns) => d / 2 * Math.log(L / (TURN * turns)) / Math.log(base);
  const kept = Math.max(Math.floor(pair(32)), 0), slowed = Math.min(Math.ceil(pair(1)), d - 1);
  return blend(plain, s, (_, m) => 1 - (m - kept) / Math.max(slowed - kept, 1));
}

const EXPLORER = {
  columns: [1, 1],
  least: 280,
  height: () => 300,

  compute({ way, factor }, { width, base, trained }) {
    const plain = Array.from({ length: width / 2 }, (_, m) => base ** (-2 * m / width));
    const [speeds, sharper] = WAYS[way](plain, factor, trained), long = factor * trained;
    // 1 % more is rounding, not a new angle. Pairs that finished a turn have seen every angle.
    const unseen = plain.map((one, m) =>
      Number(one * trained < TURN && speeds[m] * long > 1.01 * one * trained));
    return { plain, speeds, unseen, sharper };
  },

  draw([left, right], { plain, speeds, unseen }, { factor }) {
    const pairs = plain.map((_, m) => m), { trained } = SPEC.data;
    const fresh = pairs.filter((m) => unseen[m]), waves = speeds.map((one) => TURN / one);
    const dotted = { dash: "2 4", colour: "soft" }, dashed = { colour: 1, dash: "6 3" };
    const x = [-1, pairs.length], xticks = pairs.filter((m) => m % 16 === 0);
    left.axes({
      x, xticks, y: [0.02, 1.5], ylog: true, yticks: [[1, "1"], [1 / 8, "1/8"], [1 / 32, "1/32"]],
      title: "how much slower each pair turns", xlabel: "pair", ylabel: "speed / trained speed",
    }).line(pairs, speeds.map((one, m) => one / plain[m]), { width: 2 });
    right.axes({
      x, xticks, y: [3, 3e7], ylog: true, title: "how many positions make a turn",
      xlabel: "pair", ylabel: "positions a turn",
      legend: [
        { name: "as trained", ...dotted }, { name: "stretched" },
        { name: "trained length", colour: "grey" }, { name: "new length", ...dashed },
        { name: "new angles", colour: 3, mark: "cross" },
      ],
    }).across(trained).across(factor * trained, dashed)
      .line(pairs, plain.map((one) => TURN / one), dotted).line(pairs, waves)
      .dots(fresh, fresh.map((m) => waves[m]), { mark: "cross", colour: 3, size: 3 });
  },

  sentence({ plain, speeds, unseen, sharper }, { way, factor }) {
    const last = plain.length - 1, { trained } = SPEC.data;
    return `${way}, ${factor} × ${fixed(trained, 0)} = ${fixed(factor * trained, 0)} positions. `
      + `The fastest pair keeps ${fixed(speeds[0] / plain[0], 2)} of its speed, the slowest `
      + `${fixed(speeds[last] / plain[last], 2)}. ${unseen.filter(Boolean).length} of `
      + `${plain.length} pairs reach angles that training never showed. `
      + `Scores × ${fixed(sharper ** 2, 2)}.`;
  },

  words({ plain, speeds, unseen }, { way, factor }) {
    const fresh = plain.map((_, m) => m).filter((m) => unseen[m]);
    const slower = speeds.filter((one, m) => one < 0.99 * plain[m]).length;
    return `Left: the speed of each of ${plain.length} pairs against the trained one, fast pairs `
      + `first, under “${way}” at factor ${factor}: ${slower} pairs turn slower. Right: how many `
      + "positions each pair takes for a turn, dotted as trained and solid now, with lines at the "
      + `trained length, ${fixed(SPEC.data.trained, 0)}, and the new one. `
      + (fresh.length ? `Crosses mark pairs ${fresh[0]} to ${fresh[fresh.length - 1]}, which reach `
        + "angles they never had." : "No pair is marked with a cross: all angles are known.");
  },
};
