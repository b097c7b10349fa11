// Five questions, and which encodings the answers leave.

const QUESTIONS = ["reads", "texts", "starts", "attention", "behind"];
const FLOOR = 0.01; // nats, the least rise that is drawn; the axis is logarithmic
const WIDEST = 0.25; // nats above the best left, where the axis ends, or more for a wider yardstick
const FARTHEST = 2; // nats above the lowest, where the axis ends at most if nobody is left
const MARGIN = 0.03; // of the axis, left of the lowest loss and right of its end
const BESIDE = -0.8; // column of the dots of those left, beside their names
const HEADING = -1; // row of the questions, over all encodings, where they fit side by side
const LINE = 11; // pixels that a name takes from top to bottom

// The losses of the models that read so, at the length that the texts have.
function lossesOf({ reads, texts }, { losses, times }) {
  return losses[reads][times[texts]];
}

// A function for each of the first four questions: whether its answer strikes out encoding n.
function rulesOf(state, facts) {
  const { loss, rise } = lossesOf(state, facts);
  const { still, tolerated, losses } = facts;
  const adds = facts.adds[state.reads];
  const allowed = facts.allowed[state.attention];
  return [
    (n) => !losses[state.reads].measured[n],
    (n) => loss[n] !== null && rise[n] > tolerated,
    (n) => state.starts === "anywhere" && !still[n],
    (n) => allowed !== undefined && !allowed.includes(adds[n]),
  ];
}

// Of those that the first four answers leave, the one with the lowest loss; undefined if none is
// left.
function bestOf(state, facts) {
  const rules = rulesOf(state, facts);
  const { loss } = lossesOf(state, facts);
  const passing = facts.names.map((_, n) => n).filter((n) => !rules.some((rule) => rule(n)));
  return passing.sort((a, b) => loss[a] - loss[b])[0];
}

// A function for each of the five questions.
function allRulesOf(state, facts) {
  const best = bestOf(state, facts);
  const behind = lossesOf(state, facts).behind[facts.names[best]];
  const isTooFar = (n) => behind !== undefined && behind[n] !== null && behind[n] > state.behind;
  return [...rulesOf(state, facts), isTooFar];
}

// The losses of the one that this course drew, which is never among those left; undefined where
// there is no such model.
function drawnOf({ reads, texts }, { drawn, times, lenient }) {
  return reads === lenient.reads ? drawn.at[times[texts]] : undefined;
}

// Whether each of the five questions would strike it out, as 0 or 1. What it adds to scores is what
// ALiBi adds, so no kernel and no start does.
function strikesDrawn(state, facts) {
  const known = drawnOf(state, facts);
  if (!known) return [];
  const gap = known.behind[facts.names[bestOf(state, facts)]];
  return [0, known.rise > facts.tolerated, 0, 0, gap > state.behind].map(Number);
}

// Those that no rule strikes out, lowest loss first.
function leftBy(state, facts) {
  const rules = allRulesOf(state, facts);
  const { loss } = lossesOf(state, facts);
  const left = facts.names.map((_, n) => n).filter((n) => !rules.some((rule) => rule(n)));
  return left.filter((n) => loss[n] !== null).sort((a, b) => loss[a] - loss[b]);
}

// The state remembers who has come out first so far.
function remember(state) {
  const [first] = leftBy(state, SPEC.data);
  state.reached = [...new Set([...(state.reached ?? []), ...(first === undefined ? [] : [first])])];
}

