// What differs between two runs, between two versions of a job, or between the lineage at two times.

import { pathTo } from "../address.js";
import { ApiProblem } from "../api.js";
import { h } from "../dom.js";
import { formatDuration, formatTime, shortened } from "../format.js";
import { copyButton, facts, heading, nameElement, nodeLink, quoted, runLink, runState, section, table, timeElement } from "../widgets.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */
/** @typedef {import("../types.d.ts").Child} Child */
/** @typedef {{sign: "+" | "-" | "~", text: string}} Change */

const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** @param {Address} address */
export const title = ({ params }) => `Difference: ${params.name ?? params.run ?? ""} | headwater`;

/**
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
export async function show(root, address, context) {
  const { api, signal } = context;
  if (address.params.lineage !== undefined) return (await timesView()).show(root, address, context);
  const { run, before, namespace, name, from, to } = address.params;
  if (run !== undefined) root.append(runDiff(await api.get(`/runs/${encodeURIComponent(run)}/diff`, { before }, signal), before === undefined));
  else root.append(versionDiff(await api.get("/jobs/diff", { namespace, name: name ?? "", from, to }, signal), address));
}

/** Return the view of two times, which is as large as the graph and is loaded when it is needed. */
function timesView() {
  return import("./times.js").catch(() => {
    throw new ApiProblem(0, "The server does not answer", "It may be restarting, or the network is cut.");
  });
}

/**
 * Return the reasons for a version as text, and changes of inputs and outputs as lists. Pure.
 * @param {string} reason as `inputs changed: + ns a - ns b`
 * @returns {{title: string, changes: Change[]}}
 */
export function readReason(reason) {
  const found = reason.match(/^(inputs|outputs) changed: (.*)$/s);
  if (found === null) return { title: reason, changes: [] };
  // The list has all additions before all removals; a name may contain spaces.
  const parts = found[2].split(/(?:^| )([+-]) /).slice(1);
  /** @type {Change[]} */
  const changes = [];
  for (let at = 0; at + 1 < parts.length; at += 2) changes.push({ sign: parts[at] === "+" ? "+" : "-", text: parts[at + 1] });
  return { title: `${found[1]} changed`, changes };
}

/** @param {readonly string[]} reasons */
export function reasonsList(reasons) {
  return reasons.map(readReason).map((reason) => h("div", null, reason.title, reason.changes.length > 0 && changeList(reason.changes)));
}

const WORDS = /** @type {const} */ ({ "+": "added", "-": "removed", "~": "changed" });

/** @param {readonly Change[]} changes */
function changeList(changes) {
  return h("ul", { class: "changes" }, changes.map(({ sign, text }) => h("li", { class: `change-${WORDS[sign]}` }, signElement(sign), h("bdi", null, shortened(text, 300)))));
}

/** @param {Change["sign"]} sign */
function signElement(sign) {
  return [h("span", { class: "sign", "aria-hidden": "true" }, sign === "-" ? "−" : sign), h("span", { class: "visually-hidden" }, `${WORDS[sign]} `)];
}

/**
 * @param {any} diff
 * @param {boolean} isToLastComplete
 */
function runDiff(diff, isToLastComplete) {
  const { before, after } = diff;
  const command = `headwater run diff ${isToLastComplete ? "" : `${quoted(before.id)} `}${quoted(after.id)}`;
  const name = after.job ? [isToLastComplete ? "What changed since it last worked: " : "What differs: ", nameElement(after.job[1], 120)] : "What differs between two runs";
  const parts = [
    section("State, code, error", diff.facts.length > 0 && changeTable(diff.facts)),
    section("Inputs and outputs", reasonsList(diff.sides)),
    section("Versions read", diff.readVersions.length > 0 && changeTable(diff.readVersions)),
    section("Schemas", diff.schemas.length > 0 && table("Schemas", ["Dataset", "Change"], diff.schemas.map((/** @type {any} */ one) => [h("bdi", null, shortened(one.dataset, 200)), schemaChanges(one.change)]))),
    section("Columns", diff.columns.length > 0 && changeList(diff.columns.map((/** @type {any} */ one) => ({ sign: one.change, text: columnEdge(one.edge) })))),
    section("Settings", diff.settings.length > 0 && changeTable(diff.settings)),
  ];
  const isSame = parts.every((part) => part === null);
  return h(
    "div",
    null,
    heading({ kind: "Difference", context: after.job && nodeLink(["job", ...after.job]), name, actions: [copyButton("Copy as command", command)] }),
    h("div", { class: "columns" }, runFacts("Before", before), runFacts("After", after)),
    isSame ? h("p", null, "Nothing differs but times and ids.") : parts,
  );
}

