import type { KeyVault } from "../../gateway/index.ts";
import type { Clock } from "../../kernel/index.ts";
import { type ForeignNames, postOnce, type PostEnd } from "../../upstream/index.ts";
import type { DueDelivery, TryAnswer } from "./alert-store.ts";
import { webhookBody, webhookHeaders } from "./sign-webhook.ts";
import { openSecret } from "./webhook-secret.ts";

const TIMEOUT_MS = 10_000;
const GONE = 410;

export interface WebhookSenderDeps {
  readonly clock: Clock;
  /** Undefined: there is no encryption key. */
  readonly vault: KeyVault | undefined;
  /** Development and tests: receivers on the same machine too. */
  readonly allowPrivate: boolean;
  readonly names: ForeignNames;
}

/** Makes one try of a webhook; never rejects. */
export type WebhookSender = (delivery: DueDelivery) => Promise<TryAnswer>;

export function openWebhookSender({
  clock,
  vault,
  allowPrivate,
  names,
}: WebhookSenderDeps): WebhookSender {
  return async ({ event, address, destinationId, sealedSecrets }) => {
    const opened = openAll(vault, sealedSecrets, { destinationId, orgId: event.orgId });
    if (opened === undefined) return NOT_OPENED;
    const body = webhookBody(event);
    const timestampS = Math.floor(clock.nowMs() / 1_000);
    const headers = webhookHeaders({ id: event.eventId, timestampS, body }, opened);
    const url = new URL(address);
    const find = names.of(event.orgId, "wait");
    const post = { url, headers, body, timeoutMs: TIMEOUT_MS, allowPrivate, find };
    return answerOf(await postOnce(post));
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

function answerOf(end: PostEnd): TryAnswer {
  if (end.kind === "unanswered") return { end: "failed", answer: end.fault };
  const { status } = end;
  if (status >= 200 && status < 300) return { end: "delivered", answer: `status ${status}` };
  if (status === GONE) return { end: "gone", answer: `status ${status}` };
  const isRedirect = status >= 300 && status < 400;
  const why = isRedirect ? ": redirects are not followed" : "";
  return { end: "failed", answer: `status ${status}${why}` };
}
