// The graph view: it keeps the graph, the layout and the state of the address in step.

import { h } from "../dom.js";
import { copied } from "../widgets.js";
import { coloursOf, fileName, save } from "../export/save.js";
import { svgOf } from "../export/svg.js";
import { commandOf, cypherOf } from "../export/text.js";
import { counted } from "../format.js";
import { Canvas } from "./canvas.js";
import { columnPanel } from "./column_panel.js";
import { columnsOf, columnWay, NO_WAY } from "./columns.js";
import { COLUMNS_SHOWN } from "./geometry.js";
import { layouts } from "./layouts.js";
import { listCsv, listPanel, listRows } from "./list.js";
import { minimap } from "./minimap.js";
import { addAnswer, addWay, beyond, collapse, emptyGraph, hasColumns, idOf } from "./model.js";
import { columnLineage, detailsOf, facetsOf, lineageOf, NEIGHBOURS } from "./requests.js";
import { contents, layoutCards, sceneOf } from "./scene.js";
import { choices, shownOf } from "./shown.js";
import { paramsOfState } from "./state.js";
import { fillToolbar } from "./toolbar.js";
import { handleGraphKey } from "./walking.js";

/** @typedef {import("../types.d.ts").Context} Context */
/** @typedef {import("./model.js").Direction} Direction */
/** @typedef {import("./state.js").ViewState} ViewState */

const SIDES = /** @type {const} */ (["upstream", "downstream"]);
/** On first sight cards are at least so large; of a larger graph only the surroundings of the start are in sight. */
const READABLE = 0.7;

const COLUMNS_OF_NOW = "These are the steps of now, not of the chosen time. The graph of a run shows what that run did.";

export class GraphView {
  /**
   * @param {ViewState} state
   * @param {Context} context
   */
  constructor(state, context) {
    this.state = state;
    this.context = context;
    this.graph = emptyGraph(idOf(state.start));
    /** @type {Map<string, import("./shown.js").JobDetails>} */
    this.details = new Map();
    /** @type {Map<string, import("./geometry.js").Column[]>} */
    this.columns = new Map();
    /** @type {Map<string, {filter: string, most: number}>} */
    this.lists = new Map();
    /** @type {any[]} */
    this.wayAnswers = [];
    this.wayKey = "";
    this.way = NO_WAY;
    /** @type {Record<string, import("./layout.js").Home>} */
    this.homes = {};
    this.layout = layouts(context.signal);
    this.canvas = new Canvas({ actions: this.cardActions(), onSight: (sight, isFit) => this.sightChanged(sight, isFit), onFocus: () => {}, onRecentre: (id) => this.recentre(id) });
    this.map = minimap(() => this.canvas);
    this.toolbar = h("div", { class: "toolbar", role: "toolbar", "aria-label": "Graph" });
    this.status = h("div", { class: "graph-status", role: "status" });
    this.side = h("div", { class: "graph-side" });
    this.list = listPanel({ onCsv: () => this.saveCsv(), onShow: (id) => this.canvas.focus(id), onClose: () => this.change({ list: false }) });
    const stage = h("div", { class: "graph-stage" }, this.canvas.element, this.map.element, this.status);
    this.element = h("div", { class: "graph" }, this.toolbar, h("div", { class: "graph-body" }, stage, this.side));
    this.element.addEventListener("keydown", (event) => handleGraphKey(event, this));
    this.shown = shownOf(this.graph, { filters: state.filters, folded: new Set(), details: this.details });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.saving = undefined;
    this.isSighted = false;
    const resized = new ResizeObserver(() => this.isSighted && !this.state.sight && this.canvas.fit(READABLE, this.graph.start));
    resized.observe(this.canvas.element);
    context.signal.addEventListener("abort", () => resized.disconnect());
  }

