// Keys that work in every view. A view that handles a key itself prevents its default.

import { showHelp } from "./help.js";

/** @typedef {import("./types.d.ts").Address} Address */

const SEQUENCE_TIME = 1_000;
let afterG = Number.NEGATIVE_INFINITY;

/**
 * Handle a key pressed anywhere but in a field.
 * @param {KeyboardEvent} event
 * @param {{go(address: Address): void, announce(text: string): void}} context
 */
export function handleKey(event, context) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]") !== null && event.key !== "?") return;
  const isSequence = performance.now() - afterG < SEQUENCE_TIME;
  afterG = event.key === "g" ? performance.now() : Number.NEGATIVE_INFINITY;
  const action = isSequence ? second(event.key, context) : first(event.key);
  if (action === null) return;
  event.preventDefault();
  action();
}

/**
 * @param {string} key
 * @returns {(() => void) | null}
 */
function first(key) {
  if (key === "/") return focusSearch;
  if (key === "?") return showHelp;
  // A link of a view names its own key.
  const link = /^[a-z]$/.test(key) ? document.querySelector(`main [data-key="${key}"]`) : null;
  return link instanceof HTMLElement ? () => link.click() : null;
}

/**
 * @param {string} key
 * @param {{go(address: Address): void}} context
 * @returns {(() => void) | null}
 */
function second(key, { go }) {
  if (key === "h") return () => go({ view: "home", params: {} });
  if (key === "o") return () => go({ view: "operations", params: {} });
  return null;
}

function focusSearch() {
  const field = document.querySelector("input[role=combobox]");
  if (field instanceof HTMLInputElement) {
    field.focus();
    field.select();
  }
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
