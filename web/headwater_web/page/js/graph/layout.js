// Where the cards of the graph are, how its links run between them, and the frames around groups of cards.
//
// The layout is layered: data flows from left to right. It is pure and deterministic, and its work is bounded by counted
// steps, not by time. Given the places of an earlier layout, what has a place stays there.

import { layered } from "./crossings.js";
import { extended, nearestFree } from "./extend.js";
import { columns, reversedEdges } from "./layers.js";
import { BUDGET, ordered } from "./order.js";
import { anchors } from "./rows.js";

/** @typedef {import("./extend.js").Span} Span */
/** @typedef {import("./extend.js").Row} Row */
/** @typedef {import("./layers.js").Pair} Pair */

/**
 * @typedef {object} Card
 * @property {string} id
 * @property {number} height
 * @property {string} [frame] cards of one frame are kept together in their column
 *
 * @typedef {{from: string, to: string}} Link
 * @typedef {{column: number, home: number}} Home where a card was: `home` is the height of its anchor
 * @typedef {{x: number, y: number, column: number, home: number}} Place the top left corner of a card
 * @typedef {{x: number, y: number}} Point
 * @typedef {{points: Point[], backward: boolean}} Route backward links run around the cards between, to the left
 * @typedef {{frame: string, x: number, y: number, width: number, height: number}} Frame
 * @typedef {{above: number, below: number}} Size what a card needs above and below its anchor
 *
 * @typedef {object} Layout
 * @property {Record<string, Place>} places
 * @property {Route[]} routes one for each link, in their order
 * @property {Frame[]} frames one for each column in which a frame has cards beside one another
 */

export const CARD_WIDTH = 228;
export const COLUMN_GAP = 66;
export const ROW_GAP = 18;
/** How far below the top of a card its links end. */
export const ANCHOR = 38;
const LANE = 8;
const FRAME_SPACE = { above: 26, below: 8 };

/**
 * Return the layout of cards and links.
 * @param {{cards: Card[], links: Link[], previous?: Record<string, Home>, budget?: number}} input `previous` has the places
 *   of an earlier layout; links to unknown cards are an error
 * @returns {Layout}
 */
export function layout({ cards, links, previous = {}, budget = BUDGET }) {
  const numbers = new Map(cards.map((card, index) => [card.id, index]));
  const pairs = links.map((link) => pairOf(link, numbers));
  const known = cards.some((card) => previous[card.id]);
  const rows = known ? extendedRows(cards, pairs, previous) : freshRows(cards, pairs, budget);
  /** @type {Record<string, Place>} */
  const places = {};
  cards.forEach((card, index) => {
    const { column, home, y } = rows.rows[index];
    places[card.id] = { x: column * (CARD_WIDTH + COLUMN_GAP), y: y - ANCHOR, column, home };
  });
  const taken = takenByColumn(rows.rows, cards.map(({ height }) => ({ above: ANCHOR, below: height - ANCHOR })));
  return { places, routes: pairs.map((pair, index) => route(pair, rows.rows, rows.bends[index], taken)), frames: frames(cards, places) };
}

/**
 * @param {Link} link
 * @param {Map<string, number>} numbers
 * @returns {Pair}
 */
function pairOf(link, numbers) {
  const [from, to] = [numbers.get(link.from), numbers.get(link.to)];
  if (from === undefined || to === undefined) throw new Error(`a link without a card: ${link.from} → ${link.to}`);
  return [from, to];
}

/** @typedef {{rows: Row[], bends: {column: number, y: number}[][]}} Rows */

/**
 * @param {Card[]} cards
 * @param {Pair[]} pairs
 * @param {number} budget
 */
function freshRows(cards, pairs, budget) {
  const back = reversedEdges(cards.length, pairs);
  const forward = pairs.filter((_, index) => !back[index]);
  const graph = layered(columns(cards.length, forward), forward, groupNumbers(cards));
  const order = ordered(graph, budget);
  const y = anchors(graph, order, extentsOf(graph, order, cards));
  const rows = cards.map((_, node) => ({ column: graph.columnOf[node], home: y[node], y: y[node] }));
  let next = 0;
  const bends = pairs.map((_, index) => {
    if (back[index]) return [];
    return graph.chains[next++].filter((node) => node >= graph.real).map((node) => ({ column: graph.columnOf[node], y: y[node] }));
  });
  return { rows, bends };
}

/**
 * @param {Card[]} cards
 * @returns {Int32Array} -1 for cards without a frame
 */
function groupNumbers(cards) {
  const names = [...new Set(cards.flatMap((card) => card.frame ?? []))];
  const numbers = new Map(names.map((name, index) => [name, index]));
  return Int32Array.from(cards, (card) => numbers.get(card.frame ?? "") ?? -1);
}

/**
 * @param {import("./crossings.js").Layered} graph
 * @param {number[][]} order
 * @param {Card[]} cards
 */
