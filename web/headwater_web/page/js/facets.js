// Facets: SQL, errors and statistics in a form of their own, every other facet as a tree.

import { h, isSafeLink } from "./dom.js";
import { formatBytes, formatDuration, formatNumber, shortened } from "./format.js";
import { sqlTokens } from "./sql.js";
import { copyButton } from "./widgets.js";

/** @typedef {import("./types.d.ts").Child} Child */

const LONG_SQL = 50_000;
const MOST_MEMBERS = 200;
const OWN_MEMBERS = new Set(["_producer", "_schemaURL"]);

/**
 * Return facets, each folded under its name; null without any.
 * @param {Record<string, any> | null | undefined} facets
 * @param {readonly string[]} [except] names of facets that are shown elsewhere
 */
export function facetList(facets, except = []) {
  const entries = Object.entries(facets ?? {}).filter(([name]) => !except.includes(name));
  return entries.length === 0 ? null : entries.map(([name, facet]) => folded(name, facet));
}

/**
 * @param {string} name
 * @param {any} facet
 */
function folded(name, facet) {
  const details = h("details", { class: "facet" }, h("summary", null, h("bdi", { class: "mono" }, shortened(name, 120)), " ", h("bdi", { class: "dim" }, preview(facet))));
  // A facet can be large: its tree is built when it is opened.
  details.addEventListener("toggle", () => details.append(h("div", { class: "facet-body" }, tree(facet), producer(facet))), { once: true });
  return details;
}

/** @param {any} facet */
function preview(facet) {
  if (facet === null || typeof facet !== "object") return shortened(JSON.stringify(facet), 100);
  const members = Object.entries(facet).filter(([name]) => !OWN_MEMBERS.has(name));
  return shortened(members.map(([name, value]) => (value !== null && typeof value === "object" ? name : `${name}: ${value}`)).join(", "), 100);
}

/** @param {any} facet */
function producer(facet) {
  const text = facet?._producer;
  return typeof text === "string" ? h("p", { class: "dim" }, "from ", leaf(text)) : null;
}

/**
 * Return a JSON value as a tree of lists.
 * @param {any} value
 * @returns {Child}
 */
export function tree(value) {
  if (value === null || typeof value !== "object") return leaf(value);
  const all = Array.isArray(value) ? [...value.entries()] : Object.entries(value).filter(([name]) => !OWN_MEMBERS.has(name));
  if (all.length === 0) return h("span", { class: "dim" }, Array.isArray(value) ? "empty list" : "empty");
  const items = all.slice(0, MOST_MEMBERS).map(([name, inner]) => h("li", null, h("bdi", { class: "key dim" }, shortened(String(name), 200)), " ", tree(inner)));
  const more = all.length - items.length;
  return h("ul", { class: "tree" }, items, more > 0 && h("li", { class: "dim" }, `and ${formatNumber(more)} more`));
}

/**
 * Return a text, number or truth value; addresses that a browser may follow become links.
 * @param {any} value
 */
export function leaf(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const isLink = isSafeLink(value) && /^https?:/i.test(value) && value.length <= 2_000;
  if (isLink) return h("a", { href: value, rel: "noreferrer noopener", target: "_blank" }, h("bdi", null, shortened(value, 200)));
  return h("bdi", { class: typeof value === "string" ? "text" : "mono" }, text);
}

/**
 * Return SQL in colours.
 * @param {string} text
 */
export function sql(text) {
  // Beyond this size the colours would cost more than they show.
  const tokens = text.length > LONG_SQL ? [{ kind: "plain", text }] : sqlTokens(text);
  const code = h("code", null, tokens.map((token) => (token.kind === "plain" ? token.text : h("span", { class: `sql-${token.kind}` }, token.text))));
  return h("div", null, h("pre", { class: "sql", tabindex: "0", role: "region", "aria-label": "Text of the query" }, code), h("p", { class: "actions" }, copyButton("Copy SQL", text)));
}

/**
 * Return the message and stack trace of the facet `errorMessage`, or of a run that has only a message.
 * @param {any} facet
 * @param {string | undefined} message
 */
export function errorText(facet, message) {
  const text = typeof facet?.message === "string" ? facet.message : message;
  if (!text) return null;
  const trace = typeof facet?.stackTrace === "string" && facet.stackTrace !== "" ? facet.stackTrace : null;
  const box = h("pre", { class: "trace", tabindex: "0", role: "region", "aria-label": "Stack trace" }, trace);
  const language = typeof facet?.programmingLanguage === "string" ? ` (${shortened(facet.programmingLanguage, 40)})` : "";
  return h("div", { class: "error-box" }, h("p", { class: "error-message" }, h("bdi", null, text)), trace && h("details", { open: trace.length < 4_000 }, h("summary", null, `Stack trace${language}`), box));
}

/** @type {Readonly<Record<string, (value: number) => string>>} */
const MEASURES = {
  size: formatBytes,
  bytes: formatBytes,
  bytesRead: formatBytes,
  bytesWritten: formatBytes,
  durationMs: (value) => formatDuration(value / 1000),
};

/**
 * Return the numbers of statistics as text, `1 000 rows`; empty without any.
 * @param {any} facet
 * @returns {string[]}
 */
export function measures(facet) {
  if (facet === null || typeof facet !== "object") return [];
  const known = Object.entries(facet).filter(([, value]) => typeof value === "number");
  return known.map(([name, value]) => (MEASURES[name] ? `${MEASURES[name](value)}` : `${formatNumber(value)} ${words(name)}`));
}

/**
 * Return `rowCount` as `rows`, `fileCount` as `files`, other names in words.
 * @param {string} name
 */
function words(name) {
  const counted = name.match(/^(row|file|record|partition)Count$/);
  return counted ? `${counted[1]}s` : name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}
