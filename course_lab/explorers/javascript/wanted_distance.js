// RoPE: scores by distance of a key equal to the query, and of one made for a distance.

const FARTHEST = 300; // positions earlier than the query

const EXPLORER = {
  columns: [1],
  least: 280,
  height: (width) => Math.min(320, 0.8 * width),

  compute({ wanted, base, d_head }) {
    const theta = Array.from({ length: d_head / 2 }, (_, m) => base ** (-2 * m / d_head));
    const score = (distance) =>
      theta.reduce((sum, one) => sum + Math.cos(distance * one), 0) / theta.length;
    const same = Array.from({ length: FARTHEST + 1 }, (_, distance) => score(distance));
    const made = same.map((_, distance) => same[Math.abs(distance - wanted)]); // cosine is even
    const elsewhere = made.filter((_, distance) => Math.abs(distance - wanted) > 10);
    return { same, made, best: made.indexOf(Math.max(...made)), second: Math.max(...elsewhere) };
  },

  draw([panel], { same, made }, { wanted }) {
    const distances = same.map((_, distance) => distance), dotted = { dash: "2 4", colour: "soft" };
    panel.axes({
      x: [0, FARTHEST], y: [-0.6, 1.1], title: "score by distance",
      xlabel: "distance to the key (positions)", ylabel: "score (at most 1)",
      legend: [{ name: "key equal to the query", ...dotted }, { name: "key made for a distance" }],
    }).across(0).upright(wanted).line(distances, same, dotted).line(distances, made);
  },

  sentence: ({ made, best, second }) =>
    `The score is largest at distance ${best}. More than 10 positions away from there it reaches `
    + `${fixed(second, 2)} at most; at distance ${FARTHEST} it is ${fixed(made[FARTHEST], 2)}.`,

  words: ({ same, best }, { wanted, base, d_head }) =>
    `Two curves of the score against the distance, from 0 to ${FARTHEST}, for a head of width `
    + `${d_head} and base ${fixed(base, 0, 3)}. Dotted: a key equal to its query; it starts at 1 `
    + `and is ${fixed(same[FARTHEST], 2)} at the end. Solid: a key that was turned on by ${wanted} `
    + `positions, the same curve moved, with its peak at ${best}, where a grey line stands.`,
};
