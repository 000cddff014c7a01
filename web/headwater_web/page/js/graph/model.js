// What the graph view knows: the merged answers of lineage questions, and how much of the graph lies beyond them. Pure.

/** @typedef {"upstream" | "downstream"} Direction */

/**
 * A dataset or job, or in Run mode a version of a dataset or a run.
 *
 * @typedef {object} GraphNode
 * @property {string} id
 * @property {string[]} reference
 * @property {"dataset" | "job" | "version" | "run"} kind
 * @property {boolean} isData a dataset or version
 * @property {string} namespace
 * @property {string} name
 * @property {string[]} marks
 * @property {Record<string, any>} facts
 *
 * @typedef {{id: string, from: string, to: string, kind: string, past: boolean}} GraphEdge
 * @typedef {{upstream: Map<string, number>, downstream: Map<string, number>}} Totals how many neighbours a node has on a side
 *
 * @typedef {object} Graph
 * @property {string} start
 * @property {Map<string, GraphNode>} nodes
 * @property {Map<string, GraphEdge>} edges
 * @property {Totals} totals
 * @property {Set<string>} notes what the answers say of themselves
 */

/**
 * Return the id of a node from its reference `[kind, namespace, name…]`.
 * @param {readonly string[]} reference
 * @returns {string}
 */
export function idOf(reference) {
  return JSON.stringify(reference);
}

/**
 * Return whether a node has columns: a dataset, or a version of one.
 * @param {{kind: string} | null | undefined} node
 * @returns {boolean}
 */
export function hasColumns(node) {
  return node?.kind === "dataset" || node?.kind === "version";
}

/**
 * Return a graph without nodes.
 * @param {string} start the id of the node that it is about
 * @returns {Graph}
 */
export function emptyGraph(start) {
  return { start, nodes: new Map(), edges: new Map(), totals: { upstream: new Map(), downstream: new Map() }, notes: new Set() };
}

/**
 * Return a node of an answer.
 * @param {any} value
 * @returns {GraphNode}
 */
export function nodeOf(value) {
  const { node: reference, marks, depth, ...facts } = value;
  const [kind] = reference;
  const [namespace, name] = kind === "run" ? (facts.job ?? ["", reference[1]]) : reference.slice(1);
  const isData = kind === "dataset" || kind === "version";
  return { id: idOf(reference), reference, kind, isData, namespace, name, marks: marks ?? [], facts };
}

/**
 * Add an answer to a graph in place.
 *
 * What was known stays; facts of nodes are those of the newest answer, marks of all of them.
 * @param {Graph} graph
 * @param {any} answer of `lineage`, or of the lineage of a run
 * @param {Direction} direction
 */
export function addAnswer(graph, answer, direction) {
  for (const value of answer.nodes) {
    const node = nodeOf(value);
    const known = graph.nodes.get(node.id);
    const marks = known ? [...new Set([...known.marks, ...node.marks])] : node.marks;
    graph.nodes.set(node.id, { ...node, marks, facts: { ...known?.facts, ...node.facts } });
  }
  const degree = countedEdges(graph, answer, direction);
  addTotals(graph, answer, direction, degree);
  for (const note of answer.notes ?? []) graph.notes.add(note);
}

/**
 * Add the edges of an answer; return how many of them each node has on the side of the direction.
 * @param {Graph} graph
 * @param {any} answer
 * @param {Direction} direction
 */
function countedEdges(graph, answer, direction) {
  /** @type {Map<string, number>} */
  const degree = new Map();
  for (const edge of answer.edges) {
    const [from, to] = [idOf(edge.from), idOf(edge.to)];
    const id = `${from} ${to} ${edge.kind}`;
    graph.edges.set(id, { id, from, to, kind: edge.kind, past: edge.past === true });
    if (edge.kind === "alias") continue;
    const near = direction === "upstream" ? to : from;
    degree.set(near, (degree.get(near) ?? 0) + 1);
  }
  return degree;
}

/**
 * @param {Graph} graph
 * @param {any} answer
 * @param {Direction} direction
 * @param {Map<string, number>} degree
 */
function addTotals(graph, answer, direction, degree) {
  const totals = graph.totals[direction];
  /** @param {string} id @param {number} total */
  const atLeast = (id, total) => totals.set(id, Math.max(totals.get(id) ?? 0, total));
  for (const { node } of answer.nodes) atLeast(idOf(node), degree.get(idOf(node)) ?? 0);
  for (const cut of answer.cuts) {
    if (cut.at === null) {
      graph.notes.add(`Not everything is shown: an answer has at most ${cut.shown} nodes.`);
      for (const { node } of answer.nodes) if (!degree.get(idOf(node))) totals.delete(idOf(node));
    } else {
      const id = idOf(cut.at);
      const shown = cut.why === "depth" ? (degree.get(id) ?? 0) : 0;
      atLeast(id, shown + (cut.total ?? cut.shown + 1));
    }
  }
}

