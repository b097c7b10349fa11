// A RoPE model of the course, read from its file: how well does it predict the bytes of a text?
//
// It computes what course_utils.models.TinyTransformer does, window by window, without batches or
// caches. Matrices are Float32Arrays, row by row.

const EPSILON = 1e-5; // of a LayerNorm
const QUERIES = 64; // a block of the attention, which skips the keys after its last query

// ------------------------------------------------------------------------------------- the file

/** The metadata of a file in the safetensors format, and its float16 tensors by name. */
export function parse(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const { __metadata__: metadata, ...header } = JSON.parse(
    new TextDecoder().decode(new Uint8Array(buffer, 8, size)),
  );
  const tensors = new Map();
  for (const [name, { dtype, data_offsets: [first, end] }] of Object.entries(header)) {
    if (dtype !== "F16") throw new Error(`${name} is ${dtype}, not F16`);
    const halves = new Uint16Array(buffer.slice(8 + size + first, 8 + size + end));
    tensors.set(name, Float32Array.from(halves, fromHalf));
  }
  return { metadata, tensors };
}

/** The number whose float16 these sixteen bits are. */
export function fromHalf(bits) {
  const sign = bits >> 15 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
    : sign * fraction * 2 ** -24;
}

// ------------------------------------------------------------------------------------- products

/**
 * out += a · bᵀ, where a is (rows, inner), b (columns, inner) and out (rows, columns).
 *
 * Each is a part of a matrix: `start` is the place of its first number among `values`, `width` the
 * length of the matrix's rows. Four rows and two columns of `out` are computed together, so that
 * six numbers read serve eight products. rows is a multiple of 4, columns of 2.
 */
function addProduct(a, b, out, rows, inner, columns) {
  const x = a.values, y = b.values, z = out.values;
  for (let row = 0; row < rows; row += 4) {
    const a0 = a.start + row * a.width, a1 = a0 + a.width, a2 = a1 + a.width, a3 = a2 + a.width;
    for (let column = 0; column < columns; column += 2) {
      const b0 = b.start + column * b.width, b1 = b0 + b.width;
      let s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
      for (let k = 0; k < inner; k++) {
        const y0 = y[b0 + k], y1 = y[b1 + k];
        const x0 = x[a0 + k], x1 = x[a1 + k], x2 = x[a2 + k], x3 = x[a3 + k];
        s00 += x0 * y0;
        s01 += x0 * y1;
        s10 += x1 * y0;
        s11 += x1 * y1;
        s20 += x2 * y0;
        s21 += x2 * y1;
        s30 += x3 * y0;
        s31 += x3 * y1;
      }
      const z0 = out.start + row * out.width + column, z1 = z0 + out.width;
      const z2 = z1 + out.width, z3 = z2 + out.width;
      z[z0] += s00;
      z[z0 + 1] += s01;
      z[z1] += s10;
      z[z1 + 1] += s11;
      z[z2] += s20;
      z[z2 + 1] += s21;
      z[z3] += s30;
      z[z3 + 1] += s31;
    }
  }
}

const matrix = (rows, width) => ({ values: new Float32Array(rows * width), start: 0, width });
const part = ({ values, start, width }, row, column = 0) =>
  ({ values, start: start + row * width + column, width });
const rowsOf = ({ values, width }, first, end) => values.subarray(first * width, end * width);

function transpose({ values, width }, out) {
  for (let i = 0; i < values.length; i++) {
    out.values[i % width * out.width + Math.floor(i / width)] = values[i];
  }
}

// ----------------------------------------------------------------------------------- row by row

// Normalised rows of x: mean 0, variance 1, times weight, plus bias.
function normalise(x, out, { weight, bias }) {
  const d = weight.length;
  for (let row = 0; row < x.length; row += d) {
    let mean = 0, square = 0;
    for (let i = row; i < row + d; i++) mean += x[i];
    mean /= d;
    for (let i = row; i < row + d; i++) square += (x[i] - mean) ** 2;
    const scale = 1 / Math.sqrt(square / d + EPSILON);
    for (let i = 0; i < d; i++) out[row + i] = (x[row + i] - mean) * scale * weight[i] + bias[i];
  }
}

