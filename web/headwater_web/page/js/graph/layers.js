// Columns of a layered layout: which edges are drawn backwards because of cycles, and the column of each node.

/** @typedef {[number, number]} Pair an edge between two nodes, by their numbers */

/**
 * Return for each node the numbers of the edges that leave it and of those that enter it.
 * @param {number} count
 * @param {Pair[]} edges
 * @returns {{leaving: number[][], entering: number[][]}}
 */
export function incidence(count, edges) {
  /** @type {number[][]} */
  const leaving = Array.from({ length: count }, () => []);
  /** @type {number[][]} */
  const entering = Array.from({ length: count }, () => []);
  edges.forEach(([from, to], index) => {
    leaving[from].push(index);
    entering[to].push(index);
  });
  return { leaving, entering };
}

/**
 * Return which edges must be reversed so that the others have no cycle; a loop of one node is never reversed.
 *
 * Nodes are taken away one by one (Eades, Lin and Smyth): those without successors to the right, those without
 * predecessors to the left, else the one with the most successors to spare. A graph without cycles has no reversed edge.
 * @param {number} count
 * @param {Pair[]} edges
 * @returns {boolean[]}
 */
export function reversedEdges(count, edges) {
  const rank = acyclicRanks(count, edges);
  return edges.map(([from, to]) => from !== to && rank[from] > rank[to]);
}

/**
 * @param {number} count
 * @param {Pair[]} edges
 */
function acyclicRanks(count, edges) {
  const around = incidence(count, edges);
  const outward = Int32Array.from(around.leaving, (list, node) => list.filter((edge) => edges[edge][1] !== node).length);
  const inward = Int32Array.from(around.entering, (list, node) => list.filter((edge) => edges[edge][0] !== node).length);
  const rank = new Int32Array(count).fill(-1);
  let left = 0;
  let right = count - 1;
  /** @type {number[]} */
  const ready = [];
  for (let node = 0; node < count; node++) if (!outward[node] || !inward[node]) ready.push(node);
  /** @param {number} node */
  const take = (node) => {
    if (rank[node] >= 0) return;
    rank[node] = outward[node] === 0 ? right-- : left++;
    for (const edge of around.leaving[node]) if (--inward[edges[edge][1]] === 0) ready.push(edges[edge][1]);
    for (const edge of around.entering[node]) if (--outward[edges[edge][0]] === 0) ready.push(edges[edge][0]);
  };
  while (left <= right) {
    while (ready.length) take(/** @type {number} */ (ready.pop()));
    if (left <= right) take(mostToSpare(rank, outward, inward));
  }
  return rank;
}

/**
 * @param {Int32Array} rank
 * @param {Int32Array} outward
 * @param {Int32Array} inward
 */
function mostToSpare(rank, outward, inward) {
  let best = -1;
  for (let node = 0; node < rank.length; node++) {
    if (rank[node] >= 0) continue;
    if (best < 0 || outward[node] - inward[node] > outward[best] - inward[best]) best = node;
  }
  return best;
}

/**
 * Return the column of each node so that every edge leads to the right, and the edges are short.
 * @param {number} count
 * @param {Pair[]} edges without cycles; loops are ignored
 * @returns {Int32Array} columns from 0
 */
export function columns(count, edges) {
  const proper = edges.filter(([from, to]) => from !== to);
  const around = incidence(count, proper);
  const order = topological(count, proper, around);
  const column = new Int32Array(count);
  for (const node of order) for (const edge of around.leaving[node]) raise(column, proper[edge]);
  tighten(column, proper, around, order);
  let least = Infinity;
  for (const value of column) least = Math.min(least, value);
  return column.map((value) => value - least);
}

/**
 * @param {Int32Array} column
 * @param {Pair} edge
 */
function raise(column, [from, to]) {
  column[to] = Math.max(column[to], column[from] + 1);
}

/**
 * @param {number} count
 * @param {Pair[]} edges
 * @param {{leaving: number[][], entering: number[][]}} around
 */
function topological(count, edges, around) {
  const missing = Int32Array.from(around.entering, (list) => list.length);
  /** @type {number[]} */
  const order = [];
  for (let node = 0; node < count; node++) if (!missing[node]) order.push(node);
  for (let at = 0; at < order.length; at++) {
    for (const edge of around.leaving[order[at]]) if (--missing[edges[edge][1]] === 0) order.push(edges[edge][1]);
  }
  return order;
}

const MOST_ROUNDS = 60;

/**
 * Shorten long edges: move a node, or nodes that are joined by edges of length one, while the sum of lengths decreases.
 * @param {Int32Array} column
 * @param {Pair[]} edges
 * @param {{leaving: number[][], entering: number[][]}} around
 * @param {number[]} order
 */
function tighten(column, edges, around, order) {
  const sides = { edges, around, column };
  for (let round = 0; round < MOST_ROUNDS; round++) {
    let moved = false;
    for (let at = order.length - 1; at >= 0; at--) moved = shift(sides, order[at], 1) || moved;
    for (const node of order) moved = shift(sides, node, -1) || moved;
    if (!moved) break;
  }
}

/** @typedef {{edges: Pair[], around: {leaving: number[][], entering: number[][]}, column: Int32Array}} Sides */

const MOST_TOGETHER = 400;

/**
 * Move a node one step with all that it pushes, if that shortens the edges; return whether it moved.
 * @param {Sides} sides
 * @param {number} node
 * @param {1 | -1} step
 */
function shift(sides, node, step) {
  const { edges, around, column } = sides;
  const group = new Set([node]);
  let gain = 0;
  for (const member of group) {
    const pushed = step > 0 ? around.leaving[member] : around.entering[member];
    for (const edge of pushed) {
      const other = edges[edge][step > 0 ? 1 : 0];
      if (column[other] - column[member] === step) group.add(other);
    }
    if (group.size > MOST_TOGETHER) return false;
  }
  for (const member of group) {
    for (const edge of around.leaving[member]) if (!group.has(edges[edge][1])) gain += step;
    for (const edge of around.entering[member]) if (!group.has(edges[edge][0])) gain -= step;
  }
  if (gain <= 0) return false;
  for (const member of group) column[member] += step;
  return true;
}
