// A dataset: who writes and reads it, its columns, versions, quality and runs.

import { pathTo } from "../address.js";
import { append, h } from "../dom.js";
import { counted, formatDuration } from "../format.js";
import { facetList, leaf, measures } from "../facets.js";
import { freshness } from "../freshness.js";
import { badge, compactTable, copyButton, cypherText, facts, heading, later, nameElement, nodeLink, paged, quoted, runLink, runState, section, statuses, table, timeElement } from "../widgets.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */
/** @typedef {import("../types.d.ts").Child} Child */

const SHOWN_ELSEWHERE = ["schema", "documentation", "ownership", "tags", "dataQualityAssertions", "dataQualityMetrics"];
const RUNS = 20;
const RUNS_WITH_QUALITY = 5;

/** @param {Address} address */
export const title = ({ params }) => `${params.name ?? "dataset"} | headwater`;

/**
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
export async function show(root, address, context) {
  const { api, signal } = context;
  const named = { namespace: address.params.namespace, name: address.params.name ?? "" };
  const [entity, versions] = await Promise.all([api.get("/datasets/show", named, signal), api.get("/datasets/versions", { ...named, limit: 20 }, signal)]);
  const [, namespace, name] = entity.node;
  const runs = api.get("/runs", { dataset: `${namespace}#${name}`, limit: RUNS }, signal);
  append(root, [
    head(entity, versions.versions),
    h("div", { class: "columns" }, section("Written by", jobs(entity.upstream, "No job writes it.")), section("Read by", jobs(entity.downstream, "No job reads it."))),
    entity.cut && h("p", { class: "cut" }, "There are more jobs than are listed here: see the lineage."),
    section("Columns", columns(entity)),
    section("Quality", later(runs.then((page) => quality(page.runs, entity, context)), signal)),
    section("Versions", history(versions, named, context)),
    section("Runs", later(runs.then((page) => runTable(page.runs)), signal)),
    section("Facets", facetList(entity.facets, SHOWN_ELSEWHERE)),
  ]);
}

/**
 * @param {any} entity
 * @param {any[]} versions
 */
function head(entity, versions) {
  const [, namespace, name] = entity.node;
  const lineage = pathTo("lineage", { kind: "dataset", namespace, name });
  const cypher = `MATCH (d:Dataset {name: ${cypherText(name)}, namespace: ${cypherText(namespace)}})\nOPTIONAL MATCH (writer:Job)-[:PRODUCES]->(d)\nOPTIONAL MATCH (d)-[:FEEDS]->(reader:Job)\nRETURN d, collect(DISTINCT writer) AS writers, collect(DISTINCT reader) AS readers`;
  const actions = [
    h("a", { class: "button primary", href: lineage, data: { key: "l" } }, "Lineage"),
    copyButton("Copy as command", `headwater dataset show ${quoted(namespace)} ${quoted(name)}`),
    copyButton("Copy as Cypher", cypher),
  ];
  const described = entity.facets.documentation?.description;
  return [
    heading({ kind: "Dataset", context: h("bdi", { class: "namespace" }, namespace), name: nameElement(name, 240), marks: statuses(entity.marks), actions }),
    described && h("p", null, h("bdi", null, String(described))),
    facts([
      ["Last written", lastWritten(entity, versions)],
      ["Owners", owners(entity.facets)],
      ["Tags", tags(entity.facets.tags?.tags)],
      ["Other names", entity.aliases.map((/** @type {string[]} */ node) => [nodeLink(node), " "])],
    ]),
  ];
}

/**
 * @param {any} entity
 * @param {any[]} versions
 */
function lastWritten(entity, versions) {
  if (!entity.writtenAt) return "never, as far as is known";
  const { text, isLate } = freshness(versions.map((version) => version.at));
  const late = isLate && badge({ text: "late", shape: "!", className: "state-warn" });
  return [timeElement(entity.writtenAt, { full: true }), entity.writtenBy && [" by ", runLink(entity.writtenBy)], text && h("span", { class: "dim" }, ` · usually every ${text} `), late];
}

/** @param {any} facets */
export function owners(facets) {
  const listed = facets.ownership?.owners;
  if (!Array.isArray(listed)) return null;
  return listed.map((owner) => [h("bdi", null, String(owner?.name ?? "")), owner?.type && h("span", { class: "dim" }, ` (${owner.type})`), " "]);
}

/** @param {any} listed */
export function tags(listed) {
  if (!Array.isArray(listed)) return null;
  return listed.map((tag) => [h("bdi", { class: "tag" }, tag?.value && tag.value !== "true" ? `${tag.key}: ${tag.value}` : String(tag?.key ?? "")), " "]);
}

/**
 * @param {string[][]} nodes
 * @param {string} none
 */
function jobs(nodes, none) {
  if (nodes.length === 0) return h("p", { class: "dim" }, none);
  return h("ul", { class: "plain" }, nodes.map((node) => h("li", null, nodeLink(node))));
}

