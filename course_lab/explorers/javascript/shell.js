// The shell of an explorer: its controls, where its picture stands, what is said about it.
//
// An explorer is an object with
//   compute(state, data) → numbers   without looking at a page
//   draw(panels, numbers, state)     on Panels of drawing.js
//   sentence(numbers, state)         the numbers to notice; spoken when the controls rest
//   description(numbers, state)      what the picture shows, for those who do not see it
//   columns                          how wide the panels are, one number each: [1.6, 1]
//   minWidth                         the smallest width of a panel in pixels, before rows break
//   height(width)                    of a panel, in pixels
//   lows                             heights of its panels where a phone shows all of them; without
//                                    it, one row at a time
//   asks                             true where a phone shows the controls above the panels, which
//                                    keep their height there, since each of their rows has a name
// and, if it needs them,
//   limits(state)                    {control: [low, high]}, where one control narrows another
//   unused(state)                    names of controls that do nothing now: they are greyed
//   initialise(state, start)         fills in state that no control shows
//   follow(state, name)              after control `name` has moved: changes other state with it
//   settle(state)                    after the reader has let go: changes state with what is chosen
//   drag                             {panel, change([x, y], state, begins, handle)}, or several:
//                                    the changes of the state while the pointer is down at these
//                                    values in that panel; at its first place it begins. With
//                                    handles(panel, numbers, state), boxes [x, y, width, height]
//                                    around pixels of the panel, a finger that goes down in one may
//                                    move any way, and elsewhere scrolls; `handle` is its place in
//                                    the list. With `onlyHandles` nothing else is dragged
//   play                             {label, step(state)}: a button that makes these changes again
//                                    and again, where time or a walk is the subject
//   meanwhile(state, data, before)   numbers until the controls rest, made from those before, where
//                                    compute() takes long: it then waits
//   linked                           {name: valid(value, state)}: state that no control shows and
//                                    that belongs into a link
//   tiles                            {label, list(state), move(state, from, to)}: a row of words,
//                                    each {key, text}, to be moved by pointer or arrow keys

