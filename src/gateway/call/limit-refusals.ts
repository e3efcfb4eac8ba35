import type { Principal } from "../accounts/principal.ts";
import {
  formatUsd,
  JOURNAL_RETRY_AFTER_SECONDS,
  type LimitKind,
  type LimitScope,
  type MicroUsd,
  refusal,
  type Refusal,
  presentKeyId,
  unavailable,
  unreachable,
} from "../../kernel/index.ts";
import type { ReserveOutcome } from "../../ledger/index.ts";
import {
  type ClaimOutcome,
  type ScopeClaim,
  type TokenCount,
  mostTokens,
  neverFits,
} from "../limits/limit-store.ts";
import type { CallTokens } from "./call-kind.ts";

export type RefusedClaim = Exclude<ClaimOutcome, { kind: "claimed" }>;

const SCOPE_LABELS: Readonly<Record<LimitScope, string>> = {
  platform: "the platform",
  org: "the organization",
  workspace: "the workspace",
  principal: "the account",
  key: "this key",
  model: "this model",
  pool: "the provider's pool",
  endpoint: "the dedicated endpoint",
};

const LIMIT_LABELS: Readonly<Partial<Record<LimitKind, (limit: number) => string>>> = {
  rpm: (limit) => `${limit} requests per minute`,
  tpm: (limit) => `${limit} tokens per minute`,
  rps: (limit) => `${limit} requests per second`,
  rps_queue: (limit) => `${limit} requests per second, and its queue is full`,
  concurrency: (limit) => `${limit} requests in flight`,
  capacity: (limit) =>
    limit === 0 ? "no requests for a moment" : `${limit} in its declared window`,
};

function limitWords(scope: LimitScope, kind: LimitKind, limit: number): string {
  return `${SCOPE_LABELS[scope]} is limited to ${LIMIT_LABELS[kind]?.(limit) ?? "less than that"}`;
}

/** Builds the refusal of a claim. `nowMs` is wall-clock time, from which `retry_at` is computed. */
export function claimRefusal(outcome: RefusedClaim, nowMs: number): Refusal {
  if (outcome.kind === "unavailable") {
    return infrastructure("the limit store does not answer; nothing was sent and nothing charged");
  }
  const { scope, limitKind, id, limit, retryAfterSeconds, used, asked } = outcome;
  const isDeparted = outcome.isDeparted === true;
  const why = isDeparted ? `: ${readToTheirEnd(used ?? limit)}` : usedWords(outcome);
  const detail = {
    limit: { scope, kind: limitKind, id },
    figures: { limit, ...(used !== undefined && { used }), ...(asked !== undefined && { asked }) },
    retryAfterSeconds,
    retryAtMs: nowMs + retryAfterSeconds * 1000,
  };
  const limited = `${limitWords(scope, limitKind, limit)}${why}; retry in ${retryAfterSeconds} s`;
  if (scope === "platform") {
    const message = `${limited}; nothing was sent and nothing charged`;
    return refusal("gateway_error", message, {
      status: 503,
      origin: "gateway_infrastructure",
      ...detail,
    });
  }
  const isPool = scope === "pool";
  const next = isPool ? "or choose another model meanwhile" : "GET /v1/limits shows what is left";
  const origin = isPool ? "upstream_quota" : "gateway_admission";
  return refusal("rate_limit", `${limited}, ${next}`, { origin, ...detail });
}

/** Refuses a request that never fits into a limit, and names the largest size that fits. */
export function sizeRefusal(
  parts: readonly { readonly scopes: readonly ScopeClaim[] }[],
  tokens: CallTokens,
): Refusal | undefined {
  for (const { scopes } of parts) {
    const never = neverFits(scopes, tokens);
    if (never === undefined) continue;
    const { kind, limit, asked } = never;
    const { scope, id, shownId = id } = never.scope;
    const most = mostTokens(parts.flatMap((each) => each.scopes));
    return refusal(
      "rate_limit",
      `${limitWords(scope, kind, limit)}, and this request alone may take ${asked}, so it is never admitted; ${fittingWords(most, tokens)}`,
      {
        origin: scope === "pool" ? "upstream_quota" : "gateway_admission",
        limit: { scope, kind, id: shownId },
        figures: { limit, asked },
        retryable: false,
      },
    );
  }
  return undefined;
}

/** Names the largest input for this output, and vice versa. One byte counts as one token. */
function fittingWords(most: TokenCount, asked: CallTokens): string {
  const { promptTokens: input, completionTokens: output, besideBytes = 0 } = asked;
  const mayLower = output > 0 && asked.isOutputFixed !== true;
  const bytes = Math.min(most.promptTokens, most.tokens - output) - besideBytes;
  const outputTokens = Math.min(most.completionTokens, most.tokens - input);
  const withOutput = mayLower ? ` with this max_tokens of ${output}` : "";
  const withMedia = besideBytes === 0 ? "" : " with its media and questions as they are";
  const inputUnit = besideBytes === 0 ? "bytes" : "tokens of input";
  const both = withMedia !== "" && withOutput !== "" ? " and" : "";
  const fitting = [
    ...(bytes > 0 && output <= most.completionTokens
      ? [`at most ${bytes} bytes${withMedia}${both}${withOutput}`]
      : []),
    ...(mayLower && outputTokens > 0 && input <= most.promptTokens
      ? [`at most ${outputTokens} output tokens with this input`]
      : []),
  ];
  if (fitting.length > 0) return `what fits is ${fitting.join(", or ")}`;
  const together = [
    { amount: Math.min(most.promptTokens, most.tokens), of: inputUnit },
    { amount: Math.min(most.completionTokens, most.tokens), of: "output tokens" },
    { amount: most.tokens, of: "of both together" },
  ].flatMap(({ amount, of }) => (amount === Infinity ? [] : [`${amount} ${of}`]));
  return `what fits is at most ${together.join(", ")}`;
}

