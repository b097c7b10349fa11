// Attention of a shuffled sentence, put back in order, and its difference from the original.

const ROUNDING = 1e-5; // smaller differences of a weight are rounding noise

function factorial(n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}

// The permutation of 0 … n − 1 at this place in the dictionary order of all.
function permutation(n, rank) {
  const remaining = Array.from({ length: n }, (_, i) => i);
  const order = [];
  let place = rank;
  while (remaining.length) {
    const perChoice = factorial(remaining.length - 1); // permutations that begin with one choice
    order.push(...remaining.splice(Math.floor(place / perChoice), 1));
    place %= perChoice;
  }
  return order;
}

// Attention weights of the words in this order, queries by rows. `scores` has a row and a column
// for each word and then for each position: the score of two words at two positions is a sum.
function attentionWeights(order, scores, withPositions, causal) {
  const n = order.length;
  const weights = new Float64Array(n * n);
  const termsAt = (i) => (withPositions ? [order[i], n + i] : [order[i]]);
  const scoreOf = (i, j) => {
    let sum = 0;
    for (const row of termsAt(i)) for (const column of termsAt(j)) sum += scores[row][column];
    return sum;
  };
  for (let i = 0; i < n; i++) {
    const row = order.map((_, j) => (causal && j > i ? -Infinity : scoreOf(i, j)));
    const largest = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    powers.forEach((power, j) => { weights[i * n + j] = power / total; });
  }
  return weights;
}

const EXPLORER = {
  columns: [1, 1, 1.2],
  minWidth: 250,
  height: (width) => Math.min(330, width + 20),

  compute({ shuffle, encoding, causal }, { words, scores }) {
    const n = words.length;
    // Fixed shuffles, far apart in the dictionary; number 0 is the sentence as it was.
    const order = permutation(n, 307 * shuffle % factorial(n));
    const withPositions = encoding !== "none";
    const original = attentionWeights(words.map((_, i) => i), scores, withPositions, causal);
    const shuffled = attentionWeights(order, scores, withPositions, causal);
    const back = new Float64Array(n * n);
    order.forEach((row, i) => order.forEach((column, j) => {
      back[row * n + column] = shuffled[i * n + j];
    }));
    const change = back.map((weight, cell) => weight - original[cell]);
    return { order, shuffled, back, change, largest: Math.max(...change.map(Math.abs)) };
  },

  draw([left, middle, right], { order, shuffled, back, change }) {
    const { words } = SPEC.data;
    const n = words.length;
    const inOrder = words.map((word, i) => [i, word]);
    const mixed = order.map((word, i) => [i, words[word]]);
    const axes = {
      x: [-0.5, n - 0.5], y: [n - 0.5, -0.5], equal: true, upright: true, xlabel: "key",
    };
    left.axes({ ...axes, title: "shuffled", ylabel: "query", xticks: mixed, yticks: mixed })
      .matrix(shuffled, n).numbers(shuffled, n);
    middle.axes({ ...axes, title: "put back in order", xticks: inOrder, yticks: inOrder })
      .matrix(back, n).numbers(back, n);
    const colours = { signed: true, limit: 0.5 };
    right.axes({
      ...axes, title: "minus the original", xticks: inOrder, yticks: inOrder, bar: colours,
    }).matrix(change, n, colours).numbers(change, n, colours);
  },

  sentence: ({ order, largest }) =>
    `Word order: ${order.map((word) => SPEC.data.words[word]).join(" ")}. Largest difference after `
    + `putting back: ${largest < ROUNDING ? "rounding noise" : fixed(largest, 2)}.`,

  description({ order, largest }, { encoding, causal }) {
    const mixed = order.map((word) => SPEC.data.words[word]).join(" ");
    const size = largest < ROUNDING ? "blank everywhere" : `at most ${fixed(largest, 2)} in size`;
    return "Three squares of attention weights, queries down and keys across, "
      + `${causal ? "with" : "without"} a causal mask, encoding ${encoding}. Left: the words in `
      + `the order ${mixed}. Middle: the same weights with rows and columns moved back into the `
      + `order of the sentence. Right: the middle minus what the sentence itself gives, ${size}.`;
  },
};