  /** Ask for everything that the state names, and show it. */
  async load() {
    const { state } = this;
    const graph = emptyGraph(idOf(state.start));
    const asked = SIDES.map((side) => ({ reference: state.start, side, level: 0, depth: state.depth }));
    const isStart = (/** @type {string[]} */ reference) => idOf(reference) === graph.start;
    const all = [...asked, ...state.expanded.map((expansion) => ({ ...expansion, depth: isStart(expansion.reference) ? state.depth : 1 }))];
    const answers = await Promise.all(all.map((question) => this.ask(question)));
    answers.forEach((answer, at) => answer && addAnswer(graph, answer, all[at].side));
    this.graph = graph;
    this.details = new Map([...this.details].filter(([id]) => graph.nodes.has(id)));
    await Promise.all([this.readDetails(), this.readOpenColumns(), this.readWay()]);
    await this.render();
  }

  /** @param {{reference: string[], side: Direction, level: number, depth: number}} question */
  ask({ reference, side, level, depth }) {
    const { asOf, past } = this.state;
    return lineageOf(this.context.api, reference, side, { depth, level, asOf, past: past && side === "upstream" }, this.context.signal);
  }

  async readDetails() {
    const wanted = [...this.graph.nodes.values()].filter(({ id }) => !this.details.has(id));
    if (this.state.start[0] === "run" || !wanted.length) return;
    const found = await detailsOf(this.context.api, wanted, this.context.signal);
    for (const node of wanted) {
      const { state, at, ...details } = found.get(node.id) ?? {};
      this.details.set(node.id, details);
      // What a column's way has added to the graph has no facts yet.
      if (!this.state.asOf && state && node.facts.lastRunState === undefined) Object.assign(node.facts, { lastRunState: state, lastRunAt: at });
    }
  }

  async readOpenColumns() {
    const wanted = this.state.open.filter((reference) => !this.columns.has(idOf(reference)));
    await Promise.all(wanted.map(async (reference) => {
      this.columns.set(idOf(reference), columnsOf(await facetsOf(this.context.api, reference, this.context.signal)));
    }));
  }

  async readWay() {
    const { column, indirect } = this.state;
    const key = column ? JSON.stringify(column) : "";
    if (key !== this.wayKey) this.wayAnswers = column ? await columnLineage(this.context.api, column.dataset, column.column, this.context.signal).catch((fault) => this.noWay(fault)) : [];
    this.wayKey = key;
    this.way = column ? columnWay(this.wayAnswers, { indirect }) : NO_WAY;
    if (column && !this.way.columns.size) this.way = { ...NO_WAY, columns: new Map([[idOf(column.dataset), new Set([column.column])]]) };
    if (column && this.state.asOf) this.way = { ...this.way, notes: [...this.way.notes, COLUMNS_OF_NOW] };
    if (addWay(this.graph, this.way.steps)) await this.readDetails();
  }

  /** @param {any} fault */
  noWay(fault) {
    if (fault?.status !== 404) throw fault;
    return [];
  }

  /** Lay out what is shown, and draw it. */
  async render() {
    const { state, graph } = this;
    this.shown = shownOf(graph, { filters: state.filters, folded: new Set(state.folded), details: this.details });
    const found = contents(graph, this.shown, { state, details: this.details, columns: this.columns, lists: this.lists, way: this.way, now: Date.now() });
    const links = this.shown.links.map(({ from, to }) => ({ from, to }));
    const layout = await this.layout({ cards: layoutCards(found), links, previous: this.homes });
    if (!layout || this.context.signal.aborted) return;
    for (const [id, { column, home }] of Object.entries(layout.places)) this.homes[id] = { column, home };
    this.places = layout.places;
    this.canvas.setScene(sceneOf(this.shown, found, layout, this.way));
    if (!this.isSighted && this.element.isConnected) this.firstSight();
    this.map.draw();
    this.drawPanels();
  }

  firstSight() {
    this.isSighted = true;
    const { sight } = this.state;
    this.canvas.focused ||= this.graph.start;
    this.canvas.draw();
    if (sight) this.canvas.setSight(sight);
    else this.canvas.fit(READABLE, this.graph.start);
  }

