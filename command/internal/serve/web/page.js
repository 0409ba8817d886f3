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
  at("plot").replaceChildren();
  at("caption").textContent = at("error").textContent = "";
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

async function ask() {
  const turn = ++latest;
  const f = model.fields.find((g) => g.name === at("column").value);
  const here = row();
  const own = f && here[f.name] !== "" ? Number(here[f.name]) : NaN;
  const xs = f ? range(f, own) : [];
  const headers = { "Content-Type": "application/json" };
  if (page.token) headers.Authorization = "Bearer " + at("token").value;
  try {
    const response = await fetch(`/models/${encodeURIComponent(model.name)}/predict`, {
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
    at("answer").textContent = "";
    at("plot").replaceChildren();
    at("caption").textContent = "";
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

function drawNumbers(own, along, xs, column, here) {
  at("plot").replaceChildren();
  const target = at("target").value;
  const suffix = model.targets.length > 1 ? "_" + target : "";
  const get = (p, key) => p[key + suffix];
  const targets = model.targets.map((t) => {
    const s = model.targets.length > 1 ? "_" + t : "";
    return `${t} = ${brief(own["mean" + s])} ± ${brief(own["std" + s] ?? Infinity)}`; // JSON has null for it
  });
  at("answer").textContent = targets.join("\n");
  const share = `${Math.round(100 * (get(own, "epistemic") / (get(own, "std") ?? Infinity)) ** 2)} %`;
  if (!column) {
    at("caption").textContent = `Of the variance, ${share} would vanish with more data.`;
    return;
  }
  const all = [...along, own];
  const { x, y } = frame(xs, Math.min(...all.map((p) => get(p, "lower"))), Math.max(...all.map((p) => get(p, "upper"))), column.name, target);
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
  at("caption").textContent = `95 % of the targets lie inside the band, if the error bars are right. Of the variance at the dot, ${share} would vanish with more data.`;
}

function drawClasses(own) {
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
at("model").addEventListener("change", (e) => choose(e.target.value));
at("token").addEventListener("change", ask);
at("secret").hidden = !page.token;
at("which").hidden = page.models.length < 2;
at("model").append(...page.models.map((m) => new Option(m.name, m.name)));
if (page.models.length > 0) choose(page.models[0].name);
else document.querySelector("main").replaceChildren("The models are being loaded. Load this page again.");
