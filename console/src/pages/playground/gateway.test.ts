import { afterEach, expect, test, vi } from "vitest";

import { runGuideCall } from "../docs/run-guide-call.ts";
import { exactCost, GatewayFault, sendJson } from "./gateway.ts";

afterEach(() => vi.unstubAllGlobals());

test("a cost keeps all its digits", () => {
  expect(exactCost('{"usage":{"prompt_tokens":1,"cost":9007199254740993.000001}}')).toBe(
    "9007199254740993.000001",
  );
  expect(exactCost('{"usage":{"cost":0.00012}}')).toBe("0.000120");
  expect(exactCost('{"usage":{"cost":0}}')).toBe("0.000000");
  expect(exactCost('{"data":{"total_cost":2,"cost_micro_usd":2000000}}')).toBe("2.000000");
});

test("the cost of an answer that reports none is undefined, not zero", () => {
  expect(exactCost('{"usage":{"prompt_tokens":1}}')).toBeUndefined();
  expect(exactCost('{"usage":{"cost":null}}')).toBeUndefined();
});

test("an answer that breaks off is a failed connection, unless its call was aborted", async () => {
  vi.stubGlobal("fetch", () => {
    const broken = new ReadableStream({ start: (body) => body.error(new TypeError("terminated")) });
    return Promise.resolve(new Response(broken));
  });
  const unreachable = { name: "GatewayFault", status: 0 };
  await expect(sendJson("/decisions", { body: {} })).rejects.toMatchObject(unreachable);
  const call = { method: "GET", path: "/models", modelId: undefined, quotedAs: undefined } as const;
  const run = runGuideCall(call, {
    signal: new AbortController().signal,
    onText: vi.fn<() => void>(),
  });
  await expect(run).rejects.toMatchObject(unreachable);
  const aborted = sendJson("/decisions", { body: {}, signal: AbortSignal.abort() });
  await expect(aborted).rejects.not.toBeInstanceOf(GatewayFault);
});
