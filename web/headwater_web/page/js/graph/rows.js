// The vertical positions of a layered layout: short, straight edges without overlap, whatever the heights of the nodes.

/** @typedef {import("./crossings.js").Layered} Layered */

/**
 * What a node needs above and below its anchor, the height at which its edges end.
 *
 * @typedef {{above: Float64Array, below: Float64Array}} Extents
 */

const ROUNDS = 14;
const STRAIGHTENINGS = 3;

/**
 * Return the height of the anchor of each node.
 * @param {Layered} graph
 * @param {number[][]} order
 * @param {Extents} extents including the space between nodes
 * @returns {Float64Array}
 */
export function anchors(graph, order, extents) {
  const y = new Float64Array(graph.count);
  for (const column of order) pack(column, y, extents);
  for (let round = 0; round < ROUNDS; round++) {
    const both = round >= ROUNDS - 4;
    if (round % 2 === 0) for (let at = 0; at < order.length; at++) settle(graph, order[at], y, extents, true, both);
    else for (let at = order.length - 1; at >= 0; at--) settle(graph, order[at], y, extents, both, true);
  }
  const blocks = straightBlocks(graph);
  for (let round = 0; round < STRAIGHTENINGS; round++) straighten(blocks, order, y, extents, graph.count);
  return y.map(Math.round);
}

/**
 * @param {number[]} column
 * @param {Float64Array} y
 * @param {Extents} extents
 */
function pack(column, y, extents) {
  let height = 0;
  for (const node of column) height += extents.above[node] + extents.below[node];
  let top = -height / 2;
  for (const node of column) {
    y[node] = top + extents.above[node];
    top += extents.above[node] + extents.below[node];
  }
}

/**
 * Place a column by the neighbours of its nodes.
 * @param {Layered} graph
 * @param {number[]} column
 * @param {Float64Array} y
 * @param {Extents} extents
 * @param {boolean} useLeft
 * @param {boolean} useRight
 */
function settle(graph, column, y, extents, useLeft, useRight) {
  const wanted = new Float64Array(column.length);
  const weights = new Float64Array(column.length);
  column.forEach((node, index) => {
    let [sum, weight] = [0, 0];
    for (const side of [useLeft ? graph.left[node] : [], useRight ? graph.right[node] : []]) {
      for (const other of side) {
        const pull = weightOf(graph, node, other);
        sum += y[other] * pull;
        weight += pull;
      }
    }
    wanted[index] = weight ? sum / weight : y[node];
    weights[index] = weight || 0.01;
  });
  spread(column, wanted, weights, extents).forEach((value, index) => (y[column[index]] = value));
}

/**
 * Return how strongly an edge wants to be horizontal: the inner parts of long edges most.
 * @param {Layered} graph
 * @param {number} node
 * @param {number} other
 */
function weightOf(graph, node, other) {
  return 1 << (3 * ((node >= graph.real ? 1 : 0) + (other >= graph.real ? 1 : 0)));
}

/**
 * Return the heights nearest to those wanted (least squares) at which the nodes of a column keep their order and space.
 *
 * It is isotonic regression: neighbours that would overlap become a block at their mean.
 * @param {number[]} column
 * @param {ArrayLike<number>} wanted
 * @param {ArrayLike<number>} weights
 * @param {Extents} extents
 * @returns {number[]}
 */
export function spread(column, wanted, weights, extents) {
  /** @type {{value: number, weight: number, size: number}[]} */
  const blocks = [];
  const offset = new Float64Array(column.length);
  for (let index = 0; index < column.length; index++) {
    if (index) offset[index] = offset[index - 1] + extents.below[column[index - 1]] + extents.above[column[index]];
    let block = { value: wanted[index] - offset[index], weight: weights[index], size: 1 };
    for (let last = blocks.at(-1); last && last.value > block.value; last = blocks.at(-1)) {
      const weight = last.weight + block.weight;
      block = { value: (last.value * last.weight + block.value * block.weight) / weight, weight, size: last.size + block.size };
      blocks.pop();
    }
    blocks.push(block);
  }
  return blocks.flatMap((block) => new Array(block.size).fill(block.value)).map((value, index) => value + offset[index]);
}

/**
 * Return the ways of nodes of which each has the next as its only right neighbour and is its only left one.
 * @param {Layered} graph
 */
function straightBlocks(graph) {
  /** @param {number} node */
  const next = (node) => (graph.right[node].length === 1 && graph.left[graph.right[node][0]].length === 1 ? graph.right[node][0] : -1);
  /** @type {number[][]} */
  const blocks = [];
  for (let node = 0; node < graph.count; node++) {
    const before = graph.left[node].length === 1 ? graph.left[node][0] : -1;
    if (next(node) < 0 || (before >= 0 && next(before) === node)) continue;
    const block = [node];
    for (let at = next(node); at >= 0; at = next(at)) block.push(at);
    blocks.push(block);
  }
  return blocks;
}

/**
 * Move the nodes of each block to one height where their neighbours leave the space.
 * @param {number[][]} blocks
 * @param {number[][]} order
 * @param {Float64Array} y
 * @param {Extents} extents
 * @param {number} count
 */
function straighten(blocks, order, y, extents, count) {
  const above = new Int32Array(count).fill(-1);
  const below = new Int32Array(count).fill(-1);
  for (const column of order) {
    for (let at = 1; at < column.length; at++) {
      above[column[at]] = column[at - 1];
      below[column[at - 1]] = column[at];
    }
  }
  for (const block of blocks) {
    let [least, most, sum] = [-Infinity, Infinity, 0];
    for (const node of block) {
      if (above[node] >= 0) least = Math.max(least, y[above[node]] + extents.below[above[node]] + extents.above[node]);
      if (below[node] >= 0) most = Math.min(most, y[below[node]] - extents.below[node] - extents.above[below[node]]);
      sum += y[node];
    }
    if (least > most) continue;
    const height = Math.min(most, Math.max(least, sum / block.length));
    for (const node of block) y[node] = height;
  }
}
