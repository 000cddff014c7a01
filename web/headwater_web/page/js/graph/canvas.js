// The drawing surface: cards as elements, links as one SVG, panning and zooming. Only what is in sight is in the document.

import { fill, h, svg } from "../dom.js";
import { fillCard } from "./card.js";
import { boxOf, fitted, overlap, sightAround, zoomed } from "./geometry.js";
import { ANCHOR, CARD_WIDTH } from "./layout.js";

/** @typedef {import("./geometry.js").Sight} Sight */
/** @typedef {import("./geometry.js").Box} Box */
/** @typedef {import("./card.js").CardContent} CardContent */

/**
 * @typedef {{content: CardContent, x: number, y: number, height: number}} SceneCard
 * @typedef {{d: string, className: string, title: string, box: Box}} SceneLink
 * @typedef {{key: string, name: string[], x: number, y: number, width: number, height: number}} SceneFrame
 * @typedef {{cards: Map<string, SceneCard>, links: SceneLink[], frames: SceneFrame[]}} Scene
 *
 * @typedef {object} CanvasOptions
 * @property {import("./card.js").CardActions} actions
 * @property {(sight: Sight, isFit: boolean) => void} onSight called when the sight has moved; `isFit` if it was fitted
 * @property {(id: string) => void} onRecentre
 * @property {(id: string) => void} onFocus
 */

/** Below this scale cards show their names only. */
const FAR = 0.55;
/** Below this scale no name can be read, and cards are only shapes. */
const TINY = 0.14;
/** So many cards and links are always in the document. */
const ALL_CARDS = 150;
const ALL_LINKS = 400;
/** Milliseconds without movement after which the graph is drawn sharp: longer than a frame of a slow machine. */
const REST = 700;
/** By so many pixels of the graph the drawn part is larger than that in sight. */
const MARGIN = 300;

