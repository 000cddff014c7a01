// The element of one card: a dataset or job, a version or run, or a folded frame of jobs.

import { pathTo } from "../address.js";
import { fill, h } from "../dom.js";
import { appearanceOfRun, appearanceOfStatus, counted, formatAge, formatDuration, formatNumber, formatTime, splitName } from "../format.js";
import { badge } from "../widgets.js";
import { hasColumns } from "./model.js";
import { stateOf } from "./shown.js";

/** @typedef {import("./model.js").GraphNode} GraphNode */
/** @typedef {import("./shown.js").ShownCard} ShownCard */
/** @typedef {import("./geometry.js").ColumnRows} ColumnRows */
/** @typedef {import("../types.d.ts").Child} Child */

/**
 * What a card shows beside its node.
 *
 * @typedef {object} CardContent
 * @property {ShownCard} card
 * @property {boolean} isStart
 * @property {boolean} isFaded
 * @property {number | null} upstream how many neighbours are not shown; null if they were not counted
 * @property {number | null} downstream
 * @property {boolean} canFoldUpstream whether this side was expanded
 * @property {boolean} canFoldDownstream
 * @property {number | null} seconds
 * @property {string[]} tags
 * @property {string[]} frameName
 * @property {GraphNode[]} members of a folded frame
 * @property {boolean} isOpen whether columns are shown
 * @property {ColumnRows | null} columns null while they are loading
 * @property {number} columnCount
 * @property {string} filter
 * @property {ReadonlySet<string>} way the columns of the card on the selected way
 * @property {string} selected the selected column of this card
 * @property {number} now
 * @property {boolean} isStored whether the card is in a file, in which nothing can be requested and nothing has a page
 * @property {"added" | "removed"} [change] between two graphs that are compared
 *
 * @typedef {object} CardActions
 * @property {(id: string, side: import("./model.js").Direction) => void} expand
 * @property {(id: string, side: import("./model.js").Direction) => void} fold
 * @property {(id: string) => void} toggleColumns
 * @property {(id: string, text: string) => void} filterColumns
 * @property {(id: string) => void} moreColumns
 * @property {(id: string, column: string) => void} selectColumn
 * @property {(frame: string) => void} toggleFrame
 */

/**
 * Return the address of the page of a node.
 * @param {GraphNode} node
 * @returns {string}
 */
export function pageOf({ kind, reference, namespace, name }) {
  if (kind === "run") return pathTo("run", { id: reference[1] });
  if (kind === "version") return pathTo("dataset", { namespace, name, version: reference[3] });
  return pathTo(/** @type {"dataset" | "job"} */ (kind), { namespace, name });
}

/**
 * Return a text that says what a card shows, for screen readers and titles.
 * @param {CardContent} content
 * @returns {string}
 */
export function describedCard(content) {
  const { card, members, frameName, upstream, downstream } = content;
  const { node } = card;
  if (!node) return `${counted(members.length, "job")} of ${frameName.join(" ")}, folded`;
  const parts = [`${node.kind === "version" ? "version of dataset" : node.kind} ${node.name} in ${node.namespace}`, ...appearancesOf(node).map(({ text }) => text), timeText(node, content.now)];
  if (content.change) parts.unshift(`${content.change}:`);
  if (content.isStart) parts.unshift("start:");
  if (upstream) parts.push(`${upstream} more upstream`);
  if (downstream) parts.push(`${downstream} more downstream`);
  return parts.filter(Boolean).join(", ").replace(/\b(start|added|removed):,/g, "$1:");
}

/**
 * Return how the state and the statuses of a node are shown, each once.
 * @param {GraphNode} node
 * @returns {import("../types.d.ts").Appearance[]}
 */
export function appearancesOf(node) {
  const state = node.isData ? "" : stateOf(node);
  const all = [...(state ? [appearanceOfRun(state, node.marks)] : []), ...node.marks.map(appearanceOfStatus)];
  return all.filter(({ text }, at) => all.findIndex((one) => one.text === text) === at);
}

/**
 * Return when a dataset was written or a job ran last.
 * @param {GraphNode} node
 * @returns {string | undefined}
 */
