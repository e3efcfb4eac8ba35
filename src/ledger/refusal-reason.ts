import {
  formatUsd,
  type MicroUsd,
  type Refusal,
  refusalGround,
  refusalTimes,
} from "../kernel/index.ts";
import { keptNames } from "./kept-names.ts";
import type { RefusalReason } from "./refusal-reason-schema.ts";

const ID_CHARS_MAX = 200;

/** What is kept of a refusal: at most about 3 KB, however long the names are that a client chose. */
export function refusalReason(refusal: Refusal, dropped: readonly string[] = []): RefusalReason {
  const { status, retryable, limit, figures, retryAfterSeconds, capPeriod } = refusal;
  const names = keptNames(dropped);
  return {
    status,
    retryable,
    ...refusalGround(refusal),
    ...(limit?.id !== undefined && { limit_id: plain(limit.id, ID_CHARS_MAX) }),
    ...(retryAfterSeconds !== undefined && { retry_after: retryAfterSeconds }),
    ...refusalTimes(refusal),
    ...(capPeriod !== undefined && { cap_period: capPeriod }),
    ...(figures?.limit !== undefined && { limit: figures.limit }),
    ...(figures?.used !== undefined && { used: figures.used }),
    ...(figures?.asked !== undefined && { asked: figures.asked }),
    ...usdOf("cap_usd", figures?.cap),
    ...usdOf("spent_usd", figures?.spent),
    ...usdOf("in_flight_usd", figures?.inFlight),
    ...usdOf("available_usd", figures?.available),
    ...usdOf("needed_usd", figures?.needed),
    ...(names.length > 0 && { dropped_params: names }),
  };
}

/** The names of fields that were not sent to a provider, as they are kept with an attempt; undefined: none. */
export function droppedText(dropped: readonly string[]): string | undefined {
  if (dropped.length === 0) return undefined;
  return keptNames(dropped).join(",");
}

/** What `droppedText` joined. */
export function droppedNames(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split(",");
}

function usdOf<K extends string>(
  name: K,
  amount: MicroUsd | undefined,
): { readonly [P in K]?: string } {
  if (amount === undefined) return {};
  return { [name]: formatUsd(amount) } as { readonly [P in K]?: string };
}

/** Clients choose these names, and the database takes not every text as JSON. */
function plain(text: string, charsMax: number): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, charsMax);
}
