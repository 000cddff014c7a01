// Operations: what is missing or unusual in the graph, and how far the consumer has read.

import { pathTo } from "../address.js";
import { ApiProblem } from "../api.js";
import { append, h } from "../dom.js";
import { tree } from "../facets.js";
import { counted, formatNumber, formatTime, shortened } from "../format.js";
import { redriveSection } from "./dead_letters.js";
import { compactTable, copyButton, facts, later, nodeLink, paged, runLink, section, table, timeElement } from "../widgets.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */

/** What each report finds, in the order of the view; a server may have further ones. */
const TITLES = /** @type {Readonly<Record<string, string>>} */ ({
  silent: "Silent runs",
  conflicts: "Runs that name several jobs",
  "dead-letters": "Dead letters",
  coverage: "Coverage by producer",
  stale: "Stale datasets",
  orphaned: "Read, but not written any more",
  unknown: "Jobs of unknown lineage",
  "no-outputs": "Jobs without outputs",
  unmade: "Read, but never made",
  unread: "Written, but not read",
});

export const title = () => "Operations | headwater";

/**
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
export async function show(root, address, context) {
  const { reports } = await context.api.get("/reports", {}, context.signal);
  const names = [...Object.keys(TITLES).filter((name) => reports.includes(name)), ...reports.filter((/** @type {string} */ name) => !(name in TITLES))];
  const shown = names.includes(address.params.report ?? "") ? /** @type {string} */ (address.params.report) : names[0];
  append(root, [
    h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Operations")),
    section("Consumer", later(consumer(context), context.signal)),
    h("h2", null, "Reports"),
    tabs(names, shown),
    h("section", { "aria-label": TITLES[shown] ?? shown }, later(report(shown, context), context.signal)),
  ]);
}

/**
 * Return how far the consumer has read, and what it has still to do.
 * @param {Context} context
 */
async function consumer({ api, signal }) {
  const state = await api.get("/consumer", {}, signal);
  const { total, kinds, cut } = state.deferredWork;
  const work = Object.entries(kinds).map(([kind, count]) => `${formatNumber(count)} ${kind}`);
  const rows = state.partitions.map((/** @type {any} */ one) => [h("bdi", null, one.topic), one.partition, formatNumber(one.offset), one.lag === undefined ? null : formatNumber(one.lag)]);
  return [
    facts([
      ["Last write", state.at ? timeElement(state.at, { full: true }) : "none yet"],
      ["Lag", state.lag === undefined ? state.kafka ?? "unknown without Kafka settings" : counted(state.lag, "message")],
      ["Deferred work", total === 0 ? "none" : `${formatNumber(total)} (${work.join(", ")}${cut ? ", …" : ""})`],
      ["Written by", state.holder && h("bdi", { class: "mono" }, shortened(state.holder, 60))],
    ]),
    state.losses.length > 0 && h("div", { class: "cut" }, "Messages were lost:", tree(state.losses)),
    rows.length > 0 && h("details", null, h("summary", null, counted(rows.length, "partition")), compactTable("Partitions", ["Topic", "#Partition", "#Offset", "#Lag"], rows)),
  ];
}

/**
 * @param {string[]} names
 * @param {string} shown
 */
function tabs(names, shown) {
  const items = names.map((name) => h("li", null, h("a", { href: pathTo("operations", { report: name }), "aria-current": name === shown && "page" }, TITLES[name] ?? name)));
  return h("nav", { class: "tabs", "aria-label": "Reports" }, h("ul", null, items));
}

/**
 * @param {string} name
 * @param {Context} context
 */
async function report(name, context) {
  const { api, signal } = context;
  const path = `/reports/${encodeURIComponent(name)}`;
  const first = await api.get(path, { limit: 100 }, signal).catch((fault) => {
    if (fault instanceof ApiProblem && fault.status === 503) return { unavailable: fault.message };
    throw fault;
  });
  if (first.unavailable) return h("p", { class: "cut" }, first.unavailable);
  const command = h("p", { class: "actions" }, copyButton("Copy as command", `headwater report ${name}`));
  const found = first.rows.length === 0 ? h("p", null, "Nothing was found.") : paged(first, (cursor) => api.get(path, { limit: 100, cursor }, signal), reportTable);
  const redrive = name === "dead-letters" && first.rows.length > 0 && later(redriveSection(first.rows, context), signal);
  return [h("p", { class: "dim" }, `${first.title[0].toUpperCase()}${first.title.slice(1)}.`), found, command, redrive];
}

/** @param {any} page */
function reportTable(page) {
  const names = Object.keys(page.rows[0] ?? {});
  const kind = names.includes("dataset") ? "dataset" : "job";
  // A name is a link with its namespace, so the namespace needs no column of its own.
  const shown = names.includes(kind) && names.includes("namespace") ? [kind, ...names.filter((name) => name !== kind && name !== "namespace")] : names;
  const head = shown.map((name) => (typeof page.rows[0]?.[name] === "number" ? `#${name}` : name));
  return table(page.title, head, page.rows.map((/** @type {any} */ row) => shown.map((name) => cell(name, row))));
}

/**
 * @param {string} name
 * @param {Record<string, any>} row
 */
function cell(name, row) {
  const value = row[name];
  if (typeof value === "number") return formatNumber(value);
  if ((name === "dataset" || name === "job") && "namespace" in row && value) return nodeLink([name, row.namespace, value]);
  if ((name === "run" || name === "last run") && value) return runLink(value);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return timeElement(value) ?? formatTime(value);
  return value === "" || value === null ? h("span", { class: "dim" }, "unknown") : h("bdi", null, shortened(String(value), 200));
}