function extentsOf(graph, order, cards) {
  const above = new Float64Array(graph.count).fill(LANE);
  const below = new Float64Array(graph.count).fill(LANE);
  cards.forEach((card, node) => {
    above[node] = ANCHOR + ROW_GAP / 2;
    below[node] = card.height - ANCHOR + ROW_GAP / 2;
  });
  for (const column of order) {
    column.forEach((node, at) => {
      if (graph.group[node] < 0) return;
      if (graph.group[column[at - 1]] !== graph.group[node]) above[node] += FRAME_SPACE.above;
      if (graph.group[column[at + 1]] !== graph.group[node]) below[node] += FRAME_SPACE.below;
    });
  }
  return { above, below };
}

/**
 * @param {Card[]} cards
 * @param {Pair[]} pairs
 * @param {Record<string, Home>} previous
 */
function extendedRows(cards, pairs, previous) {
  const sizes = cards.map((card) => ({
    above: ANCHOR + ROW_GAP / 2 + (card.frame ? FRAME_SPACE.above : 0),
    below: card.height - ANCHOR + ROW_GAP / 2 + (card.frame ? FRAME_SPACE.below : 0),
  }));
  const rows = extended(sizes, pairs, cards.map((card) => previous[card.id] ?? null));
  const taken = takenByColumn(rows, sizes);
  return { rows, bends: pairs.map((pair) => bendsBetween(pair, rows, taken)) };
}

/**
 * @param {Row[]} rows
 * @param {Size[]} sizes
 */
function takenByColumn(rows, sizes) {
  /** @type {Map<number, Span[]>} */
  const taken = new Map();
  rows.forEach((row, card) => {
    const span = { top: row.y - sizes[card].above, bottom: row.y + sizes[card].below };
    const spans = taken.get(row.column);
    if (spans) spans.push(span);
    else taken.set(row.column, [span]);
  });
  for (const spans of taken.values()) spans.sort((a, b) => a.top - b.top);
  return taken;
}

/**
 * Return where a link passes the columns between its cards: in the free space nearest to the straight line.
 * @param {Pair} pair
 * @param {Row[]} rows
 * @param {Map<number, Span[]>} taken the spans of the cards of each column
 */
function bendsBetween([from, to], rows, taken) {
  const [start, end] = [rows[from], rows[to]];
  const bends = [];
  for (let column = start.column + 1; column < end.column; column++) {
    const part = (column - start.column) / (end.column - start.column);
    const straight = start.y + (end.y - start.y) * part;
    bends.push({ column, y: Math.round(nearestFree(taken.get(column) ?? [], straight, { above: 0, below: 0 })) });
  }
  return bends;
}

/**
 * @param {Pair} pair
 * @param {Row[]} rows
 * @param {{column: number, y: number}[]} bends
 * @param {Map<number, Span[]>} taken
 */
function route([from, to], rows, bends, taken) {
  const [start, end] = [rows[from], rows[to]];
  const step = CARD_WIDTH + COLUMN_GAP;
  if (end.column <= start.column) return { points: around(start, end, taken), backward: true };
  const inner = bends.flatMap(({ column, y }) => [{ x: column * step, y }, { x: column * step + CARD_WIDTH, y }]);
  const points = [{ x: start.column * step + CARD_WIDTH, y: start.y }, ...inner, { x: end.column * step, y: end.y }];
  return { points, backward: false };
}

const CLEARANCE = 14;
const SIDE = 24;

/**
 * Return the way of a backward link: out to the right, past the cards of all columns between, and in from the left.
 * @param {Row} start
 * @param {Row} end
 * @param {Map<number, Span[]>} taken
 */
function around(start, end, taken) {
  /** @type {Span[]} */
  const merged = [];
  const between = [...taken].flatMap(([column, spans]) => (column >= end.column && column <= start.column ? spans : []));
  for (const { top, bottom } of between.sort((a, b) => a.top - b.top)) {
    const last = merged.at(-1);
    if (last && top < last.bottom + 2 * CLEARANCE) last.bottom = Math.max(last.bottom, bottom);
    else merged.push({ top, bottom });
  }
  const y = Math.round(nearestFree(merged, (start.y + end.y) / 2, { above: CLEARANCE, below: CLEARANCE }));
  const right = start.column * (CARD_WIDTH + COLUMN_GAP) + CARD_WIDTH;
  const left = end.column * (CARD_WIDTH + COLUMN_GAP);
  const xs = [right, right + SIDE, right + SIDE, left - SIDE, left - SIDE, left];
  const ys = [start.y, start.y, y, y, end.y, end.y];
  return xs.map((x, at) => ({ x, y: ys[at] }));
}

/**
 * Return the frames: in each column, one around the cards of a frame that are beside one another.
 * @param {Card[]} cards
 * @param {Record<string, Place>} places
 */
function frames(cards, places) {
  const sorted = cards.slice().sort((a, b) => places[a.id].column - places[b.id].column || places[a.id].y - places[b.id].y);
  /** @type {Frame[]} */
  const found = [];
  sorted.forEach((card, index) => {
    if (card.frame === undefined) return;
    const { x, y, column } = places[card.id];
    const before = sorted[index - 1];
    const last = found.at(-1);
    const bottom = y + card.height + FRAME_SPACE.below;
    if (last && before?.frame === card.frame && places[before.id].column === column) last.height = bottom - last.y;
    else found.push({ frame: card.frame, x: x - 10, y: y - FRAME_SPACE.above, width: CARD_WIDTH + 20, height: bottom - y + FRAME_SPACE.above });
  });
  return found;
}
