// A CoPE head by hand: it looks for the nth token of a kind from the end of a text. The gates of
// that kind open, all others shut, by the same gain; the last token likes one count.

const LIKING = 12; // score of the wanted count
const LINE = 12; // pixels of an axis that a token's name takes
const FRAME = 50; // pixels of a panel beside its axis

// Words, and every other sign by itself; an empty text has one empty token.
function tokensOf({ text }) {
  return text.match(/[\p{L}\p{N}_'’-]+|[^\s]/gu) ?? [""];
}

function isCounted(token, { counted }) {
  return token.toLowerCase() === counted.trim().toLowerCase();
}

// Tokens as ticks, cut where they are long; those that are counted alone where not all have room.
function names(state, width) {
  const tokens = tokensOf(state);
  return tokens
    .map((token, j) => [j, token.length > 9 ? `${token.slice(0, 8)}…` : token])
    .filter(([j]) => tokens.length * LINE <= width - FRAME || isCounted(tokens[j], state));
}

const EXPLORER = {
  columns: [1, 1, 1],
  minWidth: 230,
  height: () => 270,

  compute(state) {
    const counted = tokensOf(state).map((token) => isCounted(token, state));
    const scores = counted.map((is) => (is ? state.gain : -state.gain));
    const gates = scores.map((score) => 1 / (1 + Math.exp(-score)));
    const counts = [...gates];
    for (let j = counts.length - 2; j >= 0; j--) counts[j] += counts[j + 1];
    // A table of zeros with one entry, read between its rows, is a tent.
    const liked = counts.map((count) => LIKING * Math.max(0, 1 - Math.abs(count - state.wanted)));
    const totals = scores.map((score, j) => score + liked[j]);
    const largest = Math.max(...totals);
    const powers = totals.map((total) => Math.exp(total - largest));
    const sum = powers.reduce((total, power) => total + power, 0);
    const weights = powers.map((power) => power / sum);
    const highest = Math.max(...weights);
    const places = counted.flatMap((is, j) => (is ? [j] : []));
    return {
      gates,
      counts,
      weights,
      best: weights.findIndex((weight) => weight > highest - 1e-12),
      right: places[places.length - state.wanted] ?? -1,
    };
  },

  draw([left, middle, right], { gates, counts, weights }, state) {
    const x = [-0.5, gates.length - 0.5];
    const axes = { x, xticks: names(state, left.width), upright: true };
    const all = gates.map((_, j) => j);
    left.axes({ ...axes, y: [0, 1.05], title: "gate" }).bars(all, gates);
    const top = Math.max(state.wanted, ...counts) + 0.5;
    middle.axes({ ...axes, y: [0, top], title: "count, from here to the end" })
      .across(state.wanted).dots(all, counts, { size: 3.5 });
    right.axes({ ...axes, y: [0, 1.05], title: "weight of the last token" })
      .bars(all, weights, { colour: 1 });
  },

  sentence({ counts, weights, best, right }, state) {
    const tokens = tokensOf(state);
    const back = (place) => `${tokens.length - 1 - place} back`;
    const asked = `number ${state.wanted} from the end`;
    const rest = right < 0 ? `There is no ${asked}.`
      : right === best ? `That is ${asked}.` : `But ${asked} stands ${back(right)}.`;
    return `Most weight, ${fixed(weights[best], 2)}, goes to “${tokens[best]}”, ${back(best)}, at `
      + `a count of ${fixed(counts[best], 2)}. ${rest}`;
  },

  description({ gates, counts, best }, state) {
    const tokens = tokensOf(state);
    return `Three panels over the ${tokens.length} tokens of the text. Left: gates, high at each `
      + `“${state.counted}” and low elsewhere, ${fixed(Math.min(...gates), 3)} at least. Middle: `
      + "the sum of the gates from each token to the end, a staircase down to the right, from "
      + `${fixed(counts[0], 2)}, and a line at the wanted count ${state.wanted}. Right: the `
      + `weights of the last token, highest on “${tokens[best]}”, `
      + `${tokens.length - 1 - best} back.`;
  },
};
