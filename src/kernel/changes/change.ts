import { parseIp } from "../core/client-address.ts";
import type { OrgId } from "../core/ids.ts";
import type { ActionName } from "./actions.ts";
import type { Facts } from "./change-words.ts";

/** Describes an operator as the author of a change. `user` is the operating system's user. */
export function byOperator(user: string): ChangedBy {
  return { kind: "operator", id: user, requestId: null, clientNetwork: null };
}

/** Describes this program as the author of a change. `part` is the component that made it. */
export function byGateway(part: string): ChangedBy {
  return { kind: "gateway", id: part, requestId: null, clientNetwork: null };
}

/** Describes a payment provider as the author of a change that its webhook or answer reported. */
export function byProviderNews(provider: string): ChangedBy {
  return { kind: "provider_news", id: provider, requestId: null, clientNetwork: null };
}

/**
 * Describes the author of a change: a person with a console session (`account`), a program with a
 * virtual key (`key`), or an operator on the console's operator pages (`operator`, by account id).
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

/** Returns the address's /24 (IPv4) or /48 network (IPv6); null if the text is no address. */
export function wideNetwork(address: string | undefined): string | null {
  const ip = address === undefined ? undefined : parseIp(address);
  if (ip === undefined) return null;
  if (ip.length === 4) return `${ip.slice(0, 3).join(".")}.0/24`;
  const groups = ip.slice(0, 3).map((group) => group.toString(16));
  return `${groups.join(":")}::/48`;
}

/** Masks an e-mail address as `a…@example.com`. Two addresses can look the same then. */
export function maskedEmail(email: string): string {
  const at = email.lastIndexOf("@");
  return at < 1 ? "…" : `${email.slice(0, 1)}…${email.slice(at)}`;
}

/** `provider_news`: reported by a payment provider. `gateway`: made by this program itself. */
export type ActorKind = "operator" | "account" | "key" | "provider_news" | "gateway";

export interface ChangedBy {
  readonly kind: ActorKind;
  /** Id of the account or key, user of the operating system, payment provider, or component. */
  readonly id: string;
  /** Null unless an account, a key or an operator made the change by a request (`byCaller`). */
  readonly requestId: string | null;
  /** The client's network (/24 of IPv4, /48 of IPv6), never its address. */
  readonly clientNetwork: string | null;
}

/** A change of one target. Unless `isMaskedChange`, it is recorded only if its facts differ. */
export interface Change {
  readonly action: ActionName;
  /** Null for a change that concerns the whole installation. */
  readonly orgId: OrgId | null;
  /** Id of the key, connection, organization, period, … that was changed. */
  readonly target: string;
  /** The old values of fields; null if the target did not exist or the action shows none. */
  readonly before: Facts | null;
  /** The new values of the changed fields, in some actions of all fields; null if removed. */
  readonly after: Facts | null;
  /** True if the values differ but look the same after masking: the change is recorded anyway. */
  readonly isMaskedChange?: boolean;
}

export interface RecordedChange extends Omit<Change, "action" | "isMaskedChange"> {
  /** Ascends in the order of the commits. */
  readonly position: number;
  readonly atMs: number;
  readonly by: ChangedBy;
  readonly action: string;
}

const ACCOUNT_PREFIX = "acct_";

/** Returns the ids of the accounts that made these changes or were changed, without duplicates. */
export function accountsIn(
  changes: readonly Pick<RecordedChange, "by" | "target">[],
): readonly string[] {
  const ids = changes.flatMap(({ by, target }) => [by.id, target]);
  return [...new Set(ids)].filter((id) => id.startsWith(ACCOUNT_PREFIX));
}
