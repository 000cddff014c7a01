// The head of every view: home, search, operations, help.

import { fill, h } from "./dom.js";
import { searchBox } from "./search.js";
import { showHelp } from "./help.js";

/** @typedef {import("./types.d.ts").Address} Address */
/** @typedef {import("./types.d.ts").Context} Context */

/**
 * Show the head; the home view has the search box in its middle, the others have it here.
 * @param {HTMLElement} root
 * @param {Address | null} address
 * @param {Context} context
 */
export function header(root, address, context) {
  const isHome = address?.view === "home";
  const operations = { href: "/operations", "aria-current": address?.view === "operations" && "page" };
  fill(
    root,
    h("a", { class: "logo", href: "/", "aria-current": isHome && "page" }, "headwater"),
    h("div", { class: "header-search" }, isHome ? null : searchBox(context, {})),
    h("nav", { "aria-label": "Main" }, h("a", operations, "Operations"), helpButton()),
  );
}

function helpButton() {
  return h("button", { type: "button", class: "quiet", "aria-haspopup": "dialog", onclick: showHelp }, "Keys ", h("kbd", null, "?"));
}
