import type { ClaimOutcome, LimitClaim, TokenCount } from "../limit-store.ts";
import { Asked } from "./asked.ts";
import type { ClaimSpec } from "./claim-spec.ts";

/** The outcome of a claim that Redis did not answer. */
export const UNAVAILABLE: ClaimOutcome = { kind: "unavailable" };

/** A claim that was sent and has no answer yet. */
export class AskedClaim extends Asked<ClaimOutcome> {
  /** Name of the lease, should it be granted. */
  readonly id: string;
  readonly spec: ClaimSpec;
  /** The scope that has to have a free place besides. */
  readonly departed: ClaimSpec | undefined;
  /** The estimate. */
  readonly charged: TokenCount;
  /** How often it was sent: once, and again after its slot was refilled. */
  tries = 0;

  constructor(
    asked: Pick<AskedClaim, "id" | "spec" | "departed"> & { readonly claim: LimitClaim },
    dueMs: number,
    resolve: (outcome: ClaimOutcome) => void,
    onLate: () => void,
  ) {
    super(dueMs, resolve, () => {
      onLate();
      return UNAVAILABLE;
    });
    this.id = asked.id;
    this.spec = asked.spec;
    this.departed = asked.departed;
    this.charged = asked.claim;
  }
}
