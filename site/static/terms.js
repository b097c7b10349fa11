// A word that leads to the glossary shows what it means in a card beside it: where the mouse rests
// on it, the keyboard reaches it or a finger taps it. Without this file it is the link that it is.
"use strict";
{
  const TERM = 'article :not(#search-results *, .om-term) > a[href*="glossary.html#"]';
  const REST = 200; // milliseconds until the card opens, and until it closes behind the mouse
  const EDGE = 16; // pixels between the card and the side of the screen

  const card = document.createElement("div");
  card.className = "om-term";
  card.id = "om-term";
  card.setAttribute("popover", "auto"); // a tap elsewhere closes it
  let glossary, described = null, waiting = 0; // the page of the glossary, the card's word, a timer

  // The glossary's words for a link, or null where its page cannot be read, as from a file.
  async function entryOf(link) {
    try {
      glossary ??= fetch(link.href).then((answer) => answer.text());
      const page = new DOMParser().parseFromString(await glossary, "text/html");
      const place = decodeURIComponent(new URL(link.href).hash.slice(1));
      const entry = page.getElementById(place).querySelector("p");
      for (const other of entry.querySelectorAll("a")) {
        other.setAttribute("href", new URL(other.getAttribute("href"), link.href));
      }
      return document.importNode(entry, true);
    } catch {
      return null;
    }
  }

  async function open(link) {
    clearTimeout(waiting);
    if (described === link) return;
    close();
    described = link;
    const entry = await entryOf(link);
    if (described !== link) return; // the reader is elsewhere by now
    if (!entry) {
      location.href = link.href;
      return;
    }
    const more = document.createElement("a");
    more.href = link.href;
    more.textContent = "In the glossary";
    card.replaceChildren(entry, more);
    link.after(card); // so that the tab key goes on into it
    link.setAttribute("aria-describedby", card.id);
    card.showPopover();
    place(link);
    await window.MathJax?.typesetPromise?.([card]);
    if (described === link) place(link);
  }

  // Below the first line of a word, or above it where there is no room.
  function place(link) {
    const [word] = link.getClientRects(), { width, height } = card.getBoundingClientRect();
    const left = Math.min(word.left, document.documentElement.clientWidth - width - EDGE);
    const below = word.bottom + height < innerHeight;
    card.style.left = `${Math.max(EDGE, left) + scrollX}px`;
    card.style.top = `${(below ? word.bottom : word.top - height) + scrollY}px`;
  }

  function close() {
    forget();
    if (card.matches(":popover-open")) card.hidePopover();
  }

  function forget() {
    clearTimeout(waiting);
    described?.removeAttribute("aria-describedby");
    described = null;
  }

  function follow() {
    for (const kind of ["pointerover", "pointerout"]) {
      document.addEventListener(kind, ({ type, target, pointerType }) => {
        const link = target.closest?.(TERM);
        if (pointerType !== "mouse" || (!link && !card.contains(target))) return;
        clearTimeout(waiting);
        if (type === "pointerout") waiting = setTimeout(close, REST);
        else if (link && link !== described) waiting = setTimeout(open, REST, link);
      });
    }
    document.addEventListener("focusin", ({ target }) => {
      if (target.matches(TERM) && target.matches(":focus-visible")) open(target);
      else if (!card.contains(target)) close();
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.(TERM);
      const asksForPage = event.ctrlKey || event.metaKey || event.shiftKey || !event.detail;
      if (!link || asksForPage) return; // a key, which has opened the card before
      event.preventDefault();
      open(link);
    });
    document.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") close();
    });
    card.addEventListener("beforetoggle", ({ newState }) => {
      if (newState === "closed") forget();
    });
  }

  if ("popover" in HTMLElement.prototype) follow();
}