const STYLE = `
.om { --om-ink: #1f2328; --om-soft: #57606a; --om-grey: #8b929a; --om-0: #0173b2; --om-1: #de8f05;
  --om-2: #029e73; --om-3: #d55e00; --om-gold: #b08800; --om-focus: #0b57d0;
  --om-paper: #fff;
  color: var(--om-ink); font: 14px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 4px 0; }
.om[data-theme=dark] { --om-ink: #e6e8eb; --om-soft: #b3bac2; --om-grey: #8b929a; --om-0: #56b4e9;
  --om-1: #f2ab3c; --om-2: #35c99b; --om-3: #ff8d4d; --om-gold: #ffd54a; --om-focus: #8ab4f8;
  --om-paper: #111;
  color-scheme: dark; }
.om *, .om *::before { box-sizing: border-box; }
.om-controls { display: grid; gap: 2px 24px; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 16.5rem), 1fr)); }
.om-control { display: grid; grid-template-columns: auto 1fr; gap: 8px; min-height: 28px;
  align-items: center; margin: 0; font-weight: normal; color: inherit; }
.om-control.om-slider { grid-template: 24px 22px / 1fr auto; gap: 0 8px; }
.om-slider > :is(span, label) { grid-area: 1 / 1; margin: 0; font-weight: normal; color: inherit; }
.om-slider > :is(output, input[type=number]) { grid-area: 1 / 2; }
.om-slider > input[type=range] { grid-area: 2 / 1 / -1 / -1; }
.om-slider > input[type=number] { width: 5.5rem; height: 24px; padding: 0 4px; text-align: right;
  background: transparent; border: 1px solid var(--om-grey); border-radius: 4px; }
.om-control output { font-variant-numeric: tabular-nums; text-align: left; color: inherit; }
.om-control input, .om-control select { margin: 0; font: inherit; color: inherit; }
.om-control input[type=range] { width: 100%; accent-color: var(--om-0); height: 22px;
  touch-action: pan-y; }
.om-control input[type=checkbox] { justify-self: start; width: 18px; height: 18px;
  accent-color: var(--om-0); }
.om-control select { grid-column: 2 / -1; max-width: 100%; justify-self: start; padding: 1px 4px;
  background: transparent; border: 1px solid var(--om-grey); border-radius: 4px; }
.om-control input[type=text] { grid-column: 2 / -1; width: 100%; padding: 1px 4px;
  background: transparent; border: 1px solid var(--om-grey); border-radius: 4px; }
.om-control.om-unused { opacity: 0.4; }
.om-wide { grid-column: 1 / -1; }
.om-tiles { display: flex; flex-wrap: wrap; gap: 6px; margin: 8px 0 2px; }
.om-tile { font: inherit; color: inherit; background: transparent; min-height: 32px; margin: 0;
  padding: 2px 12px; border: 1.5px solid var(--om-grey); border-radius: 16px; cursor: grab;
  touch-action: none; user-select: none; }
.om-tile[data-held] { border-color: var(--om-3); cursor: grabbing; }
.om-control option { color: #1f2328; background: #fff; }
.om :focus-visible { outline: 2px solid var(--om-focus); outline-offset: 2px; border-radius: 3px; }
.om-play { font: inherit; color: inherit; background: transparent; cursor: pointer;
  min-height: 28px; justify-self: start; padding: 1px 12px;
  border: 1px solid var(--om-grey); border-radius: 14px; }
.om-tabs { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); gap: 6px;
  margin-top: 6px; }
.om-tabs[hidden] { display: none; }
.om-tabs button { font: inherit; font-size: 12px; line-height: 1.2; color: inherit; margin: 0;
  background: transparent; min-height: 40px; padding: 2px 4px; cursor: pointer; border: 0;
  border-bottom: 3px solid transparent; }
.om-tabs button[aria-pressed=true] { font-weight: 600; border-color: var(--om-0); }
.om-picture { display: flex; flex-wrap: wrap; gap: 4px; margin-top: 6px; }
.om-panel { position: relative; }
.om-panel canvas { position: absolute; image-rendering: pixelated; }
.om-panel > div { position: absolute; }
.om-panel svg { display: block; overflow: hidden; font-size: 11px; }
.om-panel > .om-tip { z-index: 1; padding: 1px 7px; border-radius: 4px; pointer-events: none;
  font-size: 12px; white-space: nowrap; color: Canvas; background: var(--om-ink); }
.om-draggable { cursor: crosshair; touch-action: pan-y; }
.om-panel > .om-handle { cursor: grab; touch-action: none; }
.om-handle:active { cursor: grabbing; }
.om text { fill: var(--om-soft); text-anchor: middle; }
.om text.om-title { fill: var(--om-ink); font-size: 13px; font-weight: 600; }
.om text.om-label { font-size: 12px; }
.om text.om-start { text-anchor: start; }
.om text.om-end { text-anchor: end; }
.om-frame { fill: none; stroke: var(--om-grey); }
.om p { margin: 4px 0; }
.om-spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.om summary { cursor: pointer; color: var(--om-soft); width: fit-content; }
@media (max-width: 480px) { /* the controls pass below what they move */
  .om-stage { display: flex; flex-direction: column; }
  .om-view { position: sticky; z-index: 1; padding-bottom: 4px;
    top: var(--header-height, 0px); background: var(--color-background-primary, Canvas);
    border-bottom: 1px solid var(--om-grey); box-shadow: 0 6px 6px -5px rgb(0 0 0 / 40%); }
  .om-view:not(.om-still) { margin-bottom: 64px; } /* it goes while the last control is in sight */
  .om-controls { order: 1; }
  .om-stage:has(> .om-view:not(.om-still)) > .om-controls { margin-top: -60px; }
  .om-view:not(.om-still) .om-sentence { min-height: 4.35em; } /* three lines: no jumps */
  .om-view.om-still { position: static; border: 0; box-shadow: none; }
  .om-asks .om-controls { order: 0; column-gap: 12px;
    grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .om-asks .om-control:has(> select) { grid-template: auto auto / minmax(0, 1fr); }
  .om-asks .om-control > select { grid-area: 2 / 1; width: 100%; }
  .om-asks .om-slider { grid-column: 1 / -1; } }
@media print { .om-controls, .om-tabs, .om-play { display: none; } }
.om .om-tile, .om .om-play { border-radius: 16px; } /* JupyterLab has a rule for all buttons */
@media (pointer: coarse) {
  .om-controls { row-gap: 0; }
  .om-control { min-height: 44px; }
  .om-control select, .om-control input[type=text] { font-size: 16px; height: 40px; }
  .om-control:has(> select) { grid-template: 20px 40px / 1fr; gap: 0; font-size: 13px;
    margin-bottom: 8px; }
  .om-control > select { grid-area: 2 / 1; }
  .om-control input[type=checkbox] { width: 24px; height: 24px; }
  .om-control.om-slider { grid-template: 16px 28px / 1fr auto; gap: 0; font-size: 13px; }
  .om-control.om-slider > input[type=range] { grid-area: 1 / 1 / -1 / -1; height: 36px;
    margin-top: 8px; }
  .om-control.om-fine { grid-template-rows: 36px 36px; }
  .om-control.om-fine > input[type=range] { grid-area: 2 / 1 / -1 / -1; margin: 0; }
  .om-slider > input[type=number] { font-size: 16px; height: 36px; }
  .om-tile, .om-play { min-height: 40px; border-radius: 20px; }
  .om-tile { min-width: 40px; }
  .om summary { min-height: 40px; padding: 10px 0; }
}
`;
const BEAT = 140; // milliseconds between two steps of what plays
const REST = 600; // milliseconds without a change, after which the sentence is spoken
const PAUSE = 150; // milliseconds without a change, after which a slow explorer computes
const SETTLE = 250; // milliseconds after a release without another, as of a key that repeats
const GAP = 4; // pixels between two panels
const PHONE = 480; // pixels; on narrower screens the picture stands above its controls
const IN_SIGHT = 0.4; // of such a screen for what stays in sight while the controls scroll
const LEAST_HEIGHT = 170; // pixels of a panel there
const FINE = 200; // values; a slider that has more has a field for the number beside it
const SHORT_TEXT = 30; // characters; a longer text has a row of controls to itself

