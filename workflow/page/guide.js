// The tool "which method": sliders for n, m, d, k, label noise and epsilon, and what the laws expect of each method there.
for (const tool of document.querySelectorAll(".guide-tool")) inflated(tool.querySelector("script")).then((data) => {
  const {axes, methods} = data;
  const plot = tool.querySelector(".guide-plot"), answer = tool.querySelector(".guide-answer");
  const inputs = axes.map((axis) => tool.querySelector("input[name=" + axis.name + "]"));
  const full = axes.reduce((size, axis) => size * axis.values.length, 1);
  const called = Object.fromEntries(methods.map(({key, name}) => [key, name]));
  const noise = axes.findIndex(({name}) => name === "label-noise");
  const lowest = -7, highest = 1;  // decades
  const power = (exponent) => "10" + [...String(exponent)].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("");
  const spelled = (value) => {
    if (value >= 1e-3 && value < 1e4) return String(Number(value.toPrecision(3)));
    const [digits, exponent] = value.toExponential(2).split("e");
    return Number(digits) + "\u00a0×\u00a0" + power(Number(exponent));
  };

  // Predicted risk of each method at a place on the axes, and what was measured there or a step away.
  const lookUp = (at) => {
    const point = axes.reduce((place, axis, i) => place * axis.values.length + at[i], 0);
    const rows = methods.map(({key}) => {
      const values = data.predicted[key];
      if (!values) return {key, risk: 1, known: true};
      const place = Math.floor(point * values.length / full);  // what spends no budget lacks the last axis
      const risk = values[place] === null ? Infinity : 10 ** (values[place] / data.fine);
      return {key, risk, known: data.known[key][place] === "1"};
    });
    const steps = (one) => Math.max(...one.at.map((value, i) => Math.abs(value - at[i]) * (i === noise ? 2 : 1)));  // all have one label noise
    const least = Math.min(...rows.map((row) => row.risk));
    const cheap = (row) => row.key === "own" ? 2 : row.key === "unit" ? 1 : 0;  // no privacy spent; nothing to tune
    const best = rows.filter((row) => row.risk <= data.close * least).sort((a, b) => cheap(b) - cheap(a) || a.risk - b.risk);
    return {rows, best, here: data.measured.find((one) => !steps(one)), near: data.measured.some((one) => steps(one) < 2), noisy: at[noise] > 0};
  };

  const draw = ({rows, best, here}) => {
    const width = Math.max(plot.clientWidth, 240), height = 36 * rows.length + 24;
    const x = (risk) => 10 + (Math.min(Math.max(Math.log10(risk), lowest), highest) - lowest) / (highest - lowest) * (width - 30);
    const add = (parent, name, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const key in attributes) made.setAttribute(key, attributes[key]);
      made.textContent = text;
      parent.append(made);
      return made;
    };
    plot.replaceChildren();
    const svg = add(plot, "svg", {width, height, "aria-hidden": true});
    for (let decade = lowest; decade <= highest; decade++) {
      const at = x(10 ** decade);
      add(svg, "line", {x1: at, x2: at, y1: 0, y2: height - 18, class: "grid"});
      if (decade % 2 === 0) add(svg, "text", {x: at, y: height - 4, class: "tick"}, decade ? power(decade) : "1");
    }
    rows.forEach((row, i) => {
      const y = 36 * i + 27, group = add(svg, "g", {class: best.includes(row) ? "best" : ""});
      add(group, "text", {x: 10, y: y - 11}, called[row.key]);
      const [middle, low, high] = here?.risk[row.key] ?? [null, null];
      if (low !== null) add(group, "line", {x1: x(low), x2: x(high), y1: y, y2: y, class: "interval"});
      if (middle !== null) add(group, "circle", {cx: x(middle), cy: y, r: 4, class: "measured"});
      if (row.risk < Infinity) add(group, "circle", {cx: x(row.risk), cy: y, r: 6.5, class: "predicted"});
    });
  };

  const words = (where, {best, here, near, noisy}, command) => {
    const names = best.map(({key}) => called[key]).join(" or "), {key, risk, known} = best[0];
    const parts = ["At " + where + ", δ = " + spelled(data.delta) + ": " + (key === "zero" ? "predict zero; no method is expected to do better." : "use " + names + ".")];
    if (key === "own") parts.push("Each user alone does best, at no cost in privacy.");
    const [middle, low, high] = here?.risk[key] ?? [null, null];
    const ends = low === null ? "" : " [" + spelled(low) + ", " + spelled(high) + "]";
    const found = middle === null ? "not measured" : "measured " + spelled(middle) + ends;
    parts.push("Predicted excess risk " + spelled(risk) + " of that of predicting zero; " + found + ".");
    const better = Object.keys(here?.risk ?? {}).filter((other) => here.risk[other][0] * data.close < middle);
    if (better.length) parts.push("Measured lower: " + better.map((other) => called[other]).join(", ") + ".");
    if (!known) parts.push("Extrapolated: the law's own assumptions fail here.");
    if (noisy) parts.push("By law alone: all runs of the guide have label noise " + data.noise + ".");
    else if (!near) parts.push("Extrapolated: no measured setting is within a step of every slider.");
    parts.push("With an interval: " + command + ".");
    return parts.join(" ");
  };

  const update = () => {
    const at = inputs.map((input) => Number(input.value));
    const values = axes.map((axis, i) => axis.values[at[i]].toLocaleString("en"));
    inputs.forEach((input, i) => {
      input.setAttribute("aria-valuetext", values[i]);
      input.parentElement.querySelector("output").textContent = values[i];
    });
    const found = lookUp(at);
    draw(found);
    const options = axes.map((axis, i) => "--" + axis.name + " " + axis.values[at[i]]).join(" ");
    const command = "privrep advise " + options + " --delta " + data.delta;
    answer.textContent = words(axes.map((axis, i) => axis.symbol + " = " + values[i]).join(", "), found, command);
  };
  // The sizes stand in the address: #which-method?users=20000&samples=10
  const read = () => {
    const [place, sizes] = location.hash.split("?");
    if (place !== "#which-method" || !sizes) return;
    const told = new URLSearchParams(sizes);
    axes.forEach((axis, i) => { const at = axis.values.indexOf(Number(told.get(axis.name))); if (at >= 0) inputs[i].value = at; });
    update();
    tool.scrollIntoView();
  };
  tool.hidden = false;
  inputs.forEach((input) => input.addEventListener("input", () => {
    update();
    history.replaceState(null, "", "#which-method?" + new URLSearchParams(axes.map((axis, i) => [axis.name, axis.values[inputs[i].value]])));
  }));
  addEventListener("resize", update);
  addEventListener("hashchange", read);
  update();
  read();
});
