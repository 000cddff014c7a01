import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress, pathTo, pathToNode } from "../../../web/headwater_web/page/js/address.js";
import { urlOf } from "../../../web/headwater_web/page/js/api.js";
import { isSafeLink } from "../../../web/headwater_web/page/js/dom.js";
import { measures } from "../../../web/headwater_web/page/js/facets.js";
import * as format from "../../../web/headwater_web/page/js/format.js";
import { freshness } from "../../../web/headwater_web/page/js/freshness.js";
import { sqlTokens } from "../../../web/headwater_web/page/js/sql.js";
import { flattened, places } from "../../../web/headwater_web/page/js/timeline.js";
import { readReason } from "../../../web/headwater_web/page/js/views/diff.js";
import { cypherText, quoted, shortId } from "../../../web/headwater_web/page/js/widgets.js";

const NAMES = ["orders", "a b", "ns#x&y=z", "50%", "+", "שלום", "👩‍👩‍👧", "<script>", "'\"\\", "a/../b", "x".repeat(2000)];

test("an address is the same after its URL", () => {
  for (const name of NAMES) {
    const address = { view: "dataset", params: { namespace: name, name } };
    assert.deepEqual(parseAddress(`http://host${formatAddress(address)}`), address);
  }
  assert.deepEqual(parseAddress("/?q=ord"), { view: "home", params: { q: "ord" } });
  assert.deepEqual(parseAddress("/run/?id=1"), { view: "run", params: { id: "1" } });
  assert.equal(parseAddress("/api/v1/graph/runs"), null);
  assert.equal(formatAddress({ view: "home", params: { q: "" } }), "/");
});

test("nodes lead to their pages", () => {
  assert.equal(pathToNode(["job", "ns", "a&b"]), "/job?namespace=ns&name=a%26b");
  assert.equal(pathToNode(["run", "r/1"]), "/run?id=r%2F1");
  assert.equal(pathToNode(["column", "ns", "d", "c"]), "/dataset?namespace=ns&name=d&column=c");
  assert.equal(pathToNode(["unknown"]), null);
  assert.equal(pathTo("diff", { run: "r", before: undefined }), "/diff?run=r");
});

test("parameters of a request are repeated for lists and left out where absent", () => {
  assert.equal(urlOf("/columns/upstream", { column: ["a", "b"], depth: 1, past: undefined }), "/api/v1/graph/columns/upstream?column=a&column=b&depth=1");
  assert.equal(urlOf("/api/v1/session"), "/api/v1/session");
});