// Numbers, pictures and words at this state, without a page: for the page below, and for tests.
// With the numbers `before` a slow explorer does not compute yet.
function viewOf(explorer, spec, state, width, dark, before = null, most = []) {
  const numbers = before ? explorer.meanwhile(state, spec.data, before)
    : explorer.compute(state, spec.data);
  const panels = panelsOf(explorer, width, dark, most);
  explorer.draw(panels, numbers, state);
  const sentence = explorer.sentence(numbers, state);
  return { state, numbers, panels, sentence, description: explorer.description(numbers, state) };
}

// Empty panels, in as few rows as the width allows; `most` are heights that they do not exceed.
function panelsOf({ columns, minWidth, height }, width, dark, most) {
  const fitting = Math.floor((width + GAP) / (minWidth + GAP));
  const rows = Math.ceil(columns.length / Math.max(1, Math.min(columns.length, fitting)));
  const perRow = Math.ceil(columns.length / rows);
  return columns.map((share, n) => {
    const first = n - n % perRow;
    const row = columns.slice(first, first + perRow);
    const sum = row.reduce((total, other) => total + other, 0);
    const panelWidth = Math.floor((width - GAP * (row.length - 1)) * share / sum);
    const high = Math.min(Math.round(height(panelWidth)), most[n] ?? Infinity);
    const panel = new Panel(panelWidth, high, dark);
    return Object.assign(panel, { row: first / perRow });
  });
}

// The requested state, with each control within what the others allow.
function limited(explorer, spec, requested) {
  const state = { ...requested };
  for (const [name, [low, high]] of Object.entries(explorer.limits?.(requested) ?? {})) {
    const { values } = spec.controls.find((control) => control.name === name);
    const valid = values.filter((value) => value >= low && value <= high);
    state[name] = Math.min(Math.max(requested[name], valid[0]), valid[valid.length - 1]);
  }
  return state;
}

// The state to begin with, and the spec for it: a start between two steps becomes a step itself.
function initial(explorer, spec, start) {
  const state = Object.fromEntries(spec.controls.map(({ name, start }) => [name, start]));
  Object.assign(state, start);
  const controls = spec.controls.map((control) => {
    const value = state[control.name];
    if (!control.values || control.values.includes(value)) return control;
    return { ...control, values: [...control.values, value].sort((a, b) => a - b) };
  });
  explorer.initialise?.(state, start);
  return [state, { ...spec, controls }];
}

