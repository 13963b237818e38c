// What reading needs of a script: the detail that a link leads into opens, commands can be copied, and print shows all detail.
function reveal() {
  if (location.hash.startsWith("#?")) return;
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  target.closest(".every tbody[hidden]")?.dispatchEvent(new CustomEvent("wanted", {bubbles: true}));
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.closest(".every tbody")?.querySelectorAll("details").forEach((fold) => { fold.open = true; });
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
addEventListener("DOMContentLoaded", () => { if (location.hash) reveal(); });
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
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("main details:not([open])")].filter((fold) => !fold.closest("figure"));
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });
