import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { readGuideCall, rewritten, withModel } from "../console/src/pages/docs/guide-call.ts";
import { GUIDES } from "../console/src/pages/docs/guide-list.ts";
import { readBlocks } from "../console/src/pages/docs/markdown-blocks.ts";
import { presentJson } from "../console/src/pages/docs/run-guide-call.ts";

function curlsOf(guide: string): readonly string[] {
  const blocks = readBlocks(readFileSync(`docs/guides/${guide}.md`, "utf8"));
  return blocks.flatMap((block) =>
    block.kind === "code"
      ? block.tabs.flatMap(({ label, code }) => (label === "curl" ? code : []))
      : [],
  );
}

test("every guide with calls has a request that its page can run", () => {
  expect(readdirSync("docs/guides")).toHaveLength(GUIDES.length);
  for (const [guide] of GUIDES) {
    // This guide is about requests that the gateway sends to its reader.
    if (guide === "webhooks") continue;
    const calls = curlsOf(guide).map(readGuideCall);
    expect(calls.filter((call) => call !== undefined).length, guide).toBeGreaterThan(0);
  }
});

test("a guide's page runs the request that its code shows", () => {
  const [curl = ""] = curlsOf("decisions");
  expect(readGuideCall(curl)).toMatchObject({
    method: "POST",
    path: "/decisions",
    modelId: "sim/decide",
    quotedAs: "decisions",
    body: { state: { plan: "enterprise" } },
  });
  const [limits = ""] = curlsOf("limits");
  expect(readGuideCall(limits)).toEqual({
    method: "GET",
    path: "/limits?model=sim/both",
    modelId: "sim/both",
    quotedAs: undefined,
  });
});

test("a chosen model replaces the guide's model in the call and in the shown curl command", () => {
  const [curl = ""] = curlsOf("streaming");
  const call = readGuideCall(curl);
  if (call === undefined) throw new Error("the guide has a call");
  const other = withModel(call, "open/other");
  expect(other.body).toMatchObject({ model: "open/other", stream: true });
  const code = rewritten(curl, { model: { from: "sim/both", to: "open/other" } });
  expect(readGuideCall(code)).toEqual(other);
  const [limits = ""] = curlsOf("limits");
  const asked = readGuideCall(limits);
  expect(asked && withModel(asked, "a/b").path).toBe("/limits?model=a%2Fb");
});

test("a code block with several commands, broken JSON or a shell variable is not run", () => {
  const good = `curl -s http://h/v1/x -d '{"model":"a"}'`;
  expect(readGuideCall(good)).toBeDefined();
  expect(readGuideCall(`${good}\n${good}`)).toBeUndefined();
  expect(readGuideCall(`curl -s http://h/v1/x -d '{"model":'`)).toBeUndefined();
  expect(readGuideCall("curl -s http://h/v1/videos/$ID")).toBeUndefined();
  expect(readGuideCall("export A=1")).toBeUndefined();
});

test("a file in an answer is shortened where it is shown", () => {
  const shown = presentJson(JSON.stringify({ data: [{ b64_json: "A".repeat(100_000) }] }));
  expect(shown.length).toBeLessThan(1_000);
  expect(shown).toContain("(100000 characters)");
});