// JupyterLab says its theme, Sphinx's furo its reader's choice; else it is the system's.
function isDark() {
  const { jpThemeLight, theme } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "false";
  if (theme === "dark" || theme === "light") return theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function newElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The place of a value among those of a slider: of the nearest, where it is between two.
function placeOf(value, values) {
  const distances = values.map((other) => Math.abs(other - value));
  return distances.indexOf(Math.min(...distances));
}

// The element of a control, and functions to write a state into it and to read it.
function controlOf(control, id) {
  if (control.values) return sliderOf(control, id);
  if (control.longest) return textOf(control, id);
  return control.options ? choiceOf(control, id) : tickOf(control, id);
}

function labelOf(label, ...children) {
  return newElement("label", { class: "om-control" }, newElement("span", {}, label), ...children);
}

function sliderOf({ name, label, values }, id) {
  const input = newElement("input", { type: "range", id, step: 1, name });
  const field = values.length > FINE && fieldOf(label, values, input);
  const output = field || newElement("output", { for: id });
  const element = field
    ? newElement("div", { class: "om-control om-fine" }, newElement("label", { for: id }, label),
      input, field)
    : labelOf(label, input, output);
  element.classList.add("om-slider");
  stayInSwipe(input);
  return {
    element,
    input,
    write(state, [low, high] = [-Infinity, Infinity]) {
      const valid = values.filter((value) => value >= low && value <= high);
      input.min = values.indexOf(valid[0]);
      input.max = values.indexOf(valid[valid.length - 1]);
      input.value = placeOf(state[name], values);
      const text = fixed(state[name], 0, 6);
      input.setAttribute("aria-valuetext", text);
      if (!field) output.textContent = text;
      else if (field !== document.activeElement) field.value = state[name];
      if (field) [field.min, field.max] = [valid[0], valid.at(-1)];
    },
    read: () => values[Number(input.value)],
  };
}

// A field for the number of a fine slider, which moves there as it is typed.
function fieldOf(label, values, input) {
  const field = newElement("input", { type: "number", "aria-label": `${label}, as a number`,
    step: Number((values[1] - values[0]).toPrecision(6)), inputmode: "decimal" });
  field.addEventListener("input", () => {
    const value = field.valueAsNumber;
    if (Number.isNaN(value) || value < values[input.min] || value > values[input.max]) return;
    input.value = placeOf(value, values);
    input.dispatchEvent(new Event("input"));
  });
  field.addEventListener("change", () => { field.value = values[input.value]; });
  return field;
}

// A finger that swipes over a slider scrolls the page, and the slider, which moved at its touch, is
// put back.
function stayInSwipe(input) {
  let before;
  input.addEventListener("pointerdown", () => { before = input.value; });
  input.addEventListener("pointercancel", () => {
    if (input.value === before) return;
    input.value = before;
    input.dispatchEvent(new Event("input"));
  });
}

function choiceOf({ name, label, options, words }, id) {
  const input = newElement("select", { id, name },
    ...options.map((option) => new Option(words[option] ?? option, option)));
  return {
    element: labelOf(label, input),
    input,
    write(state) { input.value = state[name]; },
    read: () => input.value,
  };
}

function tickOf({ name, label }, id) {
  const input = newElement("input", { type: "checkbox", id, name });
  return {
    element: labelOf(label, input),
    input,
    write(state) { input.checked = state[name]; },
    read: () => input.checked,
  };
}

function textOf({ name, label, longest }, id) {
  const input = newElement("input", { type: "text", id, name, maxlength: longest,
    autocomplete: "off", spellcheck: "false" });
  const element = labelOf(label, input);
  if (longest > SHORT_TEXT) element.classList.add("om-wide");
  return {
    element,
    input,
    write(state) {
      if (input.value !== state[name]) input.value = state[name]; // writing moves the cursor
    },
    read: () => input.value,
  };
}

// Put an explorer into an element of any page; `start` has values of its controls. The result can
// set() values, tell its state, and remove() itself.
function mountOn(explorer, givenSpec, element, start = {},
  link = linkOf(explorer, givenSpec, element)) {
  const [requested, spec] = initial(explorer, givenSpec, { ...start, ...link?.read() });
  const id = `om-${Math.random().toString(36).slice(2)}`; // other modules may be on the page
  const names = spec.controls.map(({ name }) => name);
  const controls = spec.controls.map((control) => controlOf(control, `${id}-${control.name}`));
  const boxes = explorer.columns.map(newBox);
  const tiles = explorer.tiles && newTiles(explorer.tiles, moveTile);
  const tabs = newTabs(boxes);
  const { root, bar, seen, sentence, spoken, description } =
    newPage(spec.title, id, controls, boxes, tabs.element, tiles?.element);
  const drags = [explorer.drag ?? []].flat();
  const player = explorer.play && newPlayer(explorer.play.label, () =>
    set(explorer.play.step(view.state)));
  root.classList.toggle("om-asks", Boolean(explorer.asks));
  if (player) bar.append(player.element);
  let view;
  let width = 0, most = [];
  let rest, pause, settling;
  let touched = false; // by the reader: until then the address stays as it is

  function show() {
    draw();
  }

  function draw(before) {
    const state = limited(explorer, spec, requested);
    const limits = explorer.limits?.(requested) ?? {};
    const dark = isDark();
    const unused = explorer.unused?.(state) ?? [];
    controls.forEach((control, n) => {
      control.write(state, limits[names[n]]);
      const isUnused = unused.includes(names[n]);
      for (const input of control.element.querySelectorAll("input, select")) {
        input.disabled = isUnused;
      }
      control.element.classList.toggle("om-unused", isUnused);
    });
    root.dataset.theme = dark ? "dark" : "light";
    tiles?.write(state);
    if (!width) return;
    view = viewOf(explorer, spec, state, width, dark, before, most);
    view.panels.forEach((panel, n) => paint(panel, boxes[n]));
    for (const { panel, handles } of drags.filter((drag) => drag.handles)) {
      placeHandles(boxes[panel], handles(view.panels[panel], view.numbers, view.state));
    }
    tabs.write(view.panels);
    sentence.textContent = view.sentence;
    if (width < PHONE) sentence.style.minHeight = `${sentence.offsetHeight}px`; // no jumps below it
    description.textContent = view.description;
    clearTimeout(rest);
    rest = setTimeout(() => {
      spoken.textContent = view.sentence;
      if (touched) link?.write(view.state);
    }, REST);
  }

  // Whole pixels that panels may take; clientWidth would round 826.8 up, and the last would wrap.
  const room = () => Math.floor(root.getBoundingClientRect().width);

  // After a change of the width. What a phone's screen shows whole, with all controls, scrolls as
  // the page does, and so do words to be moved, on which nothing lies, and what asks. Other
  // pictures stay in sight while their controls scroll, one row of panels at a time, and become
  // lower for it.
  function fit() {
    width = room();
    sentence.style.minHeight = "";
    const isPhone = width < PHONE;
    most = isPhone ? explorer.lows ?? [] : [];
    show();
    if (!width) return;
    const header = parseFloat(getComputedStyle(seen).top) || 0;
    const isTooHigh = () => header + seen.offsetHeight + bar.offsetHeight > innerHeight;
    tabs.inTurn(false);
    tabs.write(view.panels);
    tabs.inTurn(isPhone && isTooHigh() && !explorer.lows && view.panels.at(-1).row > 0);
    tabs.write(view.panels);
    const stays = isTooHigh() && !tiles && !explorer.lows && !explorer.asks;
    seen.classList.toggle("om-still", !stays);
    if (!stays || !isPhone) return;
    const shown = boxes.findIndex(({ element: box }) => !box.hidden);
    const around = seen.offsetHeight - view.panels[shown].height;
    most = boxes.map(() => Math.max(LEAST_HEIGHT, Math.round(IN_SIGHT * innerHeight - around)));
    show();
  }

  function set(changes) {
    for (const [name, value] of Object.entries(changes)) {
      requested[name] = value;
      explorer.follow?.(requested, name);
    }
    touched = true;
    clearTimeout(pause);
    if (!explorer.meanwhile || !view) {
      show();
      return;
    }
    draw(view.numbers);
    sentence.textContent = "Reading …";
    pause = setTimeout(show, PAUSE);
  }

  function release() {
    clearTimeout(settling);
    settling = setTimeout(() => {
      explorer.settle(requested);
      show();
    }, SETTLE);
  }

  function moveTile(from, to) {
    set(explorer.tiles.move(requested, from, to));
  }

  controls.forEach((control, n) => {
    control.input.addEventListener("input", () => set({ [names[n]]: control.read() }));
  });
  for (const { panel, change, onlyHandles } of drags) {
    onDrag(boxes[panel], onlyHandles, (left, top, begins, handle) => {
      set(change(view.panels[panel].valuesAt(left, top), view.state, begins, handle));
    });
  }
  boxes.forEach(({ element }, n) => newTip(element, (...place) => view.panels[n].cellAt(...place)));
  // Notebooks act on keys and on dragging in their outputs. These are the explorer's own, but for
  // those that run a cell or leave the explorer.
  for (const kind of ["keydown", "pointerdown", "mousedown", "touchstart"]) {
    root.addEventListener(kind, (event) => event.stopPropagation(), { passive: true });
  }
  if (explorer.settle) {
    for (const kind of ["change", "pointerup", "click"]) root.addEventListener(kind, release);
  }
  root.addEventListener("keydown", handOver);
  const sizes = new ResizeObserver(() => {
    if (room() !== width) fit();
  });
  const themes = new MutationObserver(show);
  const system = matchMedia("(prefers-color-scheme: dark)");
  themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "data-theme"] });
  system.addEventListener("change", show);
  element.append(root);
  sizes.observe(root);
  fit();
  const remove = () => {
    if (touched && view) link?.write(view.state); // the controls may not have rested yet
    clearTimeout(rest);
    clearTimeout(pause);
    clearTimeout(settling);
    player?.stop();
    sizes.disconnect();
    themes.disconnect();
    system.removeEventListener("change", show);
    root.remove();
  };
  return { set, remove, get state() { return view?.state; } };
}

