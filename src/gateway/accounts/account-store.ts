import type { Caps, OrgId } from "../../kernel/index.ts";
import type { EndpointLimits, LimitTarget, LimitValues } from "../limits/limit-ceilings.ts";
import type { DedicatedEndpoint } from "./account-rules.ts";

/** The changes to a key; an absent field stays as it is. */
export interface KeyEdit {
  readonly name?: string;
  /** Only the caps to change; null removes a cap. */
  readonly caps?: Partial<Caps>;
  /** Null: the key never expires. */
  readonly expiresAtMs?: number | null;
  /** Null: the key may call every model. */
  readonly models?: readonly string[] | null;
  readonly tags?: readonly string[];
  /** The new secret of one key. The old secret works until `oldUntilMs`; null ends it at once. */
  readonly rotate?: {
    readonly digest: Buffer;
    readonly label: string;
    readonly oldUntilMs: number | null;
  };
  /**
   * Disables the key permanently. A key that is disabled already keeps its original `disabled_at`.
   */
  readonly disable?: true;
  readonly limit?: { readonly target: LimitTarget; readonly change: LimitChange };
}

/**
 * Selects the keys that an operation may see: those of one organization except its managed keys,
 * or, for operators, all keys.
 */
export type Whose = OrgId | "anyone";

/** An absent limit stays as it is. Null removes it, so that the default applies again. */
export type LimitChange = { readonly [N in keyof LimitValues]?: number | null };

export interface EndpointRecord extends DedicatedEndpoint {
  readonly orgId: OrgId;
  readonly createdAtMs: number;
}

export interface NewEndpoint {
  readonly orgId: OrgId;
  readonly providerId: string;
  readonly limits: EndpointLimits;
}
