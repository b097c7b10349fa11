// The shell of an explorer: its controls, where its picture stands, what is said about it.
//
// An explorer is an object with
//   compute(state, data) → found   the numbers, without looking at a page
//   draw(panels, found, state)     on Panels of drawing.js
//   sentence(found, state)         the numbers to notice; spoken when the controls rest
//   words(found, state)            what the picture shows, for those who do not see it
//   columns                        how wide the panels are, one number each: [1.6, 1]
//   least                          the smallest width of a panel in pixels, before rows break
//   height(width)                  of a panel, in pixels
// and, if it needs them,
//   limits(state)                  {control: [low, high]}, where one control narrows another
//   start(state, given)            fills in state that no control shows
//   changed(state, name)           a control moved: other state that follows
//   drag {panel, to([x, y])}       changes of the state while the pointer is down in that panel

const STYLE = `
.om { --om-ink: #1f2328; --om-soft: #57606a; --om-grey: #8b929a; --om-0: #0173b2; --om-1: #de8f05;
  --om-2: #029e73; --om-3: #d55e00; --om-gold: #b08800; --om-focus: #0b57d0;
  color: var(--om-ink); font: 14px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 4px 0; }
.om[data-theme=dark] { --om-ink: #e6e8eb; --om-soft: #b3bac2; --om-grey: #8b929a; --om-0: #56b4e9;
  --om-1: #f2ab3c; --om-2: #35c99b; --om-3: #ff8d4d; --om-gold: #ffd54a; --om-focus: #8ab4f8;
  color-scheme: dark; }
.om *, .om *::before { box-sizing: border-box; }
.om-controls { display: grid; gap: 2px 24px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); }
.om-control { display: grid; grid-template-columns: 6.5rem 1fr 4.5rem; gap: 8px; min-height: 28px;
  align-items: center; margin: 0; font-weight: normal; color: inherit; }
.om-control output { font-variant-numeric: tabular-nums; text-align: left; color: inherit; }
.om-control input, .om-control select { margin: 0; font: inherit; color: inherit; }
.om-control input[type=range] { width: 100%; accent-color: var(--om-0); height: 22px; }
.om-control input[type=checkbox] { justify-self: start; width: 18px; height: 18px;
  accent-color: var(--om-0); }
.om-control select { grid-column: 2 / -1; max-width: 100%; justify-self: start; padding: 1px 4px;
  background: transparent; border: 1px solid var(--om-grey); border-radius: 4px; }
.om-control option { color: #1f2328; background: #fff; }
.om :focus-visible { outline: 2px solid var(--om-focus); outline-offset: 2px; border-radius: 3px; }
.om-picture { display: flex; flex-wrap: wrap; gap: 4px; margin-top: 6px; }
.om-panel { position: relative; }
.om-panel canvas { position: absolute; image-rendering: pixelated; }
.om-panel > div { position: absolute; }
.om-panel svg { display: block; overflow: hidden; font-size: 11px; }
.om-draggable { cursor: crosshair; touch-action: none; }
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
@media print { .om-controls { display: none; } }
`;
const REST = 600; // milliseconds without a change, after which the sentence is spoken

// What is to be seen at this state, without a page: for the page below, and for tests.
function look(explorer, spec, state, width, dark) {
  const found = explorer.compute(state, spec.data);
  const { columns, least } = explorer, gap = 4;
  const fits = Math.max(1, Math.min(columns.length, Math.floor((width + gap) / (least + gap))));
  const rows = Math.ceil(columns.length / fits), inRow = Math.ceil(columns.length / rows);
  const panels = columns.map((share, n) => {
    const first = n - n % inRow, row = columns.slice(first, first + inRow);
    const sum = row.reduce((total, one) => total + one, 0);
    const wide = Math.floor((width - gap * (row.length - 1)) * share / sum);
    return new Panel(wide, Math.round(explorer.height(wide)), dark);
  });
  explorer.draw(panels, found, state);
  const told = [explorer.sentence(found, state), explorer.words(found, state)];
  return { state, found, panels, sentence: told[0], words: told[1] };
}

