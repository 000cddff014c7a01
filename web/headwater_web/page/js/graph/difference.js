// What differs between two graphs around the same node, and both as pictures in which a card has the same place. Pure.

import { NO_WAY } from "./columns.js";
import { layout } from "./layout.js";
import { contents, layoutCards, sceneOf } from "./scene.js";
import { NO_FILTERS, shownOf } from "./shown.js";
import { stateOfParams } from "./state.js";

/** @typedef {import("./model.js").Graph} Graph */
/** @typedef {import("./model.js").GraphEdge} GraphEdge */
/** @typedef {import("./model.js").GraphNode} GraphNode */
/** @typedef {import("./canvas.js").Scene} Scene */

/**
 * @typedef {object} Difference
 * @property {GraphNode[]} added nodes of the second graph alone
 * @property {GraphNode[]} removed nodes of the first graph alone
 * @property {[GraphNode, GraphNode][]} addedEdges between nodes that both graphs have
 * @property {[GraphNode, GraphNode][]} removedEdges
 */

/**
 * Return what differs between two graphs, in order of names.
 * @param {Graph} before
 * @param {Graph} after
 * @returns {Difference}
 */
export function differenceOf(before, after) {
  return {
    added: nodesBeyond(after, before),
    removed: nodesBeyond(before, after),
    addedEdges: edgesBeyond(after, before),
    removedEdges: edgesBeyond(before, after),
  };
}

/**
 * @param {Graph} graph
 * @param {Graph} other
 */
function nodesBeyond(graph, other) {
  return [...graph.nodes.values()].filter(({ id }) => !other.nodes.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * @param {Graph} graph
 * @param {Graph} other
 * @returns {[GraphNode, GraphNode][]}
 */
function edgesBeyond(graph, other) {
  const found = [...graph.edges.values()].filter(({ id, from, to }) => !other.edges.has(id) && other.nodes.has(from) && other.nodes.has(to));
  return found.sort((a, b) => (a.id < b.id ? -1 : 1)).flatMap(({ from, to }) => {
    const ends = [graph.nodes.get(from), graph.nodes.get(to)];
    return ends[0] && ends[1] ? [/** @type {[GraphNode, GraphNode]} */ (ends)] : [];
  });
}

/**
 * Return the pictures of two graphs. Both have the layout of all that either has, so that what stays is where it was.
 * @param {Graph} before
 * @param {Graph} after
 * @param {number} now milliseconds since 1970, from which ages count
 * @returns {[Scene, Scene]}
 */
export function scenesOf(before, after, now) {
  const both = { ...before, nodes: new Map([...before.nodes, ...after.nodes]), edges: new Map([...before.edges, ...after.edges]) };
  const { shown, found } = cardsOf(both, now);
  const links = shown.links.map(({ from, to }) => ({ from, to }));
  const whole = layout({ cards: layoutCards(found), links });
  const routes = new Map(links.map(({ from, to }, at) => [`${from} ${to}`, whole.routes[at]]));
  /** @param {Graph} graph @param {Graph} other @param {"added" | "removed"} change */
  const sceneBeside = (graph, other, change) => {
    const side = cardsOf(graph, now);
    const cards = new Map([...side.found].map(([id, content]) => [id, other.nodes.has(id) ? content : { ...content, change }]));
    const placed = { ...whole, routes: side.shown.links.map(({ from, to }) => /** @type {import("./layout.js").Route} */ (routes.get(`${from} ${to}`))) };
    const scene = sceneOf(side.shown, cards, placed, NO_WAY);
    const known = new Set([...other.edges.values()].map(({ from, to }) => `${from} ${to}`));
    const drawn = scene.links.map((link, at) => (known.has(`${side.shown.links[at].from} ${side.shown.links[at].to}`) ? link : { ...link, className: `${link.className} is-${change}` }));
    return { ...scene, links: drawn };
  };
  return [sceneBeside(before, after, "removed"), sceneBeside(after, before, "added")];
}

/**
 * @param {Graph} graph
 * @param {number} now
 */
function cardsOf(graph, now) {
  const nothing = new Map();
  const shown = shownOf(graph, { filters: NO_FILTERS, folded: new Set(), details: nothing });
  return { shown, found: contents(graph, shown, { state: stateOfParams({}), details: nothing, columns: nothing, lists: nothing, way: NO_WAY, now }) };
}
