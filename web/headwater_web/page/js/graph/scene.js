// The picture of a graph: the content of each card, and after the layout the cards, links and frames with their places. Pure.

import { boxOfRoute, columnRows, COLUMNS_SHOWN, heightOf, movedEnds, pathOf, rowAnchor } from "./geometry.js";
import { ANCHOR, CARD_WIDTH } from "./layout.js";
import { beyond, hasColumns, idOf, neighboursOf } from "./model.js";
import { splitName } from "../format.js";

/** @typedef {import("./model.js").Graph} Graph */
/** @typedef {import("./shown.js").Shown} Shown */
/** @typedef {import("./card.js").CardContent} CardContent */
/** @typedef {import("./canvas.js").Scene} Scene */
/** @typedef {import("./canvas.js").SceneLink} SceneLink */
/** @typedef {import("./columns.js").ColumnWay} ColumnWay */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Route} Route */

/**
 * What the picture needs to know beside the graph.
 *
 * @typedef {object} Knowledge
 * @property {import("./state.js").ViewState} state
 * @property {ReadonlyMap<string, import("./shown.js").JobDetails>} details
 * @property {ReadonlyMap<string, import("./geometry.js").Column[]>} columns by dataset, as far as they were read
 * @property {ReadonlyMap<string, {filter: string, most: number}>} lists how the columns of a card are filtered
 * @property {ColumnWay} way
 * @property {number} now
 * @property {boolean} [isStored] whether the picture is in a file, in which nothing can be requested
 */

const EMPTY = new Set();

/**
 * Return the content of each card that is shown.
 * @param {Graph} graph
 * @param {Shown} shown
 * @param {Knowledge} knowledge
 * @returns {Map<string, CardContent>}
 */
export function contents(graph, shown, knowledge) {
  const { state } = knowledge;
  const open = new Set(state.open.map(idOf));
  const expanded = new Set(state.expanded.map(({ reference, side }) => `${idOf(reference)} ${side}`));
  return new Map(shown.cards.map((card) => [card.id, contentOf(graph, card, { ...knowledge, open, expanded })]));
}

/**
 * @param {Graph} graph
 * @param {import("./shown.js").ShownCard} card
 * @param {Knowledge & {open: Set<string>, expanded: Set<string>}} knowledge
 */
function contentOf(graph, card, { state, details, columns, lists, way, now, open, expanded, isStored = false }) {
  const { id } = card;
  const onWay = way.columns.get(id) ?? EMPTY;
  const isOpen = hasColumns(card.node) && (open.has(id) || onWay.size > 0);
  const known = columns.get(id);
  const isLoading = open.has(id) && !known;
  const all = open.has(id) ? withNames(known ?? [], onWay) : [...onWay].map((name) => ({ name, type: "" }));
  const { filter, most } = lists.get(id) ?? { filter: "", most: COLUMNS_SHOWN };
  const hasWay = way.columns.size > 0;
  return {
    card,
    isStart: id === graph.start,
    isFaded: hasWay && !onWay.size && !card.members.some((member) => way.jobs.has(member)),
    upstream: beyond(graph, id, "upstream"),
    downstream: beyond(graph, id, "downstream"),
    canFoldUpstream: expanded.has(`${id} upstream`) && neighboursOf(graph, id, "upstream").size > 0,
    canFoldDownstream: expanded.has(`${id} downstream`) && neighboursOf(graph, id, "downstream").size > 0,
    seconds: details.get(id)?.seconds ?? secondsOf(card.node),
    tags: details.get(id)?.tags ?? [],
    frameName: card.frame ? JSON.parse(card.frame) : [],
    members: card.members.flatMap((member) => graph.nodes.get(member) ?? []),
    isOpen: isOpen || isLoading,
    columns: isLoading ? null : columnRows(all, { filter, most, way: onWay }),
    columnCount: known?.length ?? 0,
    filter,
    way: onWay,
    selected: state.column && idOf(state.column.dataset) === id ? state.column.column : "",
    now,
    isStored,
  };
}

/**
 * @param {import("./model.js").GraphNode | null} node
 * @returns {number | null} how long a run took
 */
function secondsOf(node) {
  if (node?.kind !== "run" || !node.facts.startedAt || !node.facts.endedAt) return null;
  return (Date.parse(node.facts.endedAt) - Date.parse(node.facts.startedAt)) / 1000;
}

/**
 * @param {import("./geometry.js").Column[]} columns
 * @param {ReadonlySet<string>} names
 */
function withNames(columns, names) {
  const known = new Set(columns.map(({ name }) => name));
  return [...columns, ...[...names].filter((name) => !known.has(name)).map((name) => ({ name, type: "" }))];
}

