// A band of far keys that the reader moves: what it costs trained models, from the course's table.

const KEY_ROW = -0.4; // where the keys are drawn, below the costs
const GIVEN = [32, 96]; // the bands that are drawn before the reader moves one
const TRIES = 8;
const ROPE = 3, ALIBI = 2, BAND = 0; // colours; RoPE's and ALiBi's are those of all the course

const colourOf = (name) => (isRope(name) ? ROPE : name === "ALiBi" ? ALIBI : "ink");

const isRope = (name) => name.startsWith("RoPE");
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// Where the band begins that costs a model most: the reader is to find it.
function dearestOf(texts) {
  const costs = SPEC.data.firsts.map((_, place) => mean(costsAt(place, texts)));
  return SPEC.data.firsts[costs.indexOf(Math.max(...costs))];
}

// What a model loses by a band in each text, above the first band; nats a byte.
function costsAt(place, texts) {
  return texts.map((losses) => losses[place] - losses[0]);
}

// The bands that the reader tried, besides those that were given.
function triesOf(tried) {
  return tried.filter((first) => !GIVEN.includes(first)).length;
}

// The new angles are RoPE's: they stay where curves of RoPE are to be seen.
function isShaded(model, whole, turn) {
  return turn && (whole || isRope(model));
}

function signed(cost) {
  return (cost < 0 ? "" : "+") + fixed(cost, 2);
}

// Whether a band begins where the one after another does: only such two are joined by a line.
function isNext(first, other) {
  const { firsts } = SPEC.data;
  return firsts.indexOf(first) - firsts.indexOf(other) === 1;
}

