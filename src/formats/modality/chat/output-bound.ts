import {
  OUTPUT_TOKENS_DEFAULT,
  OUTPUT_TOKENS_MAX,
  OUTPUT_TOKENS_MIN,
  refusal,
  refused,
  type Refused,
  type Result,
  ABSENT,
  type JsonDocument,
} from "../../../kernel/index.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";

/**
 * The output bound of a body whose types are checked: the caller's, under whichever name, or the
 * default (specification, Endpoints rule 3).
 */
export function readOutputBound(doc: JsonDocument): Result<{ readonly tokens: number }> {
  const plain = numberOf(doc, word.max_tokens);
  const completion = numberOf(doc, word.max_completion_tokens);
  if (plain !== undefined && completion !== undefined && plain !== completion) {
    return outOfBound("max_tokens and max_completion_tokens differ; send one of them");
  }
  const tokens = plain ?? completion;
  if (tokens === undefined) return { ok: true, tokens: OUTPUT_TOKENS_DEFAULT };
  if (tokens < OUTPUT_TOKENS_MIN || tokens > OUTPUT_TOKENS_MAX) {
    const name = plain === undefined ? "max_completion_tokens" : "max_tokens";
    return outOfBound(
      `${name} must be from ${OUTPUT_TOKENS_MIN} to ${OUTPUT_TOKENS_MAX}; lower your client's setting ` +
        "for the longest answer (max_tokens, maxTokens, maxOutputTokens)",
    );
  }
  return { ok: true, tokens };
}

function numberOf(doc: JsonDocument, wordId: number): number | undefined {
  const node = doc.present(0, wordId);
  return node === ABSENT ? undefined : doc.number(node);
}

function outOfBound(message: string): Refused {
  const limit = { scope: "model", kind: "output_bound" } as const;
  return refused(refusal("gateway_error", message, { status: 400, retryable: false, limit }));
}
