/** The steps of a request's life, in order, at which the process can be made to die. */
export const FAIL_POINTS = [
  // Admission
  "authenticated",
  "limits claimed",
  "reserve queued",
  "reserve sent",
  "reserve committed",
  "hold to be annulled",
  // Dispatch
  "dispatch",
  "dispatched",
  "headers arrived",
  "output sent",
  "client left",
  // Failover
  "roll queued",
  "roll sent",
  "roll committed",
  // Settlement
  "settle queued",
  "settle sent",
  "settle committed",
  "last bytes",
  "answered",
  // The next start
  "joined",
  "recovered",
] as const;

export type FailPoint = (typeof FAIL_POINTS)[number];

/** The action of the process when it comes to the point. */
export interface Order {
  readonly at: FailPoint;
  /** The n-th time since the order was given. Default 1. */
  readonly nth?: number;
  /**
   * `die`: kill -9 of itself. `terminate`: SIGTERM to itself, and on. `wait`: until ordered to
   * continue; only where a step can wait: before a batch is sent, and after a reserve has
   * committed.
   */
  readonly act: "die" | "terminate" | "wait";
}

/** A test's order to the process, which is loaded and waits for `begin`; all are answered. */
export type Command =
  { readonly order: Order } | { readonly goOn: true } | { readonly begin: true };

export type Report = { readonly done: true } | { readonly waitingAt: FailPoint };
