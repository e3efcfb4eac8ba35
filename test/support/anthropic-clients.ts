import Anthropic from "@anthropic-ai/sdk";
import Anthropic0137 from "anthropic-sdk-0137";

type AnthropicClient = typeof Anthropic;
export type AnthropicOptions = ConstructorParameters<AnthropicClient>[0];

/** The two versions under test have the same methods, but different types. */
export const ANTHROPIC_CLIENTS: readonly (readonly [string, AnthropicClient])[] = [
  ["1.12.0", Anthropic],
  ["0.137.0", Anthropic0137 as unknown as AnthropicClient],
];

export function say(content: string): Anthropic.MessageParam {
  return { role: "user", content };
}
