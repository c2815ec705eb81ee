// What is known of whom, as a picture: people and things, and the facts between them.  Each opens to its evidence.
import { $, $$, make, ready, speak, word, wordOr } from "./dom.js";
import { get } from "./api.js";
import { layout } from "./layout.js";
import { PanZoom } from "./panzoom.js";
import { openRecord } from "./record.js";
import "./opens.js";
import { follow } from "./memorylive.js";
import "./parts.js";

const SVG = "http://www.w3.org/2000/svg";
const NAMED = 0.6; // scale from which every name is shown; below it those of the best known alone
const WIDE = 26; // characters of a name on the picture

const picture = $("#graph");
const inner = $("g", picture);
const panel = $("#graph-about");
const list = $("#graph-list");
const said = $("#graph-said");
const form = $("#graph-find");
let shown = { nodes: [], edges: [], at: new Map() };
let chosen = "";

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const short = (text) => ([...text].length > WIDE ? `${[...text].slice(0, WIDE - 1).join("")}…` : text);
// Whoever speaks is called "user" by the kernel, and a relation has one name there in every language.
const called = (node) => (node.name === "user" ? word("graph_self") : node.name);
const relates = (edge) => wordOr(`relation_${edge.relation}`, edge.relation.replaceAll("_", " "));
const size = (node) => 7 + Math.min(13, 2.6 * Math.sqrt(node.degree));

const view = new PanZoom(picture, inner, (scale) => {
  picture.classList.toggle("far", scale < NAMED);
  inner.style.setProperty("--at", String(1 / Math.max(scale, 0.4))); // names stay readable when it is small
});

// -- what is drawn ----------------------------------------------------------------------------------------------------

function edgeOf(edge, index, at, bend) {
  const [a, b] = [at.get(edge.from), at.get(edge.to)];
  const [x, y] = [(a.x + b.x) / 2, (a.y + b.y) / 2];
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const [mx, my] = [x - ((b.y - a.y) / length) * bend, y + ((b.x - a.x) / length) * bend];
  const path = a === b ? loop(a) : `M${a.x.toFixed(1)} ${a.y.toFixed(1)}Q${(2 * mx - x).toFixed(1)} ${(2 * my - y).toFixed(1)} ${b.x.toFixed(1)} ${b.y.toFixed(1)}`;
  const label = draw("text", { x: mx.toFixed(1), y: (my - 5).toFixed(1) });
  label.textContent = short(relates(edge));
  const group = draw("g", { class: "edge", "data-edge": index }, draw("path", { class: "hit", d: path }), draw("path", { class: "line", d: path }), label);
  if (edge.untrusted) group.classList.add("untrusted");
  return group;
}

const loop = ({ x, y }) => `M${x} ${y}c-50 -70 50 -70 0 0`;

function nodeOf(node, place) {
  const r = size(node);
  const name = draw("text", { y: (r + 15).toFixed(1) });
  name.textContent = short(called(node));
  const circle = draw("circle", { r: r.toFixed(1) });
  const group = draw("g", {
    class: `node t-${node.type}`, "data-node": node.id, role: "button", tabindex: "-1", "aria-label": spoken(node),
    transform: `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`,
  }, draw("circle", { class: "hit", r: Math.max(22, r + 8).toFixed(1) }), circle, name);
  if (node.best) group.classList.add("best");
  return group;
}

const spoken = (node) => word("graph_node", { name: called(node), type: wordOr(`graph_type_${node.type}`, node.type), n: node.degree + node.values.length });

// Of edges between the same two each bends its own way.
function bends(edges) {
  const count = new Map();
  return edges.map((edge) => {
    const pair = [edge.from, edge.to].sort().join(" ");
    const nth = count.get(pair) ?? 0;
    count.set(pair, nth + 1);
    const side = edge.from < edge.to ? 1 : -1;
    return side * (nth % 2 ? -1 : 1) * Math.ceil(nth / 2) * 26;
  });
}

