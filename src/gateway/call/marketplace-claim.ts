import type { Principal } from "../accounts/principal.ts";
import type { Deployment } from "../../catalog/index.ts";
import { orgSlot } from "../limits/limit-store.ts";
import type { ClaimPart } from "./admit.ts";
import type { LimitedCall } from "./claim-limits.ts";
import type { CallPorts } from "./ports.ts";

/**
 * What holds without credit, for a request that the caller's own provider keys are to serve first:
 * it is claimed when the request falls back to the marketplace's keys, and once.
 */
export class MarketplaceClaim {
  readonly #part: ClaimPart;
  #isClaimed = false;

  constructor(part: ClaimPart) {
    this.#part = part;
  }

  /** What this candidate has to be admitted by besides its pool. */
  partsFor({ ownKey }: Deployment): readonly ClaimPart[] {
    return ownKey !== undefined || this.#isClaimed ? [] : [this.#part];
  }

  /** A candidate was admitted: what it needed is not claimed again. */
  admitted({ ownKey }: Deployment): void {
    this.#isClaimed ||= ownKey === undefined;
  }
}

/** Undefined where nothing is left to claim: it counts from the start, or never. */
export function marketplaceClaim(
  ports: Pick<CallPorts, "scopesOf">,
  principal: Principal,
  call: LimitedCall,
): MarketplaceClaim | undefined {
  if (call.ownKeys !== "first" || call.endpoint !== undefined) return undefined;
  const { modelId } = call;
  const scopes = ports.scopesOf(principal, { modelId, unfundedOnly: true });
  if (scopes.length === 0) return undefined;
  return new MarketplaceClaim({ slot: orgSlot(principal.orgId), scopes });
}
