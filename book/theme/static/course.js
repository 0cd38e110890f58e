// What the theme's scripts leave undone. The page can be read without it.
"use strict";

// sphinx-copybutton has no Korean, and Sphinx marks what was searched for before it has read its own.
if (document.documentElement.lang === "ko") {
  Object.assign(messages.en, {
    copy: "복사", copy_to_clipboard: "복사", copy_success: "복사했다", copy_failure: "복사하지 못했다",
  });
  for (const button of document.querySelectorAll("button.copybtn")) {
    button.dataset.tooltip = messages.en.copy;
    button.querySelector("title").textContent = messages.en.copy;
  }
  for (const link of document.querySelectorAll(".highlight-link a")) link.textContent = "찾은 말 표시 지우기";
}

// Sphinx's own words for a search speak of page(s) and of categories.
const [found, nothing] = {
  ko: ["${resultCount}곳에서 찾았다.", "이 말이 모두 있는 페이지가 없다. 낱말을 줄이거나 앞부분만 써서 찾아 본다."],
  en: ["Places found: ${resultCount}.", "No page has all of these words. Try fewer of them, or the beginning of one."],
}[document.documentElement.lang];
Documentation.addTranslations({ locale: document.documentElement.lang, plural_expr: "n != 1", messages: {
  "Search finished, found ${resultCount} page(s) matching the search query.": found,
  "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.":
    nothing,
} });

// Only an equation that has to be scrolled is a stop for the Tab key.
const stopAtWideEquations = () => {
  for (const equation of document.querySelectorAll("div.math")) {
    equation.tabIndex = equation.scrollWidth > equation.clientWidth ? 0 : -1;
  }
};
addEventListener("load", stopAtWideEquations);
addEventListener("resize", stopAtWideEquations);

// Paper is white, whatever the screen was.
const { dataset: look } = document.documentElement;
addEventListener("beforeprint", () => { [look.onScreen, look.theme] = [look.theme, "light"]; });
addEventListener("afterprint", () => { look.theme = look.onScreen; });
