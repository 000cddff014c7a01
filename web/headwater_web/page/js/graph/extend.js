// A layout with more cards: those that have a place stay there, and the new ones are placed in free space.

import { spread } from "./rows.js";

/** @typedef {import("./layout.js").Size} Size */
/** @typedef {{column: number, home: number, y: number}} Row the column of a card, the anchor that it returns to, and its anchor */

/**
 * Return the place of each card; `null` in `fixed` marks a new one.
 * @param {Size[]} sizes with the space around the cards
 * @param {import("./layers.js").Pair[]} links
 * @param {({column: number, home: number} | null)[]} fixed
 * @returns {Row[]}
 */
export function extended(sizes, links, fixed) {
  /** @type {(Row | null)[]} */
  const rows = fixed.map((place) => place && { ...place, y: place.home });
  pushApart(rows, sizes);
  const around = neighbours(sizes.length, links);
  for (let waiting = missing(rows); waiting.length; waiting = missing(rows)) {
    const near = waiting.filter((card) => around[card].some(({ other }) => rows[other]));
    placeNew(near.length ? near : [waiting[0]], rows, sizes, around);
  }
  return /** @type {Row[]} */ (rows);
}

/** @typedef {{other: number, step: 1 | -1}} Neighbour `step` is 1 if the other is a source: the card belongs to its right */

/**
 * @param {number} count
 * @param {import("./layers.js").Pair[]} links
 */
function neighbours(count, links) {
  /** @type {Neighbour[][]} */
  const around = Array.from({ length: count }, () => []);
  for (const [from, to] of links) {
    around[to].push({ other: from, step: 1 });
    around[from].push({ other: to, step: -1 });
  }
  return around;
}

/** @param {(Row | null)[]} rows */
function missing(rows) {
  return Array.from(rows.keys()).filter((card) => !rows[card]);
}

/**
 * Move cards down that a card above them has grown into.
 * @param {(Row | null)[]} rows
 * @param {Size[]} sizes
 */
function pushApart(rows, sizes) {
  for (const cards of byColumn(rows).values()) {
    let free = -Infinity;
    for (const card of cards) {
      const row = /** @type {Row} */ (rows[card]);
      row.y = Math.max(row.home, free + sizes[card].above);
      free = row.y + sizes[card].below;
    }
  }
}

/**
 * Return the placed cards of each column from top to bottom.
 * @param {(Row | null)[]} rows
 */
function byColumn(rows) {
  /** @type {Map<number, number[]>} */
  const columns = new Map();
  rows.forEach((row, card) => {
    if (row) columns.set(row.column, [...(columns.get(row.column) ?? []), card]);
  });
  for (const cards of columns.values()) cards.sort((a, b) => Number(rows[a]?.home) - Number(rows[b]?.home) || a - b);
  return columns;
}

/**
 * Place cards that have a neighbour with a place: one column further, near the mean height of these.
 * @param {number[]} cards
 * @param {(Row | null)[]} rows
 * @param {Size[]} sizes
 * @param {Neighbour[][]} around
 */
function placeNew(cards, rows, sizes, around) {
  /** @type {Map<number, {card: number, ideal: number}[]>} */
  const columns = new Map();
  for (const card of cards) {
    const column = columnOf(around[card], rows);
    const near = around[card].flatMap(({ other }) => rows[other]?.y ?? []);
    const ideal = near.reduce((sum, y) => sum + y, 0) / Math.max(1, near.length);
    const list = columns.get(column);
    if (list) list.push({ card, ideal });
    else columns.set(column, [{ card, ideal }]);
  }
  for (const [column, wanted] of columns) placeColumn(column, wanted, rows, sizes);
}

/**
 * @param {Neighbour[]} around
 * @param {(Row | null)[]} rows
 * @returns {number} right of all its sources, or left of what it feeds
 */
function columnOf(around, rows) {
  let [after, before] = [-Infinity, Infinity];
  for (const { other, step } of around) {
    const row = rows[other];
    if (row && step > 0) after = Math.max(after, row.column + 1);
    if (row && step < 0) before = Math.min(before, row.column - 1);
  }
  if (after > -Infinity) return after;
  return before < Infinity ? before : 0;
}

/**
 * @param {number} column
 * @param {{card: number, ideal: number}[]} wanted
 * @param {(Row | null)[]} rows
 * @param {Size[]} sizes
 */
function placeColumn(column, wanted, rows, sizes) {
  wanted.sort((a, b) => a.ideal - b.ideal || a.card - b.card);
  const cards = wanted.map(({ card }) => card);
  const extents = { above: Float64Array.from(sizes, (size) => size.above), below: Float64Array.from(sizes, (size) => size.below) };
  const ideals = spread(cards, wanted.map(({ ideal }) => ideal), new Float64Array(cards.length).fill(1), extents);
  const taken = rows.flatMap((row, card) => (row && row.column === column ? [spanOf(row.y, sizes[card])] : []));
  taken.sort((a, b) => a.top - b.top);
  cards.forEach((card, index) => {
    const y = Math.round(nearestFree(taken, ideals[index], sizes[card]));
    const span = spanOf(y, sizes[card]);
    taken.splice(firstBelow(taken, span.top), 0, span);
    rows[card] = { column, home: y, y };
  });
}

/** @typedef {{top: number, bottom: number}} Span */

/**
 * @param {number} y
 * @param {Size} size
 */
function spanOf(y, size) {
  return { top: y - size.above, bottom: y + size.below };
}

/**
 * @param {Span[]} taken sorted
 * @param {number} top
 * @returns {number} the number of spans that begin above
 */
function firstBelow(taken, top) {
  let [low, high] = [0, taken.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (taken[middle].top < top) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Return the anchor nearest to `ideal` at which a card overlaps nothing.
 * @param {Span[]} taken sorted, without overlap
 * @param {number} ideal
 * @param {Size} size
 * @returns {number}
 */
export function nearestFree(taken, ideal, size) {
  const height = size.above + size.below;
  const wanted = ideal - size.above;
  const start = firstBelow(taken, wanted);
  let below = wanted;
  for (let at = Math.max(0, start - 1); at < taken.length && taken[at].top < below + height; at++) below = Math.max(below, taken[at].bottom);
  let above = wanted;
  for (let at = Math.min(taken.length - 1, start); at >= 0; at--) {
    if (taken[at].top >= above + height) continue;
    if (taken[at].bottom <= above) break;
    above = taken[at].top - height;
  }
  return (below - wanted <= wanted - above ? below : above) + size.above;
}