export function timeOf({ kind, facts }) {
  if (kind === "dataset") return facts.writtenAt;
  return kind === "job" ? facts.lastRunAt : facts.at;
}

/**
 * @param {GraphNode} node
 * @param {number} now
 */
function timeText(node, now) {
  const time = timeOf(node);
  if (!time) return node.isData && node.kind === "dataset" ? "never written" : "";
  return `${node.isData ? "written" : "ran"} ${formatAge(time, now)}`;
}

/**
 * Show a card in its element.
 * @param {HTMLElement} element
 * @param {CardContent} content
 * @param {CardActions} actions
 */
export function fillCard(element, content, actions) {
  const { card } = content;
  const kind = card.node?.kind ?? "frame";
  element.className = ["card", `card-${kind}`, card.node?.isData ? "card-data" : "card-work", stateClass(card.node)].join(" ");
  element.classList.toggle("is-start", content.isStart);
  element.classList.toggle("is-faded", content.isFaded);
  element.classList.toggle("is-open", content.isOpen);
  for (const change of ["added", "removed"]) element.classList.toggle(`is-${change}`, content.change === change);
  element.setAttribute("aria-label", describedCard(content));
  const focused = element.ownerDocument.activeElement;
  const filter = element.querySelector("input");
  const range = filter && focused === filter ? [filter.selectionStart, filter.selectionEnd] : null;
  const isInside = focused !== element && element.contains(focused);
  fill(element, card.node ? head(card.node, content, actions) : frameHead(content, actions), content.isOpen && columnList(content, actions), stubs(content, actions));
  const input = element.querySelector("input");
  if (range && input) {
    input.focus({ preventScroll: true });
    input.setSelectionRange(range[0], range[1]);
  } else if (isInside) element.focus({ preventScroll: true });
}

/** @param {GraphNode | null} node */
function stateClass(node) {
  return node && !node.isData && stateOf(node) ? `is-${appearanceOfRun(stateOf(node), node.marks).className}` : "";
}

/**
 * @param {GraphNode} node
 * @param {CardContent} content
 * @param {CardActions} actions
 */
function head(node, content, actions) {
  const { rest, tail } = splitName(node.name);
  const kindText = node.kind === "version" ? "dataset version" : node.kind;
  return [
    h("div", { class: "card-where", title: `${kindText} ${node.namespace} ${node.name}` },
      content.change && h("span", { class: "card-change" }, content.change === "added" ? "+ added" : "− removed"),
      h("span", { class: "card-kind", "aria-hidden": "true" }, node.isData ? "▤" : "ƒ"),
      h("bdi", { class: "card-namespace" }, node.namespace), rest && h("bdi", { class: "card-rest" }, rest)),
    content.isStored ? h("span", { class: "card-name", title: node.name }, tail || node.name) : h("a", { class: "card-name", href: pageOf(node), tabindex: "-1", title: node.name }, tail || node.name),
    h("div", { class: "card-facts" }, facts(node, content), !content.isStored && content.columnCount >= 0 && hasColumns(node) && columnsButton(node, content, actions)),
  ];
}

/**
 * @param {GraphNode} node
 * @param {CardContent} content
 */
function facts(node, { seconds, now }) {
  const time = timeOf(node);
  const age = time ? h("time", { datetime: time, title: formatTime(time) }, node.kind === "dataset" ? "written " : "", formatAge(time, now, true)) : null;
  const version = node.kind === "version" ? h("span", { class: "card-version", title: node.facts.external ?? node.reference[3] }, `v ${(node.facts.external ?? node.reference[3]).slice(0, 8)}`) : null;
  const took = seconds === null ? null : h("span", { class: "card-seconds", title: "duration of the last run" }, formatDuration(seconds));
  return [...appearancesOf(node).slice(0, 2).map(badge), version, age, took];
}

/**
 * @param {GraphNode} node
 * @param {CardContent} content
 * @param {CardActions} actions
 */
function columnsButton(node, { isOpen, columnCount }, actions) {
  const text = columnCount ? counted(columnCount, "column") : "columns";
  const attributes = { type: "button", class: "card-columns", tabindex: "-1", "aria-expanded": String(isOpen) };
  return h("button", { ...attributes, title: "Show or hide the columns (c)", onclick: () => actions.toggleColumns(node.id) }, `${text} ${isOpen ? "▴" : "▾"}`);
}

