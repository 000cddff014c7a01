// Sizes of cards, the columns that a card shows, and the curves of links; shared by the view and the drawing that is saved. Pure.

import { ANCHOR, CARD_WIDTH } from "./layout.js";

/** @typedef {import("./layout.js").Point} Point */
/** @typedef {import("./layout.js").Route} Route */
/** @typedef {{name: string, type: string}} Column */

export const CARD_HEIGHT = 76;
export const ROW_HEIGHT = 22;
export const FILTER_HEIGHT = 34;
/** How many columns a card shows at first. */
export const COLUMNS_SHOWN = 10;

/**
 * The columns of an open card: those shown, in the order of the schema, and how many match but are not shown.
 *
 * @typedef {{rows: Column[], more: number, hasFilter: boolean}} ColumnRows
 */

/**
 * Return which columns of a dataset a card shows: those on the way first, then as many others as there is space for.
 * @param {Column[]} columns
 * @param {{filter: string, most: number, way: ReadonlySet<string>}} options
 * @returns {ColumnRows}
 */
export function columnRows(columns, { filter, most, way }) {
  const text = filter.toLowerCase();
  const matching = columns.filter(({ name }) => way.has(name) || name.toLowerCase().includes(text));
  const needed = matching.filter(({ name }) => way.has(name)).length;
  let free = Math.max(0, most - needed);
  const rows = matching.filter(({ name }) => way.has(name) || free-- > 0);
  return { rows, more: matching.length - rows.length, hasFilter: columns.length > COLUMNS_SHOWN };
}

/**
 * Return the height of a card.
 * @param {ColumnRows | null} open the columns of an open card
 * @returns {number}
 */
export function heightOf(open) {
  if (!open) return CARD_HEIGHT;
  const rows = Math.max(1, open.rows.length) + (open.more ? 1 : 0);
  return CARD_HEIGHT + (open.hasFilter ? FILTER_HEIGHT : 0) + rows * ROW_HEIGHT + 8;
}

/**
 * Return how far below the top of its card the links of a column end; those of a column that is not shown end at the head.
 * @param {ColumnRows | null} open
 * @param {string} column
 * @returns {number}
 */
export function rowAnchor(open, column) {
  const at = open ? open.rows.findIndex(({ name }) => name === column) : -1;
  if (!open || at < 0) return ANCHOR;
  return CARD_HEIGHT + (open.hasFilter ? FILTER_HEIGHT : 0) + at * ROW_HEIGHT + ROW_HEIGHT / 2 + 2;
}

/**
 * Return the path of a link as the `d` of an SVG path.
 * @param {Route} route
 * @returns {string}
 */
export function pathOf({ points, backward }) {
  if (backward) return roundedPath(points);
  const [first, ...rest] = points;
  let [path, before] = [`M${first.x} ${first.y}`, first];
  rest.forEach((point, index) => {
    const isInside = index % 2 === 1 && point.y === before.y;
    const bend = Math.max(24, (point.x - before.x) / 2);
    path += isInside ? `H${point.x}` : `C${before.x + bend} ${before.y} ${point.x - bend} ${point.y} ${point.x} ${point.y}`;
    before = point;
  });
  return path;
}

const CORNER = 12;

/**
 * Return straight lines with round corners.
 * @param {Point[]} points
 */
function roundedPath(points) {
  let path = `M${points[0].x} ${points[0].y}`;
  points.slice(1).forEach((point, index) => {
    const [before, after] = [points[index], points[index + 2]];
    if (!after) path += `L${point.x} ${point.y}`;
    else {
      const [come, leave] = [towards(point, before), towards(point, after)];
      path += `L${come.x} ${come.y}Q${point.x} ${point.y} ${leave.x} ${leave.y}`;
    }
  });
  return path;
}

/**
 * @param {Point} from
 * @param {Point} to
 * @returns {Point} the point on the way at which a corner ends
 */
function towards(from, to) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const part = Math.min(CORNER, length / 2) / length;
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

/**
 * Return a route whose ends are moved up or down, as those of the link of a column are.
 * @param {Route} route
 * @param {number} start by how much
 * @param {number} end
 * @returns {Route}
 */
