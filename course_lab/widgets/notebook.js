// What a lesson changes in JupyterLab's notebook, together with notebook.css. It shows nothing.

// JupyterLab shows the first line of folded code, which starts with Colab's mark of a title.
const MARK = "#@title ";
function hideMarks() {
  for (const title of document.querySelectorAll(".jp-PlaceholderText")) {
    if (title.textContent.startsWith(MARK)) {
      title.textContent = title.textContent.slice(MARK.length);
    }
  }
}

const watched = new WeakSet(); // notebooks, whose cells come and go as one scrolls
function render({ el }) {
  el.style.display = "none";
  requestAnimationFrame(() => {
    const notebook = el.closest(".jp-Notebook");
    hideMarks();
    if (!notebook || watched.has(notebook)) return;
    watched.add(notebook);
    new MutationObserver(hideMarks).observe(notebook, { childList: true, subtree: true });
  });
}

export default { render };
