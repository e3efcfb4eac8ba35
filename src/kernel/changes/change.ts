import { parseIp } from "../core/client-address.ts";
import type { OrgId } from "../core/ids.ts";
import type { ActionName } from "./actions.ts";
import type { Facts } from "./change-words.ts";

/** An operator at a command line. `user` is the user of the machine. */
export function byOperator(user: string): ChangedBy {
  return { kind: "operator", id: user, requestId: null, clientNetwork: null };
}

/** This program itself. `part` is the part of it that made the change. */
export function byGateway(part: string): ChangedBy {
  return { kind: "gateway", id: part, requestId: null, clientNetwork: null };
}

/** A payment provider that has reported something, in a webhook or in an answer. */
export function byProviderNews(provider: string): ChangedBy {
  return { kind: "provider_news", id: provider, requestId: null, clientNetwork: null };
}

/**
 * A person with a console session, or a program with a virtual key. `operator`: an operator on the
 * console's operator pages, by account id.
 */
export function byCaller(caller: {
  readonly kind: "account" | "key" | "operator";
  readonly id: string;
  readonly requestId: string;
  readonly clientAddress: string | undefined;
}): ChangedBy {
  const { kind, id, requestId, clientAddress } = caller;
  return { kind, id, requestId, clientNetwork: wideNetwork(clientAddress) };
}

/**
 * The network of an address, too wide to identify a household: /24 for IPv4, /48 for IPv6. Null if
 * there is no address.
 */
export function wideNetwork(address: string | undefined): string | null {
  const ip = address === undefined ? undefined : parseIp(address);
  if (ip === undefined) return null;
  if (ip.length === 4) return `${ip.slice(0, 3).join(".")}.0/24`;
  const groups = ip.slice(0, 3).map((group) => group.toString(16));
  return `${groups.join(":")}::/48`;
}

/** Masks an e-mail address, but leaves enough to tell two of them apart: `a…@example.com`. */
export function maskedEmail(email: string): string {
  const at = email.lastIndexOf("@");
  return at < 1 ? "…" : `${email.slice(0, 1)}…${email.slice(at)}`;
}

/** `provider_news`: reported by the payment provider. `gateway`: by this program itself. */
export type ActorKind = "operator" | "account" | "key" | "provider_news" | "gateway";

/** The author of a change. */
export interface ChangedBy {
  readonly kind: ActorKind;
  /**
   * An id of an account or a key, a user of the machine, a payment provider or a part of this
   * program.
   */
  readonly id: string;
  /** Null for a command, and for this program itself. */
  readonly requestId: string | null;
  /** The network of the client's address, never the address: /24 of IPv4, /48 of IPv6. */
  readonly clientNetwork: string | null;
}

/** One change of one target. It leaves no row if `before` equals `after`. */
export interface Change {
  readonly action: ActionName;
  /** Null for a change of the installation. */
  readonly orgId: OrgId | null;
  /** Id of the key, connection, organization, period, … that was changed. */
  readonly target: string;
  /** Only the changed fields; null if the target did not exist. */
  readonly before: Facts | null;
  /** Only the changed fields; null if the target was removed. */
  readonly after: Facts | null;
  /** True if masked values differ although they read the same: that is a change too. */
  readonly isMaskedChange?: boolean;
}

/** A change as a row of the log. */
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
 * Returns the ids of the accounts that made these changes and of those that were changed, each
 * once.
 */
export function accountsIn(
  changes: readonly Pick<RecordedChange, "by" | "target">[],
): readonly string[] {
  const ids = changes.flatMap(({ by, target }) => [by.id, target]);
  return [...new Set(ids)].filter((id) => id.startsWith(ACCOUNT_PREFIX));
}
