import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, columnWay } from "../../../web/headwater_web/page/js/graph/columns.js";
import { differenceOf, scenesOf } from "../../../web/headwater_web/page/js/graph/difference.js";
import { addAnswer, addWay, beyond, collapse, emptyGraph, idOf, neighboursOf } from "../../../web/headwater_web/page/js/graph/model.js";
import { choices, isTemporary, NO_FILTERS, shownOf } from "../../../web/headwater_web/page/js/graph/shown.js";

const dataset = (name) => ["dataset", "ns", name];
const job = (name) => ["job", "ns", name];
const node = (reference, facts = {}) => ({ node: reference, depth: 0, marks: [], ...facts });
const feeds = (from, to) => ({ from: dataset(from), to: job(to), kind: "feeds" });
const produces = (from, to) => ({ from: job(from), to: dataset(to), kind: "produces" });
const answer = (nodes, edges, cuts = []) => ({ question: {}, nodes, edges, cuts, notes: [] });
const cut = (at, why, shown, total) => ({ at, why, shown, total });

/** raw -> load -> orders -> report -> table, asked from orders at depth 1. */
function orders() {
  const graph = emptyGraph(idOf(dataset("orders")));
  addAnswer(graph, answer([node(dataset("orders")), node(job("load"), { lastRunState: "COMPLETE" }), node(dataset("raw"))],
    [feeds("raw", "load"), produces("load", "orders")], [cut(dataset("raw"), "depth", 0, 3)]), "upstream");
  addAnswer(graph, answer([node(dataset("orders")), node(job("report"), { lastRunState: "FAIL", owners: ["team"] }), node(dataset("table"))],
    [feeds("orders", "report"), produces("report", "table")]), "downstream");
  return graph;
}

const shown = (graph, options = {}) => shownOf(graph, { filters: NO_FILTERS, folded: new Set(), details: new Map(), ...options });
const names = (cards) => cards.map((card) => card.node?.name ?? "frame").sort();

test("answers in both directions merge into one graph", () => {
  const graph = orders();
  assert.deepEqual([...graph.nodes.values()].map(({ name }) => name).sort(), ["load", "orders", "raw", "report", "table"]);
  assert.equal(graph.edges.size, 4);
});

test("a stub has the true count beyond the depth, nothing where there is nothing, and no count where none was made", () => {
  const graph = orders();
  assert.equal(beyond(graph, idOf(dataset("raw")), "upstream"), 3);
  assert.equal(beyond(graph, idOf(dataset("table")), "downstream"), 0);
  assert.equal(beyond(graph, idOf(dataset("raw")), "downstream"), null);
});

test("a hub's stub counts what the limit on neighbours left out, until it is expanded", () => {
  const graph = emptyGraph(idOf(dataset("hub")));
  const some = [1, 2, 3].map((at) => node(job(`r${at}`)));
  addAnswer(graph, answer([node(dataset("hub")), ...some], some.map(({ node: [, , name] }) => feeds("hub", name)), [cut(dataset("hub"), "neighbours", 3, 40)]), "downstream");
  assert.equal(beyond(graph, graph.start, "downstream"), 37);
  const all = Array.from({ length: 40 }, (_, at) => node(job(`r${at}`)));
  addAnswer(graph, answer([node(dataset("hub")), ...all], all.map(({ node: [, , name] }) => feeds("hub", name))), "downstream");
  assert.equal(beyond(graph, graph.start, "downstream"), 0);
});

test("an expansion that shows some of what a stub counted makes its count smaller", () => {
  const graph = orders();
  addAnswer(graph, answer([node(dataset("other")), node(job("extract")), node(dataset("raw"))], [feeds("other", "extract"), produces("extract", "raw")]), "downstream");
  assert.equal(beyond(graph, idOf(dataset("raw")), "upstream"), 2);
});

test("a limit on the size of an answer becomes a note, and its outermost nodes have no count", () => {
  const graph = emptyGraph(idOf(dataset("a")));
  addAnswer(graph, answer([node(dataset("a")), node(job("j"))], [feeds("a", "j")], [cut(null, "size", 2, null)]), "downstream");
  assert.match([...graph.notes].join(), /at most 2 nodes/);
  assert.equal(beyond(graph, idOf(job("j")), "downstream"), null);
});

test("folding an expansion removes what only it had shown, and the stub is back", () => {
  const graph = orders();
  addAnswer(graph, answer([node(dataset("raw")), node(job("crawl")), node(dataset("web"))], [feeds("web", "crawl"), produces("crawl", "raw")]), "upstream");
  collapse(graph, idOf(dataset("raw")), "upstream");
  assert.ok(!graph.nodes.has(idOf(job("crawl"))) && !graph.nodes.has(idOf(dataset("web"))));
  assert.equal(beyond(graph, idOf(dataset("raw")), "upstream"), 3);
});

