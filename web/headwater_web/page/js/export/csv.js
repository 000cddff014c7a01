// A table as CSV (RFC 4180). Pure.

/**
 * Return a table as CSV with a head.
 *
 * A cell that a spreadsheet would take for a formula begins with an apostrophe.
 * @param {readonly string[]} head
 * @param {readonly (readonly (string | number | null | undefined)[])[]} rows
 * @returns {string}
 */
export function csvOf(head, rows) {
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** @param {string | number | null | undefined} value */
function cell(value) {
  if (typeof value === "number") return String(value);
  const text = value ?? "";
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
