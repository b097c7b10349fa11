// Tables and lists to filter and sort. Without it all rows stand there, in the order of the page.
"use strict";
{
  const every = (selector, within = document) => [...within.querySelectorAll(selector)];

  // What a reader has made of the guess in a row: "open", "right", "wrong" or "shown".
  const guessed = (row) => {
    const form = row.querySelector(".om-guess");
    if (!form?.querySelector("fieldset").disabled) return "open";
    const { right } = form.querySelector(".om-said").dataset;
    return { true: "right", false: "wrong" }[right] ?? "shown";
  };

  class Filter {
    constructor(form) {
      this.form = form;
      const list = document.getElementById(form.dataset.rows);
      this.rows = every(".om-row", list);
      this.table = list.matches("table") ? list : null;
      this.texts = this.rows.map((row) => row.textContent.toLowerCase());
      form.addEventListener("input", () => this.apply());
      form.addEventListener("submit", (event) => event.preventDefault());
      form.querySelector(".om-all").addEventListener("click", () => this.all());
      form.querySelector(".om-unfold")?.addEventListener("click", () => {
        const sealed = ".om-row:not([hidden]) .om-sealed:not([open]) > summary";
        for (const summary of every(sealed, list)) summary.click();
        form.querySelector(".om-unfold").focus();
      });
      this.apply();
    }

    all() {
      for (const control of every("select, input", this.form)) control.value = "";
      this.apply();
    }

    // A column in which all rows say what was chosen is left out.
    leaveOut(names) {
      if (!this.table) return;
      [...this.table.tHead.rows[0].cells].forEach(({ dataset: { column } }, n) => {
        if (!column) return;
        for (const row of this.table.rows) row.cells[n].hidden = names.includes(column);
      });
    }

    // Choose otherwise where a choice hides this row.
    show(row) {
      for (const select of every("select", this.form)) {
        if (select.value && row.dataset[select.name] !== select.value) {
          select.value = row.dataset[select.name] ?? "";
        }
      }
      if (this.form.querySelector("input")) this.form.querySelector("input").value = "";
      this.apply();
    }

    apply() {
      const words = (this.form.querySelector("input")?.value ?? "").toLowerCase().split(/\s+/);
      const chosen = every("select", this.form).filter((select) => select.value);
      const holds = (row, { name, value }) =>
        (name === "guess" ? guessed(row) : row.dataset[name]) === value;
      this.rows.forEach((row, n) => {
        row.hidden = !(chosen.every((select) => holds(row, select))
          && words.every((word) => this.texts[n].includes(word)));
      });
      this.leaveOut(chosen.map(({ name }) => name));
      const left = this.rows.filter((row) => !row.hidden).length;
      this.form.querySelector(".om-all").disabled = left === this.rows.length;
      this.form.querySelector(".om-count").textContent = `${left} of ${this.rows.length} shown.`;
    }
  }

  const filters = every(".om-filter").map((form) => new Filter(form));

  // A link may lead to a row that is not shown, or into what is folded.
  const reveal = () => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return; // no text in this encoding
    }
    if (!target) return;
    const row = target.closest(".om-row");
    if (row?.hidden) filters.find(({ rows }) => rows.includes(row)).show(row);
    for (let up = target; up; up = up.parentElement) {
      if (up.matches("details:not(.om-sealed)")) up.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // -------------------------------------------------------------------------------------- sorting

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };

  // Numbers before texts, what is no number last; equal ones stay in order.
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") {
      return Number.isNaN(a) - Number.isNaN(b) || (Number.isNaN(a) ? 0 : a - b);
    }
    return String(a).localeCompare(String(b), "en");
  };

  function sort(table, column, down) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => {
      const last = Number.isNaN(a) || Number.isNaN(b);
      return compare(a, b) * (down && !last ? -1 : 1);
    });
    body.append(...rows.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((cell, n) => {
      if (n === column) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
  }

  for (const table of every(".om-sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, n) => {
      const button = document.createElement("button");
      button.append(...cell.childNodes);
      button.addEventListener("click", () =>
        sort(table, n, cell.getAttribute("aria-sort") === "ascending"));
      cell.append(button);
    });
  }
}
