// The search box: a combobox that searches while one types.

import { pathToNode } from "./address.js";
import { ApiProblem } from "./api.js";
import { fill, h } from "./dom.js";
import { counted } from "./format.js";
import { nameElement, shortId } from "./widgets.js";

/** @typedef {import("./types.d.ts").Context} Context */
/** @typedef {import("./types.d.ts").Reference} Reference */

const DELAY = 150;
const LIMIT = 12;
let boxes = 0;

/**
 * Return the search box.
 * @param {Context} context
 * @param {{text?: string, onText?(text: string): void}} options `text` is in the box at first; `onText` gets each searched text
 */
export function searchBox(context, options) {
  return new SearchBox(context, options).root;
}

class SearchBox {
  /**
   * @param {Context} context
   * @param {{text?: string, onText?(text: string): void}} options
   */
  constructor(context, options) {
    this.context = context;
    this.onText = options.onText ?? (() => {});
    this.id = `search-${(boxes += 1)}`;
    this.active = -1;
    /** @type {string[]} */
    this.paths = [];
    this.searching = new AbortController();
    this.timer = 0;
    this.searched = "";
    this.list = h("div", { id: `${this.id}-list`, class: "options", role: "listbox", "aria-label": "Results", hidden: true });
    this.note = h("p", { class: "search-note dim", role: "status" });
    this.input = this.field(options.text ?? "");
    const label = h("label", { class: "visually-hidden", for: this.id }, "Search datasets, jobs, columns and runs");
    this.root = h("search", { class: "search" }, label, this.input, h("div", { class: "search-results" }, this.list, this.note));
    this.root.addEventListener("focusout", (event) => this.leave(event));
    if (options.text) void this.search();
  }

  /** @param {string} text */
  field(text) {
    return h("input", {
      id: this.id,
      type: "search",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": `${this.id}-list`,
      "aria-autocomplete": "list",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      maxlength: "2000",
      placeholder: "Search datasets, jobs, columns, runs",
      value: text,
      oninput: () => this.schedule(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onfocus: () => this.expand(this.paths.length > 0),
    });
  }

  schedule() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.search(), DELAY);
  }

  async search() {
    clearTimeout(this.timer);
    this.searching.abort();
    const { signal } = (this.searching = new AbortController());
    const text = this.input.value.trim();
    this.onText(text);
    this.searched = text;
    if (text === "") {
      this.show([], "", "");
      return;
    }
    try {
      const { nodes, next } = await this.context.api.get("/search", { text, limit: LIMIT }, signal);
      const note = nodes.length === 0 ? `Nothing has a name with “${text}” in it.` : next ? "There are more: type more of the name." : "";
      this.show(nodes, note, counted(nodes.length, "result"));
    } catch (fault) {
      if (signal.aborted) return;
      this.show([], fault instanceof ApiProblem ? fault.message : "The search failed.", "");
    }
  }

  /**
   * @param {Reference[]} nodes
   * @param {string} note
   * @param {string} announcement
   */
  show(nodes, note, announcement) {
    this.paths = nodes.map((node) => pathToNode(node) ?? "/");
    this.note.textContent = note;
    fill(this.list, nodes.map((node, at) => this.option(node, at)));
    this.activate(nodes.length > 0 ? 0 : -1);
    this.expand(nodes.length > 0);
    if (announcement) this.context.announce(announcement);
  }

  /**
   * @param {Reference} node
   * @param {number} at
   */
  option(node, at) {
    const [kind, ...name] = node;
    const shown = kind === "run" ? h("bdi", { class: "mono" }, shortId(name[0])) : nameElement(kind === "column" ? name[2] : name[1]);
    const of = kind === "run" ? "" : kind === "column" ? `${name[1]} · ${name[0]}` : name[0];
    const parts = [h("span", { class: "option-kind dim" }, kind), shown, h("bdi", { class: "namespace dim" }, of)];
    const attributes = { id: `${this.id}-${at}`, role: "option", tabindex: "-1", href: this.paths[at], onmousemove: () => this.activate(at) };
    return h("a", { ...attributes, "aria-selected": "false" }, parts);
  }

  /** @param {number} at */
  activate(at) {
    this.active = at;
    for (const [index, option] of [...this.list.children].entries()) option.setAttribute("aria-selected", String(index === at));
    if (at < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `${this.id}-${at}`);
    this.list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {boolean} isOpen */
  expand(isOpen) {
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const count = this.paths.length;
    if (event.key === "ArrowDown" && count > 0) this.step(event, (this.active + 1) % count);
    else if (event.key === "ArrowUp" && count > 0) this.step(event, (this.active - 1 + count) % count);
    else if (event.key === "Enter") void this.enter(event);
    else if (event.key === "Escape") this.escape(event);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} at
   */
  step(event, at) {
    event.preventDefault();
    this.expand(true);
    this.activate(at);
  }

  /**
   * Open the active result of what is in the box now, even if its answer is still on the way.
   * @param {KeyboardEvent} event
   */
  async enter(event) {
    event.preventDefault();
    if (this.input.value.trim() !== this.searched) await this.search();
    const option = this.list.children[Math.max(this.active, 0)];
    if (option instanceof HTMLElement) option.click();
  }

  /** @param {KeyboardEvent} event */
  escape(event) {
    event.preventDefault();
    if (!this.list.hidden) this.expand(false);
    else this.input.blur();
  }

  /** @param {FocusEvent} event */
  leave(event) {
    const isInside = event.relatedTarget instanceof Node && this.root.contains(event.relatedTarget);
    if (!isInside && this.input.closest("header") !== null) this.expand(false);
  }
}
