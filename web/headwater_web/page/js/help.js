// The dialog that lists the keys.

import { h } from "./dom.js";

/** Keys of each part: [part, [[keys, meaning], ...]]. */
const KEYS = /** @type {const} */ ([
  [
    "Everywhere",
    [
      ["/", "search"],
      ["g h", "home"],
      ["g o", "operations"],
      ["?", "this help"],
      ["Esc", "close, leave the search"],
    ],
  ],
  [
    "Search",
    [
      ["↓ ↑", "next and previous result"],
      ["Enter", "open the result"],
    ],
  ],
  [
    "Dataset, job, run",
    [
      ["l", "lineage"],
      ["d", "difference to the last complete run, or the version before"],
    ],
  ],
  [
    "Lineage",
    [
      ["← → ↑ ↓", "from node to node along the edges"],
      ["Enter", "open the node"],
      ["e  Shift+e", "expand downstream, upstream"],
      ["c", "columns"],
      ["f", "fit into the window"],
    ],
  ],
]);

/** Show the dialog; Escape or its button close it. */
export function showHelp() {
  const open = document.querySelector("dialog[open]");
  if (open instanceof HTMLDialogElement) {
    open.close();
    return;
  }
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    h("h2", { id: "help-title" }, "Keys"),
    KEYS.map(([part, keys]) => [
      h("h3", null, part),
      h("dl", { class: "keys" }, keys.map(([key, meaning]) => [h("dt", null, key.split(" ").filter(Boolean).map((one) => [h("kbd", null, one), " "])), h("dd", null, meaning)])),
    ]),
    h("p", null, h("button", { type: "button", onclick: () => dialog.close() }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}
