// What a view shows when it has no answer: loading, errors, sign-in, nothing found.

import { ApiProblem } from "./api.js";
import { fill, h } from "./dom.js";
import { signIn } from "./views/signin.js";

/** @typedef {import("./types.d.ts").Api} Api */
/** @typedef {{api: Api, signal: AbortSignal, announce(text: string): void, retry(): void}} Recovery */

const FIRST_DELAY = 2;
const LONGEST_DELAY = 30;
let failures = 0;

/** Return the element shown while answers are awaited; it stays invisible for the first moments. */
export function loading() {
  return h("p", { class: "loading", role: "status" }, "Loading …");
}

/**
 * Show an error in place of a view, with what can be done about it.
 * @param {HTMLElement} root
 * @param {unknown} fault
 * @param {Recovery} recovery
 */
export function problemState(root, fault, recovery) {
  if (!(fault instanceof ApiProblem)) {
    showFault(root, fault, recovery);
    throw fault;
  }
  if (fault.status === 401) {
    document.title = "Sign in | headwater";
    signIn(root, recovery);
    return;
  }
  const { heading, hint } = described(fault);
  document.title = `${heading} | headwater`;
  fill(root, notice(heading, fault.detail, hint), h("p", null, button("Try again", recovery.retry), " ", homeLink()));
  if (isTemporary(fault)) tryLater(root, fault, recovery);
}

/**
 * Record that an answer has arrived, so that the next failure is tried again soon.
 */
export function answered() {
  failures = 0;
}

/** @param {ApiProblem} fault */
function isTemporary(fault) {
  return fault.status === 0 || fault.status === 429 || fault.status === 502 || fault.status === 503 || fault.status === 504;
}

/**
 * Return what a problem means to a reader.
 * @param {ApiProblem} fault
 * @returns {{heading: string, hint: string}}
 */
function described(fault) {
  const isSchema = /schema|migrate|newer|older/i.test(fault.detail);
  if (fault.status === 0) return { heading: fault.title, hint: "" };
  if (fault.status === 403) return { heading: "No permission", hint: "Ask whoever runs this server for access." };
  if (fault.status === 404) return { heading: "Not in the graph", hint: "It may have been removed by retention, or its events have not arrived yet." };
  if (fault.status === 409 || (fault.status === 503 && isSchema)) return { heading: "The graph has another schema than this server", hint: "" };
  if (fault.status === 503) return { heading: "The graph is not reachable", hint: "The server runs, but Neo4j does not answer it." };
  if (fault.status === 400 || fault.status === 422) return { heading: "The address of this page is not complete", hint: "" };
  return { heading: fault.title, hint: "" };
}

/**
 * Return a heading with its explanation.
 * @param {string} heading
 * @param {string} detail
 * @param {string} hint
 */
export function notice(heading, detail, hint) {
  return h("div", { class: "notice" }, h("h1", { tabindex: "-1" }, heading), detail && h("p", null, detail), hint && h("p", { class: "dim" }, hint));
}

/**
 * @param {string} text
 * @param {() => void} action
 */
function button(text, action) {
  return h("button", { type: "button", onclick: action }, text);
}

function homeLink() {
  return h("a", { href: "/" }, "Search");
}

/**
 * Try again after a while, and at once when the network is back.
 * @param {HTMLElement} root
 * @param {ApiProblem} fault
 * @param {Recovery} recovery
 */
function tryLater(root, fault, recovery) {
  const seconds = fault.retryAfter ?? Math.min(FIRST_DELAY * 2 ** failures, LONGEST_DELAY);
  failures += 1;
  root.append(h("p", { class: "dim", role: "status" }, `Trying again in ${seconds} s.`));
  const timer = setTimeout(recovery.retry, seconds * 1000);
  window.addEventListener("online", recovery.retry, { signal: recovery.signal });
  recovery.signal.addEventListener("abort", () => clearTimeout(timer));
}

/**
 * @param {HTMLElement} root
 * @param {unknown} fault
 * @param {Recovery} recovery
 */
function showFault(root, fault, recovery) {
  const text = fault instanceof Error ? fault.message : String(fault);
  fill(root, notice("This page has an error", text, "Reloading may help. The error is in the console of the browser."), button("Try again", recovery.retry));
}
