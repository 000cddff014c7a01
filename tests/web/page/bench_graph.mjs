// Lineage-like layered graphs, and the number of crossings of straight links between the same two columns.

/** Return the links [from, to] of a graph of `count` nodes, always the same for one `count`. */
export function benchLinks(count) {
  let seed = 42;
  const random = () => (seed = (seed * 1664525 + 1013904223) >>> 0) / 2 ** 32;
  const size = Math.ceil(count / Math.max(6, Math.round(Math.log2(count) * 2)));
  const links = [];
  for (let node = size; node < count; node++) {
    const wanted = 1 + Math.floor(random() * 2);
    const column = Math.floor(node / size);
    const seen = new Set();
    for (let link = 0; link < wanted; link++) {
      const back = random() < 0.85 ? 1 : 1 + Math.floor(random() * Math.min(3, column));
      const source = Math.max(0, Math.min(size - 1, Math.round((node % size) + (random() - 0.5) * size * 0.1)));
      const from = (column - Math.min(back, column)) * size + source;
      if (from < count && !seen.has(from) && from !== node) {
        seen.add(from);
        links.push([from, node]);
      }
    }
  }
  return links;
}

export function benchInput(count, height = 60) {
  const cards = Array.from({ length: count }, (_, node) => ({ id: `n${node}`, height }));
  return { cards, links: benchLinks(count).map(([from, to]) => ({ from: `n${from}`, to: `n${to}` })) };
}

export function straightCrossings(links, places) {
  const ends = links.map(({ from, to }) => [places[from], places[to]]);
  let crossings = 0;
  ends.forEach(([a, b], index) => {
    for (const [p, q] of ends.slice(index + 1)) if (a.x === p.x && b.x === q.x && (a.y - p.y) * (b.y - q.y) < 0) crossings++;
  });
  return crossings;
}
