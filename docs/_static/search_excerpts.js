// Shows what a page says around the words that were searched for, below each result.
"use strict";

const AROUND = 110; // characters shown before and after a word

/** Texts of a page, or of the section of it that a result leads to. */
const textsOf = (link) => {
  const [page, anchor] = link.split("#");
  const sections = PAGE_TEXTS[decodeURIComponent(page.replace(/\.html$/, ""))] ?? [];
  const here = sections.findIndex(([name]) => anchor && name === decodeURIComponent(anchor));
  return (here < 0 ? sections : [sections[here], ...sections]).map(([, text]) => text);
};

/** A pattern for words that begin like those that were searched for. */
const patternOf = (query) => {
  const stems = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const words = stems.map((word) => word.replace(/(?<=...)(ies|es|s|y)$/u, ""));
  return words.length ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join("|")})[\\p{L}\\p{N}_]*`, "iu") : null;
};

/** A paragraph with the word in the middle; null where no text has it. */
const excerptOf = (texts, pattern) => {
  for (const text of texts) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const from = Math.max(0, found.index - AROUND);
    const to = found.index + found[0].length + AROUND;
    const mark = document.createElement("mark");
    mark.textContent = found[0];
    const paragraph = document.createElement("p");
    paragraph.className = "context";
    paragraph.append((from ? "… " : "") + text.slice(from, found.index), mark);
    paragraph.append(text.slice(found.index + found[0].length, to) + (to < text.length ? " …" : ""));
    return paragraph;
  }
  return null;
};

const results = document.getElementById("search-results");
const pattern = patternOf(new URLSearchParams(window.location.search).get("q") ?? "");
const explain = () => {
  for (const item of results.querySelectorAll("ul.search > li:not([data-explained])")) {
    item.dataset.explained = "";
    const link = item.querySelector("a");
    const excerpt = link && excerptOf(textsOf(link.getAttribute("href")), pattern);
    if (excerpt) item.append(excerpt);
  }
};
if (results && pattern) {
  new MutationObserver(explain).observe(results, { childList: true, subtree: true });
  explain();
}
