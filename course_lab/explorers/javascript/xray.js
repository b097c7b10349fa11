// What RoPE's pairs do in every head of a real language model: its X-ray, one head's pairs, and
// the Fourier series of that head's mean query and mean key.

const BASE = 1e5;
const PAIRS = 32;
const FARTHEST = 512; // tokens, as many as the X-rayed texts have
const FULL_COLOUR = 0.2; // the share of the variance that has full colour
const ORANGE = [222, 110, 0];
const BLUE = [0, 92, 170];

let arrays; // the columns of the table, unpacked

function unpacked(data) { // 16-bit integers in base64
  arrays ??= Object.fromEntries(Object.entries(data.steps).map(([name, steps]) => {
    const bytes = Uint8Array.from(atob(data[name]), (character) => character.charCodeAt(0));
    return [name, Float64Array.from(new Int16Array(bytes.buffer), (value) => value / steps)];
  }));
  return arrays;
}

// How much ink a share of the variance gets, from 0 to 1.
function strengthOf(share) {
  return Math.min(1, share / FULL_COLOUR) ** 0.7;
}

const xrays = new Map(); // dark or not → the X-ray as pixels

// The mix of orange and blue says which part is larger, the strength how large both are together.
function xrayPixels({ position, content }, dark) {
  if (xrays.has(dark)) return xrays.get(dark);
  const ground = dark ? 24 : 255;
  const brightness = dark ? 1.4 : 1;
  const pixels = Uint32Array.from(position, (share, i) => {
    const byDistance = Math.max(0, share);
    const rest = Math.max(0, content[i]);
    const both = byDistance + rest;
    const strength = strengthOf(both);
    const part = byDistance / (both || 1);
    return pixelOfRgb([0, 1, 2].map((n) => {
      const ink = Math.min(255, brightness * (part * ORANGE[n] + (1 - part) * BLUE[n]));
      return Math.round(ground + strength * (ink - ground));
    }));
  });
  xrays.set(dark, pixels);
  return pixels;
}

// Re(z·exp(iΔθ)) summed over these pairs, by distance Δ, less its mean: softmax ignores that.
function scoresByDistance(real, imaginary, first, last) {
  const sums = Float64Array.from({ length: FARTHEST + 1 }, (_, distance) => {
    let sum = 0;
    for (let m = first; m <= last; m++) {
      const angle = distance * BASE ** (-m / PAIRS);
      sum += real[m] * Math.cos(angle) - imaginary[m] * Math.sin(angle);
    }
    return sum;
  });
  const mean = sums.reduce((total, sum) => total + sum, 0) / sums.length;
  return sums.map((sum) => sum - mean);
}

// The row of a head that has a name, such as "rests on the first token: 18.8"; -1 for others.
function placeOfKnown(known) {
  const [layer, head] = (known.match(/(\d+)\.(\d+)$/) ?? []).slice(1).map(Number);
  return SPEC.data.layer.findIndex((l, n) => l === layer && SPEC.data.head[n] === head);
}

// Colours and their strengths, as entries of a legend.
const KEY = [
  { name: "distance", colour: 1, width: 9 },
  { name: "the rest", width: 9 },
  ...[0.02, 0.05, FULL_COLOUR].map((share) => ({
    name: `${fixed(100 * share, 0)} %`, colour: "ink", width: 9, fade: strengthOf(share),
  })),
];

