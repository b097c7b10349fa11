// A deck of claims, one card at a time: a tap is a guess, the verdict stands in the card, and at
// the end there is a score to share. Without it the cards stand one below the other, as in the ledger.
// site.js, loaded before, keeps the guesses and writes the verdicts.
"use strict";
for (const deck of document.querySelectorAll(".om-deck")) {
  const cards = [...deck.querySelectorAll(".om-card")];
  const forms = cards.map((card) => card.querySelector(".om-guess"));
  const make = (tag, className, text = "") => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const answered = (n) => forms[n].querySelector("fieldset").disabled;
  const right = (n) => forms[n].querySelector(".om-said").dataset.right;

  const dots = make("p", "om-dots");
  dots.setAttribute("role", "status");
  const end = make("section", "om-card om-end");
  const score = make("p", "om-result");
  const share = make("button", "om-button", "Copy the line");
  const again = make("button", "", "Once more");
  for (const button of [share, again]) button.type = "button";
  const all = make("p", "", `Of the course's claims from tutorials and papers `
    + `${deck.dataset.false} are false as they are usually told.`);
  end.append(score, share, " ", again, all);
  deck.before(dots);
  deck.append(end);
  const nexts = cards.map((card, n) => {
    const next = make("button", "om-button om-next", n + 1 < cards.length ? "Next" : "My score");
    next.type = "button";
    next.addEventListener("click", () => show(n + 1, true));
    card.querySelector(".om-claim").append(next);
    return next;
  });

  // An answer is a button; the form's own radio buttons stay, out of sight, and hold the guess.
  forms.forEach((form, n) => {
    const answers = make("div", "om-answers");
    for (const radio of form.querySelectorAll("input[type=radio]")) {
      const words = radio.value === "depends" ? "it depends" : radio.value;
      const button = make("button", "om-answer", words);
      button.type = "button";
      button.addEventListener("click", () => {
        radio.checked = true;
        form.requestSubmit();
        update();
        nexts[n].focus({ preventScroll: true });
      });
      answers.append(button);
    }
    form.querySelector(".om-options").after(answers);
  });

  let shown = 0;
  function show(n, focus = false) {
    shown = n;
    update();
    const target = n < cards.length ? cards[n].querySelector(".om-answer, .om-next") : share;
    if (focus) target.focus({ preventScroll: true });
  }

  function update() {
    cards.forEach((card, n) => {
      card.hidden = n !== shown;
      card.classList.toggle("om-done", answered(n));
    });
    end.hidden = shown < cards.length;
    const place = make("b", "", `${Math.min(shown + 1, cards.length)} of ${cards.length}`);
    dots.replaceChildren(place, ...forms.map((_, n) => {
      const mark = make("span", "", { true: "✓", false: "✗" }[right(n)] ?? "·");
      mark.dataset.right = right(n) ?? "";
      return mark;
    }));
    const count = forms.filter((_, n) => right(n) === "true").length;
    dots.setAttribute("aria-label", `Card ${Math.min(shown + 1, cards.length)} of ${cards.length}, `
      + `${count} right so far`);
    score.textContent = line(count);
  }

  const line = (count) =>
    `I told ${count} of ${cards.length} myths on positional encodings from facts. Order Matters: `
    + "guess, then see what was measured.";

  share.addEventListener("click", async () => {
    const address = location.protocol === "file:" ? "" : location.href;
    const text = `${score.textContent} ${address}`.trim();
    try {
      if (navigator.share) await navigator.share({ text });
      else await navigator.clipboard.writeText(text);
      share.textContent = navigator.share ? "Shared" : "Copied";
    } catch {
      share.textContent = "Not copied: select the line above";
    }
  });
  again.addEventListener("click", () => {
    forget(forms.map((form) => form.dataset.question));
    show(0, true);
  });

  deck.classList.add("om-dealt");
  const open = forms.findIndex((_, n) => !answered(n));
  show(open < 0 ? cards.length : open);
}