export function movedEnds({ points, backward }, start, end) {
  // The first two and the last two points of a backward link are at the heights of its ends.
  const ends = backward ? 2 : 1;
  const moved = points.map((point, index) => {
    if (index < ends) return { x: point.x, y: point.y + start };
    return index >= points.length - ends ? { x: point.x, y: point.y + end } : point;
  });
  return { points: moved, backward };
}

/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */

/**
 * Return the box around all cards.
 * @param {Iterable<{x: number, y: number, height: number}>} cards
 * @returns {Box}
 */
export function boxOf(cards) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { x, y, height } of cards) {
    box.left = Math.min(box.left, x);
    box.top = Math.min(box.top, y);
    box.right = Math.max(box.right, x + CARD_WIDTH);
    box.bottom = Math.max(box.bottom, y + height);
  }
  return box.left === Infinity ? { left: 0, top: 0, right: CARD_WIDTH, bottom: CARD_HEIGHT } : box;
}

/**
 * Return the box of a route.
 * @param {Route} route
 * @returns {Box}
 */
export function boxOfRoute({ points }) {
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
}

/**
 * Return whether two boxes have a part in common.
 * @param {Box} one
 * @param {Box} other
 * @returns {boolean}
 */
export function overlap(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

const MARGIN = 36;

/** @typedef {{x: number, y: number, scale: number}} Sight the point of the graph at the top left corner, and the scale */

export const LEAST_SCALE = 0.05;
export const MOST_SCALE = 2;

/**
 * Return the sight in which a box fills a view; small graphs are not enlarged.
 * @param {Box} box
 * @param {{width: number, height: number}} view
 * @param {number} [least] the smallest scale
 * @returns {Sight}
 */
export function fitted(box, view, least = LEAST_SCALE) {
  const margin = MARGIN;
  const [width, height] = [box.right - box.left + 2 * margin, box.bottom - box.top + 2 * margin];
  const scale = Math.max(least, Math.min(1, view.width / width, view.height / height));
  const x = (box.left + box.right) / 2 - view.width / scale / 2;
  const y = (box.top + box.bottom) / 2 - view.height / scale / 2;
  return { x, y, scale };
}

/**
 * Return the sight at a scale in which a point is as near to the middle as it can be without empty space beyond the box.
 * @param {Point} point
 * @param {Box} box
 * @param {{width: number, height: number}} view
 * @param {number} scale
 * @returns {Sight}
 */
export function sightAround(point, box, view, scale) {
  const x = within(point.x, box.left - MARGIN, box.right + MARGIN, view.width / scale);
  return { x, y: within(point.y, box.top - MARGIN, box.bottom + MARGIN, view.height / scale), scale };
}

/**
 * @param {number} middle
 * @param {number} least
 * @param {number} most
 * @param {number} size
 */
function within(middle, least, most, size) {
  if (most - least <= size) return (least + most - size) / 2;
  return Math.min(most - size, Math.max(least, middle - size / 2));
}

/**
 * Return the sight after zooming so that a point of the view shows the same point of the graph.
 * @param {Sight} sight
 * @param {number} factor
 * @param {Point} at in the view
 * @returns {Sight}
 */
export function zoomed({ x, y, scale }, factor, at) {
  const next = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, scale * factor));
  return { x: x + at.x / scale - at.x / next, y: y + at.y / scale - at.y / next, scale: next };
}

/**
 * Return the card to which an arrow key leads: along a link to the nearest neighbour, or up and down in a column.
 * @param {"ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown"} key
 * @param {string} from
 * @param {Record<string, {x: number, y: number, column: number}>} places
 * @param {{from: string, to: string}[]} links
 * @returns {string | null}
 */
export function cardTowards(key, from, places, links) {
  const here = places[from];
  if (!here) return null;
  /** @type {string[]} */
  let found;
  if (key === "ArrowRight") found = links.flatMap((link) => (link.from === from ? [link.to] : []));
  else if (key === "ArrowLeft") found = links.flatMap((link) => (link.to === from ? [link.from] : []));
  else found = Object.keys(places).filter((id) => places[id].column === here.column && (key === "ArrowDown" ? places[id].y > here.y : places[id].y < here.y));
  const sorted = found.filter((id) => id !== from && places[id]).sort((a, b) => Math.abs(places[a].y - here.y) - Math.abs(places[b].y - here.y) || (a < b ? -1 : 1));
  return sorted[0] ?? null;
}