// The state that is asked for, with each control within what the others allow.
function within(explorer, spec, asked) {
  const state = { ...asked };
  for (const [name, [low, high]] of Object.entries(explorer.limits?.(asked) ?? {})) {
    const values = spec.controls.find((one) => one.name === name).values;
    const valid = values.filter((value) => value >= low && value <= high);
    state[name] = Math.min(Math.max(asked[name], valid[0]), valid[valid.length - 1]);
  }
  return state;
}

// The state to begin with, and the spec for it: a start between two steps gets a step of its own.
function started(explorer, spec, start) {
  const asked = Object.fromEntries(spec.controls.map((one) => [one.name, one.start]));
  Object.assign(asked, start);
  const controls = spec.controls.map((one) => {
    const own = asked[one.name];
    if (!one.values || one.values.includes(own)) return one;
    return { ...one, values: [...one.values, own].sort((a, b) => a - b) };
  });
  explorer.start?.(asked, start);
  return [asked, { ...spec, controls }];
}

// JupyterLab says its theme, Sphinx's furo its reader's choice; else it is the system's.
function isDark() {
  const { jpThemeLight, theme } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "false";
  if (theme === "dark" || theme === "light") return theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The place of a slider's value among all it can have: of the nearest, where it is between two.
function placeOf(value, values) {
  const away = values.map((one) => Math.abs(one - value));
  return away.indexOf(Math.min(...away));
}

// The element of a control, and functions to write a state into it and to read it.
function controlOf({ name, label, values, options }, id) {
  const shown = made("output", { for: id });
  if (values) {
    const input = made("input", { type: "range", id, step: 1, name });
    return {
      row: made("label", { class: "om-control" }, made("span", {}, label), input, shown), input,
      write(state, [low, high] = [-Infinity, Infinity]) {
        const valid = values.filter((value) => value >= low && value <= high);
        input.min = values.indexOf(valid[0]);
        input.max = values.indexOf(valid[valid.length - 1]);
        input.value = placeOf(state[name], values);
        shown.textContent = fixed(state[name], 0, 6);
        input.setAttribute("aria-valuetext", shown.textContent);
      },
      read: () => values[Number(input.value)],
    };
  }
  const input = options ? made("select", { id, name }, ...options.map((one) => new Option(one)))
    : made("input", { type: "checkbox", id, name });
  return {
    row: made("label", { class: "om-control" }, made("span", {}, label), input), input,
    write(state) { if (options) input.value = state[name]; else input.checked = state[name]; },
    read: () => (options ? input.value : input.checked),
  };
}

// Put the explorer into an element of any page; start are values of its controls. What comes back
// can set() values, tell its state, and remove() itself.
function mountOn(explorer, given, element, start = {}) {
  const [asked, spec] = started(explorer, given, start);
  const id = `om-${Math.random().toString(36).slice(2)}`; // other modules may be on the page
  const controls = spec.controls.map((one) => controlOf(one, `${id}-${one.name}`));
  const picture = made("div", { class: "om-picture", role: "img", "aria-label": spec.title,
    "aria-describedby": `${id}-words` });
  const boxes = explorer.columns.map(() => {
    const canvas = made("canvas", { hidden: "" }), layers = [made("div"), made("div")];
    return { box: made("div", { class: "om-panel" }, canvas, ...layers), canvas, layers };
  });
  picture.append(...boxes.map(({ box }) => box));
  const sentence = made("p", { class: "om-sentence", "aria-hidden": "true" });
  const spoken = made("p", { class: "om-spoken", role: "status", "aria-live": "polite" });
  const words = made("p", { id: `${id}-words` });
  const root = made("div", { class: "om", role: "group", "aria-label": `Explorer: ${spec.title}`,
    "data-lm-suppress-shortcuts": "true" }, made("style", {}, STYLE),
  made("div", { class: "om-controls" }, ...controls.map(({ row }) => row)),
  picture, sentence, spoken, made("details", {}, made("summary", {}, "In words"), words));
  let seen, width = 0, rest;

  function show() {
    const state = within(explorer, spec, asked), dark = isDark();
    const limits = explorer.limits?.(asked) ?? {};
    controls.forEach((one, n) => one.write(state, limits[spec.controls[n].name]));
    root.dataset.theme = dark ? "dark" : "light";
    if (!width) return;
    seen = look(explorer, spec, state, width, dark);
    seen.panels.forEach((panel, n) => paint(panel, boxes[n]));
    sentence.textContent = seen.sentence;
    words.textContent = seen.words;
    clearTimeout(rest);
    rest = setTimeout(() => { spoken.textContent = seen.sentence; }, REST);
  }

  function set(changes) {
    for (const [name, value] of Object.entries(changes)) {
      asked[name] = value;
      explorer.changed?.(asked, name);
    }
    show();
  }

  controls.forEach((one, n) => {
    one.input.addEventListener("input", () => set({ [spec.controls[n].name]: one.read() }));
  });
  if (explorer.drag) draggable(explorer.drag);

  function draggable({ panel, to }) {
    const { box } = boxes[panel], follow = (event) => {
      if (!(event.buttons & 1)) return;
      const { left, top } = box.getBoundingClientRect();
      set(to(seen.panels[panel].at(event.clientX - left, event.clientY - top)));
    };
    box.classList.add("om-draggable");
    box.addEventListener("pointerdown", (event) => {
      box.setPointerCapture(event.pointerId);
      event.preventDefault(); // no text is selected
      follow(event);
    });
    box.addEventListener("pointermove", follow);
  }

  // Notebooks act on keys and on dragging in their outputs. These are the explorer's own.
  for (const kind of ["keydown", "pointerdown", "mousedown", "touchstart"]) {
    root.addEventListener(kind, (event) => event.stopPropagation(), { passive: true });
  }
  const sizes = new ResizeObserver(() => {
    if (Math.floor(root.clientWidth) === width) return;
    width = Math.floor(root.clientWidth);
    show();
  });
  const themes = new MutationObserver(show), system = matchMedia("(prefers-color-scheme: dark)");
  themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "data-theme"] });
  system.addEventListener("change", show);
  element.append(root);
  sizes.observe(root);
  width = Math.floor(root.clientWidth);
  show();
  const remove = () => {
    clearTimeout(rest);
    sizes.disconnect();
    themes.disconnect();
    system.removeEventListener("change", show);
    root.remove();
  };
  return { set, remove, get state() { return seen?.state; } };
}

function paint(panel, { box, canvas, layers }) {
  box.style.width = `${panel.width}px`;
  box.style.height = `${panel.height}px`;
  panel.layers.forEach((svg, n) => {
    if (layers[n].drawn === svg) return; // laying out text again is what takes the time
    layers[n].innerHTML = svg;
    layers[n].drawn = svg;
  });
  canvas.hidden = !panel.image;
  if (!panel.image) return;
  const { left, top, w, h, columns, rows, pixels } = panel.image;
  for (const [side, size] of Object.entries({ left, top, width: w, height: h })) {
    canvas.style[side] = `${size}px`;
  }
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// The last two functions of a module: its own view() and mount(), and render() for anywidget.
function module(explorer, spec) {
  return {
    view(start, width = 900, dark = false) {
      const [asked, own] = started(explorer, spec, start);
      return look(explorer, own, within(explorer, own, asked), width, dark);
    },
    mount: (element, start) => mountOn(explorer, spec, element, start),
    render: ({ model, el }) => mountOn(explorer, spec, el, model.get("start")).remove,
  };
}