const EXPLORER = {
  columns: [1, 1],
  minWidth: 280,
  height: () => 420,
  asks: true,
  initialise: remember,
  follow: remember,

  compute(state, facts) {
    const encodings = facts.names.map((_, n) => n);
    const rules = allRulesOf(state, facts);
    return {
      out: encodings.flatMap((n) => rules.map((strikesOut) => Number(strikesOut(n)))), // by rows
      left: leftBy(state, facts),
      alone: rules.map((strikesOut) => encodings.filter(strikesOut).length),
      drawn: strikesDrawn(state, facts),
    };
  },

  draw([board, map], numbers, state) {
    drawBoard(board, numbers, state);
    drawMap(map, numbers, state);
  },

  sentence({ left }, state) {
    const { names, printed, tops } = SPEC.data;
    const { loss } = lossesOf(state, SPEC.data);
    const reached = state.reached.filter((n) => tops.includes(names[n])).map((n) => printed[n]);
    const score = `First so far: ${reached.length} of ${tops.length}`
      + (reached.length ? ` (${reached.join(", ")})` : "")
      + (reached.length === tops.length ? ". You have them all." : ".");
    if (!left.length) return `Nobody is left of ${names.length}. ${waysOut(state)} ${score}`;
    const [first, ...others] = left.map((n) => `${printed[n]} (${fixed(loss[n], 2)})`);
    const rest = others.length ? `, then ${others.join(", ")}` : "";
    return `${left.length} of ${names.length} left, lowest loss first: ${first}${rest}. ${score}`;
  },

  description({ left, alone, drawn }, { reads, texts, starts, attention, behind }) {
    const { names, printed } = SPEC.data;
    const answers = [reads, texts, `starts ${starts}`, `${attention} attention`,
      `at most ${fixed(behind, 0, 3)} nats behind the best left`];
    const strikes = answers.map((answer, n) => `“${answer}” ${alone[n]}`).join(", ");
    const unmeasured = SPEC.data.losses[reads].measured.filter((isMeasured) => !isMeasured).length;
    return `Left: a board of ${names.length} rows and five columns, those that are left on top, `
      + "the lowest loss first, each with its distance from the first and half of the 95 % "
      + "interval, ≈ where that crosses the yardstick; then those struck out, a "
      + "cross for each answer that does so, and a small dot where an answer does not"
      + (unmeasured ? `; at the end, with a dash, ${unmeasured} that were not trained so. ` : ". ")
      + `Struck out: by ${strikes}. Below a dashed line, ${drawnInWords(drawn)}. Right: the `
      + "loss of each at the length that is read, against its rise on longer texts, on a "
      + "logarithmic axis, with dashed lines where an answer strikes out. In colour, "
      + `those left: ${left.map((n) => printed[n]).join(", ") || "nobody"}. A line leads from a `
      + "dot past a dashed line to the lower end of its interval.";
  },
};

// Which single answers, each replaced by the most lenient one, would leave somebody.
function waysOut(state) {
  const { lenient } = SPEC.data;
  const ways = QUESTIONS
    .filter((question) => leftBy({ ...state, [question]: lenient[question] }, SPEC.data).length)
    .map((question) => `“${question}”`);
  if (!ways.length) return "No single answer, given up, would leave somebody.";
  return `Somebody would be left if you gave up ${ways.join(" or ")}.`;
}

// What the last row says.
function drawnInWords(struck) {
  const name = `${SPEC.data.drawn.name}, drawn by this course and not one of the others`;
  if (!struck.length) return `${name}: not measured`;
  const by = QUESTIONS.filter((_, n) => struck[n]);
  return `${name}: ${by.length ? `struck out by ${by.join(", ")}` : "left"}`;
}

// Whether the questions' names fit side by side over columns so many pixels wide.
function headingsFit(column) {
  return QUESTIONS.slice(1).every((name, n) => (
    (textWidth(QUESTIONS[n]) + textWidth(name)) / 2 + 2 < column
  ));
}

