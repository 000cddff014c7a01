// The keys of the graph: arrows walk along links, letters expand, fold and fit.

import { cardTowards } from "./geometry.js";

/** @typedef {import("./view.js").GraphView} GraphView */
/**
 * What the keys need of a view.
 *
 * @typedef {Pick<GraphView, "canvas" | "graph" | "places" | "shown" | "cardActions"> & {
 *   state: {column: unknown}, context: {announce(text: string): void},
 *   expand(id: string, side: import("./model.js").Direction): unknown, toggleColumns(id: string): void, selectColumn(column: null): unknown,
 * }} WalkedView
 */

/**
 * Handle a key that was pressed in the graph.
 * @param {KeyboardEvent} event
 * @param {WalkedView} view
 */
export function handleGraphKey(event, view) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape") return leave(event, view);
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest("input, select, textarea, summary, .graph-side")) return;
  const action = actionOf(event.key, view, target);
  if (!action) return;
  event.preventDefault();
  action();
}

/**
 * @param {string} key
 * @param {WalkedView} view
 * @param {Element | null} target
 */
function actionOf(key, view, target) {
  const { canvas } = view;
  const id = canvas.focused || view.graph.start;
  if (key === "f") return () => canvas.fit();
  if (key === "+" || key === "-") return () => canvas.zoom(key === "+" ? 1.3 : 1 / 1.3);
  if (key === "e" || key === "E") return () => view.expand(id, key === "e" ? "downstream" : "upstream");
  if (key === "c") return () => view.toggleColumns(id);
  if (!target?.closest(".canvas")) return null;
  if (key === "ArrowLeft" || key === "ArrowRight" || key === "ArrowUp" || key === "ArrowDown") return () => walk(key, id, view, target);
  if (key === "Enter" && target.matches(".card")) return () => open(id, view);
  return null;
}

/**
 * @param {"ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown"} key
 * @param {string} id
 * @param {WalkedView} view
 * @param {Element} target
 */
function walk(key, id, view, target) {
  const rows = target.matches(".card-row") ? [...(target.closest(".card-list")?.querySelectorAll("button") ?? [])] : [];
  const row = rows.indexOf(/** @type {HTMLButtonElement} */ (target)) + (key === "ArrowDown" ? 1 : -1);
  if (rows.length && (key === "ArrowDown" || key === "ArrowUp") && rows[row]) return rows[row].focus();
  const next = cardTowards(key, id, view.places ?? {}, view.shown.links);
  if (next !== null) view.canvas.focus(next);
  else view.context.announce(key === "ArrowLeft" ? "Nothing further upstream here" : key === "ArrowRight" ? "Nothing further downstream here" : "The end of the column");
}

/**
 * @param {string} id
 * @param {WalkedView} view
 */
function open(id, view) {
  const node = view.graph.nodes.get(id);
  const card = view.shown.cards.find((one) => one.id === id);
  if (node) view.canvas.drawn.get(id)?.element.querySelector("a")?.click();
  else if (card?.frame) view.cardActions().toggleFrame(card.frame);
}

/**
 * @param {KeyboardEvent} event
 * @param {WalkedView} view
 */
function leave(event, view) {
  const menu = event.target instanceof Element ? event.target.closest("details[open]") : null;
  if (menu instanceof HTMLDetailsElement) {
    menu.open = false;
    menu.querySelector("summary")?.focus();
  } else if (view.state.column) void view.selectColumn(null);
  else return;
  event.preventDefault();
}
