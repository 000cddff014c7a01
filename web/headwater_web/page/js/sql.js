// SQL as tokens, for colouring only: what no rule matches is plain text. Pure.

/** @typedef {{kind: "keyword" | "string" | "number" | "comment" | "plain", text: string}} Token */

const KEYWORDS = new Set(
  `add all alter and any array as asc between by case cast column commit copy create cross current date default delete desc
  describe distinct drop else end escape except exists external false fetch filter first for foreign from full function grant
  group having if ilike in inner insert intersect interval into is join key last lateral left like limit location map match
  matched materialized merge minus natural not null nulls of offset on or order outer over overwrite partition partitioned
  percent preceding primary qualify range recursive references rename replace returning right rollback row rows select set
  some struct table tablesample temporary then ties timestamp to top true truncate unbounded union unique unnest unpivot update
  use using values view when where window with within`.split(/\s+/),
);

// In this order: comments, strings and quoted names (their quotes doubled or escaped), numbers, words, anything else.
const TOKEN =
  /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^'\\]|''|\\[^])*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$))|(\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|([\p{L}_$][\p{L}\p{N}_$]*)|([^])/gu;

/**
 * Return a text as tokens; joined, their texts are the text again.
 * @param {string} text
 * @returns {Token[]}
 */
export function sqlTokens(text) {
  /** @type {Token[]} */
  const tokens = [];
  for (const [found, comment, string, number, word] of text.matchAll(TOKEN)) {
    const isKeyword = word !== undefined && KEYWORDS.has(word.toLowerCase());
    const kind = comment !== undefined ? "comment" : string !== undefined ? "string" : number !== undefined ? "number" : isKeyword ? "keyword" : "plain";
    const last = tokens.at(-1);
    if (kind === "plain" && last?.kind === "plain") last.text += found;
    else tokens.push({ kind, text: found });
  }
  return tokens;
}