// Words at the pointer that say the value of the cell under it; `textAt` gives them.
function newTip(element, textAt) {
  const tip = newElement("div", { class: "om-tip", hidden: "" });
  element.append(tip);
  const follow = (event) => {
    const { left, top, width } = element.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    tip.textContent = textAt(x, y);
    tip.hidden = !tip.textContent;
    tip.style.top = `${y + 14}px`;
    tip.style.left = x < width / 2 ? `${x + 10}px` : "";
    tip.style.right = x < width / 2 ? "" : `${width - x + 10}px`;
  };
  for (const kind of ["pointermove", "pointerdown"]) element.addEventListener(kind, follow);
  element.addEventListener("pointerleave", () => { tip.hidden = true; });
}

// A button that plays and pauses.
function newPlayer(label, step) {
  const element = newElement("button", { type: "button", class: "om-play" }, `▶ ${label}`);
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    element.textContent = `▶ ${label}`;
  };
  element.addEventListener("click", () => {
    if (timer) {
      stop();
      return;
    }
    timer = setInterval(() => (element.isConnected ? step() : stop()), BEAT);
    element.textContent = `❚❚ ${label}`;
  });
  return { element, stop };
}

// On a page of the site the state that a reader has set stands in the address, under the name of
// the explorer's module, so that a link shows what the reader sees. What cannot be is left out.
function linkOf(explorer, spec, element) {
  const mount = element.closest(".om-mount");
  if (!mount) return null;
  const mounts = [...document.querySelectorAll(".om-mount")];
  const same = mounts.slice(0, mounts.indexOf(mount))
    .filter(({ dataset }) => dataset.module === mount.dataset.module).length;
  const [, name] = mount.dataset.module.match(/(\w+)\.js/); // two explorers may share a picture
  const key = same ? `${name}-${same + 1}` : name;
  const names = namesOfState(explorer, spec);
  return {
    read() {
      let asked;
      try {
        asked = JSON.parse(new URLSearchParams(location.search).get(key)) ?? {};
      } catch {
        return {};
      }
      const state = {};
      for (const control of spec.controls) {
        if (isValid(control, asked[control.name])) state[control.name] = asked[control.name];
      }
      for (const [name, valid] of Object.entries(explorer.linked ?? {})) {
        if (valid(asked[name], state)) state[name] = asked[name];
      }
      return state;
    },
    write(state) {
      const address = new URL(location);
      address.searchParams.set(key, JSON.stringify(state, names));
      try {
        history.replaceState(history.state, "", address);
      } catch {
        // a page from a file may not change its address
      }
    },
  };
}