test("aliases are no neighbours", () => {
  const graph = emptyGraph(idOf(dataset("a")));
  addAnswer(graph, answer([node(dataset("a")), node(dataset("b"))], [{ from: dataset("a"), to: dataset("b"), kind: "alias" }]), "downstream");
  assert.equal(neighboursOf(graph, graph.start, "downstream").size, 0);
  assert.equal(shown(graph).cards.length, 2);
});

test("runs and versions are jobs and datasets in Run mode", () => {
  const graph = emptyGraph(idOf(["run", "r1"]));
  const version = ["version", "ns", "orders", "v1"];
  addAnswer(graph, answer([node(["run", "r1"], { job: ["ns", "load"], state: "FAIL" }), node(version)], [{ from: version, to: ["run", "r1"], kind: "read" }]), "upstream");
  const cards = shown(graph).cards;
  assert.deepEqual(names(cards), ["load", "orders"]);
  assert.deepEqual(cards.map((card) => card.node.isData).sort(), [false, true]);
});

test("a filter hides cards and what is only connected through them, never the start", () => {
  const graph = orders();
  assert.deepEqual(names(shown(graph, { filters: { ...NO_FILTERS, state: "FAIL" } }).cards), ["orders", "report", "table"]);
  const without = shown(graph, { filters: { ...NO_FILTERS, namespaces: ["ns"] } });
  assert.deepEqual([names(without.cards), without.hidden], [["orders"], 4]);
});

test("filters offer what there is", () => {
  assert.deepEqual(choices(orders(), new Map()), { namespaces: ["ns"], states: ["COMPLETE", "FAIL"], owners: ["team"], tags: [], temporary: 0 });
});

test("a tag hides what has other tags", () => {
  const graph = orders();
  const details = new Map([[idOf(dataset("table")), { tags: ["pii"] }], [idOf(dataset("raw")), { tags: ["raw"] }]]);
  assert.deepEqual(names(shown(graph, { details, filters: { ...NO_FILTERS, tag: "pii" } }).cards), ["load", "orders", "report", "table"]);
});

test("hidden temporary datasets leave a link from their writer to their reader", () => {
  const graph = emptyGraph(idOf(dataset("out")));
  addAnswer(graph, answer(["write", "read"].map((name) => node(job(name))).concat([node(dataset("tmp_1")), node(dataset("out"))]),
    [produces("write", "tmp_1"), feeds("tmp_1", "read"), produces("read", "out")]), "upstream");
  const { cards, links } = shown(graph, { filters: { ...NO_FILTERS, hideTemporary: true } });
  assert.deepEqual(names(cards), ["out", "read", "write"]);
  assert.ok(links.some(({ from, to, kind }) => from === idOf(job("write")) && to === idOf(job("read")) && kind === "through"));
});

test("temporary names", () => {
  for (const name of ["tmp_1", "db.tmp_orders", "s3/x/_temporary/0", "a.temp", "staging/__part"]) assert.ok(isTemporary(name), name);
  for (const name of ["orders", "temperature", "db.template", "attempts"]) assert.ok(!isTemporary(name), name);
});

test("jobs with a parent in common have a frame, and fold into one card that keeps their links", () => {
  const graph = emptyGraph(idOf(dataset("orders")));
  const jobs = ["a", "b", "c"];
  addAnswer(graph, answer([node(dataset("orders")), ...jobs.map((name) => node(job(name)))], jobs.map((name) => feeds("orders", name))), "downstream");
  const details = new Map(jobs.slice(0, 2).map((name) => [idOf(job(name)), { parent: ["ns", "app"] }]));
  const frame = JSON.stringify(["ns", "app"]);
  assert.deepEqual(shown(graph, { details }).cards.map((card) => card.frame).sort(), [frame, frame, null, null].sort());
  const folded = shown(graph, { details, folded: new Set([frame]) });
  assert.deepEqual(names(folded.cards), ["c", "frame", "orders"]);
  assert.equal(folded.links.length, 2);
  assert.equal(folded.hidden, 0);
});

const column = (name, of) => ["column", "ns", name, of];
const derives = (from, to, facts) => ({ from, to, kind: "derives", job: ["ns", "load"], type: "DIRECT", subtype: "IDENTITY", ...facts });
const columnAnswer = (direction, start, edges) => ({ question: { direction }, start: [start], nodes: [], edges, cuts: [] });

