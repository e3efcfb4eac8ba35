import { ALERT_KINDS, type AlertKind } from "../../src/account/alerts/alert-kinds.ts";
import { webhookBody } from "../../src/account/alerts/webhook-sender.ts";
import { RETRY_MS } from "../../src/account/alerts/alert-worker.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { code, table } from "./markdown.ts";

/** docs/guides/webhooks.md: events with their bodies and the retries, as the program has them. */
export function webhooksGuide(): string {
  const kinds = Object.keys(ALERT_KINDS) as AlertKind[];
  const events = kinds.map((kind) => [code(kind), ALERT_KINDS[kind].when, code(exampleBody(kind))]);
  const tries = [0, ...RETRY_MS].map((waitMs, at) => [String(at + 1), waited(waitMs, at)]);
  return [
    HEAD,
    table(["Type", "When", "Body"], events),
    RETRIES,
    table(["Try", "After the one before"], tries),
    TAIL,
  ].join("\n");
}

/** The body of an event of this kind, byte for byte as it is posted. */
export function exampleBody(kind: AlertKind): string {
  const orgId = "org_5f0c1b2a3d4e5f60718293a4" as OrgId;
  const atMs = Date.parse("2027-01-24T00:00:00.000Z");
  return webhookBody({ kind, atMs, orgId, facts: ALERT_KINDS[kind].example });
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function waited(waitMs: number, at: number): string {
  if (at === 0) return "at once";
  if (waitMs < MINUTE_MS) return `${waitMs / 1_000} seconds`;
  if (waitMs < HOUR_MS) return `${waitMs / MINUTE_MS} minutes`;
  return `${waitMs / HOUR_MS} hours`;
}

/** An example: its 32 bytes say so. */
const SECRET = "whsec_YW4gZXhhbXBsZSBzZWNyZXQgb2YgMzIgYnl0ZXMgLi4=";

const HEAD = `# Webhooks

A webhook reports a low balance, a used cap or another event to your own server, as a signed POST request with a
JSON body. Add its URL on the page Alerts (\`/settings/alerts\`), save the signing secret that is shown once, and
press **Send test**. Choose there which events go to it.

## Headers and body

Webhooks follow [Standard Webhooks](https://www.standardwebhooks.com), so its libraries verify them.

| Header | Value |
| --- | --- |
| \`webhook-id\` | The id of the event, the same for every try: ignore an id that you have handled |
| \`webhook-timestamp\` | When this try was made, in seconds since 1970: refuse one that is over 5 minutes old |
| \`webhook-signature\` | \`v1,\` and the signature in Base64; for 24 hours after a rotation two of them, with a space between |

The body has \`type\`, \`timestamp\` (when it happened) and \`data\`. Dollars are strings. New types and new fields of
\`data\` may be added: ignore what you do not know.

## Verify it with the library

Verify the body as it came, before anything parses it: another space would be another signature.

\`\`\`python
import os
from datetime import datetime, timezone
from standardwebhooks.webhooks import Webhook

webhook = Webhook(os.environ.get("WEBHOOK_SECRET", "${SECRET}"))


def receive(body, headers):
    event = webhook.verify(body, headers)
    print(event["type"], event["data"])


# Try it with a webhook that is signed here.
now = datetime.now(timezone.utc)
body = '{"type":"alerts.test","timestamp":"2027-01-24T00:00:00.000Z","data":{}}'
receive(body, {
    "webhook-id": "evt_1",
    "webhook-timestamp": str(int(now.timestamp())),
    "webhook-signature": webhook.sign("evt_1", now, body),
})
\`\`\`

\`\`\`ts
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? "${SECRET}");

function receive(body: string, headers: Record<string, string>): void {
  const event = webhook.verify(body, headers) as { type: string; data: object };
  console.log(event.type, event.data);
}

// Try it with a webhook that is signed here.
const now = new Date();
const body = '{"type":"alerts.test","timestamp":"2027-01-24T00:00:00.000Z","data":{}}';
receive(body, {
  "webhook-id": "evt_1",
  "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
  "webhook-signature": webhook.sign("evt_1", now, body),
});
\`\`\`

## Verify it by hand

What is signed is the id, the timestamp and the body, with full stops between them. The key is the secret behind
\`whsec_\`, decoded from Base64; the signature is HMAC-SHA256. Compare in constant time.

\`\`\`python
import base64
import hashlib
import hmac
import os
import time

SECRET = os.environ.get("WEBHOOK_SECRET", "${SECRET}")
KEY = base64.b64decode(SECRET.removeprefix("whsec_"))


def signature(id, timestamp, body):
    signed = f"{id}.{timestamp}.{body}".encode()
    return "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()


def is_genuine(body, headers):
    id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        return False
    expected = signature(id, timestamp, body)
    return any(hmac.compare_digest(expected, each) for each in headers["webhook-signature"].split(" "))


# Try it with a webhook that is signed here, and with another body.
now = str(int(time.time()))
headers = {"webhook-id": "evt_1", "webhook-timestamp": now, "webhook-signature": signature("evt_1", now, "{}")}
print(is_genuine("{}", headers), is_genuine("{ }", headers))
\`\`\`

\`\`\`ts
import { createHmac, timingSafeEqual } from "node:crypto";

const secret = process.env.WEBHOOK_SECRET ?? "${SECRET}";
const key = Buffer.from(secret.replace("whsec_", ""), "base64");

function signature(id: string, timestamp: string, body: string): string {
  return "v1," + createHmac("sha256", key).update(\`\${id}.\${timestamp}.\${body}\`).digest("base64");
}

function isGenuine(body: string, headers: Record<string, string>): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  const expected = Buffer.from(signature(id, timestamp, body));
  return headers["webhook-signature"].split(" ").some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// Try it with a webhook that is signed here, and with another body.
const now = String(Math.floor(Date.now() / 1000));
const headers = { "webhook-id": "evt_1", "webhook-timestamp": now, "webhook-signature": signature("evt_1", now, "{}") };
console.log(isGenuine("{}", headers), isGenuine("{ }", headers));
\`\`\`

## Events
`;

const RETRIES = `
## Retries

Answer with a status from 200 to 299 within 10 seconds, before you do long work. Any other status, a redirect
and no answer count as failures, and the event is sent again:
`;

const TAIL = `
- A status 410 disables the webhook at once.
- After the last try the delivery has failed; **Send again** on the page sends it once more, with the same id. When nothing
  has arrived for two days, the webhook is disabled, which the page and an event to your other destinations say.
- At most two webhooks are sent to a destination at once. They can arrive in another order than they happened, and, after a
  crash, twice.
- The address must be public and begin with \`https://\`. Redirects are not followed, and of an answer only the status is kept.
`;
