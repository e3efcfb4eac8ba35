import { microUsd } from "../core/money.ts";
import { familyOf, type CallKind, type CallRequest } from "./call-kind.ts";
import type { EndedAttempt } from "./call-values.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";

/** What this call says about how its organization uses its credit. */
export function noteUse<R extends CallRequest>(
  { usage, clock }: Pick<CallPorts, "usage" | "clock">,
  client: ClientExchange,
  { kind, ended }: { readonly kind: CallKind<R>; readonly ended: readonly EndedAttempt[] },
): void {
  const { principal, clientAddress, gone } = client;
  const failure = ended.at(-1)?.result.failure;
  // A provider that is down, slow or throttled says nothing about who asked it.
  const isCallers = failure?.strike === "neutral" && !failure.failover && !gone;
  const outcome = isCallers ? "failed" : "served";
  const debitMicroUsd = microUsd(ended.reduce((sum, each) => sum + each.debitMicroUsd, 0n));
  usage.note(
    { principal, family: familyOf(kind), clientAddress, outcome, debitMicroUsd },
    clock.nowMs(),
  );
}
