// The graph as one SVG file that needs nothing else: its colours and fonts are in it. Pure.

import { formatTime, shortened, splitName } from "../format.js";
import { boxOf, CARD_HEIGHT, FILTER_HEIGHT, ROW_HEIGHT } from "../graph/geometry.js";
import { CARD_WIDTH } from "../graph/layout.js";
import { appearancesOf, timeOf } from "../graph/card.js";

/** @typedef {import("../graph/canvas.js").Scene} Scene */
/** @typedef {import("../graph/canvas.js").SceneCard} SceneCard */
/** @typedef {Record<string, string>} Colours the values of the variables of the style, as `--fg` */

const MARGIN = 40;

/**
 * Return the text of an SVG file.
 * @param {Scene} scene
 * @param {Colours} colours
 * @param {string} title
 * @returns {string}
 */
export function svgOf(scene, colours, title) {
  const box = boxOf(scene.cards.values());
  for (const { box: link } of scene.links) box.bottom = Math.max(box.bottom, link.bottom);
  const [x, y, width, height] = [box.left - MARGIN, box.top - MARGIN, box.right - box.left + 2 * MARGIN, box.bottom - box.top + 2 * MARGIN];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${x} ${y} ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escaped(title)}</title>`,
    `<style>text{font-family:system-ui,"Segoe UI","DejaVu Sans",sans-serif;fill:${colours["--fg"]}}.dim{fill:${colours["--dim"]}}</style>`,
    `<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0.5L7.5 4L0 7.5z" fill="${colours["--dim"]}"/></marker></defs>`,
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${colours["--bg"]}"/>`,
    ...scene.frames.map((frame) => frameText(frame, colours)),
    ...scene.links.map((link) => linkText(link, colours)),
    ...[...scene.cards.values()].map((card) => cardText(card, colours)),
    "</svg>\n",
  ].join("\n");
}

/**
 * Return a text that XML can hold.
 * @param {string} text
 * @returns {string}
 */
export function escaped(text) {
  /** @type {Record<string, string>} */
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd").replace(/[&<>"]/g, (sign) => entities[sign]);
}

/**
 * @param {Scene["frames"][number]} frame
 * @param {Colours} colours
 */
function frameText({ name, x, y, width, height }, colours) {
  const rectangle = `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="none" stroke="${colours["--dim"]}" stroke-dasharray="4 3"/>`;
  return `${rectangle}<text class="dim" x="${x + 8}" y="${y + 15}" font-size="11">${escaped(shortened(name[1] ?? "", 36))}</text>`;
}

/**
 * @param {Scene["links"][number]} link
 * @param {Colours} colours
 */
function linkText({ d, className }, colours) {
  const isWay = className.includes("link-way");
  const isDashed = /link-alias|link-through|is-indirect|is-past|is-backward/.test(className);
  const opacity = className.includes("is-faded") ? 0.25 : 1;
  const dash = isDashed ? ' stroke-dasharray="5 4"' : "";
  return `<path d="${d}" fill="none" stroke="${colours[isWay ? "--accent" : "--dim"]}" stroke-width="${isWay ? 2 : 1.3}" opacity="${opacity}"${dash} marker-end="url(#arrow)"/>`;
}

/**
 * @param {SceneCard} card
 * @param {Colours} colours
 */
function cardText({ content, x, y, height }, colours) {
  const { node } = content.card;
  const name = node ? splitName(node.name) : splitName(content.frameName[1] ?? "");
  const where = node ? `${node.isData ? "▤" : "ƒ"} ${node.namespace} ${name.rest}` : `⧉ ${content.frameName[0] ?? ""}`;
  const tail = node ? name.tail || node.name : `${name.tail} (${content.members.length} jobs)`;
  const stroke = content.isStart ? colours["--accent"] : colours["--line"];
  const lines = [
    `<rect width="${CARD_WIDTH}" height="${height}" rx="${node?.isData ? 4 : 14}" fill="${colours["--card"]}" stroke="${stroke}" stroke-width="${content.isStart ? 2 : 1}"/>`,
    `<text class="dim" x="12" y="20" font-size="11">${escaped(shortened(where, 38))}</text>`,
    `<text x="12" y="42" font-size="15" font-weight="600">${escaped(shortened(tail, 26))}</text>`,
    node ? factText(node, colours) : "",
    ...rowTexts(content, colours),
  ];
  return `<g transform="translate(${x} ${y})" opacity="${content.isFaded ? 0.35 : 1}">${lines.join("")}</g>`;
}

/**
 * @param {import("../graph/model.js").GraphNode} node
 * @param {Colours} colours
 */
function factText(node, colours) {
  const texts = appearancesOf(node).slice(0, 2).map(({ shape, text, className }) => `<tspan fill="${colours[`--${className.slice(6)}`] ?? colours["--dim"]}">${escaped(`${shape} ${text}  `)}</tspan>`);
  const time = timeOf(node);
  return `<text class="dim" x="12" y="63" font-size="11">${texts.join("")}${escaped(time ? formatTime(time).slice(0, 16) : "")}</text>`;
}

/**
 * @param {import("../graph/card.js").CardContent} content
 * @param {Colours} colours
 */
function rowTexts({ isOpen, columns, way }, colours) {
  if (!isOpen || !columns) return [];
  const top = CARD_HEIGHT + (columns.hasFilter ? FILTER_HEIGHT : 0);
  return columns.rows.map(({ name, type }, at) => {
    const isOn = way.has(name) ? ` font-weight="600" style="fill:${colours["--accent"]}"` : "";
    const y = top + at * ROW_HEIGHT + 17;
    return `<text x="12" y="${y}" font-size="12"${isOn}>${escaped(shortened(name, 22))}</text><text class="dim" x="${CARD_WIDTH - 12}" y="${y}" font-size="11" text-anchor="end">${escaped(shortened(type, 14))}</text>`;
  });
}