// In a notebook it stands in the model of the widget, and is still there when the cell runs again.
function keptIn(model, explorer, spec) {
  const names = namesOfState(explorer, spec);
  return {
    read: () => ({}), // the model has it as the start
    write(state) {
      model.set("start", Object.fromEntries(names.map((name) => [name, state[name]])));
      model.save_changes();
    },
  };
}

// The state that a reader can set.
function namesOfState(explorer, spec) {
  return [...spec.controls.map(({ name }) => name), ...Object.keys(explorer.linked ?? {})];
}

// Whether a control can have this value.
function isValid({ values, options, longest }, value) {
  if (values) return Number.isFinite(value) && value >= values[0] && value <= values.at(-1);
  if (options) return options.includes(value);
  if (longest) return typeof value === "string" && value.length <= longest;
  return typeof value === "boolean";
}

// Give JupyterLab's cell the keys that run it, and Escape; the cell has the focus from then on.
function handOver(event) {
  const runs = event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.altKey);
  const cell = event.target.closest(".jp-Cell");
  if (!cell || (!runs && event.key !== "Escape")) return;
  event.preventDefault();
  cell.focus();
  cell.dispatchEvent(new KeyboardEvent("keydown", event)); // a copy, with the same key
}

// The element of a panel: a canvas for its image below two layers of SVG.
function newBox() {
  const canvas = newElement("canvas", { hidden: "" });
  const layers = [newElement("div"), newElement("div")];
  const element = newElement("div", { class: "om-panel" }, canvas, ...layers);
  return { element, canvas, layers, handles: [] };
}

