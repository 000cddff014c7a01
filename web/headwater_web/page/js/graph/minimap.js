// A small picture of the whole graph, in which the part in sight is framed; a click moves the sight there.

import { h } from "../dom.js";
import { CARD_WIDTH } from "./layout.js";

/** @typedef {import("./canvas.js").Canvas} Canvas */

const SIZE = { width: 168, height: 104 };

/**
 * Return the picture, and a function that draws it again.
 * @param {() => Canvas} canvas
 * @returns {{element: HTMLCanvasElement, draw(): void}}
 */
export function minimap(canvas) {
  const element = h("canvas", { class: "minimap", width: SIZE.width * 2, height: SIZE.height * 2, "aria-hidden": "true" });
  const transform = () => {
    const box = canvas().whole;
    const scale = Math.min((SIZE.width - 12) / (box.right - box.left), (SIZE.height - 12) / (box.bottom - box.top), 0.3);
    const x = (SIZE.width - (box.right - box.left) * scale) / 2 - box.left * scale;
    return { scale, x, y: (SIZE.height - (box.bottom - box.top) * scale) / 2 - box.top * scale };
  };
  /** The cards of the scene that was drawn last: they are the same wherever the sight is. */
  const cards = h("canvas", { width: SIZE.width * 2, height: SIZE.height * 2 });
  /** @type {import("./canvas.js").Scene | null} */
  let scene = null;
  const draw = () => {
    element.hidden = canvas().isWhole;
    if (element.hidden) return;
    if (scene !== canvas().scene) drawCards(cards, canvas().scene, transform(), getComputedStyle(element));
    scene = canvas().scene;
    drawSight(element, cards, canvas().box, transform());
  };
  /** @param {PointerEvent} event */
  const move = (event) => {
    if (!(event.buttons & 1)) return;
    const { left, top } = element.getBoundingClientRect();
    const { scale, x, y } = transform();
    const { width, height } = canvas().size;
    const sight = canvas().sight;
    const at = { x: (event.clientX - left - x) / scale, y: (event.clientY - top - y) / scale };
    canvas().setSight({ ...sight, x: at.x - width / sight.scale / 2, y: at.y - height / sight.scale / 2 });
  };
  element.addEventListener("pointerdown", move);
  element.addEventListener("pointermove", move);
  return { element, draw };
}

/** @typedef {{scale: number, x: number, y: number}} Transform */

/**
 * @param {HTMLCanvasElement} element
 * @param {import("./canvas.js").Scene} scene
 * @param {Transform} transform
 * @param {CSSStyleDeclaration} style
 */
function drawCards(element, scene, { scale, x, y }, style) {
  const context = element.getContext("2d");
  if (!context) return;
  const colours = Object.fromEntries(["--accent", "--dim", "--line", "--bad"].map((name) => [name, style.getPropertyValue(name)]));
  context.setTransform(2, 0, 0, 2, 0, 0);
  context.clearRect(0, 0, SIZE.width, SIZE.height);
  for (const { content, x: left, y: top, height } of scene.cards.values()) {
    const colour = content.isStart ? "--accent" : content.card.node?.isData === false ? "--dim" : "--line";
    context.fillStyle = colours[content.card.node && isFailed(content.card.node) ? "--bad" : colour];
    context.fillRect(left * scale + x, top * scale + y, Math.max(2, CARD_WIDTH * scale), Math.max(1.5, height * scale));
  }
}

/**
 * @param {HTMLCanvasElement} element
 * @param {HTMLCanvasElement} cards
 * @param {import("./geometry.js").Box} box
 * @param {Transform} transform
 */
function drawSight(element, cards, box, { scale, x, y }) {
  const context = element.getContext("2d");
  if (!context) return;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, element.width, element.height);
  context.drawImage(cards, 0, 0);
  context.setTransform(2, 0, 0, 2, 0, 0);
  context.strokeStyle = getComputedStyle(element).getPropertyValue("--accent");
  context.strokeRect(box.left * scale + x, box.top * scale + y, (box.right - box.left) * scale, (box.bottom - box.top) * scale);
}

/** @param {import("./model.js").GraphNode} node */
function isFailed({ facts }) {
  return facts.lastRunState === "FAIL" || facts.state === "FAIL";
}
