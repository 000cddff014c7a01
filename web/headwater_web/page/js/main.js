// Start: shows the view of the address, and again whenever the address changes.

import { api, ApiProblem } from "./api.js";
import { formatAddress, parseAddress } from "./address.js";
import { fill, h } from "./dom.js";
import { handleKey } from "./keys.js";
import { header } from "./header.js";
import { answered, loading, problemState } from "./states.js";
import * as dataset from "./views/dataset.js";
import * as diff from "./views/diff.js";
import * as home from "./views/home.js";
import * as job from "./views/job.js";
import * as operations from "./views/operations.js";
import * as run from "./views/run.js";

/** @typedef {import("./types.d.ts").Address} Address */
/** @typedef {import("./types.d.ts").View} View */
/** @typedef {import("./types.d.ts").ViewName} ViewName */
/** @typedef {import("./types.d.ts").Context} Context */

/** @type {Readonly<Record<Exclude<ViewName, "lineage">, View>>} */
const VIEWS = { home, dataset, job, run, diff, operations };

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const head = /** @type {HTMLElement} */ (document.getElementById("header"));
const announcer = /** @type {HTMLElement} */ (document.getElementById("announcer"));
let shown = new AbortController();

/** @param {string} text */
function announce(text) {
  announcer.textContent = "";
  // The change is only announced if the region was empty before it.
  setTimeout(() => (announcer.textContent = text), 50);
}

/**
 * @param {Address} address
 * @param {{replace?: boolean}} [options]
 */
function go(address, options = {}) {
  const url = formatAddress(address);
  if (options.replace) {
    history.replaceState(history.state, "", url);
    return;
  }
  history.replaceState({ scroll: window.scrollY }, "");
  if (url === location.pathname + location.search) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  void render({ isNavigation: true });
}

/**
 * Show the view of the present URL.
 * @param {{isNavigation?: boolean, scroll?: number}} [options]
 */
async function render(options = {}) {
  shown.abort();
  const controller = (shown = new AbortController());
  const address = parseAddress(location.href);
  const root = h("div", { class: "view" });
  const placeholder = loading();
  fill(main, placeholder, root);
  header(head, address, { api, go, signal: controller.signal, announce });
  try {
    if (address === null) throw new ApiProblem(404, "There is no such page", location.pathname);
    await showView(root, address, { api, go, signal: controller.signal, announce });
    answered();
  } catch (fault) {
    if (controller.signal.aborted) return;
    problemState(root, fault, { api, signal: controller.signal, announce, retry: () => void render() });
  } finally {
    placeholder.remove();
  }
  if (!controller.signal.aborted) settle(root, options);
}

/**
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
async function showView(root, address, context) {
  root.classList.add(`view-${address.view}`);
  const view = address.view === "lineage" ? await lineageView() : VIEWS[address.view];
  document.title = view.title(address);
  await view.show(root, address, context);
}

/**
 * Return the view of the graph, which is as large as all others together and is loaded when it is needed.
 * @returns {Promise<View>}
 */
async function lineageView() {
  return import("./views/lineage.js").catch(() => {
    throw new ApiProblem(0, "The server does not answer", "It may be restarting, or the network is cut.");
  });
}

/**
 * After a view is complete: its scroll position, and where a reader of it begins.
 * @param {HTMLElement} root
 * @param {{isNavigation?: boolean, scroll?: number}} options
 */
function settle(root, options) {
  window.scrollTo(0, options.scroll ?? 0);
  if (!options.isNavigation) return;
  announce(document.title);
  const focused = document.activeElement;
  if (focused === null || focused === document.body || !document.contains(focused) || !root.contains(focused))
    (root.querySelector("h1") ?? main).focus({ preventScroll: true });
}

/**
 * Follow links of this page without loading it anew.
 * @param {MouseEvent} event
 */
function followLink(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!(link instanceof HTMLAnchorElement) || link.target !== "" || link.hasAttribute("download")) return;
  const address = link.origin === location.origin && link.hash === "" ? parseAddress(link.href) : null;
  if (address === null) return;
  event.preventDefault();
  go(address);
}

document.querySelector("a.skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
history.scrollRestoration = "manual";
document.addEventListener("click", followLink);
document.addEventListener("keydown", (event) => handleKey(event, { go, announce }));
window.addEventListener("popstate", (event) => void render({ isNavigation: true, scroll: event.state?.scroll }));
void render();
