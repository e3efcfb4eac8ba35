import type { CallFamily } from "../../formats/index.ts";
import type { Principal } from "../accounts/principal.ts";
import type { MicroUsd, OrgId, Refusal } from "../../kernel/index.ts";

/** One request that has ended, as far as unusual use is concerned. */
export interface UsageEvent {
  readonly principal: Principal;
  readonly family: CallFamily;
  /** Address of the client's connection; undefined when it is not known. */
  readonly clientAddress: string | undefined;
  /**
   * `refused`: by the gateway, before any dispatch. `failed`: by the provider, because of the
   * request.
   */
  readonly outcome: "served" | "refused" | "failed";
  readonly debitMicroUsd: MicroUsd;
}

/** Detects unusual use of organizations that have only trial credit, and acts on it. */
export interface AbuseMonitor {
  /** Why this kind of request is refused for this account now; undefined if it is allowed. */
  refuse(principal: Principal, family: CallFamily, nowMs: number): Refusal | undefined;
  /** Counts a request that ended; wall-clock time. Never throws and is never waited for. */
  note(event: UsageEvent, nowMs: number): void;
  /** Something of this organization changed, or of any: its principals are read again. */
  forget(orgId: OrgId | undefined): void;
}

/** Used when detection is off: no request is refused, even if the store still has restrictions. */
export const NO_ABUSE_MONITOR: AbuseMonitor = Object.freeze({
  refuse: () => undefined,
  note: () => undefined,
  forget: () => undefined,
});