/**
 * @param {CardContent} content
 * @param {CardActions} actions
 */
function frameHead({ card, frameName, members }, actions) {
  const { rest, tail } = splitName(frameName[1] ?? "");
  /** @type {Map<string, number>} */
  const states = new Map();
  for (const member of members) states.set(stateOf(member), (states.get(stateOf(member)) ?? 0) + 1);
  const summary = [...states].filter(([state]) => state).map(([state, count]) => {
    const { shape, text, className } = appearanceOfRun(state);
    return h("span", { class: `state ${className}`, title: text }, h("span", { class: "shape", "aria-hidden": "true" }, shape), `${count} ${text}`);
  });
  return [
    h("div", { class: "card-where" }, h("span", { class: "card-kind", "aria-hidden": "true" }, "⧉"), h("bdi", { class: "card-namespace" }, frameName[0]), h("bdi", { class: "card-rest" }, rest)),
    h("button", { type: "button", class: "card-name", tabindex: "-1", onclick: () => card.frame && actions.toggleFrame(card.frame) }, `${tail} (${counted(members.length, "job")})`),
    h("div", { class: "card-facts" }, summary.slice(0, 2)),
  ];
}

/**
 * @param {CardContent} content
 * @param {CardActions} actions
 */
function columnList(content, actions) {
  const { card, columns, filter, way, selected } = content;
  if (!columns) return h("div", { class: "card-list" }, h("span", { class: "dim" }, "Loading columns …"));
  const field = columns.hasFilter && h("input", {
    type: "search", class: "card-filter", placeholder: "Filter columns", "aria-label": "Filter columns", tabindex: "-1", value: filter,
    oninput: (/** @type {InputEvent} */ event) => actions.filterColumns(card.id, /** @type {HTMLInputElement} */ (event.target).value),
  });
  const rows = columns.rows.map(({ name, type }) =>
    h("button", {
      type: "button", class: `card-row ${way.has(name) ? "is-on-way" : ""}`, tabindex: "-1", "aria-pressed": String(name === selected),
      title: `${name} ${type}`, disabled: content.isStored, onclick: () => actions.selectColumn(card.id, name),
    }, h("bdi", { class: "card-column" }, name === "*" ? "* (all columns)" : name), h("span", { class: "card-type" }, type)));
  const more = columns.more > 0 && h("button", { type: "button", class: "card-row card-more", tabindex: "-1", onclick: () => actions.moreColumns(card.id) }, `${formatNumber(columns.more)} more`);
  return h("div", { class: "card-list" }, field, rows.length ? rows : h("span", { class: "card-row dim" }, filter ? "no column matches" : "no columns known"), more);
}

/**
 * Return the buttons at the sides of a card that expand or fold them.
 * @param {CardContent} content
 * @param {CardActions} actions
 */
function stubs(content, actions) {
  const { node } = content.card;
  if (!node) return [];
  /** @type {[import("./model.js").Direction, number | null, boolean][]} */
  const sides = [["upstream", content.upstream, content.canFoldUpstream], ["downstream", content.downstream, content.canFoldDownstream]];
  return sides.map(([side, count, canFold]) => {
    const isFixed = node.kind === "version" || content.isStored;
    if ((count === 0 && !canFold) || (isFixed && !count)) return null;
    if (isFixed) return h("span", { class: `stub stub-${side} is-text`, title: `${count} more ${side}` }, `+${formatNumber(count ?? 0)}`);
    const isFold = count === 0 || (canFold && count === null);
    const text = isFold ? "−" : count === null ? "+" : `+${formatNumber(count)}`;
    const title = isFold ? `Hide what is ${side} of ${node.name}` : count === null ? `Show what is ${side} of ${node.name}` : `Show ${count} more ${side} of ${node.name}`;
    const isUnsure = count === null && !isFold;
    return h("button", {
      type: "button", class: `stub stub-${side} ${isUnsure ? "is-unsure" : ""}`, tabindex: "-1", title, "aria-label": title,
      onclick: () => (isFold ? actions.fold : actions.expand)(node.id, side),
    }, text);
  });
}
