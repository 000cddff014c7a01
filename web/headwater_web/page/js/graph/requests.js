// The questions that the graph view asks, all of them public addresses of the HTTP interface.

import { ApiProblem } from "../api.js";
import { idOf } from "./model.js";

/** @typedef {import("../types.d.ts").Api} Api */
/** @typedef {import("./model.js").Direction} Direction */
/** @typedef {import("./model.js").GraphNode} GraphNode */
/** @typedef {import("./shown.js").JobDetails} JobDetails */

/** How many neighbours of one node the first answer, and each expansion of the same side, may show. */
export const NEIGHBOURS = [25, 250, 2_500, 20_000];
const MOST_NODES = 5_000;

/**
 * Return the answer about one side of a node.
 * @param {Api} api
 * @param {readonly string[]} reference
 * @param {Direction} direction
 * @param {{depth: number, level: number, asOf?: string, past?: boolean}} options `level` is an index of NEIGHBOURS
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export function lineageOf(api, reference, direction, { depth, level, asOf, past }, signal) {
  const [kind, namespace, name] = reference;
  const limits = { depth, neighbours: NEIGHBOURS[Math.min(level, NEIGHBOURS.length - 1)], nodes: level > 1 ? 20_000 : MOST_NODES };
  if (kind === "run") return api.get(`/runs/${encodeURIComponent(namespace)}/lineage/${direction}`, limits, signal);
  const scope = { as_of: asOf || undefined, past: past || undefined };
  return api.get(`/lineage/${direction}`, { kind, namespace, name, ...limits, ...scope }, signal);
}

/**
 * Return the answers about the way of a column, upstream and downstream.
 * @param {Api} api
 * @param {readonly string[]} dataset `["dataset", namespace, name]`, or `["version", namespace, name, id]`: its way through runs
 * @param {string} column
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export function columnLineage(api, [kind, namespace, name, version], column, signal) {
  const limits = { column, depth: 20, nodes: MOST_NODES };
  const [path, query] = kind === "version" ? [`/versions/${encodeURIComponent(version)}/columns`, limits] : ["/columns", { namespace, name, ...limits }];
  return Promise.all(["upstream", "downstream"].map((direction) => api.get(`${path}/${direction}`, query, signal)));
}

/**
 * Return the facets of a dataset or version of which columns are read; null if the graph does not have it.
 * @param {Api} api
 * @param {readonly string[]} reference
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function facetsOf(api, [kind, namespace, name, version], signal) {
  if (kind !== "version") return (await api.get("/datasets/show", { namespace, name }, signal).catch(orNull))?.facets;
  const found = await api.get(`/versions/${encodeURIComponent(version)}`, {}, signal).catch(orNull);
  return { schema: { fields: (found?.schema ?? []).map((/** @type {string[]} */ [field, type]) => ({ name: field, type })) } };
}

/** @param {unknown} fault */
function orNull(fault) {
  if (fault instanceof ApiProblem && fault.status === 404) return null;
  throw fault;
}

const DETAILS = `UNWIND $nodes AS one
MATCH (n:Job {namespace: one[1], name: one[2]}) WHERE one[0] = 'job'
OPTIONAL MATCH (n)-[:CHILD_OF]->(p:Job)
OPTIONAL MATCH (n)-[:CURRENT]->(v:JobVersion)
OPTIONAL MATCH (r:Run {id: v.lastRun})-[:RUN_OF]->(n)
RETURN one AS node, head(collect([p.namespace, p.name])) AS parent, head(collect(r.startedAt)) AS started,
  head(collect(r.endedAt)) AS ended, head(collect(v.lastRunState)) AS state, head(collect(v.lastRunAt)) AS at,
  CASE WHEN n.facets CONTAINS '"tags"' THEN n.facets END AS facets
UNION ALL
UNWIND $nodes AS one
MATCH (n:Dataset {namespace: one[1], name: one[2]}) WHERE one[0] = 'dataset'
RETURN one AS node, null AS parent, null AS started, null AS ended, null AS state, null AS at,
  CASE WHEN n.facets CONTAINS '"tags"' THEN n.facets END AS facets`;

let isWithoutCypher = false;

/** How many nodes one question for details names. */
const DETAILS_AT_ONCE = 500;

/**
 * Return what answers of lineage lack: the parents of jobs, how long their last runs took, and tags.
 *
 * A server that runs no Cypher gives no details.
 * @param {Api} api
 * @param {GraphNode[]} nodes
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, JobDetails & {state?: string, at?: string}>>}
 */
export async function detailsOf(api, nodes, signal) {
  if (isWithoutCypher) return new Map();
  const references = nodes.filter(({ kind }) => kind === "job" || kind === "dataset").map(({ reference }) => reference);
  /** @type {Map<string, JobDetails & {state?: string, at?: string}>} */
  const found = new Map();
  for (let at = 0; at < references.length; at += DETAILS_AT_ONCE) {
    const parameters = { nodes: references.slice(at, at + DETAILS_AT_ONCE) };
    const answer = await api.post("/cypher", { query: DETAILS, parameters, limit: DETAILS_AT_ONCE }, signal).catch(withoutCypher);
    for (const row of answer?.rows ?? []) {
      const { node, ...details } = rowOf(answer.columns, row);
      found.set(idOf(node), details);
    }
  }
  return found;
}

/** @param {unknown} fault */
function withoutCypher(fault) {
  if (!(fault instanceof ApiProblem) || fault.status === 401) throw fault;
  isWithoutCypher ||= fault.status === 404 || fault.status === 403;
  return null;
}

/**
 * @param {string[]} columns
 * @param {any} row a list in the order of the columns, or an object
 */
function rowOf(columns, row) {
  const value = Array.isArray(row) ? Object.fromEntries(columns.map((column, index) => [column, row[index]])) : row;
  const seconds = value.started && value.ended ? (Date.parse(value.ended) - Date.parse(value.started)) / 1000 : null;
  const parent = value.parent?.[0] ? value.parent : null;
  return { node: value.node, parent, seconds, tags: tagsOf(value.facets), state: value.state ?? undefined, at: value.at ?? undefined };
}

/** @param {string | null} facets JSON text */
function tagsOf(facets) {
  const tags = facets ? JSON.parse(facets).tags?.tags : [];
  if (!Array.isArray(tags)) return [];
  return tags.flatMap((tag) => (typeof tag?.key !== "string" ? [] : tag.value && tag.value !== "true" ? [`${tag.key}=${tag.value}`] : [tag.key]));
}