// `keep`: it is the same picture with news in it, so it stays where the person moved it.
function render(found, keep) {
  const edges = found.edges.filter(({ to }) => to);
  const degree = new Map();
  for (const { from, to } of edges) for (const id of new Set([from, to])) degree.set(id, (degree.get(id) ?? 0) + 1);
  const values = found.edges.filter(({ to }) => !to);
  const nodes = found.nodes.map((node) => ({ ...node, degree: degree.get(node.id) ?? 0, values: values.filter(({ from }) => from === node.id) }));
  $("#graph-empty").hidden = nodes.length > 0;
  $("#graph-box").hidden = !nodes.length; // in sight before it is measured
  const known = new Set(nodes.map(({ id }) => id));
  const drawn = edges.filter(({ from, to }) => known.has(from) && known.has(to));
  const best = new Set([...nodes].sort((a, b) => b.degree - a.degree || (a.id < b.id ? -1 : 1)).slice(0, 8).map(({ id }) => id));
  for (const node of nodes) node.best = best.has(node.id) || node.id === found.center;
  const at = stretched(layout(nodes, drawn, found.center));
  const bent = bends(drawn);
  shown = { nodes, edges: drawn, at, center: found.center };
  inner.replaceChildren(...drawn.map((edge, index) => edgeOf(edge, index, at, bent[index])), ...nodes.map((node) => nodeOf(node, at.get(node.id))));
  const first = nodes.find(({ id }) => id === found.center) ?? [...nodes].sort((a, b) => b.degree - a.degree)[0];
  if (first) nodeAt(first.id).setAttribute("tabindex", "0");
  listed(nodes, drawn);
  $("#graph-more").hidden = !found.more;
  if (keep) view.draw();
  else view.fit([...at.values()]);
}

// A picture taller than wide (a telephone) gets a graph that is, too: names lie side by side, so width is dear.
function stretched(at) {
  const tall = picture.clientWidth ? picture.clientHeight / picture.clientWidth : 1;
  const by = Math.max(1, Math.min(1.7, tall * 1.25));
  for (const one of at.values()) one.y *= by;
  return at;
}

const nodeAt = (id) => $(`[data-node="${CSS.escape(id)}"]`, inner);

// -- the same as a list, for who does not look --------------------------------------------------------------------------

function listed(nodes, edges) {
  const names = new Map(nodes.map((node) => [node.id, called(node)]));
  list.replaceChildren(...[...nodes].sort((a, b) => b.degree - a.degree || (a.name < b.name ? -1 : 1)).map((node) => {
    const own = [...edges.filter(({ from, to }) => from === node.id || to === node.id), ...node.values];
    const head = make("summary", {}, make("b", { text: called(node), dir: "auto" }), make("span", { class: "count", text: own.length }));
    return make("li", {}, make("details", { class: "group" }, head, make("ul", { class: "events" }, ...own.map((edge) => make("li", {}, relation(edge, names))))));
  }));
}

// A fact in words, and the button that opens what it rests on.
function relation(edge, names) {
  const [from, to] = [names.get(edge.from) ?? edge.from, edge.to ? names.get(edge.to) ?? edge.to : edge.value];
  const text = make("p", { class: "relation", dir: "auto" }, make("bdi", { text: from }), " ", make("em", { text: relates(edge) }), " ", make("bdi", { text: to }));
  const open = make("button", { type: "button", class: "quiet id", "data-open-record": edge.record, text: word("graph_open", { id: edge.record.slice(-8) }) });
  const row = make("div", { class: "row" }, open);
  if (edge.untrusted) row.append(make("span", { class: "mark warn", text: word("record_untrusted") }));
  return make("div", { class: "relates" }, text, row);
}

// -- what is chosen -----------------------------------------------------------------------------------------------------

function choose(id) {
  chosen = id;
  for (const one of $$("[data-node]", inner)) {
    one.classList.toggle("chosen", one.dataset.node === id);
    one.setAttribute("tabindex", one.dataset.node === id ? "0" : "-1");
  }
  for (const one of $$("[data-edge]", inner)) {
    const edge = shown.edges[Number(one.dataset.edge)];
    one.classList.toggle("near", edge.from === id || edge.to === id);
  }
}

function openNode(id) {
  const node = shown.nodes.find((one) => one.id === id);
  if (!node) return;
  choose(id);
  const names = new Map(shown.nodes.map((one) => [one.id, called(one)]));
  const own = shown.edges.filter(({ from, to }) => from === id || to === id);
  const middle = make("button", { type: "button", text: word("graph_centre") });
  middle.addEventListener("click", () => { form.elements.center.value = node.name; look(node.id); });
  const facts = [...own, ...node.values].map((edge) => make("li", {}, relation(edge, names)));
  about(called(node), make("p", { class: "quiet", text: spoken(node) }),
    make("ul", { class: "events" }, ...facts), make("div", { class: "row" }, middle));
  uncover(shown.at.get(id));
}

