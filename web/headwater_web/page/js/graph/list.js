// The graph as a table: the same answer, for reading aloud, sorting and saving.

import { fill, h } from "../dom.js";
import { counted, formatTime } from "../format.js";
import { csvOf } from "../export/csv.js";
import { badge, nameElement, nodeLink, timeElement } from "../widgets.js";
import { appearancesOf, timeOf } from "./card.js";
import { distances } from "./model.js";
import { stateOf } from "./shown.js";

/** @typedef {import("./model.js").Graph} Graph */
/** @typedef {import("./model.js").GraphNode} GraphNode */

/**
 * @typedef {{node: GraphNode, side: "start" | "upstream" | "downstream" | "beside", steps: number | null}} ListRow
 * @typedef {"name" | "kind" | "side" | "steps" | "state" | "time"} SortKey
 */

const ROWS_AT_ONCE = 300;
const HEAD = ["kind", "namespace", "name", "side", "steps", "state", "time", "owners", "status"];

/**
 * Return the rows of the nodes that are shown, nearest first.
 * @param {Graph} graph
 * @param {ReadonlySet<string>} shown ids of nodes
 * @returns {ListRow[]}
 */
export function listRows(graph, shown) {
  const [up, down] = [distances(graph, graph.start, "upstream"), distances(graph, graph.start, "downstream")];
  const rows = [...graph.nodes.values()].filter(({ id }) => shown.has(id)).map((node) => rowOf(node, up.get(node.id), down.get(node.id)));
  return sorted(rows, "steps", false);
}

/**
 * @param {GraphNode} node
 * @param {number | undefined} up
 * @param {number | undefined} down
 * @returns {ListRow}
 */
function rowOf(node, up, down) {
  if (up === 0) return { node, side: "start", steps: 0 };
  if (up === undefined && down === undefined) return { node, side: "beside", steps: null };
  const isUp = down === undefined || (up !== undefined && up <= down);
  return { node, side: isUp ? "upstream" : "downstream", steps: (isUp ? up : down) ?? null };
}

/**
 * Return rows in the order of a column; equal ones by name.
 * @param {ListRow[]} rows
 * @param {SortKey} key
 * @param {boolean} descending
 * @returns {ListRow[]}
 */
export function sorted(rows, key, descending) {
  const sign = descending ? -1 : 1;
  const values = new Map(rows.map((row) => [row, valueOf(row, key)]));
  return rows.slice().sort((a, b) => {
    const [first, second] = [values.get(a) ?? "", values.get(b) ?? ""];
    return sign * (first < second ? -1 : first > second ? 1 : 0) || (a.node.name < b.node.name ? -1 : 1);
  });
}

/**
 * @param {ListRow} row
 * @param {SortKey} key
 */
function valueOf({ node, side, steps }, key) {
  if (key === "steps") return steps ?? Infinity;
  if (key === "side") return side;
  if (key === "kind") return node.kind;
  if (key === "state") return stateOf(node) || node.marks.join();
  return key === "time" ? (timeOf(node) ?? "") : node.name;
}

/**
 * Return the table as CSV.
 * @param {ListRow[]} rows
 * @returns {string}
 */
export function listCsv(rows) {
  return csvOf(HEAD, rows.map(({ node, side, steps }) => [
    node.kind, node.namespace, node.name, side, steps, stateOf(node), timeOf(node), (node.facts.owners ?? []).join(" "), node.marks.join(" "),
  ]));
}

/**
 * Return the panel with the table, and a function that shows other rows in it.
 * @param {{onCsv: () => void, onShow: (id: string) => void, onClose: () => void, isStored?: boolean}} actions a list that is stored
 *   in a file has no links
 * @returns {{element: HTMLElement, show(rows: ListRow[]): void}}
 */
export function listPanel({ onCsv, onShow, onClose, isStored = false }) {
  /** @type {{key: SortKey, descending: boolean, rows: ListRow[], most: number}} */
  const state = { key: "steps", descending: false, rows: [], most: ROWS_AT_ONCE };
  const body = h("tbody");
  const count = h("span", { class: "dim" });
  const more = h("button", { type: "button", onclick: () => ((state.most += 1_000), draw()) }, "Show more");
  /** @type {[SortKey, string][]} */
  const columns = [["name", "Name"], ["side", "Side"], ["steps", "Steps"], ["state", "State"], ["time", "Last"]];
  const heads = columns.map(([key, text]) => h("th", { scope: "col" }, h("button", { type: "button", class: "sort", onclick: () => sort(key) }, text)));
  /** @param {SortKey} key */
  function sort(key) {
    state.descending = state.key === key ? !state.descending : key === "time";
    state.key = key;
    draw();
  }
  function draw() {
    const rows = sorted(state.rows, state.key, state.descending);
    columns.forEach(([key], at) => heads[at].setAttribute("aria-sort", state.key !== key ? "none" : state.descending ? "descending" : "ascending"));
    fill(body, rows.slice(0, state.most).map((row) => rowElement(row, onShow, isStored)));
    count.textContent = counted(rows.length, "row");
    more.hidden = rows.length <= state.most;
  }
  const element = h("section", { class: "graph-list", "aria-label": "List of the graph" },
    h("div", { class: "panel-head" }, h("h2", null, "List"), count, h("button", { type: "button", onclick: onCsv }, "Download CSV"), h("button", { type: "button", class: "quiet", "aria-label": "Close the list", onclick: onClose }, "✕")),
    h("div", { class: "panel-body", tabindex: "0", role: "group", "aria-label": "Table" }, h("table", null, h("caption", { class: "visually-hidden" }, "What the graph shows"), h("thead", null, h("tr", null, heads)), body), more));
  return { element, show: (rows) => ((state.rows = rows), draw()) };
}

/**
 * @param {ListRow} row
 * @param {(id: string) => void} onShow
 * @param {boolean} isStored
 */
function rowElement({ node, side, steps }, onShow, isStored) {
  const reference = node.kind === "run" ? ["run", node.reference[1]] : [node.kind, ...node.reference.slice(1)];
  return h("tr", null,
    h("th", { scope: "row" }, h("span", { class: "dim", "aria-hidden": "true" }, node.isData ? "▤ " : "ƒ "), h("span", { class: "visually-hidden" }, `${node.kind} `), isStored ? nameElement(node.name) : nodeLink(reference), " ", h("button", { type: "button", class: "locate", "aria-label": `Show ${node.name} in the graph`, title: "Show in the graph", onclick: () => onShow(node.id) }, "◎")),
    h("td", null, side), h("td", { class: "number" }, steps ?? ""), h("td", null, appearancesOf(node).map(badge)), h("td", { title: formatTime(timeOf(node)) }, timeElement(timeOf(node))));
}
