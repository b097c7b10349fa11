// Trained short, read long: the course's results for two encodings side by side.

const NO_RESULTS = { at: [], mean: [], margin: [], seeds: [] };

// The results of an encoding in a view up to this length.
function curveUpTo(end, results = NO_RESULTS) {
  const visible = (column) => column.filter((_, n) => results.at[n] <= end);
  const { at, mean, margin, seeds } = results;
  return { at: visible(at), mean: visible(mean), margin: visible(margin), seeds: visible(seeds) };
}

// An encoding's name as its list of choices shows it.
function nameOf(encoding) {
  return SPEC.controls[0].words[encoding] ?? encoding;
}

const EXPLORER = {
  columns: [1],
  minWidth: 280,
  height: (width) => Math.min(350, 0.85 * width),

  compute({ encoding, beside, view, doublings }, { views, trained }) {
    const end = trained * 2 ** doublings;
    return {
      first: curveUpTo(end, views[view][encoding]),
      second: curveUpTo(end, views[view][beside]),
    };
  },

  draw([panel], { first, second }, { encoding, beside, view, doublings }) {
    const { trained } = SPEC.data;
    const end = trained * 2 ** doublings;
    const xticks = [];
    for (let length = trained / 2; length <= end; length *= 2) xticks.push(length);
    const means = [...first.mean, ...second.mean];
    const low = Math.min(...means);
    const high = Math.max(...means);
    const room = Math.max(0.1, 0.1 * (high - low)) || 1;
    const styles = [{}, { colour: 1, dash: "6 3" }];
    panel.axes({
      x: [29, end * 1.1], y: means.length ? [low - room, high + room] : [0, 1], xlog: true,
      xticks, title: view, ylabel: "nats a byte",
      xlabel: view === "by position" ? "position" : "bytes read",
      legend: [{ name: nameOf(encoding), ...styles[0] }, { name: nameOf(beside), ...styles[1] }],
    }).upright(trained);
    [first, second].forEach(({ at, mean, margin }, n) => {
      const style = styles[n];
      const intervalX = at.flatMap((length) => [length, length, NaN]);
      const intervalY = mean.flatMap((value, i) => [value - margin[i], value + margin[i], NaN]);
      panel.line(intervalX, intervalY, { ...style, dash: "none", width: 5, fade: 0.4 })
        .line(at, mean, style)
        .dots(at, mean, { ...style, size: 3.5 });
    });
  },

  sentence({ first, second }, { encoding, beside }) {
    const lastMean = (name, { mean, margin, seeds }) => {
      const last = mean.length - 1;
      if (last < 0) return `${name} has no results here`;
      const spread = margin[last] === null ? "one seed"
        : `± ${fixed(margin[last], 3)}, ${seeds[last]} seeds`;
      return `${name} ${fixed(mean[last], 3)} (${spread})`;
    };
    const ends = [lastMean(nameOf(encoding), first), lastMean(nameOf(beside), second)];
    return `At the right end: ${ends.join("; ")}.`;
  },

  description({ first, second }, { encoding, beside, view, doublings }) {
    const course = (name, { at, mean }) => {
      if (!at.length) return `${name} has no results here`;
      const last = at.length - 1;
      return `${name} goes from ${fixed(mean[0], 2)} at ${fixed(at[0], 0, 1)} to `
        + `${fixed(mean[last], 2)} at ${fixed(at[last], 0, 1)}`;
    };
    return `View “${view}”, up to ${fixed(SPEC.data.trained * 2 ** doublings, 0)} bytes on a `
      + "logarithmic axis, with a grey line at the trained length of "
      + `${SPEC.data.trained}. Means over seeds, with bars for their 95 % intervals: `
      + `${course(nameOf(encoding), first)}; ${course(nameOf(beside), second)}.`;
  },
};
