import { expect, test } from "vitest";

import { anthropicMessages } from "../../src/formats/wire/anthropic-messages/index.ts";
import { openaiChat } from "../../src/formats/wire/openai-chat/index.ts";
import { WireTable } from "../../src/formats/wire/wires.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { bearer, httpCall, textAt } from "../support/http-call.ts";
import { plainWire } from "../support/plain-wire.ts";

const wires = new WireTable(openaiChat, anthropicMessages, plainWire);
const gateway = withGateway({ wires });
const account = withAccount(gateway, "1.00");

test("a program with a third wire serves, records and charges its clients", async () => {
  const model = "test/a";
  const headers = bearer(account.key);
  const body = { model, text: "hello", max_tokens: 50 };
  const answer = await httpCall(`${gateway.url}/v1/plain`, { headers, body });
  expect(answer.status).toBe(200);
  expect(textAt(answer.json, "text")).not.toBe("");
  const { cost } = answer.json as { readonly cost: number };
  expect(cost).toBeGreaterThan(0);
  const id = String(answer.headers["x-request-id"]);
  const record = await httpCall(`${gateway.url}/v1/generation?id=${id}`, { headers });
  expect(record.json).toMatchObject({ data: { model, total_cost: cost } });
});
