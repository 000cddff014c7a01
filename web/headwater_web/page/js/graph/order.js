// The order of nodes within their columns: few crossings, found within a budget of steps, always the same.

import { crossings, crossingsOfPair, placesOf } from "./crossings.js";

/** @typedef {import("./crossings.js").Layered} Layered */
/** @typedef {{left: boolean}} Side */

/** Visits of neighbours that one layout may make: about half a second on a slow machine. */
export const BUDGET = 12_000_000;
const ROUNDS = 24;
const ROUNDS_WITHOUT_GAIN = 5;

/**
 * The state of a search: the order now, and the best one found.
 *
 * @typedef {object} Search
 * @property {Layered} graph
 * @property {number[][]} order
 * @property {Int32Array} place
 * @property {number[][]} best
 * @property {number} fewest
 * @property {number} steps
 * @property {number} budget
 */

/**
 * Return the order of the nodes in each column with few crossings.
 * @param {Layered} graph
 * @param {number} [budget] in visits of neighbours
 * @returns {number[][]}
 */
export function ordered(graph, budget = BUDGET) {
  /** @type {Search} */
  const search = { graph, order: [], place: new Int32Array(graph.count), best: [], fewest: Infinity, steps: 0, budget };
  const starts = [depthFirst(graph, false), depthFirst(graph, true), byNumber(graph)];
  for (const [index, start] of starts.entries()) {
    const smoothed = index !== 1;
    if (search.fewest === 0 || (search.steps > budget && search.best.length)) break;
    begin(search, start);
    if (smoothed) smooth(search);
    improve(search);
  }
  begin(search, search.best);
  polish(search);
  return search.best;
}

/**
 * @param {Search} search
 * @param {number[][]} order
 */
function begin(search, order) {
  search.order = order.map((column) => column.slice());
  search.place = placesOf(order, search.graph.count);
  for (let at = 0; at < order.length; at++) sortColumn(search, at, (node) => search.place[node]);
  compare(search);
}

/**
 * Keep the order if it is the best so far; return whether it is.
 * @param {Search} search
 */
function compare(search) {
  const now = crossings(search.graph, search.order, search.place);
  search.steps += search.graph.count * 4;
  if (now >= search.fewest) return false;
  search.fewest = now;
  search.best = search.order.map((column) => column.slice());
  return true;
}

/**
 * Sweep over the columns to and fro until that gains nothing.
 * @param {Search} search
 */
function improve(search) {
  let without = 0;
  for (let round = 0; round < ROUNDS && without < ROUNDS_WITHOUT_GAIN; round++) {
    if (search.steps > search.budget || search.fewest === 0) return;
    sweep(search, round % 2 === 0);
    transpose(search, round % 4 < 2);
    without = compare(search) ? 0 : without + 1;
  }
}

/**
 * @param {Search} search
 * @param {boolean} rightward
 */
function sweep(search, rightward) {
  const { graph, order, place } = search;
  const size = order.length;
  for (let at = 1; at < size; at++) {
    const column = rightward ? at : size - 1 - at;
    const sides = rightward ? graph.left : graph.right;
    const other = order[rightward ? column - 1 : column + 1].length;
    const scale = order[column].length / Math.max(1, other);
    sortColumn(search, column, (node) => {
      const value = meanPlace(sides[node], place);
      return value < 0 ? place[node] : value * scale;
    });
  }
}

/**
 * @param {number[]} nodes
 * @param {Int32Array} place
 * @returns {number} -1 without nodes
 */
function meanPlace(nodes, place) {
  if (!nodes.length) return -1;
  let sum = 0;
  for (const node of nodes) sum += place[node];
  return sum / nodes.length;
}

/**
 * Sort a column by a value of its nodes; the nodes of a group stay together, at their mean.
 * @param {Search} search
 * @param {number} at
 * @param {(node: number) => number} valueOf
 */
function sortColumn(search, at, valueOf) {
  const { graph, place } = search;
  const column = search.order[at];
  search.steps += column.length * 4;
  const value = column.map(valueOf);
  const rank = column.some((node) => graph.group[node] >= 0) ? groupMeans(column, value, graph.group) : value;
  const index = Array.from(column.keys());
  index.sort((a, b) => rank[a] - rank[b] || graph.group[column[a]] - graph.group[column[b]] || value[a] - value[b] || a - b);
  const sorted = index.map((from) => column[from]);
  for (let to = 0; to < sorted.length; to++) {
    column[to] = sorted[to];
    place[sorted[to]] = to;
  }
}

/**
 * Return for each node of a column the mean value of its group, or its own value.
 * @param {number[]} column
 * @param {number[]} value
 * @param {Int32Array} group
 */
function groupMeans(column, value, group) {
  /** @type {Map<number, number[]>} */
  const values = new Map();
  column.forEach((node, index) => {
    const list = values.get(group[node]);
    if (list) list.push(value[index]);
    else values.set(group[node], [value[index]]);
  });
  /** @type {Map<number, number>} */
  const means = new Map();
  for (const [key, list] of values) means.set(key, list.reduce((sum, one) => sum + one, 0) / list.length);
  return column.map((node, index) => (group[node] < 0 ? value[index] : (means.get(group[node]) ?? 0)));
}

/**
 * Exchange neighbours in a column while that removes crossings; where it changes nothing, exchange them on request.
 * @param {Search} search
 * @param {boolean} ties whether neighbours are exchanged that cross equally often both ways
 */
function transpose(search, ties) {
  const columns = search.order.map((_, at) => at);
  let active = new Set(columns);
  while (active.size && search.steps < search.budget) {
    const next = new Set();
    for (const at of active) {
      if (transposeColumn(search, at, ties)) for (const near of [at - 1, at, at + 1]) if (search.order[near]) next.add(near);
    }
    active = next;
    ties = false;
  }
}

