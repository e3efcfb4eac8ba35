import type { OrgId } from "../core/ids.ts";
import type { ActionName } from "./actions.ts";
import type { Facts } from "./change-words.ts";

/** `provider_news`: reported by the payment provider. `gateway`: by this program itself. */
export type ActorKind = "operator" | "account" | "key" | "provider_news" | "gateway";

/** The author of a change, handed down as a value from where it is known. */
export interface ChangedBy {
  readonly kind: ActorKind;
  /** The operator's user on the machine or account in the console, the account's id, the key's id, the provider's name, … */
  readonly id: string;
  /** Null where there is no request: a command, or this program by itself. */
  readonly requestId: string | null;
  /** The network of the client's address, never the address: /24 of IPv4, /48 of IPv6. */
  readonly clientNetwork: string | null;
}

/** One change, of one target. What is the same before and after leaves no row. */
export interface Change {
  readonly action: ActionName;
  /** Null: of the installation, not of one organization. */
  readonly orgId: OrgId | null;
  /** Id of what was changed: a key, a connection, an organization, a period, … */
  readonly target: string;
  /** Only the changed fields; null if the target did not exist. */
  readonly before: Facts | null;
  /** Only the changed fields; null if the target was removed. */
  readonly after: Facts | null;
  /** True where the masked values differ: a change, though they read the same. */
  readonly isMaskedChange?: boolean;
}

/** A change as the log has it. */
export interface RecordedChange {
  /** Grows in the order of the commits. */
  readonly position: number;
  readonly atMs: number;
  readonly by: ChangedBy;
  readonly action: string;
  readonly orgId: OrgId | null;
  readonly target: string;
  readonly before: Facts | null;
  readonly after: Facts | null;
}

const ACCOUNT_PREFIX = "acct_";

/**
 * The ids of the accounts that made these changes and of the accounts that were changed, each once.
 */
export function accountsIn(
  changes: readonly Pick<RecordedChange, "by" | "target">[],
): readonly string[] {
  const ids = changes.flatMap(({ by, target }) => [by.id, target]);
  return [...new Set(ids)].filter((id) => id.startsWith(ACCOUNT_PREFIX));
}
