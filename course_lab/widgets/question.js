// A question as a form: options to choose among, or a field for a number. The model has its
// question and its options `as_html`, the `options` as answers or a `placeholder`, the learner's
// `answer`, and from the kernel a `note` on it, and whether its answer is shown: `settled`.

const STYLE = `
.om-question { --om-line: var(--jp-border-color1, #8c95a080);
  --om-brand: var(--jp-brand-color1, #0173b2); margin: 4px 0;
  padding: 10px 16px; border: 1px solid var(--om-line); border-left: 4px solid var(--om-brand);
  border-radius: 6px; color: var(--jp-content-font-color1, inherit);
  font: 14px/1.45 var(--jp-content-font-family, system-ui), sans-serif; }
.om-question:focus { outline: none; }
.om-question fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
.om-question legend { padding: 0 0 4px; font-size: inherit; color: inherit; }
.om-question label { display: flex; gap: 10px; align-items: center; min-height: 32px; margin: 0;
  width: fit-content; cursor: pointer; font-weight: normal; }
.om-question input[type=radio] { flex: none; width: 16px; height: 16px; margin: 0; }
.om-question input[type=text] { font: inherit; color: inherit; padding: 3px 8px; width: 14rem;
  max-width: 100%; background: transparent; border: 1px solid var(--om-line); border-radius: 4px; }
.om-question input { accent-color: var(--om-brand); }
.om-question :focus-visible { outline: 2px solid var(--om-brand);
  outline-offset: 2px; }
.om-question p { margin: 6px 0 0; }
.om-question p:empty { display: none; }
`;

function newElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Give JupyterLab's cell the keys that run it, and Escape, as explorers do. After an answer
// Shift+Enter runs the next cell: to ask again would change nothing.
function handOver(event, answered) {
  const runs = event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.altKey);
  let cell = event.target.closest(".jp-Cell");
  if (!cell || (!runs && event.key !== "Escape")) return;
  event.preventDefault();
  const next = cell.nextElementSibling;
  if (runs && event.shiftKey && answered && next?.matches(".jp-Cell")) cell = next;
  cell.focus();
  cell.dispatchEvent(new KeyboardEvent("keydown", event));
}

// The folded text after an answer, up to the next question, opens once the answer is shown.
const LOOK = "Look, once you have guessed";
const ASKS = "Run this cell to answer."; // a question that did not run yet says so
const settled = new Set(); // cells of questions whose text is still to be opened
function openLooks() {
  for (const question of settled) {
    for (let cell = question.nextElementSibling; cell; cell = cell.nextElementSibling) {
      if (cell.querySelector(".om-question") || cell.textContent.includes(ASKS)) break;
      const summaries = [...cell.querySelectorAll("details:not([open]) > summary")];
      const look = summaries.find((summary) => summary.textContent === LOOK);
      if (!look) continue;
      look.parentElement.open = true;
      settled.delete(question);
      break;
    }
  }
}

const watched = new WeakSet(); // notebooks, whose cells come and go as one scrolls
function watch(notebook) {
  if (!notebook || watched.has(notebook)) return;
  watched.add(notebook);
  new MutationObserver(openLooks).observe(notebook, { childList: true, subtree: true });
}

function render({ model, el }) {
  const group = `om-${Math.random().toString(36).slice(2)}`;
  const [question, ...options] = model.get("as_html").map((html) => {
    const text = newElement("span");
    text.innerHTML = html;
    return text;
  });
  const title = newElement("legend", {}, newElement("b", {}, "Predict."), " ", question);
  const entries = model.get("options").map((value) =>
    newElement("input", { type: "radio", name: group, value }));
  const labels = entries.map((entry, place) => newElement("label", {}, entry, options[place]));
  if (!entries.length) {
    const placeholder = model.get("placeholder");
    entries.push(newElement("input", { type: "text", autocomplete: "off", spellcheck: "false",
      placeholder, "aria-label": placeholder }));
    labels.push(entries[0]);
  }
  const note = newElement("p", { role: "status" });
  const root = newElement("div",
    { class: "om-question", "data-lm-suppress-shortcuts": "true",
      tabindex: "-1" /* a press beside the options keeps the keys here */ }, newElement("style", {}, STYLE),
    newElement("fieldset", {}, title, ...labels), note);

  function show() {
    const answer = model.get("answer");
    for (const entry of entries) {
      if (entry.type === "radio") entry.checked = entry.value === answer;
      else if (entry.value !== answer) entry.value = answer;
    }
    note.innerHTML = model.get("note");
  }
  function open() {
    const cell = el.closest(".jp-Cell");
    if (!cell || !model.get("settled")) return;
    settled.add(cell);
    openLooks();
  }

  root.addEventListener("input", ({ target }) => {
    model.set("answer", target.value);
    model.save_changes();
  });
  // What a key or a press does here is the form's own: arrows choose, "d d" deletes no cell.
  for (const kind of ["keydown", "pointerdown", "mousedown", "touchstart"]) {
    root.addEventListener(kind, (event) => event.stopPropagation(), { passive: true });
  }
  root.addEventListener("keydown", (event) => handOver(event, model.get("answer")));
  model.on("change:answer change:note", show);
  model.on("change:settled", open);
  show();
  el.append(root);
  model.set("seen", true);
  model.save_changes();
  requestAnimationFrame(() => {
    watch(el.closest(".jp-Notebook"));
    open();
  });
  return () => {
    model.off("change:answer change:note", show);
    model.off("change:settled", open);
  };
}

export default { render };
