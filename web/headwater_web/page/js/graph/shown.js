// Which cards and links are shown: filters hide cards, and the jobs of a folded frame become one card. Pure.

import { connected } from "./model.js";

/** @typedef {import("./model.js").Graph} Graph */
/** @typedef {import("./model.js").GraphNode} GraphNode */

/**
 * @typedef {object} Filters empty texts and lists filter nothing
 * @property {string[]} namespaces those that are hidden
 * @property {string} state of the last run of jobs
 * @property {string} tag
 * @property {string} owner
 * @property {boolean} hideTemporary
 *
 * @typedef {object} JobDetails what the graph knows of a job or dataset beyond the answers of lineage
 * @property {string[] | null} [parent] namespace and name of the job that it is a part of
 * @property {number | null} [seconds]
 * @property {string[]} [tags]
 *
 * @typedef {object} ShownCard
 * @property {string} id
 * @property {GraphNode | null} node null for a folded frame
 * @property {string[]} members the ids of the nodes that the card stands for
 * @property {string | null} frame the id of the parent whose frame is around the card
 *
 * @typedef {{from: string, to: string, kind: string, past: boolean, through: string[]}} ShownLink `through` are hidden
 *   temporary datasets between
 * @typedef {{cards: ShownCard[], links: ShownLink[], frames: Map<string, string[]>, hidden: number}} Shown `frames` has the name
 *   of each frame
 */

/** @type {Filters} */
export const NO_FILTERS = { namespaces: [], state: "", tag: "", owner: "", hideTemporary: false };

/**
 * Return whether a name looks like that of a dataset that a job makes for itself.
 * @param {string} name
 * @returns {boolean}
 */
export function isTemporary(name) {
  return /(^|[/._-])(tmp|temp|temporary|_temporary|scratch)([/._-]|$|\d)/i.test(name) || /(^|[/.])__/.test(name);
}

/**
 * Return what is shown of a graph.
 * @param {Graph} graph
 * @param {{filters: Filters, folded: ReadonlySet<string>, details: ReadonlyMap<string, JobDetails>}} options
 * @returns {Shown}
 */
export function shownOf(graph, { filters, folded, details }) {
  const passing = new Set([...graph.nodes.values()].filter((node) => node.id === graph.start || passes(node, filters, details)).map(({ id }) => id));
  const bridged = bridgedLinks(graph, passing, filters);
  const reached = connected(graph.start, bridged);
  const parents = frameParents(graph, reached, details);
  /** @param {string} id */
  const cardOf = (id) => (folded.has(parents.get(id) ?? "") ? `frame ${parents.get(id)}` : id);
  const cards = cardsOf(graph, [...passing].filter((id) => reached.has(id)), parents, cardOf);
  const ids = new Set(cards.map(({ id }) => id));
  const links = mergedLinks(bridged, cardOf).filter(({ from, to }) => ids.has(from) && ids.has(to) && from !== to);
  const frames = new Map([...new Set(parents.values())].map((key) => [key, JSON.parse(key)]));
  const shown = cards.reduce((count, card) => count + card.members.length, 0);
  return { cards, links, frames, hidden: graph.nodes.size - shown };
}

/**
 * @param {GraphNode} node
 * @param {Filters} filters
 * @param {ReadonlyMap<string, JobDetails>} details
 */
function passes(node, filters, details) {
  if (filters.namespaces.includes(node.namespace)) return false;
  if (filters.hideTemporary && node.isData && isTemporary(node.name)) return false;
  if (filters.state && !node.isData && stateOf(node) !== filters.state) return false;
  if (filters.owner && node.facts.owners?.length && !node.facts.owners.includes(filters.owner)) return false;
  const tags = details.get(node.id)?.tags ?? [];
  return !filters.tag || !tags.length || tags.includes(filters.tag);
}

/**
 * Return the state of a run, or of the last run of a job.
 * @param {GraphNode} node
 * @returns {string}
 */
export function stateOf(node) {
  return (node.kind === "run" ? node.facts.state : node.facts.lastRunState) ?? "";
}

