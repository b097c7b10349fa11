// Drawing: pictures as strings of SVG and, for matrices, pixels. Nothing here touches a page, so
// tests can look at what it makes; shell.js puts it on one. Colours are CSS variables of shell.js.

function scaled([low, high], size, log, value) {
  const f = log ? Math.log10 : Number;
  return size * (f(value) - f(low)) / (f(high) - f(low));
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

const wide = (text) => 6.3 * String(text).length; // pixels, about, of a tick's label

function stroke({ colour = 0, width = 1.8, dash = "none", fade = 1 } = {}) {
  return `style="fill:none;stroke:var(--om-${colour});stroke-width:${width};`
    + `stroke-dasharray:${dash};stroke-opacity:${fade}"`;
}

const MARKS = { // around 0, 0
  dot: (s) => `M${-s},0a${s},${s} 0 1,0 ${2 * s},0a${s},${s} 0 1,0 ${-2 * s},0z`,
  cross: (s) => `M${-s},${-s}L${s},${s}M${-s},${s}L${s},${-s}`,
  square: (s) => `M${-s},${-s}H${s}V${s}H${-s}z`,
};

const BAR = 32; // colours of a colour bar

// One pair of axes with what is drawn in it. First axes(), then the rest in any order.
class Panel {
  constructor(width, height, dark = false) {
    Object.assign(this, { width, height, dark, image: null, around: [], inside: [] });
  }

  // x, y: [first, last]. Ticks may be given, as numbers or as [number, label]. equal: a unit is as
  // long upwards as across. upright: labels of x stand. legend: [{name, colour, dash}].
  // bar: {signed, limit, unit}, the colours of a matrix.
  axes({ x, y, title = "", xlabel = "", ylabel = "", xlog = false, ylog = false, xticks, yticks,
    equal = false, upright = false, legend = [], bar = null }) {
    const label = (all) => all.map((one) => (Array.isArray(one) ? one : [one, short(one)]));
    const widest = (all) => Math.max(0, ...all.map(([, text]) => wide(text)));
    const rows = legendRows(legend, this.width - 30);
    const down = label(yticks ?? ticks(y, ylog, Math.max(2, this.height / 50)));
    const left = 12 + (ylabel ? 15 : 0) + widest(down), right = bar ? 62 : 12;
    const count = Math.max(2, (this.width - left - right) / 55);
    const across = label(xticks ?? ticks(x, xlog, count));
    const top = (title ? 24 : 8) + 16 * rows.length;
    const bottom = 8 + (xlabel ? 15 : 0) + (upright ? widest(across) + 6 : 16);
    let w = this.width - left - right, h = this.height - top - bottom;
    let from = left;
    if (equal) {
      const unit = Math.min(w / Math.abs(x[1] - x[0]), h / Math.abs(y[1] - y[0]));
      from += (w - unit * Math.abs(x[1] - x[0])) / 2;
      [w, h] = [unit * Math.abs(x[1] - x[0]), unit * Math.abs(y[1] - y[0])];
    }
    [from, w, h] = [from, w, h].map(Math.round);
    const box = { left: from, top: Math.round(top), w, h };
    Object.assign(this, { box, xs: x, ys: y, xlog, ylog });
    this.frame(across, down, upright);
    const middle = box.left + box.w / 2, base = box.top + box.h;
    if (title) this.write(middle, 15, title, "om-title");
    if (xlabel) this.write(middle, base + bottom - 6, xlabel);
    if (ylabel) {
      const at = box.left - widest(down) - 13, half = box.top + box.h / 2;
      this.standing(at, half, ylabel);
    }
    rows.forEach((row, n) => this.legendRow(row, (title ? 24 : 8) + 16 * n + 6));
    if (bar) this.colourBar(bar);
    return this;
  }

  frame(across, down, upright) {
    const { left, top, w, h } = this.box, base = top + h;
    this.around.push(`<path class="om-frame" d="M${left},${top}V${base}H${left + w}"/>`);
    for (const [value, text] of across) {
      const at = (left + this.px(value)).toFixed(1);
      this.around.push(`<path class="om-frame" d="M${at},${base}v4"/>`);
      const turned = upright ? ` transform="rotate(-90 ${at} ${base + 8})" class="om-end"` : "";
      this.around.push(`<text x="${at}" y="${base + (upright ? 8 : 16)}"`
        + `${turned || ' class="om-tick"'}${upright ? ' dy="4"' : ""}>${escaped(text)}</text>`);
    }
    for (const [value, text] of down) {
      const at = (top + this.py(value)).toFixed(1);
      this.around.push(`<path class="om-frame" d="M${left},${at}h-4"/>`
        + `<text x="${left - 6}" y="${at}" dy="4" class="om-end">${escaped(text)}</text>`);
    }
  }

  legendRow(row, y) {
    let x = Math.max(4, (this.width - row.reduce((sum, one) => sum + one.room, 0)) / 2);
    for (const one of row) {
      const path = one.mark ? MARKS[one.mark](3.5) : "M-11,0h22";
      const mark = `<path transform="translate(${x + 11},${y})" d="${path}"`;
      this.around.push(`${mark} ${stroke(one)}/><text x="${x + 27}" y="${y + 4}" class="om-start">`
        + `${escaped(one.name)}</text>`);
      x += one.room;
    }
  }

  colourBar({ signed = false, limit = 1, unit = "" }) {
    const { left, top, w, h } = this.box, x = left + w + 8;
    const names = signed ? [-limit, 0, limit] : [0, limit];
    const colours = colourTable(this.dark, signed), step = h / BAR;
    for (let n = 0; n < BAR; n++) {
      const [red, green, blue] = bytes(colours[Math.round(n / (BAR - 1) * 255)]);
      this.around.push(`<path fill="rgb(${red},${green},${blue})" d="M${x},`
        + `${(top + h - n * step).toFixed(1)}h9v${(-step - 0.5).toFixed(1)}h-9z"/>`);
    }
    names.forEach((value, n) => {
      const up = n / (names.length - 1);
      this.write(x + 12, top + h * (1 - up) + 2 + 4 * up, short(value), "om-start");
    });
    if (unit) this.standing(x + 46, top + h / 2, unit);
  }

  px(value) { return scaled(this.xs, this.box.w, this.xlog, value); }

  py(value) { return this.box.h - scaled(this.ys, this.box.h, this.ylog, value); }

  // The values of x and y at a place in pixels of this panel; linear axes only.
  at(left, top) {
    const { box, xs, ys } = this, up = 1 - (top - box.top) / box.h;
    return [xs[0] + (left - box.left) / box.w * (xs[1] - xs[0]), ys[0] + up * (ys[1] - ys[0])];
  }

  write(x, y, text, kind = "om-label") {
    const at = `x="${x.toFixed(1)}" y="${y.toFixed(1)}"`;
    this.around.push(`<text ${at} class="${kind}">${escaped(text)}</text>`);
  }

  standing(x, y, text) {
    const at = `transform="translate(${x.toFixed(1)},${y.toFixed(1)})rotate(-90)"`;
    this.around.push(`<text ${at} class="om-label">${escaped(text)}</text>`);
  }

  // A curve; NaN lifts the pen. steps: each value holds for half a step to both sides.
  line(xs, ys, style = {}) {
    let path = "", pen = "M";
    for (let i = 0; i < ys.length; i++) {
      if (!(Number.isFinite(ys[i]) && Number.isFinite(xs[i]))) { pen = "M"; continue; }
      const y = this.py(ys[i]).toFixed(1);
      if (style.steps) {
        path += `${pen}${this.px(xs[i] - 0.5).toFixed(1)},${y}H${this.px(xs[i] + 0.5).toFixed(1)}`;
      } else path += `${pen}${this.px(xs[i]).toFixed(1)},${y}`;
      pen = "L";
    }
    this.inside.push(`<path d="${path}" ${stroke(style)}/>`);
    return this;
  }

  across(y, style = {}) {
    return this.line(this.xs, [y, y], { colour: "grey", width: 1.2, ...style });
  }

  upright(x, style = {}) {
    return this.line([x, x], this.ys, { colour: "grey", width: 1.2, ...style });
  }

  // Marks: dot (filled unless hollow), cross or square, of a size in pixels.
  dots(xs, ys, { mark = "dot", size = 2.5, hollow = mark !== "dot", ...style } = {}) {
    const shape = MARKS[mark](size), fill = hollow ? "none" : `var(--om-${style.colour ?? 0})`;
    const found = Array.from(xs, (x, i) => {
      const at = `${this.px(x).toFixed(1)},${this.py(ys[i]).toFixed(1)}`;
      return `<path transform="translate(${at})" d="${shape}"/>`;
    });
    const look = stroke({ width: hollow ? 2 : 0, ...style }).replace("fill:none", `fill:${fill}`);
    this.inside.push(`<g ${look}>${found.join("")}</g>`);
    return this;
  }

  bars(xs, heights, { colour = 0, width = 0.8 } = {}) {
    const zero = this.py(Math.max(0, Math.min(...this.ys))).toFixed(1);
    const found = Array.from(xs, (x, i) => {
      const ends = [x - width / 2, x + width / 2].map((end) => this.px(end).toFixed(1));
      return `M${ends[0]},${zero}V${this.py(heights[i]).toFixed(1)}H${ends[1]}V${zero}z`;
    });
    this.inside.push(`<path d="${found.join("")}" style="fill:var(--om-${colour})"/>`);
    return this;
  }

  // A matrix by rows, row 0 on top, over x and y from −0.5 on; NaN is a hidden cell.
  matrix(values, columns, { signed = false, limit = 1 } = {}) {
    const colours = colourTable(this.dark, signed), pixels = new Uint32Array(values.length);
    const low = signed ? -limit : 0, per = 255 / (limit - low);
    for (let i = 0; i < values.length; i++) {
      const place = Math.round((values[i] - low) * per);
      pixels[i] = colours[place >= 0 ? Math.min(place, 255) : place < 0 ? 0 : 256];
    }
    this.image = { ...this.box, columns, rows: values.length / columns, pixels };
    return this;
  }

  // Each cell's number, readable on its colour.
  numbers(values, columns, { decimals = 2, limit = 1 } = {}) {
    const size = Math.min(12, this.box.w / columns / 2.6);
    for (let i = 0; i < values.length && size >= 7; i++) {
      const x = this.px(i % columns), y = this.py(Math.floor(i / columns)) + size / 3;
      const strong = Math.abs(values[i]) > 0.55 * limit, bright = strong !== this.dark;
      const look = `style="font-size:${size.toFixed(1)}px;fill:${bright ? "#fff" : "#111"}"`;
      this.inside.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="om-number" ${look}>`
        + `${fixed(values[i], decimals)}</text>`);
    }
    return this;
  }

  // Two layers: what is drawn, cut off at the axes, and what stands around it, which often stays
  // the same when a control moves.
  get layers() {
    const { left, top, w, h } = this.box;
    const inner = `<svg x="${left}" y="${top}" width="${w}" height="${h}">`;
    return [`${inner}${this.inside.join("")}</svg>`, this.around.join("")].map((svg) =>
      `<svg width="${this.width}" height="${this.height}" aria-hidden="true">${svg}</svg>`);
  }
}

function legendRows(legend, width) {
  const rows = [];
  for (const one of legend) {
    const room = 40 + wide(one.name), row = rows[rows.length - 1];
    const fits = row && row.reduce((sum, other) => sum + other.room, room) <= width;
    if (fits) row.push({ ...one, room });
    else rows.push([{ ...one, room }]);
  }
  return rows;
}
