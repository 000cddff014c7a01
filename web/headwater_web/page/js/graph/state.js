// What the graph view shows <-> the parameters of its address. Pure.

/** @typedef {import("../types.d.ts").Params} Params */
/** @typedef {import("./model.js").Direction} Direction */
/** @typedef {import("./shown.js").Filters} Filters */
/** @typedef {import("./geometry.js").Sight} Sight */

/**
 * One expanded side of a node; `level` says how many of its neighbours are shown.
 *
 * @typedef {{reference: string[], side: Direction, level: number}} Expansion
 *
 * @typedef {object} ViewState
 * @property {string[]} start a reference
 * @property {number} depth
 * @property {string} asOf
 * @property {boolean} past whether former writers are shown
 * @property {Expansion[]} expanded
 * @property {string[][]} open references of the datasets of which columns are shown
 * @property {{dataset: string[], column: string} | null} column the selected one
 * @property {boolean} indirect
 * @property {Filters} filters
 * @property {string[]} folded frames, each the JSON text of namespace and name
 * @property {boolean} list
 * @property {Sight | null} sight null: all of it
 */

/**
 * Return the state of an address.
 * @param {Params} params
 * @returns {ViewState}
 */
export function stateOfParams(params) {
  const kind = params.kind ?? (params.id ? "run" : "dataset");
  const start = kind === "run" ? ["run", params.id ?? ""] : [kind, params.namespace ?? "", params.name ?? ""];
  const column = params.column ? { dataset: params.of ? holder(params.of) : start, column: params.column } : null;
  return {
    start,
    depth: Math.min(20, Math.max(1, Number.parseInt(params.depth ?? "1", 10) || 1)),
    asOf: params.as_of ?? "",
    past: params.past === "1",
    expanded: list(params.expanded).flatMap(expansionOf),
    open: list(params.columns).filter(isReference),
    column,
    indirect: params.indirect === "1",
    filters: {
      namespaces: list(params.without).map(String),
      state: params.state ?? "",
      tag: params.tag ?? "",
      owner: params.owner ?? "",
      hideTemporary: params.temporary === "hidden",
    },
    folded: list(params.folded).map((name) => JSON.stringify(name)),
    list: params.list === "1",
    sight: sightOf(params.at),
  };
}

/**
 * Return the parameters of a state; those that say nothing new are left out.
 * @param {ViewState} state
 * @returns {Params}
 */
export function paramsOfState(state) {
  const [kind, ...name] = state.start;
  /** @type {Params} */
  const params = kind === "run" ? { kind, id: name[0] } : { kind, namespace: name[0], name: name[1] };
  const { column, filters, sight } = state;
  /** @type {Record<string, string | false | null>} */
  const rest = {
    depth: state.depth > 1 && String(state.depth),
    as_of: state.asOf,
    past: state.past && "1",
    expanded: text(state.expanded.map(({ reference, side, level }) => [side === "upstream" ? "u" : "d", level, ...reference])),
    columns: text(state.open),
    column: column && column.column,
    of: column && column.dataset.join("\n") !== state.start.join("\n") && JSON.stringify(column.dataset.slice(1)),
    indirect: state.indirect && "1",
    without: text(filters.namespaces),
    state: filters.state,
    tag: filters.tag,
    owner: filters.owner,
    temporary: filters.hideTemporary && "hidden",
    folded: text(state.folded.map((name) => JSON.parse(name))),
    list: state.list && "1",
    at: sight && [Math.round(sight.x), Math.round(sight.y), Number(sight.scale.toFixed(3))].join(","),
  };
  for (const [key, value] of Object.entries(rest)) if (value) params[key] = value;
  return params;
}

/** @param {unknown[]} values */
function text(values) {
  return values.length ? JSON.stringify(values) : "";
}

/** @param {string | undefined} json */
function list(json) {
  try {
    const found = JSON.parse(json ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/**
 * Return the dataset, or the version of one, that a text names.
 * @param {string} json
 */
function holder(json) {
  const found = list(json);
  if (!found.every((name) => typeof name === "string")) return ["dataset", "", ""];
  if (found.length === 3) return ["version", ...found];
  return found.length === 2 ? ["dataset", ...found] : ["dataset", "", ""];
}

/** @param {unknown} value */
function isReference(value) {
  return Array.isArray(value) && value.length >= 2 && value.every((part) => typeof part === "string");
}

/**
 * @param {any} value
 * @returns {Expansion[]}
 */
function expansionOf(value) {
  if (!Array.isArray(value) || !isReference(value.slice(2))) return [];
  return [{ side: value[0] === "u" ? "upstream" : "downstream", level: Number(value[1]) || 0, reference: value.slice(2) }];
}

/** @param {string | undefined} at */
function sightOf(at) {
  const [x, y, scale] = (at ?? "").split(",").map(Number);
  return [x, y, scale].every(Number.isFinite) && scale > 0 ? { x, y, scale } : null;
}
