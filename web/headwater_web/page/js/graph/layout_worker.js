// Computes layouts beside the page, so that it never waits for one.

import { layout } from "./layout.js";

/** @typedef {{number: number, input: Parameters<typeof layout>[0]}} Task */

self.onmessage = (/** @type {MessageEvent<Task>} */ event) => {
  const { number, input } = event.data;
  try {
    self.postMessage({ number, layout: layout(input) });
  } catch (fault) {
    self.postMessage({ number, fault: String(fault) });
  }
};
