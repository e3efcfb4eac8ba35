import type { MicroUsd, OrgId } from "../kernel/index.ts";

export interface Grant {
  readonly orgId: OrgId;
  /** Above zero. */
  readonly amountMicroUsd: MicroUsd;
  /** Identifies this grant permanently, over all organizations. */
  readonly ref: string;
  /**
   * A gift to try the service: it lifts the limit of organizations without credit, and unusual use
   * is still detected. Default false: as good as bought.
   */
  readonly isTrial?: boolean;
}

export interface GrantOutcome {
  /** False: this reference was granted before, with the same terms; nothing changed. */
  readonly created: boolean;
  /** Credits minus debits and what is owed; holds not taken off. */
  readonly balanceMicroUsd: MicroUsd;
}

/** One line of an organization's wallet. */
export interface LedgerEntry {
  readonly atMs: number;
  /** `grant`, `purchase`, `settle`, … */
  readonly kind: string;
  /** The grant's reference, or the request's id. */
  readonly ref: string;
  /** The model of a settled request. */
  readonly detail: string | null;
  /** Above zero: into the wallet. */
  readonly amountMicroUsd: MicroUsd;
}

/** `ref_taken`: the reference belongs to a grant of another organization or amount. */
export class CreditFault extends Error {
  override readonly name = "CreditFault";
  readonly kind: "unknown_org" | "ref_taken";

  constructor(kind: CreditFault["kind"], message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