/**
 * Return what the layout needs of the cards.
 * @param {Map<string, CardContent>} found
 * @returns {import("./layout.js").Card[]}
 */
export function layoutCards(found) {
  return [...found.values()].map(({ card, isOpen, columns }) => {
    const height = isOpen ? heightOf(columns ?? { rows: [], more: 0, hasFilter: false }) : heightOf(null);
    return card.node && card.frame ? { id: card.id, height, frame: card.frame } : { id: card.id, height };
  });
}

/**
 * Return the picture.
 * @param {Shown} shown
 * @param {Map<string, CardContent>} found
 * @param {Layout} layout
 * @param {ColumnWay} way
 * @returns {Scene}
 */
export function sceneOf(shown, found, layout, way) {
  const heights = new Map(layoutCards(found).map(({ id, height }) => [id, height]));
  const cards = new Map([...found].map(([id, content]) => {
    const { x, y } = layout.places[id];
    return [id, { content, x, y, height: heights.get(id) ?? 0 }];
  }));
  const frames = layout.frames.map(({ frame, ...rectangle }) => ({ key: frame, name: JSON.parse(frame), ...rectangle }));
  const hasWay = way.columns.size > 0;
  const links = shown.links.map((link, index) => linkOf(link, layout.routes[index], hasWay, found));
  return { cards, links: hasWay ? [...links, ...wayLinks(shown, found, layout, way)] : links, frames };
}

/**
 * @param {import("./shown.js").ShownLink} link
 * @param {Route} route
 * @param {boolean} isFaded
 * @param {Map<string, CardContent>} found
 */
function linkOf({ from, to, kind, past, through }, route, isFaded, found) {
  const classes = [`link-${kind}`, past && "is-past", isFaded && "is-faded", route.backward && "is-backward"];
  const via = through.length ? `, through ${through.length} hidden` : "";
  const title = `${nameOf(found.get(from))} → ${nameOf(found.get(to))}${past ? ", no longer" : ""}${kind === "alias" ? ", alias" : via}`;
  return { d: pathOf(route), className: classes.filter(Boolean).join(" "), title, box: boxOfRoute(route) };
}

/** @param {CardContent | undefined} content */
function nameOf(content) {
  return splitName(content?.card.node?.name ?? content?.frameName[1] ?? "").tail;
}

/**
 * Return the links of a column's way: from row to row, through the head of the job between.
 * @param {Shown} shown
 * @param {Map<string, CardContent>} found
 * @param {Layout} layout
 * @param {ColumnWay} way
 */
function wayLinks(shown, found, layout, way) {
  const routes = new Map(shown.links.map(({ from, to }, index) => [`${from} ${to}`, layout.routes[index]]));
  const cardOf = new Map(shown.cards.flatMap(({ id, members }) => members.map((member) => [member, id])));
  /** @type {Map<string, SceneLink>} */
  const links = new Map();
  /** @param {string} id @param {string} column */
  const shift = (id, column) => (column && found.get(id)?.isOpen ? rowAnchor(found.get(id)?.columns ?? null, column) - ANCHOR : 0);
  /** @type {(from: string, fromColumn: string, to: string, toColumn: string, className: string, title: string) => void} */
  const add = (from, fromColumn, to, toColumn, className, title) => {
    const route = routes.get(`${from} ${to}`) ?? straight(layout, from, to);
    if (!route) return;
    const moved = movedEnds(route, shift(from, fromColumn), shift(to, toColumn));
    const d = pathOf(moved);
    const known = links.get(d);
    if (!known || known.className.includes("is-indirect")) links.set(d, { d, className, title, box: boxOfRoute(moved) });
  };
  for (const step of way.steps) {
    const className = ["link-way", step.isIndirect && "is-indirect", step.isGuess && "is-guess", step.kind !== "derives" && "link-alias"].filter(Boolean).join(" ");
    const title = `${step.fromColumn} → ${step.toColumn} ${[step.type, step.subtype].filter(Boolean).join(" ").toLowerCase()}`;
    const via = step.via && cardOf.get(step.via);
    if (!via) add(step.from, step.fromColumn, step.to, step.toColumn, className, title);
    else {
      add(step.from, step.fromColumn, via, "", className, title);
      add(via, "", step.to, step.toColumn, className, title);
    }
  }
  return [...links.values()];
}

/**
 * @param {Layout} layout
 * @param {string} from
 * @param {string} to
 */
function straight(layout, from, to) {
  const [start, end] = [layout.places[from], layout.places[to]];
  if (!start || !end || from === to) return null;
  return { points: [{ x: start.x + CARD_WIDTH, y: start.y + ANCHOR }, { x: end.x, y: end.y + ANCHOR }], backward: false };
}
