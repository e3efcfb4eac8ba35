import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { compileCatalog } from "../../catalog/index.ts";
import { renderFiles } from "./move-litellm.ts";
import { moveText } from "../../../test/fixtures/moving-in/move-text.ts";

const FOLDER = resolve(import.meta.dirname, "../../../examples/moving-in");

const CLOUDS = ["anthropic/claude", "mistral/mistral-large", "bedrock-messages/bedrock-claude"];
const OWN = [
  "gpu-1-internal-8000/qwen-coder",
  "localhost-11434/llama",
  "llm-example-com/gateway-model",
];

/** For each example: how many settings are not carried over, and its listings (`provider/id`). */
const EXPECTED: readonly (readonly [string, number, readonly string[]])[] = [
  ["load-balanced.yaml", 14, ["azure/chat", "azure-2/chat", "openai/chat", "anthropic/backup"]],
  ["many-providers.yaml", 21, CLOUDS],
  ["one-provider.yaml", 2, ["openai/gpt-4.1", "openai/gpt-4.1-mini", "openai/fast"]],
  ["secrets-inside.yaml", 14, ["openai/gpt-4.1", "openai-2/gpt-4.1", "anthropic/tagged"]],
  ["self-hosted.yaml", 2, OWN],
];

test("every example configuration has an expected result", () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(EXPECTED.map(([name]) => name));
});

test.each(EXPECTED)("%s becomes the expected catalog", (name, lost, listed) => {
  const moved = moveText(readFileSync(join(FOLDER, name), "utf8"));
  expect(moved.listings.map(({ providerId, id }) => `${providerId}/${id}`)).toEqual(listed);
  expect(moved.notes.filter(({ fate }) => fate === "not_carried")).toHaveLength(lost);
  const compiled = compileCatalog({
    manifests: moved.manifests.map((manifest, at) => ({
      file: `${at}.json`,
      manifest,
      sha256: "",
    })),
    hasKey: () => true,
    today: "2026-11-23",
  });
  expect(compiled).toMatchObject({ ok: true });
  const outputs = renderFiles(moved).map(({ text }) => text);
  expect(outputs.join("\n")).not.toContain("EXAMPLE");
});
