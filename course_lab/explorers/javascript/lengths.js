// Trained short, read long: the course's results for two encodings side by side.

// What is drawn of an encoding in a view; empty where there are no results.
function curve(views, name, view, end) {
  const found = views[view][name] ?? { at: [] };
  const shown = found.at.map((_, n) => n).filter((n) => found.at[n] <= end);
  const [at, mean, margin, seeds] = ["at", "mean", "margin", "seeds"].map((column) =>
    shown.map((n) => found[column][n]));
  return { at, mean, margin, seeds };
}

const EXPLORER = {
  columns: [1],
  least: 280,
  height: (width) => Math.min(350, 0.85 * width),

  compute({ encoding, beside, view, doublings }, { views, trained }) {
    const end = trained * 2 ** doublings;
    const [own, other] = [encoding, beside].map((name) => curve(views, name, view, end));
    return { own, other };
  },

  draw([panel], { own, other }, { encoding, beside, view, doublings }) {
    const { trained } = SPEC.data, end = trained * 2 ** doublings, places = [];
    for (let place = trained / 2; place <= end; place *= 2) places.push(place);
    const every = [...own.mean, ...other.mean], low = Math.min(...every), high = Math.max(...every);
    const room = Math.max(0.1, 0.1 * (high - low)) || 1, looks = [{}, { colour: 1, dash: "6 3" }];
    panel.axes({
      x: [29, end * 1.1], y: every.length ? [low - room, high + room] : [0, 1], xlog: true,
      xticks: places, title: view, ylabel: "nats a byte",
      xlabel: view === "by position" ? "position" : "bytes read",
      legend: [{ name: encoding, ...looks[0] }, { name: beside, ...looks[1] }],
    }).upright(trained);
    [own, other].forEach(({ at, mean, margin }, n) => {
      const ends = mean.flatMap((one, i) => [one - margin[i], one + margin[i], NaN]);
      panel.line(at.flatMap((one) => [one, one, NaN]), ends, { ...looks[n], dash: "none", width: 5,
        fade: 0.4 }).line(at, mean, looks[n]).dots(at, mean, { ...looks[n], size: 3.5 });
    });
  },

  sentence({ own, other }, { encoding, beside }) {
    const told = [[encoding, own], [beside, other]].map(([name, { mean, margin, seeds }]) => {
      const last = mean.length - 1;
      if (last < 0) return `${name} has no results here`;
      const spread = margin[last] === null ? "one seed"
        : `± ${fixed(margin[last], 3)}, ${seeds[last]} seeds`;
      return `${name} ${fixed(mean[last], 3)} (${spread})`;
    });
    return `At the right end: ${told.join("; ")}.`;
  },

  words({ own, other }, { encoding, beside, view, doublings }) {
    const story = [[encoding, own], [beside, other]].map(([name, { at, mean }]) => {
      if (!at.length) return `${name} has no results here`;
      const last = at.length - 1;
      return `${name} goes from ${fixed(mean[0], 2)} at ${fixed(at[0], 0, 1)} to `
        + `${fixed(mean[last], 2)} at ${fixed(at[last], 0, 1)}`;
    });
    return `View “${view}”, up to ${fixed(SPEC.data.trained * 2 ** doublings, 0)} bytes on a `
      + "logarithmic axis, with a grey line at the trained length of "
      + `${SPEC.data.trained}. Means over seeds, with bars for their 95 % intervals: `
      + `${story.join("; ")}.`;
  },
};
