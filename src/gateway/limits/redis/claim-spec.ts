import { assert, type LimitKind, defined } from "../../../kernel/index.ts";
import { bucketSeconds } from "../rolling-window.ts";
import {
  type ClaimOutcome,
  type DeclaredWindow,
  kindOfWindow,
  type LimitClaim,
  type LimitSet,
  pacingIntervalUs,
  pacingWaitUsMax,
  type ScopeClaim,
  type ScopeUsage,
} from "../limit-store.ts";
import { MARK_SECONDS, USAGE_SECONDS } from "./take-steps.ts";

/** The part of a claim that depends only on its scopes, so it is built once per array of scopes. */
export interface ClaimSpec {
  readonly slot: string;
  readonly scopes: readonly ScopeClaim[];
  /** Redis keys: the slot's marker (missing if the slot was lost), usage and leases by scope. */
  readonly keys: readonly string[];
  /**
   * The limits as JSON, as the scripts read them: how many seconds the marker is kept, then for
   * each scope [rps, rpm, tpm, concurrent, microseconds between turns (0 = no pace), longest wait
   * in microseconds, [bucket seconds, amount (1 requests, 3 prompt tokens, 4 completion tokens),
   * limit, …], seconds to keep]; a limit of -1 means none, and -2 that nothing is counted either.
   */
  readonly limits: string;
  readonly turns: number;
}

export class ClaimSpecs {
  readonly #known: WeakMap<readonly ScopeClaim[], ClaimSpec> = new WeakMap();

  of({ slot, scopes }: Pick<LimitClaim, "slot" | "scopes">): ClaimSpec {
    const known = this.#known.get(scopes);
    if (known?.slot === slot) return known;
    const made = buildSpec(slot, scopes);
    this.#known.set(scopes, made);
    return made;
  }
}

/** A slot is the hash tag of all its keys, so that a cluster keeps these keys on one server. */
export function markKey(slot: string): string {
  return `tm:${slot}`;
}

export function usageKey(slot: string, id: string): string {
  return `tm:${slot}:use:${id}`;
}

export function heldKey(slot: string, id: string): string {
  return `tm:${slot}:held:${id}`;
}

export function readRefused(
  { spec, departed }: { readonly spec: ClaimSpec; readonly departed: ClaimSpec | undefined },
  [at = -1, reason = -1, retryAfterSeconds = 1, used, asked]: readonly number[],
): ClaimOutcome | undefined {
  const own = spec.scopes[at];
  const claimed = own ?? departed?.scopes[at - spec.scopes.length];
  const exhausted = claimed === undefined ? undefined : findReason(claimed, reason);
  if (claimed === undefined || exhausted?.limit === undefined) return undefined;
  const { scope } = claimed;
  const id = claimed.shownId ?? claimed.id;
  const { kind: limitKind, limit } = exhausted;
  return {
    kind: "refused",
    scope,
    limitKind,
    id,
    limit,
    retryAfterSeconds,
    ...defined({ used, asked }),
    ...(own === undefined && { isDeparted: true }),
  };
}

export function readUsages(
  { scopes }: ClaimSpec,
  answer: readonly number[],
): readonly ScopeUsage[] | undefined {
  if (answer.length !== 3 * scopes.length) return undefined;
  return scopes.map((_, at) => {
    const [requests = 0, tokens = 0, inFlight = 0] = answer.slice(3 * at);
    return { requests, tokens, inFlight };
  });
}

function buildSpec(slot: string, scopes: readonly ScopeClaim[]): ClaimSpec {
  assert(/^\{[^{}]+\}$/.test(slot), "a slot is a hash tag: one name in braces");
  const ids = scopes.map(({ id }) => id);
  assert(new Set(ids).size === ids.length, "a claim names each scope once");
  const keep = scopes.map(({ limits }) => secondsToKeep(limits.windows ?? []));
  const rows = scopes.map((scope, at) => [...limitsRow(scope), keep[at]]);
  return {
    slot,
    scopes,
    keys: [markKey(slot), ...ids.flatMap((id) => [usageKey(slot, id), heldKey(slot, id)])],
    limits: JSON.stringify([Math.max(MARK_SECONDS, ...keep), ...rows]),
    turns: scopes.filter(({ limits }) => limits.paced !== undefined).length,
  };
}

function limitsRow({ limits, countsOnlyLimited }: ScopeClaim): (number | readonly number[])[] {
  const { requestsPerSecond, requestsPerMinute, tokensPerMinute, concurrent, paced } = limits;
  const none = countsOnlyLimited === true ? -2 : -1;
  return [
    requestsPerSecond ?? -1,
    requestsPerMinute ?? none,
    tokensPerMinute ?? none,
    concurrent ?? none,
    paced === undefined ? 0 : pacingIntervalUs(paced),
    paced === undefined ? 0 : pacingWaitUsMax(paced),
    (limits.windows ?? []).flatMap((each) => [
      bucketSeconds(each),
      QUANTITY[each.kind],
      each.limit,
    ]),
  ];
}

const QUANTITY: Readonly<Record<DeclaredWindow["kind"], number>> = {
  request: 1,
  prompt: 3,
  completion: 4,
};

/** The longest window plus one bucket, and 70 seconds for a clock that steps back by a minute. */
function secondsToKeep(windows: readonly DeclaredWindow[]): number {
  const long = windows.map((each) => each.seconds + bucketSeconds(each) + 70);
  return Math.max(USAGE_SECONDS, ...long);
}

interface Reason {
  readonly kind: LimitKind;
  readonly limit: number | undefined;
}

/** Reasons by number in the script's answer; declared windows have the numbers after these. */
const REASONS: readonly ((limits: LimitSet) => Reason)[] = [
  () => ({ kind: "capacity", limit: 0 }),
  (limits) => ({ kind: "rps", limit: limits.requestsPerSecond }),
  (limits) => ({ kind: "rpm", limit: limits.requestsPerMinute }),
  (limits) => ({ kind: "tpm", limit: limits.tokensPerMinute }),
  (limits) => ({ kind: "concurrency", limit: limits.concurrent }),
  (limits) => ({ kind: "rps_queue", limit: limits.paced?.perSecond }),
];

function findReason({ limits }: ScopeClaim, reason: number): Reason | undefined {
  const window = limits.windows?.[reason - REASONS.length];
  if (window !== undefined) return { kind: kindOfWindow(window), limit: window.limit };
  return REASONS[reason]?.(limits);
}
