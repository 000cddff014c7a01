// What the page shows <-> its URL. Pure.

/** @typedef {import("./types.d.ts").Address} Address */
/** @typedef {import("./types.d.ts").ViewName} ViewName */
/** @typedef {import("./types.d.ts").Params} Params */

/** @type {Readonly<Record<ViewName, string>>} */
const PATHS = {
  home: "/",
  dataset: "/dataset",
  job: "/job",
  run: "/run",
  lineage: "/lineage",
  diff: "/diff",
  operations: "/operations",
};

/**
 * Return the address of a URL of this page, null if it is none. The last of repeated parameters counts.
 * @param {string} url an absolute URL, or a path with its query
 * @returns {Address | null}
 */
export function parseAddress(url) {
  const parsed = new URL(url, "http://page.invalid");
  const path = parsed.pathname.length > 1 ? parsed.pathname.replace(/\/$/, "") : "/";
  const found = Object.entries(PATHS).find(([, known]) => known === path);
  if (found === undefined) return null;
  return { view: /** @type {ViewName} */ (found[0]), params: Object.fromEntries(parsed.searchParams) };
}

/**
 * Return the path and query of an address; empty parameters are left out.
 * @param {Address} address
 * @returns {string}
 */
export function formatAddress({ view, params }) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== ""));
  const text = query.toString();
  return PATHS[view] + (text === "" ? "" : `?${text}`);
}

/**
 * Return a path and query for a view.
 * @param {ViewName} view
 * @param {Record<string, string | null | undefined>} [params] absent ones are left out
 * @returns {string}
 */
export function pathTo(view, params = {}) {
  /** @type {Params} */
  const given = {};
  for (const [name, value] of Object.entries(params)) if (typeof value === "string") given[name] = value;
  return formatAddress({ view, params: given });
}

/**
 * Return the path to the page of a node, from its reference `[kind, namespace, name...]`; null for nodes without a page.
 * @param {readonly string[]} reference
 * @returns {string | null}
 */
export function pathToNode([kind, ...name]) {
  if (kind === "run") return pathTo("run", { id: name[0] });
  if (kind === "dataset" || kind === "job") return pathTo(kind, { namespace: name[0], name: name[1] });
  if (kind === "column") return pathTo("dataset", { namespace: name[0], name: name[1], column: name[2] });
  if (kind === "version") return pathTo("dataset", { namespace: name[0], name: name[1], version: name[2] });
  return null;
}