// All elements of an explorer: controls, panels and the sentence that are `seen`, the sentence as
// it is spoken, the description.
function newPage(title, id, controls, boxes, tabs, tiles) {
  const bar = newElement("div", { class: "om-controls" },
    ...controls.map((control) => control.element), ...(tiles ? [tiles] : []));
  const picture = newElement(
    "div",
    { class: "om-picture", role: "img", "aria-label": title, "aria-describedby": `${id}-words` },
    ...boxes.map((box) => box.element),
  );
  const sentence = newElement("p", { class: "om-sentence", "aria-hidden": "true" });
  const spoken = newElement("p", { class: "om-spoken", role: "status", "aria-live": "polite" });
  const description = newElement("p", { id: `${id}-words` });
  const seen = newElement("div", { class: "om-view" }, tabs, picture, sentence);
  const root = newElement(
    "div",
    { class: "om", role: "group", "aria-label": `Explorer: ${title}`,
      "data-lm-suppress-shortcuts": "true" },
    newElement("style", {}, STYLE),
    newElement("div", { class: "om-stage" }, bar, seen),
    spoken,
    newElement("details", {}, newElement("summary", {}, "In words"), description),
  );
  return { root, bar, seen, sentence, spoken, description };
}

// A button for each row of panels, where one row is in sight at a time, at first that of a panel.
function newTabs(boxes) {
  const element = newElement("div", { class: "om-tabs", role: "group", "aria-label": "Pictures" });
  let panels = [], chosen = 0;
  element.hidden = true;

  function newTab(row) {
    const button = newElement("button", { type: "button" });
    button.addEventListener("click", () => {
      chosen = row;
      write(panels);
    });
    return button;
  }

  function write(drawn) {
    panels = drawn;
    boxes.forEach((box, n) => {
      box.element.hidden = !element.hidden && panels[n].row !== chosen;
    });
    if (element.hidden) return;
    const rows = panels.at(-1).row + 1;
    while (element.children.length < rows) element.append(newTab(element.children.length));
    [...element.children].forEach((button, row) => {
      const titles = panels.filter((panel) => panel.row === row).map(({ title }) => title);
      button.textContent = titles.filter(Boolean).join(" · ") || `picture ${row + 1}`;
      button.setAttribute("aria-pressed", row === chosen);
    });
  }

  return { element, write, inTurn: (needed) => { element.hidden = !needed; } };
}

