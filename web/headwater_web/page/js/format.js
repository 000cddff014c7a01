// Names, times, durations, numbers and states as texts. Pure.

/** @typedef {import("./types.d.ts").Appearance} Appearance */

/** @type {Readonly<Record<string, Appearance>>} */
const STATES = {
  COMPLETE: { text: "complete", shape: "✓", className: "state-ok" },
  FAIL: { text: "failed", shape: "✕", className: "state-bad" },
  ABORT: { text: "aborted", shape: "■", className: "state-warn" },
  RUNNING: { text: "running", shape: "▶", className: "state-run" },
  NEW: { text: "new", shape: "○", className: "state-dim" },
};

/** @type {Readonly<Record<string, Appearance>>} */
const STATUSES = {
  silent: { text: "silent", shape: "◌", className: "state-warn" },
  removed: { text: "removed", shape: "–", className: "state-dim" },
  placeholder: { text: "no event yet", shape: "·", className: "state-dim" },
  dropped: { text: "dropped", shape: "⊘", className: "state-bad" },
  conflicts: { text: "names several jobs", shape: "!", className: "state-warn" },
  "lineage unknown": { text: "lineage unknown", shape: "?", className: "state-warn" },
  "no writer now": { text: "no writer now", shape: "!", className: "state-warn" },
  streaming: { text: "streaming", shape: "≈", className: "state-run" },
};

/**
 * Return how the state of a run is shown; `silent`, `removed` and `placeholder` have precedence over its state.
 * @param {string | null | undefined} state
 * @param {readonly string[]} [marks] the statuses of the run
 * @returns {Appearance}
 */
export function appearanceOfRun(state, marks = []) {
  const special = ["silent", "removed", "placeholder"].find((name) => marks.includes(name));
  if (special !== undefined) return appearanceOfStatus(special);
  return STATES[state ?? ""] ?? { text: state?.toLowerCase() ?? "no state", shape: "·", className: "state-dim" };
}

/**
 * Return how one of the statuses (`marks`) of a node is shown.
 * @param {string} status
 * @returns {Appearance}
 */
export function appearanceOfStatus(status) {
  return STATUSES[status] ?? { text: status, shape: "·", className: "state-dim" };
}

/**
 * Return a name as the part before its last separator and the part that distinguishes it from its neighbours.
 * @param {string} name
 * @returns {{rest: string, tail: string}}
 */
export function splitName(name) {
  const body = name.replace(/[/.:]+$/, "");
  const slash = body.lastIndexOf("/");
  const at = slash >= 0 ? slash : Math.max(body.lastIndexOf("."), body.lastIndexOf(":"));
  return { rest: name.slice(0, at + 1), tail: name.slice(at + 1) };
}

/**
 * Return a text of at most so many characters, with an ellipsis in the middle of longer ones.
 * @param {string} text
 * @param {number} [most]
 * @returns {string}
 */
export function shortened(text, most = 80) {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${characters.slice(0, most - 1 - half).join("")}…${characters.slice(-half).join("")}`;
}

/**
 * Return a time of an answer as `2026-02-01 12:03:05`, in UTC.
 * @param {string | null | undefined} time
 * @returns {string}
 */
export function formatTime(time) {
  if (!time) return "";
  return time.replace("T", " ").replace(/(\.\d+)?Z$/, "");
}

const UNITS = /** @type {const} */ ([
  [86_400 * 365, "year", "y"],
  [86_400 * 30, "month", "mo"],
  [86_400, "day", "d"],
  [3_600, "hour", "h"],
  [60, "minute", "min"],
]);

/**
 * Return how long ago a time is, as `3 hours ago`, or `3 h ago` where space is short.
 * @param {string | null | undefined} time
 * @param {number} [now] milliseconds since 1970
 * @param {boolean} [isShort]
 * @returns {string}
 */
export function formatAge(time, now = Date.now(), isShort = false) {
  const then = time ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(then)) return "";
  const seconds = (now - then) / 1000;
  const unit = UNITS.find(([length]) => Math.abs(seconds) >= length);
  if (unit === undefined) return seconds < 0 ? "in a moment" : "just now";
  const count = Math.floor(Math.abs(seconds) / unit[0]);
  const text = isShort ? `${count} ${unit[2]}` : `${count} ${unit[1]}${count === 1 ? "" : "s"}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/**
 * Return a duration as `1 h 05 min`, `12 min 03 s`, `4.2 s` or `120 ms`.
 * @param {number | null | undefined} seconds
 * @returns {string}
 */
export function formatDuration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const [days, hours, minutes] = [Math.floor(whole / 86_400), Math.floor(whole / 3_600) % 24, Math.floor(whole / 60) % 60];
  if (days > 0) return hours === 0 ? `${days} d` : `${days} d ${hours} h`;
  if (hours > 0) return minutes === 0 ? `${hours} h` : `${hours} h ${String(minutes).padStart(2, "0")} min`;
  return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
}

/**
 * Return a number with thin spaces between groups of three digits.
 * @param {number} value
 * @returns {string}
 */
export function formatNumber(value) {
  const [whole, fraction] = String(value).split(".");
  if (!/^-?\d+$/.test(whole)) return String(value);
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/**
 * Return a number of bytes as `1.2 MB`, in powers of 1,000.
 * @param {number} bytes
 * @returns {string}
 */
export function formatBytes(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let [value, unit] = [bytes, 0];
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${Math.abs(value) < 10 && unit > 0 ? Number(value.toFixed(1)) : Math.round(value)} ${units[unit]}`;
}

/**
 * Return a count with its noun: `1 run`, `2 runs`.
 * @param {number} count
 * @param {string} noun
 * @param {string} [plural]
 * @returns {string}
 */
export function counted(count, noun, plural = `${noun}s`) {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}
