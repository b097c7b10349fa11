// Every claim of the course, to guess before the verdict is shown.

// From the first to the last place of a lesson's claims; they lie together.
function between(rows, lesson, every) {
  if (lesson === every) return [0, rows.length - 1];
  const places = rows.map((_, n) => n).filter((n) => rows[n].lesson === lesson);
  return [places[0], places[places.length - 1]];
}

// What has been guessed of which claim, the control's own guess included.
function guessed({ claim, guess, guesses = {} }, { nothing }) {
  return guess === nothing ? guesses : { ...guesses, [claim - 1]: guess };
}

const EXPLORER = {
  columns: [1],
  least: 280,
  height: () => 300,
  limits: ({ lesson }) => {
    const [first, last] = between(SPEC.data.rows, lesson, SPEC.data.every);
    return { claim: [first + 1, last + 1] };
  },
  changed(state, name) {
    const { rows, every, nothing } = SPEC.data;
    if (name === "lesson") state.claim = between(rows, state.lesson, every)[0] + 1;
    if (name === "guess") {
      state.guesses = { ...state.guesses, [state.claim - 1]: state.guess };
      if (state.guess === nothing) delete state.guesses[state.claim - 1];
    } else state.guess = state.guesses?.[state.claim - 1] ?? nothing;
  },
  drag: {
    panel: 0,
    to([x, y]) {
      const { rows } = SPEC.data, lessons = [...new Set(rows.map((one) => one.lesson))];
      const lesson = lessons[Math.min(lessons.length - 1, Math.max(0, Math.round(y)))];
      const [first, last] = between(rows, lesson, null);
      return { lesson: SPEC.data.every,
        claim: Math.min(last, first + Math.max(0, Math.round(x))) + 1 };
    },
  },

  compute(state, data) {
    const { rows } = data, guesses = guessed(state, data);
    // −1: no guess; 0: wrong; 1: right.
    const held = rows.map(({ verdict }, n) => (n in guesses ? Number(guesses[n] === verdict) : -1));
    const count = (wanted) => held.filter((one) => one === wanted).length;
    return { held, right: count(1), wrong: count(0) };
  },

  draw([panel], { held }, { lesson, claim }) {
    const { rows } = SPEC.data, lessons = [...new Set(rows.map((one) => one.lesson))];
    const firsts = lessons.map((one) => rows.findIndex((row) => row.lesson === one));
    const places = rows.map((one, n) => {
      const row = lessons.indexOf(one.lesson);
      return [n - firsts[row], row];
    });
    const widest = Math.max(...places.map(([x]) => x));
    const [from, to] = between(rows, lesson, SPEC.data.every);
    const some = (wanted) => places.filter((_, n) => held[n] === wanted);
    const marks = (found, style) =>
      panel.dots(found.map(([x]) => x), found.map(([, y]) => y), style);
    panel.axes({
      x: [-0.7, widest + 0.7], y: [lessons.length - 0.5, -0.5], xticks: [],
      yticks: lessons.map((lesson, n) => [n, lesson]), ylabel: "lesson",
      title: "each square is a claim (click one)",
      legend: [{ name: "right", colour: 2, mark: "dot" },
        { name: "wrong", colour: 3, mark: "cross" },
        { name: "no guess", colour: "grey", mark: "square" }],
    });
    marks(some(-1), { mark: "square", colour: "grey", size: 5 });
    marks(some(1), { colour: 2, size: 6 });
    marks(some(0), { mark: "cross", colour: 3, size: 5 });
    if (lesson !== SPEC.data.every) { // a line under the lesson that was chosen
      const under = places[from][1] + 0.45;
      panel.line([-0.5, to - from + 0.5], [under, under], { colour: "ink", width: 1.5 });
    }
    marks([places[claim - 1]], { mark: "square", colour: "ink", size: 9 });
  },

  sentence({ held, right, wrong }, { claim, guess }) {
    const { rows } = SPEC.data, row = rows[claim - 1], open = held[claim - 1] < 0;
    const asked = `${row.id}, lesson ${row.lesson}: “${row.claim}” (${row.scope}).`;
    const score = right + wrong ? ` Your score: ${right} of ${right + wrong}.` : "";
    if (open) return `${asked} What do you say: true, false, or depends?${score}`;
    const said = held[claim - 1] ? "Right" : `You said ${guess}`;
    const measured = row.measured.replace(/[^.]$/, "$&."); // cases end without a full stop
    return `${asked} ${said}: ${row.verdict.toUpperCase()}. ${measured} `
      + `Evidence: ${row.evidence}.${score}`;
  },

  words({ right, wrong }, { claim }) {
    const { rows } = SPEC.data, row = rows[claim - 1];
    return `${rows.length} squares, a row a lesson; ${rows.length - right - wrong} are empty, `
      + `${right} filled for a right guess, ${wrong} crossed for a wrong one. The one that is `
      + `framed is ${row.id}, of lesson ${row.lesson}.`;
  },
};