// A row of buttons, one for each word. A button stays where it is and words change places between
// them, so that the tab key follows the sentence. Only the buttons keep a finger from scrolling.
function newTiles({ label, list }, move) {
  const element = newElement("div",
    { class: "om-wide om-tiles", role: "group", "aria-label": label });
  const buttons = () => [...element.children];
  let held = -1; // the place of the word under the pointer

  function hold(place) {
    held = place;
    buttons().forEach((button, n) => button.toggleAttribute("data-held", n === held));
  }

  function newTile() {
    const button = newElement("button", { type: "button", class: "om-tile" });
    button.addEventListener("pointerdown", (event) => {
      button.setPointerCapture(event.pointerId);
      hold(buttons().indexOf(button));
    });
    button.addEventListener("pointermove", ({ clientX, clientY }) => {
      if (held < 0) return;
      const place = buttons().findIndex((other) => {
        const { left, right, top, bottom } = other.getBoundingClientRect();
        return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
      });
      if (place < 0 || place === held) return;
      move(held, place);
      hold(place);
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      button.addEventListener(kind, () => hold(-1));
    }
    button.addEventListener("keydown", (event) => {
      const place = buttons().indexOf(button);
      const to = place + { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (!buttons()[to]) return;
      event.preventDefault();
      move(place, to);
      buttons()[to].focus();
    });
    return button;
  }

  function write(state) {
    const words = list(state);
    while (element.children.length < words.length) element.append(newTile());
    while (element.children.length > words.length) element.lastChild.remove();
    words.forEach(({ text }, n) => {
      const button = element.children[n];
      if (button.textContent !== text) button.textContent = text;
      button.setAttribute("aria-label", `${text}, place ${n}; arrow keys move it`);
    });
  }

  return { element, write };
}

// Put a panel's handles, invisible boxes, where a finger may take hold.
function placeHandles({ element, handles }, places) {
  while (handles.length < places.length) {
    handles.push(newElement("div", { class: "om-handle" }));
    element.append(handles.at(-1));
  }
  handles.forEach((handle, n) => {
    handle.hidden = !places[n];
    const [x, y, width, height] = places[n] ?? [0, 0, 0, 0];
    handle.style.left = `${x - width / 2}px`;
    handle.style.top = `${y - height / 2}px`;
    handle.style.width = `${width}px`;
    handle.style.height = `${height}px`;
  });
}

// Call follow(left, top, begins, handle), in pixels of the panel, while the pointer is down in it,
// and whether it is the first call since it went down. A finger that moves up or down scrolls the
// page, unless it has hold of a handle; else it acts by a tap or sideways.
function onDrag({ element, handles }, onlyHandles, follow) {
  let start = null, begins = true, handle; // the place of the handle that is held
  const act = (event) => {
    if (onlyHandles && handle === undefined) return;
    const { left, top } = element.getBoundingClientRect();
    follow(event.clientX - left, event.clientY - top, begins, handle);
    begins = false;
  };
  const isSwipe = ({ pointerType, clientX, clientY }) => pointerType === "touch"
    && handle === undefined
    && Math.abs(clientX - start.clientX) <= Math.abs(clientY - start.clientY);
  if (!onlyHandles) element.classList.add("om-draggable");
  element.addEventListener("pointerdown", (event) => {
    [start, begins] = [event, true];
    const place = handles.indexOf(event.target);
    handle = place < 0 ? undefined : place;
    if (event.pointerType === "touch" && handle === undefined) return;
    element.setPointerCapture(event.pointerId);
    event.preventDefault(); // no text is selected
    if (event.pointerType !== "touch") act(event);
  });
  element.addEventListener("pointermove", (event) => {
    if (!(event.buttons & 1) || !start || isSwipe(event)) return;
    if (begins) act(start); // a finger has moved some pixels before it is told from a tap
    act(event);
  });
  element.addEventListener("click", act);
}

function paint(panel, { element, canvas, layers }) {
  element.style.width = `${panel.width}px`;
  element.style.height = `${panel.height}px`;
  panel.layers.forEach((svg, n) => {
    if (layers[n].drawn === svg) return; // laying out text again is what takes the time
    layers[n].innerHTML = svg;
    layers[n].drawn = svg;
  });
  canvas.hidden = !panel.image;
  if (panel.image) paintImage(panel.image, canvas);
}

function paintImage({ left, top, width, height, columns, rows, pixels }, canvas) {
  for (const [side, size] of Object.entries({ left, top, width, height })) {
    canvas.style[side] = `${size}px`;
  }
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// What a module exports: its own view() and mount(), and render() for anywidget.
function module(explorer, givenSpec) {
  return {
    view(start, width = 900, dark = false) {
      const [requested, spec] = initial(explorer, givenSpec, start);
      return viewOf(explorer, spec, limited(explorer, spec, requested), width, dark);
    },
    mount: (element, start) => mountOn(explorer, givenSpec, element, start),
    render({ model, el }) {
      const link = keptIn(model, explorer, givenSpec);
      return mountOn(explorer, givenSpec, el, model.get("start"), link).remove;
    },
  };
}
