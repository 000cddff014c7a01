// Elements from data. Text only ever becomes a text node, and an address is only followed if it is http(s) or of this page.

/** @typedef {import("./types.d.ts").Child} Child */
/** @typedef {import("./types.d.ts").Attributes} Attributes */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return whether a link may lead to an address: http, https, or a path or fragment of this page.
 * @param {unknown} address
 * @returns {address is string}
 */
export function isSafeLink(address) {
  if (typeof address !== "string") return false;
  // Browsers ignore control characters and spaces before and inside the scheme.
  if (/[\u0000-\u001f\u007f\\]/.test(address)) return false;
  return /^https?:\/\//i.test(address) || /^\/(?!\/)/.test(address) || /^[#?]/.test(address);
}

/**
 * Return an HTML element. `on...` functions become listeners, `style` is an object of properties, `data` of data attributes;
 * true sets an empty attribute, false and null none; an unsafe `href` is left out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes | null} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes ?? {});
  append(element, children);
  return element;
}

/**
 * Return an SVG element, with attributes and children as those of `h`.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes | null} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes ?? {});
  append(element, children);
  return /** @type {SVGElementTagNameMap[T]} */ (element);
}

/**
 * Append children; lists are flattened, absent ones are left out.
 * @param {Node} parent
 * @param {readonly Child[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replace everything in an element.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * @param {HTMLElement | SVGElement} element
 * @param {Attributes} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "style") setStyle(element, /** @type {Record<string, string>} */ (value));
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "href" || name === "src") isSafeLink(value) && element.setAttribute(name, value);
    else if (!/^on/i.test(name)) element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * Set properties one by one: the content security policy forbids style attributes.
 * @param {HTMLElement | SVGElement} element
 * @param {Record<string, string>} style
 */
function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
}
