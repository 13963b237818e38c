// What reading needs of a script: the detail that a link leads into opens, commands can be copied, and print shows all detail.
function reveal(target) {
  target.closest(".every tbody[hidden]")?.dispatchEvent(new CustomEvent("wanted", {bubbles: true}));
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.closest(".every tbody")?.querySelectorAll("details").forEach((fold) => { fold.open = true; });
  target.scrollIntoView();
}
function follow() {
  const target = location.hash.includes("?") ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) reveal(target);
}
addEventListener("hashchange", follow);
addEventListener("DOMContentLoaded", follow);
// A verdict says under a pointer what it means.
for (const chip of document.querySelectorAll("main .badge")) {
  const meaning = document.getElementById("verdict-" + chip.lastChild.textContent.trim())?.nextElementSibling;
  if (meaning) chip.title = meaning.textContent;
}
// The contents mark the chapter that is read.
{
  const links = new Map([...document.querySelectorAll("nav ul a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const headings = [...document.querySelectorAll("main :is(h2, h3)[id]")].filter(({id}) => links.has(id));
  let marked = null, waiting = false;
  const mark = () => {
    waiting = false;
    const here = headings.findLast((heading) => heading.checkVisibility() && heading.getBoundingClientRect().top < innerHeight / 3);
    const link = here && links.get(here.id);
    if (link === marked) return;
    marked?.removeAttribute("aria-current");
    marked = link;
    if (!link) return;
    link.setAttribute("aria-current", "true");
    const nav = link.closest("nav"), {top, bottom} = link.getBoundingClientRect(), view = nav.getBoundingClientRect();
    if (top < view.top || bottom > view.bottom) nav.scrollTop += top - (view.top + view.bottom) / 2;
  };
  const soon = () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } };
  for (const event of ["scroll", "hashchange"]) addEventListener(event, soon, {passive: true});
}
for (const link of document.querySelectorAll("nav ul a")) link.addEventListener("click", () => {
  if (matchMedia("(max-width: 71.99rem)").matches) link.closest("details").open = false;
});
if (navigator.clipboard) for (const code of document.querySelectorAll("code.command")) {
  const button = Object.assign(document.createElement("button"), {type: "button", className: "copy", textContent: "copy"});
  button.setAttribute("aria-label", "Copy the command " + code.textContent);
  button.onclick = () => navigator.clipboard.writeText(code.textContent).then(() => {
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  code.after(button);
}
// Text with a formula that is wider than the page scrolls, by keyboard too.
const wide = new ResizeObserver((seen) => {
  for (const {target} of seen) {
    const scrolls = target.scrollWidth > target.clientWidth && getComputedStyle(target).overflowX === "auto";
    if (scrolls) target.tabIndex = 0; else target.removeAttribute("tabindex");
  }
});
for (const text of document.querySelectorAll("math[display=block], main :is(p, ul, ol):has(math)")) wide.observe(text);
// Print is short: the findings, what fails, and one figure a chapter. A button prints everything.
let closed = [];
addEventListener("beforeprint", () => {
  const folds = document.body.classList.contains("print-all") ? "main details:not([open])" : "main details.printed:not([open])";
  closed = [...document.querySelectorAll(folds)].filter((fold) => !fold.closest("figure"));
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
  document.body.classList.remove("print-all");
});
const everything = document.getElementById("print-all");
everything.hidden = false;
everything.onclick = () => { document.body.classList.add("print-all"); print(); };
