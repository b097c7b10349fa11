// RoPE's score by distance is a sum of waves, one cosine and one sine for each pair. So a wished
// profile has a best query and key: least squares over the distances of the context, with a price
// on the size of q·k in each pair.

const CONTEXT = 64, FARTHEST = 256, STEP = 4; // positions; STEP between two points to draw
const COUNT = CONTEXT / STEP + 1;

const WISHES = {
  "12 back": (distance) => Number(distance === 12),
  "the nearest 16": (distance) => Number(distance <= 16),
  "a price on distance": (distance) => 1 - distance / CONTEXT,
  "8 or 40 back": (distance) => Number(distance === 8 || distance === 40),
  "every eighth": (distance) => Number(distance % 8 === 0),
};
const OWN = "my own";

// L of a symmetric positive matrix A = L·Lᵀ (Cholesky), both lower triangles.
function triangle(A) {
  const L = A.map((row) => new Float64Array(row.length));
  for (let i = 0; i < A.length; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = A[i][j];
      for (let n = 0; n < j; n++) sum -= L[i][n] * L[j][n];
      L[i][j] = i === j ? Math.sqrt(sum) : sum / L[j][j];
    }
  }
  return L;
}

function solved(L, right) {
  const x = Float64Array.from(right), size = x.length;
  for (let i = 0; i < size; i++) {
    for (let n = 0; n < i; n++) x[i] -= L[i][n] * x[n];
    x[i] /= L[i][i];
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let n = i + 1; n < size; n++) x[i] -= L[n][i] * x[n];
    x[i] /= L[i][i];
  }
  return x;
}

let known = {}; // the waves of the last head, which stay while the wish is drawn

function wavesOf(base, d_head, price) {
  const key = [base, d_head, price].join(" ");
  if (known.key === key) return known;
  const theta = Array.from({ length: d_head / 2 }, (_, m) => base ** (-2 * m / d_head));
  const waves = Array.from({ length: FARTHEST + 1 }, (_, distance) => Float64Array.from([
    ...theta.map((one) => Math.cos(distance * one)),
    ...theta.map((one) => Math.sin(distance * one)),
  ]));
  const A = Array.from({ length: d_head }, () => new Float64Array(d_head));
  A.forEach((row, i) => { row[i] = price; });
  for (const wave of waves.slice(0, CONTEXT + 1)) {
    for (let i = 0; i < d_head; i++) for (let j = 0; j <= i; j++) A[i][j] += wave[i] * wave[j];
  }
  known = { key, waves, L: triangle(A) };
  return known;
}

