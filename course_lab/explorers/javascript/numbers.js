// What drawing.js needs: numbers as text, ticks between them, and colours for them.

const compactFormat = new Intl.NumberFormat("en-US", { notation: "compact" });
const decimalFormats = new Map(); // by decimals: making one is slow

// A number for a tick: 0.25, −3, 12,000, 10M.
function short(value) {
  if (Math.abs(value) < 1e5) return fixed(value, 0, 4);
  return compactFormat.format(value).replace("-", "−");
}

// A number with so many decimals: −0.50, 62,832.0; or with up to maxDecimals, if that is more.
function fixed(value, decimals, maxDecimals = decimals) {
  const key = `${decimals} ${maxDecimals}`;
  if (!decimalFormats.has(key)) {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: maxDecimals };
    decimalFormats.set(key, new Intl.NumberFormat("en-US", digits));
  }
  const roundsToZero = Math.abs(value) < 0.5 * 10 ** -maxDecimals; // no −0.00
  return decimalFormats.get(key).format(roundsToZero ? 0 : value).replace("-", "−");
}

// Round numbers between two, about `count` of them; powers of ten on a logarithmic axis.
function ticks([from, to], log, count) {
  const low = Math.min(from, to);
  const high = Math.max(from, to);
  return log ? logarithmicTicks(low, high, count) : linearTicks(low, high, count);
}

function logarithmicTicks(low, high, count) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / count));
  const values = [];
  for (let power = first; power <= last; power += step) values.push(10 ** power);
  return values;
}

function linearTicks(low, high, count) {
  const roughStep = (high - low) / count;
  const unit = 10 ** Math.floor(Math.log10(roughStep));
  const step = unit * [1, 2, 5, 10].find((times) => times * unit >= 0.999 * roughStep);
  const values = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) {
    values.push(Number((n * step).toPrecision(12)));
  }
  return values;
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
const HIDDEN = 256; // the place of the colour of hidden cells in a colour table

function rgbOfHex(hex) {
  return [0, 2, 4].map((place) => parseInt(hex.slice(place, place + 2), 16));
}

function pixelOfRgb([red, green, blue]) { // as a canvas keeps it, least byte first
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

function rgbOfPixel(pixel) {
  return [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255];
}

const colourTables = new Map();

// 256 pixels between anchors, and at place HIDDEN the one of hidden cells.
function colourTable(dark, signed) {
  const key = `${dark} ${signed}`;
  if (!colourTables.has(key)) {
    const map = MAPS[dark ? "dark" : "light"];
    const anchors = (signed ? map.signed : map.plain).map(rgbOfHex);
    const table = new Uint32Array(HIDDEN + 1);
    for (let i = 0; i < HIDDEN; i++) {
      const place = i / (HIDDEN - 1) * (anchors.length - 1);
      const left = Math.min(Math.floor(place), anchors.length - 2);
      const mixed = anchors[left].map((part, n) =>
        Math.round(part + (place - left) * (anchors[left + 1][n] - part)));
      table[i] = pixelOfRgb(mixed);
    }
    table[HIDDEN] = pixelOfRgb(rgbOfHex(map.hidden));
    colourTables.set(key, table);
  }
  return colourTables.get(key);
}
