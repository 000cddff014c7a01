// The graph of a layered layout, where every edge joins two neighbouring columns, and the crossings of its edges.

/**
 * A graph in columns. Nodes are numbered; those from `real` on are the bends of long edges.
 *
 * @typedef {object} Layered
 * @property {number} count
 * @property {number} real
 * @property {Int32Array} columnOf
 * @property {number[][]} left neighbours in the column before
 * @property {number[][]} right neighbours in the column after
 * @property {Int32Array} group nodes of one group stay together in their column; -1: of no group
 * @property {number[][]} chains for each edge of the graph the nodes on its way, both ends included
 */

/**
 * Return the layered graph of nodes in columns: an edge over several columns becomes a chain with a bend in each.
 * @param {Int32Array} column
 * @param {import("./layers.js").Pair[]} edges each to a column further right; loops are left out
 * @param {Int32Array} group
 * @returns {Layered}
 */
export function layered(column, edges, group) {
  const columnOf = Array.from(column);
  const real = columnOf.length;
  const chains = edges.map(([from, to]) => {
    const chain = [from];
    for (let at = column[from] + 1; at < column[to]; at++) chain.push(columnOf.push(at) - 1);
    return from === to ? chain : [...chain, to];
  });
  /** @type {number[][]} */
  const left = columnOf.map(() => []);
  /** @type {number[][]} */
  const right = columnOf.map(() => []);
  for (const chain of chains) {
    for (let at = 1; at < chain.length; at++) {
      right[chain[at - 1]].push(chain[at]);
      left[chain[at]].push(chain[at - 1]);
    }
  }
  const groups = new Int32Array(columnOf.length).fill(-1);
  groups.set(group);
  return { count: columnOf.length, real, columnOf: Int32Array.from(columnOf), left, right, group: groups, chains };
}

/**
 * Return the place of each node in its column.
 * @param {number[][]} order the nodes of each column
 * @param {number} count
 * @returns {Int32Array}
 */
export function placesOf(order, count) {
  const place = new Int32Array(count);
  for (const column of order) for (let at = 0; at < column.length; at++) place[column[at]] = at;
  return place;
}

/**
 * Return the number of crossings between all neighbouring columns.
 * @param {Layered} graph
 * @param {number[][]} order
 * @param {Int32Array} place
 * @returns {number}
 */
export function crossings(graph, order, place) {
  let total = 0;
  for (let at = 0; at + 1 < order.length; at++) total += between(order[at], order[at + 1].length, graph.right, place);
  return total;
}

/**
 * @param {number[]} nodes
 * @param {number} size of the next column
 * @param {number[][]} right
 * @param {Int32Array} place
 */
function between(nodes, size, right, place) {
  // A Fenwick tree of the places at which earlier edges end.
  const tree = new Int32Array(size + 1);
  let edges = 0;
  let total = 0;
  for (const node of nodes) {
    for (const other of right[node]) {
      let below = 0;
      for (let at = place[other] + 1; at > 0; at -= at & -at) below += tree[at];
      total += edges - below;
    }
    for (const other of right[node]) {
      edges++;
      for (let at = place[other] + 1; at <= size; at += at & -at) tree[at]++;
    }
  }
  return total;
}

/**
 * Return how many crossings of their edges two nodes of a column have if the first is above the second.
 * @param {number[]} first the places of the first one's neighbours, ascending
 * @param {number[]} second
 * @returns {number}
 */
export function crossingsOfPair(first, second) {
  let total = 0;
  let smaller = 0;
  for (const place of first) {
    while (smaller < second.length && second[smaller] < place) smaller++;
    total += smaller;
  }
  return total;
}
