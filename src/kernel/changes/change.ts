import { parseIp } from "../core/client-address.ts";
import type { OrgId } from "../core/ids.ts";
import type { ActionName } from "./actions.ts";
import type { Facts } from "./change-words.ts";

/** The operator at a command line, by the user of the machine. */
export function byOperator(user: string): ChangedBy {
  return { kind: "operator", id: user, requestId: null, clientNetwork: null };
}

/** This program, by itself; `part` says which of its parts. */
export function byGateway(part: string): ChangedBy {
  return { kind: "gateway", id: part, requestId: null, clientNetwork: null };
}

/** The report of a payment provider, by itself or on request, as an author. */
export function byProviderNews(provider: string): ChangedBy {
  return { kind: "provider_news", id: provider, requestId: null, clientNetwork: null };
}

/**
 * A person with a console session, or a program with a virtual key. `operator`: the id is the
 * account of an operator at the console's operator pages.
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
 * The network an address is in, wide enough to name no household: /24 of IPv4, /48 of IPv6. Null
 * where there is no address.
 */
export function wideNetwork(address: string | undefined): string | null {
  const ip = address === undefined ? undefined : parseIp(address);
  if (ip === undefined) return null;
  if (ip.length === 4) return `${ip.slice(0, 3).join(".")}.0/24`;
  const groups = ip.slice(0, 3).map((group) => group.toString(16));
  return `${groups.join(":")}::/48`;
}

/** Enough of an e-mail address to see that another one is meant: `a…@example.com`. */
export function maskedEmail(email: string): string {
  const at = email.lastIndexOf("@");
  return at < 1 ? "…" : `${email.slice(0, 1)}…${email.slice(at)}`;
}

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