// What is told about does not lie beneath what tells of it.
function uncover({ x, y }) {
  const [box, over] = [picture, panel].map((one) => one.getBoundingClientRect());
  const [at, up] = [x * view.scale + view.x + box.left, y * view.scale + view.y + box.top];
  const edge = 30;
  if (at > over.right + edge || up < over.top - edge) return;
  if (box.width > over.width + 4 * edge) view.pan(over.right + edge - at + (box.right - over.right) / 3, 0);
  else view.pan(0, over.top - 2 * edge - up);
}

function openEdge(key) {
  for (const one of $$("[data-edge]", inner)) one.classList.toggle("near", one.dataset.edge === key);
  openRecord(shown.edges[Number(key)].record);
}

function about(title, ...children) {
  const close = make("button", { type: "button", class: "quiet icon", "aria-label": word("close"), text: "✕" });
  close.addEventListener("click", leave);
  panel.replaceChildren(make("header", {}, make("h2", { text: title, dir: "auto" }), close), ...children);
  panel.hidden = false;
}

function leave() {
  const had = panel.contains(document.activeElement);
  panel.hidden = true;
  if (had) (nodeAt(chosen) ?? picture).focus();
}

// -- by mouse and by keys -----------------------------------------------------------------------------------------------

picture.addEventListener("click", (event) => {
  if (view.dragged()) return;
  const [node, edge] = [event.target.closest("[data-node]"), event.target.closest("[data-edge]")];
  if (node) openNode(node.dataset.node);
  else if (edge) openEdge(edge.dataset.edge);
  else leave();
});

// The nearest node in a direction, those straight ahead first.
function towards(id, [dx, dy]) {
  const from = shown.at.get(id);
  const ahead = [...shown.at.values()].filter((one) => one.id !== id).map((one) => {
    const [x, y] = [one.x - from.x, one.y - from.y];
    const along = x * dx + y * dy;
    return { id: one.id, along, cost: along + 2.2 * Math.abs(x * dy - y * dx) };
  }).filter(({ along }) => along > 4);
  return ahead.sort((a, b) => a.cost - b.cost)[0]?.id;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const keys = { "+": () => view.in(), "=": () => view.in(), "-": () => view.out(), 0: () => view.fit([...shown.at.values()]) };

picture.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const [arrow, node] = [ARROWS[event.key], event.target.closest("[data-node]")];
  if (arrow && (event.shiftKey || !node)) view.pan(-60 * arrow[0], -60 * arrow[1]);
  else if (arrow) step(node.dataset.node, arrow);
  else if (node && (event.key === "Enter" || event.key === " ")) {
    openNode(node.dataset.node);
    $("button", panel)?.focus();
  } else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});

function step(id, arrow) {
  const next = towards(id, arrow);
  if (!next) return;
  choose(next);
  nodeAt(next).focus({ preventScroll: true });
  view.show(shown.at.get(next));
}

panel.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  leave();
});

const buttons = { in: () => view.in(), out: () => view.out(), fit: () => view.fit([...shown.at.values()]) };
for (const button of $$("[data-zoom]")) button.addEventListener("click", () => buttons[button.dataset.zoom]());

// -- what is asked ------------------------------------------------------------------------------------------------------

let asked = 0;
let centre = ""; // what was last asked for: the field may say something that is only half typed
async function look(center, keep = false) {
  const mine = (asked += 1);
  centre = center;
  const query = new URLSearchParams({ depth: form.elements.depth.value, ...(center ? { center } : {}) });
  said.className = "quiet";
  said.textContent = "…";
  try {
    const found = await get(`/memory/graph?${query}`);
    if (mine !== asked) return;
    const had = keep && picture.contains(document.activeElement) ? document.activeElement.closest("[data-node]")?.dataset.node : null;
    leave();
    render(found, keep);
    if (had) (nodeAt(had) ?? picture).focus({ preventScroll: true });
    said.textContent = word("graph_says", { nodes: shown.nodes.length, edges: shown.edges.length, values: shown.nodes.reduce((sum, node) => sum + node.values.length, 0) });
  } catch (error) {
    if (mine !== asked) return;
    said.className = "bad";
    said.textContent = error.message;
    speak(error.message);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  look(form.elements.center.value.trim());
});
form.elements.depth.addEventListener("change", () => look(form.elements.center.value.trim()));
new ResizeObserver(() => { if (shown.nodes.length) view.draw(); }).observe(picture);

follow({ again: () => { if (panel.hidden) look(centre, true); } });
await look(form.elements.center.value.trim());
ready();