test("only http, https and paths of this page are followed", () => {
  for (const good of ["http://x", "HTTPS://x/y", "/run?id=1", "#part", "?q=1"]) assert.ok(isSafeLink(good), good);
  const bad = ["javascript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "//evil.example", "/\\evil.example", "/\t/evil.example", "file:///etc/passwd", "x", "", null, 1];
  for (const one of bad) assert.ok(!isSafeLink(one), String(one));
});

test("the part of a name that distinguishes it is its last one", () => {
  assert.deepEqual(format.splitName("shop.public.orders"), { rest: "shop.public.", tail: "orders" });
  assert.deepEqual(format.splitName("s3/a/b.csv"), { rest: "s3/a/", tail: "b.csv" });
  assert.deepEqual(format.splitName("a/b/"), { rest: "a/", tail: "b/" });
  for (const name of ["orders", "...", "/", ""]) {
    const { rest, tail } = format.splitName(name);
    assert.equal(rest + tail, name);
  }
});

test("long names are shortened in the middle and never inside of a character", () => {
  assert.equal(format.shortened("abcdefghij", 5), "ab…ij");
  assert.equal(format.shortened("👍👍👍👍", 3), "👍…👍");
  assert.equal(format.shortened("short", 5), "short");
});

test("durations, ages, numbers and bytes are written as people say them", () => {
  const durations = [[0, "0 ms"], [0.12, "120 ms"], [4.25, "4.3 s"], [59.96, "1 min"], [723, "12 min 03 s"], [3900, "1 h 05 min"], [90000, "1 d 1 h"], [86400, "1 d"], [7200, "2 h"], [undefined, ""]];
  for (const [seconds, text] of durations) assert.equal(format.formatDuration(seconds), text);
  const now = Date.parse("2026-02-01T00:00:00Z");
  assert.equal(format.formatAge("2026-01-31T21:00:00Z", now), "3 hours ago");
  assert.equal(format.formatAge("2026-01-31T23:59:59Z", now), "just now");
  assert.equal(format.formatAge("2026-02-02T00:00:00Z", now), "in 1 day");
  assert.equal(format.formatAge("2026-01-31T21:00:00Z", now, true), "3 h ago");
  assert.equal(format.formatAge("nonsense", now), "");
  assert.equal(format.formatNumber(1250004), "1\u202f250\u202f004");
  assert.equal(format.formatNumber(-1234.5), "-1\u202f234.5");
  assert.equal(format.formatNumber(1e30), "1e+30");
  assert.equal(format.formatBytes(84_000_000), "84 MB");
  assert.equal(format.formatBytes(999_600), "1 MB");
  assert.equal(format.formatTime("2026-01-31T21:00:05.123456Z"), "2026-01-31 21:00:05");
});

test("every state has a shape, a word and a class of its own", () => {
  const shown = ["COMPLETE", "FAIL", "ABORT", "RUNNING", "NEW"].map((state) => format.appearanceOfRun(state));
  assert.equal(new Set(shown.map(({ shape }) => shape)).size, 5);
  assert.equal(format.appearanceOfRun("RUNNING", ["silent"]).text, "silent");
  assert.equal(format.appearanceOfRun(undefined, ["placeholder"]).text, "no event yet");
  assert.equal(format.appearanceOfRun("OTHER").text, "other");
});

test("a dataset is late after two usual periods", () => {
  const now = Date.parse("2026-01-10T00:00:00Z");
  const days = (...list) => list.map((day) => `2026-01-0${day}T00:00:00Z`);
  assert.deepEqual(freshness(days(9, 8, 7), now), { text: "1 d", isLate: false });
  assert.equal(freshness(days(7, 6, 5), now).isLate, true);
  assert.deepEqual(freshness(days(9, 8), now), { text: "", isLate: false });
});

test("the tokens of SQL are its text", () => {
  const texts = ["SELECT 'it''s', \"a\"\"b\", `c` -- end", "/* open", "'open", "1.5e3 + x1 -- é", "sélect $1 👍", ""];
  for (const text of texts) assert.equal(sqlTokens(text).map((token) => token.text).join(""), text);
  const kinds = sqlTokens("SELECT 'from' FROM t1 -- where\nLIMIT 10").filter(({ kind }) => kind !== "plain");
  assert.deepEqual(kinds.map(({ kind, text }) => `${kind}:${text}`), ["keyword:SELECT", "string:'from'", "keyword:FROM", "comment:-- where", "keyword:LIMIT", "number:10"]);
});

test("the time of SQL tokens grows with its length only", () => {
  const text = "'" + "\\'".repeat(20_000) + "(((".repeat(20_000);
  assert.equal(sqlTokens(text).map((token) => token.text).join("").length, text.length);
});

test("runs are placed on the time of them all", () => {
  const child = { id: "b", marks: [], startedAt: "2026-01-01T00:30:00Z", seconds: 1800 };
  const top = { id: "a", marks: [], startedAt: "2026-01-01T00:00:00Z", seconds: 3600, children: [child, { id: "c", marks: [] }] };
  const lines = flattened(top);
  assert.deepEqual(lines.map(({ run, level }) => [run.id, level]), [["a", 0], ["b", 1], ["c", 1]]);
  assert.deepEqual(places(lines.map(({ run }) => run)), [[0, 100], [50, 50], null]);
  assert.deepEqual(places([{ id: "a", marks: [], startedAt: "2026-01-01T00:00:00Z" }]), [[0, 100]]);
  assert.deepEqual(places([]), []);
});

test("reasons are read back into additions and removals", () => {
  assert.deepEqual(readReason("inputs changed: + ns a b - ns c"), {
    title: "inputs changed",
    changes: [{ sign: "+", text: "ns a b" }, { sign: "-", text: "ns c" }],
  });
  assert.deepEqual(readReason("first version"), { title: "first version", changes: [] });
});

test("statistics are numbers with their units", () => {
  assert.deepEqual(measures({ rowCount: 1200, size: 84e6, _producer: "x", columnMetrics: {} }), ["1\u202f200 rows", "84 MB"]);
  assert.deepEqual(measures(null), []);
});

test("copied commands and queries have quoted names", () => {
  assert.equal(quoted("s3://lake"), "s3://lake");
  assert.equal(quoted("it's $(rm)"), "'it'\\''s $(rm)'");
  assert.equal(quoted(""), "''");
  assert.equal(cypherText("a'b\\c"), "'a\\'b\\\\c'");
  assert.equal(shortId("0190a1b2-0000-7000-8000-000000000001"), "0190a1b2-0000");
});