/**
 * Return how many neighbours of a node on a side are not in the graph; null if no answer has counted them.
 * @param {Graph} graph
 * @param {string} id
 * @param {Direction} side
 * @returns {number | null}
 */
export function beyond(graph, id, side) {
  const total = graph.totals[side].get(id);
  if (total === undefined) return null;
  return Math.max(0, total - neighboursOf(graph, id, side).size);
}

/** @type {WeakMap<Graph, {size: number, upstream: Map<string, Set<string>>, downstream: Map<string, Set<string>>}>} */
const indexes = new WeakMap();

/**
 * Return the ids of the neighbours of a node on a side, aliases excepted.
 * @param {Graph} graph
 * @param {string} id
 * @param {Direction} side
 * @returns {Set<string>}
 */
export function neighboursOf(graph, id, side) {
  let index = indexes.get(graph);
  if (!index || index.size !== graph.edges.size) indexes.set(graph, (index = indexOf(graph)));
  return index[side].get(id) ?? new Set();
}

/** @param {Graph} graph */
function indexOf(graph) {
  const index = { size: graph.edges.size, upstream: new Map(), downstream: new Map() };
  for (const { from, to, kind } of graph.edges.values()) {
    if (kind === "alias") continue;
    if (!index.downstream.has(from)) index.downstream.set(from, new Set());
    if (!index.upstream.has(to)) index.upstream.set(to, new Set());
    index.downstream.get(from).add(to);
    index.upstream.get(to).add(from);
  }
  return index;
}

/**
 * Remove what an expansion brought: the nodes that the start reaches only through one side of a node.
 * @param {Graph} graph
 * @param {string} id
 * @param {Direction} side
 */
export function collapse(graph, id, side) {
  const cutOff = neighboursOf(graph, id, side);
  const total = graph.totals[side].get(id) ?? cutOff.size;
  const edges = [...graph.edges.values()].filter(({ from, to, kind }) => kind === "alias" || (side === "upstream" ? to !== id : from !== id));
  const reached = connected(graph.start, edges);
  if (!reached.has(id)) return;
  for (const node of [...graph.nodes.keys()]) if (!reached.has(node)) graph.nodes.delete(node);
  for (const edge of [...graph.edges.values()]) if (!graph.nodes.has(edge.from) || !graph.nodes.has(edge.to)) graph.edges.delete(edge.id);
  graph.totals[side].set(id, total);
  indexes.delete(graph);
}

/**
 * Return the ids that are connected with a node, in either direction.
 * @param {string} start
 * @param {Iterable<{from: string, to: string}>} edges
 * @returns {Set<string>}
 */
export function connected(start, edges) {
  /** @type {Map<string, string[]>} */
  const around = new Map();
  for (const { from, to } of edges) {
    for (const [one, other] of [[from, to], [to, from]]) {
      const list = around.get(one);
      if (list) list.push(other);
      else around.set(one, [other]);
    }
  }
  const reached = new Set([start]);
  for (const id of reached) for (const other of around.get(id) ?? []) reached.add(other);
  return reached;
}

/**
 * Return how far each node is from a node, in edges along one direction.
 * @param {Graph} graph
 * @param {string} start
 * @param {Direction} side
 * @returns {Map<string, number>}
 */
export function distances(graph, start, side) {
  const distance = new Map([[start, 0]]);
  for (const [id, steps] of distance) {
    for (const other of neighboursOf(graph, id, side)) if (!distance.has(other)) distance.set(other, steps + 1);
  }
  return distance;
}

const EDGE_KINDS = { job: ["feeds", "produces"], run: ["read", "wrote"] };

/**
 * Add the datasets and jobs on the way of a column that the graph lacks.
 * @param {Graph} graph
 * @param {readonly import("./columns.js").ColumnStep[]} steps
 * @returns {boolean} whether there were any
 */
export function addWay(graph, steps) {
  const before = graph.nodes.size + graph.edges.size;
  for (const { from, to, job, run, via, state, kind } of steps) {
    const ends = via ? [from, via, to] : [from, to];
    for (const id of ends) if (!graph.nodes.has(id)) graph.nodes.set(id, nodeOf({ node: JSON.parse(id), ...(id === via && run ? { job, state } : {}) }));
    for (let at = 1; at < ends.length; at++) {
      const edgeKind = via ? EDGE_KINDS[run ? "run" : "job"][at - 1] : "alias";
      if (kind === "covers" || ends[at - 1] === ends[at]) continue;
      const id = `${ends[at - 1]} ${ends[at]} ${edgeKind}`;
      if (!graph.edges.has(id)) graph.edges.set(id, { id, from: ends[at - 1], to: ends[at], kind: edgeKind, past: false });
    }
  }
  return graph.nodes.size + graph.edges.size > before;
}