const EXPLORER = {
  columns: [1.1, 1.1, 1.1],
  minWidth: 240,
  height: () => 400,
  limits: ({ first }) => ({ last: [first, PAIRS - 1] }),
  drag: {
    panel: 0,
    change([, y]) {
      return { place: Math.min(SPEC.data.layer.length - 1, Math.max(0, Math.round(y))) };
    },
  },

  initialise(state, start) {
    if (start.known && start.place === undefined) this.follow(state, "known");
  },

  follow(state, name) {
    if (name === "known" && placeOfKnown(state.known) >= 0) state.place = placeOfKnown(state.known);
    if (name === "place") state.known = SPEC.data.by_place;
  },

  compute({ place, first, last }, data) {
    const columns = unpacked(data);
    const ofHead = (name) => columns[name].slice(PAIRS * place, PAIRS * (place + 1));
    const real = ofHead("real");
    const imaginary = ofHead("imaginary");
    const kept = scoresByDistance(real, imaginary, first, last);
    const highest = Math.max(...kept);
    return {
      position: ofHead("position"),
      content: ofHead("content"),
      kept,
      whole: scoresByDistance(real, imaginary, 0, PAIRS - 1),
      peak: kept.findIndex((score) => score > highest - 1e-9),
    };
  },

  draw([left, middle, right], numbers, { place, first, last }) {
    const { position, content, kept, whole } = numbers;
    const heads = SPEC.data.layer.length;
    left.axes({
      x: [-0.5, PAIRS - 0.5], y: [heads - 0.5, -0.5], title: "all heads (click one)",
      xlabel: "pair, fast to slow", ylabel: "head, by place", legend: KEY,
    }).pixels(xrayPixels(arrays, left.dark), PAIRS).across(place, { colour: "ink", width: 1.5 });

    const pairs = Array.from(position, (_, m) => m);
    const byDistance = position.map((share) => Math.max(0, share));
    const both = byDistance.map((share, m) => share + Math.max(0, content[m]));
    middle.axes({
      x: [-0.7, PAIRS - 0.3], y: [0, 1.1 * Math.max(...both)], title: "its pairs",
      xlabel: "pair, fast to slow", ylabel: "share of the variance",
      legend: [{ name: "distance", colour: 1 }, { name: "the rest" }],
    }).bars(pairs, both).bars(pairs, byDistance, { colour: 1 });
    for (const edge of [first - 0.5, last + 0.5]) middle.upright(edge, { dash: "3 3" });

    const distances = Array.from(kept, (_, n) => n);
    const low = Math.min(...kept, ...whole);
    const high = Math.max(...kept, ...whole);
    const room = 0.05 * (high - low) + 1e-3;
    const dashed = { colour: "grey", dash: "5 3" };
    right.axes({
      x: [0, FARTHEST], y: [low - room, high + room], title: "mean query · mean key",
      xlabel: "distance (tokens)", ylabel: "score, less its mean",
      legend: [{ name: "all pairs", ...dashed }, { name: "kept", colour: 3 }],
    }).line(distances, whole, dashed).line(distances, kept, { colour: 3, width: 2 });
  },

  sentence({ peak }, { place, first, last }) {
    const { layer, head, explained, first: firstToken, previous } = SPEC.data;
    const percent = (share) => `${fixed(100 * share, 0)} %`;
    return `Layer ${layer[place]}, head ${head[place]}: distance alone explains `
      + `${percent(explained[place])} of how its scores vary. It gives ${percent(previous[place])} `
      + `of its attention to the token before, ${percent(firstToken[place])} to the first of the `
      + `text. With pairs ${first} to ${last}, its mean query and key like distance ${peak} best.`;
  },

  description({ position, content, kept }, { place, first, last }) {
    const both = Array.from(position, (share, m) => share + content[m]);
    const largest = both.indexOf(Math.max(...both));
    const change = kept[FARTHEST] - kept[0];
    return `Left: a picture of ${SPEC.data.layer.length} rows, one a head, and ${PAIRS} columns, `
      + "one a pair. Orange, what distance explains, fills the fast pairs of the upper rows; blue, "
      + `the rest, the slow pairs of the lower ones. A line marks row ${place}. Middle: bars of `
      + `this head's pairs; pair ${largest} brings most, ${fixed(100 * both[largest], 0)} %. `
      + `Right: the score of its mean query and key from pairs ${first} to ${last}; from distance `
      + `0 to ${FARTHEST} it ${change < 0 ? "falls" : "rises"} by ${fixed(Math.abs(change), 1)}.`;
  },
};