/**
 * @param {string} label
 * @param {any} run
 */
function runFacts(label, run) {
  return section(label, facts([["Run", runLink(run.id)], ["State", runState(run)], ["Started", timeElement(run.startedAt ?? run.lastEventAt, { full: true })], ["Duration", formatDuration(run.seconds)]]));
}

/**
 * @param {any[]} changes
 */
function changeTable(changes) {
  const rows = changes.map(({ what, before, after }) => [h("bdi", { class: "what" }, shortened(what, 200)), sideCell("-", before), sideCell("+", after)]);
  const element = table("Changes", ["What", "Before", "After"], rows);
  element.classList.add("change-table");
  return element;
}

/**
 * @param {"+" | "-"} sign
 * @param {any} value
 */
function sideCell(sign, value) {
  if (value === undefined || value === null) return h("span", { class: "dim" }, "absent");
  const text = typeof value === "string" ? value : Array.isArray(value) && value.every((part) => typeof part === "string") ? value.join(" ") : JSON.stringify(value);
  return h("span", { class: `change-${WORDS[sign]}` }, signElement(sign), h("bdi", null, shortened(text.replace(TIME, formatTime), 2_000)));
}

/**
 * Return the parts of `+ a - b, c int to long`.
 * @param {string} text
 */
function schemaChanges(text) {
  const [names, ...types] = /^[+-] /.test(text) ? text.split(", ") : ["", ...text.split(", ")];
  const { changes } = readReason(`inputs changed: ${names}`);
  return changeList([...changes, ...types.map((type) => ({ sign: /** @type {const} */ ("~"), text: type }))]);
}

/** @param {string[]} edge */
function columnEdge([, fromName, fromField, , toName, toField]) {
  return `${fromName}.${fromField} → ${toName}.${toField}`;
}

/**
 * @param {any} diff
 * @param {Address} address
 */
function versionDiff({ before, after, changes }, { params }) {
  const { namespace = "", name = "" } = params;
  const command = `headwater job diff ${quoted(namespace)} ${quoted(name)} --from ${before.number} --to ${after.number}`;
  const all = h("a", { class: "button", href: pathTo("job", { namespace, name }) }, "All versions");
  const actions = [all, copyButton("Copy as command", command)];
  const columns = [before, after].map((version, at) => section(`${at === 0 ? "Before" : "After"}: version ${version.number}`, versionFacts(version)));
  return h(
    "div",
    null,
    heading({ kind: "Difference", context: nodeLink(["job", namespace, name]), name: ["Version ", before.number, " to version ", after.number], actions }),
    section("Changes", changes.length > 0 ? reasonsList(changes) : h("p", null, "Inputs, outputs and code version are the same.")),
    h("div", { class: "columns" }, columns),
  );
}

/** @param {any} version */
function versionFacts(version) {
  const datasets = (/** @type {string[][]} */ keys) => h("ul", { class: "plain" }, keys.map((key) => h("li", null, nodeLink(["dataset", ...key]))));
  return facts([
    ["From", timeElement(version.from, { full: true })],
    ["Made by run", version.madeBy && runLink(version.madeBy)],
    ["Code version", version.codeVersion && h("bdi", { class: "mono" }, version.codeVersion)],
    ["Runs", version.runs],
    ["Inputs", version.inputs.length > 0 && datasets(version.inputs)],
    ["Outputs", version.outputs.length > 0 && datasets(version.outputs)],
  ]);
}
