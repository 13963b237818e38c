// The table of all verdicts: search, facets with counts, order, download. The state is one line of words and tokens, and stands in the address.
// What it is made of serves search.js, too.
const ROWS = {};
{
  const [texts, ...lines] = JSON.parse(document.getElementById("rows").textContent);
  const [fields, ...data] = lines.map((places) => places.map((at) => texts[at]));
  const table = document.querySelector("table.every"), find = document.getElementById("find");
  const rows = data.map((cells, order) => ({order, body: table.tBodies[order], cells, ...Object.fromEntries(fields.map((name, at) => [name, cells[at]]))}));
  const FACETS = {paper: "paper", verdict: "verdict", kind: "rule", whose: "whose", basis: "basis", confirmed: "confirmed", severity: "severity", study: "study"};
  const PARTS = {claim: "id", place: "place", quantity: "quantity"};
  const LEVELS = ["good", "fair", "open", "bad", "none"];
  // One normalisation of text and query, so that what a keyboard types finds what is printed: 10⁻⁶, 10^-6 and 1e-6; ε, eps and epsilon; 18,000 and 18000
  const GREEK = Object.fromEntries("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon phi chi psi omega".split(" ").map((name, at) => [String.fromCharCode(945 + at), name]));
  const SIGNS = {"≤": "<=", "≥": ">=", "→": "->", "±": "+-", "√": "sqrt", "×": "x", "·": "x", "’": "'", "“": '"', "”": '"', "⊤": "T"};
  const plain = (text) => text.replace(/[⁺⁻⁰¹²³⁴-⁹ⁿ]+/g, "^$&").replace(/[₀-₉]+/g, "_$&").normalize("NFKC").replace(/[‐-―−]/g, "-").replace(/[≤≥→±√×·’“”⊤]/g, (sign) => SIGNS[sign]).toLowerCase()
    .replace(/[α-ω]/g, (letter) => GREEK[letter]).replace(/\beps\b/g, "epsilon").replace(/\blam\b/g, "lambda").replace(/[{}]/g, "").replace(/(?<![\w.])1(?:\.0)?e([+-]?)0*(\d+)/g, (_, sign, power) => "10^" + sign.replace("+", "") + power)
    .replace(/(\d),(?=\d{3}(?!\d))/g, "$1").replace(/\s+/g, " ");
  const number = (text) => text === "" ? NaN : Number(text.replace(/^[<>]= /, ""));
  const level = (row) => LEVELS.findIndex((name) => row.body.querySelector(".badge").classList.contains(name)) + row.verdict;
  const ORDERS = {claim: (row) => row.order, quantity: (row) => row.quantity, claimed: (row) => number(row.claimed), measured: (row) => number(row.measured), verdict: level};
  // Numbers as the page rounds them are found as well, and an exponent as a power: k^5
  const power = (row) => row.rule === "rate" ? row.quantity.replace(/^.*exponent of (\S+?)(?:,? .*)?$/, "$1^") + row.claimed : "";
  for (const row of rows) row.text = plain([...row.cells, ...[...row.body.rows[0].cells].map((cell) => cell.textContent), power(row)].join(" "));

  // Words and tokens. Tokens of one key are alternatives; all else has to hold together.
  function parsed(query) {
    const found = {words: [], tokens: {}};
    for (const [word] of plain(query).matchAll(/[a-z]+:"[^"]*"?|"[^"]*"?|\S+/g)) {
      const [, key, value] = word.match(/^([a-z]+):(.*)$/) ?? [];
      if (key in FACETS || key in PARTS) (found.tokens[key] ??= []).push(value.replaceAll('"', ""));
      else found.words.push(word.replaceAll('"', ""));
    }
    return found;
  }
  // A word stands where a word begins; a letter alone is a word of its own, and a number is not the beginning of a longer one.
  function pattern(word) {
    const plainly = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp((/^\w/.test(word) ? "(?<![\\w.])" : "") + plainly + (/(^|\W)\w$/.test(word) ? "(?!\\w)" : /\d$/.test(word) ? "(?!\\d)" : ""));
  }
  function passes(row, {tokens}, patterns, left = "") {
    return patterns.every((one) => one.test(row.text)) && Object.entries(tokens).every(([key, values]) => key === left || values.some((value) =>
      key in FACETS ? row[FACETS[key]].toLowerCase() === value : plain(row[PARTS[key]]).includes(value)));
  }

  // The nearest of some words, by the fewest letters to change, if these are at most `most`
  function nearest(word, words, most = Infinity) {
    let best = "", least = most + 1;
    for (const other of words) {
      if (Math.abs(other.length - word.length) >= least) continue;
      let line = [...Array(other.length + 1).keys()];
      for (let i = 1; i <= word.length; i++) {
        const next = [i];
        for (let j = 1; j <= other.length; j++) next.push(Math.min(line[j] + 1, next[j - 1] + 1, line[j - 1] + (word[i - 1] !== other[j - 1])));
        line = next;
      }
      if (line[other.length] < least) [best, least] = [other, line[other.length]];
    }
    return best;
  }
  // What is no token, or has no row, is named with the nearest that is one
  function unknown(query) {
    return [...plain(query).matchAll(/(?:^|\s)([a-z]+):("[^"]*"?|\S*)/g)].flatMap(([, key, quoted]) => {
      const value = quoted.replaceAll('"', ""), keys = Object.keys({...FACETS, ...PARTS});
      if (!keys.includes(key)) return "There is no token “" + key + ":”; the nearest is “" + nearest(key, keys) + ":”.";
      const values = key in FACETS ? [...new Set(rows.map((row) => row[FACETS[key]].toLowerCase()))].filter(Boolean) : [];
      return !value || !values.length || values.includes(value) ? [] : "No row has " + key + " “" + value + "”; the nearest is “" + nearest(value, values) + "”.";
    });
  }
  const found = (query) => { const asked = parsed(query), patterns = asked.words.filter(Boolean).map(pattern); return rows.filter((row) => passes(row, asked, patterns)); };
  Object.assign(ROWS, {rows, plain, parsed, pattern, nearest, unknown, found});

  // Elements
  const make = (name, properties = {}, ...inside) => { const one = Object.assign(document.createElement(name), properties); one.append(...inside); return one; };
  const input = make("input", {type: "search", id: "query", autocomplete: "off", spellcheck: false, placeholder: "verdict:violated paper:shen2023 kind:rate d^1.5"});
  const label = make("label", {htmlFor: "query"}, "Words and tokens; a word in quotes is a phrase");
  const count = make("p", {role: "status"}), state = {q: "", sort: "claim", desc: false};
  const facets = Object.entries(FACETS).map(([key, field]) => {
    const values = [...new Set(rows.map((row) => row[field]))].filter(Boolean);
    if (key === "verdict") values.sort((one, other) => { const [a, b] = [one, other].map((word) => level(rows.find((row) => row.verdict === word))); return a < b ? -1 : 1; });
    const buttons = values.map((value) => {
      const button = make("button", {type: "button"}, value + " ", make("span", {className: "count"}));
      button.onclick = () => { toggle(key, value.toLowerCase()); };
      return {value: value.toLowerCase(), button};
    });
    const long = key === "study", name = make(long ? "summary" : "span", {}, key);
    const group = make("div", {className: "facet"}, ...(long ? [] : [name]), ...buttons.map(({button}) => button));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Show only this " + key);
    return {key, field, buttons, element: long ? make("details", {}, name, group) : group};
  });
  const save = make("button", {type: "button"}, "Download these rows as CSV"), clear = make("button", {type: "button"}, "Show all");
  const narrow = make("details", {open: matchMedia("(min-width: 40rem)").matches}, make("summary", {}, "Narrow down"), ...facets.map(({element}) => element));
  find.append(label, input, narrow, make("div", {className: "shown"}, count, save, clear));
  find.hidden = false;

  function toggle(key, value) {
    const token = key + ":" + value, words = state.q.split(/\s+/).filter(Boolean), kept = words.filter((word) => plain(word) !== token);
    state.q = (kept.length < words.length ? kept : [...kept, token]).join(" ");
    input.value = state.q;
    show();
  }
  function show(remember = true) {
    const query = parsed(state.q), patterns = query.words.filter(Boolean).map(pattern);
    let shown = 0;
    for (const row of rows) { row.body.hidden = !passes(row, query, patterns); shown += !row.body.hidden; }
    count.textContent = ["Showing " + shown + " of " + rows.length + " rows", ...unknown(state.q)].join(". ");
    clear.disabled = !state.q;
    for (const {key, field, buttons} of facets) {
      const counts = {};
      for (const row of rows) if (passes(row, query, patterns, key)) counts[row[field].toLowerCase()] = (counts[row[field].toLowerCase()] ?? 0) + 1;
      for (const {value, button} of buttons) {
        const pressed = Boolean(query.tokens[key]?.includes(value));
        button.setAttribute("aria-pressed", pressed);
        button.lastChild.textContent = counts[value] ?? 0;
        button.disabled = !counts[value] && !pressed;
      }
    }
    if (remember) {
      const told = new URLSearchParams();
      if (state.q) told.set("q", state.q);
      if (state.sort !== "claim" || state.desc) { told.set("sort", state.sort); if (state.desc) told.set("order", "desc"); }
      history.replaceState(null, "", "#?" + told);
    }
  }
  function arrange() {
    const key = ORDERS[state.sort], sign = state.desc ? -1 : 1;
    const missing = (value) => typeof value === "number" && Number.isNaN(value);
    const compare = (one, other) => {
      const [a, b] = [key(one), key(other)];
      if (missing(a) || missing(b)) return missing(a) - missing(b) || one.order - other.order;
      return sign * (a < b ? -1 : a > b ? 1 : 0) || one.order - other.order;
    };
    table.append(...[...rows].sort(compare).map(({body}) => body));
    for (const head of table.tHead.rows[0].cells) if (head.dataset.key) head.setAttribute("aria-sort", head.dataset.key !== state.sort ? "none" : state.desc ? "descending" : "ascending");
  }
  for (const [at, key] of ["claim", "quantity", "claimed", "measured", null, "verdict"].entries()) if (key) {
    const head = table.tHead.rows[0].cells[at], button = make("button", {type: "button", className: "sort"}, ...head.childNodes);
    head.dataset.key = key;
    head.append(button);
    button.onclick = () => { state.desc = state.sort === key && !state.desc; state.sort = key; arrange(); show(); };
  }
  input.oninput = () => { state.q = input.value; show(); };
  clear.onclick = () => { state.q = input.value = ""; show(); input.focus(); };
  save.onclick = () => {
    const quoted = (text) => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    const order = new Map([...table.tBodies].map((body, at) => [body, at]));
    const lines = rows.filter(({body}) => !body.hidden).sort((one, other) => order.get(one.body) - order.get(other.body)).map(({cells}) => cells);
    const text = [fields, ...lines].map((cells) => cells.map(quoted).join(",") + "\n").join("");
    const link = make("a", {download: "claims.csv", href: URL.createObjectURL(new Blob([text], {type: "text/csv"}))});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  function read() {
    if (!location.hash.startsWith("#?")) return;
    const told = new URLSearchParams(location.hash.slice(2));
    Object.assign(state, {q: told.get("q") ?? "", sort: told.get("sort") in ORDERS ? told.get("sort") : "claim", desc: told.get("order") === "desc"});
    input.value = state.q;
    arrange();
    show(false);
    find.scrollIntoView();
  }
  table.addEventListener("wanted", () => { state.q = input.value = ""; show(false); });
  addEventListener("hashchange", read);
  arrange();
  show(false);
  read();
}
