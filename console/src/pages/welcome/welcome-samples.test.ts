import { expect, test } from "vitest";

import { welcomeSamples } from "./welcome-samples.ts";

test("each client gets the base address that it appends its own paths to", () => {
  const [curl, openai, anthropic] = welcomeSamples("https://gw.test/", "acme/large", undefined);
  expect(curl?.code).toContain("https://gw.test/v1/chat/completions");
  expect(openai?.code).toContain('base_url="https://gw.test/v1"');
  expect(anthropic?.code).toContain('base_url="https://gw.test"');
});

test("the key is in the samples only while it is shown", () => {
  const secret = "tm_vk_0123";
  for (const { code } of welcomeSamples("https://gw.test", "m", secret)) {
    expect(code).toContain(secret);
  }
  for (const { code } of welcomeSamples("https://gw.test", "m", undefined)) {
    expect(code).toContain("YOUR_KEY");
    expect(code).not.toContain("tm_vk_");
  }
});
