import { createHmac } from "node:crypto";

import { assert } from "../../kernel/index.ts";
import type { AlertEvent } from "./alert-event.ts";

/** One try of a delivery, as it is signed. */
export interface SignedContent {
  /** Of the event: the same for every try. */
  readonly id: string;
  /** Of this try. */
  readonly timestampS: number;
  readonly body: string;
}

/** Recommended by the specification; facts are far below. */
const BODY_BYTES_MAX = 20_000;

/** What is posted of an event: the same bytes for every try. */
export function webhookBody({
  kind,
  atMs,
  orgId,
  facts,
}: Pick<AlertEvent, "kind" | "atMs" | "orgId" | "facts">): string {
  const data = { org_id: orgId, ...facts };
  const body = JSON.stringify({ type: kind, timestamp: new Date(atMs).toISOString(), data });
  assert(Buffer.byteLength(body) <= BODY_BYTES_MAX, "the facts of an event are few");
  return body;
}

/**
 * The headers of the Standard Webhooks scheme; one signature for each secret, so that a receiver
 * may have either while one replaces the other.
 */
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
