import assert from "node:assert/strict";
import { test } from "node:test";
import { columns, reversedEdges } from "../../../web/headwater_web/page/js/graph/layers.js";
import { CARD_WIDTH, layout } from "../../../web/headwater_web/page/js/graph/layout.js";
import { benchInput, straightCrossings } from "./bench_graph.mjs";

const cardsOf = (names, height = 60) => names.map((id) => ({ id, height }));
const linksOf = (texts) => texts.map((text) => ({ from: text.split(">")[0], to: text.split(">")[1] }));
const homesOf = (places) => Object.fromEntries(Object.entries(places).map(([id, { column, home }]) => [id, { column, home }]));

function assertNoOverlap(cards, places) {
  const sorted = cards.slice().sort((a, b) => places[a.id].x - places[b.id].x || places[a.id].y - places[b.id].y);
  sorted.slice(1).forEach((card, index) => {
    const above = sorted[index];
    if (places[above.id].x === places[card.id].x)
      assert.ok(places[above.id].y + above.height <= places[card.id].y, `${above.id} overlaps ${card.id}`);
  });
}

// The crossings of `dot` on the same graphs are 0, 35 and 378; the bar is 20 % more.
for (const [count, most] of [[100, 0], [300, 42], [1000, 453]]) {
  test(`${count} cards have at most ${most} crossings, and none overlaps another`, () => {
    const input = benchInput(count);
    const { places } = layout(input);
    const crossings = straightCrossings(input.links, places);
    assert.ok(crossings <= most, `${crossings} crossings`);
    assertNoOverlap(input.cards, places);
  });
}

test("the same input has the same layout", () => {
  assert.deepEqual(layout(benchInput(150)), layout(benchInput(150)));
});

test("a layout of 2,000 cards stays within its budget of steps", () => {
  const input = benchInput(2000);
  const frugal = layout({ ...input, budget: 1 });
  assertNoOverlap(input.cards, frugal.places);
  assert.ok(straightCrossings(input.links, layout(input).places) < straightCrossings(input.links, frugal.places));
});

test("data flows from left to right", () => {
  const { places } = layout({ cards: cardsOf(["a", "b", "c"]), links: linksOf(["a>b", "b>c"]) });
  assert.ok(places.a.x < places.b.x && places.b.x < places.c.x);
  assert.equal(places.a.y, places.b.y);
});

test("a source stands beside what it feeds, not in the first column", () => {
  const column = columns(5, [[0, 1], [1, 2], [2, 3], [4, 3]]);
  assert.deepEqual([...column], [0, 1, 2, 3, 2]);
});

test("a graph without cycles has no reversed edge", () => {
  assert.deepEqual(reversedEdges(3, [[0, 1], [1, 2], [0, 2]]), [false, false, false]);
});

test("a job that reads and writes one dataset has one backward link", () => {
  const { places, routes } = layout({ cards: cardsOf(["orders", "merge"]), links: linksOf(["orders>merge", "merge>orders"]) });
  assert.deepEqual(routes.map((route) => route.backward).sort(), [false, true]);
  assert.notEqual(places.orders.x, places.merge.x);
});

test("a backward link crosses no card", () => {
  const cards = cardsOf(["orders", "other", "merge", "more", "out"]);
  const { places, routes } = layout({ cards, links: linksOf(["orders>merge", "other>merge", "merge>orders", "more>merge", "merge>out"]) });
  const back = routes.find((route) => route.backward);
  const lines = back.points.slice(1).map((end, at) => [back.points[at], end]);
  for (const [start, end] of lines)
    for (const { id, height } of cards) {
      const { x, y } = places[id];
      const apart = Math.max(start.x, end.x) <= x || Math.min(start.x, end.x) >= x + CARD_WIDTH
        || Math.max(start.y, end.y) < y || Math.min(start.y, end.y) > y + height;
      assert.ok(apart, `it crosses ${id}`);
    }
});

test("a long cycle has one backward link, and a loop breaks nothing", () => {
  const { routes } = layout({ cards: cardsOf(["a", "b", "c", "d"]), links: linksOf(["a>b", "b>c", "c>d", "d>a", "b>b"]) });
  assert.equal(routes.filter((route) => route.backward).length, 2);
});

