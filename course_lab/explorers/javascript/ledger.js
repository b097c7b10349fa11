// Every claim of the course, to guess before the verdict is shown.

const WRONG = 0, RIGHT = 1, NO_GUESS = -1; // how a claim was guessed

// The places of a lesson's first and last claim; they lie together.
function placesOf(lesson) {
  const { rows } = SPEC.data;
  const places = rows.map((_, n) => n).filter((n) => rows[n].lesson === lesson);
  return [places[0], places[places.length - 1]];
}

// The same for one of the control's choices, which may be all lessons.
function placesOfChoice(choice) {
  const { rows, allLessons } = SPEC.data;
  return choice === allLessons ? [0, rows.length - 1] : placesOf(choice);
}

function lessonNumbers() {
  return [...new Set(SPEC.data.rows.map((row) => row.lesson))];
}

const EXPLORER = {
  columns: [1],
  minWidth: 280,
  height: () => 300,
  limits({ lesson }) {
    const [first, last] = placesOfChoice(lesson);
    return { claim: [first + 1, last + 1] };
  },
  follow(state, name) {
    const { noGuess } = SPEC.data;
    if (name === "lesson") state.claim = placesOfChoice(state.lesson)[0] + 1;
    if (name === "guess") {
      state.guesses = { ...state.guesses, [state.claim - 1]: state.guess };
      if (state.guess === noGuess) delete state.guesses[state.claim - 1];
    } else {
      state.guess = state.guesses?.[state.claim - 1] ?? noGuess;
    }
  },
  drag: {
    panel: 0,
    change([x, y]) {
      const lessons = lessonNumbers();
      const lesson = lessons[Math.min(lessons.length - 1, Math.max(0, Math.round(y)))];
      const [first, last] = placesOf(lesson);
      const place = Math.min(last, first + Math.max(0, Math.round(x)));
      return { lesson: SPEC.data.allLessons, claim: place + 1 };
    },
  },

  compute({ claim, guess, guesses = {} }, { rows, noGuess }) {
    const all = guess === noGuess ? guesses : { ...guesses, [claim - 1]: guess };
    const results = rows.map(({ verdict }, n) => {
      if (!(n in all)) return NO_GUESS;
      return all[n] === verdict ? RIGHT : WRONG;
    });
    const count = (result) => results.filter((other) => other === result).length;
    return { results, right: count(RIGHT), wrong: count(WRONG) };
  },

  draw([panel], { results }, { lesson, claim }) {
    const { rows, allLessons } = SPEC.data;
    const lessons = lessonNumbers();
    const squares = rows.map((row, n) => {
      return { x: n - placesOf(row.lesson)[0], y: lessons.indexOf(row.lesson) };
    });
    const mark = (marked, style) =>
      panel.dots(marked.map(({ x }) => x), marked.map(({ y }) => y), style);
    const withResult = (result) => squares.filter((_, n) => results[n] === result);
    panel.axes({
      x: [-0.7, Math.max(...squares.map(({ x }) => x)) + 0.7], y: [lessons.length - 0.5, -0.5],
      xticks: [], yticks: lessons.map((number, n) => [n, number]), ylabel: "lesson",
      title: "each square is a claim (click one)",
      legend: [{ name: "right", colour: 2, mark: "dot", hollow: false },
        { name: "wrong", colour: 3, mark: "cross" },
        { name: "no guess", colour: "grey", mark: "square" }],
    });
    mark(withResult(NO_GUESS), { mark: "square", colour: "grey", size: 5 });
    mark(withResult(RIGHT), { colour: 2, size: 6 });
    mark(withResult(WRONG), { mark: "cross", colour: 3, size: 5 });
    if (lesson !== allLessons) { // a line under the lesson that was chosen
      const [first, last] = placesOf(lesson);
      const y = squares[first].y + 0.45;
      panel.line([-0.5, last - first + 0.5], [y, y], { colour: "ink", width: 1.5 });
    }
    mark([squares[claim - 1]], { mark: "square", colour: "ink", size: 9 });
  },

  sentence({ results, right, wrong }, { claim, guess }) {
    const row = SPEC.data.rows[claim - 1];
    const result = results[claim - 1];
    const question = `${row.id}, lesson ${row.lesson}: “${row.claim}” (${row.scope}).`;
    const score = right + wrong ? ` Your score: ${right} of ${right + wrong}.` : "";
    if (result === NO_GUESS) {
      return `${question} What do you say: true, false, or depends?${score}`;
    }
    const answer = result === RIGHT ? "Right" : `You said ${guess}`;
    const measured = row.measured.replace(/[^.]$/, "$&."); // cases end without a full stop
    return `${question} ${answer}: ${row.verdict.toUpperCase()}. ${measured} `
      + `Evidence: ${row.evidence}.${score}`;
  },

  description({ right, wrong }, { claim }) {
    const { rows } = SPEC.data;
    const row = rows[claim - 1];
    return `${rows.length} squares, a row a lesson; ${rows.length - right - wrong} are empty, `
      + `${right} filled for a right guess, ${wrong} crossed for a wrong one. The framed one is `
      + `${row.id}, of lesson ${row.lesson}.`;
  },
};
