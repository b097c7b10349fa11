// Five questions, and which encodings the answers leave.

const ASKED = ["reads", "texts", "starts", "attention", "behind"];
const SHORT = ["reads", "texts", "starts", "fused", "loss"];
const FLOOR = 0.01; // nats, the least rise that is drawn; the axis is logarithmic
const FEW = 5; // names that have room beside their dots

// One after the other: whom an answer strikes out, by the encoding's place.
function judges({ reads, texts, starts, attention, behind }, known) {
  const { loss, rises, sides, still, plain, tolerated } = known, best = Math.min(...loss);
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
  least: 280,
  height: () => 360,

  compute(state, known) {
    const places = known.names.map((_, n) => n), asked = judges(state, known);
    const out = places.flatMap((n) => asked.map((strikes) => Number(strikes(n))));
    const left = places.filter((n) => !asked.some((strikes) => strikes(n)));
    const alone = asked.map((strikes) => places.filter(strikes).length);
    return { out, left, alone };
  },

  draw([board, map], { out, left }, { texts, behind }) {
    const { names, loss, rises, tolerated, trained } = SPEC.data, count = ASKED.length;
    const cells = out.map((one, i) => [i % count, Math.floor(i / count), one]);
    const pick = (wanted) => cells.filter(wanted);
    const drawn = (found, style) =>
      board.dots(found.map(([x]) => x), found.map(([, y]) => y), style);
    board.axes({
      x: [-0.5, count - 0.5], y: [names.length - 0.5, -0.5],
      title: "who is struck out, and by what",
      xticks: SHORT.map((name, n) => [n, name]), yticks: names.map((name, n) => [n, name]),
      legend: [{ name: "struck out", colour: 3, mark: "cross" },
        { name: "left", colour: 2, mark: "dot" }],
    });
    drawn(pick(([, y, one]) => !one && !left.includes(y)), { colour: "grey", size: 1.5 });
    drawn(pick(([, y]) => left.includes(y)), { colour: 2, size: 4.5 });
    drawn(pick(([, , one]) => one), { colour: 3, mark: "cross", size: 4 });

    const longer = texts in rises ? texts : Object.keys(rises)[1], { mean } = rises[longer];
    const up = mean.map((one) => Math.max(one, FLOOR));
    const others = names.map((_, n) => n).filter((n) => !left.includes(n));
    const best = Math.min(...loss);
    map.axes({
      x: [1.15, 2.15], y: [FLOOR * 0.8, 8], ylog: true, title: "what the losses say",
      yticks: [[0.01, "≤ 0.01"], 0.1, 1], xlabel: `loss at ${trained} bytes (nats)`,
      ylabel: `rise, ${longer} (nats)`,
    }).across(tolerated, { dash: "5 3" });
    if (best + behind < 2.15) map.upright(best + behind, { dash: "5 3" });
    map.dots(others.map((n) => loss[n]), others.map((n) => up[n]),
      { mark: "cross", colour: "grey", size: 3 })
      .dots(left.map((n) => loss[n]), left.map((n) => up[n]), { colour: 2, size: 5 });
    if (left.length <= FEW) nameDots(map, left.map((n) => [loss[n], up[n], names[n]]));
  },

  sentence({ left, alone }) {
    const { names, loss, trained } = SPEC.data, most = Math.max(...alone);
    const named = left.map((n) => `${names[n]} (${fixed(loss[n], 2)})`).join(", ");
    const who = left.length ? `${left.length} of ${names.length} ${left.length > 1 ? "are" : "is"} `
      + `left, with the loss at ${trained} bytes: ${named}.`
      : `Nobody is left of ${names.length}. Which answer can you give up?`;
    if (!most) return `${who} No answer strikes anybody out.`;
    return `${who} Most are struck out by “${ASKED[alone.indexOf(most)]}”: ${most}.`;
  },

  words({ left, alone }, { reads, texts, starts, attention, behind }) {
    const { names, trained } = SPEC.data;
    const asked = [reads, texts, `start ${starts}`, `${attention} attention`,
      `at most ${fixed(behind, 0, 3)} nats behind`];
    const strikes = asked.map((answer, n) => `“${answer}” ${alone[n]}`).join(", ");
    return `Left: a board of ${names.length} rows, lowest loss on top, and five columns; a cross `
      + `for each answer that strikes an encoding out. Struck out: by ${strikes}. Right: each `
      + `encoding's loss at ${trained} bytes against its rise on longer texts, on a logarithmic `
      + "axis, with dashed lines at what is tolerated. In colour, those left: "
      + `${left.map((n) => names[n]).join(", ") || "nobody"}.`;
  },
};

// Names beside dots, moved down where two would lie on each other.
function nameDots(panel, dots) {
  let last = -Infinity;
  for (const [x, y, name] of dots.sort((a, b) => b[1] - a[1])) {
    last = Math.max(panel.py(y) + 4, last + 13);
    const at = panel.px(x), end = at > panel.box.w - wide(name) - 10;
    panel.inside.push(`<text x="${(at + (end ? -9 : 9)).toFixed(1)}" y="${last.toFixed(1)}" `
      + `class="${end ? "om-end" : "om-start"}">${escaped(name)}</text>`);
  }
}
