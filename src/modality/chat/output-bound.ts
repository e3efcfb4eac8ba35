import { outputTokensDefault, outputTokensMax, outputTokensMin } from "../../core/constants.ts";
import { type Refusal, refusal } from "../../core/refusals.ts";
import { absent, type JsonDocument } from "../../json/json-document.ts";
import type { OutputBound } from "../../wire/chat-request.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";

/** Reads the output bound of a body whose types are checked (specification, Endpoints rule 3). */
export function readOutputBound(doc: JsonDocument): OutputBound | Refusal {
  const plain = numberOf(doc, word.max_tokens);
  const completion = numberOf(doc, word.max_completion_tokens);
  if (plain !== undefined && completion !== undefined && plain !== completion) {
    return outOfBound("max_tokens and max_completion_tokens differ; send one of them");
  }
  const tokens = plain ?? completion;
  if (tokens === undefined) return { tokens: outputTokensDefault, sent: false };
  if (tokens < outputTokensMin || tokens > outputTokensMax) {
    const name = plain === undefined ? "max_completion_tokens" : "max_tokens";
    return outOfBound(
      `${name} must be from ${outputTokensMin} to ${outputTokensMax}; lower your client's setting ` +
        "for the longest answer (max_tokens, maxTokens, maxOutputTokens)",
    );
  }
  return { tokens, sent: true };
}

function numberOf(doc: JsonDocument, wordId: number): number | undefined {
  const node = doc.present(0, wordId);
  return node === absent ? undefined : doc.number(node);
}

function outOfBound(message: string): Refusal {
  return refusal("gateway_error", message, {
    status: 400,
    retryable: false,
    limit: { scope: "model", kind: "output_bound" },
  });
}
