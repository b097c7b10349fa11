// A published table of results, ranked before and after the ticked rows were replaced by fair runs.

const COLUMNS = {
  rise: ([short, long]) => long - short,
  "loss at 64": ([short]) => short,
  "loss at 1,024": ([, long]) => long,
};

// The numbers of the rows in the order of a column, the lowest first.
function ranking(losses, order) {
  const values = losses.map(COLUMNS[order]);
  return values.map((_, row) => row).sort((first, second) => values[first] - values[second]);
}

function nameOf(row) {
  return SPEC.data.rows[row]?.printed ?? SPEC.data.cutName;
}

function written(losses, order) {
  const value = COLUMNS[order](losses);
  return (order === "rise" && value >= 0 ? "+" : "") + fixed(value, 3, 3);
}

// Their names would be the answer to the lesson's exercise.
function left(objections) {
  return objections.length ? `objections left: ${objections.length}` : "no objection is left";
}

// Places, first and last, of neighbours that seeds cannot order: no two of them are clearly apart.
// Only rows of fair runs are compared.
function ties(after, state) {
  const { rows, unclear } = SPEC.data;
  const isFair = (row) => row === rows.length || state[rows[row].name]
    || !rows[row].objections.length;
  const isTie = (row, other) => isFair(row) && isFair(other) && unclear[state.order][row][other];
  const groups = after.map((_, first) => {
    let last = first;
    while (last + 1 < after.length
      && after.slice(first, last + 1).every((row) => isTie(row, after[last + 1]))) last++;
    return [first, last];
  });
  return groups.filter(([first, last], n) => last > first && groups[n - 1]?.[1] !== last);
}

// The numbers of the rows that are ticked, of those that were flawed or of those that were fair.
function tickedRows(state, flawed) {
  return SPEC.data.rows.flatMap((row, number) =>
    (state[row.name] && row.objections.length > 0 === flawed ? [number] : []));
}

const EXPLORER = {
  columns: [1],
  minWidth: 300,
  height: () => 310,

  compute(state, { rows, cut }) {
    const published = rows.map((row) => row.published);
    const mended = rows.map((row) => (state[row.name] ? row.mended : row.published));
    if (state.cut) mended.push(cut);
    // Enough to unite, since the rows without a tick are fair: what differs, differs from them.
    const objections = rows.flatMap((row) => (state[row.name] ? [] : row.objections));
    if (!state.cut) objections.push("cut");
    return {
      published,
      mended,
      before: ranking(published, state.order),
      after: ranking(mended, state.order),
      objections: [...new Set(objections)].sort(),
    };
  },

  draw([panel], { published, mended, before, after, objections }, state) {
    const { order } = state;
    const count = after.length;
    const kept = after.filter((row) => row < before.length); // without the row that is cut
    const isNarrow = panel.width < 480; // no room for the values on the left
    const isMended = SPEC.data.rows.some((row) => state[row.name]);
    const key = isMended ? "; thick: mended" : "";
    panel.axes({
      x: isNarrow ? [-1.5, 3.6] : [-1.6, 2.8],
      y: [count + 0.6, 0.4],
      title: `by ${order}${key}`,
      xticks: [[0, "published"], [1, "mended"]],
      xlabel: `${left(objections)}; bar: too close for three seeds`,
      yticks: Array.from({ length: count }, (_, n) => [n + 1, String(n + 1)]),
    });
    const label = (x, y, text, kind) => panel.write(
      panel.box.left + panel.px(x), panel.box.top + panel.py(y) + 4, text, kind);
    before.forEach((row, n) => {
      const place = after.indexOf(row);
      const style = state[SPEC.data.rows[row].name] ? { colour: 1, width: 3.5 }
        : { colour: kept.indexOf(row) === n ? "grey" : "ink" }; // others may move it
      panel.line([0, 1], [n + 1, place + 1], style)
        .dots([0, 1], [n + 1, place + 1], { colour: style.colour, size: 4 });
      const value = isNarrow ? "" : ` ${written(published[row], order)}`;
      label(-0.05, n + 1, nameOf(row) + value, "om-end");
    });
    after.forEach((row, n) => {
      if (row === before.length) panel.dots([1], [n + 1], { colour: 2, mark: "square", size: 5 });
      label(1.28, n + 1, `${written(mended[row], order)} ${nameOf(row)}`, "om-start");
    });
    ties(after, state).forEach(([first, last], n) => {
      const x = 1.08 + 0.06 * (n % 3);
      panel.line([x, x], [first + 0.7, last + 1.3], { colour: 3, width: 3 });
    });
  },

  sentence({ published, mended, before, after, objections }, state) {
    const { order } = state;
    const was = `${nameOf(before[0])} (${written(published[before[0]], order)})`;
    const is = `${nameOf(after[0])} (${written(mended[after[0]], order)})`;
    const replaced = tickedRows(state, true).map(nameOf);
    const sound = tickedRows(state, false).map(nameOf);
    const kept = after.filter((row) => row < before.length); // without the row that is cut
    const stays = before.every((row, n) => kept[n] === row);
    const others = Object.keys(COLUMNS).filter((name) => name !== order).join(" or ");
    const moved = (replaced.length ? `Replaced: ${replaced.join(", ")}.`
      + (stays ? ` None changes its place by ${order}; look by ${others}.` : "")
      : "No row is replaced.") + sound.map((name) => ` The runs of ${name} were fair.`).join("");
    const remaining = left(objections).replace(/^./, (letter) => letter.toUpperCase());
    const tied = ties(after, state).map(([first, last]) =>
      after.slice(first, last + 1).map(nameOf).join(" and "));
    const unordered = tied.length ? ` Three seeds cannot order: ${tied.join("; ")}.` : "";
    return `${remaining}. First by ${order}: ${was} as published, ${is} mended. ${moved}`
      + unordered;
  },

  description({ published, mended, before, after }, state) {
    const { order } = state;
    const listed = (rows, losses) =>
      rows.map((row) => `${nameOf(row)} ${written(losses[row], order)}`).join(", ");
    return `Two columns of names, ranked by ${order}, the lowest first, and a line from each name `
      + `on the left to the same one on the right. As published: ${listed(before, published)}. `
      + `Mended: ${listed(after, mended)}. Bars join neighbours on the right that three seeds `
      + `cannot order: ${ties(after, state).length}.`;
  },
};
