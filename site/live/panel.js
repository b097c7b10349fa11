// What all live models of the site share on the page: loading, presets, a table of losses.
//
// A live model is an object with
//   lengths   bytes that it reads at once, a column each
//   build(ready, changed)   makes its controls once the worker is ready, and calls changed() after
//                           each change of them. It returns
//     element   the controls
//     presets   buttons: [{name, apply}], after the words `ask`
//     rows()    what is read: [{name, turning, byReader, base}]. `byReader`: the reader has set it.
//               The losses of the row with `base` say how hard each byte of the text is.

const WAIT = 60; // milliseconds; the worker hears of changes no more often
const MEGABYTE = 1e6;
const WIDEST = 3; // nats a byte, as wide as a column

export function create(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/**
 * The mean loss of a row at a length, and whether all `count` bytes of the passage have been read.
 *
 * Before that it is an estimate. Some bytes are harder than others, so the base's mean loss on the
 * same bytes is subtracted, and its mean loss on all of them is added.
 */
export function estimate(losses, base, count) {
  if (!losses?.length) return null;
  const mean = (list) => list.reduce((sum, loss) => sum + loss, 0) / list.length;
  const done = losses.length === count;
  if (done || base?.length !== count) return { loss: mean(losses), done };
  return { loss: mean(losses) - mean(base.slice(0, losses.length)) + mean(base), done };
}

/**
 * Put a live model into an element; `start` has the `bytes` of its file, their `sha256`, and
 * the file of the `passage` that it reads.
 *
 * `createView(ready, live, want, status, put)` makes what is seen once the model is there; put(own)
 * has the model read other bytes. It returns `controls`, the element; `first`, what gets the focus;
 * `note(read)` and perhaps `goOn(continued)`, which hear the worker.
 * The model is loaded when the reader asks, or `atOnce` where readers do not save on data.
 */
export function mountPanel(element, { bytes, sha256, passage }, live, createView = createTable,
  atOnce = false) {
  let worker = null, view = null;
  const size = (bytes / MEGABYTE).toFixed(2);
  const bar = create("progress", { max: bytes, value: 0, "aria-label": "Loading the model" });
  const count = create("span"), status = create("p", { class: "om-live-said", role: "status" });
  const button = create("button", { type: "button", onclick: () => { load(); cancel.focus(); } },
    `Load the model, ${size} MB`);
  const cancel = create("button", { type: "button",
    onclick: () => stopped("Cancelled. Nothing is kept.") }, "Cancel");
  const loading = create("div", { class: "om-live-loading", hidden: "" }, bar, count, cancel);
  element.append(create("link", { rel: "stylesheet", href: new URL("live.css", import.meta.url) }),
    button, loading, status);
  if (atOnce && !navigator.connection?.saveData) load();

  function load() {
    status.textContent = "";
    show(0);
    button.hidden = !(loading.hidden = false);
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", receive);
    worker.addEventListener("error", () => stopped("The model could not be started."));
    worker.postMessage({ load: { bytes, sha256, passage } });
  }

  function show(loaded) {
    bar.value = loaded;
    count.textContent = `${(loaded / MEGABYTE).toFixed(2)} of ${size} MB`;
  }

  function stopped(why) {
    const focused = element.contains(document.activeElement);
    worker.terminate();
    view?.controls.remove();
    view = null;
    loading.hidden = !(button.hidden = false);
    status.textContent = why;
    if (focused) button.focus();
  }

  function receive({ data: { loaded, ready, read, continued, failed } }) {
    if (loaded) show(loaded);
    else if (failed) {
      button.textContent = `Try again, ${size} MB`;
      stopped(`${view ? "The model stopped." : "The model did not come."} ${failed}`);
    } else if (ready) {
      const focused = loading.contains(document.activeElement);
      loading.hidden = true;
      view = createView(ready, live, (wanted) => worker.postMessage({ wanted }), status,
        (own) => worker.postMessage({ own }));
      element.insertBefore(view.controls, status);
      if (focused) view.first.focus({ preventScroll: true });
    } else if (read) view.note(read);
    else if (continued) view.goOn(continued);
  }
}

// The controls, and the table of the losses that follow from them.
function createTable({ count, ...ready }, { lengths, build }, want, status) {
  const results = new Map(); // key → {length: the loss of each byte so far}
  let rows = [], shown = [], waiting = 0, announced = false;
  const { element, ask, presets, rows: currentRows } = build(ready, changed);
  const body = create("tbody"), progress = create("p", { class: "om-live-progress" });
  const columns = lengths.map((n) => create("th", { scope: "col" }, `${n} bytes`));
  const table = create("table", { class: "om-live-table" },
    create("caption", {}, "Loss, nats a byte"),
    create("thead", {}, create("tr", {}, create("td"), ...columns)), body);
  const buttons = presets.map(({ name, apply }) =>
    create("button", { type: "button", onclick: () => { apply(); changed(); } }, name));
  const group = create("div", { class: "om-live-presets", role: "group", "aria-label": ask },
    create("span", {}, ask), ...buttons);

  function changed() {
    rows = currentRows().map((row) => ({ ...row, key: JSON.stringify(row.turning) }));
    announced = false;
    draw();
    waiting ||= setTimeout(send, WAIT);
  }

  // First how hard the bytes are, then what the reader has set, then the others.
  function send() {
    waiting = 0;
    const all = rows.map(({ key, turning }) => ({ key, turning, lengths }));
    const first = all[rows.findIndex((row) => row.base)];
    want([{ ...first, lengths: lengths.slice(0, 1) }, ...all]);
  }

  function note({ key, n, losses }) {
    results.set(key, { ...results.get(key), [n]: losses });
    if (rows.some((row) => row.key === key)) draw(); // else it comes too late
  }

  function draw() {
    const lossesOf = (key, n) => results.get(key)?.[n], first = lengths[0];
    const base = lossesOf(rows.find((row) => row.base).key, first);
    shown = rows.map(({ key }, r) => lengths.map((n, c) => estimate(lossesOf(key, n), base, count)
      ?? (shown[r]?.[c] && { ...shown[r][c], done: false, old: true }))); // of the last setting
    body.replaceChildren(...rows.map(({ name, byReader }, r) => create("tr",
      byReader ? { class: "om-live-own" } : {}, create("th", { scope: "row" }, name),
      ...shown[r].map(createCell))));
    const read = rows.flatMap(({ key }) => lengths.map((n) => lossesOf(key, n)?.length ?? 0));
    const share = read.reduce((sum, bytes) => sum + bytes, 0) / (count * read.length);
    progress.textContent = share < 1 ? `≈ still reading: ${Math.floor(100 * share)} %`
      : "All have read the whole passage.";
    const set = rows.map(({ name, byReader }, r) => ({ name, byReader, cells: shown[r] }))
      .filter(({ byReader }) => byReader);
    if (announced || !set.every(({ cells }) => cells.every((cell) => cell?.done))) return;
    announced = true;
    status.textContent = set.map(({ name, cells }) => `${name}: ${cells.map(({ loss }, c) =>
      `${loss.toFixed(2)} at ${lengths[c]} bytes`).join(", ")}.`).join(" ");
  }

  const controls = create("div", { class: "om-live-controls" }, table, progress, group, element);
  changed();
  return { controls, note, first: element.querySelector("input") };
}

function createCell(cell) {
  if (!cell) return create("td", {}, "…");
  const { loss, done, old } = cell, bar = create("span", { class: "om-live-bar" });
  bar.style.width = `${100 * Math.min(loss / WIDEST, 1)}%`;
  const kind = old ? "om-live-old" : done ? "" : "om-live-estimate";
  return create("td", { class: kind }, `${done ? "" : "≈ "}${loss.toFixed(2)}`, bar);
}