test("no card, one card, cards without links, and two parts", () => {
  assert.deepEqual(layout({ cards: [], links: [] }), { places: {}, routes: [], frames: [] });
  assert.equal(Object.keys(layout({ cards: cardsOf(["a"]), links: [] }).places).length, 1);
  const cards = cardsOf(["a", "b", "c", "d", "e"]);
  assertNoOverlap(cards, layout({ cards, links: linksOf(["a>b", "c>d"]) }).places);
});

test("a link to a card that is not there is an error", () => {
  assert.throws(() => layout({ cards: cardsOf(["a"]), links: linksOf(["a>b"]) }), /without a card/);
});

test("cards of different heights keep their distance", () => {
  const names = Array.from({ length: 30 }, (_, at) => `n${at}`);
  const cards = [{ id: "hub", height: 60 }, ...names.map((id, at) => ({ id, height: 40 + (at % 7) * 50 }))];
  assertNoOverlap(cards, layout({ cards, links: names.map((to) => ({ from: "hub", to })) }).places);
});

test("a long link passes the columns between without crossing a card", () => {
  const cards = cardsOf(["a", "b", "c", "d"]);
  const { places, routes } = layout({ cards, links: linksOf(["a>b", "b>c", "c>d", "a>d"]) });
  const bends = routes[3].points.slice(1, -1);
  assert.equal(bends.length, 4);
  for (const { x, y } of bends)
    for (const { id, height } of cards) {
      const { x: left, y: top } = places[id];
      assert.ok(x < left || x > left + CARD_WIDTH || y < top || y > top + height, `the link crosses ${id}`);
    }
});

test("the cards of a frame are beside one another, and the frame holds no other card", () => {
  const jobs = ["j0", "j1", "j2", "j3", "j4", "j5"];
  const cards = jobs.map((id, at) => ({ id, height: 60, ...(at % 2 ? { frame: "app" } : {}) }));
  cards.push(...cardsOf(["in", "out"]));
  const links = jobs.flatMap((id) => [{ from: "in", to: id }, { from: id, to: "out" }]);
  const { places, frames } = layout({ cards, links });
  assert.equal(frames.length, 1);
  const inside = cards.filter(({ id }) => places[id].x > frames[0].x && places[id].x < frames[0].x + frames[0].width
    && places[id].y >= frames[0].y && places[id].y < frames[0].y + frames[0].height);
  assert.deepEqual(inside.map(({ id }) => id).sort(), ["j1", "j3", "j5"]);
  assertNoOverlap(cards, places);
});

test("what was there does not move when cards are added", () => {
  const before = benchInput(100);
  const first = layout(before);
  const cards = [...before.cards, ...cardsOf(["x", "y", "z", "far"])];
  const links = [...before.links, ...linksOf(["n3>x", "n3>y", "z>n50", "y>far", "far>n99"])];
  const second = layout({ cards, links, previous: homesOf(first.places) });
  for (const { id } of before.cards) assert.deepEqual(second.places[id], first.places[id]);
  assert.ok(second.places.x.x > second.places.n3.x && second.places.z.x < second.places.n50.x);
  assertNoOverlap(cards, second.places);
});

test("a card that grows pushes those below it down, and they return when it shrinks", () => {
  const cards = cardsOf(["hub", "a", "b", "c"]);
  const links = linksOf(["hub>a", "hub>b", "hub>c"]);
  const first = layout({ cards, links });
  const grown = cards.map((card) => (card.id === "a" ? { ...card, height: 300 } : card));
  const second = layout({ cards: grown, links, previous: homesOf(first.places) });
  assert.equal(second.places.a.y, first.places.a.y);
  assertNoOverlap(grown, second.places);
  const third = layout({ cards, links, previous: homesOf(second.places) });
  assert.deepEqual(third.places, first.places);
});

test("5,000 new readers of a hub find places without overlap", () => {
  const cards = cardsOf(["hub", ...Array.from({ length: 5000 }, (_, at) => `r${at}`)]);
  const first = layout({ cards: cards.slice(0, 1), links: [] });
  const links = cards.slice(1).map(({ id }) => ({ from: "hub", to: id }));
  assertNoOverlap(cards, layout({ cards, links, previous: homesOf(first.places) }).places);
});
