// What RoPE's pairs do in every head of a real language model: its X-ray, one head's pairs, and
// the Fourier series of that head's mean query and mean key.

const BASE = 1e5, COUNT = 32, FARTHEST = 96, BRIGHT = 0.2; // BRIGHT: the share of full colour
const ORANGE = [222, 110, 0], BLUE = [0, 92, 170];

let known; // the arrays, unpacked

function unpacked(data) {
  known ??= Object.fromEntries(Object.entries(data.units).map(([name, units]) => {
    const bytes = Uint8Array.from(atob(data[name]), (c) => c.charCodeAt(0));
    return [name, Float64Array.from(new Int16Array(bytes.buffer), (one) => one / units)];
  }));
  return known;
}

const drawn = new Map(); // dark or not → the X-ray as pixels

// The mix of orange and blue says which part is larger, the strength how large both are together.
function pixels({ position, content }, dark) {
  if (!drawn.has(dark)) {
    const ground = dark ? 24 : 255;
    drawn.set(dark, Uint32Array.from(position, (one, i) => {
      const [where, what] = [Math.max(0, one), Math.max(0, content[i])], both = where + what;
      const strength = Math.min(1, both / BRIGHT) ** 0.7, part = where / (both || 1);
      return packed([0, 1, 2].map((n) => {
        const ink = part * ORANGE[n] + (1 - part) * BLUE[n];
        return Math.round(ground + strength * (Math.min(255, (dark ? 1.4 : 1) * ink) - ground));
      }));
    }));
  }
  return drawn.get(dark);
}

const EXPLORER = {
  columns: [1, 1.1, 1.1],
  least: 240,
  height: () => 300,
  limits: ({ first }) => ({ last: [first, COUNT - 1] }),
  drag: {
    panel: 0,
    to: ([, y]) => ({ place: Math.min(SPEC.data.layer.length - 1, Math.max(0, Math.round(y))) }),
  },

  compute({ place, first, last }, data) {
    const all = unpacked(data), from = COUNT * place;
    const [position, content, real, imaginary] =
      ["position", "content", "real", "imaginary"]
        .map((name) => all[name].slice(from, from + COUNT));
    // Re(z·exp(iΔθ)) for each pair, less the mean over distances: softmax takes no note of that.
    const series = (low, high) => {
      const sums = Float64Array.from({ length: FARTHEST + 1 }, (_, distance) => {
        let sum = 0;
        for (let m = low; m <= high; m++) {
          const angle = distance * BASE ** (-m / COUNT);
          sum += real[m] * Math.cos(angle) - imaginary[m] * Math.sin(angle);
        }
        return sum;
      });
      const mean = sums.reduce((sum, one) => sum + one, 0) / sums.length;
      return sums.map((one) => one - mean);
    };
    const kept = series(first, last), highest = Math.max(...kept);
    return {
      position, content, kept, whole: series(0, COUNT - 1),
      peak: kept.findIndex((one) => one > highest - 1e-9),
    };
  },

  draw([left, middle, right], found, { place, first, last }) {
    const { position, content, kept, whole } = found, count = SPEC.data.layer.length;
    left.axes({
      x: [-0.5, COUNT - 0.5], y: [count - 0.5, -0.5], title: "all heads (click one)",
      xlabel: "pair, fast to slow", ylabel: "head, by place",
    });
    left.image = { ...left.box, columns: COUNT, rows: count, pixels: pixels(known, left.dark) };
    left.across(place, { colour: "ink", width: 1.5 });
    const pairs = Array.from(position, (_, m) => m);
    const both = position.map((one, m) => Math.max(0, one) + Math.max(0, content[m]));
    middle.axes({
      x: [-0.7, COUNT - 0.3], y: [0, 1.1 * Math.max(...both)], title: "its pairs",
      xlabel: "pair, fast to slow", ylabel: "share of the variance",
      legend: [{ name: "distance", colour: 1 }, { name: "the rest" }],
    }).bars(pairs, both).bars(pairs, position.map((one) => Math.max(0, one)), { colour: 1 });
    for (const edge of [first - 0.5, last + 0.5]) middle.upright(edge, { dash: "3 3" });
    const distances = Array.from(kept, (_, n) => n), every = [...kept, ...whole];
    const low = Math.min(...every), high = Math.max(...every), room = 0.05 * (high - low) + 1e-3;
    right.axes({
      x: [0, FARTHEST], y: [low - room, high + room], title: "mean query · mean key",
      xlabel: "distance (tokens)", ylabel: "score, less its mean",
      legend: [{ name: "all pairs", colour: "grey", dash: "5 3" }, { name: "kept", colour: 3 }],
    }).line(distances, whole, { colour: "grey", dash: "5 3" })
      .line(distances, kept, { colour: 3, width: 2 });
  },

  sentence({ peak }, { place, first, last }) {
    const { layer, head, explained, first: start, previous } = SPEC.data;
    const percent = (share) => `${fixed(100 * share, 0)} %`;
    return `Layer ${layer[place]}, head ${head[place]}: distance alone explains `
      + `${percent(explained[place])} of how its scores vary. It gives ${percent(previous[place])} `
      + `of its attention to the token before, ${percent(start[place])} to the first of the text. `
      + `With pairs ${first} to ${last}, its mean query and key like distance ${peak} best.`;
  },

  words({ position, content, kept }, { place, first, last }) {
    const both = Array.from(position, (one, m) => one + content[m]);
    const most = both.indexOf(Math.max(...both)), far = kept[FARTHEST] - kept[0];
    return `Left: a picture of ${SPEC.data.layer.length} rows, one a head, and ${COUNT} columns, `
      + "one a pair. Orange, what distance explains, fills the fast pairs of the upper rows; blue, "
      + `the rest, the slow pairs of the lower ones. A line marks row ${place}. Middle: bars of `
      + `this head's pairs; pair ${most} brings most, ${fixed(100 * both[most], 0)} %. Right: the `
      + `score of its mean query and key from pairs ${first} to ${last}; from distance 0 to `
      + `${FARTHEST} it ${far < 0 ? "falls" : "rises"} by ${fixed(Math.abs(far), 1)}.`;
  },
};
