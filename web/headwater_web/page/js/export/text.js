// What the graph view shows, as commands and as Cypher. Pure.

import { cypherText, quoted } from "../widgets.js";

/** @typedef {import("../graph/state.js").ViewState} ViewState */

/**
 * Return the commands that print what the view shows.
 * @param {ViewState} state
 * @returns {string}
 */
export function commandOf({ start, depth, asOf, past, column }) {
  const [kind, ...name] = start;
  if (kind === "run") return [`headwater run graph ${quoted(name[0])} --depth ${depth}`, `headwater run graph ${quoted(name[0])} --downstream --depth ${depth}`].join("\n");
  const options = column
    ? `${column.dataset.slice(1).map(quoted).join(" ")} --column ${quoted(column.column)}`
    : `${name.map(quoted).join(" ")} --depth ${depth}${asOf ? ` --as-of ${quoted(asOf)}` : ""}${past ? " --past" : ""}`;
  return ["upstream", "downstream"].map((direction) => `headwater lineage ${direction} ${options}`).join("\n");
}

/**
 * Return a Cypher query about what the view shows, complete with its values.
 * @param {ViewState} state
 * @returns {string}
 */
export function cypherOf({ start, depth, column }) {
  const [kind, namespace, name] = start;
  if (kind === "run") return runCypher(namespace);
  if (column) return columnCypher(column);
  const [label, here] = kind === "job" ? ["Job", "j"] : ["Dataset", "d"];
  const [up, down] = kind === "job" ? ["FEEDS]->(", "PRODUCES]->("] : ["PRODUCES]->(", "FEEDS]->("];
  const further = (kind === "job" ? 2 * depth - 1 : 2 * depth) - 1;
  const steps = further ? `-[:FEEDS|PRODUCES]->{0,${further}}()` : "";
  const onward = further ? `-[:FEEDS|PRODUCES]->{0,${further}}(target)` : "";
  return [
    `MATCH (${here}:${label} {name: ${cypherText(name)}, namespace: ${cypherText(namespace)}})`,
    `OPTIONAL MATCH upstream = (source)${steps}-[:${up}${here})`,
    `OPTIONAL MATCH downstream = (${here})-[:${down})${onward}`,
    `RETURN ${here}, upstream, downstream LIMIT 1000`,
  ].join("\n");
}

/** @param {string} id */
function runCypher(id) {
  return [
    `MATCH (r:Run {id: ${cypherText(id)}})`,
    "OPTIONAL MATCH (r)<-[:READ_BY]-(read:DatasetVersion)<-[:HAS_VERSION]-(source:Dataset)",
    "OPTIONAL MATCH (read)<-[:WROTE]-(writer:Run)",
    "OPTIONAL MATCH (r)-[:WROTE]->(written:DatasetVersion)<-[:HAS_VERSION]-(target:Dataset)",
    "OPTIONAL MATCH (written)-[:READ_BY]->(reader:Run)",
    "RETURN r.id, source.name, read.id, writer.id, target.name, written.id, reader.id",
  ].join("\n");
}

/** @param {{dataset: string[], column: string}} column */
function columnCypher({ dataset, column }) {
  return [
    `MATCH (f:Field {dataset: ${cypherText(dataset[2])}, namespace: ${cypherText(dataset[1])}}) WHERE f.name IN [${cypherText(column)}, '*']`,
    "OPTIONAL MATCH (source:Field)-[e:DERIVES]->(f)",
    "OPTIONAL MATCH (f)-[onward:DERIVES]->(target:Field)",
    "RETURN source.dataset, source.name, e.type, e.subtype, e.job, target.dataset, target.name, onward.type, onward.job",
  ].join("\n");
}
