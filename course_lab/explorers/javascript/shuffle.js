// Attention of a shuffled sentence, put back in order, and its gap to the original.

// The permutation of 0 … n − 1 at this place in the dictionary order of all.
function permutation(n, rank) {
  const left = Array.from({ length: n }, (_, i) => i), found = [];
  for (let size = n; size > 0; size--) {
    let each = 1;
    for (let i = 2; i < size; i++) each *= i; // permutations of what is left after one more
    found.push(...left.splice(Math.floor(rank / each), 1));
    rank %= each;
  }
  return found;
}

// Softmax over what a query may see, with the words in this order. scores has a row and a column
// for each word and then for each position: what it asks and what it answers.
function attention(order, scores, places, causal) {
  const n = order.length, found = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const row = order.map((word, j) => {
      if (causal && j > i) return -Infinity;
      const asks = places ? [order[i], n + i] : [order[i]];
      const answers = places ? [word, n + j] : [word];
      let sum = 0;
      for (const one of asks) for (const other of answers) sum += scores[one][other];
      return sum;
    });
    const largest = Math.max(...row), powers = row.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, one) => sum + one, 0);
    powers.forEach((power, j) => { found[i * n + j] = power / total; });
  }
  return found;
}

const EXPLORER = {
  columns: [1, 1, 1.2],
  least: 250,
  height: (width) => Math.min(330, width + 20),

  compute({ shuffle, encoding, causal }, { words, scores }) {
    const n = words.length, count = words.reduce((product, _, i) => product * (i + 1), 1);
    // Fixed shuffles, far apart in the dictionary; number 0 is the sentence as it was.
    const order = permutation(n, 307 * shuffle % count), places = encoding !== "none";
    const original = attention(words.map((_, i) => i), scores, places, causal);
    const shuffled = attention(order, scores, places, causal), back = new Float64Array(n * n);
    order.forEach((row, i) => order.forEach((column, j) => {
      back[row * n + column] = shuffled[i * n + j];
    }));
    const change = back.map((weight, at) => weight - original[at]);
    return { order, shuffled, back, change, largest: Math.max(...change.map(Math.abs)) };
  },

  draw([left, middle, right], { order, shuffled, back, change }) {
    const { words } = SPEC.data, n = words.length, own = words.map((word, i) => [i, word]);
    const ends = { x: [-0.5, n - 0.5], y: [n - 0.5, -0.5], equal: true };
    const axes = { ...ends, upright: true, xlabel: "key" };
    const mixed = order.map((word, i) => [i, words[word]]);
    left.axes({ ...axes, title: "shuffled", ylabel: "query", xticks: mixed, yticks: mixed })
      .matrix(shuffled, n).numbers(shuffled, n);
    middle.axes({ ...axes, title: "put back in order", xticks: own, yticks: own })
      .matrix(back, n).numbers(back, n);
    const look = { signed: true, limit: 0.5 };
    right.axes({ ...axes, title: "minus the original", xticks: own, yticks: own, bar: look })
      .matrix(change, n, look).numbers(change, n, look);
  },

  sentence: ({ order, largest }) =>
    `Word order: ${order.map((word) => SPEC.data.words[word]).join(" ")}. Largest difference after `
    + `putting back: ${largest < 1e-5 ? "rounding noise" : fixed(largest, 2)}.`,

  words({ order, largest }, { encoding, causal }) {
    const mixed = order.map((word) => SPEC.data.words[word]).join(" ");
    const size = largest < 1e-5 ? "blank everywhere" : `at most ${fixed(largest, 2)} in size`;
    return "Three squares of attention weights, queries down and keys across, "
      + `${causal ? "with" : "without"} a causal mask, encoding ${encoding}. Left: the words in `
      + `the order ${mixed}. Middle: the same weights with rows and columns moved back into the `
      + `order of the sentence. Right: the middle minus what the sentence itself gives, ${size}.`;
  },
};