  drawPanels() {
    const { state, graph } = this;
    const facts = { state, choices: choices(graph, this.details), hidden: this.shown.hidden, canSwitch: this.otherMode() !== null, now: Date.now() };
    fillToolbar(this.toolbar, facts, this.toolbarActions());
    const members = new Set(this.shown.cards.flatMap((card) => card.members));
    if (state.list) this.list.show(listRows(graph, members));
    const indirectSteps = columnWay(this.wayAnswers, { indirect: true }).steps.filter(({ isIndirect }) => isIndirect).length;
    const panel = state.column && columnPanel(state.column, this.way, { indirect: state.indirect, indirectSteps }, {
      onClose: () => void this.selectColumn(null),
      onIndirect: (indirect) => void this.update({ indirect }, () => this.readWay()),
      operations: ([, namespace, name], column) => this.context.api.get("/operations", { namespace, name, column }, this.context.signal),
    });
    this.side.replaceChildren(...(panel ? [panel] : []), ...(state.list ? [this.list.element] : []));
    this.side.hidden = !panel && !state.list;
    const notes = [...graph.notes, graph.nodes.size === 1 ? "Nothing is known of what it reads or writes." : ""].filter(Boolean);
    this.status.replaceChildren(...notes.map((note) => h("p", null, note)));
  }

  /**
   * Change the state, do what it needs, and draw.
   *
   * @param {Partial<ViewState>} change
   * @param {() => Promise<unknown>} [work]
   */
  async update(change, work) {
    Object.assign(this.state, change);
    this.saveAddress();
    try {
      await work?.();
      await this.render();
    } catch (fault) {
      if (this.context.signal.aborted) return;
      this.status.replaceChildren(h("p", { class: "state-bad" }, fault instanceof Error ? fault.message : String(fault)));
      this.context.announce("That failed.");
    }
  }

  /** @param {Partial<ViewState>} change */
  change(change) {
    void this.update(change);
  }

  saveAddress() {
    this.context.go({ view: "lineage", params: paramsOfState(this.state) }, { replace: true });
  }

