"""What `bench/page.py` runs inside the browser, in JavaScript."""

from __future__ import annotations

PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
"""Returns the milliseconds to the first contentful paint."""

ANSWERS = """() => performance.getEntriesByType('resource').filter(({name}) => name.includes('/api/')).map((entry) => ({
  path: new URL(entry.name).pathname.replace('/api/v1/', ''), milliseconds: entry.duration, bytes: entry.decodedBodySize}))"""
"""Returns the requests to the API: path, milliseconds, bytes."""

WIRE = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .filter(({name}) => !name.includes('/api/')).reduce((sum, {transferSize}) => sum + transferSize, 0)"""
"""Returns the bytes over the wire of everything but answers of the API."""

TYPED = """async ([text, first]) => {
  const [input, list] = [document.querySelector('main input[role=combobox]'), document.querySelector('main [role=listbox]')];
  const answered = () => new Promise((resolve) => {
    const note = input.closest('search').querySelector('.search-note');
    const done = () => { observer.disconnect(); requestAnimationFrame(() => resolve(performance.now() - began)); };
    const observer = new MutationObserver(done);
    observer.observe(list, {childList: true});
    observer.observe(note, {childList: true, characterData: true, subtree: true});
  });
  let began = performance.now();
  const type = (value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})); };
  for (const end of [...text].keys()) { type(text.slice(0, end + 1)); await new Promise((go) => setTimeout(go, 60)); }
  began = performance.now() - 60;
  const took = await answered();
  return {took, options: list.children.length};
}"""
"""Types a text into the search box; returns the milliseconds from the last key to the options, and how many there are."""

PANNED = """async ([selector, seconds]) => {
  const canvas = document.querySelector(selector);
  const at = canvas && canvas.getBoundingClientRect();
  const times = [];
  const began = performance.now();
  await new Promise((resolve) => {
    const frame = (now) => {
      times.push(now);
      if (now - began > seconds * 1000) return resolve();
      const step = Math.sin((now - began) / 600) > 0 ? 24 : -24;
      if (canvas) canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: step, shiftKey: true, bubbles: true, cancelable: true,
        clientX: at.x + 50, clientY: at.y + 50}));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const frames = times.length;
  const gaps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
  return {frames, rate: (times.length - 1) / ((times.at(-1) - times[0] || seconds * 1000) / 1000),
    slowest: gaps[Math.floor(gaps.length * 0.95)] ?? 0,
    cards: document.querySelectorAll('.card').length};
}"""
"""Pans a canvas for some seconds; returns its frames, their rate and the 95th percentile of the time between them."""

LAID_OUT = """async ([count, rounds]) => {
  const {layout} = await import('/page/js/graph/layout.js');
  const width = Math.ceil(count / Math.max(6, Math.round(Math.log2(count) * 2)));
  const cards = Array.from({length: count}, (_, at) => ({id: `n${at}`, height: 76}));
  const links = cards.slice(width).flatMap((_, at) => [at, (at * 7 + 3) % width + Math.floor(at / width) * width]
    .slice(0, 1 + at % 2).map((from) => ({from: `n${from}`, to: `n${at + width}`})));
  const times = Array.from({length: rounds}, () => {
    const began = performance.now();
    layout({cards, links});
    return performance.now() - began;
  });
  return {first: times[0], median: times.slice().sort((a, b) => a - b)[rounds >> 1], links: links.length};
}"""
"""Lays out a grid of cards some times; returns the first and the median time, in milliseconds."""
