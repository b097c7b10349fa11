// How the site's search ranks what it finds, and where it cuts a query into words. Sphinx puts this
// into language_data.js; conf.py cuts the pages in the same way.

var Scorer = {
  // Lessons come first, then the glossary, then other pages, those of the reference last. Its
  // objects, and entries of its index, come after all text.
  // But before all comes an object whose name has several words, if they are those of the query.
  score: ([page, title, , , score, , kind]) => {
    const words = splitQuery(new URLSearchParams(location.search).get("q") ?? "").join("_");
    if (words.includes("_") && title.split(".").pop() === words.toLowerCase()) return score + 1000;
    if (page === "glossary") return Math.min(score, Scorer.term) + 1;
    if (page.startsWith("reference/") && kind !== "object") return Math.min(score, Scorer.partialTerm);
    return score + (kind === "object" || kind === "index" ? -1000 : /^\d\d_/.test(page) ? 3 : 0);
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: {}, objPrioDefault: 0, // Sphinx's own from here
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};

var splitQuery = (query) => query.replaceAll(/(?<=\d),(?=\d{3})/g, "") // 10,000 is 10000
  .split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/gu).filter((word) => word);
