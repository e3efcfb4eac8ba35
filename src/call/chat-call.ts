import { assert } from "../core/assert.ts";
import type { WireId } from "../catalog/catalog.ts";
import { quoteWorstCase } from "../pricing/quote.ts";
import type { ChatRequest } from "../wire/chat-request.ts";
import type { ChatWires } from "../wire/chat-wire.ts";
import type { CallKind } from "./call-kind.ts";

/** Chat on one client wire: `POST /v1/chat/completions` or `POST /v1/messages`. */
export function chatCall(wires: ChatWires, wire: WireId): CallKind<ChatRequest> {
  return {
    modality: "text",
    read(exchange) {
      const betaHeader = exchange.header("anthropic-beta");
      return wires.readChatRequest(wire, {
        body: exchange.body,
        ...(betaHeader === undefined ? {} : { betaHeader }),
      });
    },
    servabilityProblem: (request, deployment) => wires.servabilityProblem(request, deployment),
    encode: (request, deployment) => wires.encodeForDeployment(request, deployment),
    openAnswer: (request, deployment, context) =>
      wires.openAnswer({ request, deployment, ...context }),
    quote: (request, { prices }) => {
      assert(prices !== null, "a plan has no unpriced deployment");
      return quoteWorstCase(prices, {
        input: request.estimatedInputTokens,
        output: request.outputTokens,
      });
    },
  };
}
