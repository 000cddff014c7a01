// The lineage of a dataset or job at two times, side by side, and what differs between them.

import { pathTo } from "../address.js";
import { ApiProblem } from "../api.js";
import { append, h } from "../dom.js";
import { counted, formatTime, splitName } from "../format.js";
import { Canvas } from "../graph/canvas.js";
import { differenceOf, scenesOf } from "../graph/difference.js";
import { addAnswer, emptyGraph, idOf } from "../graph/model.js";
import { lineageOf } from "../graph/requests.js";
import { copyButton, heading, nameElement, nodeLink, quoted, section } from "../widgets.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */
/** @typedef {import("../types.d.ts").Params} Params */
/** @typedef {import("../graph/model.js").Graph} Graph */
/** @typedef {import("../graph/model.js").GraphNode} GraphNode */

const SIDES = /** @type {const} */ (["upstream", "downstream"]);
const DEPTHS = [1, 2, 3, 5, 10];
const SHOWN = 200;
/** On first sight cards are at least so large. */
const LEAST_SCALE = 0.4;

/**
 * @param {HTMLElement} root
 * @param {Address} address with `lineage`, the kind of node, `namespace`, `name`, the times `from` and `to` (now without it) and `depth`
 * @param {Context} context
 */
export async function show(root, { params }, context) {
  const reference = [params.lineage, params.namespace ?? "", params.name ?? ""];
  if (!params.from || !reference[2]) throw new ApiProblem(400, "This address names no times", "It needs lineage, namespace, name and from.");
  const [before, after] = await Promise.all([params.from, params.to ?? ""].map((time) => graphAt(reference, time, params, context)));
  const [first, second] = scenesOf(before, after, Date.now());
  const canvases = pair(reference, params, context);
  const larger = first.cards.size > second.cards.size ? 0 : 1;
  const labels = [formatTime(params.from), params.to ? formatTime(params.to) : "now"];
  const pictures = canvases.map((canvas, at) => h("section", { class: "graph-stage", "aria-label": `As of ${labels[at]}` }, h("p", { class: "stage-time" }, `As of ${labels[at]}`), canvas.element));
  append(root, [
    heading({ kind: "Difference between two times", context: nodeLink(reference), name: nameElement(reference[2], 120), actions: actions(reference, params) }),
    controls(params, context, canvases[larger]),
    changes(before, after),
    h("div", { class: "side-by-side" }, pictures),
  ]);
  canvases[0].setScene(first);
  canvases[1].setScene(second);
  canvases[larger].fit(LEAST_SCALE, before.start);
}

/**
 * @param {string[]} reference
 * @param {string} time
 * @param {Params} params
 * @param {Context} context
 */
async function graphAt(reference, time, params, { api, signal }) {
  const graph = emptyGraph(idOf(reference));
  const options = { depth: depthOf(params), level: 0, asOf: time };
  const answers = await Promise.all(SIDES.map((side) => lineageOf(api, reference, side, options, signal)));
  answers.forEach((answer, at) => addAnswer(graph, answer, SIDES[at]));
  return graph;
}

/** @param {Params} params */
function depthOf({ depth }) {
  return Math.min(20, Math.max(1, Number.parseInt(depth ?? "2", 10) || 2));
}

/**
 * Return two canvases that move together. What a card cannot show here, the lineage at its time shows.
 * @param {string[]} reference
 * @param {Params} params
 * @param {Context} context
 */
function pair(reference, params, context) {
  /** @type {Canvas[]} */
  const canvases = [];
  let isMoving = false;
  for (const [at, time] of [params.from, params.to].entries()) {
    const open = (/** @type {string} */ id) => {
      const [kind, namespace, name] = JSON.parse(id);
      context.go({ view: "lineage", params: { kind, namespace, name, ...(time ? { as_of: time } : {}) } });
    };
    const none = () => {};
    const actions = { expand: open, fold: open, toggleColumns: open, filterColumns: none, moreColumns: none, selectColumn: none, toggleFrame: none };
    const onSight = (/** @type {import("../graph/geometry.js").Sight} */ sight) => {
      if (isMoving) return;
      isMoving = true;
      canvases[1 - at].setSight(sight);
      isMoving = false;
    };
    const canvas = new Canvas({ actions, onSight, onFocus: none, onRecentre: open });
    canvas.focused = idOf(reference);
    canvases.push(canvas);
  }
  return canvases;
}

