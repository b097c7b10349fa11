// T5's buckets of offsets.

const FARTHEST = 200; // positions on either side of the query
const TOKENS = 40; // of the matrix

// The bucket of the offset j − i. In single precision where T5's code is, since rounding decides
// where the true value is a whole number.
function bucketOf(offset, n_buckets, max_distance, both) {
  const perSide = both ? n_buckets / 2 : n_buckets;
  const exact = Math.floor(perSide / 2);
  const distance = both ? Math.abs(offset) : Math.max(0, -offset);
  const single = Math.fround;
  let bucket = distance;
  if (distance >= exact) {
    const scale = single(Math.log(max_distance / exact));
    const ratio = single(single(Math.log(single(distance / exact))) / scale);
    bucket = Math.min(exact + Math.trunc(single(ratio * (perSide - exact))), perSide - 1);
  }
  return both && offset > 0 ? bucket + perSide : bucket;
}

const EXPLORER = {
  columns: [1.5, 1],
  minWidth: 280,
  height: () => 310,
  limits({ n_buckets, direction }) { // max_distance is more than the distances with a bucket each
    const perSide = direction === "both" ? n_buckets / 2 : n_buckets;
    return { max_distance: [Math.floor(perSide / 2) + 1, Infinity] };
  },

  compute({ n_buckets, max_distance, direction }) {
    const bucket = (offset) => bucketOf(offset, n_buckets, max_distance, direction === "both");
    const buckets = Array.from({ length: 2 * FARTHEST + 1 }, (_, n) => bucket(n - FARTHEST));
    const byDistance = buckets.slice(0, FARTHEST + 1).reverse(); // of earlier keys
    const matrix = new Float64Array(TOKENS * TOKENS).map((_, cell) =>
      bucket(cell % TOKENS - Math.floor(cell / TOKENS)));
    const sizes = new Map();
    for (const number of byDistance) sizes.set(number, (sizes.get(number) ?? 0) + 1);
    return {
      buckets,
      matrix,
      last: byDistance.indexOf(Math.max(...byDistance)),
      used: new Set(buckets).size,
      alone: [...sizes.values()].filter((size) => size === 1).length,
    };
  },

  draw([left, right], { buckets, matrix }, { n_buckets }) {
    const offsets = buckets.map((_, n) => n - FARTHEST);
    const limit = n_buckets - 1;
    left.axes({
      x: [-FARTHEST, FARTHEST], y: [-1, n_buckets], title: "bucket of each offset",
      xlabel: "offset j − i (positions)", ylabel: "bucket",
    }).upright(0).line(offsets, buckets, { steps: true });
    right.axes({
      x: [-0.5, TOKENS - 0.5], y: [TOKENS - 0.5, -0.5], equal: true, bar: { limit },
      title: `buckets of ${TOKENS} tokens`, xlabel: "key", ylabel: "query",
    }).matrix(matrix, TOKENS, { limit });
  },

  sentence: ({ last, alone, used }, { n_buckets }) =>
    `Looking back, ${alone} distances have a bucket of their own; all from ${last} on share one. `
    + `Within ${FARTHEST} positions ${used} of ${n_buckets} buckets are used.`,

  description: ({ buckets, last }, { n_buckets, max_distance, direction }) =>
    `Left: the bucket of each offset from −${FARTHEST} to ${FARTHEST}, ${n_buckets} buckets, `
    + `max_distance ${max_distance}, direction “${direction}”. Steps of one near offset 0 grow `
    + `wider with distance; from ${last} back the line is level at ${buckets[0]}. Later keys `
    + `${direction === "both" ? "climb a second stair above" : "are all in bucket 0"}. Right: `
    + `the same for ${TOKENS} queries and keys, one colour along each diagonal.`,
};
