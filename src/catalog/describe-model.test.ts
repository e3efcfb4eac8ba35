import { expect, test } from "vitest";

import type { ModelId } from "../kernel/index.ts";
import type { CapabilityDescriptor, ListedModel } from "./catalog.ts";
import { describeModel } from "./describe-model.ts";

function described(change: Partial<ListedModel> & { readonly names?: readonly string[] }): string {
  const { names = [], ...rest } = change;
  return describeModel({
    id: "acme/one" as ModelId,
    modality: "text",
    inputModalities: ["text"],
    supportedParameters: new Map(
      names.map((name): [string, CapabilityDescriptor] => [name, { type: "unknown" }]),
    ),
    ...rest,
  });
}

test("a model is described by what it reads and does", () => {
  expect(
    described({
      id: "anthropic/claude-opus-5.5" as ModelId,
      inputModalities: ["text", "image", "file"],
      names: ["thinking", "tools", "max_tokens"],
      contextLength: 1_050_000,
    }),
  ).toBe(
    "Anthropic's chat model for text, images and files, with tools, reasoning and 1.05M tokens of context.",
  );
  const hosted = { id: "openrouter/nvidia/nemotron-9" as ModelId, contextLength: 131_072 };
  expect(described(hosted)).toBe("NVIDIA's chat model for text, with 131K tokens of context.");
});

test("the description of a listing is used unchanged", () => {
  expect(described({ description: "Small and quick." })).toBe("Small and quick.");
});

test("unknown facts are left out of a description", () => {
  expect(described({})).toBe("Chat model for text.");
  expect(described({ modality: "image", inputModalities: ["text", "image"] })).toBe(
    "Image model from text and images.",
  );
});
