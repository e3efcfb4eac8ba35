import { expect, test } from "vitest";
import { bodyOf, deploymentOf } from "../fixtures/request-kit.ts";
import { encodeCountTokens, readCountTokensRequest } from "./count-tokens-request.ts";

test("a count needs no bound, takes any, and takes thinking", () => {
  for (const members of [{}, { max_tokens: 100_000 }, { thinking: { type: "adaptive" } }]) {
    const read = readCountTokensRequest({ body: Buffer.from(bodyOf(members)) });
    expect(read).toMatchObject({ modelId: "acme/test-1", wire: "wire_b" });
  }
});

test("a count is checked like a messages body", () => {
  const read = readCountTokensRequest({ body: Buffer.from(bodyOf({ system: 5 })) });
  expect(read).toMatchObject({ class: "invalid_request" });
});

test("the provider is asked with the caller's body, without a bound", () => {
  const body = Buffer.from(bodyOf({ tools: [{ name: "f" }], provider: { only: ["acme"] } }));
  const read = readCountTokensRequest({ body, betaHeader: "token-counting-2024-11-01" });
  if ("class" in read) throw new Error(read.message);
  const asked = encodeCountTokens(read, deploymentOf("wire_b", { upstreamModelId: "up" }));
  expect(asked.path).toBe("/messages/count_tokens");
  expect(JSON.parse(asked.body.toString())).toEqual({
    model: "up",
    messages: [{ role: "user", content: "hi" }],
    tools: [{ name: "f" }],
  });
  expect(asked.droppedParams).toEqual(["token-counting-2024-11-01"]);
});
