// Five questions, and which encodings the answers leave.

const QUESTIONS = ["reads", "texts", "starts", "attention", "behind"];
const LABELS = ["it reads", "texts", "start", "attention", "loss"];
const FLOOR = 0.01; // nats, the least rise that is drawn; the axis is logarithmic
const WIDEST = 1.2; // nats above the lowest loss, where the axis ends
const LINE = 11; // pixels that a name takes from top to bottom

// The losses of the models that read so, at the length that the texts have.
function lossesOf({ reads, texts }, { losses, times }) {
  return losses[reads][times[texts]];
}

// A function for each question: whether its answer strikes out encoding n.
function rulesOf(state, facts) {
  const { loss, behind, rise } = lossesOf(state, facts);
  const { still, tolerated, losses } = facts;
  const adds = facts.adds[state.reads];
  const allowed = facts.allowed[state.attention];
  return [
    (n) => !losses[state.reads].measured[n],
    (n) => loss[n] !== null && rise[n] > tolerated,
    (n) => state.starts === "anywhere" && !still[n],
    (n) => allowed !== undefined && !allowed.includes(adds[n]),
    (n) => loss[n] !== null && behind[n] > state.behind,
  ];
}

const EXPLORER = {
  columns: [1, 1],
  minWidth: 280,
  height: () => 360,

  compute(state, facts) {
    const encodings = facts.names.map((_, n) => n);
    const rules = rulesOf(state, facts);
    const { loss } = lossesOf(state, facts);
    const left = encodings.filter((n) => !rules.some((strikesOut) => strikesOut(n)));
    return {
      out: encodings.flatMap((n) => rules.map((strikesOut) => Number(strikesOut(n)))), // by rows
      left: left.sort((a, b) => loss[a] - loss[b]),
      alone: rules.map((strikesOut) => encodings.filter(strikesOut).length),
    };
  },

  draw([board, map], numbers, state) {
    drawBoard(board, numbers, state);
    drawMap(map, numbers, state);
  },

  sentence({ left, alone }, state) {
    const { names } = SPEC.data;
    const { loss } = lossesOf(state, SPEC.data);
    const most = Math.max(...alone);
    const listed = left.map((n) => `${names[n]} (${fixed(loss[n], 2)})`).join(", ");
    const verb = left.length > 1 ? "are" : "is";
    const who = left.length
      ? `${left.length} of ${names.length} ${verb} left, with the loss at the length that is read: `
        + `${listed}.`
      : `Nobody is left of ${names.length}. Which answer can you give up?`;
    if (!most) return `${who} No answer strikes anybody out.`;
    return `${who} Most are struck out by “${LABELS[alone.indexOf(most)]}”: ${most}.`;
  },

  description({ left, alone }, { reads, texts, starts, attention, behind }) {
    const { names } = SPEC.data;
    const answers = [reads, texts, `start ${starts}`, `${attention} attention`,
      `at most ${fixed(behind, 0, 3)} nats behind`];
    const strikes = answers.map((answer, n) => `“${answer}” ${alone[n]}`).join(", ");
    return `Left: a board of ${names.length} rows and five columns. The rows are ordered by the `
      + "loss of causal models at the trained length, the lowest on top. A "
      + "cross for each answer that strikes an encoding out; “not measured” where there is no such "
      + `model. Struck out: by ${strikes}. Right: `
      + "each encoding's loss at the length that is read against its rise on longer texts, on a "
      + "logarithmic axis, with dashed lines at what is tolerated. In colour, those left: "
      + `${left.map((n) => names[n]).join(", ") || "nobody"}.`;
  },
};

// A row an encoding and a column a question.
function drawBoard(panel, { out, left }, state) {
  const { names, losses } = SPEC.data;
  const { measured } = losses[state.reads];
  const count = QUESTIONS.length;
  const cells = out.map((struck, i) => ({ x: i % count, y: Math.floor(i / count), struck }))
    .filter(({ y }) => measured[y]);
  const mark = (marked, style) =>
    panel.dots(marked.map(({ x }) => x), marked.map(({ y }) => y), style);
  panel.axes({
    x: [-0.5, count - 0.5], y: [names.length - 0.5, -0.5],
    title: "who is struck out, and by what",
    xticks: LABELS.map((name, n) => [n, name]), yticks: names.map((name, n) => [n, name]),
    legend: [{ name: "struck out", colour: 3, mark: "cross" },
      { name: "left", colour: 2, mark: "dot" }],
  });
  for (let n = 0; n < names.length; n += 1) {
    if (!measured[n]) {
      panel.inside.push(`<text x="${panel.px((count - 1) / 2).toFixed(1)}" `
        + `y="${(panel.py(n) + 4).toFixed(1)}" class="om-label">not measured</text>`);
    }
  }
  const passed = cells.filter(({ y, struck }) => !struck && !left.includes(y));
  mark(passed, { colour: "grey", size: 1.5 });
  mark(cells.filter(({ y }) => left.includes(y)), { colour: 2, size: 4.5 });
  mark(cells.filter(({ struck }) => struck), { colour: 3, mark: "cross", size: 4 });
}

// Each encoding's loss against its rise, and its name beside it.
function drawMap(panel, { left }, state) {
  const { names, losses, times, tolerated } = SPEC.data;
  const { loss } = lossesOf(state, SPEC.data);
  const longer = times[state.texts] > 1 ? times[state.texts] : Math.max(...Object.values(times));
  const { mean_rise: means } = losses[state.reads][longer];
  const measured = names.map((_, n) => n).filter((n) => loss[n] !== null);
  const lowest = Math.min(...measured.map((n) => loss[n]));
  const across = (n) => Math.min(loss[n], lowest + WIDEST); // those beyond stand at the edge
  const up = (n) => Math.max(means[n], FLOOR);
  const mark = (marked, style) => panel.dots(marked.map(across), marked.map(up), style);
  panel.axes({
    x: [lowest - 0.05, lowest + WIDEST + 0.05], y: [FLOOR * 0.8, 8], ylog: true,
    title: "what the losses say", yticks: [[0.01, "≤ 0.01"], 0.1, 1],
    xlabel: "loss at the length read (nats)", ylabel: `rise, ${longer} times as long (nats)`,
  }).across(tolerated, { dash: "5 3" });
  if (state.behind < WIDEST) panel.upright(lowest + state.behind, { dash: "5 3" });
  mark(measured.filter((n) => !left.includes(n)), { mark: "cross", colour: "grey", size: 3 });
  mark(left, { colour: 2, size: 5 });
  nameDots(panel, [...left, ...measured.filter((n) => !left.includes(n))]
    .map((n) => [across(n), up(n), names[n]]));
}

// Names beside dots, the first one's first; moved where two would lie on each other.
function nameDots(panel, dots) {
  const taken = dots.map(([x, y]) => (
    { from: panel.px(x) - 5, to: panel.px(x) + 5, at: panel.py(y) }
  ));
  for (const [x, y, name] of dots) {
    const place = freePlace(panel, panel.px(x), panel.py(y), textWidth(name), taken);
    if (!place) continue;
    taken.push(place);
    const [edge, style] = place.onTheLeft ? [place.to, "om-end"] : [place.from, "om-start"];
    panel.inside.push(`<text x="${edge.toFixed(1)}" y="${(place.at + 4).toFixed(1)}" `
      + `class="${style}">${escaped(name)}</text>`);
  }
}

// The nearest place for a name, on the right of its dot or else on the left, that is not taken.
function freePlace(panel, dotX, dotY, width, taken) {
  for (let n = 0; n < 40; n += 1) {
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
