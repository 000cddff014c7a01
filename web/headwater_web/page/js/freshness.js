// How often a dataset is usually written. Pure.

import { formatDuration } from "./format.js";

const PATIENCE = 2;
const LEAST = 3;

/**
 * Return the usual time between writes (the median), and whether the last write is more than twice as long ago.
 * @param {readonly (string | undefined)[]} times the newest first
 * @param {number} [now] milliseconds since 1970
 * @returns {{text: string, isLate: boolean}} no text with fewer than three writes
 */
export function freshness(times, now = Date.now()) {
  const moments = times.map((time) => Date.parse(time ?? "")).filter((moment) => !Number.isNaN(moment));
  if (moments.length < LEAST) return { text: "", isLate: false };
  const periods = moments.slice(1).map((older, at) => moments[at] - older);
  const ordered = periods.sort((one, other) => one - other);
  const period = ordered[Math.floor(ordered.length / 2)];
  return { text: formatDuration(period / 1000), isLate: period > 0 && now - moments[0] > PATIENCE * period };
}
