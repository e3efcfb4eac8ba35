import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { compileCatalog } from "../../catalog/index.ts";
import { renderFiles } from "./move-litellm.ts";
import { moveText } from "../../../test/fixtures/moving-in/move-text.ts";

const FOLDER = resolve(import.meta.dirname, "../../../examples/moving-in");

/** For each example: its listings (`provider/id`), and how many settings are not carried over. */
const EXPECTED: Readonly<Record<string, { listed: string[]; lost: number }>> = {
  "load-balanced.yaml": {
    listed: ["azure/chat", "azure-2/chat", "openai/chat", "anthropic/backup"],
    lost: 14,
  },
  "many-providers.yaml": {
    listed: ["anthropic/claude", "mistral/mistral-large", "bedrock-messages/bedrock-claude"],
    lost: 21,
  },
  "one-provider.yaml": {
    listed: ["openai/gpt-4.1", "openai/gpt-4.1-mini", "openai/fast"],
    lost: 2,
  },
  "secrets-inside.yaml": {
    listed: ["openai/gpt-4.1", "openai-2/gpt-4.1", "anthropic/tagged"],
    lost: 14,
  },
  "self-hosted.yaml": {
    listed: [
      "gpu-1-internal-8000/qwen-coder",
      "localhost-11434/llama",
      "llm-example-com/gateway-model",
    ],
    lost: 2,
  },
};

test("every example configuration has an expected result", () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(Object.keys(EXPECTED));
});

test.each(Object.entries(EXPECTED))("%s becomes the expected catalog", (name, { listed, lost }) => {
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
