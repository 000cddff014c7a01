// Parts that several views show: names, states, times, tables, buttons that copy.

import { pathTo, pathToNode } from "./address.js";
import { ApiProblem } from "./api.js";
import { fill, h } from "./dom.js";
import { appearanceOfRun, appearanceOfStatus, formatAge, formatTime, shortened, splitName } from "./format.js";

/** @typedef {import("./types.d.ts").Child} Child */
/** @typedef {import("./types.d.ts").Appearance} Appearance */
/** @typedef {import("./types.d.ts").Reference} Reference */

const LONG_NAME = 90;

/**
 * Return a name whose last part stands out from the dimmed rest. Its direction does not change that of the text around it.
 * @param {string} name
 * @param {number} [most] characters; longer names are shortened in the middle
 */
export function nameElement(name, most = LONG_NAME) {
  const { rest, tail } = splitName(name);
  const room = Math.max(most - Array.from(tail).length, 24);
  const parts = [rest && h("span", { class: "name-rest" }, shortened(rest, room)), h("span", { class: "name-tail" }, shortened(tail, most))];
  return h("bdi", { class: "name" }, parts);
}

/**
 * Return a link to the page of a dataset, job, column, version or run, with its namespace dimmed behind it.
 * @param {Reference} reference
 * @param {{withNamespace?: boolean}} [options]
 */
export function nodeLink(reference, { withNamespace = true } = {}) {
  const [kind, ...name] = reference;
  if (kind === "run") return runLink(name[0]);
  const shown = kind === "column" ? `${name[1]}.${name[2]}` : name[1];
  const link = h("a", { href: pathToNode(reference), title: shortened(name.join(" "), 2_000) }, nameElement(shown));
  return h("span", { class: "node-link" }, link, withNamespace && [" ", h("bdi", { class: "namespace dim" }, shortened(name[0], 60))]);
}

/**
 * Return a link to a run, by the beginning of its id unless another text is given.
 * @param {string} id
 * @param {Child} [text]
 */
export function runLink(id, text) {
  return h("a", { class: text === undefined ? "mono" : null, href: pathTo("run", { id }), title: shortened(id, 2_000) }, text ?? h("bdi", null, shortId(id)));
}

/**
 * Return a short form of an id: the first group of a UUID, or at most 16 characters of another id.
 * @param {string} id
 */
export function shortId(id) {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(id) ? id.slice(0, 13) : shortened(id, 24);
}

/**
 * Return a state as shape, word and colour.
 * @param {Appearance} appearance
 */
export function badge({ text, shape, className }) {
  return h("span", { class: `state ${className}` }, h("span", { class: "shape", "aria-hidden": "true" }, shape), text);
}

/**
 * Return the state of a run.
 * @param {{state?: string, marks?: string[]}} run
 */
export function runState(run) {
  return badge(appearanceOfRun(run.state, run.marks));
}

/**
 * Return the statuses of a dataset or job.
 * @param {readonly string[]} marks
 */
export function statuses(marks) {
  return marks.map((mark) => [badge(appearanceOfStatus(mark)), " "]);
}

/**
 * Return a time as its age, or in full; the other form is its title.
 * @param {string | null | undefined} time
 * @param {{full?: boolean}} [options]
 */
export function timeElement(time, { full = false } = {}) {
  if (!time) return null;
  const [exact, age] = [`${formatTime(time)} UTC`, formatAge(time)];
  if (full) return h("span", null, h("time", { datetime: time }, exact), h("span", { class: "dim" }, ` · ${age}`));
  return h("time", { datetime: time, title: exact }, age);
}

/**
 * Return a part of a view under a heading, null without content.
 * @param {string} title
 * @param {...Child} children
 */