/**
 * @param {Search} search
 * @param {number} at
 * @param {boolean} ties
 * @returns {boolean} whether crossings were removed
 */
function transposeColumn(search, at, ties) {
  const { graph, place } = search;
  const nodes = search.order[at];
  const lefts = nodes.map((node) => sortedPlaces(graph.left[node], place));
  const rights = nodes.map((node) => sortedPlaces(graph.right[node], place));
  let gained = false;
  for (let index = 0; index + 1 < nodes.length; index++) {
    if (graph.group[nodes[index]] !== graph.group[nodes[index + 1]]) continue;
    const now = crossingsOfPair(lefts[index], lefts[index + 1]) + crossingsOfPair(rights[index], rights[index + 1]);
    const then = crossingsOfPair(lefts[index + 1], lefts[index]) + crossingsOfPair(rights[index + 1], rights[index]);
    search.steps += 4 + lefts[index].length + rights[index].length;
    if (then > now || (then === now && !ties)) continue;
    gained ||= then < now;
    for (const list of [nodes, lefts, rights]) [list[index], list[index + 1]] = [list[index + 1], list[index]];
  }
  nodes.forEach((node, index) => (place[node] = index));
  return gained;
}

/**
 * @param {number[]} nodes
 * @param {Int32Array} place
 */
function sortedPlaces(nodes, place) {
  if (nodes.length < 2) return nodes.length ? [place[nodes[0]]] : [];
  return nodes.map((node) => place[node]).sort((a, b) => a - b);
}

const SMOOTHINGS = 24;

/**
 * Place all columns at once by the neighbours on both sides: it untwists what sweeps leave twisted.
 * @param {Search} search
 */
function smooth(search) {
  const { graph, order, place } = search;
  for (let round = 0; round < SMOOTHINGS && search.steps < search.budget; round++) {
    const relative = new Float64Array(graph.count);
    for (const column of order) for (const node of column) relative[node] = (place[node] + 0.5) / column.length;
    for (let at = 0; at < order.length; at++) {
      sortColumn(search, at, (node) => {
        let sum = relative[node];
        for (const other of graph.left[node]) sum += relative[other];
        for (const other of graph.right[node]) sum += relative[other];
        return sum / (1 + graph.left[node].length + graph.right[node].length);
      });
    }
  }
}

/**
 * Move single nodes to the best place of their column (sifting) while that removes crossings.
 * @param {Search} search
 */
function polish(search) {
  let gained = true;
  while (gained && search.steps < search.budget && search.fewest > 0) {
    gained = false;
    for (let at = 0; at < search.order.length; at++) {
      for (const node of search.order[at].slice()) {
        if (search.steps > search.budget) break;
        gained = sift(search, at, node) || gained;
      }
    }
    transpose(search, true);
    gained = compare(search) || gained;
  }
}

/**
 * Move a node to the place of its column where its edges cross fewest others; return whether that removed crossings.
 * @param {Search} search
 * @param {number} at
 * @param {number} node
 */
function sift(search, at, node) {
  const { graph, place } = search;
  if (graph.group[node] >= 0) return false;
  const others = search.order[at].filter((other) => other !== node);
  const mine = [sortedPlaces(graph.left[node], place), sortedPlaces(graph.right[node], place)];
  // The crossings of the node with all others, relative to the top place.
  let [sum, least, best, now] = [0, 0, 0, 0];
  for (let index = 0; index <= others.length; index++) {
    const free = index === 0 || index === others.length || graph.group[others[index - 1]] < 0 || graph.group[others[index - 1]] !== graph.group[others[index]];
    if (index === place[node]) now = sum;
    if (free && sum < least) [least, best] = [sum, index];
    if (index === others.length) break;
    const yours = [sortedPlaces(graph.left[others[index]], place), sortedPlaces(graph.right[others[index]], place)];
    for (const side of [0, 1]) sum += crossingsOfPair(yours[side], mine[side]) - crossingsOfPair(mine[side], yours[side]);
    search.steps += 4 + mine[0].length + mine[1].length;
  }
  if (least >= now) return false;
  others.splice(best, 0, node);
  search.order[at] = others;
  others.forEach((other, index) => (place[other] = index));
  return true;
}

/** @param {Layered} graph */
function byNumber(graph) {
  const order = emptyColumns(graph);
  for (let node = 0; node < graph.count; node++) order[graph.columnOf[node]].push(node);
  return order;
}

/**
 * Return the nodes in the order in which a search finds them, from the left column or from the right one.
 * @param {Layered} graph
 * @param {boolean} fromRight
 */
function depthFirst(graph, fromRight) {
  const order = emptyColumns(graph);
  const seen = new Uint8Array(graph.count);
  const nodes = Array.from(graph.columnOf.keys()).sort((a, b) => (graph.columnOf[a] - graph.columnOf[b]) * (fromRight ? -1 : 1) || a - b);
  for (const root of nodes) {
    const stack = [root];
    while (stack.length) {
      const node = /** @type {number} */ (stack.pop());
      if (seen[node]) continue;
      seen[node] = 1;
      order[graph.columnOf[node]].push(node);
      const next = fromRight ? [graph.right[node], graph.left[node]] : [graph.left[node], graph.right[node]];
      for (const side of next) for (let at = side.length - 1; at >= 0; at--) if (!seen[side[at]]) stack.push(side[at]);
    }
  }
  return order;
}

/**
 * @param {Layered} graph
 * @returns {number[][]}
 */
function emptyColumns(graph) {
  let size = 0;
  for (const column of graph.columnOf) size = Math.max(size, column + 1);
  return Array.from({ length: size }, () => []);
}