/**
 * @param {string[]} reference
 * @param {Params} params
 */
function actions([kind, namespace, name], params) {
  const times = [params.from, params.to];
  const command = times.flatMap((time) => SIDES.map((side) => `headwater lineage ${side} ${quoted(namespace)} ${quoted(name)} --depth ${depthOf(params)}${time ? ` --as-of ${quoted(time)}` : ""}`));
  return [h("a", { class: "button", href: pathTo("lineage", { kind, namespace, name }) }, "Lineage"), copyButton("Copy as command", command.join("\n"))];
}

/**
 * @param {Params} params
 * @param {Context} context
 * @param {Canvas} canvas the other one moves with it
 */
function controls(params, context, canvas) {
  /** @param {Params} change */
  const ask = (change) => context.go({ view: "diff", params: { ...params, ...change } });
  /** @type {(label: string, key: "from" | "to") => HTMLElement} */
  const time = (label, key) => {
    const value = Number.isNaN(Date.parse(params[key] ?? "")) ? "" : new Date(params[key]).toISOString().slice(0, 16);
    return h("label", null, `${label} `, h("input", { type: "datetime-local", "aria-label": `${label}, UTC`, value, onchange: (/** @type {Event} */ event) => {
      const chosen = /** @type {HTMLInputElement} */ (event.target).value;
      if (chosen || key === "to") ask({ [key]: chosen && `${chosen}:00Z` });
    } }));
  };
  const depth = depthOf(params);
  const depths = DEPTHS.includes(depth) ? DEPTHS : [...DEPTHS, depth];
  return h("div", { class: "toolbar", role: "group", "aria-label": "Times" },
    time("From", "from"), time("To", "to"), params.to && h("button", { type: "button", onclick: () => ask({ to: "" }) }, "Now"),
    h("label", null, "Depth ", h("select", { onchange: (/** @type {Event} */ event) => ask({ depth: /** @type {HTMLSelectElement} */ (event.target).value }) }, depths.map((one) => h("option", { value: one, selected: one === depth }, one)))),
    h("span", { class: "zoom-buttons", role: "group", "aria-label": "Zoom" },
      h("button", { type: "button", "aria-label": "Smaller", onclick: () => canvas.zoom(1 / 1.3) }, "−"),
      h("button", { type: "button", onclick: () => canvas.fit() }, "Fit"),
      h("button", { type: "button", "aria-label": "Larger", onclick: () => canvas.zoom(1.3) }, "+")));
}

/**
 * @param {Graph} before
 * @param {Graph} after
 */
function changes(before, after) {
  const { added, removed, addedEdges, removedEdges } = differenceOf(before, after);
  const lines = [
    ...added.map((node) => line("added", nodeText(node))), ...removed.map((node) => line("removed", nodeText(node))),
    ...addedEdges.map((edge) => line("added", edgeText(edge))), ...removedEdges.map((edge) => line("removed", edgeText(edge))),
  ];
  const notes = [...new Set([...before.notes, ...after.notes])];
  const more = lines.length > SHOWN && h("p", { class: "cut" }, `${counted(lines.length - SHOWN, "further change")}: the pictures have them.`);
  const found = lines.length ? [h("ul", { class: "changes" }, lines.slice(0, SHOWN)), more] : h("p", null, "The same datasets, jobs and edges.");
  return section("Changes", notes.map((note) => h("p", { class: "cut" }, note)), found);
}

/**
 * @param {"added" | "removed"} change
 * @param {import("../types.d.ts").Child} text
 */
function line(change, text) {
  return h("li", { class: `change-${change}` }, h("span", { class: "sign", "aria-hidden": "true" }, change === "added" ? "+" : "−"), h("span", { class: "visually-hidden" }, `${change} `), text);
}

/** @param {GraphNode} node */
function nodeText({ kind, reference }) {
  return [`${kind} `, nodeLink(reference)];
}

/** @param {[GraphNode, GraphNode]} edge */
function edgeText([from, to]) {
  return ["edge ", h("bdi", null, splitName(from.name).tail), " → ", h("bdi", null, splitName(to.name).tail)];
}
