import { explainRefusal, isManagedOrigin, parseUsd } from "../../kernel/index.ts";
import type { Refused, ReportedRequest } from "../../gateway/index.ts";
import type { Refusal } from "./contract.ts";

type Reason = NonNullable<Refused["reason"]>;
type Explained = Pick<Refusal, "explanation" | "action" | "key_id">;

export function presentRefusal(
  request: Pick<ReportedRequest, "keyId" | "keyOrigin" | "modelId" | "route">,
  { errorClass, reason }: Refused,
): Refusal {
  const keyId = isManagedOrigin(request.keyOrigin) ? null : request.keyId;
  const asked = { ...request, keyId };
  const explained = (reason === null ? undefined : explainReason(reason, asked, errorClass)) ?? {
    explanation: explainRefusal(errorClass),
    action: ACTIONS[errorClass] ?? null,
    key_id: null,
  };
  return { error_class: errorClass, ...explained, reason };
}

const ACTIONS: Readonly<Record<string, Refusal["action"]>> = {
  insufficient_quota: "add_credit",
  usage_restricted: "contact_support",
};

interface Asked {
  /** Null for a managed key. */
  readonly keyId: string | null;
  readonly modelId: string | null;
  readonly route: string;
}

function explainReason(reason: Reason, asked: Asked, errorClass: string): Explained | undefined {
  const { limit_kind: kind, limit_scope: scope } = reason;
  const { keyId } = asked;
  const isOfKey = scope === "key";
  if (kind === "spend") {
    if (reason.cap_usd === undefined) return explainBalance(reason, asked);
    return {
      explanation: explainCap(reason, asked),
      action: "raise_cap",
      key_id: isOfKey ? keyId : null,
    };
  }
  if (kind === "models") return explainModels(reason, asked);
  if (kind === "health") {
    const explanation = `Every provider of ${describeModel(asked)} was cooling down after failures, so nothing was sent. ${describeRetry(reason)} Another model could have answered at once.`;
    return { explanation, action: null, key_id: null };
  }
  if (errorClass === "model_unavailable" && asked.modelId !== null) {
    const explanation = `${describeModel(asked)} was not listed here, or no provider of it could be used. Choose a model ID from the models page.`;
    return { explanation, action: "choose_model", key_id: null };
  }
  const fixed = describeFixedLimit(reason);
  const limited = fixed ?? LIMITS[kind ?? ""];
  if (limited === undefined || reason.limit === undefined) return undefined;
  const isOwn = OWN_SCOPES.has(scope ?? "") && fixed === undefined;
  return {
    explanation: `${SCOPE_NAMES[scope ?? ""] ?? "This request"} was limited to ${formatCount(reason.limit)} ${limited}. ${describeUse(reason)}${describeRetry(reason)}`,
    action: isOwn ? "raise_limit" : null,
    key_id: isOwn && isOfKey ? keyId : null,
  };
}

/** Tells how many models the key allows, which its holder may know. */
function explainModels({ limit }: Reason, asked: Asked): Explained {
  const models =
    limit === undefined
      ? "some models"
      : `${formatCount(limit)} ${limit === 1 ? "model" : "models"}`;
  const explanation = `This key may call ${models} only, and ${describeModel(asked)} is not among them. Edit the key, or send the request with another one.`;
  return { explanation, action: "edit_key", key_id: asked.keyId };
}

function describeModel({ modelId }: Asked): string {
  return modelId === null ? "the model" : `“${modelId}”`;
}

function explainBalance(reason: Reason, { route }: Asked): Explained {
  const { available_usd, in_flight_usd, needed_usd, retryable } = reason;
  const next = retryable
    ? "It could have been sent again once they had ended."
    : `Add credit, or ask for ${nameLess(route)}.`;
  const explanation = `The request could have cost up to ${formatDollars(needed_usd)}. ${formatDollars(available_usd)} was available, and ${formatDollars(in_flight_usd)} was held by running requests. ${next}`;
  return { explanation, action: "add_credit", key_id: null };
}

