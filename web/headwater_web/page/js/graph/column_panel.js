// The panel about a selected column: every step of its way, with the operations that programs reported.

import { fill, h } from "../dom.js";
import { counted, splitName } from "../format.js";
import { nameElement, nodeLink, runLink, timeElement } from "../widgets.js";

/** @typedef {import("./columns.js").ColumnWay} ColumnWay */
/** @typedef {import("./columns.js").ColumnStep} ColumnStep */
/** @typedef {import("../types.d.ts").Child} Child */

/**
 * @typedef {object} ColumnPanelActions
 * @property {() => void} onClose
 * @property {(indirect: boolean) => void} onIndirect
 * @property {(dataset: string[], column: string) => Promise<any>} operations
 */

/**
 * Return the panel about a column.
 * @param {{dataset: string[], column: string}} selected
 * @param {ColumnWay} way
 * @param {{indirect: boolean, indirectSteps: number}} options `indirectSteps` is how many there are, shown or not
 * @param {ColumnPanelActions} actions
 * @returns {HTMLElement}
 */
export function columnPanel({ dataset, column }, way, { indirect, indirectSteps }, actions) {
  const steps = way.steps.filter(({ kind }) => kind !== "covers");
  const box = h("input", { type: "checkbox", checked: indirect, onchange: (/** @type {Event} */ event) => actions.onIndirect(/** @type {HTMLInputElement} */ (event.target).checked) });
  return h("section", { class: "graph-column", "aria-label": `The way of column ${column}` },
    h("div", { class: "panel-head" }, h("h2", null, h("bdi", null, `${splitName(dataset[2]).tail}.${column === "*" ? "*" : column}`)), h("span", { class: "dim" }, counted(steps.length, "step")),
      h("button", { type: "button", class: "quiet", "aria-label": "Leave the column", title: "Escape", onclick: actions.onClose }, "✕")),
    h("div", { class: "panel-body", tabindex: "0", role: "group", "aria-label": "Steps" },
      h("label", { class: "toggle" }, box, ` with indirect ones: filters, joins, sorting (${indirectSteps})`),
      way.notes.map((note) => h("p", { class: "dim" }, note)),
      steps.length ? h("ol", { class: "steps" }, steps.map(stepElement)) : h("p", { class: "dim" }, indirectSteps && !indirect ? "This column is derived from nothing directly." : "No lineage of this column is known."),
      dataset[0] === "dataset" && operationsPart(dataset, column, actions)));
}

/** @param {ColumnStep} step */
function stepElement({ from, fromColumn, to, toColumn, job, run, kind, type, subtype, masking, isGuess, isIndirect, description }) {
  const words = kind === "alias" ? "the same column under another name" : [type.toLowerCase(), subtype.toLowerCase().replaceAll("_", " ")].filter(Boolean).join(", ") || "derived";
  return h("li", { class: isIndirect ? "is-indirect" : null },
    h("div", null, columnName(from, fromColumn), " → ", columnName(to, toColumn)),
    h("div", { class: "dim" }, words, masking && [" · ", h("span", { class: "state state-warn" }, "◐ masked")], isGuess && [" · ", h("span", { class: "state state-warn", title: "Not declared by the job" }, "? guess")], job && [" · by ", run ? runLink(run, nameElement(job[1])) : nodeLink(["job", ...job], { withNamespace: false })]),
    description && h("div", { class: "step-text" }, h("bdi", null, description)));
}

/**
 * @param {string} dataset an id
 * @param {string} column
 */
function columnName(dataset, column) {
  const [, namespace, name] = JSON.parse(dataset);
  return h("span", { title: `${namespace} ${name}` }, h("span", { class: "dim" }, splitName(name).tail, "."), h("bdi", null, column));
}

/**
 * @param {string[]} dataset
 * @param {string} column
 * @param {ColumnPanelActions} actions
 */
function operationsPart(dataset, column, actions) {
  const part = h("div", { class: "operations" });
  const button = h("button", { type: "button", onclick: () => void load() }, "Operations");
  async function load() {
    button.disabled = true;
    const answer = await actions.operations(dataset, column).catch((/** @type {Error} */ fault) => ({ fault: fault.message }));
    fill(part, answer.fault ? h("p", { class: "dim" }, answer.fault) : operationsElement(answer));
  }
  fill(part, h("p", { class: "dim" }, "The operations that made this column, as programs reported them: ", button));
  return part;
}

/** @param {any} answer */
function operationsElement({ steps, complete }) {
  if (!steps.length) return h("p", { class: "dim" }, "No program has reported operations on this column.");
  return [h("h3", null, "Operations"), steps.map(operationStep), !complete && h("p", { class: "dim" }, "There are more than are shown.")];
}

/** @param {any} step */
function operationStep({ dataset, job, run, at, operations }) {
  return h("div", { class: "operation-step" },
    h("div", null, nodeLink(["job", ...job], { withNamespace: false }), " → ", nodeLink(["dataset", ...dataset], { withNamespace: false }), " ", runLink(run), " ", timeElement(at)),
    h("ol", null, operations.map((/** @type {any} */ operation) => h("li", null, h("b", null, operation.kind ?? operation.type), " ", h("bdi", null, operation.name), operation.masking && h("span", { class: "state state-warn" }, " ◐ masked"), operation.description && h("div", { class: "dim step-text" }, h("bdi", null, operation.description))))));
}
