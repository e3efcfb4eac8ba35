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
   * `die`: the process kills itself with SIGKILL. `terminate`: it sends itself SIGTERM and goes on.
   * `wait`: it waits until it is ordered to go on, which is possible only before a batch is sent
   * and after a reserve or a roll has committed.
   */
  readonly act: "die" | "terminate" | "wait";
}

/** A test's command to the process, which has loaded and waits for `begin`. It answers each one. */
export type Command =
  { readonly order: Order } | { readonly goOn: true } | { readonly begin: true };

export type Report = { readonly done: true } | { readonly waitingAt: FailPoint };
