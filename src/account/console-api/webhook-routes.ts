import type { FastifyInstance } from "fastify";

import { asText } from "../../kernel/index.ts";
import { sendRefusal } from "./answer-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";

/** The route for events of the payment provider. A signature over the raw bytes proves an event. */
export function webhookRoutes(app: FastifyInstance, { billing }: ConsoleDeps): void {
  app.post("/webhooks/stripe", async (request, reply) => {
    const signature = request.headers["stripe-signature"];
    const outcome = await billing.webhook({
      body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      signature: asText(signature),
    });
    if (outcome === "bad_signature") return sendRefusal(reply, BAD_SIGNATURE);
    if (outcome === "not_configured") return sendRefusal(reply, NOT_CONFIGURED);
    return reply.send({ received: true });
  });
}

const BAD_SIGNATURE = new ConsoleRefusal(
  400,
  "invalid_request",
  "stripe-signature does not match the body; check the signing secret of the webhook",
);

const NOT_CONFIGURED = new ConsoleRefusal(
  404,
  "not_found",
  "no payment provider is configured here",
);