/** @param {any} entity */
function columns(entity) {
  const fields = entity.facets.schema?.fields;
  if (!Array.isArray(fields) || fields.length === 0) return null;
  const [, namespace, name] = entity.node;
  /** @type {Child[][]} */
  const rows = [];
  collect(fields, "", 0);
  /**
   * @param {any[]} listed
   * @param {string} above
   * @param {number} level
   */
  function collect(listed, above, level) {
    for (const field of listed) {
      if (typeof field?.name !== "string") continue;
      const path = above + field.name;
      const href = pathTo("lineage", { kind: "dataset", namespace, name, column: path });
      const link = h("a", { href, title: "lineage of this column" }, h("bdi", { class: "mono" }, field.name));
      rows.push([h("span", { class: "tree-name", style: { "--level": String(Math.min(level, 12)) } }, link), h("bdi", { class: "mono dim" }, String(field.type ?? "")), h("bdi", null, String(field.description ?? "")), tags(field.tags)]);
      if (Array.isArray(field.fields) && level < 12) collect(field.fields, `${path}.`, level + 1);
    }
  }
  return folding(rows, (part) => compactTable("Columns", ["Column", "Type", "Description", "Tags"], part));
}

/**
 * Return a table of the first rows, and a button for the others.
 * @param {Child[][]} rows
 * @param {(rows: Child[][]) => HTMLElement} show
 */
function folding(rows, show, most = 50) {
  const box = h("div", null, show(rows.slice(0, most)));
  if (rows.length <= most) return box;
  const more = h("button", { type: "button", class: "more", onclick: () => box.replaceChildren(show(rows)) }, `Show all ${counted(rows.length, "column")}`);
  box.append(more);
  return box;
}

/**
 * @param {any} first
 * @param {Record<string, string>} named
 * @param {Context} context
 */
function history(first, named, { api, signal }) {
  if (first.versions.length === 0) return h("p", { class: "dim" }, "No run or event is known that wrote it.");
  const next = (/** @type {string} */ cursor) => api.get("/datasets/versions", { ...named, limit: 50, cursor }, signal);
  return paged(first, next, (page, make) => make("Versions", ["Written", "By job", "Run", "State", "#Read by", "Change"], page.versions.map(versionRow)));
}

/** @param {any} version */
function versionRow(version) {
  return [
    timeElement(version.at),
    version.job && nodeLink(["job", ...version.job], { withNamespace: false }),
    version.madeBy ? runLink(version.madeBy) : version.external && h("bdi", { class: "mono" }, version.external),
    version.state && runState({ state: version.state }),
    counted(version.readers, "run"),
    version.reasons.join("; "),
  ];
}

/** @param {any[]} runs */
export function runTable(runs) {
  if (runs.length === 0) return h("p", { class: "dim" }, "None.");
  const rows = runs.map((run) => [runLink(run.id), runState(run), run.job && nodeLink(["job", ...run.job], { withNamespace: false }), timeElement(run.startedAt ?? run.lastEventAt), formatDuration(run.seconds)]);
  return table("Runs", ["Run", "State", "Job", "Started", "#Duration"], rows);
}

/**
 * Return the results of checks and the measures of the newest run that states any.
 * @param {any[]} runs
 * @param {any} entity
 * @param {Context} context
 */
async function quality(runs, entity, { api, signal }) {
  const own = qualityOf(entity.facets);
  if (own !== null) return own;
  const key = JSON.stringify(entity.node.slice(1));
  const details = await Promise.all(runs.slice(0, RUNS_WITH_QUALITY).map((run) => api.get(`/runs/${encodeURIComponent(run.id)}`, {}, signal)));
  for (const run of details) {
    const sides = [...(run.facets.outputs ?? []), ...(run.facets.inputs ?? [])].filter((side) => JSON.stringify(side.dataset) === key);
    const found = qualityOf(Object.assign({}, ...sides.map((side) => ({ ...side.facets, ...side.inputFacets, ...side.outputFacets }))));
    if (found !== null) return [found, h("p", { class: "dim" }, "from run ", runLink(run.id), " · ", timeElement(run.endedAt ?? run.lastEventAt))];
  }
  return h("p", { class: "dim" }, "The newest runs have no results of checks.");
}

/** @param {any} facets */
function qualityOf(facets) {
  const checks = facets.dataQualityAssertions?.assertions;
  const numbers = measures(facets.dataQualityMetrics).concat(measures(facets.outputStatistics));
  if (!Array.isArray(checks) && numbers.length === 0) return null;
  const rows = (Array.isArray(checks) ? checks : []).map((check) => [h("bdi", null, String(check?.assertion ?? "")), h("bdi", { class: "mono" }, String(check?.column ?? "")), outcome(check?.success)]);
  return [numbers.length > 0 && h("p", null, numbers.join(" · ")), rows.length > 0 && compactTable("Checks", ["Check", "Column", "Result"], rows)];
}

/** @param {any} success */
function outcome(success) {
  if (success === true) return badge({ text: "passed", shape: "✓", className: "state-ok" });
  return success === false ? badge({ text: "failed", shape: "✕", className: "state-bad" }) : leaf(success ?? null);
}
