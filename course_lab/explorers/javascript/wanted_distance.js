// RoPE: scores by distance of a key equal to the query, and of one made for a distance.

const FARTHEST = 300; // positions earlier than the query
const NEAR = 10; // positions around the target distance that belong to its peak

const EXPLORER = {
  columns: [1],
  minWidth: 280,
  height: (width) => Math.min(320, 0.8 * width),

  compute({ distance: target, base, d_head }) {
    const speeds = Array.from({ length: d_head / 2 }, (_, m) => base ** (-2 * m / d_head));
    const score = (distance) =>
      speeds.reduce((sum, speed) => sum + Math.cos(distance * speed), 0) / speeds.length;
    const same = Array.from({ length: FARTHEST + 1 }, (_, distance) => score(distance));
    const tuned = same.map((_, distance) => same[Math.abs(distance - target)]); // cosine is even
    const elsewhere = tuned.filter((_, distance) => Math.abs(distance - target) > NEAR);
    return { same, tuned, best: tuned.indexOf(Math.max(...tuned)), second: Math.max(...elsewhere) };
  },

  draw([panel], { same, tuned }, { distance }) {
    const distances = same.map((_, place) => place);
    const dotted = { dash: "2 4", colour: "soft" };
    panel.axes({
      x: [0, FARTHEST], y: [-0.6, 1.1], title: "score by distance",
      xlabel: "distance to the key (positions)", ylabel: "score (at most 1)",
      legend: [{ name: "key equal to the query", ...dotted }, { name: "key made for a distance" }],
    }).across(0).upright(distance).line(distances, same, dotted).line(distances, tuned);
  },

  sentence: ({ tuned, best, second }) =>
    `The score is largest at distance ${best}. More than ${NEAR} positions away from there it `
    + `reaches ${fixed(second, 2)} at most; at distance ${FARTHEST} it is `
    + `${fixed(tuned[FARTHEST], 2)}.`,

  description: ({ same, best }, { distance, base, d_head }) =>
    `Two curves of the score against the distance, from 0 to ${FARTHEST}, for a head of width `
    + `${d_head} and base ${fixed(base, 0, 3)}. Dotted: a key equal to its query; it starts at 1 `
    + `and is ${fixed(same[FARTHEST], 2)} at the end. Solid: a key that was turned on by `
    + `${distance} positions, the same curve moved, with its peak at ${best}, where a grey line `
    + "stands.",
};
