// Sign-in: a token becomes a session of this browser.

import { ApiProblem } from "../api.js";
import { fill, h } from "../dom.js";

/** @typedef {import("../types.d.ts").Api} Api */

/**
 * Ask for a token; after a successful sign-in the view is shown again.
 * @param {HTMLElement} root
 * @param {{api: Api, signal: AbortSignal, announce(text: string): void, retry(): void}} recovery
 */
export function signIn(root, recovery) {
  const token = h("input", { id: "token", name: "token", type: "password", autocomplete: "current-password", required: true, spellcheck: "false" });
  const fault = h("p", { class: "field-error", role: "alert" });
  const form = h(
    "form",
    { class: "sign-in", onsubmit: (/** @type {SubmitEvent} */ event) => void submit(event) },
    h("h1", { tabindex: "-1" }, "Sign in"),
    h("p", { class: "dim" }, "This server needs a token: one of HEADWATER_WEB_TOKENS. The browser stores a session, not the token."),
    h("label", { for: "token" }, "Token"),
    h("div", { class: "field-row" }, token, h("button", { type: "submit" }, "Sign in")),
    fault,
  );
  fill(root, form);
  token.focus();

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    fault.textContent = "";
    try {
      await recovery.api.post("/api/v1/session", { token: token.value.trim() }, recovery.signal);
      recovery.retry();
    } catch (problem) {
      if (recovery.signal.aborted) return;
      if (!(problem instanceof ApiProblem)) throw problem;
      fault.textContent = problem.status === 401 ? "This token is not known to the server." : problem.message;
      token.select();
    }
  }
}
