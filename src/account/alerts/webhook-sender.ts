import { createHmac } from "node:crypto";

import type { KeyVault } from "../../gateway/index.ts";
import { assert, type Clock } from "../../kernel/index.ts";
import {
  type FindAddresses,
  type ForeignNames,
  isPrivateHost,
  type PostEnd,
  postOnce,
  resolvesToPrivate,
} from "../../upstream/index.ts";
import type { AlertEvent } from "./alert-kinds.ts";
import type { DueDelivery, TryAnswer } from "./alert-store.ts";
import { openSecret } from "./webhook-secrets.ts";

const TIMEOUT_MS = 10_000;
const GONE = 410;

export interface WebhookSenderDeps {
  readonly clock: Clock;
  /** Undefined if no encryption key is configured. */
  readonly vault: KeyVault | undefined;
  /** The setting `allow_private_upstreams`: receivers may then have private addresses. */
  readonly allowPrivate: boolean;
  readonly names: ForeignNames;
}

/** Makes one try of a delivery; never rejects. */
export type WebhookSender = (delivery: DueDelivery) => Promise<TryAnswer>;

export function openWebhookSender(deps: WebhookSenderDeps): WebhookSender {
  const { clock, vault, allowPrivate, names } = deps;
  return async ({ event, address, destinationId, sealedSecrets }) => {
    const opened = openAll(vault, sealedSecrets, { destinationId, orgId: event.orgId });
    if (opened === undefined) return NOT_OPENED;
    const body = webhookBody(event);
    const timestampS = Math.floor(clock.nowMs() / 1_000);
    const headers = webhookHeaders({ id: event.eventId, timestampS, body }, opened);
    const url = new URL(address);
    const find = names.of(event.orgId, "wait");
    const post = { url, headers, body, timeoutMs: TIMEOUT_MS, allowPrivate, find };
    return toTryAnswer(await postOnce(post));
  };
}

const NOT_OPENED: TryAnswer = {
  end: "failed",
  answer: "the secret cannot be decrypted; rotate it, or ask support",
};

function openAll(
  vault: KeyVault | undefined,
  sealed: readonly Buffer[],
  owner: Parameters<typeof openSecret>[2],
): readonly string[] | undefined {
  if (vault === undefined || sealed.length === 0) return undefined;
  try {
    return sealed.map((each) => openSecret(vault, each, owner));
  } catch {
    return undefined;
  }
}

function toTryAnswer(end: PostEnd): TryAnswer {
  if (end.kind === "unanswered") return { end: "failed", answer: end.fault };
  const { status } = end;
  if (status >= 200 && status < 300) return { end: "delivered", answer: `status ${status}` };
  if (status === GONE) return { end: "gone", answer: `status ${status}` };
  const isRedirect = status >= 300 && status < 400;
  const why = isRedirect ? ": redirects are not followed" : "";
  return { end: "failed", answer: `status ${status}${why}` };
}

export interface SignedContent {
  /** The id of the event; every try has the same, so that receivers can drop repetitions. */
  readonly id: string;
  readonly timestampS: number;
  readonly body: string;
}

/** The limit that Standard Webhooks recommends; our bodies are far smaller. */
const BODY_BYTES_MAX = 20_000;

/** Every try of an event sends the same bytes. */
export function webhookBody(event: Pick<AlertEvent, "kind" | "atMs" | "orgId" | "facts">): string {
  const { kind, atMs, orgId, facts } = event;
  const data = { org_id: orgId, ...facts };
  const body = JSON.stringify({ type: kind, timestamp: new Date(atMs).toISOString(), data });
  assert(Buffer.byteLength(body) <= BODY_BYTES_MAX, "the facts of an event are few");
  return body;
}

/** Builds the headers of Standard Webhooks, with one signature per valid secret. */
export function webhookHeaders(
  content: SignedContent,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const { id, timestampS } = content;
  assert(!id.includes("."), "a full stop ends the id in what is signed");
  return {
    "content-type": "application/json",
    "user-agent": "tokenmarket",
    "webhook-id": id,
    "webhook-timestamp": String(timestampS),
    "webhook-signature": secrets.map((secret) => signature(content, secret)).join(" "),
  };
}

function signature({ id, timestampS, body }: SignedContent, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = createHmac("sha256", key).update(`${id}.${timestampS}.${body}`);
  return `v1,${signed.digest("base64")}`;
}

const URL_CHARS_MAX = 2_000;
/** Ports below 1024 belong to services that might take an HTTP request for a command. */
const UNPRIVILEGED_PORT_MIN = 1_024;

/** Says why an address is refused, if it is. `allowPrivate` allows http, any host and any port. */
export function webhookAddressProblem(text: string, allowPrivate: boolean): string | undefined {
  if (text.length > URL_CHARS_MAX) return `it is longer than ${URL_CHARS_MAX} characters`;
  if (!/^[\x21-\x7e]+$/.test(text)) {
    return "it has a space or a character that is not ASCII; write those percent-encoded";
  }
  if (!URL.canParse(text)) return "it is not a URL, such as https://example.com/webhooks";
  const { protocol, username, password, hash, port, hostname } = new URL(text);
  if (protocol !== "https:" && !(protocol === "http:" && allowPrivate)) {
    return "it must begin with https://";
  }
  if (username !== "" || password !== "") {
    return "it has a user name or password; the signature shows who sent a webhook";
  }
  if (hash !== "") return "it has a fragment (#), which is never sent; remove it";
  if (allowPrivate) return undefined;
  if (port !== "" && Number(port) < UNPRIVILEGED_PORT_MIN) {
    return `port ${port} is not allowed; use 443 or a port from ${UNPRIVILEGED_PORT_MIN} on`;
  }
  return isPrivateHost(hostname) ? PRIVATE : undefined;
}

/**
 * Also checks the addresses to which the host name resolves, as every delivery does. `busy` if the
 * organization has too many look-ups in flight.
 */
export async function checkWebhookAddress(
  text: string,
  { allowPrivate, find }: { readonly allowPrivate: boolean; readonly find: FindAddresses },
): Promise<{ readonly problem: string } | "busy" | undefined> {
  const problem = webhookAddressProblem(text, allowPrivate);
  if (problem !== undefined) return { problem };
  if (allowPrivate) return undefined;
  const isPrivate = await resolvesToPrivate(new URL(text).hostname, find);
  if (isPrivate === "busy") return "busy";
  return isPrivate ? { problem: PRIVATE } : undefined;
}

const PRIVATE = "it is the address of a private network or of this machine; use a public one";