// x → x·Φ(x), with Φ by Abramowitz and Stegun 7.1.26, right to 2e-7.
function gelu(x) {
  for (let i = 0; i < x.length; i++) {
    const z = Math.abs(x[i]) * Math.SQRT1_2, t = 1 / (1 + 0.3275911 * z);
    const series = t * (0.254829592 + t * (-0.284496736
      + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    const tail = 0.5 * series * Math.exp(-z * z); // 1 − Φ(|x|)
    x[i] *= x[i] > 0 ? 1 - tail : tail;
  }
}

function addToRows(x, row) {
  for (let first = 0; first < x.length; first += row.length) {
    for (let i = 0; i < row.length; i++) x[first + i] += row[i];
  }
}

// Turn neighbours 2m and 2m + 1 of each head; rows of x stand at positions first, first + 1, …
function turn(x, { cos, sin }, pairs, width, first) {
  for (let row = 0, p = first * pairs; row < x.length; row += width, p += pairs) {
    for (let i = row; i < row + width; i += 2) {
      const angle = p + (i - row) / 2 % pairs, a = x[i], b = x[i + 1];
      x[i] = a * cos[angle] - b * sin[angle];
      x[i + 1] = a * sin[angle] + b * cos[angle];
    }
  }
}

// Scores of queries first, first + 1, … → weights, of which each row still has to be divided by
// its sum; the sums.
function exponentials(scores, keys, first, rows) {
  const sums = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const start = row * keys, end = start + first + row + 1; // a query sees no later key
    let largest = -Infinity;
    for (let i = start; i < end; i++) largest = Math.max(largest, scores[i]);
    for (let i = start; i < end; i++) sums[row] += scores[i] = Math.exp(scores[i] - largest);
    scores.fill(0, end, start + keys);
  }
  return sums;
}

// --------------------------------------------------------------------------------------- reading

/** The model in a file that `TinyTransformer.save` wrote in float16, ready to read. */
export function readModel(buffer) {
  const { metadata, tensors } = parse(buffer);
  const { d_model: d, n_heads: heads, n_layers: layers } =
    JSON.parse(metadata.course_utils).notes.TinyTransformer;
  const dHead = d / heads, pairs = dHead / 2, hidden = 4 * d;
  const weights = (name, width = d) => ({ values: tensors.get(name), start: 0, width });
  const norm = (name) =>
    ({ weight: tensors.get(`${name}.weight`), bias: tensors.get(`${name}.bias`) });
  const blocks = Array.from({ length: layers }, (_, n) => {
    const name = `blocks.${n}`;
    return {
      query: weights(`${name}.attention.W_q.weight`), key: weights(`${name}.attention.W_k.weight`),
      value: weights(`${name}.attention.W_v.weight`), out: weights(`${name}.attention.W_o.weight`),
      beforeAttention: norm(`${name}.attention_norm`), beforeMlp: norm(`${name}.mlp_norm`),
      widen: weights(`${name}.mlp.0.weight`), widenBias: tensors.get(`${name}.mlp.0.bias`),
      narrow: weights(`${name}.mlp.2.weight`, hidden),
      narrowBias: tensors.get(`${name}.mlp.2.bias`),
    };
  });
  const embedding = weights("embedding.weight"), last = norm("norm");
  const vocabulary = embedding.values.length / d;

  // Attention of the queries from, from + 1, … in a window of n.
  function attend({ query, key, valueColumns, mixed, scores }, from, n) {
    for (let first = from; first < n; first += QUERIES) {
      const end = Math.min(first + QUERIES, n), rows = end - first;
      const block = { values: scores.values.subarray(0, rows * end), start: 0, width: end };
      for (let column = 0; column < d; column += dHead) {
        block.values.fill(0);
        addProduct(part(query, first, column), part(key, 0, column), block, rows, dHead, end);
        const sums = exponentials(block.values, end, first, rows);
        addProduct(block, part(valueColumns, column), part(mixed, first, column), rows, end, dHead);
        for (let row = 0; row < rows; row++) {
          const start = (first + row) * d + column;
          for (let i = start; i < start + dHead; i++) mixed.values[i] /= sums[row];
        }
      }
    }
  }

  // One layer for the queries from, from + 1, … of a window; `room.x` is changed in place.
  function layer(block, room, from, n, turns, kept) {
    const { x, normal, query, key, value, mixed, wide } = room, rows = n - from;
    for (const { values } of [query, key, value, mixed]) values.fill(0);
    normalise(x.values, normal.values, block.beforeAttention);
    addProduct(normal, block.key, key, n, d, d);
    addProduct(normal, block.value, value, n, d, d);
    addProduct(part(normal, from), block.query, part(query, from), rows, d, d);
    turn(key.values, turns, pairs, d, 0);
    const queries = rowsOf(query, from, n);
    turn(queries, turns, pairs, d, from);
    for (let i = 0; i < queries.length; i++) queries[i] *= kept[(i >> 1) % pairs];
    transpose(value, room.valueColumns);
    attend(room, from, n);
    addProduct(part(mixed, from), block.out, part(x, from), rows, d, d);

    const stream = rowsOf(x, from, n), inner = rowsOf(wide, from, n).fill(0);
    normalise(stream, rowsOf(normal, from, n), block.beforeMlp);
    addToRows(inner, block.widenBias);
    addProduct(part(normal, from), block.widen, part(wide, from), rows, d, hidden);
    gelu(inner);
    addToRows(stream, block.narrowBias);
    addProduct(part(wide, from), block.narrow, part(x, from), rows, hidden, d);
  }

  // Of each row: minus the log of the probability that it gives to the byte that comes next, and
  // the byte to which it gives most.
  function surprise({ x, normal, logits }, from, n, next) {
    const scores = rowsOf(logits, from, n).fill(0);
    normalise(rowsOf(x, from, n), rowsOf(normal, from, n), last);
    addProduct(part(normal, from), embedding, part(logits, from), n - from, d, vocabulary);
    return Array.from(next, (byte, row) => {
      const given = scores.subarray(vocabulary * row, vocabulary * (row + 1));
      const largest = Math.max(...given);
      const sum = given.reduce((total, score) => total + Math.exp(score - largest), 0);
      return { loss: largest + Math.log(sum) - given[byte], expected: given.indexOf(largest) };
    });
  }

  // The surprise at each byte that the second half of a window predicts.
  function readWindow(text, start, n, room, turns, kept) {
    const half = n / 2, { values } = room.x;
    for (let i = 0; i < values.length; i++) {
      const byte = text[start + Math.floor(i / d)];
      values[i] = embedding.values[byte * d + i % d] * Math.sqrt(d);
    }
    blocks.forEach((block, depth) => { // of the last layer only the second half is needed
      layer(block, room, depth === layers - 1 ? half : 0, n, turns, kept);
    });
    return surprise(room, half, n, text.subarray(start + half + 1, start + n + 1));
  }

  /**
   * Each of `count` bytes of a text, with n/2 to n bytes of context: its `loss` in nats, and the
   * byte that the model `expected`.
   *
   * As `measures.trained_models.sliding_loss` reads: in windows of n that advance by n/2, the
   * second half of each is judged. The first byte that predicts stands at `first`, the first that
   * is predicted after it. n is a multiple of 8; count of n/2.
   *
   * speeds: radians a position, of each pair; kept: the share of q·k that each pair brings;
   * sharpness: multiplies all scores.
   */
  function read(text, first, count, n, { speeds, kept, sharpness }) {
    const room = {
      x: matrix(n, d), normal: matrix(n, d), query: matrix(n, d), key: matrix(n, d),
      value: matrix(n, d), valueColumns: matrix(d, n), mixed: matrix(n, d),
      wide: matrix(n, hidden), scores: matrix(QUERIES, n),
      logits: matrix(n, vocabulary),
    };
    const angles = Float64Array.from({ length: n * pairs }, (_, i) =>
      Math.floor(i / pairs) * speeds[i % pairs]);
    const turns = { cos: Float32Array.from(angles, Math.cos),
      sin: Float32Array.from(angles, Math.sin) };
    const scaled = kept.map((share) => share * sharpness / Math.sqrt(dHead));
    const half = n / 2, all = [];
    for (let start = first - half; start < first - half + count; start += half) {
      all.push(...readWindow(text, start, n, room, turns, scaled));
    }
    return all;
  }

  return { pairs, read };
}
