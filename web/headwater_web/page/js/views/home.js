// Home: the search box, and below it what needs attention.

import { formatAddress, pathTo } from "../address.js";
import { append, h } from "../dom.js";
import { formatDuration, formatNumber } from "../format.js";
import { searchBox } from "../search.js";
import { copyButton, nameElement, nodeLink, runLink, runState, section, table, timeElement } from "../widgets.js";
import { reasonsList } from "./diff.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */

const RECENT = 8;

/** @param {Address} address */
export const title = (address) => (address.params.q ? `${address.params.q} | headwater` : "headwater");

/**
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
export async function show(root, address, context) {
  const onText = (/** @type {string} */ text) => remember(text, context);
  const box = searchBox(context, { text: address.params.q ?? "", onText });
  const overview = await context.api.get("/overview", { limit: RECENT }, context.signal);
  append(root, [
    h("h1", { class: "visually-hidden", tabindex: "-1" }, "Search the lineage"),
    h("div", { class: "home-search" }, box, counts(overview.counts)),
    overview.isEmpty ? nothingYet() : attention(overview),
  ]);
  // A phone would cover half the page with its keyboard.
  if (window.matchMedia("(min-width: 700px)").matches) box.querySelector("input")?.focus();
}

/**
 * Put the text into the address, so that Back and a reload show it again.
 * @param {string} text
 * @param {Context} context
 */
function remember(text, context) {
  const address = { view: /** @type {const} */ ("home"), params: text ? { q: text } : /** @type {Record<string, string>} */ ({}) };
  if (!context.signal.aborted && formatAddress(address) !== location.pathname + location.search) context.go(address, { replace: true });
}

/** @param {Record<string, number>} given */
function counts(given) {
  const parts = ["datasets", "jobs", "runs"].map((name) => `${formatNumber(given[name])} ${name}`);
  return h("p", { class: "dim counts" }, parts.join(" · "));
}

/** @param {any} overview */
function attention(overview) {
  return h(
    "div",
    { class: "columns" },
    section("Failed runs", runs(overview.failed, "No run has failed.")),
    section("Changed jobs", changes(overview.changes)),
    section("Latest runs", runs(overview.latest, "None.")),
    section("Silent runs", h("p", { class: "dim" }, "Not ended, and without an event for 24 hours."), runs(overview.silent, "None.")),
  );
}

/**
 * @param {any[]} list
 * @param {string} none
 */
function runs(list, none) {
  if (list.length === 0) return h("p", { class: "dim" }, none);
  const rows = list.map((run) => [
    runLink(run.id, run.job ? nameElement(run.job[1]) : undefined),
    runState(run),
    formatDuration(run.seconds),
    timeElement(run.lastEventAt),
  ]);
  return table("Runs", ["Job", "State", "#Duration", "Last event"], rows);
}

/** @param {any[]} list */
function changes(list) {
  if (list.length === 0) return h("p", { class: "dim" }, "No job has changed.");
  const rows = list.map((change) => [
    nodeLink(["job", ...change.job], { withNamespace: false }),
    reasonsList(change.reasons),
    change.number > 1 && h("a", { href: pathTo("diff", { namespace: change.job[0], name: change.job[1], to: String(change.number) }) }, "difference"),
    timeElement(change.from),
  ]);
  return table("Changed jobs", ["Job", "What changed", "Versions", "When"], rows);
}

const POST = `curl -X POST ${location.origin}/api/v1/lineage \\
  -H 'Content-Type: application/json' -d '{
  "eventType": "COMPLETE", "eventTime": "2026-01-31T12:00:00Z",
  "run": {"runId": "0190a1b2-0000-7000-8000-000000000001"},
  "job": {"namespace": "example", "name": "first_job"},
  "inputs": [{"namespace": "example", "name": "raw"}],
  "outputs": [{"namespace": "example", "name": "clean"}],
  "producer": "https://example.org/by-hand",
  "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"}'`;
const PYTHON = `from headwater import lineage

with lineage.run("example", "first_job") as run:
    run.reads("example", "raw")
    run.writes("example", "clean")`;
const CLIENTS = `OPENLINEAGE__TRANSPORT__TYPE=http
OPENLINEAGE__TRANSPORT__URL=${location.origin}`;

/** Return what to do with an empty graph. */
function nothingYet() {
  const way = (/** @type {string} */ name, /** @type {string} */ note, /** @type {string} */ text) => [
    h("h3", null, name),
    h("p", { class: "dim" }, note),
    h("pre", { tabindex: "0", role: "region", "aria-label": name }, text),
    h("p", { class: "actions" }, copyButton("Copy", text)),
  ];
  return section(
    "The graph is empty",
    h("p", null, "Nothing has been stored yet. Send a first event in one of three ways; it is here as soon as the consumer has read it."),
    way("An OpenLineage client that you already have", "Airflow, Spark, dbt, Flink: give it this server as its HTTP transport.", CLIENTS),
    way("From Python", "The emitter of headwater.", PYTHON),
    way("By hand", "One event, with curl.", POST),
  );
}
