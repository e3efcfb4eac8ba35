import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { chosenBlocks, isRawKey, modelOfGuide } from "../console/src/pages/docs/guide-call.ts";
import { GUIDES } from "../console/src/pages/docs/guide-list.ts";
import { readBlocks } from "../console/src/pages/docs/markdown-blocks.ts";

const RAW_KEY = "tm_vk_0123456789abcdef";

function guide(name: string): ReturnType<typeof readBlocks> {
  return readBlocks(readFileSync(`docs/guides/${name}.md`, "utf8"));
}

test("a pasted key is written into shell code only", () => {
  // The guide about webhooks has no call.
  for (const [name] of GUIDES.filter(([each]) => each !== "webhooks")) {
    const chosen = chosenBlocks(guide(name), { model: undefined, rawKey: RAW_KEY });
    const tabs = chosen.flatMap(({ block }) => (block.kind === "code" ? block.tabs : []));
    const isShell = ({ label }: { readonly label: string }): boolean =>
      label === "curl" || label === "Shell";
    const shell = JSON.stringify(tabs.filter(isShell));
    expect(shell).not.toContain("$TOKEN_MARKET_KEY");
    expect(shell).toContain(RAW_KEY);
    const texts = chosen.filter(({ block }) => block.kind !== "code");
    const others = [tabs.filter((tab) => !isShell(tab)), texts, chosen.map(({ call }) => call)];
    // The page runs a call with the session of the signed-in user, never with a key.
    expect(JSON.stringify(others)).not.toContain(RAW_KEY);
  }
});

test("a chosen model replaces the guide's own model in the shown code and in the call that runs", () => {
  const blocks = guide("images");
  const own = modelOfGuide(blocks);
  expect(own).toEqual({ modelId: "sim/image", modality: "image" });
  const model = { from: "sim/image", to: "open/painter" };
  const chosen = chosenBlocks(blocks, { model, rawKey: "" });
  expect(JSON.stringify(chosen)).not.toContain("sim/image");
  expect(chosen.find(({ call }) => call !== undefined)?.call?.modelId).toBe("open/painter");
});

test("the unlisted model with which a guide shows a refusal is not replaced", () => {
  const model = { from: "sim/both", to: "open/other" };
  const chosen = chosenBlocks(guide("errors"), { model, rawKey: "" });
  const ids = chosen.flatMap(({ call }) => call?.modelId ?? []);
  expect(ids).toContain("no/such-model");
});

test("only the format of a virtual key is accepted as a pasted key", () => {
  expect(isRawKey(RAW_KEY)).toBe(true);
  for (const text of [
    "",
    "sk-123456789",
    "tm_vk_short",
    "tm_vk_01234567$(id)",
    "tm_vk_01234567 x",
  ]) {
    expect(isRawKey(text)).toBe(false);
  }
});
