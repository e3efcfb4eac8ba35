import { asObject, textOf } from "../../../kernel/index.ts";

/** The texts of a message or a delta. */
export interface AnswerTexts {
  readonly text: string;
  readonly reasoning: string;
}

/**
 * Reads `content` (text, or the parts that some servers send) and the reasoning text under any of
 * its names.
 */
export function answerTexts(message: Readonly<Record<string, unknown>>): AnswerTexts {
  const content = message["content"];
  const parts = Array.isArray(content) ? content.map(asObject) : [];
  const text = textOf(content) + parts.map(partText).join("");
  const reasoning =
    textOf(message["reasoning_content"]) ||
    textOf(message["reasoning"]) ||
    detailTexts(message["reasoning_details"]);
  return { text, reasoning: reasoning + parts.map(partReasoning).join("") };
}

type Part = Readonly<Record<string, unknown>> | undefined;

function partText(part: Part): string {
  return part?.["type"] === "text" ? textOf(part["text"]) : "";
}

/** Mistral's thinking parts hold parts of their own. */
function partReasoning(part: Part): string {
  if (part?.["type"] !== "thinking") return "";
  const inner = part["thinking"];
  if (!Array.isArray(inner)) return textOf(inner);
  return inner.map((piece) => textOf(asObject(piece)?.["text"])).join("");
}

function detailTexts(details: unknown): string {
  if (!Array.isArray(details)) return "";
  return details.map((detail) => textOf(asObject(detail)?.["text"])).join("");
}
