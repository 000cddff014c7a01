// Sending dead letters back, from the report on them: what is chosen, a confirmation, and the result.

import { ApiProblem } from "../api.js";
import { fill, h } from "../dom.js";
import { counted, formatNumber } from "../format.js";
import { section } from "../widgets.js";
import { signIn } from "./signin.js";

/** @typedef {import("../types.d.ts").Context} Context */
/** @typedef {{redriven: number, deleted: string[], missing: string[]}} Redriven */
/** @typedef {{code: string, messages: number}} Reason */

const PATH = "/api/v1/dead-letters/redrive";
const NAMED = 20;

/**
 * Return the part of the report with which operators send letters back; others see that they may not.
 * @param {Reason[]} reasons the rows of the report
 * @param {Context} context
 */
export async function redriveSection(reasons, context) {
  const session = await context.api.get("/api/v1/session", {}, context.signal);
  const box = h("div", { class: "redrive" });
  if (session.operator) fill(box, form(reasons, box, context));
  else fill(box, noPermission(box, session.by !== "header", context));
  return section("Send back", box);
}

/**
 * Return what a caller without the permission sees.
 * @param {HTMLElement} box in which signing in is offered
 * @param {boolean} canSignIn
 * @param {Context} context
 */
function noPermission(box, canSignIn, context) {
  const retry = () => context.go({ view: "operations", params: { report: "dead-letters" } });
  const other = () => signIn(box, { api: context.api, signal: context.signal, announce: context.announce, retry });
  return h("div", { class: "refused", role: "note" },
    h("p", null, h("strong", null, "No permission."), " Only operators may send dead letters back."),
    h("p", { class: "dim" }, canSignIn ? "Sign in with one of HEADWATER_WEB_OPERATOR_TOKENS, or ask whoever runs this server." : "Ask whoever runs this server to name you in HEADWATER_WEB_OPERATOR_USERS."),
    canSignIn && h("p", null, h("button", { type: "button", onclick: other }, "Sign in as an operator")));
}

/**
 * @param {Reason[]} reasons
 * @param {HTMLElement} box
 * @param {Context} context
 */
function form(reasons, box, context) {
  const total = reasons.reduce((sum, { messages }) => sum + messages, 0);
  const choice = h("select", { id: "redrive-code" },
    reasons.map(({ code, messages }) => h("option", { value: code }, `${code} (${formatNumber(messages)})`)),
    h("option", { value: "" }, `all (${formatNumber(total)})`));
  const result = h("div", { class: "redrive-result", role: "status" });
  const button = h("button", { type: "button", onclick: () => confirmed() }, "Send back …");
  function confirmed() {
    const code = choice.value;
    const count = reasons.find((reason) => reason.code === code)?.messages ?? total;
    confirm(`Send ${counted(count, "message")} back?`, code ? `Those that were rejected as ${code}.` : "All dead letters, whatever the reason.", () => void send(code));
  }
  /** @param {string} code */
  async function send(code) {
    button.disabled = true;
    fill(result, h("p", null, "Sending …"));
    try {
      fill(result, outcome(await context.api.post(PATH, code ? { code } : { all: true }, context.signal)));
    } catch (fault) {
      if (context.signal.aborted) return;
      if (!(fault instanceof ApiProblem)) throw fault;
      if (fault.status === 403) fill(box, noPermission(box, true, context));
      else fill(result, h("p", { class: "field-error" }, `Nothing is known to be sent: ${fault.message}`));
    } finally {
      button.disabled = false;
    }
    button.focus();
  }
  return [h("p", { class: "dim" }, "As they were, to the topic from which they came. Send them back once the reason is gone; what is still unusable becomes a dead letter again."),
    h("div", { class: "field-row" }, h("label", { for: "redrive-code" }, "Reason"), choice, button), result];
}

/** @param {Redriven} done */
function outcome({ redriven, deleted, missing }) {
  const lost = [...deleted, ...missing];
  return [
    h("p", null, `${counted(redriven, "message")} sent back. The report still counts them: letters stay on their topic.`),
    lost.length > 0 && h("p", { class: "state-warn" }, `${counted(lost.length, "message")} could not be sent, since Kafka has deleted ${lost.length === 1 ? "it" : "them"}; an archive may have ${lost.length === 1 ? "it" : "them"}:`),
    lost.length > 0 && h("ul", { class: "plain" }, lost.slice(0, NAMED).map((name) => h("li", null, h("bdi", { class: "mono" }, name)))),
  ];
}

/**
 * Ask before something is done; Escape and "Cancel" do nothing.
 * @param {string} question
 * @param {string} detail
 * @param {() => void} action
 */
function confirm(question, detail, action) {
  const done = () => (dialog.close(), action());
  const dialog = h("dialog", { class: "help", "aria-labelledby": "confirm-title", onclose: () => dialog.remove() },
    h("h2", { id: "confirm-title" }, question),
    h("p", null, detail),
    h("p", { class: "actions" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), " ", h("button", { type: "button", onclick: done }, "Send back")));
  document.body.append(dialog);
  dialog.showModal();
}
