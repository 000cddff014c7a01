// The controls above the graph. Each of them changes the state of the view, and so its address.

import { pathTo } from "../address.js";
import { fill, h } from "../dom.js";
import { appearanceOfRun, counted } from "../format.js";

/** @typedef {import("./state.js").ViewState} ViewState */
/** @typedef {import("./state.js").Filters} Filters */
/** @typedef {import("../types.d.ts").Child} Child */

/** How many days the slider goes back. */
const DAYS = 90;
const DAY = 86_400_000;
const WEEK = 7 * DAY;

/**
 * @typedef {object} ToolbarActions
 * @property {(change: Partial<ViewState>) => void} change shows the same graph differently
 * @property {(change: Partial<ViewState>) => void} ask asks the server again
 * @property {() => void} switchMode
 * @property {() => void} arrange
 * @property {() => void} fit
 * @property {(factor: number) => void} zoom
 * @property {() => void} exportSvg
 * @property {() => string} command
 * @property {() => string} cypher
 * @property {(text: string) => Promise<boolean>} copy
 *
 * @typedef {object} ToolbarFacts
 * @property {ViewState} state
 * @property {ReturnType<typeof import("./shown.js").choices>} choices
 * @property {number} hidden
 * @property {boolean} canSwitch
 * @property {number} now
 */

/**
 * Show the controls.
 * @param {HTMLElement} root
 * @param {ToolbarFacts} facts
 * @param {ToolbarActions} actions
 */
export function fillToolbar(root, facts, actions) {
  const { state } = facts;
  const isRun = state.start[0] === "run";
  const focused = root.contains(document.activeElement) ? document.activeElement?.getAttribute("data-control") : null;
  const openMenus = new Set([...root.querySelectorAll("details[open]")].map((details) => details.getAttribute("data-control")));
  fill(root,
    modeSwitch(isRun, facts.canSwitch, actions),
    depthControl(state, actions),
    !isRun && timeControl(facts, actions),
    !isRun && compareLink(facts),
    filterMenu(facts, actions),
    h("button", { type: "button", "aria-pressed": String(state.list), data: { control: "list", key: "l" }, onclick: () => actions.change({ list: !state.list }) }, "List"),
    saveMenu(actions),
    h("span", { class: "zoom-buttons", role: "group", "aria-label": "Zoom" },
      h("button", { type: "button", "aria-label": "Smaller", data: { control: "smaller" }, onclick: () => actions.zoom(1 / 1.3) }, "−"),
      h("button", { type: "button", title: "Fit (f)", data: { control: "fit" }, onclick: actions.fit }, "Fit"),
      h("button", { type: "button", "aria-label": "Larger", data: { control: "larger" }, onclick: () => actions.zoom(1.3) }, "+"),
      h("button", { type: "button", title: "Arrange all cards anew", data: { control: "arrange" }, onclick: actions.arrange }, "Arrange")));
  for (const details of root.querySelectorAll("details")) if (openMenus.has(details.getAttribute("data-control"))) details.open = true;
  if (focused) /** @type {HTMLElement | null} */ (root.querySelector(`[data-control="${focused}"]`))?.focus();
}

/**
 * @param {boolean} isRun
 * @param {boolean} canSwitch
 * @param {ToolbarActions} actions
 */
function modeSwitch(isRun, canSwitch, { switchMode }) {
  /** @param {string} text @param {boolean} pressed @param {string} title */
  const option = (text, pressed, title) =>
    h("button", { type: "button", "aria-pressed": String(pressed), disabled: !pressed && !canSwitch, title, data: { control: text }, onclick: () => pressed || switchMode() }, text);
  return h("span", { class: "switch", role: "group", "aria-label": "Which graph" },
    option("Current", !isRun, "What jobs read and write now"), option("Run", isRun, "What one run really read and wrote, with versions"));
}

/**
 * @param {ViewState} state
 * @param {ToolbarActions} actions
 */
function depthControl({ depth }, { ask }) {
  const options = [1, 2, 3, 5, 10, 20];
  if (!options.includes(depth)) options.push(depth);
  return h("label", { title: "How many jobs away from the start" }, "Depth ",
    h("select", { data: { control: "depth" }, onchange: changed((value) => ask({ depth: Number(value), sight: null })) },
      options.map((value) => h("option", { value, selected: value === depth }, value))));
}

/**
 * @param {ToolbarFacts} facts
 * @param {ToolbarActions} actions
 */
