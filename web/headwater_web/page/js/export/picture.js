// A whole answer as a picture, made without a server: what `headwater lineage --format svg` and `html` draw. Pure.

import { columnWay, NO_WAY } from "../graph/columns.js";
import { layout } from "../graph/layout.js";
import { addAnswer, addWay, emptyGraph, idOf, nodeOf } from "../graph/model.js";
import { contents, layoutCards, sceneOf } from "../graph/scene.js";
import { NO_FILTERS, shownOf } from "../graph/shown.js";
import { stateOfParams } from "../graph/state.js";
import { counted } from "../format.js";
import { svgOf } from "./svg.js";

/** @typedef {import("../graph/model.js").Graph} Graph */

/**
 * @typedef {object} Picture
 * @property {Graph} graph
 * @property {import("../graph/shown.js").Shown} shown
 * @property {import("../graph/canvas.js").Scene} scene
 * @property {import("../graph/layout.js").Layout["places"]} places
 * @property {string} title
 * @property {string[]} notes
 */

/**
 * Return the picture of an answer.
 * @param {any} answer as `headwater lineage --json` prints it, about datasets and jobs, about columns, or about runs
 * @param {number} now milliseconds since 1970, from which ages count
 * @returns {Picture}
 */
export function pictureOf(answer, now) {
  const isOfColumns = answer.start[0]?.[0] === "column";
  const way = isOfColumns ? columnWay([answer], { indirect: true }) : NO_WAY;
  const graph = isOfColumns ? graphOfWay(answer, way) : graphOf(answer);
  const [none, details] = [new Map(), new Map()];
  const shown = shownOf(graph, { filters: NO_FILTERS, folded: new Set(), details });
  const knowledge = { state: stateOfParams({}), details, columns: none, lists: none, way, now, isStored: true };
  const found = contents(graph, shown, knowledge);
  const links = shown.links.map(({ from, to }) => ({ from, to }));
  const placed = layout({ cards: layoutCards(found), links });
  return { graph, shown, scene: sceneOf(shown, found, placed, way), places: placed.places, title: titleOf(answer), notes: [...graph.notes, ...way.notes] };
}

/**
 * Return the picture of an answer as an SVG file.
 * @param {any} answer
 * @param {import("./svg.js").Colours} colours
 * @returns {string}
 */
export function svgFile(answer, colours) {
  const { scene, title } = pictureOf(answer, 0);
  return svgOf(scene, colours, title);
}

/** @param {any} answer */
function graphOf(answer) {
  const graph = emptyGraph(idOf(answer.start[0] ?? []));
  const { direction } = answer.question;
  /** @type {import("../graph/model.js").Direction[]} */
  const sides = direction === "upstream" || direction === "downstream" ? [direction] : ["upstream", "downstream"];
  for (const side of sides) addAnswer(graph, answer, side);
  return graph;
}

/**
 * @param {any} answer
 * @param {import("../graph/columns.js").ColumnWay} way
 */
function graphOfWay(answer, way) {
  const [, ...dataset] = answer.start[0];
  const start = nodeOf({ node: ["dataset", ...dataset.slice(0, 2)] });
  const graph = emptyGraph(start.id);
  graph.nodes.set(start.id, start);
  addWay(graph, way.steps);
  for (const note of answer.notes) graph.notes.add(note);
  return graph;
}

/** @param {any} answer */
function titleOf({ question, start }) {
  const [kind, ...name] = start[0] ?? ["nothing"];
  const direction = question.direction === "upstream" || question.direction === "downstream" ? `${question.direction} of ` : "of ";
  const more = start.length > 1 ? ` and ${counted(start.length - 1, "more", "more")}` : "";
  return `Lineage ${direction}${kind} ${name.join(" ")}${more}`;
}
