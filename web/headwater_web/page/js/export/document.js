// The picture of an answer in a file of its own, which opens without a server: `headwater lineage --format html`.

import { h } from "../dom.js";
import { formatTime } from "../format.js";
import { Canvas } from "../graph/canvas.js";
import { listCsv, listPanel, listRows } from "../graph/list.js";
import { minimap } from "../graph/minimap.js";
import { handleGraphKey } from "../graph/walking.js";
import { pictureOf } from "./picture.js";
import { coloursOf, fileName, save } from "./save.js";
import { svgOf } from "./svg.js";

/** On first sight cards are at least so large; of a larger graph only the surroundings of the start are in sight. */
const READABLE = 0.7;

/** The view of a stored answer: the graph can be moved, read as a list and saved, but nothing can be requested. */
class StoredView {
  /**
   * @param {any} answer
   * @param {HTMLElement} announcer
   */
  constructor(answer, announcer) {
    this.picture = pictureOf(answer, Date.now());
    this.reference = answer.start[0] ?? [];
    this.state = { column: null };
    this.context = { announce: (/** @type {string} */ text) => void (announcer.textContent = text) };
    this.canvas = new Canvas({ actions: this.cardActions(), onSight: () => this.map.draw(), onFocus: () => {}, onRecentre: () => {} });
    this.map = minimap(() => this.canvas);
    this.list = listPanel({ onCsv: () => this.saveCsv(), onShow: (id) => this.canvas.focus(id), onClose: () => this.toggleList(), isStored: true });
    this.list.show(this.rows());
    this.side = h("div", { class: "graph-side" }, this.list.element);
    this.side.hidden = true;
    const status = h("div", { class: "graph-status", role: "status" }, this.picture.notes.map((note) => h("p", null, note)));
    const stage = h("div", { class: "graph-stage" }, this.canvas.element, this.map.element, status);
    this.element = h("div", { class: "graph" }, this.toolbar(), h("div", { class: "graph-body" }, stage, this.side));
    this.element.addEventListener("keydown", (event) => handleGraphKey(event, this));
  }

  get graph() {
    return this.picture.graph;
  }

  get shown() {
    return this.picture.shown;
  }

  get places() {
    return this.picture.places;
  }

  expand() {}

  toggleColumns() {}

  selectColumn() {}

  /** @returns {import("../graph/card.js").CardActions} */
  cardActions() {
    const none = () => {};
    return { expand: none, fold: none, toggleColumns: none, filterColumns: none, moreColumns: none, selectColumn: none, toggleFrame: none };
  }

  toolbar() {
    return h("div", { class: "toolbar", role: "toolbar", "aria-label": "Graph" },
      h("button", { type: "button", onclick: () => this.toggleList() }, "List"),
      h("button", { type: "button", onclick: () => this.saveSvg() }, "Save as SVG"),
      h("span", { class: "zoom-buttons", role: "group", "aria-label": "Zoom" },
        h("button", { type: "button", "aria-label": "Smaller", onclick: () => this.canvas.zoom(1 / 1.3) }, "−"),
        h("button", { type: "button", title: "Fit (f)", onclick: () => this.canvas.fit() }, "Fit"),
        h("button", { type: "button", "aria-label": "Larger", onclick: () => this.canvas.zoom(1.3) }, "+")));
  }

  rows() {
    return listRows(this.graph, new Set(this.graph.nodes.keys()));
  }

  toggleList() {
    this.side.hidden = !this.side.hidden;
  }

  saveCsv() {
    save(fileName(this.reference, "csv"), "text/csv;charset=utf-8", listCsv(this.rows()));
  }

  saveSvg() {
    save(fileName(this.reference, "svg"), "image/svg+xml", svgOf(this.picture.scene, coloursOf(this.element), this.picture.title));
  }

  /** Draw, once the element is in the document. */
  draw() {
    this.canvas.focused = this.graph.start;
    this.canvas.setScene(this.picture.scene);
    this.canvas.fit(READABLE, this.graph.start);
    this.map.draw();
  }
}

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const { answer, at } = JSON.parse(element("answer").textContent ?? "");
const view = new StoredView(answer, element("announcer"));
document.title = view.picture.title;
element("main").append(
  h("h1", { class: "graph-title", tabindex: "-1" }, h("bdi", null, view.picture.title), h("span", { class: "dim" }, ` as the graph was queried at ${formatTime(at)} UTC`)),
  view.element,
);
view.draw();