/** For example `: 60 used in the last minute`; empty for limits whose use is not shown. */
function usedWords({ limitKind, used, asked }: RefusedClaim & { kind: "refused" }): string {
  const when = USED_WHEN[limitKind];
  if (when === undefined || used === undefined) return "";
  const more = asked === undefined || asked === 1 ? "" : `, and this request may take ${asked}`;
  return `: ${used} used${when}${more}`;
}

const USED_WHEN: Readonly<Partial<Record<LimitKind, string>>> = {
  rpm: " in the last minute",
  tpm: " in the last minute",
  rps: " in this second",
  capacity: "",
};

function readToTheirEnd(departed: number): string {
  const [requests, have, end] =
    departed === 1
      ? ["request is", "it has a disconnected client and is", "its end"]
      : ["requests are", `${departed} of them have disconnected clients and are`, "their end"];
  return `${departed} ${requests} running; ${have} read to ${end}`;
}

export interface HoldAsked {
  readonly needed: MicroUsd;
  /** The most output tokens within `micros` micro-USD; undefined if fewer tokens cost the same. */
  readonly outputWithin: (micros: bigint) => number | undefined;
}

export function reserveRefusal(
  outcome: Exclude<ReserveOutcome, { kind: "reserved" }>,
  principal: Pick<Principal, "orgId" | "keyId" | "keyOrigin">,
  asked: HoldAsked,
): Refusal {
  switch (outcome.kind) {
    case "unavailable":
      return infrastructure(
        "the ledger journal does not answer; nothing was sent and nothing charged",
      );
    case "low_balance":
      return balanceRefusal(outcome, asked);
    case "cap":
      return capRefusal(outcome, principal, asked);
    default:
      return unreachable(outcome);
  }
}

function balanceRefusal(
  outcome: Extract<ReserveOutcome, { kind: "low_balance" }>,
  asked: HoldAsked,
): Refusal {
  const { availableMicroUsd: available, heldMicroUsd: inFlight } = outcome;
  const { needed } = asked;
  const transient = available + inFlight >= needed;
  const { fits, lower } = payableWords(asked, available, "this balance");
  const next = transient ? "retry when a running request has ended" : `buy credit or ${lower}`;
  return refusal(
    "insufficient_quota",
    `this request may cost up to $${formatUsd(needed)}; $${formatUsd(available)} is available and $${formatUsd(inFlight)} is held by running requests; ${fits}${next}`,
    {
      origin: "gateway_admission",
      limit: { scope: "org", kind: "spend" },
      figures: { available, inFlight, needed },
      retryable: transient,
    },
  );
}

function capRefusal(
  outcome: Extract<ReserveOutcome, { kind: "cap" }>,
  principal: Pick<Principal, "orgId" | "keyId" | "keyOrigin">,
  asked: HoldAsked,
): Refusal {
  const { scope, period, resetAtMs } = outcome;
  const { capMicroUsd: cap, settledMicroUsd: spent, inFlightMicroUsd: inFlight } = outcome;
  const { needed } = asked;
  const id = scope === "org" ? `org:${principal.orgId}` : `key:${presentKeyId(principal)}`;
  const whose = scope === "org" ? "the organization's" : "this key's";
  const { adjective, now } = PERIOD_WORDS[period];
  const isLarger = needed > cap;
  const { fits, lower } = isLarger
    ? payableWords(asked, cap, "the whole cap")
    : payableWords(asked, cap - spent - inFlight, "what is left of it");
  const reset = new Date(resetAtMs).toISOString();
  const next = isLarger
    ? `${lower} or raise the cap; that it resets at ${reset} does not help`
    : `${lower}, raise the cap or resend after it resets at ${reset}`;
  return refusal(
    "insufficient_quota",
    `${whose} ${adjective} spend cap (scope ${scope}) of $${formatUsd(cap)} would be exceeded: $${formatUsd(spent)} is spent ${now} and $${formatUsd(inFlight)} in flight, this request may cost up to $${formatUsd(needed)}; ${fits}${next}`,
    {
      origin: "gateway_admission",
      limit: { scope, kind: "spend", id },
      ...(period === "month" ? {} : { capPeriod: period }),
      figures: { cap, spent, inFlight, needed },
      retryable: false,
      capResetAtMs: resetAtMs,
    },
  );
}

function payableWords(
  { outputWithin }: HoldAsked,
  micros: bigint,
  whose: string,
): { readonly fits: string; readonly lower: string } {
  const output = outputWithin(micros);
  if (output === undefined) return { fits: "", lower: "ask for less" };
  return output === 0
    ? {
        fits: `not even its input and one output token fit with ${whose}; `,
        lower: "shorten its input",
      }
    : {
        fits: `what fits is at most ${output} output tokens with ${whose}; `,
        lower: "lower max_tokens",
      };
}

const PERIOD_WORDS = {
  day: { adjective: "daily", now: "today" },
  week: { adjective: "weekly", now: "this week" },
  month: { adjective: "monthly", now: "this month" },
} as const;

function infrastructure(message: string): Refusal {
  return unavailable(`${message}; retry in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`);
}
