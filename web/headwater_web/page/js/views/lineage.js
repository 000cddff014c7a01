// The graph of a dataset, job or run.

import { ApiProblem } from "../api.js";
import { append, h } from "../dom.js";
import { splitName } from "../format.js";
import { nameElement, nodeLink } from "../widgets.js";
import { stateOfParams } from "../graph/state.js";
import { GraphView } from "../graph/view.js";

/** @typedef {import("../types.d.ts").Address} Address */
/** @typedef {import("../types.d.ts").Context} Context */

/** @param {Address} address */
export const title = ({ params }) => `Lineage of ${params.name ? splitName(params.name).tail : `run ${params.id ?? ""}`} | headwater`;

/**
 * Show the graph.
 * @param {HTMLElement} root
 * @param {Address} address
 * @param {Context} context
 */
export async function show(root, address, context) {
  const state = stateOfParams(address.params);
  if (!state.start[state.start.length - 1]) throw new ApiProblem(400, "This address names nothing", "It needs kind, namespace and name, or kind=run and id.");
  const view = new GraphView(state, context);
  await view.load();
  append(root, [heading(view), view.element]);
  view.firstSight();
  view.map.draw();
}

/** @param {GraphView} view */
function heading({ graph, state }) {
  const node = graph.nodes.get(graph.start);
  const [kind, namespace, name] = state.start;
  const shown = node ? (kind === "run" ? node.name : name) : name;
  return h("h1", { tabindex: "-1", class: "graph-title" },
    h("span", { class: "dim" }, `Lineage of ${kind} `),
    kind === "run" ? nodeLink(["run", namespace]) : nodeLink([kind, namespace, name], { withNamespace: false }),
    kind === "run" && node && [" ", nameElement(shown)]);
}
