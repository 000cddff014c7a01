import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../../../web/headwater_web/page/js/export/csv.js";
import { escaped, svgOf } from "../../../web/headwater_web/page/js/export/svg.js";
import { commandOf, cypherOf } from "../../../web/headwater_web/page/js/export/text.js";
import { cardTowards, columnRows, fitted, heightOf, pathOf, rowAnchor, sightAround, zoomed } from "../../../web/headwater_web/page/js/graph/geometry.js";
import { paramsOfState, stateOfParams } from "../../../web/headwater_web/page/js/graph/state.js";

const columns = (count) => Array.from({ length: count }, (_, at) => ({ name: `column_${at}`, type: "int" }));

test("a wide table shows ten columns, those on the way among them", () => {
  const found = columnRows(columns(2000), { filter: "", most: 10, way: new Set(["column_1999"]) });
  assert.equal(found.rows.length, 10);
  assert.equal(found.more, 1990);
  assert.ok(found.hasFilter && found.rows.some(({ name }) => name === "column_1999"));
});

test("a filter on columns matches without regard to case", () => {
  const found = columnRows(columns(2000), { filter: "N_77", most: 10, way: new Set() });
  assert.deepEqual([found.rows[0].name, found.more], ["column_77", 1]);
});

test("links of a column end at its row, those of others at the head", () => {
  const open = columnRows(columns(3), { filter: "", most: 10, way: new Set() });
  assert.equal(rowAnchor(open, "column_1") - rowAnchor(open, "column_0"), 22);
  assert.ok(rowAnchor(open, "column_2") < heightOf(open));
  assert.equal(rowAnchor(open, "none"), rowAnchor(null, "column_1"));
});

test("zooming leaves the point under the pointer where it is", () => {
  const next = zoomed({ x: 10, y: 20, scale: 1 }, 2, { x: 100, y: 50 });
  assert.deepEqual([next.x + 100 / next.scale, next.y + 50 / next.scale], [110, 70]);
  assert.equal(zoomed({ x: 0, y: 0, scale: 1 }, 1e9, { x: 0, y: 0 }).scale, 2);
});

test("fitting shows the whole box in the middle, and enlarges nothing", () => {
  const { x, scale } = fitted({ left: 0, top: 0, right: 2000, bottom: 100 }, { width: 1036, height: 500 });
  assert.equal(scale, 0.5);
  assert.equal(x + 1036 / scale / 2, 1000);
  assert.equal(fitted({ left: 0, top: 0, right: 10, bottom: 10 }, { width: 1000, height: 500 }).scale, 1);
});

test("a sight around a point shows no empty space where there are cards", () => {
  const box = { left: 0, top: 0, right: 5000, bottom: 100 };
  const sight = sightAround({ x: 4990, y: 50 }, box, { width: 1000, height: 500 }, 1);
  assert.deepEqual([sight.x, sight.y], [5036 - 1000, 50 - 250]);
});

test("arrows walk along links to the nearest card, and up and down in a column", () => {
  const places = { a: { x: 0, y: 0, column: 0 }, b: { x: 300, y: -50, column: 1 }, c: { x: 300, y: 20, column: 1 } };
  const links = [{ from: "a", to: "b" }, { from: "a", to: "c" }];
  assert.equal(cardTowards("ArrowRight", "a", places, links), "c");
  assert.equal(cardTowards("ArrowUp", "c", places, links), "b");
  assert.equal(cardTowards("ArrowLeft", "b", places, links), "a");
  assert.equal(cardTowards("ArrowLeft", "a", places, links), null);
});

test("paths begin and end at the ends of their routes", () => {
  const path = pathOf({ points: [{ x: 0, y: 0 }, { x: 100, y: 50 }, { x: 200, y: 50 }, { x: 300, y: 0 }], backward: false });
  assert.match(path, /^M0 0C.* 100 50H200C.* 300 0$/);
  const corners = [[300, 10], [320, 10], [320, 90], [-20, 90], [-20, 0], [0, 0]].map(([x, y]) => ({ x, y }));
  assert.match(pathOf({ points: corners, backward: true }), /^M300 10L.*Q.*L0 0$/);
});

test("a state survives its address", () => {
  const state = {
    ...stateOfParams({ kind: "dataset", namespace: "ns", name: "a&b=c" }),
    depth: 3, asOf: "2026-01-31T00:00:00Z", past: true, indirect: true, list: true,
    expanded: [{ reference: ["job", "ns", "x,y"], side: "upstream", level: 2 }],
    open: [["dataset", "ns", "t"]],
    column: { dataset: ["dataset", "ns", "other"], column: "c" },
    filters: { namespaces: ["n1"], state: "FAIL", tag: "pii", owner: "o", hideTemporary: true },
    folded: [JSON.stringify(["ns", "app"])],
    sight: { x: -10, y: 5, scale: 0.5 },
  };
  assert.deepEqual(stateOfParams(paramsOfState(state)), state);
});

test("an address with nonsense has the usual state", () => {
  const state = stateOfParams({ name: "x", expanded: "{", columns: "[1]", depth: "-1", at: "a,b", of: "7", folded: '"x"' });
  assert.deepEqual([state.expanded, state.open, state.depth, state.sight, state.folded], [[], [], 1, null, []]);
  assert.deepEqual(paramsOfState(stateOfParams({ kind: "run", id: "r" })), { kind: "run", id: "r" });
});

test("CSV quotes what needs it, and no cell is a formula", () => {
  assert.equal(csvOf(["a", "b"], [['say "x"', "=1+1"], [3, null]]), 'a,b\r\n"say ""x""",\'=1+1\r\n3,\r\n');
});

test("commands and Cypher quote names", () => {
  const state = stateOfParams({ kind: "dataset", namespace: "it's", name: "a b" });
  assert.match(commandOf(state), /headwater lineage upstream 'it'\\''s' 'a b' --depth 1/);
  assert.match(cypherOf(state), /namespace: 'it\\'s'/);
  assert.match(cypherOf(stateOfParams({ kind: "run", id: "r'1" })), /id: 'r\\'1'/);
});

test("the saved picture escapes names, and can hold any of them", () => {
  assert.equal(escaped("<a>&\u0000\ud800"), "&lt;a&gt;&amp;\ufffd\ufffd");
  const node = { id: "1", reference: ["dataset", "<ns>", "<script>"], kind: "dataset", isData: true, namespace: "<ns>", name: "<script>", marks: [], facts: {} };
  const content = { card: { id: "1", node, members: ["1"], frame: null }, isStart: true, isFaded: false, isOpen: false, columns: null, way: new Set(), frameName: [], members: [node] };
  const text = svgOf({ cards: new Map([["1", { content, x: 0, y: 0, height: 76 }]]), links: [], frames: [] }, {}, "<title>");
  assert.ok(!text.includes("<script>") && text.includes("&lt;script&gt;"));
});
