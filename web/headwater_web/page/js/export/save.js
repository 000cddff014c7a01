// Saving a text as a file.

import { h } from "../dom.js";

const COLOURS = ["--fg", "--bg", "--dim", "--line", "--accent", "--ok", "--bad", "--warn", "--run", "--card"];

/**
 * Let the browser save a text.
 * @param {string} name of the file
 * @param {string} type its media type
 * @param {string} text
 */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { download: name });
  // `h` accepts only addresses that a page may link to; this one was made here.
  link.href = url;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Return a name for a file from the name of a node.
 * @param {readonly string[]} reference
 * @param {string} extension
 * @returns {string}
 */
export function fileName(reference, extension) {
  const name = (reference[reference.length - 1] ?? "").replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(-80) || "graph";
  return `lineage_${name}.${extension}`;
}

/**
 * Return the colours of an element's scheme, as a file needs them.
 * @param {Element} element
 * @returns {import("./svg.js").Colours}
 */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(name).trim()]));
}
