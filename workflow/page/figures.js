// Figures: the numbers of the nearest point under a pointer, a finger or the arrow keys, all numbers as a table, and a larger view.
// What a script element holds compressed
const inflated = (script) => {
  const bytes = Uint8Array.from(atob(script.textContent), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
};
{
  const SVG = "http://www.w3.org/2000/svg", REACH = 40;
  const spelled = (value) => typeof value !== "number" ? value : value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)
    ? value.toExponential(2).replace("e", " × 10^").replace("+", "").replace("-", "−") : String(value).replace("-", "−");

  function points(told) {
    return told.panels.flatMap((panel, at) => panel.series.flatMap((series, line) => series.points.map(([left, top, x, y, low, high]) =>
      ({left, top, panel: at, line: at + "/" + line, text: [[panel.title, series.name].filter(Boolean).join(": "), (panel.x || "x") + " = " + spelled(x),
        (panel.y || "y") + " = " + spelled(y) + (low === undefined ? "" : " [" + spelled(low) + ", " + spelled(high) + "]")].filter(Boolean).join("\n")}))));
  }

  // Points and numbers of a figure are one compressed text, unpacked when the page has time or somebody asks.
  const figures = [...document.querySelectorAll("figure")], unpacking = new Map(), packs = new Map();
  const unpacked = (figure) => unpacking.get(figure) ?? unpacking.set(figure, unpack(figure)).get(figure);
  async function unpack(figure) {
    const pack = await inflated(figure.querySelector("script")), [picture, table] = figure.querySelectorAll("a[download]");
    picture.href = figure.querySelector("img").src;
    table.href = URL.createObjectURL(new Blob([pack.numbers], {type: "text/csv"}));
    packs.set(figure, pack);
    if (pack.points.panels) read(figure.querySelector(".plot"), pack.points);
  }
  // On a narrow screen the panels stand below each other: each is a view of the same picture. The legend comes last.
  function stack(figure) {
    const card = figure.querySelector(".card"), picture = card?.querySelector("img"), {panels = [], rest = [], width, height} = packs.get(figure).points;
    if (!picture || panels.length + rest.length < 2) return;
    const narrow = card.clientWidth < parseFloat(getComputedStyle(picture).getPropertyValue("--least"));
    if (narrow && !card.querySelector(".piece")) {
      for (const {frame, own, y} of [...panels, ...rest.map((frame) => ({frame, own: true}))]) {
        const piece = document.createElementNS(SVG, "svg"), view = document.createElementNS(SVG, "image");
        piece.setAttribute("viewBox", frame.join(" "));
        piece.setAttribute("class", "piece");
        piece.style.maxWidth = frame[2] * 4 / 3 + "px";
        for (const [name, value] of Object.entries({href: picture.src, width, height})) view.setAttribute(name, value);
        piece.append(view);
        if (!own && y) card.append(Object.assign(document.createElement("p"), {className: "axis", textContent: y}));
        card.append(piece);
      }
    }
    figure.classList.toggle("stacked", narrow);
  }
  const near = new Set(), seen = new IntersectionObserver((all) => {
    for (const {target, isIntersecting} of all) if (isIntersecting) unpacked(target).then(() => { near.add(target); stack(target); });
  }, {rootMargin: "100%"});
  figures.forEach((figure) => seen.observe(figure));
  addEventListener("resize", () => near.forEach(stack));
  addEventListener("load", () => setTimeout(() => figures.forEach(unpacked)));

  const CELLS = /(?<=^|,)(?:"(?:[^"]|"")*"|[^,]*)/g, plain = (cell) => cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
  const brief = (text) => text === "" || isNaN(text) ? text : String(+(+text).toPrecision(4));
  function fill(fold) {
    const figure = fold.closest("figure");
    if (!packs.has(figure) || fold.querySelector("table")) return;
    const [header, ...rows] = packs.get(figure).numbers.trimEnd().split(/\r?\n/).map((line) => line.match(CELLS).map(plain));
    const scroll = Object.assign(document.createElement("div"), {className: "scroll", tabIndex: 0, role: "region"});
    scroll.setAttribute("aria-label", "Numbers of " + figure.querySelector(".card").getAttribute("aria-label"));
    const table = scroll.appendChild(Object.assign(document.createElement("table"), {className: "dense"}));
    const line = (part, cells, kind) => {
      const row = part.insertRow();
      for (const text of cells) row.append(Object.assign(document.createElement(kind), {textContent: kind === "td" ? brief(text) : text}));
    };
    line(table.createTHead(), header, "th");
    const body = table.createTBody();
    for (const cells of rows) line(body, cells, "td");
    fold.append(scroll);
  }
  document.addEventListener("toggle", ({target}) => {
    const figure = target.matches("figure details") && target.closest("figure");
    if (figure) unpacked(figure).then(() => fill(target));
  }, true);
  addEventListener("keydown", ({key, ctrlKey, metaKey}) => {
    if (key === "F3" || (key.toLowerCase() === "f" && (ctrlKey || metaKey))) document.querySelectorAll("figure details").forEach(fill);
  });

  function read(plot, told) {
    const card = plot.querySelector(".card"), picture = card.querySelector("img"), says = plot.querySelector(".says");
    const all = points(told), ring = card.appendChild(Object.assign(document.createElement("i"), {className: "here", hidden: true}));
    let here = null;
    // Where points are on the screen: in the picture, or in the view of their panel
    function places() {
      const views = plot.closest(".stacked") ? [...card.querySelectorAll(".piece")].map((one, at) => [one, told.panels[at]?.frame ?? [0, 0, 1]]) : null;
      const boxes = (views ?? [[picture, [0, 0, told.width]]]).map(([one, [left, top, width]]) => ({one, left, top, width, box: one.getBoundingClientRect()}));
      return (point) => {
        const {one, left, top, width, box} = boxes[views ? point.panel : 0], scale = box.width / width;
        return {one, x: box.left + (point.left - left) * scale, y: box.top + (point.top - top) * scale};
      };
    }

    function show(point) {
      here = point;
      ring.hidden = !point;
      says.textContent = point ? point.text : "";
      if (!point) return;
      const place = places(), {one, x, y} = place(point), around = plot.getBoundingClientRect(), middle = x - around.left, view = card.getBoundingClientRect();
      ring.style.left = x - view.left - card.clientLeft + card.scrollLeft + "px";
      ring.style.top = y - view.top - card.clientTop + card.scrollTop + "px";
      // Below the picture, where it hides nothing, or else below the panel
      const [, upper, , high] = told.panels[point.panel].frame, end = one.getBoundingClientRect().bottom;
      const below = end + says.offsetHeight + 8 < innerHeight ? end : place({...point, top: upper + high}).y;
      const room = around.width - says.offsetWidth;
      says.style.left = Math.max(0, Math.min(room, middle - says.offsetWidth / 2)) + "px";
      says.style.top = below + 4 - around.top + "px";
    }
    function nearest(event) {
      const place = places();
      let best = null, least = REACH;
      for (const point of all) {
        const {x, y} = place(point), distance = Math.hypot(x - event.clientX, y - event.clientY);
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
      show(here ? moved(event.key) : all[0]);
      const {x} = places()(here), view = card.getBoundingClientRect();
      if (x < view.left + 40 || x > view.right - 40) { card.scrollLeft += x - (view.left + view.right) / 2; show(here); }
    });
    card.setAttribute("role", "application");
    card.setAttribute("aria-label", card.getAttribute("aria-label") + ". Arrow keys read its points");
  }

  const large = document.getElementById("large");
  let home = null;
  for (const figure of figures) {
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: "Enlarge"});
    const plot = figure.querySelector(".plot");
    button.onclick = () => {
      home = document.createComment("");
      plot.replaceWith(home);
      large.append(plot);
      const picture = plot.querySelector("img");
      picture.style.setProperty("width", "min(100%, calc(80vh * " + (picture.getAttribute("width") / picture.getAttribute("height")).toFixed(3) + "))");
      large.setAttribute("aria-label", plot.querySelector(".card").getAttribute("aria-label"));
      large.showModal();
    };
    figure.querySelector(".files").prepend(button);
  }
  large.querySelector("button").onclick = () => large.close();
  large.addEventListener("close", () => {
    const plot = large.querySelector(".plot");
    plot.querySelector("img").style.removeProperty("width");
    home.replaceWith(plot);
  });
}