export class Canvas {
  /** @param {CanvasOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {Sight} */
    this.sight = { x: 0, y: 0, scale: 1 };
    /** @type {Scene} */
    this.scene = { cards: new Map(), links: [], frames: [] };
    /** @type {Map<string, {element: HTMLElement, card: SceneCard | null}>} */
    this.drawn = new Map();
    /** @type {Map<SceneLink, SVGElement>} */
    this.drawnLinks = new Map();
    /** @type {Box | null} the part of the scene that is drawn; null: it is drawn again with the next frame */
    this.drawnBox = null;
    /** @type {{width: number, height: number} | null} */
    this.measured = null;
    this.whole = boxOf([]);
    this.focused = "";
    this.links = svg("g", { class: "links" });
    this.frames = h("div", { class: "frames" });
    this.cards = h("div", { class: "cards", role: "group", "aria-label": "Cards of the graph" });
    this.world = h("div", { class: "world" }, this.frames, svg("svg", { class: "links-layer", "aria-hidden": "true", width: "1", height: "1" }, markers(), this.links), this.cards);
    this.element = h("div", { class: "canvas" }, this.world);
    this.pending = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.resting = undefined;
    new ResizeObserver(() => {
      this.measured = null;
      this.drawSoon();
    }).observe(this.element);
    this.listen();
  }

  listen() {
    this.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.element.addEventListener("pointerdown", (event) => this.drag(event));
    this.element.addEventListener("focusin", (event) => {
      const card = event.target instanceof Element ? event.target.closest(".card") : null;
      if (card instanceof HTMLElement && card.dataset.id !== undefined) this.setFocused(card.dataset.id);
    });
    this.element.addEventListener("dblclick", (event) => {
      const card = event.target instanceof Element && !event.target.closest("button, input, a") ? event.target.closest(".card") : null;
      if (card instanceof HTMLElement && card.dataset.id !== undefined) this.options.onRecentre(card.dataset.id);
    });
    // The browser scrolls a focused element into view; the sight is what moves here.
    this.element.addEventListener("scroll", () => this.element.scrollTo(0, 0));
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.target instanceof Element && event.target.closest(".card-list") && !event.ctrlKey) return;
    event.preventDefault();
    const { left, top } = this.element.getBoundingClientRect();
    const pixels = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) return this.setSight({ ...this.sight, x: this.sight.x + ((event.deltaY || event.deltaX) * pixels) / this.sight.scale });
    const factor = Math.exp(-event.deltaY * pixels * (event.ctrlKey ? 0.01 : 0.0015));
    this.setSight(zoomed(this.sight, factor, { x: event.clientX - left, y: event.clientY - top }));
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (event.button !== 0 || (event.target instanceof Element && event.target.closest("button, input, a, .card"))) return;
    const start = { ...this.sight, clientX: event.clientX, clientY: event.clientY };
    this.element.setPointerCapture(event.pointerId);
    this.element.classList.add("is-dragged");
    /** @param {PointerEvent} moved */
    const move = (moved) => {
      const { scale } = this.sight;
      this.setSight({ x: start.x - (moved.clientX - start.clientX) / scale, y: start.y - (moved.clientY - start.clientY) / scale, scale });
    };
    const end = () => {
      this.element.classList.remove("is-dragged");
      this.element.removeEventListener("pointermove", move);
    };
    this.element.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) this.element.addEventListener(name, end, { once: true });
  }

  /** @returns {{width: number, height: number}} */
  get size() {
    if (this.measured) return this.measured;
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return { width: width || 800, height: height || 500 };
    this.measured = { width, height };
    return this.measured;
  }

  /** @param {Scene} scene */
  setScene(scene) {
    this.scene = scene;
    this.whole = boxOf(scene.cards.values());
    this.drawnBox = null;
    // Each element that appears slowly is a layer of its own for the browser: hundreds of them stop it.
    this.element.classList.toggle("is-large", scene.cards.size > ALL_CARDS);
    this.drawFrames();
    this.draw();
  }

  /**
   * @param {Sight} sight
   * @param {boolean} [isFit]
   */
  setSight(sight, isFit = false) {
    this.sight = sight;
    this.world.style.setProperty("transform", `scale(${sight.scale}) translate(${-sight.x}px, ${-sight.y}px)`);
    this.element.classList.toggle("is-far", sight.scale < FAR);
    this.element.classList.toggle("is-tiny", sight.scale < TINY);
    this.options.onSight(sight, isFit);
    this.move();
    this.drawSoon();
  }

  drawSoon() {
    if (!this.pending && !this.isDrawn) this.pending = requestAnimationFrame(() => this.draw());
  }

  /** Let the browser keep the world as a picture while it moves; at rest it is drawn sharp. */
  move() {
    this.element.classList.add("is-moving");
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.element.classList.remove("is-moving"), REST);
  }

  /** @returns {boolean} whether everything in sight is drawn, and not much more */
  get isDrawn() {
    const [{ box }, drawn] = [this, this.drawnBox];
    if (drawn === null || drawn.right - drawn.left > 2 * (box.right - box.left + 2 * MARGIN)) return false;
    return box.left >= drawn.left && box.top >= drawn.top && box.right <= drawn.right && box.bottom <= drawn.bottom;
  }

  /**
   * Show the whole graph; on a narrow view, and in large graphs, at least so that cards can be read.
   *
   * @param {number} [least]
   * @param {string} [around] the card to show if not all fits
   */
  fit(least, around) {
    const box = this.whole;
    const { scale } = fitted(box, this.size, least);
    const card = this.scene.cards.get(around ?? "");
    const point = card ? { x: card.x + CARD_WIDTH / 2, y: card.y + ANCHOR } : { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
    this.setSight(sightAround(point, box, this.size, scale), true);
  }

  /**
   * @param {{x: number, y: number}} card
   * @param {number} scale
   */
  centred({ x, y }, scale) {
    const { width, height } = this.size;
    return { x: x + CARD_WIDTH / 2 - width / scale / 2, y: y + ANCHOR - height / scale / 2, scale };
  }

  /** @param {number} factor */
  zoom(factor) {
    const { width, height } = this.size;
    this.setSight(zoomed(this.sight, factor, { x: width / 2, y: height / 2 }));
  }

  /** @returns {boolean} whether all cards are in sight */
  get isWhole() {
    const { whole: all, box } = this;
    return all.left >= box.left && all.top >= box.top && all.right <= box.right && all.bottom <= box.bottom;
  }

  /** @returns {Box} */
  get box() {
    const { width, height } = this.size;
    const { x, y, scale } = this.sight;
    return { left: x, top: y, right: x + width / scale, bottom: y + height / scale };
  }

  /** @param {string} id */
  setFocused(id) {
    if (this.focused === id) return;
    this.drawn.get(this.focused)?.element.setAttribute("tabindex", "-1");
    this.focused = id;
    this.drawn.get(id)?.element.setAttribute("tabindex", "0");
    this.options.onFocus(id);
  }

  /**
   * Focus a card, and bring it into sight.
   *
   * @param {string} id
   */
  focus(id) {
    const card = this.scene.cards.get(id);
    if (!card) return;
    const inner = { left: card.x, top: card.y, right: card.x + CARD_WIDTH, bottom: card.y + Math.min(card.height, 120) };
    const { left, top, right, bottom } = this.box;
    if (inner.left < left || inner.top < top || inner.right > right || inner.bottom > bottom) this.setSight(this.centred(card, this.sight.scale));
    this.setFocused(id);
    this.draw();
    this.drawn.get(id)?.element.focus({ preventScroll: true });
  }

  /**
   * Bring cards into sight, as many as fit, with the least movement.
   *
   * @param {string} from the card that stays in sight
   * @param {string[]} ids
   */
  reveal(from, ids) {
    const cards = [from, ...ids].flatMap((id) => this.scene.cards.get(id) ?? []);
    if (!cards.length) return;
    const [wanted, { box }, { scale }] = [boxOf(cards), this, this.sight];
    const [start, width, height] = [cards[0], box.right - box.left - 80, box.bottom - box.top - 80];
    const x = moveInto(wanted.left, wanted.right, box.left + 40, width, start.x < wanted.right - width);
    const y = wanted.bottom - wanted.top > height ? 0 : moveInto(wanted.top, wanted.bottom, box.top + 40, height, false);
    if (x || y) this.setSight({ x: this.sight.x + x, y: this.sight.y + y, scale });
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const { box } = this;
    const isNew = this.drawnBox === null;
    const near = { left: box.left - MARGIN, top: box.top - MARGIN, right: box.right + MARGIN, bottom: box.bottom + MARGIN };
    this.drawnBox = near;
    const { cards, links } = this.scene;
    const all = cards.size <= ALL_CARDS;
    const wanted = new Set([...cards].filter(([id, card]) => all || id === this.focused || overlap(near, cardBox(card))).map(([id]) => id));
    this.drawCards(wanted, isNew);
    this.drawLinks(links.length <= ALL_LINKS ? links : links.filter((link) => overlap(near, link.box)), isNew);
  }

  /**
   * @param {Set<string>} wanted
   * @param {boolean} isNew whether the scene is, so that what appears was added to it
   */
  drawCards(wanted, isNew) {
    for (const [id, { element }] of this.drawn) {
      if (wanted.has(id)) continue;
      element.remove();
      this.drawn.delete(id);
    }
    for (const id of wanted) {
      const card = /** @type {SceneCard} */ (this.scene.cards.get(id));
      let drawn = this.drawn.get(id);
      if (!drawn) {
        const element = h("article", { class: "card", tabindex: id === this.focused ? "0" : "-1", data: { id }, "aria-roledescription": "card" });
        if (!isNew) element.style.setProperty("animation", "none");
        drawn = { element, card: null };
        this.drawn.set(id, drawn);
        this.cards.append(element);
      }
      if (drawn.card === card) continue;
      drawn.element.style.setProperty("transform", `translate(${card.x}px, ${card.y}px)`);
      drawn.element.style.setProperty("height", `${card.height}px`);
      if (drawn.card?.content !== card.content) fillCard(drawn.element, card.content, this.options.actions);
      drawn.card = card;
    }
  }

  /**
   * @param {SceneLink[]} links
   * @param {boolean} isNew
   */
  drawLinks(links, isNew) {
    const wanted = new Set(links);
    for (const [link, element] of this.drawnLinks) {
      if (wanted.has(link)) continue;
      element.remove();
      this.drawnLinks.delete(link);
    }
    const added = links.filter((link) => !this.drawnLinks.has(link)).map((link) => {
      const element = linkElement(link);
      if (!isNew) element.style.setProperty("animation", "none");
      this.drawnLinks.set(link, element);
      return element;
    });
    this.links.append(...added);
  }

  drawFrames() {
    const { actions } = this.options;
    fill(this.frames, this.scene.frames.map(({ key, name, x, y, width, height }) =>
      h("div", { class: "frame", style: { transform: `translate(${x}px, ${y}px)`, width: `${width}px`, height: `${height}px` } },
        h("button", { type: "button", class: "frame-name", title: `Fold the jobs of ${name.join(" ")} into one card`, onclick: () => actions.toggleFrame(key) }, h("bdi", null, name[1]), " ⊟"))));
  }
}

/**
 * Return by how much to move a window so that it has an interval, or one end of it.
 * @param {number} from
 * @param {number} to
 * @param {number} start of the window
 * @param {number} size
 * @param {boolean} preferStart which end of an interval that is too long
 */
function moveInto(from, to, start, size, preferStart) {
  if (from >= start && to <= start + size) return 0;
  if (to - from > size) return preferStart ? from - start : to - start - size;
  return from < start ? from - start : to - start - size;
}

/** @param {SceneLink} link */
function linkElement({ d, className, title }) {
  return svg("path", { d, class: `link ${className}` }, title && svg("title", null, title));
}

/** @param {SceneCard} card */
function cardBox({ x, y, height }) {
  return { left: x - 40, top: y, right: x + CARD_WIDTH + 40, bottom: y + height };
}

function markers() {
  const arrow = (/** @type {string} */ id) =>
    svg("marker", { id, viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "10", markerHeight: "10", markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0.5L7.5 4L0 7.5z" }));
  return svg("defs", null, arrow("arrow"), arrow("arrow-way"));
}
