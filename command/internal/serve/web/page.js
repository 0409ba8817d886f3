"use strict";

// The form of a model's columns, its answer, and a picture of how the answer changes along
// one column, with the interval that holds 95 % of the targets.
const page = JSON.parse(document.body.dataset.page);
const at = (id) => document.getElementById(id);
const svg = (name, attributes, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const brief = (v) => (v === 0 || (Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6) ? String(Number(v.toPrecision(4))) : v.toExponential(2));
const probability = (p) => (p > 0 && p < 5e-4 ? "< 0.001" : p.toFixed(3));
// labelled returns a name that may be broken after its underscores.
const labelled = (name) => name.split(/(?<=[_.\-])/).flatMap((part, i) => (i > 0 ? [document.createElement("wbr"), part] : [part]));
const points = 61;
let model = null;
let latest = 0;

function choose(name) {
  model = page.models.find((m) => m.name === name);
  at("title").textContent = `${model.title}; version ${model.version}`;
  at("fields").replaceChildren(...model.fields.map((f, i) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.name = f.name;
    input.value = f.value;
    if (!f.text) input.inputMode = "decimal";
    const name = document.createElement("span");
    name.append(...labelled(f.name));
    label.append(name, input);
    if (f.words) {
      const list = document.createElement("datalist");
      list.id = `words-${i}`;
      list.append(...f.words.map((w) => new Option(w, w)));
      input.setAttribute("list", list.id);
      label.append(list);
    }
    return label;
  }));
  const numbers = model.fields.filter((f) => !f.text);
  at("column").replaceChildren(...numbers.map((f) => new Option(f.name, f.name)));
  at("target").replaceChildren(...model.targets.map((t) => new Option(t, t)));
  at("of").hidden = model.targets.length < 2 || numbers.length === 0;
  at("form").hidden = model.fields.length === 0;
  at("along").hidden = numbers.length === 0;
  at("answer").textContent = model.fields.length === 0 ? "This model takes arrays: send them to /v2/models/" + model.name + "/infer." : "";
  at("over").hidden = model.fields.length === 0 || model.kind === "class" || model.kind === "binary";
  at("threshold").value = model.kind === "count" || model.kind === "ordered" ? "0" : "";
  at("plot").replaceChildren();
  at("caption").textContent = at("error").textContent = at("details").textContent = "";
  if (model.fields.length > 0) ask();
}

// row reads the form, with another value of one column where it is given.
function row(column, value) {
  const out = {};
  for (const input of at("fields").querySelectorAll("input")) {
    out[input.name] = input.value.trim(); // the server reads numbers as in a file
  }
  if (column !== undefined) out[column] = value;
  return out;
}

// range is where a column is varied: three standard deviations around its mean, and as far as
// its value.
function range(f, own) {
  const all = [f.mean - 3 * f.std, f.mean + 3 * f.std].concat(Number.isFinite(own) ? [own] : []);
  const from = Math.min(...all), to = Math.max(...all);
  return Array.from({ length: points }, (_, i) => from + ((to - from) * i) / (points - 1));
}

// wanted is the part of the address that asks for quantiles and, if there is a threshold, for the probability above it.
function wanted() {
  const limit = threshold();
  if (model.kind === "class" || model.kind === "binary") return "";
  return "?quantiles=0.25,0.5,0.75" + (limit === null ? "" : "&above=" + encodeURIComponent(limit));
}

// threshold is the number in its field as the server writes it, null where there is none.
function threshold() {
  const text = at("threshold").value.trim();
  return text === "" || at("over").hidden ? null : text;
}

