// A band of far keys that the reader moves: what it costs trained models, from the course's table.

const KEY_ROW = -0.4; // where the keys are drawn, below the costs
const ALREADY_TRIED = [32]; // the band that is drawn before the reader moves one
const ROPE = 3, BAND = 0, NEAR = 2; // colours; RoPE's is orange in all of the course

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
    state.tried ??= ALREADY_TRIED; // and the bands that the reader has been to
    EXPLORER.follow(state, "first");
  },

  linked: {
    tried: (value) => Array.isArray(value) && value.every((first) =>
      SPEC.data.firsts.includes(first)),
  },

  follow(state, name) {
    if (name === "first" && !state.tried.includes(state.first)) {
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

  draw([panel], { shown, curve, texts, others }, { model, first, whole, turn }) {
    const { firsts, keys, trained, losses, pair, unseen } = SPEC.data;
    const end = firsts.at(-1) + keys;
    const colour = isRope(model) ? ROPE : "ink";
    const names = Object.keys(losses).filter((name) => name !== model);
    const legend = [{ name: `${model}, mean of the texts`, colour, mark: "dot", hollow: false },
      { name: "this band, each text", colour: BAND, mark: "dot" }];
    if (whole) {
      legend.push({ name: isRope(model) ? "RoPE, the other two" : "RoPE, all three", colour: ROPE,
        dash: "4 3", fade: 0.6 });
      legend.push({ name: "no RoPE", colour: "grey" });
    }
    const zones = turn && isRope(model) ? unseen : [];
    const zone = { name: `new angles of pair ${pair}`, colour: "grey", fade: 0.4 };
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
      const style = isRope(names[n]) ? rope : { colour: "grey" };
      panel.line(shown, costs, { width: 1.3, ...style });
    });
    const cost = curve[shown.indexOf(first)];
    const joined = shown.flatMap((start, n) => (isNext(start, shown[n - 1]) ? [n] : [NaN, n]));
    panel.line(joined.map((n) => shown[n] ?? NaN), joined.map((n) => curve[n]),
      { colour, width: whole ? 2.4 : 1 })
      .line([first, first], [0, cost], { colour, width: 5, fade: 0.35 })
      .dots(texts.map(() => first), texts, { colour: BAND, size: 3, hollow: true })
      .dots(shown, curve, { colour, size: 4 })
      .line([0, end], [KEY_ROW, KEY_ROW], { colour: "grey", width: 1 })
      .line([0, keys], [KEY_ROW, KEY_ROW], { colour: NEAR, width: 13 })
      .line([first, first + keys], [KEY_ROW, KEY_ROW], { colour: BAND, width: 13 });
    const row = panel.box.top + panel.py(KEY_ROW);
    panel.write(panel.box.left + 4, row - 10, "near keys", "om-start");
    const isFar = first > end / 2; // then there is more room before the band
    panel.write(panel.box.left + panel.px(first) + (isFar ? -9 : 9),
      panel.box.top + panel.py(cost) + 4, signed(cost), isFar ? "om-end" : "om-start");
    panel.write(panel.box.left + panel.px(isFar ? first : first + keys) + (isFar ? -6 : 6), row - 8,
      "drag the band", isFar ? "om-end" : "om-start");
    panel.write(panel.box.left + panel.px(trained) + 4, panel.box.top + 12, "new from here on",
      "om-start");
  },

  sentence({ shown, curve, texts }, { model, first, whole, tried }) {
    const { firsts, keys } = SPEC.data;
    const cost = curve[shown.indexOf(first)];
    const dearest = shown[curve.indexOf(Math.max(...curve))];
    const isDearest = dearest === dearestOf(SPEC.data.losses[model]);
    const best = whole ? `The dearest begins ${dearest} back.`
      : `You have tried ${tried.length} of ${firsts.length} bands; the dearest so far begins `
        + `${dearest} back`
        + `${isDearest ? ". Found: none is dearer." : ", and a dearer one is left."}`;
    return `${model}, 32 near keys and those ${first} to ${first + keys - 1} back: `
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
      + (turn && isRope(model) ? ` Shaded: ${unseen.map(([from, to]) =>
        `${Math.round(from)} to ${Math.round(to)}`).join(", ")} back, where pair ${pair} stands at `
        + "angles that training never showed." : "");
  },
};