export function section(title, ...children) {
  if (!isPresent(children)) return null;
  const id = `section-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

/**
 * Return facts as a list of terms; those without a value are left out.
 * @param {readonly (readonly [string, Child])[]} list
 */
export function facts(list) {
  const present = list.filter(([, value]) => isPresent(value));
  return h("dl", { class: "facts" }, present.map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value))));
}

/**
 * Return a table. A column whose name begins with `#` is of numbers; the first cell of each row is its heading.
 * @param {string} caption for screen readers
 * @param {readonly string[]} head
 * @param {readonly (readonly Child[])[]} rows
 * @returns {HTMLElement}
 */
export function table(caption, head, rows) {
  const classes = head.map((name) => (name.startsWith("#") ? "number" : null));
  return h(
    "div",
    { class: "table-box", tabindex: "0", role: "group", "aria-label": caption },
    h(
      "table",
      null,
      h("caption", { class: "visually-hidden" }, caption),
      h("thead", null, h("tr", null, head.map((name, at) => h("th", { scope: "col", class: classes[at] }, name.replace(/^#/, ""))))),
      h("tbody", null, rows.map((cells) => h("tr", null, cells.map((cell, at) => h(at === 0 ? "th" : "td", { scope: at === 0 && "row", class: classes[at] }, cell))))),
    ),
  );
}

/**
 * Return a table without the columns in which no row has anything.
 * @param {string} caption
 * @param {readonly string[]} head
 * @param {readonly (readonly Child[])[]} rows
 */
export function compactTable(caption, head, rows) {
  const used = head.map((_, at) => at === 0 || rows.some((cells) => isPresent(cells[at])));
  return table(caption, head.filter((_, at) => used[at]), rows.map((cells) => cells.filter((_, at) => used[at])));
}

/**
 * Return whether a child shows anything.
 * @param {Child} child
 * @returns {boolean}
 */
function isPresent(child) {
  if (Array.isArray(child)) return child.some(isPresent);
  return child instanceof Node ? child.textContent !== "" : child !== null && child !== undefined && child !== false && child !== "";
}

/**
 * Return a list whose further pages are appended by a button.
 * @param {any} first the first page
 * @param {(cursor: string) => Promise<any>} next
 * @param {(page: any, make: typeof table) => HTMLElement} show a table with the rows of a page, made by `make`
 */
export function paged(first, next, show) {
  // The columns of further pages must be those of the first one, so it can leave out none.
  const list = show(first, first.next === undefined ? compactTable : table);
  const box = h("div", null, list);
  let cursor = first.next;
  if (cursor === undefined) return box;
  const more = h("button", { type: "button", class: "more", onclick: () => void load() }, "Show more");
  async function load() {
    more.disabled = true;
    try {
      const page = await next(cursor);
      list.querySelector("tbody")?.append(...(show(page, table).querySelector("tbody")?.children ?? []));
      cursor = page.next;
      if (cursor === undefined) more.remove();
    } catch (fault) {
      if (!(fault instanceof ApiProblem)) throw fault;
      more.textContent = `${fault.message} Try again`;
    } finally {
      more.disabled = false;
    }
  }
  box.append(more);
  return box;
}

/**
 * Return a button that copies a text.
 * @param {string} label
 * @param {string} text
 */
export function copyButton(label, text) {
  const button = h("button", { type: "button", title: shortened(text, 2_000), onclick: () => void copy() }, label);
  async function copy() {
    const isCopied = await copied(text);
    button.textContent = isCopied ? "Copied" : "Not copied: the browser refused";
    setTimeout(() => (button.textContent = label), 1_500);
  }
  return button;
}

/**
 * Copy a text; return whether the browser allowed it.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copied(text) {
  // Without https the clipboard interface is absent outside of loopback.
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const field = h("textarea", { class: "visually-hidden" }, text);
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

/**
 * Return a name as one argument of a shell.
 * @param {string} text
 */
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Return a text as a literal of Cypher.
 * @param {string} text
 */
export function cypherText(text) {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

/**
 * Return the heading of a view: what it is, its name, its statuses, and what can be done.
 * @param {{kind: string, name: Child, context?: Child, marks?: Child, actions: Child[]}} parts
 */
export function heading({ kind, name, context, marks, actions }) {
  return h(
    "div",
    { class: "heading" },
    h("div", null, h("p", { class: "kind dim" }, kind, context && [" · ", context]), h("h1", { tabindex: "-1" }, name), marks && h("p", { class: "marks" }, marks)),
    h("div", { class: "actions" }, actions),
  );
}

/**
 * Show a part once its answer is there; a failure of it concerns this part alone.
 * @param {Promise<Child>} answer
 * @param {AbortSignal} signal
 */
export function later(answer, signal) {
  const box = h("div", null, h("span", { class: "loading", role: "status" }, "Loading …"));
  answer.then(
    (content) => fill(box, content),
    (/** @type {Error} */ fault) => {
      if (!signal.aborted) fill(box, h("p", { class: "field-error", role: "alert" }, fault.message));
    },
  );
  return box;
}
