import { Client } from "undici";

import { guardedLookup, isPrivateAddress, isPrivateHost } from "./address-guard.ts";
import { type FindAddresses, NAME_FAULTS, NamesBusyError } from "./resolve-names.ts";

/** How a POST ended: the status of its answer, or why there was none. */
export type PostEnd =
  | { readonly kind: "answered"; readonly status: number }
  /** A short text for people, without anything that the other side said. */
  | { readonly kind: "unanswered"; readonly fault: string };

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For all of it, from the connection to the end of the answer. */
  readonly timeoutMs: number;
  /** Development and tests: loopback and private addresses too. */
  readonly allowPrivate: boolean;
  readonly find: FindAddresses;
}

/** Of the answer: more is not read. */
const ANSWER_BYTES_MAX = 4_096;

/**
 * One POST to an address that a customer gave, on a connection of its own to the very address that
 * was checked. No redirect is followed and nothing of the answer is kept but its status. Never
 * rejects.
 */
export async function postOnce(post: Post): Promise<PostEnd> {
  const { url, headers, body, timeoutMs, allowPrivate, find } = post;
  if (!allowPrivate && isPrivateHost(url.hostname)) return { kind: "unanswered", fault: PRIVATE };
  const client = new Client(url.origin, {
    connect: { timeout: timeoutMs, lookup: guardedLookup(find, allowPrivate) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { statusCode, body: answer } = await client.request({
      path: url.pathname + url.search,
      method: "POST",
      headers,
      body,
      signal,
    });
    // How it ends does not matter: the status is known.
    await answer.dump({ limit: ANSWER_BYTES_MAX, signal }).catch(() => undefined);
    return { kind: "answered", status: statusCode };
  } catch (fault) {
    return { kind: "unanswered", fault: faultText(fault, timeoutMs) };
  } finally {
    await client.destroy();
  }
}

/**
 * Has this name a private address now? False where it does not resolve in time; `busy`: its owner
 * has too many look-ups under way.
 */
export async function resolvesToPrivate(
  hostname: string,
  find: FindAddresses,
): Promise<boolean | "busy"> {
  try {
    return (await find(hostname)).some(({ address }) => isPrivateAddress(address));
  } catch (fault) {
    return fault instanceof NamesBusyError && "busy";
  }
}

const PRIVATE = "not sent: the address is private";

/** As OpenSSL and Node.js name them. */
const CERTIFICATE_FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^ERR_TLS_CERT_ALTNAME_/, "the certificate is that of another host"],
  [/^CERT_HAS_EXPIRED$/, "the certificate has expired"],
  [
    /^(CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(GET|VERIFY|DECODE)_|INVALID_)/,
    "the certificate is not valid",
  ],
];

function faultText(fault: unknown, timeoutMs: number): string {
  const { name, code = "" } = fault as { readonly name?: string; readonly code?: unknown };
  const text = String(code);
  if (text === "PRIVATE_ADDRESS") return PRIVATE;
  if (name === "TimeoutError" || text.endsWith("_TIMEOUT")) {
    return `no answer within ${timeoutMs / 1_000} seconds`;
  }
  if (NAME_FAULTS.has(text)) return "the name does not resolve";
  const certificate = CERTIFICATE_FAULTS.find(([pattern]) => pattern.test(text));
  if (certificate !== undefined) return `not sent: ${certificate[1]} (${text})`;
  return /^[A-Z][A-Z0-9_]{2,60}$/.test(text) ? `no connection (${text})` : "no connection";
}