const EXPLORER = {
  columns: [1],
  minWidth: 280,
  height: (width) => Math.min(380, 0.9 * width),

  initialise(state) {
    state.tried ??= GIVEN; // and the bands that the reader has tried
    EXPLORER.settle(state);
  },

  linked: {
    tried: (value) => Array.isArray(value) && value.every((first) =>
      SPEC.data.firsts.includes(first)) && triesOf(value) <= TRIES,
  },

  // A band is tried when it is let go: who drags past the others does not see what they cost.
  settle(state) {
    if (!state.tried.includes(state.first) && triesOf(state.tried) < TRIES) {
      state.tried = [...state.tried, state.first].sort((a, b) => a - b);
    }
  },

  drag: {
    panel: 0,
    change([back]) {
      const { firsts } = SPEC.data;
      const gaps = firsts.map((first) => Math.abs(first - back));
      return { first: firsts[gaps.indexOf(Math.min(...gaps))] };
    },
  },

  compute({ model, first, whole, tried }, { firsts, losses }) {
    const shown = whole ? firsts : tried;
    const costs = Object.fromEntries(Object.entries(losses).map(([name, texts]) =>
      [name, shown.map((other) => mean(costsAt(firsts.indexOf(other), texts)))]));
    return {
      shown,
      curve: costs[model],
      texts: costsAt(firsts.indexOf(first), losses[model]),
      others: whole ? Object.keys(losses).filter((name) => name !== model)
        .map((name) => costs[name]) : [],
    };
  },

  draw([panel], { shown, curve, texts, others }, { model, first, whole, turn, tried }) {
    const { firsts, keys, trained, losses, pair, unseen } = SPEC.data;
    const end = firsts.at(-1) + keys;
    const colour = colourOf(model);
    const isMeasured = shown.includes(first);
    const names = Object.keys(losses).filter((name) => name !== model);
    const legend = [{ name: `${model}, mean of the texts`, colour, mark: "dot", hollow: false },
      { name: "this band, each text", colour: BAND, mark: "dot" }];
    const isAlibiBeside = names.includes("ALiBi");
    if (whole) {
      legend.push({ name: isRope(model) ? "RoPE, the other two" : "RoPE, all three", colour: ROPE,
        dash: "4 3", fade: 0.6 });
      if (isAlibiBeside) legend.push({ name: "ALiBi", colour: ALIBI });
      legend.push({ name: isAlibiBeside ? "other two" : "without RoPE", colour: "grey" });
    }
    const zones = isShaded(model, whole, turn) ? unseen : [];
    const zone = { name: `new angles of pair ${pair}`, colour: "grey", fade: 0.4, mark: "square",
      hollow: false };
    if (zones.length) legend.push(zone);
    panel.axes({
      x: [0, end], y: [-0.6, 2], legend, title: "what the band costs, where it begins",
      xlabel: "positions back from the query", ylabel: "nats above keys 32–63 back",
      xticks: Array.from({ length: Math.floor(end / 64) + 1 }, (_, n) => 64 * n),
      yticks: [[KEY_ROW, "keys"], ...[0, 0.5, 1, 1.5].map((cost) => [cost, String(cost)])],
    });
    zones.forEach(([from, to]) => panel.upright((from + to) / 2,
      { width: panel.px(to) - panel.px(from), fade: 0.2 }));
    panel.across(0).across(-0.18, { width: 0.8 }).upright(trained, { dash: "2 4" });
    others.forEach((costs, n) => {
      const rope = { colour: ROPE, dash: "4 3", fade: 0.6 };
      const other = { colour: names[n] === "ALiBi" ? ALIBI : "grey" };
      const style = isRope(names[n]) ? rope : other;
      panel.line(shown, costs, { width: 1.3, ...style });
    });
    const joined = shown.flatMap((start, n) => (isNext(start, shown[n - 1]) ? [n] : [NaN, n]));
    panel.line(joined.map((n) => shown[n] ?? NaN), joined.map((n) => curve[n]),
      { colour, width: whole ? 2.4 : 1 });
    const isFar = first > end / 2; // then there is more room before the band
    const cost = curve[shown.indexOf(first)];
    if (isMeasured) {
      panel.line([first, first], [0, cost], { colour, width: 5, fade: 0.35 })
        .dots(texts.map(() => first), texts, { colour: BAND, size: 3, hollow: true });
    }
    panel.dots(shown, curve, { colour, size: 4 })
      .line([0, end], [KEY_ROW, KEY_ROW], { colour: "grey", width: 1 })
      .line([0, keys], [KEY_ROW, KEY_ROW], { colour: "ink", width: 13 })
      .line([first, first + keys], [KEY_ROW, KEY_ROW], { colour: BAND, width: 13 });
    const row = panel.box.top + panel.py(KEY_ROW);
    panel.write(panel.box.left + 4, row - 10, "near keys", "om-start");
    const untried = triesOf(tried) < TRIES ? "let go to try it" : "no try is left";
    const words = isMeasured ? `${signed(cost)}; drag the band` : untried;
    panel.write(panel.box.left + panel.px(isFar ? first : first + keys) + (isFar ? -6 : 6), row - 8,
      words, isFar ? "om-end" : "om-start");
    panel.write(panel.box.left + panel.px(trained) + 4, panel.box.top + 12, "new from here on",
      "om-start");
  },

  sentence({ shown, curve, texts }, { model, first, whole, tried }) {
    const { keys } = SPEC.data;
    const band = `${model}, 32 near keys and those ${first} to ${first + keys - 1} back`;
    const tries = triesOf(tried);
    const spent = `Eight tries are spent: tick “new angles of pair ${SPEC.data.pair}”, `
      + "then “all bands”.";
    if (!shown.includes(first)) {
      return `${band}: ${tries < TRIES ? "let go to try this band." : `not tried. ${spent}`}`;
    }
    const cost = curve[shown.indexOf(first)];
    const dearest = shown[curve.indexOf(Math.max(...curve))];
    const isDearest = dearest === dearestOf(SPEC.data.losses[model]);
    const count = tries ? `Try ${tries} of ${TRIES}` : `No try of ${TRIES} yet`;
    const best = whole ? `The dearest begins ${dearest} back.`
      : `${count}; the dearest so far begins ${dearest} back`
        + (isDearest ? ". Found: none is dearer."
          : `, and a dearer one is left.${tries < TRIES ? "" : ` ${spent}`}`);
    return `${band}: `
      + `${fixed(cost, 2)} above keys 32 to 63 back, in the texts ${fixed(Math.min(...texts), 2)} `
      + `to ${fixed(Math.max(...texts), 2)}. ${best}`;
  },

  description({ shown, curve, others }, { model, first, whole, turn }) {
    const { keys, losses, pair, unseen } = SPEC.data;
    const listed = shown.map((start, n) => `${start} back ${fixed(curve[n], 2)}`).join(", ");
    const names = Object.keys(losses).filter((name) => name !== model);
    const most = others.map((costs, n) => `${names[n]} ${fixed(Math.max(...costs), 2)}`).join(", ");
    return "Along the bottom the keys by how far back they are: the nearest 32, and a band of "
      + `${keys} from ${first} back on; all others are hidden. Above, what such a band costs `
      + `${model}, mean of six texts, by where it begins: ${listed}.`
      + (whole ? ` The dearest band of the others costs ${most}.` : "")
      + (isShaded(model, whole, turn) ? ` Shaded: ${unseen.map(([from, to]) =>
        `${Math.round(from)} to ${Math.round(to)}`).join(", ")} back, where pair ${pair} stands at `
        + "angles that training never showed." : "");
  },
};