/**
 * Return the links between nodes that pass; in place of a hidden temporary dataset, its writers lead to its readers.
 * @param {Graph} graph
 * @param {Set<string>} passing
 * @param {Filters} filters
 */
function bridgedLinks(graph, passing, filters) {
  /** @type {ShownLink[]} */
  const links = [];
  /** @type {Map<string, string[]>} */
  const writers = new Map();
  /** @type {Map<string, string[]>} */
  const readers = new Map();
  for (const { from, to, kind, past } of graph.edges.values()) {
    if (passing.has(from) && passing.has(to)) links.push({ from, to, kind, past, through: [] });
    else if (passing.has(from)) writers.set(to, [...(writers.get(to) ?? []), from]);
    else if (passing.has(to)) readers.set(from, [...(readers.get(from) ?? []), to]);
  }
  if (!filters.hideTemporary) return links;
  for (const [id, sources] of writers) {
    const node = graph.nodes.get(id);
    if (!node?.isData || !isTemporary(node.name)) continue;
    for (const from of sources) for (const to of readers.get(id) ?? []) links.push({ from, to, kind: "through", past: false, through: [id] });
  }
  return links;
}

/**
 * Return the frame of each job that has a parent in common with another job that is shown.
 * @param {Graph} graph
 * @param {Set<string>} reached
 * @param {ReadonlyMap<string, JobDetails>} details
 */
function frameParents(graph, reached, details) {
  /** @type {Map<string, string[]>} */
  const children = new Map();
  for (const id of reached) {
    const parent = details.get(id)?.parent;
    if (!parent || graph.nodes.get(id)?.isData !== false) continue;
    const key = JSON.stringify(parent);
    children.set(key, [...(children.get(key) ?? []), id]);
  }
  /** @type {Map<string, string>} */
  const frames = new Map();
  for (const [key, ids] of children) if (ids.length > 1) for (const id of ids) frames.set(id, key);
  return frames;
}

/**
 * @param {Graph} graph
 * @param {string[]} ids
 * @param {Map<string, string>} parents
 * @param {(id: string) => string} cardOf
 */
function cardsOf(graph, ids, parents, cardOf) {
  /** @type {Map<string, ShownCard>} */
  const cards = new Map();
  for (const id of ids) {
    const node = graph.nodes.get(id);
    if (!node) continue;
    const card = cardOf(id);
    const known = cards.get(card);
    if (known) known.members.push(id);
    else if (card === id) cards.set(id, { id, node, members: [id], frame: parents.get(id) ?? null });
    else cards.set(card, { id: card, node: null, members: [id], frame: parents.get(id) ?? null });
  }
  return [...cards.values()];
}

/**
 * Return the links between cards, each once.
 * @param {ShownLink[]} links
 * @param {(id: string) => string} cardOf
 */
function mergedLinks(links, cardOf) {
  /** @type {Map<string, ShownLink>} */
  const merged = new Map();
  for (const link of links) {
    const [from, to] = [cardOf(link.from), cardOf(link.to)];
    const key = `${from} ${to}`;
    const known = merged.get(key);
    if (known) known.through.push(...link.through);
    else merged.set(key, { ...link, from, to, through: [...link.through] });
  }
  return [...merged.values()];
}

/**
 * Return what the filters can choose from, in alphabetical order.
 * @param {Graph} graph
 * @param {ReadonlyMap<string, JobDetails>} details
 * @returns {{namespaces: string[], states: string[], owners: string[], tags: string[], temporary: number}}
 */
export function choices(graph, details) {
  const nodes = [...graph.nodes.values()];
  /** @param {string[]} values */
  const sorted = (values) => [...new Set(values)].filter(Boolean).sort();
  return {
    namespaces: sorted(nodes.map((node) => node.namespace)),
    states: sorted(nodes.filter((node) => !node.isData).map(stateOf)),
    owners: sorted(nodes.flatMap((node) => node.facts.owners ?? [])),
    tags: sorted(nodes.flatMap((node) => details.get(node.id)?.tags ?? [])),
    temporary: nodes.filter((node) => node.isData && isTemporary(node.name)).length,
  };
}
