// A job: what it reads and writes, its runs, and its versions with their reasons.

import { pathTo } from "../address.js";
import { append, h } from "../dom.js";
import { formatDuration } from "../format.js";
import { facetList, sql } from "../facets.js";
import { badge, copyButton, cypherText, facts, heading, nameElement, nodeLink, paged, quoted, runLink, runState, section, statuses, timeElement } from "../widgets.js";
import { reasonsList } from "./diff.js";
import { owners, tags } from "./dataset.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */

const SHOWN_ELSEWHERE = ["documentation", "ownership", "tags", "sql", "headwater_retired"];

/** @param {Address} address */
export const title = ({ params }) => `${params.name ?? "job"} | headwater`;

/**
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
export async function show(root, address, context) {
  const { api, signal } = context;
  const named = { namespace: address.params.namespace, name: address.params.name ?? "" };
  const entity = await api.get("/jobs/show", named, signal);
  const [, namespace, name] = entity.node;
  const [versions, runs] = await Promise.all([
    api.get("/jobs/versions", { namespace, name, limit: 20 }, signal),
    api.get("/runs", { job: `${namespace}#${name}`, limit: 20 }, signal),
  ]);
  const query = entity.facets.sql?.query;
  append(root, [
    head(entity, versions.versions),
    h("div", { class: "columns" }, section("Reads", datasets(entity.upstream)), section("Writes", datasets(entity.downstream))),
    section("Runs", runHistory(runs, `${namespace}#${name}`, context)),
    section("Versions", history(versions, { namespace, name }, context)),
    section("SQL", typeof query === "string" && sql(query)),
    section("Facets", facetList(entity.facets, SHOWN_ELSEWHERE)),
  ]);
}

/**
 * @param {any} entity
 * @param {any[]} versions
 */
function head(entity, versions) {
  const [, namespace, name] = entity.node;
  const diff = pathTo("diff", { namespace, name });
  const cypher = `MATCH (j:Job {name: ${cypherText(name)}, namespace: ${cypherText(namespace)}})\nOPTIONAL MATCH (source:Dataset)-[:FEEDS]->(j)\nOPTIONAL MATCH (j)-[:PRODUCES]->(target:Dataset)\nRETURN j, collect(DISTINCT source) AS inputs, collect(DISTINCT target) AS outputs`;
  const actions = [
    h("a", { class: "button primary", href: pathTo("lineage", { kind: "job", namespace, name }), data: { key: "l" } }, "Lineage"),
    versions.length > 1 && h("a", { class: "button", href: diff, data: { key: "d" } }, "What changed"),
    copyButton("Copy as command", `headwater job show ${quoted(namespace)} ${quoted(name)}`),
    copyButton("Copy as Cypher", cypher),
  ];
  const retired = entity.facets.headwater_retired;
  const marks = [retired && badge({ text: "retired", shape: "⊘", className: "state-dim" }), " ", statuses(entity.marks)];
  const described = entity.facets.documentation?.description;
  return h(
    "div",
    null,
    heading({ kind: "Job", context: h("bdi", { class: "namespace" }, namespace), name: nameElement(name, 240), marks, actions }),
    retired && h("p", { class: "cut" }, "Retired: it is not part of the current graph any more. ", h("bdi", null, String(retired.reason ?? ""))),
    described && h("p", null, h("bdi", null, String(described))),
    facts([
      ["Last run", entity.lastRun && [runState({ state: entity.lastRunState }), " ", runLink(entity.lastRun), " ", timeElement(entity.lastRunAt)]],
      ["Code version", entity.codeVersion && h("bdi", { class: "mono" }, entity.codeVersion)],
      ["This version since", timeElement(entity.since)],
      ["Owners", owners(entity.facets)],
      ["Tags", tags(entity.facets.tags?.tags)],
    ]),
  );
}

/** @param {string[][]} nodes */
function datasets(nodes) {
  if (nodes.length === 0) return h("p", { class: "dim" }, "Nothing, as far as is known.");
  return h("ul", { class: "plain" }, nodes.map((node) => h("li", null, nodeLink(node))));
}

/**
 * @param {any} first
 * @param {string} job
 * @param {Context} context
 */
function runHistory(first, job, { api, signal }) {
  if (first.runs.length === 0) return h("p", { class: "dim" }, "No run yet.");
  const next = (/** @type {string} */ cursor) => api.get("/runs", { job, limit: 50, cursor }, signal);
  return paged(first, next, (page, make) => make("Runs", ["Run", "State", "Started", "#Duration", "Since it last worked"], page.runs.map(runRow)));
}

/** @param {any} run */
function runRow(run) {
  const diff = run.state === "FAIL" && h("a", { href: pathTo("diff", { run: run.id }) }, "what changed");
  return [runLink(run.id), runState(run), timeElement(run.startedAt ?? run.lastEventAt), formatDuration(run.seconds), diff];
}

/**
 * @param {any} first
 * @param {{namespace: string, name: string}} named
 * @param {Context} context
 */
function history(first, named, { api, signal }) {
  if (first.versions.length === 0) return h("p", { class: "dim" }, "No version yet: none of its runs has ended.");
  const next = (/** @type {string} */ cursor) => api.get("/jobs/versions", { ...named, limit: 50, cursor }, signal);
  return paged(first, next, (page, make) => make("Versions", ["Version", "Reason", "From", "#Runs", "Last run", "Code", "Difference"], page.versions.map((/** @type {any} */ one) => versionRow(one, named))));
}

/**
 * @param {any} version
 * @param {{namespace: string, name: string}} named
 */
function versionRow(version, named) {
  const isFirst = version.reasons.some((/** @type {string} */ reason) => /^first version|^retention removed/.test(reason));
  const diff = !isFirst && h("a", { href: pathTo("diff", { ...named, to: String(version.number) }) }, "to the one before");
  return [
    version.number,
    reasonsList(version.reasons),
    timeElement(version.from),
    version.runs,
    version.lastRun && runLink(version.lastRun),
    version.codeVersion && h("bdi", { class: "mono" }, version.codeVersion),
    diff,
  ];
}