  /**
   * @param {import("./geometry.js").Sight} sight
   * @param {boolean} isFit
   */
  sightChanged(sight, isFit) {
    this.map.draw();
    if (!this.isSighted) return;
    this.state.sight = isFit ? null : sight;
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.context.signal.aborted || this.saveAddress(), 300);
  }

  /**
   * Show the graph around another node.
   *
   * @param {string} id
   */
  recentre(id) {
    const { kind, reference, namespace, name } = this.graph.nodes.get(id) ?? {};
    if (kind === "run" && reference) this.context.go({ view: "lineage", params: { kind, id: reference[1] } });
    else if ((kind === "dataset" || kind === "job") && namespace !== undefined && name !== undefined) this.context.go({ view: "lineage", params: { kind, namespace, name } });
  }

  /**
   * Show more neighbours on one side of a node.
   *
   * @param {string} id
   * @param {Direction} side
   */
  async expand(id, side) {
    const reference = this.graph.nodes.get(id)?.reference;
    if (!reference || reference[0] === "version") return;
    const known = this.state.expanded.find((one) => idOf(one.reference) === id && one.side === side);
    const isStart = id === this.graph.start;
    const level = known || isStart ? Math.min((known?.level ?? 0) + 1, NEIGHBOURS.length - 1) : 0;
    const others = this.state.expanded.filter((one) => one !== known);
    const before = new Set(this.graph.nodes.keys());
    await this.update({ expanded: [...others, { reference, side, level }] }, async () => {
      addAnswer(this.graph, await this.ask({ reference, side, level, depth: isStart ? this.state.depth : 1 }), side);
      await this.readDetails();
    });
    const more = beyond(this.graph, id, side);
    const added = [...this.graph.nodes.keys()].filter((one) => !before.has(one));
    this.canvas.reveal(id, added);
    this.context.announce(`${counted(added.length, "card")} added${more ? `, ${more} more` : ""}`);
  }

  /**
   * Hide again what an expansion showed.
   *
   * @param {string} id
   * @param {Direction} side
   */
  fold(id, side) {
    collapse(this.graph, id, side);
    this.change({ expanded: this.state.expanded.filter(({ reference, side: one }) => (idOf(reference) !== id || one !== side) && this.graph.nodes.has(idOf(reference))) });
  }

  /** @param {string} id */
  toggleColumns(id) {
    const node = this.graph.nodes.get(id);
    if (!node || !hasColumns(node)) return;
    const isOpen = this.state.open.some((reference) => idOf(reference) === id);
    const open = isOpen ? this.state.open.filter((reference) => idOf(reference) !== id) : [...this.state.open, node.reference];
    void this.update({ open }, () => this.readOpenColumns());
  }

  /** @param {{dataset: string[], column: string} | null} column */
  selectColumn(column) {
    return this.update({ column }, () => this.readWay());
  }

  /** @returns {import("./card.js").CardActions} */
  cardActions() {
    /** @param {string} id */
    const listOf = (id) => this.lists.get(id) ?? { filter: "", most: COLUMNS_SHOWN };
    return {
      expand: (id, side) => void this.expand(id, side),
      fold: (id, side) => this.fold(id, side),
      toggleColumns: (id) => this.toggleColumns(id),
      filterColumns: (id, filter) => (this.lists.set(id, { filter, most: COLUMNS_SHOWN }), this.change({})),
      moreColumns: (id) => (this.lists.set(id, { ...listOf(id), most: listOf(id).most + 50 }), this.change({})),
      selectColumn: (id, column) => {
        const dataset = this.graph.nodes.get(id)?.reference;
        const { column: now } = this.state;
        const isSame = now !== null && dataset !== undefined && idOf(now.dataset) === id && now.column === column;
        if (dataset) void this.selectColumn(isSame ? null : { dataset, column });
      },
      toggleFrame: (frame) => this.change({ folded: this.state.folded.includes(frame) ? this.state.folded.filter((one) => one !== frame) : [...this.state.folded, frame] }),
    };
  }

  /** @returns {import("./toolbar.js").ToolbarActions} */
  toolbarActions() {
    return {
      change: (change) => this.change(change),
      ask: (change) => void this.update({ ...change, expanded: change.depth ? [] : this.state.expanded }, async () => {
        this.homes = {};
        this.isSighted = false;
        await this.load();
      }),
      switchMode: () => this.switchMode(),
      arrange: () => ((this.homes = {}), void this.update({}).then(() => this.canvas.fit())),
      fit: () => this.canvas.fit(),
      zoom: (factor) => this.canvas.zoom(factor),
      exportSvg: () => this.saveSvg(),
      command: () => commandOf(this.state),
      cypher: () => cypherOf(this.state),
      copy: copied,
    };
  }

  /**
   * Return the parameters of the other mode: the last run of a job or dataset, or the job of a run; null if there is none.
   * @returns {Record<string, string> | null}
   */
  otherMode() {
    const node = this.graph.nodes.get(this.graph.start);
    if (node?.kind === "run") return node.namespace ? { kind: "job", namespace: node.namespace, name: node.name } : null;
    const run = node?.kind === "job" ? node.facts.lastRun : node?.facts.writtenBy;
    return run ? { kind: "run", id: run } : null;
  }

  switchMode() {
    const params = this.otherMode();
    if (params) this.context.go({ view: "lineage", params });
  }

  saveCsv() {
    const members = new Set(this.shown.cards.flatMap((card) => card.members));
    save(fileName(this.state.start, "csv"), "text/csv;charset=utf-8", listCsv(listRows(this.graph, members)));
  }

  saveSvg() {
    save(fileName(this.state.start, "svg"), "image/svg+xml", svgOf(this.canvas.scene, coloursOf(this.element), document.title));
  }
}
