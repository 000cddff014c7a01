// Layouts computed in a worker; the newest request counts, and its answer replaces those still awaited.

import { layout } from "./layout.js";

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {Parameters<typeof layout>[0]} Input */

/** Layouts of fewer cards take less time than a message to the worker. */
const FEW = 40;

/**
 * Return a function that computes layouts; it resolves to null for a request that a newer one has replaced.
 * @param {AbortSignal} signal ends the worker
 * @returns {(input: Input) => Promise<Layout | null>}
 */
export function layouts(signal) {
  /** @type {Worker | null} */
  let worker = null;
  let newest = 0;
  /** @type {Map<number, {resolve(layout: Layout | null): void, reject(fault: Error): void}>} */
  const waiting = new Map();
  signal.addEventListener("abort", () => worker?.terminate());
  const start = () => {
    worker = new Worker(new URL("./layout_worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => {
      const request = waiting.get(data.number);
      waiting.delete(data.number);
      if (data.fault) request?.reject(new Error(data.fault));
      else request?.resolve(data.number === newest ? data.layout : null);
    };
    worker.onerror = (event) => {
      for (const { reject } of waiting.values()) reject(new Error(`the layout failed: ${event.message ?? "no worker"}`));
      waiting.clear();
    };
    return worker;
  };
  return (input) => {
    const number = ++newest;
    if (input.cards.length < FEW) return Promise.resolve(layout(input));
    return new Promise((resolve, reject) => {
      waiting.set(number, { resolve, reject });
      (worker ?? start()).postMessage({ number, input });
    });
  };
}
