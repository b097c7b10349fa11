// What drawing.js needs: numbers as text, ticks between them, and colours for them.

const shortNumbers = new Intl.NumberFormat("en-US", { notation: "compact" });
const numberFormats = new Map(); // by decimals: making one is slow

// A number for a tick: 0.25, −3, 12,000, 10M.
function short(value) {
  const small = Math.abs(value) < 1e5;
  return small ? fixed(value, 0, 4) : shortNumbers.format(value).replace("-", "−");
}

// A number with so many decimals: −0.50, 62,832.0; or with at most so many, if more are allowed.
function fixed(value, decimals, most = decimals) {
  const key = `${decimals} ${most}`;
  if (!numberFormats.has(key)) {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: most };
    numberFormats.set(key, new Intl.NumberFormat("en-US", digits));
  }
  const seen = Math.abs(value) < 0.5 * 10 ** -most ? 0 : value; // no −0.00
  return numberFormats.get(key).format(seen).replace("-", "−");
}

// Round numbers between two, about as many as asked for; powers of ten on a logarithmic axis.
function ticks([from, to], log, count) {
  const low = Math.min(from, to), high = Math.max(from, to), found = [];
  if (log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first) / count));
    for (let power = first; power <= last; power += every) found.push(10 ** power);
    return found;
  }
  const rough = (high - low) / count, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((times) => times * unit >= 0.999 * rough);
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) {
    found.push(Number((n * step).toPrecision(12)));
  }
  return found;
}

// Colours of the course's figures, RdBu_r and YlGnBu. In the dark, 0 is dark.
const MAPS = {
  light: {
    signed: `053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7
      fddbc7 f4a582 d6604d b2182b 67001f`.split(/\s+/),
    plain: "ffffd9 edf8b1 c7e9b4 7fcdbb 41b6c4 1d91c0 225ea8 253494 081d58".split(" "),
    hidden: "d5d8dc",
  },
  dark: {
    signed: `c6e5ff 86c5f4 4393c3 2a6391 234058 262a30
      583430 96443a d6604d f4977a ffd7c6`.split(/\s+/),
    plain: "1b2036 253494 225ea8 1d91c0 41b6c4 7fcdbb c7e9b4 edf8b1 ffffd9".split(" "),
    hidden: "4a4f57",
  },
};

function rgb(hex) {
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function packed([r, g, b]) { // one pixel as canvas keeps it, least byte first
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

function bytes(pixel) {
  return [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255];
}

const tables = new Map();

// 256 colours between anchors, and at place 256 the one of hidden cells.
function colourTable(dark, signed) {
  const key = `${dark} ${signed}`;
  if (!tables.has(key)) {
    const map = MAPS[dark ? "dark" : "light"], anchors = (signed ? map.signed : map.plain).map(rgb);
    const found = new Uint32Array(257);
    for (let i = 0; i < 256; i++) {
      const at = i / 255 * (anchors.length - 1), low = Math.min(Math.floor(at), anchors.length - 2);
      found[i] = packed(anchors[low].map((c, n) =>
        Math.round(c + (at - low) * (anchors[low + 1][n] - c))));
    }
    found[256] = packed(rgb(map.hidden));
    tables.set(key, found);
  }
  return tables.get(key);
}
