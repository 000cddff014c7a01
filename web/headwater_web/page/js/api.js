// The only module that sends requests. ETags are the browser's: answers say `Cache-Control: no-cache`, so it asks again with them.

/** @typedef {import("./types.d.ts").Api} Api */
/** @typedef {import("./types.d.ts").QueryValue} QueryValue */

/** The root of the queries of the graph. */
export const GRAPH = "/api/v1/graph";

/** An answer that is an error (RFC 9457). `status` is 0 if the server did not answer at all. */
export class ApiProblem extends Error {
  /**
   * @param {number} status
   * @param {string} title
   * @param {string} detail
   * @param {number | null} [retryAfter] seconds
   */
  constructor(status, title, detail, retryAfter = null) {
    super(detail || title);
    this.name = "ApiProblem";
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/**
 * Return a path with its query.
 * @param {string} path below the root of the server; one without `/api/` is below `/api/v1/graph`
 * @param {Record<string, QueryValue>} [params]
 * @returns {string}
 */
export function urlOf(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return (path.startsWith("/api/") ? path : GRAPH + path) + (text === "" ? "" : `?${text}`);
}

/**
 * Return the problem that a response describes.
 * @param {Response} response
 * @returns {Promise<ApiProblem>}
 */
async function problemOf(response) {
  const retry = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const given = await response.json().catch(() => ({}));
  const title = typeof given.title === "string" ? given.title : response.statusText || `status ${response.status}`;
  const detail = typeof given.detail === "string" ? given.detail : "";
  return new ApiProblem(response.status, title, detail, Number.isNaN(retry) ? null : retry);
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<any>}
 */
async function send(url, options) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch (fault) {
    if (options.signal?.aborted) throw fault;
    throw new ApiProblem(0, "The server does not answer", "It may be restarting, or the network is cut.");
  }
  if (!response.ok) throw await problemOf(response);
  const text = await response.text();
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiProblem(response.status, "The answer is not JSON", `from ${url.split("?")[0]}: is a proxy in between?`);
  }
}

/** @type {Api} */
export const api = {
  get: (path, params, signal) => send(urlOf(path, params), { headers: { Accept: "application/json" }, signal }),
  post: (path, body, signal) =>
    send(urlOf(path), {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
      signal,
    }),
  stream(path, onEvent, signal) {
    if (signal.aborted) return;
    const source = new EventSource(urlOf(path));
    signal.addEventListener("abort", () => source.close());
    source.addEventListener("run", (event) => onEvent(JSON.parse(/** @type {MessageEvent} */ (event).data)));
    // Otherwise the browser would connect again.
    source.addEventListener("end", () => source.close());
  },
};
