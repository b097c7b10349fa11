// Drawing: pictures as strings of SVG and, for matrices, pixels. Nothing here touches a page, so
// tests can look at the result; shell.js puts it on one. Colours are CSS variables of shell.js.

const CHARACTER_WIDTH = 6.3; // pixels, roughly, of a tick's label
const BAR_STEPS = 32; // colours of a colour bar

// From a value to pixels along an axis of this length.
function scaled([low, high], pixels, log, value) {
  const place = log ? Math.log10 : Number;
  return pixels * (place(value) - place(low)) / (place(high) - place(low));
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

// The word that stands at a place of an axis, or the place's number.
function labelAt(ticks, place) {
  return ticks.find(([value]) => value === place)?.[1] ?? place;
}

function textWidth(text) {
  return CHARACTER_WIDTH * String(text).length;
}

function stroke({ colour = 0, width = 1.8, dash = "none", fade = 1 } = {}) {
  return `style="fill:none;stroke:var(--om-${colour});stroke-width:${width};`
    + `stroke-dasharray:${dash};stroke-opacity:${fade}"`;
}

const MARKS = { // paths around 0, 0 of a size in pixels
  dot: (size) => `M${-size},0a${size},${size} 0 1,0 ${2 * size},0a${size},${size} 0 1,0`
    + ` ${-2 * size},0z`,
  cross: (size) => `M${-size},${-size}L${size},${size}M${-size},${size}L${size},${-size}`,
  square: (size) => `M${-size},${-size}H${size}V${size}H${-size}z`,
};

// One pair of axes and what is drawn in it. Call axes() first, then the rest in any order.
class Panel {
  constructor(width, height, dark = false) {
    Object.assign(this, { width, height, dark, image: null, around: [], inside: [] });
  }

  // x, y: [first, last].
  // xticks, yticks: numbers or [number, label] pairs, in place of round numbers.
  // equal: a unit is as long upwards as across.
  // upright: labels of x are turned by a quarter.
  // legend: [{name, colour, dash, mark, hollow}]; a mark is hollow unless that is false.
  // bar: {signed, limit, unit}, the colours of a matrix.
  axes({ x, y, title = "", xlabel = "", ylabel = "", xlog = false, ylog = false, xticks, yticks,
    equal = false, upright = false, legend = [], bar = null }) {
    const legendLines = legendRows(legend, this.width - 30);
    const rowTicks = labelled(yticks ?? ticks(y, ylog, Math.max(2, this.height / 50)));
    const left = 12 + (ylabel ? 15 : 0) + widest(rowTicks);
    const right = bar ? 62 : 12;
    const tickCount = Math.max(2, (this.width - left - right) / 55);
    const columnTicks = labelled(xticks ?? ticks(x, xlog, tickCount));
    const top = (title ? 24 : 8) + 16 * legendLines.length;
    const bottom = 8 + (xlabel ? 15 : 0) + (upright ? widest(columnTicks) + 6 : 16);
    const room = {
      left, top, width: this.width - left - right, height: this.height - top - bottom,
    };
    const box = rounded(equal ? withEqualUnits(room, x, y) : room);
    Object.assign(this, { box, title, xs: x, ys: y, xlog, ylog, xlabel, ylabel, rowTicks,
      columnTicks });
    this.frame(columnTicks, rowTicks, upright);
    const middle = box.left + box.width / 2;
    if (title) this.write(middle, 15, title, "om-title");
    if (xlabel) this.write(middle, box.top + box.height + bottom - 6, xlabel);
    if (ylabel) {
      this.writeUpright(box.left - widest(rowTicks) - 13, box.top + box.height / 2, ylabel);
    }
    legendLines.forEach((entries, n) => {
      this.legendRow(entries, (title ? 24 : 8) + 16 * n + 6);
    });
    if (bar) this.colourBar(bar);
    return this;
  }

  frame(columnTicks, rowTicks, upright) {
    const { left, top, width, height } = this.box;
    const base = top + height;
    this.around.push(`<path class="om-frame" d="M${left},${top}V${base}H${left + width}"/>`);
    for (const [value, text] of columnTicks) {
      const x = (left + this.px(value)).toFixed(1);
      const place = upright
        ? `x="${x}" y="${base + 8}" transform="rotate(-90 ${x} ${base + 8})" class="om-end" dy="4"`
        : `x="${x}" y="${base + 16}" class="om-tick"`;
      this.around.push(`<path class="om-frame" d="M${x},${base}v4"/>`);
      this.around.push(`<text ${place}>${escaped(text)}</text>`);
    }
    for (const [value, text] of rowTicks) {
      const y = (top + this.py(value)).toFixed(1);
      this.around.push(`<path class="om-frame" d="M${left},${y}h-4"/>`
        + `<text x="${left - 6}" y="${y}" dy="4" class="om-end">${escaped(text)}</text>`);
    }
  }

  legendRow(entries, y) {
    const total = entries.reduce((sum, entry) => sum + entry.room, 0);
    let x = Math.max(4, (this.width - total) / 2);
    for (const entry of entries) {
      const path = entry.mark ? MARKS[entry.mark](3.5) : "M-11,0h22";
      const filled = entry.hollow === false ? `var(--om-${entry.colour ?? 0})` : "none";
      const look = stroke(entry).replace("fill:none", `fill:${filled}`);
      const mark = `<path transform="translate(${x + 11},${y})" d="${path}" ${look}/>`;
      this.around.push(`${mark}<text x="${x + 27}" y="${y + 4}" class="om-start">`
        + `${escaped(entry.name)}</text>`);
      x += entry.room;
    }
  }

  colourBar({ signed = false, limit = 1, unit = "" }) {
    const { left, top, width, height } = this.box;
    const x = left + width + 8;
    const colours = colourTable(this.dark, signed);
    const step = height / BAR_STEPS;
    for (let n = 0; n < BAR_STEPS; n++) {
      const [red, green, blue] = rgbOfPixel(colours[Math.round(n / (BAR_STEPS - 1) * 255)]);
      this.around.push(`<path fill="rgb(${red},${green},${blue})" d="M${x},`
        + `${(top + height - n * step).toFixed(1)}h9v${(-step - 0.5).toFixed(1)}h-9z"/>`);
    }
    const values = signed ? [-limit, 0, limit] : [0, limit];
    values.forEach((value, n) => {
      const share = n / (values.length - 1);
      this.write(x + 12, top + height * (1 - share) + 2 + 4 * share, short(value), "om-start");
    });
    if (unit) this.writeUpright(x + 46, top + height / 2, unit);
  }

  px(value) { return scaled(this.xs, this.box.width, this.xlog, value); }

  py(value) { return this.box.height - scaled(this.ys, this.box.height, this.ylog, value); }

  // The values of x and y at a place in pixels of this panel; linear axes only.
  valuesAt(left, top) {
    const { box, xs, ys } = this;
    const across = (left - box.left) / box.width;
    const up = 1 - (top - box.top) / box.height;
    return [xs[0] + across * (xs[1] - xs[0]), ys[0] + up * (ys[1] - ys[0])];
  }

  write(x, y, text, kind = "om-label") {
    const place = `x="${x.toFixed(1)}" y="${y.toFixed(1)}"`;
    this.around.push(`<text ${place} class="${kind}">${escaped(text)}</text>`);
  }

  writeUpright(x, y, text) {
    const place = `transform="translate(${x.toFixed(1)},${y.toFixed(1)})rotate(-90)"`;
    this.around.push(`<text ${place} class="om-label">${escaped(text)}</text>`);
  }

  // A curve; NaN lifts the pen. style.steps: each value holds for half a step to both sides.
  line(xs, ys, style = {}) {
    let path = "";
    let pen = "M";
    for (let i = 0; i < ys.length; i++) {
      if (!(Number.isFinite(ys[i]) && Number.isFinite(xs[i]))) {
        pen = "M";
        continue;
      }
      const y = this.py(ys[i]).toFixed(1);
      if (style.steps) {
        path += `${pen}${this.px(xs[i] - 0.5).toFixed(1)},${y}H${this.px(xs[i] + 0.5).toFixed(1)}`;
      } else {
        path += `${pen}${this.px(xs[i]).toFixed(1)},${y}`;
      }
      pen = "L";
    }
    this.inside.push(`<path d="${path}" ${stroke(style)}/>`);
    return this;
  }

  // A straight line across at y.
  across(y, style = {}) {
    return this.line(this.xs, [y, y], { colour: "grey", width: 1.2, ...style });
  }

  // A straight line upwards at x.
  upright(x, style = {}) {
    return this.line([x, x], this.ys, { colour: "grey", width: 1.2, ...style });
  }

  // Marks: dot (filled unless hollow), cross or square, of a size in pixels.
  dots(xs, ys, { mark = "dot", size = 2.5, hollow = mark !== "dot", ...style } = {}) {
    const shape = MARKS[mark](size);
    const fill = hollow ? "none" : `var(--om-${style.colour ?? 0})`;
    const paths = Array.from(xs, (x, i) => {
      const place = `${this.px(x).toFixed(1)},${this.py(ys[i]).toFixed(1)}`;
      return `<path transform="translate(${place})" d="${shape}"/>`;
    });
    const look = stroke({ width: hollow ? 2 : 0, ...style }).replace("fill:none", `fill:${fill}`);
    this.inside.push(`<g ${look}>${paths.join("")}</g>`);
    return this;
  }

  bars(xs, heights, { colour = 0, width = 0.8 } = {}) {
    const zero = this.py(Math.max(0, Math.min(...this.ys))).toFixed(1);
    const paths = Array.from(xs, (x, i) => {
      const left = this.px(x - width / 2).toFixed(1);
      const right = this.px(x + width / 2).toFixed(1);
      return `M${left},${zero}V${this.py(heights[i]).toFixed(1)}H${right}V${zero}z`;
    });
    this.inside.push(`<path d="${paths.join("")}" style="fill:var(--om-${colour})"/>`);
    return this;
  }

  // A matrix by rows, row 0 on top, over x and y from −0.5 on; NaN is a hidden cell.
  matrix(values, columns, { signed = false, limit = 1 } = {}) {
    const colours = colourTable(this.dark, signed);
    const low = signed ? -limit : 0;
    const stepsPerUnit = 255 / (limit - low);
    const pixels = new Uint32Array(values.length);
    for (let i = 0; i < values.length; i++) { // faster than Uint32Array.from
      const place = Math.round((values[i] - low) * stepsPerUnit);
      pixels[i] = colours[Number.isNaN(place) ? HIDDEN : Math.min(Math.max(place, 0), 255)];
    }
    this.pixels(pixels, columns);
    this.image.values = values;
    return this;
  }

  // The cell at a place in pixels of this panel in words: "query 3 · key 1: 0.42"; "" beside cells.
  cellAt(left, top) {
    if (!this.image?.values) return "";
    const { columns, rows, values } = this.image;
    const [column, row] = this.valuesAt(left, top).map(Math.round);
    if (column < 0 || column >= columns || row < 0 || row >= rows) return "";
    const value = values[row * columns + column];
    const down = `${this.ylabel} ${labelAt(this.rowTicks, row)}`.trim();
    const across = `${this.xlabel} ${labelAt(this.columnTicks, column)}`.trim();
    return `${down} · ${across}: ${Number.isNaN(value) ? "hidden" : fixed(value, 2)}`;
  }

  // An image by rows, one pixel a cell.
  pixels(pixels, columns) {
    this.image = { ...this.box, columns, rows: pixels.length / columns, pixels };
    return this;
  }

  // Each cell's number, readable on its colour.
  numbers(values, columns, { decimals = 2, limit = 1 } = {}) {
    const size = Math.min(12, this.box.width / columns / 2.6);
    if (size < 7) return this;
    for (let i = 0; i < values.length; i++) {
      const x = this.px(i % columns);
      const y = this.py(Math.floor(i / columns)) + size / 3;
      const strong = Math.abs(values[i]) > 0.55 * limit;
      const ink = strong !== this.dark ? "#fff" : "#111";
      const look = `style="font-size:${size.toFixed(1)}px;fill:${ink}"`;
      this.inside.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="om-number" ${look}>`
        + `${fixed(values[i], decimals)}</text>`);
    }
    return this;
  }

  // Two layers: what is drawn, cut off at the axes, and what stands around it, which often stays
  // the same when a control moves.
  get layers() {
    const { left, top, width, height } = this.box;
    const inner = `<svg x="${left}" y="${top}" width="${width}" height="${height}">`;
    return [`${inner}${this.inside.join("")}</svg>`, this.around.join("")].map((svg) =>
      `<svg width="${this.width}" height="${this.height}" aria-hidden="true">${svg}</svg>`);
  }
}

// Ticks as [number, label] pairs.
function labelled(values) {
  return values.map((value) => (Array.isArray(value) ? value : [value, short(value)]));
}

function widest(labelledTicks) {
  return Math.max(0, ...labelledTicks.map(([, text]) => textWidth(text)));
}

// The largest box within the room in which a unit is as long upwards as across.
function withEqualUnits({ left, top, width, height }, x, y) {
  const columns = Math.abs(x[1] - x[0]);
  const rows = Math.abs(y[1] - y[0]);
  const unit = Math.min(width / columns, height / rows);
  return {
    left: left + (width - unit * columns) / 2, top, width: unit * columns, height: unit * rows,
  };
}

function rounded(box) {
  return Object.fromEntries(Object.entries(box).map(([side, size]) => [side, Math.round(size)]));
}

// The legend's entries in rows that fit, each with its room in pixels.
function legendRows(legend, width) {
  const rows = [];
  for (const entry of legend) {
    const room = 40 + textWidth(entry.name);
    const row = rows[rows.length - 1];
    const fits = row && row.reduce((sum, other) => sum + other.room, room) <= width;
    if (fits) row.push({ ...entry, room });
    else rows.push([{ ...entry, room }]);
  }
  return rows;
}
