// The way of a column: from an answer of column lineage to the columns of each dataset and the steps between them. Pure.

import { idOf } from "./model.js";

/**
 * One derivation of a column from another.
 *
 * @typedef {object} ColumnStep
 * @property {string} id
 * @property {string} from the id of a dataset, in Run mode of a version
 * @property {string} fromColumn
 * @property {string} to
 * @property {string} toColumn
 * @property {string[] | null} job namespace and name; null for aliases and `*`
 * @property {string | null} run in Run mode, the one that states it
 * @property {string | null} via the id of the job or run
 * @property {string} state of the run
 * @property {string} kind `derives`, `alias` or `covers`
 * @property {boolean} isIndirect
 * @property {boolean} isGuess
 * @property {string} type
 * @property {string} subtype
 * @property {boolean} masking
 * @property {string} description
 *
 * @typedef {object} ColumnWay
 * @property {Map<string, Set<string>>} columns the columns on the way, by dataset
 * @property {Set<string>} jobs the ids of the jobs or runs on the way
 * @property {ColumnStep[]} steps
 * @property {string[]} notes
 */

/** @type {ColumnWay} */
export const NO_WAY = { columns: new Map(), jobs: new Set(), steps: [], notes: [] };

/**
 * Return the way of columns from the answers in both directions.
 * @param {any[]} answers
 * @param {{indirect: boolean}} options whether indirect derivations (filters, joins, sorting) belong to the way
 * @returns {ColumnWay}
 */
export function columnWay(answers, { indirect }) {
  /** @type {ColumnStep[]} */
  const steps = [];
  const seen = new Set();
  for (const answer of answers) {
    const found = answer.edges.map(stepOf).filter((/** @type {ColumnStep} */ step) => indirect || !step.isIndirect);
    const used = reachable(answer, found);
    for (const step of found) {
      if (seen.has(step.id) || !used.has(`${step.from} ${step.fromColumn}`) || !used.has(`${step.to} ${step.toColumn}`)) continue;
      seen.add(step.id);
      steps.push(step);
    }
  }
  return collected(answers, steps);
}

/**
 * Return the id of the dataset or version that has a column.
 * @param {readonly string[]} reference of the column
 * @returns {string}
 */
function holderOf([kind, ...name]) {
  return idOf([kind === "versionColumn" ? "version" : "dataset", ...name.slice(0, -1)]);
}

/** @param {any} edge */
function viaOf({ run, job }) {
  if (run) return idOf(["run", run]);
  return job ? idOf(["job", ...job]) : null;
}

/** @param {any} edge */
function stepOf(edge) {
  const [fromColumn, toColumn] = [edge.from.at(-1), edge.to.at(-1)];
  const [from, to] = [holderOf(edge.from), holderOf(edge.to)];
  const type = edge.type ?? "";
  const text = [from, fromColumn, to, toColumn, edge.kind, edge.run ?? edge.job, type, edge.subtype];
  return {
    id: JSON.stringify(text), from, fromColumn, to, toColumn, type,
    job: edge.job ?? null,
    run: edge.run ?? null,
    via: viaOf(edge),
    state: edge.state ?? "",
    kind: edge.kind,
    isIndirect: type === "INDIRECT",
    isGuess: isGuess(edge),
    subtype: edge.subtype ?? "",
    masking: edge.masking === true,
    description: edge.description ?? "",
  };
}

/**
 * Return whether a derivation was not stated as such: undeclared columns, or a description that says so.
 * @param {any} edge
 */
function isGuess(edge) {
  return edge.undeclared === true || /\b(guess|assum|inferred|heuristic)/i.test(edge.description ?? "");
}

/**
 * Return the columns, as `dataset column`, that the start reaches over some steps.
 * @param {any} answer
 * @param {ColumnStep[]} steps
 */
function reachable(answer, steps) {
  const isUpstream = answer.question.direction === "upstream";
  /** @type {Map<string, string[]>} */
  const next = new Map();
  for (const step of steps) {
    const ends = [`${step.from} ${step.fromColumn}`, `${step.to} ${step.toColumn}`];
    const pairs = step.kind === "alias" ? [ends, [ends[1], ends[0]]] : [isUpstream ? [ends[1], ends[0]] : ends];
    // Upstream a column leads to `*` of its dataset, downstream `*` leads to the columns.
    for (const [at, other] of pairs) next.set(at, [...(next.get(at) ?? []), other]);
  }
  const start = answer.start.map((/** @type {string[]} */ reference) => `${holderOf(reference)} ${reference.at(-1)}`);
  /** @type {Set<string>} */
  const reached = new Set(start);
  for (const at of reached) for (const other of next.get(at) ?? []) reached.add(other);
  return reached;
}

/**
 * @param {any[]} answers
 * @param {ColumnStep[]} steps
 */
function collected(answers, steps) {
  /** @type {Map<string, Set<string>>} */
  const columns = new Map();
  /** @param {string} dataset @param {string} column */
  const add = (dataset, column) => columns.set(dataset, (columns.get(dataset) ?? new Set()).add(column));
  for (const answer of answers) for (const reference of answer.start) add(holderOf(reference), reference.at(-1));
  for (const step of steps) {
    add(step.from, step.fromColumn);
    add(step.to, step.toColumn);
  }
  const jobs = new Set(steps.flatMap(({ via }) => via ?? []));
  const cuts = answers.reduce((count, answer) => count + answer.cuts.length, 0);
  return { columns, jobs, steps, notes: cuts ? ["The way of this column goes on beyond what is shown."] : [] };
}

/**
 * Return the columns of a schema facet, with those of column lineage that it lacks.
 * @param {any} facets of a dataset
 * @param {Iterable<string>} known names of columns from column lineage
 * @returns {{name: string, type: string}[]}
 */
export function columnsOf(facets, known = []) {
  /** @type {{name: string, type: string}[]} */
  const columns = [];
  /** @param {any[]} fields @param {string} prefix */
  const add = (fields, prefix) => {
    for (const field of fields) {
      if (typeof field?.name !== "string") continue;
      columns.push({ name: prefix + field.name, type: String(field.type ?? "") });
      if (Array.isArray(field.fields)) add(field.fields, `${prefix}${field.name}.`);
    }
  };
  if (Array.isArray(facets?.schema?.fields)) add(facets.schema.fields, "");
  const names = new Set(columns.map(({ name }) => name));
  for (const name of known) if (!names.has(name)) columns.push({ name, type: "" });
  return columns;
}
