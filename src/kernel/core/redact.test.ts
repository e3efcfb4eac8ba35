import { expect, test } from "vitest";

import { redactor } from "./redact.ts";

test("a redactor replaces virtual keys and configured secrets", () => {
  const redact = redactor(["sk-provider-secret", ""]);
  const line = redact(`{"a":"tm_vk_${"0a".repeat(24)}","b":"Bearer sk-provider-secret"}`);
  expect(line).toBe('{"a":"tm_vk_[redacted]","b":"Bearer [redacted]"}');
});

test("a redactor ignores a secret so short that it would blank out ordinary text", () => {
  expect(redactor(["the"])("the end")).toBe("the end");
});