const EXPLORER = {
  columns: [1.3, 1.1, 0.9],
  least: 240,
  height: () => 290,

  start(state, given) {
    state.heights ??= Array.from({ length: COUNT }, (_, n) => WISHES[state.wish]?.(STEP * n) ?? 0);
    this.changed(state, given.height === undefined ? "distance" : "height");
  },

  changed(state, name) {
    const chosen = state.distance / STEP;
    if (name === "height") {
      state.heights = state.heights.map((one, n) => (n === chosen ? state.height : one));
      state.wish = OWN;
    }
    if (name === "wish" && state.wish !== OWN) {
      state.heights = state.heights.map((_, n) => WISHES[state.wish](STEP * n));
    }
    state.height = state.heights[chosen];
  },

  drag: {
    panel: 0,
    to: ([x, y]) => ({
      distance: STEP * Math.min(COUNT - 1, Math.max(0, Math.round(x / STEP))),
      height: Math.round(20 * Math.min(1, Math.max(-1, y))) / 20,
    }),
  },

  compute({ heights, base, d_head, price }) {
    const wish = Array.from({ length: CONTEXT + 1 }, (_, distance) => {
      const n = Math.min(Math.floor(distance / STEP), COUNT - 2), part = distance / STEP - n;
      return (1 - part) * heights[n] + part * heights[n + 1];
    });
    const { waves, L } = wavesOf(base, d_head, price), pairs = d_head / 2;
    const right = new Float64Array(d_head);
    wish.forEach((one, distance) =>
      waves[distance].forEach((wave, n) => { right[n] += wave * one; }));
    const share = solved(L, right); // of each cosine, then of each sine
    const score = waves.map((row) => row.reduce((sum, wave, n) => sum + wave * share[n], 0));
    const sizes = Array.from({ length: pairs }, (_, m) => Math.hypot(share[m], share[m + pairs]));
    const q = new Float64Array(d_head), k = new Float64Array(d_head); // pairs side by side
    sizes.forEach((size, m) => {
      q[2 * m] = Math.sqrt(size);
      k[2 * m] = share[m] / q[2 * m] || 0;
      k[2 * m + 1] = share[m + pairs] / q[2 * m] || 0;
    });
    const misses = wish.map((one, distance) => Math.abs(score[distance] - one));
    return { wish, score, sizes, q, k, miss: Math.max(...misses) };
  },

  draw([left, middle, right], { wish, score, sizes }, { heights, distance }) {
    const near = wish.map((_, n) => n), all = score.map((_, n) => n);
    const wished = { colour: 1, dash: "5 3" }, largest = Math.max(...sizes, 0.01);
    const points = heights.map((_, n) => STEP * n);
    left.axes({
      x: [-1, CONTEXT + 1], y: [-1.15, 1.3], title: "draw here", xlabel: "distance (positions)",
      ylabel: "score", legend: [{ name: "wished", ...wished }, { name: "q·k, turned" }],
    }).across(0).line(near, wish, wished).line(near, score.slice(0, CONTEXT + 1), { width: 2 })
      .dots(points, heights, { colour: 1, size: 3.5 })
      .dots([distance], [heights[distance / STEP]], { colour: 1, size: 7, hollow: true });
    const low = Math.min(-1.15, ...score), high = Math.max(1.3, ...score);
    middle.axes({
      x: [0, FARTHEST], y: [low, high], title: "past the context", xlabel: "distance (positions)",
    }).across(0).upright(CONTEXT).line(near, wish, wished).line(all, score, { width: 1.5 });
    right.axes({
      x: [-0.7, sizes.length - 0.3], y: [0, 1.1 * largest], title: "size in each pair",
      xlabel: "pair, fast to slow", ylabel: "|q|·|k|",
    }).bars(sizes.map((_, m) => m), sizes);
  },

  sentence({ wish, score, miss }) {
    const beyond = score.slice(CONTEXT + 1), highest = Math.max(...beyond);
    const squares = wish.reduce((sum, one, n) => sum + (score[n] - one) ** 2, 0);
    const root = Math.sqrt(squares / wish.length), place = CONTEXT + 1 + beyond.indexOf(highest);
    return `Up to distance ${CONTEXT} the score misses the wish by ${fixed(root, 2)} (root mean `
      + `square), at most by ${fixed(miss, 2)}. Farther away, where nothing was wished, it reaches `
      + `${fixed(highest, 2)} at distance ${place}.`;
  },

  words({ score, sizes, miss }, { wish, distance, height, d_head, base }) {
    const best = sizes.indexOf(Math.max(...sizes)), peak = Math.max(...score.slice(0, CONTEXT + 1));
    return `Left: the wished score at distances 0 to ${CONTEXT}, “${wish}”, dashed, with a point `
      + `to draw at every ${STEP}; the one at ${distance} is chosen and is at ${fixed(height, 2)}. `
      + `Solid: the score of the best query and key of width ${d_head} at base ${short(base)}, `
      + `highest at ${score.indexOf(peak)} with ${fixed(peak, 2)}, and off by at most `
      + `${fixed(miss, 2)}. Middle: the same score up to ${FARTHEST}; nothing was wished past `
      + "the grey line. Right: bars of the size of q times that of k in each pair; "
      + `pair ${best} has the largest.`;
  },
};
