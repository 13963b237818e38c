// Figures: drawn where they come near the sight, the numbers of the nearest point under a pointer, a finger or the arrow keys, and a larger view.
{
  const SVG = "http://www.w3.org/2000/svg", REACH = 40;
  const spelled = (value) => typeof value !== "number" ? value : value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)
    ? value.toExponential(2).replace("e", " × 10^").replace("+", "").replace("-", "−") : String(value).replace("-", "−");

  function points(told) {
    return told.panels.flatMap((panel, at) => panel.series.flatMap((series, line) => series.points.map(([left, top, x, y, low, high]) =>
      ({left, top, line: at + "/" + line, text: [[panel.title, series.name].filter(Boolean).join(": "), (panel.x || "x") + " = " + spelled(x),
        (panel.y || "y") + " = " + spelled(y) + (low === undefined ? "" : " [" + spelled(low) + ", " + spelled(high) + "]")].filter(Boolean).join("\n")}))));
  }

  // Until then an empty picture holds the place, and a table of numbers is text. Printing and the browser's own search need all of them
  const undrawn = new Map(), near = new IntersectionObserver((seen) => { for (const {target, isIntersecting} of seen) if (isIntersecting) draw(target); }, {rootMargin: "100%"});
  for (const card of document.querySelectorAll(".card")) {
    const source = card.textContent;
    card.innerHTML = source.slice(0, source.indexOf(">") + 1) + "</svg>";
    undrawn.set(card, source);
    near.observe(card);
  }
  function draw(card) {
    const made = document.createElement("template");
    made.innerHTML = undrawn.get(card) ?? "<svg></svg>";
    card.querySelector("svg").append(...made.content.firstChild.childNodes);
    undrawn.delete(card);
    near.unobserve(card);
  }
  const fill = (fold) => { for (const held of fold.querySelectorAll(":scope > noscript")) held.outerHTML = held.textContent; };
  document.addEventListener("toggle", ({target}) => fill(target), true);
  addEventListener("beforeprint", () => [...undrawn.keys()].forEach(draw));
  addEventListener("keydown", ({key, ctrlKey, metaKey}) => {
    if (key !== "F3" && !(key.toLowerCase() === "f" && (ctrlKey || metaKey))) return;
    [...undrawn.keys()].forEach(draw);
    document.querySelectorAll("figure details").forEach(fill);
  });

  for (const plot of document.querySelectorAll(".plot")) {
    const source = plot.querySelector("script");
    if (!source) continue;
    const card = plot.querySelector(".card"), svg = card.querySelector("svg"), says = plot.querySelector(".says");
    let told, all, here = null, ring;
    const ready = () => { told ??= JSON.parse(source.textContent); all ??= points(told); };
    const frame = () => { const box = svg.getBoundingClientRect(); return {box, scale: box.width / told.width}; };

    function show(point) {
      here = point;
      ring?.remove();
      says.textContent = point ? point.text : "";
      if (!point) return;
      ring = document.createElementNS(SVG, "circle");
      for (const [name, value] of Object.entries({cx: point.left, cy: point.top, r: 6, class: "here"})) ring.setAttribute(name, value);
      svg.append(ring);
      const {box, scale} = frame(), around = plot.getBoundingClientRect(), middle = box.left - around.left + point.left * scale;
      const top = box.top - around.top + point.top * scale, room = around.width - says.offsetWidth;
      says.style.left = Math.max(0, Math.min(room, middle - says.offsetWidth / 2)) + "px";
      says.style.top = (top > says.offsetHeight + 14 ? top - says.offsetHeight - 12 : top + 14) + "px";
    }
    function nearest(event) {
      ready();
      const {box, scale} = frame(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = null, least = REACH;
      for (const point of all) {
        const distance = Math.hypot(point.left * scale - x, point.top * scale - y);
        if (distance < least) [best, least] = [point, distance];
      }
      if (best !== here) show(best);
    }
    // Left and right along a line, up and down to the nearest point of the next line
    function moved(key) {
      const lines = [...new Set(all.map(({line}) => line))], own = all.filter(({line}) => line === here.line), at = own.indexOf(here);
      if (key === "Home" || key === "End") return own.at(key === "Home" ? 0 : -1);
      if (key === "ArrowLeft" || key === "ArrowRight") return own[at + (key === "ArrowLeft" ? -1 : 1)] ?? here;
      const next = lines[(lines.indexOf(here.line) + (key === "ArrowDown" ? 1 : -1) + lines.length) % lines.length];
      return all.filter(({line}) => line === next).reduce((best, one) => Math.abs(one.left - here.left) < Math.abs(best.left - here.left) ? one : best);
    }
    card.addEventListener("pointermove", nearest);
    card.addEventListener("pointerdown", nearest);
    card.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(null); });
    card.addEventListener("blur", () => show(null));
    card.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && here) { event.preventDefault(); show(null); }
      if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
      event.preventDefault();
      ready();
      show(here ? moved(event.key) : all[0]);
      const {box, scale} = frame(), view = card.getBoundingClientRect(), x = box.left + here.left * scale;
      if (x < view.left + 40 || x > view.right - 40) { card.scrollLeft += x - (view.left + view.right) / 2; show(here); }
    });
    card.setAttribute("role", "application");
    card.setAttribute("aria-label", card.getAttribute("aria-label") + ". Arrow keys read its points");
  }

  const large = document.getElementById("large");
  let home = null;
  for (const figure of document.querySelectorAll("figure")) {
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: "Enlarge"});
    const plot = figure.querySelector(".plot");
    button.onclick = () => {
      home = document.createComment("");
      plot.replaceWith(home);
      large.append(plot);
      const {width, height} = plot.querySelector("svg").viewBox.baseVal;
      plot.querySelector("svg").style.setProperty("width", "min(100%, calc(80vh * " + (width / height).toFixed(3) + "))");
      large.setAttribute("aria-label", plot.querySelector(".card").getAttribute("aria-label"));
      large.showModal();
    };
    figure.querySelector(".files").prepend(button);
  }
  large.querySelector("button").onclick = () => large.close();
  large.addEventListener("close", () => {
    const plot = large.querySelector(".plot");
    plot.querySelector("svg").style.removeProperty("width");
    home.replaceWith(plot);
  });
}