// A row an encoding, those left on top and those not measured at the end, and a column a question;
// under them the one that was drawn.
function drawBoard(panel, { out, left, drawn }, state) {
  const { names, printed, losses } = SPEC.data;
  const { measured } = losses[state.reads];
  const { loss } = lossesOf(state, SPEC.data);
  const count = QUESTIONS.length;
  const gone = names.map((_, n) => n).filter((n) => measured[n] && !left.includes(n))
    .sort((a, b) => loss[a] - loss[b] || a - b);
  const unmeasured = names.map((_, n) => n).filter((n) => !measured[n]);
  const order = [...left, ...gone, ...unmeasured];
  const end = order.length; // the row under all encodings
  const cells = order.flatMap((n, y) => QUESTIONS.map((question, x) => (
    { x, y, n, question, struck: out[n * count + x] }
  )));
  const mark = (marked, style) =>
    panel.dots(marked.map(({ x }) => x), marked.map(({ y }) => y), style);
  const rows = [...order.map((n, y) => [y, printed[n]]), [end + 1.1, SPEC.data.drawn.name]];
  const x = [BESIDE - 0.3, count - 0.5];
  const column = (panel.width - 24 - widest(rows)) / (x[1] - x[0]); // pixels
  const onTop = headingsFit(column);
  const legend = [{ name: "struck out", colour: 3, mark: "cross" },
    { name: "left, and by how much behind", colour: 2, mark: "dot", hollow: false }];
  if (unmeasured.length) legend.push({ name: "not trained so", colour: "grey" });
  panel.axes({
    x, y: [end + 1.7, onTop ? HEADING - 0.8 : -0.5],
    title: left.length ? `${left.length} left, best: ${printed[left[0]]}` : "nobody is left",
    xticks: onTop ? [] : QUESTIONS.map((name, n) => [n, name]), yticks: rows,
    upright: !onTop, legend,
  });
  const write = (x, y, text, kind) => panel.inside.push(
    `<text x="${panel.px(x).toFixed(1)}" y="${(panel.py(y) + 4).toFixed(1)}" `
      + `class="${kind}">${text}</text>`,
  );
  const say = (y, text) => write((count - 1) / 2, y, text, "om-label");
  if (onTop) QUESTIONS.forEach((name, n) => write(n, HEADING, name, "om-tick"));
  left.forEach((n, y) => say(y, behindFirst(n, left[0], state)));
  if (left.length && left.length < names.length) { // a line under those that are left
    panel.across(left.length - 0.5, { dash: "2 3" });
  }
  const isJudged = { // a loss that was not measured is not judged, nor one behind nobody
    texts: (n) => loss[n] !== null,
    behind: (n) => loss[n] !== null && bestOf(state, SPEC.data) !== undefined,
  };
  const passed = cells.filter(({ n, question, struck }) =>
    !struck && !left.includes(n) && (isJudged[question]?.(n) ?? true));
  mark(passed, { colour: "grey", size: 1.5 });
  mark(left.map((_, y) => ({ x: BESIDE, y })), { colour: 2, size: 4.5 });
  const isUntrained = ({ question, struck }) => struck && question === "reads";
  for (const { x: at, y } of cells.filter(isUntrained)) {
    panel.line([at - 0.1, at + 0.1], [y, y], { colour: "grey" });
  }
  mark(cells.filter((cell) => cell.struck && !isUntrained(cell)),
    { colour: 3, mark: "cross", size: 4 });
  panel.across(end - 0.5, { dash: "5 3" });
  say(end + 0.15, "drawn by this course:");
  const isLeft = drawn.length && !drawn.some(Boolean);
  if (!drawn.length) say(end + 1.1, "not measured");
  if (isLeft) {
    say(end + 1.1, drawnBeside(left[0], state));
    mark([{ x: BESIDE, y: end + 1.1 }], { colour: 2, size: 4, hollow: true });
  }
  mark(drawn.flatMap((struck, x) => (struck ? [{ x, y: end + 1.1 }] : [])),
    { colour: 3, mark: "cross", size: 4 });
}

