// RoPE's score by distance is a sum of waves, one cosine and one sine for each pair. So a wished
// profile has a best query and key: least squares over the distances of the context, with a price
// on the size of q·k in each pair.

const CONTEXT = 64; // positions within which a score is wished
const FARTHEST = 256; // positions up to which the score is drawn
const STEP = 4; // positions between two points to draw
const POINTS = CONTEXT / STEP + 1;
const HEADROOM = 1.1; // of an axis beyond the farthest value

const WISHES = {
  "12 back": (distance) => Number(distance === 12),
  "the nearest 16": (distance) => Number(distance <= 16),
  "a price on distance": (distance) => 1 - distance / CONTEXT,
  "8 or 40 back": (distance) => Number(distance === 8 || distance === 40),
  "every eighth": (distance) => Number(distance % 8 === 0),
};
const DRAWN = "my own";

// Cholesky: L of a symmetric positive matrix A = L·Lᵀ, both lower triangles.
function cholesky(A) {
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

// x with L·Lᵀ·x = right.
function solve(L, right) {
  const x = Float64Array.from(right);
  for (let i = 0; i < x.length; i++) {
    for (let n = 0; n < i; n++) x[i] -= L[i][n] * x[n];
    x[i] /= L[i][i];
  }
  for (let i = x.length - 1; i >= 0; i--) {
    for (let n = i + 1; n < x.length; n++) x[i] -= L[n][i] * x[n];
    x[i] /= L[i][i];
  }
  return x;
}

let lastHead = {}; // its waves and triangle, which stay while the wish is drawn

// The waves of a head by distance, cosines before sines, and the triangle of its least squares.
function leastSquaresOf(base, d_head, price) {
  const key = [base, d_head, price].join(" ");
  if (lastHead.key === key) return lastHead;
  const speeds = Array.from({ length: d_head / 2 }, (_, m) => base ** (-2 * m / d_head));
  const waves = Array.from({ length: FARTHEST + 1 }, (_, distance) => Float64Array.from([
    ...speeds.map((speed) => Math.cos(distance * speed)),
    ...speeds.map((speed) => Math.sin(distance * speed)),
  ]));
  const A = Array.from({ length: d_head }, () => new Float64Array(d_head));
  A.forEach((row, i) => { row[i] = price; });
  for (const wave of waves.slice(0, CONTEXT + 1)) {
    for (let i = 0; i < d_head; i++) for (let j = 0; j <= i; j++) A[i][j] += wave[i] * wave[j];
  }
  lastHead = { key, waves, L: cholesky(A) };
  return lastHead;
}

// The wished score at each distance: straight lines between the points.
function wishOf(heights) {
  return Array.from({ length: CONTEXT + 1 }, (_, distance) => {
    const left = Math.min(Math.floor(distance / STEP), POINTS - 2);
    const part = distance / STEP - left;
    return (1 - part) * heights[left] + part * heights[left + 1];
  });
}

// A query and a key, pairs side by side, whose products have these cosines and sines.
function vectorsOf(cosines, sines, sizes) {
  const q = new Float64Array(2 * sizes.length);
  const k = new Float64Array(2 * sizes.length);
  sizes.forEach((size, m) => {
    q[2 * m] = Math.sqrt(size);
    k[2 * m] = cosines[m] / q[2 * m] || 0;
    k[2 * m + 1] = sines[m] / q[2 * m] || 0;
  });
  return { q, k };
}

const EXPLORER = {
  columns: [1.3, 1.1, 0.9],
  minWidth: 240,
  height: () => 290,

  initialise(state, start) {
    state.heights ??= Array.from({ length: POINTS }, (_, n) => WISHES[state.wish]?.(STEP * n) ?? 0);
    const drawn = start.height !== undefined && start.heights === undefined;
    this.follow(state, drawn ? "height" : "distance");
  },

  linked: {
    heights: (value) => Array.isArray(value) && value.length === POINTS
      && value.every((height) => Math.abs(height) <= 1),
  },

  follow(state, name) {
    const chosen = state.distance / STEP;
    if (name === "height") {
      state.heights = state.heights.map((height, n) => (n === chosen ? state.height : height));
      state.wish = DRAWN;
    }
    if (name === "wish" && state.wish !== DRAWN) {
      state.heights = state.heights.map((_, n) => WISHES[state.wish](STEP * n));
    }
    state.height = state.heights[chosen];
  },

  drag: {
    panel: 0,
    change([x, y]) {
      return {
        distance: STEP * Math.min(POINTS - 1, Math.max(0, Math.round(x / STEP))),
        height: Math.round(20 * Math.min(1, Math.max(-1, y))) / 20,
      };
    },
  },

  compute({ heights, base, d_head, price }) {
    const wish = wishOf(heights);
    const { waves, L } = leastSquaresOf(base, d_head, price);
    const right = new Float64Array(d_head);
    wish.forEach((height, distance) =>
      waves[distance].forEach((wave, n) => { right[n] += wave * height; }));
    const amplitudes = solve(L, right);
    const cosines = amplitudes.slice(0, d_head / 2);
    const sines = amplitudes.slice(d_head / 2);
    const sizes = Array.from(cosines, (cosine, m) => Math.hypot(cosine, sines[m]));
    const score = waves.map((row) => row.reduce((sum, wave, n) => sum + wave * amplitudes[n], 0));
    const misses = wish.map((height, distance) => Math.abs(score[distance] - height));
    const { q, k } = vectorsOf(cosines, sines, sizes);
    return { wish, score, sizes, q, k, miss: Math.max(...misses) };
  },

  draw([left, middle, right], { wish, score, sizes }, { heights, distance }) {
    const near = wish.map((_, n) => n);
    const all = score.map((_, n) => n);
    const wished = { colour: 1, dash: "5 3" };
    const largest = Math.max(...sizes, 0.01);
    const points = heights.map((_, n) => STEP * n);
    left.axes({
      x: [-1, CONTEXT + 1], y: [-1.15, 1.3], title: "draw here", xlabel: "distance (positions)",
      ylabel: "score", legend: [{ name: "wished", ...wished }, { name: "q·k, turned" }],
    }).across(0).line(near, wish, wished).line(near, score.slice(0, CONTEXT + 1), { width: 2 })
      .dots(points, heights, { colour: 1, size: 3.5 })
      .dots([distance], [heights[distance / STEP]], { colour: 1, size: 7, hollow: true });
    const low = Math.min(-1.15, HEADROOM * Math.min(...score));
    const high = Math.max(1.3, HEADROOM * Math.max(...score));
    middle.axes({
      x: [0, FARTHEST], y: [low, high], title: `past ${CONTEXT}`, xlabel: "distance (positions)",
      xticks: [0, CONTEXT, 2 * CONTEXT, 3 * CONTEXT, FARTHEST],
    }).across(0).upright(CONTEXT).line(near, wish, wished).line(all, score, { width: 1.5 });
    right.axes({
      x: [-0.7, sizes.length - 0.3], y: [0, 1.1 * largest], title: "size in each pair",
      xlabel: "pair, fast to slow", ylabel: "|q|·|k|",
    }).bars(sizes.map((_, m) => m), sizes);
  },

  sentence({ wish, score, miss }) {
    const beyond = score.slice(CONTEXT + 1);
    const highest = Math.max(...beyond);
    const place = CONTEXT + 1 + beyond.indexOf(highest);
    const squares = wish.reduce((sum, height, n) => sum + (score[n] - height) ** 2, 0);
    const root = Math.sqrt(squares / wish.length);
    const near = score.slice(0, CONTEXT + 1);
    const peak = Math.max(...near);
    return `Up to distance ${CONTEXT} the score is highest at ${near.indexOf(peak)}, with `
      + `${fixed(peak, 2)}. It misses the wish by ${fixed(root, 2)} (root mean square), at most by `
      + `${fixed(miss, 2)}. Farther away, where nothing was wished, it reaches `
      + `${fixed(highest, 2)} at distance ${place}.`;
  },

  description({ score, sizes, miss }, { wish, distance, height, d_head, base }) {
    const largest = sizes.indexOf(Math.max(...sizes));
    const peak = Math.max(...score.slice(0, CONTEXT + 1));
    return `Left: the wished score at distances 0 to ${CONTEXT}, “${wish}”, dashed, with a point `
      + `to draw at every ${STEP}; the one at ${distance} is chosen and is at ${fixed(height, 2)}. `
      + `Solid: the score of the best query and key of width ${d_head} at base ${short(base)}, `
      + `highest at ${score.indexOf(peak)} with ${fixed(peak, 2)}, and off by at most `
      + `${fixed(miss, 2)}. Middle: the same score up to ${FARTHEST}; nothing was wished past `
      + "the grey line. Right: bars of the size of q times that of k in each pair; "
      + `pair ${largest} has the largest.`;
  },
};
