import type { MicroUsd } from "../../kernel/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import { familyOf, type CallKind } from "./call-kind.ts";
import type { EndedAttempt } from "./call-values.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";

/** What this call says about how its organization uses its credit. */
export function noteUse<R extends CallRequest>(
  { usage, clock }: Pick<CallPorts, "usage" | "clock">,
  client: ClientExchange,
  call: {
    readonly kind: CallKind<R>;
    readonly ended: readonly EndedAttempt[];
    readonly debited: MicroUsd;
  },
): void {
  const { kind, ended, debited } = call;
  const { principal, clientAddress, gone } = client;
  const failure = ended.at(-1)?.result.failure;
  // A provider that is down, slow or throttled says nothing about who asked it.
  const isCallers = failure?.strike === "neutral" && !failure.failover && !gone;
  const outcome = isCallers ? "failed" : "served";
  usage.note(
    { principal, family: familyOf(kind), clientAddress, outcome, debitMicroUsd: debited },
    clock.nowMs(),
  );
}
