// Five questions, and which encodings the answers leave.

const QUESTIONS = ["reads", "texts", "starts", "attention", "behind"];
const LABELS = ["reads", "texts", "starts", "fused", "loss"];
const FLOOR = 0.01; // nats, the least rise that is drawn; the axis is logarithmic
const FEW = 5; // names that have room beside their dots

// A function for each question: whether its answer strikes out encoding n.
function rulesOf({ reads, texts, starts, attention, behind }, facts) {
  const { loss, rises, sides, still, plain, tolerated } = facts;
  const best = Math.min(...loss);
  return [
    (n) => reads === "both ways" && !sides[n],
    (n) => texts in rises && rises[texts].low[n] > tolerated,
    (n) => starts === "anywhere" && !still[n],
    (n) => attention === "plain fused" && !plain[n],
    (n) => loss[n] - best > behind,
  ];
}

const EXPLORER = {
  columns: [1, 1],
  minWidth: 280,
  height: () => 360,

  compute(state, facts) {
    const encodings = facts.names.map((_, n) => n);
    const rules = rulesOf(state, facts);
    return {
      out: encodings.flatMap((n) => rules.map((strikesOut) => Number(strikesOut(n)))), // by rows
      left: encodings.filter((n) => !rules.some((strikesOut) => strikesOut(n))),
      alone: rules.map((strikesOut) => encodings.filter(strikesOut).length),
    };
  },

  draw([board, map], numbers, state) {
    drawBoard(board, numbers);
    drawMap(map, numbers, state);
  },

  sentence({ left, alone }, state) {
    const { names, loss, trained } = SPEC.data;
    const most = Math.max(...alone);
    const listed = left.map((n) => `${names[n]} (${fixed(loss[n], 2)})`).join(", ");
    const verb = left.length > 1 ? "are" : "is";
    const who = left.length
      ? `${left.length} of ${names.length} ${verb} left, with the loss at ${trained} bytes: `
        + `${listed}.`
      : `Nobody is left of ${names.length}. Which answer can you give up?`;
    if (!most) return `${who} No answer strikes anybody out.`;
    return `${who} Most are struck out by “${QUESTIONS[alone.indexOf(most)]}”: ${most}.`;
  },

  description({ left, alone }, { reads, texts, starts, attention, behind }) {
    const { names, trained } = SPEC.data;
    const answers = [reads, texts, `start ${starts}`, `${attention} attention`,
      `at most ${fixed(behind, 0, 3)} nats behind`];
    const strikes = answers.map((answer, n) => `“${answer}” ${alone[n]}`).join(", ");
    return `Left: a board of ${names.length} rows, lowest loss on top, and five columns; a cross `
      + `for each answer that strikes an encoding out. Struck out: by ${strikes}. Right: each `
      + `encoding's loss at ${trained} bytes against its rise on longer texts, on a logarithmic `
      + "axis, with dashed lines at what is tolerated. In colour, those left: "
      + `${left.map((n) => names[n]).join(", ") || "nobody"}.`;
  },
};

// A row an encoding and a column a question.
function drawBoard(panel, { out, left }) {
  const { names } = SPEC.data;
  const count = QUESTIONS.length;
  const cells = out.map((struck, i) => ({ x: i % count, y: Math.floor(i / count), struck }));
  const mark = (marked, style) =>
    panel.dots(marked.map(({ x }) => x), marked.map(({ y }) => y), style);
  panel.axes({
    x: [-0.5, count - 0.5], y: [names.length - 0.5, -0.5],
    title: "who is struck out, and by what",
    xticks: LABELS.map((name, n) => [n, name]), yticks: names.map((name, n) => [n, name]),
    legend: [{ name: "struck out", colour: 3, mark: "cross" },
      { name: "left", colour: 2, mark: "dot" }],
  });
  const passed = cells.filter(({ y, struck }) => !struck && !left.includes(y));
  mark(passed, { colour: "grey", size: 1.5 });
  mark(cells.filter(({ y }) => left.includes(y)), { colour: 2, size: 4.5 });
  mark(cells.filter(({ struck }) => struck), { colour: 3, mark: "cross", size: 4 });
}

// Each encoding's loss against its rise.
function drawMap(panel, { left }, { texts, behind }) {
  const { names, loss, rises, tolerated, trained } = SPEC.data;
  const longer = texts in rises ? texts : Object.keys(rises)[1];
  const rise = rises[longer].mean.map((mean) => Math.max(mean, FLOOR));
  const others = names.map((_, n) => n).filter((n) => !left.includes(n));
  const limit = Math.min(...loss) + behind;
  const mark = (marked, style) =>
    panel.dots(marked.map((n) => loss[n]), marked.map((n) => rise[n]), style);
  panel.axes({
    x: [1.15, 2.15], y: [FLOOR * 0.8, 8], ylog: true, title: "what the losses say",
    yticks: [[0.01, "≤ 0.01"], 0.1, 1], xlabel: `loss at ${trained} bytes (nats)`,
    ylabel: `rise, ${longer} (nats)`,
  }).across(tolerated, { dash: "5 3" });
  if (limit < 2.15) panel.upright(limit, { dash: "5 3" });
  mark(others, { mark: "cross", colour: "grey", size: 3 });
  mark(left, { colour: 2, size: 5 });
  if (left.length <= FEW) nameDots(panel, left.map((n) => [loss[n], rise[n], names[n]]));
}

// Names beside dots, moved down where two would lie on each other.
function nameDots(panel, dots) {
  let last = -Infinity;
  for (const [x, y, name] of dots.sort((a, b) => b[1] - a[1])) {
    last = Math.max(panel.py(y) + 4, last + 13);
    const dot = panel.px(x);
    const onTheLeft = dot > panel.box.width - textWidth(name) - 10;
    panel.inside.push(`<text x="${(dot + (onTheLeft ? -9 : 9)).toFixed(1)}" y="${last.toFixed(1)}" `
      + `class="${onTheLeft ? "om-end" : "om-start"}">${escaped(name)}</text>`);
  }
}