async function ask() {
  const turn = ++latest;
  const f = model.fields.find((g) => g.name === at("column").value);
  const here = row();
  const own = f && here[f.name] !== "" ? Number(here[f.name]) : NaN;
  const xs = f ? range(f, own) : [];
  const headers = { "Content-Type": "application/json" };
  if (page.token) headers.Authorization = "Bearer " + at("token").value;
  try {
    const response = await fetch(`/models/${encodeURIComponent(model.name)}/predict${wanted()}`, {
      method: "POST", headers, body: JSON.stringify([here, ...xs.map((x) => row(f.name, x))]),
    });
    const body = await response.json();
    if (turn !== latest) return;
    if (!response.ok) throw new Error(body.error);
    at("error").textContent = "";
    const [answer, ...along] = body.predictions;
    (model.classes ? drawClasses : drawNumbers)(answer, along, xs, f, own);
  } catch (e) {
    if (turn !== latest) return;
    at("error").textContent = e.message;
    at("answer").textContent = at("details").textContent = at("caption").textContent = "";
    at("plot").replaceChildren();
  }
}

// ticks are about n round numbers from low to high.
function ticks(low, high, n) {
  const power = 10 ** Math.floor(Math.log10((high - low) / n));
  const step = power * [1, 2, 5, 10].find((s) => (high - low) / (power * s) <= n + 0.5);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) out.push(i * step);
  return out;
}

// frame draws the axes and returns the places of numbers.
function frame(xs, low, high, xName, yName) {
  if (!(high > low)) [low, high] = [low - 1, low + 1];
  const box = { left: 72, right: 628, top: 36, bottom: 306 };
  at("plot").setAttribute("viewBox", "0 0 640 360");
  const x = (v) => box.left + ((v - xs[0]) / (xs[xs.length - 1] - xs[0])) * (box.right - box.left);
  const y = (v) => box.bottom - ((v - low) / (high - low)) * (box.bottom - box.top);
  const parts = [];
  for (const v of ticks(low, high, 5)) {
    parts.push(svg("line", { class: "axis", x1: box.left, x2: box.right, y1: y(v), y2: y(v) }));
    parts.push(svg("text", { x: box.left - 6, y: y(v) + 4, "text-anchor": "end" }, brief(v)));
  }
  for (const u of ticks(xs[0], xs[xs.length - 1], 6)) {
    parts.push(svg("text", { x: Math.min(x(u), box.right - 8), y: box.bottom + 22, "text-anchor": "middle" }, brief(u)));
  }
  parts.push(svg("text", { x: (box.left + box.right) / 2, y: 353, "text-anchor": "middle" }, xName));
  parts.push(svg("text", { x: 4, y: 16 }, yName));
  at("plot").replaceChildren(...parts);
  return { x, y };
}

// of returns what a row of predictions has for a target: its mean, its std and so on.
const of = (target, row) => (key) => row[key + (model.targets.length > 1 ? "_" + target : "")];

// told is the prediction of a target in short, by the kind of the target.
function told(target, row) {
  const get = of(target, row);
  switch (model.kind) {
    case "binary": return `${target}: yes with probability ${probability(get("mean"))}`;
    case "count": return `${target} = ${brief(get("q0.5"))}, ${brief(get("mean"))} ± ${brief(get("std"))} on average`;
    case "ordered": return `${target}: class ${brief(get("q0.5"))}`;
  }
  return `${target} = ${brief(get("mean"))} ± ${brief(get("std") ?? Infinity)}`; // JSON has null for it
}

// spread tells the median, two intervals, and the probability above the threshold.
function spread(target, row) {
  if (model.kind === "binary") return "";
  const get = of(target, row), limit = threshold();
  const median = model.kind === "number" ? `median ${brief(get("q0.5"))}; ` : "";
  const key = Object.keys(row).find((k) => k.startsWith("above_") && (model.targets.length < 2 || k.endsWith("_" + target)));
  const above = limit === null || key === undefined ? "" : `; above ${limit} with probability ${probability(row[key])}`;
  return `${model.targets.length > 1 ? target + ": " : ""}${median}50 % from ${brief(get("q0.25"))} to ${brief(get("q0.75"))}; 95 % from ${brief(get("lower"))} to ${brief(get("upper"))}${above}`;
}

