// One search over questions, rows, errata and the text, as one types; where nothing has all words, the nearest.
{
  const {rows, plain, parsed, pattern, nearest, unknown, found} = ROWS;
  const form = document.getElementById("search"), field = form.querySelector("input"), hits = document.getElementById("hits");
  const KINDS = {question: ["question", "questions", 3], row: ["row", "rows", 6], erratum: ["erratum", "errata", 4], text: ["passage", "passages", 5]};
  const COMMON = new Set("a an and are as at be by can do does for from how i in is it many me much my of on or should that the there this to use was were what when where which who why with".split(" "));
  const make = (name, properties = {}, ...inside) => { const one = Object.assign(document.createElement(name), properties); one.append(...inside); return one; };

  // Text as one would type it: powers with a caret, indices with an underscore
  function spelled(element) {
    let from = element;
    if (element.querySelector("msup, msub, sup, sub, script, button, .differs, td, th")) {
      from = element.cloneNode(true);
      for (const one of from.querySelectorAll("script, button, .differs")) one.remove();
      for (const one of from.querySelectorAll("td, th")) one.append(" ");
      for (const one of from.querySelectorAll("msup > :nth-child(2), sup")) one.prepend("^");
      for (const one of from.querySelectorAll("msub > :nth-child(2), sub")) one.prepend("_");
    }
    return from.textContent.replace(/\s+/g, " ").trim();
  }
  let entries = null, vocabulary;
  function index() {
    entries = [];
    const add = (kind, target, title, text, more = "") => entries.push({kind, target, title, text, head: plain(title + " " + more), words: plain([title, text, more].join(" "))});
    for (const one of document.querySelectorAll(".question")) {
      const title = one.querySelector("strong").textContent;
      add("question", one, title, spelled(one.querySelector("p")).slice(title.length).trim(), one.dataset.words);
    }
    for (const {body, id, place, quantity, text} of rows) {
      const measured = spelled(body.querySelector("[data-label=measured]")), chip = body.querySelector(".badge");
      entries.push({kind: "row", target: body, title: id + ", " + place + ": " + quantity, text: measured, chip, head: plain(place + " " + quantity), words: text});
    }
    for (const one of document.querySelectorAll(".erratum")) add("erratum", one, spelled(one.querySelector("summary")), [...one.querySelectorAll("dt, dd")].map(spelled).join(" "));
    let heading = document.title;
    for (const one of document.querySelectorAll("main :is(h2, h3, p, li, figcaption, tbody tr, dd)")) {
      if (one.closest(".every, .brief, .erratum, .question, .guide-tool, #find, .plot, .files, .wider, .masthead, .tally, figure details") || one.querySelector("p, li")) continue;
      const text = spelled(one), title = one.matches("h2, h3");
      if (title) heading = text;
      add("text", one, heading, title ? "" : text);
    }
    vocabulary = new Set(entries.flatMap(({words}) => words.match(/[a-z][\w.^-]{2,}/g) ?? []));
  }

  // Entries that have all words, rare ones first, or else the nearest; and what has to be said of the query
  function answered(query) {
    const asked = parsed(query), every = asked.words.map((word) => word.replace(/[?!,;]+$/, "")).filter((word) => /\w/.test(word) && !/^[a-z]+:/.test(word));
    const rare = every.filter((word) => !COMMON.has(word)), said = unknown(query), phrase = every.join(" ");
    const tests = (rare.length ? rare : every).map((word) => word.replace(/(?<=[a-z]{2}[^su\W])s$/, "")).map((word) => {
      const holding = (test) => entries.filter(({words}) => test.test(words)).length;
      let test = pattern(word), holders = holding(test);
      if (!holders) {
        const other = /^[a-z]{5,}$/.test(word) ? nearest(word, vocabulary, Math.floor((word.length - 1) / 3)) : "";
        said.push("“" + word + "” is nowhere on this page" + (other ? "; the nearest word is “" + other + "”." : "."));
        if (other) { test = pattern(other); holders = holding(test); }
      }
      return {test, weight: Math.log(1 + entries.length / (1 + holders))};
    });
    const chosen = Object.keys(asked.tokens).length ? new Set(found(query).map(({body}) => body)) : null;
    if (!tests.length && !chosen) return {all: [], said};
    const scored = entries.filter(({target}) => !chosen || chosen.has(target)).map((entry) => {
      const sum = (text) => tests.reduce((all, {test, weight}) => all + (test.test(text) ? weight : 0), 0);
      return {entry, whole: tests.every(({test}) => test.test(entry.words)), score: sum(entry.words) + sum(entry.head) * (entry.head.includes(phrase) ? 2 : 1) - entry.words.length / 1e5};
    });
    const least = Math.max(...scored.map(({score}) => score)) / 2, near = ({score}) => score > 0 && score >= least, whole = scored.some((one) => one.whole);
    if (!whole && scored.some(near)) said.push("Nothing has all of these words; nearest:");
    // A question may be put in other words: the nearest ones stand beside what has all words.
    const shown = scored.filter((one) => one.whole || (near(one) && (!whole || one.entry.kind === "question")));
    return {all: shown.sort((one, other) => other.whole - one.whole || other.score - one.score).map(({entry}) => entry), said};
  }

  const cut = (text, kind) => kind === "question" || text.length < 160 ? text : text.slice(0, text.lastIndexOf(" ", 150)) + " …";
  function item({kind, target, title, text, chip}) {
    const link = make("a", {href: target.id ? "#" + target.id : "#content"}, title);
    link.onclick = (event) => { event.preventDefault(); go(target); };
    const badge = chip ? [make("span", {className: chip.className}, ...chip.cloneNode(true).childNodes), " "] : [];
    return make("li", {}, link, " ", ...badge, cut(text, kind));
  }
  function show() {
    const query = field.value.trim(), status = make("p", {role: "status"}), counts = [];
    hits.replaceChildren(status);
    hits.hidden = !query;
    if (!query) return;
    if (!entries) index();
    const {all, said} = answered(query);
    for (const [kind, [one, many, most]] of Object.entries(KINDS)) {
      const own = all.filter((entry) => entry.kind === kind);
      if (!own.length) continue;
      counts.push(own.length + " " + (own.length === 1 ? one : many));
      const list = make("ul", {className: kind}, ...own.slice(0, most).map(item));
      if (kind === "row" && own.length > most) list.append(make("li", {}, make("a", {href: "#?" + new URLSearchParams({q: query})}, "All of these rows, in the table")));
      hits.append(list);
    }
    status.textContent = [...said, (counts.join(", ") || "Nothing found") + "."].join(" ");
  }
  function go(target) {
    if (target.id) history.pushState(null, "", "#" + target.id);
    reveal(target);
    target.classList.add("found");
    setTimeout(() => target.classList.remove("found"), 3000);
  }
  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  form.onsubmit = (event) => { event.preventDefault(); hits.querySelector("a")?.click(); };
  hits.addEventListener("click", ({target}) => { if (target.closest("a")) hits.hidden = true; });
  // Arrow keys walk through the hits, Escape closes them, a slash leads to the search.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.focus({preventScroll: true}); hits.hidden = true; }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const places = [field, ...hits.querySelectorAll("a")], at = places.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    places[Math.max(0, Math.min(places.length - 1, at))].focus();
  });
  addEventListener("pointerdown", ({target}) => { if (!form.contains(target)) hits.hidden = true; });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=range]), textarea")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  form.hidden = false;
}
