// A run: its state, why it failed, what it read and wrote, its children on a line of time, its facets.

import { pathTo } from "../address.js";
import { GRAPH } from "../api.js";
import { append, fill, h } from "../dom.js";
import { appearanceOfRun, formatDuration, shortened } from "../format.js";
import { errorText, facetList, measures, sql } from "../facets.js";
import { flattened, timeline } from "../timeline.js";
import { compactTable, copyButton, cypherText, facts, heading, later, nameElement, nodeLink, quoted, runLink, runState, section, statuses, timeElement } from "../widgets.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */

const SHOWN_ELSEWHERE = ["errorMessage", "sql"];
const OPEN = ["NEW", "RUNNING"];

/** @param {Address} address */
export const title = ({ params }) => `Run ${shortened(params.id ?? "", 40)} | headwater`;

/**
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
export async function show(root, address, context) {
  const path = `/runs/${encodeURIComponent(address.params.id ?? "")}`;
  const run = await context.api.get(path, {}, context.signal);
  if (run.job) document.title = `${run.job[1]} ${appearanceOfRun(run.state, run.marks).text} | headwater`;
  append(root, content(run, context));
  if (flattened(run).some((one) => OPEN.includes(one.run.state ?? ""))) follow(root, path, run, context);
}

/**
 * @param {any} run
 * @param {Context} context
 */
function content(run, context) {
  const query = run.facets.job?.sql?.query;
  return [
    head(run, context),
    section("Error", errorText(run.facets.run?.errorMessage, run.error)),
    section("Read", uses(run.reads, run.facets.inputs, "It read nothing, as far as is known.")),
    section("Wrote", uses(run.writes.map(withoutMaker), run.facets.outputs, "It wrote nothing, as far as is known.")),
    run.children.length > 0 && section("Children", timeline(run, run.id), run.childrenCut && h("p", { class: "cut" }, "There are more children than are listed here.")),
    section("SQL", typeof query === "string" && sql(query)),
    section("Facets of the run", facetList(run.facets.run, SHOWN_ELSEWHERE)),
    section("Facets of the job", facetList(run.facets.job, SHOWN_ELSEWHERE)),
    section("Facets of datasets", datasetFacets(run.facets)),
  ];
}

/**
 * @param {any} run
 * @param {Context} context
 */
function head(run, context) {
  const actions = [
    h("a", { class: "button primary", href: pathTo("lineage", { kind: "run", id: run.id }), data: { key: "l" } }, "Lineage of this run"),
    h("a", { class: "button", href: pathTo("diff", { run: run.id }), data: { key: "d" } }, run.state === "COMPLETE" ? "What changed since the run before" : "What changed since it last worked"),
    copyButton("Copy as command", `headwater run show ${quoted(run.id)}`),
    copyButton("Copy as Cypher", `MATCH (r:Run {id: ${cypherText(run.id)}})\nOPTIONAL MATCH (read:DatasetVersion)-[:READ_BY]->(r)\nOPTIONAL MATCH (r)-[:WROTE]->(written:DatasetVersion)\nRETURN r, collect(DISTINCT read) AS read, collect(DISTINCT written) AS written`),
  ];
  const other = run.marks.filter((/** @type {string} */ mark) => !["silent", "removed", "placeholder"].includes(mark));
  const name = run.job ? nameElement(run.job[1], 240) : h("bdi", null, shortened(run.id, 240));
  return [
    heading({ kind: "Run", context: h("bdi", { class: "mono" }, shortened(run.id, 240)), name, marks: [runState(run), " ", statuses(other)], actions }),
    facts([
      ["Job", run.job && nodeLink(["job", ...run.job])],
      ["Started", timeElement(run.startedAt, { full: true })],
      ["Ended", timeElement(run.endedAt, { full: true })],
      ["Last event", !run.endedAt && timeElement(run.lastEventAt, { full: true })],
      ["Duration", formatDuration(run.seconds)],
      ["Code version", run.codeVersion && h("bdi", { class: "mono" }, run.codeVersion)],
      ["Version of the job", run.madeThisJobVersion && "this run made a new one"],
      ["Part of", run.parent && later(parentName(run.parent, context), context.signal)],
      ["Its events also name", run.conflicts?.map((/** @type {string[]} */ key) => [nodeLink(["job", ...key]), " "])],
    ]),
  ];
}

/**
 * @param {string} id
 * @param {Context} context
 */
async function parentName(id, { api, signal }) {
  const parent = await api.get(`/runs/${encodeURIComponent(id)}`, {}, signal);
  return [runLink(id, parent.job ? nameElement(parent.job[1], 80) : undefined), " ", runState(parent)];
}

/**
 * Return the versions that a run read or wrote, with what it states of them in numbers.
 * @param {any[]} list
 * @param {any[] | undefined} facets
 * @param {string} none
 */
function uses(list, facets, none) {
  if (list.length === 0) return h("p", { class: "dim" }, none);
  const byName = new Map((facets ?? []).map((one) => [JSON.stringify(one.dataset), one]));
  const rows = list.map((use) => {
    const stated = byName.get(JSON.stringify(use.dataset));
    const numbers = [stated?.outputFacets?.outputStatistics, stated?.inputFacets?.inputStatistics, stated?.inputFacets?.dataQualityMetrics].flatMap(measures);
    return [nodeLink(["dataset", ...use.dataset]), numbers.join(" · "), versionText(use)];
  });
  return compactTable("Datasets", ["Dataset", "Size", "Version"], rows);
}

/** @param {any} use */
function versionText(use) {
  if (use.external) return h("bdi", { class: "mono" }, shortened(use.external, 60));
  if (use.madeBy) return ["written ", timeElement(use.at), " by ", runLink(use.madeBy)];
  return use.isOwn ? null : h("span", { class: "dim" }, "written by an unknown run");
}

/**
 * A run made what it wrote: only the storage's own name of the version says more.
 * @param {any} use
 */
function withoutMaker(use) {
  return { ...use, madeBy: undefined, isOwn: true };
}

/** @param {any} facets */
function datasetFacets(facets) {
  const sides = [...(facets.inputs ?? []), ...(facets.outputs ?? [])];
  if (sides.length === 0) return null;
  return sides.map((side) => [h("h3", null, nodeLink(["dataset", ...side.dataset])), facetList(side.facets), facetList(side.inputFacets), facetList(side.outputFacets)]);
}

/**
 * Show a run again whenever its state or that of a run below it changes.
 * @param {HTMLElement} root
 * @param {string} path
 * @param {any} run as it is shown
 * @param {Context} context
 */
function follow(root, path, run, context) {
  let shown = statesOf(run);
  context.api.stream(`${GRAPH}${path}/events`, (data) => void refresh(data.runs), context.signal);
  /** @param {any[]} lines */
  async function refresh(lines) {
    // The first event has the states that are shown already.
    if (lines.every((line) => shown.get(line.id) === line.state)) return;
    for (const line of lines) shown.set(line.id, line.state);
    const fresh = await context.api.get(path, {}, context.signal).catch(() => null);
    if (fresh === null || context.signal.aborted) return;
    shown = statesOf(fresh);
    fill(root, content(fresh, context));
    context.announce(`The run is ${appearanceOfRun(fresh.state, fresh.marks).text}.`);
  }
}

/** @param {any} run */
function statesOf(run) {
  return new Map(flattened(run).map((one) => [one.run.id, one.run.state]));
}