// How far the one that was drawn is from the first of those left, as text.
function drawnBeside(first, state) {
  const known = drawnOf(state, SPEC.data);
  const gap = known.loss - lossesOf(state, SPEC.data).loss[first];
  const margin = gap - known.behind[SPEC.data.names[first]];
  const side = gap < 0 ? "below" : "above";
  return `${fixed(Math.abs(gap), 2)} ± ${fixed(margin, 2)} ${side} the first`;
}

// How far one of those left is behind the first of them, as text.
function behindFirst(n, first, state) {
  const { loss, behind } = lossesOf(state, SPEC.data);
  if (n === first) return `first, at ${fixed(loss[n], 2)} nats`;
  const gap = loss[n] - loss[first];
  const margin = gap - behind[SPEC.data.names[first]][n]; // the interval's mean less its lower end
  const sign = gap + margin > state.behind ? "≈ +" : "+"; // ≈: the interval crosses the yardstick
  return `${sign}${fixed(gap, 2)} ± ${fixed(margin, 2)}`;
}

// The loss of each, against its rise, and its name beside it.
function drawMap(panel, { left }, state) {
  const { names, printed, losses, times, tolerated } = SPEC.data;
  const { loss, behind, rise } = lossesOf(state, SPEC.data);
  const best = bestOf(state, SPEC.data);
  const behindBest = behind[names[best]] ?? [];
  const isLonger = times[state.texts] > 1;
  const longer = isLonger ? times[state.texts] : Math.max(...Object.values(times));
  const { mean_rise: means } = losses[state.reads][longer];
  const measured = names.map((_, n) => n).filter((n) => loss[n] !== null);
  const lowest = Math.min(...measured.map((n) => loss[n]));
  const highest = Math.max(...measured.map((n) => loss[n]));
  const farthest = best === undefined
    ? Math.min(highest, lowest + FARTHEST)
    : loss[best] + Math.max(WIDEST, 1.25 * state.behind);
  const margin = MARGIN * Math.max(1, 3 * (farthest - lowest));
  const across = (n) => Math.min(loss[n], farthest); // those beyond stand at the edge
  const up = (n) => Math.max(means[n], FLOOR);
  const mark = (marked, style) => panel.dots(marked.map(across), marked.map(up), style);
  const yardstick = loss[best] + state.behind; // NaN if nobody is left
  const tooFar = left.filter((n) => across(n) > yardstick);
  const tooHigh = isLonger ? left.filter((n) => means[n] > tolerated) : [];
  const legend = [{ name: "struck out", colour: "grey", mark: "cross" },
    { name: "left", colour: 2, mark: "dot", hollow: false }];
  if (tooFar.length || tooHigh.length) legend.push({ name: "not clearly beyond", colour: 2 });
  panel.axes({
    x: [lowest - margin, farthest + margin], y: [FLOOR * 0.8, 8], ylog: true, legend,
    title: isLonger ? `above the line: rises by more than ${tolerated}` : "loss and rise",
    yticks: [[0.01, "≤ 0.01"], 0.1, 1],
    xticks: [...roundLosses(lowest, farthest),
      ...(highest > farthest ? [[farthest, `≥ ${fixed(farthest, 2)}`]] : [])],
    xlabel: `loss at ${times[state.texts] * SPEC.data.trained} bytes (nats a byte)`,
    ylabel: `rise, ${longer} times as long (nats)`,
  });
  if (isLonger) panel.across(tolerated, { dash: "5 3" });
  if (yardstick < farthest) panel.upright(yardstick, { dash: "5 3" });
  const intervals = [
    ...tooFar.map((n) => [[loss[best] + behindBest[n], across(n)], [up(n), up(n)]]),
    ...tooHigh.map((n) => [[across(n), across(n)], [Math.max(rise[n], FLOOR), up(n)]]),
  ];
  for (const [xs, ys] of intervals) panel.line(xs, ys, { colour: 2 });
  mark(measured.filter((n) => !left.includes(n)), { mark: "cross", colour: "grey", size: 3 });
  mark(left, { colour: 2, size: 5 });
  const isOut = (n) => !left.includes(n);
  const named = [...left, ...measured.filter(isOut)]
    .map((n) => ({ x: across(n), y: up(n), name: printed[n], mayMove: !isOut(n) }));
  const drawn = drawnOf(state, SPEC.data);
  if (drawn) { // its rise on texts as long as those of the others
    const { mean_rise: itsRise } = SPEC.data.drawn.at[longer];
    const [x, y] = [Math.min(drawn.loss, farthest), Math.max(itsRise, FLOOR)];
    panel.dots([x], [y], { colour: "soft", size: 4, hollow: true, dash: "2 2" });
    named.push({ x, y, name: SPEC.data.drawn.name, mayMove: true });
  }
  nameDots(panel, named, intervals);
}