function timeControl({ state, now }, { ask }) {
  const time = Date.parse(state.asOf);
  const daysAgo = Number.isNaN(time) ? 0 : Math.min(DAYS, Math.max(0, Math.round((now - time) / DAY)));
  /** @param {string} text */
  const change = (text) => ask({ asOf: text });
  return h("span", { class: "as-of" },
    h("label", null, "As of ", h("input", { type: "datetime-local", "aria-label": "As of, UTC", data: { control: "as-of" }, value: Number.isNaN(time) ? "" : new Date(time).toISOString().slice(0, 16), onchange: changed((value) => change(value ? `${value}:00Z` : "")) })),
    h("input", { type: "range", min: -DAYS, max: 0, value: -daysAgo, "aria-label": `As of, days before now (${daysAgo})`, title: daysAgo ? `${counted(daysAgo, "day")} ago` : "now", data: { control: "days" },
      onchange: changed((value) => change(Number(value) ? `${new Date(now + Number(value) * DAY).toISOString().slice(0, 16)}:00Z` : "")) }),
    state.asOf && h("button", { type: "button", data: { control: "now" }, onclick: () => change("") }, "Now"));
}

/**
 * Return the link to the difference between the time shown, or a week ago, and now.
 * @param {ToolbarFacts} facts
 */
function compareLink({ state, now }) {
  const [lineage, namespace, name] = state.start;
  const from = state.asOf || `${new Date(now - WEEK).toISOString().slice(0, 16)}:00Z`;
  const href = pathTo("diff", { lineage, namespace, name, from, depth: String(state.depth) });
  return h("a", { class: "button", href, title: state.asOf ? "What differs between this time and now" : "What differs between a week ago and now" }, "Compare");
}

/**
 * @param {(value: string) => void} action
 * @returns {(event: Event) => void}
 */
function changed(action) {
  return (event) => action(/** @type {HTMLInputElement} */ (event.target).value);
}

/**
 * @param {ToolbarFacts} facts
 * @param {ToolbarActions} actions
 */
function filterMenu({ state, choices, hidden }, { change }) {
  const { filters } = state;
  /** @param {Partial<Filters>} part */
  const set = (part) => change({ filters: { ...filters, ...part } });
  /** @type {(label: string, value: string, values: string[], set: (value: string) => void) => Child} */
  const choice = (label, value, values, choose) => {
    if (!values.length && !value) return null;
    const all = values.includes(value) || !value ? values : [...values, value];
    return h("label", null, `${label} `, h("select", { data: { control: label }, onchange: changed(choose) },
      h("option", { value: "" }, "all"), all.map((one) => h("option", { value: one, selected: one === value }, label === "State" ? appearanceOfRun(one).text : one))));
  };
  const namespaces = [...new Set([...choices.namespaces, ...filters.namespaces])];
  return h("details", { class: "menu", data: { control: "filter" } },
    h("summary", null, hidden ? `Filter: ${counted(hidden, "card")} hidden` : "Filter"),
    h("div", { class: "menu-body" },
      choice("State", filters.state, choices.states, (value) => set({ state: value })),
      choice("Owner", filters.owner, choices.owners, (value) => set({ owner: value })),
      choice("Tag", filters.tag, choices.tags, (value) => set({ tag: value })),
      h("label", null, h("input", { type: "checkbox", checked: filters.hideTemporary, data: { control: "temporary" }, onchange: () => set({ hideTemporary: !filters.hideTemporary }) }), ` hide temporary datasets (${choices.temporary})`),
      namespaces.length > 1 && h("fieldset", null, h("legend", null, "Namespaces"), namespaces.map((name) =>
        h("label", null, h("input", { type: "checkbox", checked: !filters.namespaces.includes(name), data: { control: `without ${name}` }, onchange: () => set({ namespaces: filters.namespaces.includes(name) ? filters.namespaces.filter((one) => one !== name) : [...filters.namespaces, name] }) }), " ", h("bdi", null, name))))));
}

/** @param {ToolbarActions} actions */
function saveMenu({ exportSvg, command, cypher, copy }) {
  /** @param {string} label @param {() => string} text @param {string} control */
  const copyItem = (label, text, control) => {
    const button = h("button", { type: "button", data: { control }, onclick: () => void copy(text()).then((done) => (button.textContent = done ? "Copied" : "Not copied: the browser refused")) }, label);
    return button;
  };
  return h("details", { class: "menu", data: { control: "export" } }, h("summary", null, "Export"),
    h("div", { class: "menu-body" },
      h("button", { type: "button", data: { control: "svg" }, onclick: exportSvg }, "Download as SVG"),
      copyItem("Copy as command", command, "command"),
      copyItem("Copy as Cypher", cypher, "cypher")));
}