/** What a cheaper request to this route asks for; it ends the sentence "Add credit, or ask for …". */
function nameLess(route: string): string {
  return LESS[route] ?? "fewer output tokens";
}

const LESS: Readonly<Record<string, string>> = {
  "/v1/images/generations": "fewer or smaller images",
  "/images/generations": "fewer or smaller images",
  "/v1/videos": "a shorter or smaller video",
  "/v1/decisions": "fewer questions",
};

function explainCap(reason: Reason, { route }: Asked): string {
  const isLarger = toMicroUsd(reason.needed_usd) > toMicroUsd(reason.cap_usd);
  const next = isLarger
    ? `ask for ${nameLess(route)}`
    : `wait until it resets on ${formatDay(reason.reset_at)}`;
  const period = { day: "daily", week: "weekly", month: "monthly" }[reason.cap_period ?? "month"];
  const cap = `${reason.limit_scope === "key" ? "This key's" : "The organization's"} ${period} cap`;
  return `${cap} of ${formatDollars(reason.cap_usd)} would have been exceeded: ${formatDollars(reason.spent_usd)} was spent, ${formatDollars(reason.in_flight_usd)} was in progress, and this request could have cost up to ${formatDollars(reason.needed_usd)}. Raise the cap, or ${next}.`;
}

function toMicroUsd(amount = ""): bigint {
  return parseUsd(amount) ?? 0n;
}

const OWN_SCOPES: ReadonlySet<string> = new Set(["org", "key", "model"]);

const LIMITS: Readonly<Record<string, string>> = {
  rpm: "requests per minute",
  tpm: "tokens per minute",
  rps: "requests per second",
  rps_queue: "requests per second, and its queue was full",
  concurrency: "concurrent requests",
};

/** What a limit counts that no organization can change; undefined for other limits. */
function describeFixedLimit({ limit_id: id = "", limit_kind: kind }: Reason): string | undefined {
  if (id.startsWith("settings")) return "changes of limits per minute";
  if (!id.startsWith("refusals:")) return undefined;
  return kind === "concurrency"
    ? "requests at once that were not admitted yet"
    : "refused requests per minute";
}

const SCOPE_NAMES: Readonly<Record<string, string>> = {
  org: "The organization",
  key: "This key",
  model: "This model",
  pool: "The provider's capacity",
  endpoint: "The dedicated endpoint",
  platform: "Token Market as a whole",
};

/** Such as `60 were used in the last minute. `; empty for an old refusal without figures. */
function describeUse({ used, asked, limit_kind: kind }: Reason): string {
  const when = USED_WHEN[kind ?? ""];
  if (used === undefined || when === undefined) return "";
  const more =
    asked === undefined || asked === 1
      ? ""
      : `, and this request could have taken ${formatCount(asked)}`;
  return `${formatCount(used)} ${used === 1 ? "was" : "were"} ${when}${more}. `;
}

const USED_WHEN: Readonly<Record<string, string>> = {
  rpm: "used in the last minute",
  tpm: "used in the last minute",
  rps: "used in that second",
  concurrency: "running",
};

function formatCount(value: number): string {
  return value.toLocaleString("en-US");
}

function describeRetry({ retry_after: seconds, retryable, asked }: Reason): string {
  if (!retryable)
    return `This request alone could have taken ${formatCount(asked ?? 0)}: send less.`;
  if (seconds === undefined) return "It could have been sent again a moment later.";
  return `It could have been sent again ${seconds} ${seconds === 1 ? "second" : "seconds"} later.`;
}

/** Formats dollars with at least two decimals, and without zeros after the last digit. */
export function formatDollars(amount: string | undefined): string {
  return amount === undefined ? "an unknown amount" : `$${amount.replace(/0{1,4}$/, "")}`;
}

export function formatDay(at: string | undefined): string {
  return at === undefined ? "the first of the month (UTC)" : `${DAY.format(new Date(at))} (UTC)`;
}
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });
