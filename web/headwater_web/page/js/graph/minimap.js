// A small picture of the whole graph, in which the part in sight is framed; a click moves the sight there.

import { h } from "../dom.js";
import { boxOf } from "./geometry.js";
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
    const box = boxOf(canvas().scene.cards.values());
    const scale = Math.min((SIZE.width - 12) / (box.right - box.left), (SIZE.height - 12) / (box.bottom - box.top), 0.3);
    const x = (SIZE.width - (box.right - box.left) * scale) / 2 - box.left * scale;
    return { scale, x, y: (SIZE.height - (box.bottom - box.top) * scale) / 2 - box.top * scale };
  };
  const draw = () => drawMap(element, canvas(), transform());
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

/**
 * @param {HTMLCanvasElement} element
 * @param {Canvas} canvas
 * @param {{scale: number, x: number, y: number}} transform
 */
function drawMap(element, canvas, { scale, x, y }) {
  const context = element.getContext("2d");
  element.hidden = canvas.isWhole;
  if (!context || element.hidden) return;
  const style = getComputedStyle(element);
  context.setTransform(2, 0, 0, 2, 0, 0);
  context.clearRect(0, 0, SIZE.width, SIZE.height);
  for (const { content, x: left, y: top, height } of canvas.scene.cards.values()) {
    const colour = content.isStart ? "--accent" : content.card.node?.isData === false ? "--dim" : "--line";
    context.fillStyle = style.getPropertyValue(content.card.node && isFailed(content.card.node) ? "--bad" : colour);
    context.fillRect(left * scale + x, top * scale + y, Math.max(2, CARD_WIDTH * scale), Math.max(1.5, height * scale));
  }
  const { box } = canvas;
  context.strokeStyle = style.getPropertyValue("--accent");
  context.strokeRect(box.left * scale + x, box.top * scale + y, (box.right - box.left) * scale, (box.bottom - box.top) * scale);
}

/** @param {import("./model.js").GraphNode} node */
function isFailed({ facts }) {
  return facts.lastRunState === "FAIL" || facts.state === "FAIL";
}
