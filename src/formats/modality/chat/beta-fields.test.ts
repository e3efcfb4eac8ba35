import { expect, test } from "vitest";

import {
  toBytes,
  buildDeployment,
  encode,
  readBad,
  readGood,
} from "../../../../test/fixtures/modality/request-kit.ts";

const tool =
  '{"name":"a","defer_loading":true,"input_schema":{"type":"object"},"input_examples":[]}';

function sent(body: string, betaHeader: string): { body: string; dropped: readonly string[] } {
  const upstream = encode(readGood("wire_b", body, betaHeader), buildDeployment("wire_b"));
  return { body: toBytes(upstream.body).toString(), dropped: upstream.droppedParams };
}

const start = '{"model":"acme/test-1","max_tokens":5,"messages":[{"role":"user","content":"x"}]';

test("a dropped beta name removes only the fields it opens, and other beta names remove none", () => {
  const body = `${start},"tools":[${tool}],"context_management":{"edits":[]}}`;
  const without = `${start},"tools":[${tool}]}`;
  expect(sent(body, "context-management-2025-06-27").body).toBe(without);
  expect(sent(body, "interleaved-thinking-2025-05-14").body).toBe(body);
  expect(sent(body, "my-context-management-2025-06-27").body).toBe(body);
});

test("output_format is refused with the hint to send output_config.format", () => {
  const refused = readBad("wire_b", { max_tokens: 5, output_format: { type: "json_schema" } });
  expect(refused.message).toBe("output_format is not accepted; send it as output_config.format");
});
