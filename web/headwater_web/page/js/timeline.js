// The tree of a run and its children with their times as bars.

import { h } from "./dom.js";
import { formatDuration, formatTime } from "./format.js";
import { nameElement, runLink, runState, shortId, table, timeElement } from "./widgets.js";

/** @typedef {{id: string, job?: string[], state?: string, marks: string[], startedAt?: string, endedAt?: string, lastEventAt?: string, seconds?: number, children?: RunNode[]}} RunNode */
/** @typedef {{run: RunNode, level: number}} Line */

/**
 * Return the runs of a tree from the top, with their depth. Pure.
 * @param {RunNode} run
 * @param {number} [level]
 * @returns {Line[]}
 */
export function flattened(run, level = 0) {
  return [{ run, level }, ...(run.children ?? []).flatMap((child) => flattened(child, level + 1))];
}

/**
 * Return the place of each run on a line of time, in percent of its whole: [start, width], null without a start. Pure.
 * @param {readonly RunNode[]} runs
 * @returns {([number, number] | null)[]}
 */
export function places(runs) {
  const spans = runs.map((run) => {
    const start = run.startedAt ? Date.parse(run.startedAt) : Number.NaN;
    return [start, start + (run.seconds ?? 0) * 1000];
  });
  const known = spans.filter(([start]) => !Number.isNaN(start));
  const first = Math.min(...known.map(([start]) => start));
  const length = Math.max(...known.map(([, end]) => end)) - first;
  return spans.map(([start, end]) => {
    if (Number.isNaN(start)) return null;
    return length > 0 ? [(100 * (start - first)) / length, (100 * (end - start)) / length] : [0, 100];
  });
}

/**
 * Return a table of a run and its children.
 * @param {RunNode} top
 * @param {string} shown the id of the run that the view is about
 */
export function timeline(top, shown) {
  const lines = flattened(top);
  const at = places(lines.map(({ run }) => run));
  const rows = lines.map(({ run, level }, index) => [
    nameCell(run, level, shown),
    runState(run),
    timeElement(run.startedAt),
    formatDuration(run.seconds),
    bar(run, at[index]),
  ]);
  const element = table("Runs", ["Run", "State", "Started", "#Duration", "Time"], rows);
  element.classList.add("timeline");
  return element;
}

/**
 * @param {RunNode} run
 * @param {number} level
 * @param {string} shown
 */
function nameCell(run, level, shown) {
  const name = run.job ? nameElement(run.job[1], 60) : h("bdi", { class: "mono" }, shortId(run.id));
  const link = run.id === shown ? h("span", { class: "current", "aria-current": "true" }, name) : runLink(run.id, name);
  return h("span", { class: "tree-name", style: { "--level": String(Math.min(level, 12)) } }, level > 0 && h("span", { class: "visually-hidden" }, `level ${level}: `), link);
}

/**
 * @param {RunNode} run
 * @param {[number, number] | null} place
 */
function bar(run, place) {
  if (place === null) return h("span", { class: "dim" }, "–");
  const [start, width] = place;
  const title = `${formatTime(run.startedAt)} to ${formatTime(run.endedAt) || "now"} UTC`;
  const state = run.state === "FAIL" ? "bad" : run.state === "COMPLETE" ? "ok" : run.state === "ABORT" ? "warn" : "run";
  const style = { "inset-inline-start": `${start}%`, inlineSize: "", "inline-size": `max(${width}%, 3px)` };
  return h("span", { class: "track", title }, h("span", { class: `bar bar-${state}`, style }));
}