test("the way of a column has its direct steps, and the indirect ones on demand", () => {
  const edges = [
    derives(column("raw", "a"), column("orders", "amount")),
    derives(column("raw", "flag"), column("orders", "amount"), { type: "INDIRECT", subtype: "FILTER" }),
    derives(column("web", "x"), column("raw", "flag")),
  ];
  const answers = [columnAnswer("upstream", column("orders", "amount"), edges)];
  const direct = columnWay(answers, { indirect: false });
  assert.deepEqual(direct.steps.map(({ fromColumn }) => fromColumn), ["a"]);
  assert.deepEqual([...direct.jobs], [idOf(job("load"))]);
  const all = columnWay(answers, { indirect: true });
  assert.deepEqual([...(all.columns.get(idOf(dataset("raw"))) ?? [])], ["a", "flag"]);
  assert.equal(all.steps.length, 3);
});

test("masking and guesses are marked", () => {
  const edges = [derives(column("raw", "a"), column("orders", "b"), { masking: true, undeclared: true })];
  const [step] = columnWay([columnAnswer("upstream", column("orders", "b"), edges)], { indirect: false }).steps;
  assert.ok(step.masking && step.isGuess);
});

test("downstream from * leads to the columns", () => {
  const edges = [{ from: column("orders", "*"), to: column("orders", "a"), kind: "covers" }, derives(column("orders", "a"), column("out", "x"))];
  const way = columnWay([columnAnswer("downstream", column("orders", "*"), edges)], { indirect: false });
  assert.deepEqual([...(way.columns.get(idOf(dataset("out"))) ?? [])], ["x"]);
});

test("datasets and jobs on a column's way that the graph lacks are added to it", () => {
  const graph = emptyGraph(idOf(dataset("orders")));
  addAnswer(graph, answer([node(dataset("orders"))], []), "upstream");
  const way = columnWay([columnAnswer("upstream", column("orders", "b"), [derives(column("raw", "a"), column("orders", "b"))])], { indirect: false });
  assert.ok(addWay(graph, way.steps));
  assert.deepEqual(names(shown(graph).cards), ["load", "orders", "raw"]);
  assert.ok(!addWay(graph, way.steps));
});

test("in Run mode a way leads through versions and runs", () => {
  const version = (name) => ["versionColumn", "ns", name, `v-${name}`, "a"];
  const edge = { from: version("raw"), to: version("orders"), kind: "derives", type: "DIRECT", run: "r1", job: ["ns", "load"], state: "COMPLETE" };
  const undeclared = { ...edge, from: ["column", "ns", "hidden", "x"], undeclared: true };
  const way = columnWay([columnAnswer("upstream", version("orders"), [edge, undeclared])], { indirect: false });
  assert.deepEqual([...way.columns.keys()].sort(), [["dataset", "ns", "hidden"], ["version", "ns", "orders", "v-orders"], ["version", "ns", "raw", "v-raw"]].map(idOf).sort());
  assert.deepEqual([...way.jobs], [idOf(["run", "r1"])]);
  const graph = emptyGraph(idOf(["run", "r1"]));
  assert.ok(addWay(graph, way.steps));
  assert.deepEqual([...graph.edges.values()].map(({ kind }) => kind), ["read", "wrote", "read"]);
  assert.equal(graph.nodes.get(idOf(["run", "r1"]))?.name, "load");
});

test("columns are those of the schema, nested ones by their path, and those that only lineage names", () => {
  const facets = { schema: { fields: [{ name: "a", type: "int" }, { name: "s", type: "struct", fields: [{ name: "x", type: "int" }] }] } };
  assert.deepEqual(columnsOf(facets, ["a", "z"]).map(({ name }) => name), ["a", "s", "s.x", "z"]);
  assert.deepEqual(columnsOf({ schema: { fields: "nonsense" } }), []);
  assert.deepEqual(columnsOf(undefined), []);
});

test("what differs between two graphs are nodes of one alone, and edges between nodes of both", () => {
  const [before, after] = [orders(), orders()];
  addAnswer(before, answer([node(dataset("old")), node(job("load"))], [feeds("old", "load")]), "upstream");
  addAnswer(after, answer([node(dataset("raw")), node(job("report"))], [feeds("raw", "report")]), "downstream");
  const { added, removed, addedEdges, removedEdges } = differenceOf(before, after);
  assert.deepEqual([names(added.map((one) => ({ node: one }))), removed.map(({ name }) => name)], [[], ["old"]]);
  assert.deepEqual(addedEdges.map(([from, to]) => [from.name, to.name]), [["raw", "report"]]);
  assert.deepEqual(removedEdges, []);
  const [first, second] = scenesOf(before, after, 0);
  assert.equal(first.cards.get(idOf(dataset("old"))).content.change, "removed");
  assert.equal(second.links.filter(({ className }) => className.includes("is-added")).length, 1);
  for (const [id, { x, y }] of second.cards) assert.deepEqual([x, y], [first.cards.get(id).x, first.cards.get(id).y]);
});
