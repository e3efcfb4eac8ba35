import { expect, test } from "vitest";

import { redactor } from "./redact.ts";

test("a virtual key and a provider's key never pass into a log line", () => {
  const redact = redactor(["sk-provider-secret", ""]);
  const line = redact(`{"a":"tm_vk_${"0a".repeat(24)}","b":"Bearer sk-provider-secret"}`);
  expect(line).toBe('{"a":"tm_vk_[redacted]","b":"Bearer [redacted]"}');
});

test("a secret too short to be one does not blank out ordinary text", () => {
  expect(redactor(["the"])("the end")).toBe("the end");
});
