import { assert, invalidRequest, refused } from "../../../kernel/index.ts";
import { quoteWorstCase } from "../../../catalog/index.ts";
import { boundFor } from "../../wire/fields/common-fields.ts";
import type { Modality } from "../../wire/modality.ts";
import type { Wire } from "../../wire/contract.ts";
import type { WireTable } from "../../wire/wires.ts";
import { encodeAcross, encodeSameWire } from "./encode-request.ts";
import { openChatAnswer } from "./open-answer.ts";
import { parseChatRequest, type ParsedChatRequest } from "./parse-request.ts";
import { asksHourWrites, servabilityProblem } from "./servability.ts";

/** Returns the chat modality for clients of `wire`. Providers may speak any wire of `wires`. */
export function chatOn(wire: Wire, wires: WireTable): Modality<ParsedChatRequest> {
  return {
    modality: "text",
    family: "chat",
    wire: wire.id,
    read: (client) => parseChatRequest(wire, client),
    servabilityProblem: (request, deployment) =>
      servabilityProblem(request, deployment, wires.get(deployment.wire)),
    encode: (request, deployment) => {
      const target = wires.get(deployment.wire);
      if (target === wire) {
        return { ok: true, upstream: encodeSameWire(wire.requests, request, deployment) };
      }
      // Content that the provider's wire cannot express is found only by decoding the call.
      const [problem] = request.decoded().needs.refused;
      if (problem !== undefined) return refused(invalidRequest(problem.message));
      return { ok: true, upstream: encodeAcross(target.requests, request, deployment) };
    },
    openAnswer: (request, deployment, context) =>
      openChatAnswer({ request, deployment, ...context, upstream: wires.get(deployment.wire) }),
    quote: (request, deployment, outputTokens = boundFor(request, deployment)) => {
      const { prices } = deployment;
      assert(prices !== null, "a plan has no unpriced deployment");
      return quoteWorstCase(prices, {
        input: request.estimatedInputTokens,
        output: outputTokens,
        asksHourWrites: wires.get(deployment.wire) === wire && asksHourWrites(request, deployment),
      });
    },
  };
}