// Multiples of 0.1, of 0.2 or of 0.5, the wider the axis, from a loss up to where the last tick
// needs room.
function roundLosses(lowest, farthest) {
  const range = farthest - lowest;
  const tenths = range > 1.2 ? 5 : range > 0.6 ? 2 : 1;
  const first = Math.ceil(lowest * 10 / tenths);
  const steps = Array.from({ length: 12 }, (_, step) => (first + step) * tenths / 10);
  return steps.filter((tick) => tick < farthest - 0.07 * tenths);
}

// Names beside dots, the first one's first; where two would lie on each other one is moved, with a
// thin line to its dot, or left out: the board has the names of all that are struck out. No name
// lies on one of the intervals, each [[x0, x1], [y0, y1]].
function nameDots(panel, dots, intervals) {
  const taken = dots.map(({ x, y }) => (
    { from: panel.px(x) - 5, to: panel.px(x) + 5, at: panel.py(y) }
  ));
  for (const [xs, ys] of intervals) {
    const [from, to] = xs.map((x) => panel.px(x));
    const [low, high] = ys.map((y) => panel.py(y));
    const steps = Math.ceil(Math.abs(high - low) / LINE);
    for (let step = 0; step <= steps; step += 1) {
      const at = low + (high - low) * step / Math.max(1, steps);
      taken.push({ from: from - 2, to: to + 2, at });
    }
  }
  for (const { x, y, name, mayMove } of dots) {
    const tries = mayMove ? 40 : 1;
    const place = freePlace(panel, panel.px(x), panel.py(y), textWidth(name), taken, tries);
    if (!place) continue;
    taken.push(place);
    const [edge, style] = place.onTheLeft ? [place.to, "om-end"] : [place.from, "om-start"];
    if (Math.abs(place.at - panel.py(y)) > LINE / 2) {
      const [dotX, dotY] = [panel.px(x), panel.py(y)].map((pixels) => pixels.toFixed(1));
      const path = `M${dotX},${dotY}L${edge.toFixed(1)},${place.at.toFixed(1)}`;
      panel.inside.push(`<path d="${path}" ${stroke({ colour: "grey", width: 0.8 })}/>`);
    }
    panel.inside.push(`<text x="${edge.toFixed(1)}" y="${(place.at + 4).toFixed(1)}" `
      + `class="${style}">${escaped(name)}</text>`);
  }
}

// The nearest place for a name, on the right of its dot or else on the left, that is not taken; it
// tries so many, up and down.
function freePlace(panel, dotX, dotY, width, taken, tries) {
  for (let n = 0; n < tries; n += 1) {
    const at = dotY + (n % 2 ? 1 : -1) * Math.ceil(n / 2) * 3;
    for (const from of [dotX + 9, dotX - 9 - width]) {
      const to = from + width;
      const inside = from > 0 && to < panel.box.width && at > LINE / 2
        && at < panel.box.height - LINE / 2;
      const free = taken.every((other) => other.to < from || other.from > to
        || Math.abs(other.at - at) >= LINE);
      if (inside && free) return { from, to, at, onTheLeft: from < dotX };
    }
  }
  return null;
}