function drawNumbers(own, along, xs, column, here) {
  at("plot").replaceChildren();
  const target = at("target").value;
  const binary = model.kind === "binary"; // whose probability has no interval
  const get = (p, key) => of(target, p)(binary && (key === "lower" || key === "upper") ? "mean" : key);
  at("answer").textContent = model.targets.map((t) => told(t, own)).join("\n");
  at("details").textContent = model.targets.map((t) => spread(t, own)).filter((s) => s !== "").join("\n");
  const share = `${Math.round(100 * (get(own, "epistemic") / (get(own, "std") ?? Infinity)) ** 2)} %`;
  if (!column) {
    at("caption").textContent = `Of the variance, ${share} would vanish with more data.`;
    return;
  }
  const all = [...along, own];
  const low = binary ? 0 : Math.min(...all.map((p) => get(p, "lower"))), high = binary ? 1 : Math.max(...all.map((p) => get(p, "upper")));
  const { x, y } = frame(xs, low, high, column.name, binary ? `probability of ${target}` : target);
  const path = (key, order) => order.map((i) => `${x(xs[i])},${y(get(along[i], key))}`).join(" ");
  const up = xs.map((_, i) => i);
  at("plot").append(
    svg("polygon", { class: "band", points: path("lower", up) + " " + path("upper", [...up].reverse()) }),
    svg("polyline", { class: "line", points: path("mean", up) }));
  if (Number.isFinite(here)) {
    at("plot").append(
      svg("line", { class: "here", x1: x(here), x2: x(here), y1: y(get(own, "lower")), y2: y(get(own, "upper")) }),
      svg("circle", { class: "dot", cx: x(here), cy: y(get(own, "mean")), r: 5 }));
  }
  const band = binary ? "The line is the probability of a yes. " : "95 % of the targets lie inside the band, if the error bars are right. The line is the mean. ";
  at("caption").textContent = `${band}Of the variance at the dot, ${share} would vanish with more data.`;
}

function drawClasses(own) {
  at("details").textContent = "";
  at("answer").textContent = `${model.targets[0]} = ${own.class}, with probability ${probability(own["p_" + own.class])}`;
  const classes = [...model.classes].sort((a, b) => own["p_" + b] - own["p_" + a]).slice(0, 12);
  const names = classes.map((c) => (c.length > 22 ? c.slice(0, 21) + "…" : c));
  const letter = matchMedia("(max-width: 40rem)").matches ? 10.5 : 7.2; // width of a letter, about
  const height = 30, left = 12 + letter * Math.max(...names.map((n) => n.length)), width = 616 - left - 7 * letter;
  at("plot").setAttribute("viewBox", `0 0 640 ${height * classes.length}`);
  at("plot").replaceChildren(...classes.flatMap((c, i) => {
    const p = own["p_" + c], top = 4 + i * height, thick = 22;
    return [
      svg("text", { x: left - 8, y: top + 17, "text-anchor": "end" }, names[i]),
      svg("rect", { class: "back", x: left, y: top, width, height: thick }),
      svg("rect", { class: "bar", x: left, y: top, width: width * p, height: thick }),
      svg("text", { x: left + width + 8, y: top + 17 }, probability(p)),
    ];
  }));
  at("caption").textContent = `Probabilities of the ${model.classes.length > 12 ? "12 likeliest " : ""}classes; their entropy is ${brief(own.entropy)} nats.`;
  at("along").hidden = true;
}

at("form").addEventListener("submit", (e) => { e.preventDefault(); ask(); });
at("column").addEventListener("change", ask);
at("target").addEventListener("change", ask);
at("threshold").addEventListener("change", ask);
at("model").addEventListener("change", (e) => choose(e.target.value));
at("token").addEventListener("change", ask);
at("secret").hidden = !page.token;
at("which").hidden = page.models.length < 2;
at("model").append(...page.models.map((m) => new Option(m.name, m.name)));
if (page.models.length > 0) choose(page.models[0].name);
else document.querySelector("main").replaceChildren("The models are being loaded. Load this page again.");
