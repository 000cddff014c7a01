/** Types that modules share. Modules name them as `import("./types.d.ts").View`. */

export type ViewName = "home" | "dataset" | "job" | "run" | "lineage" | "diff" | "operations";

/** The parameters of an address; absent ones have no key. */
export type Params = Record<string, string>;

/** What the page shows, as its URL names it. */
export interface Address {
  view: ViewName;
  params: Params;
}

/** The value of one query parameter; lists are sent as repeated parameters, undefined and null are left out. */
export type QueryValue = string | number | boolean | readonly string[] | null | undefined;

export interface Api {
  /** Return the JSON answer to GET; throws ApiProblem, or AbortError once the signal is aborted. */
  get(path: string, params?: Record<string, QueryValue>, signal?: AbortSignal): Promise<any>;
  /** Return the JSON answer to POST (null if it is empty); throws as `get`. */
  post(path: string, body: unknown, signal?: AbortSignal): Promise<any>;
  /** Receive the `run` events of a stream until it ends or the signal is aborted. */
  stream(path: string, onEvent: (data: any) => void, signal: AbortSignal): void;
}

export interface Context {
  api: Api;
  /** Show an address. With `replace` only the URL changes: the view that asks for it already shows it. */
  go(address: Address, options?: { replace?: boolean }): void;
  /** Aborted as soon as another address is shown. */
  signal: AbortSignal;
  /** Say a text to users of screen readers. */
  announce(text: string): void;
}

export interface View {
  title(address: Address): string;
  /** Fill the empty main element; throws ApiProblem for the error state. */
  show(root: HTMLElement, address: Address, context: Context): Promise<void>;
}

/** The reference of a node in answers: kind, namespace, name, column; of a run: kind, id. */
export type Reference = string[];

/** How a state is shown. */
export interface Appearance {
  text: string;
  shape: string;
  className: "state-ok" | "state-bad" | "state-warn" | "state-run" | "state-dim";
}

export type Child = Node | string | number | null | undefined | false | Child[];
export type Attributes = Record<string, unknown>;
