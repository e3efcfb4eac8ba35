import type { Page } from "playwright-core";

import { until } from "./books.ts";
import { chatBody } from "./chat-bodies.ts";
import { ask, callGateway, makeKey } from "./console-steps.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import { simulatorManifest, STANDARD_MANIFESTS, textModel } from "./gateway.ts";
import { at, listAt, textAt } from "./http-call.ts";

/** Manifests in which three providers serve `test/three`, in order of priority. */
export const TRAFFIC_MANIFESTS: readonly object[] = [
  ...STANDARD_MANIFESTS,
  ...["first", "second", "third"].map((provider, priority) =>
    simulatorManifest({
      provider,
      dialect: "wire_a",
      priority,
      baseUrl: `{simulator}/${provider}/v1`,
      models: [textModel("test/three")],
    }),
  ),
];

export type Traffic = Awaited<ReturnType<typeof makeTraffic>>;

/** Makes traffic of every kind with keys of a new organization; resolves when it is recorded. */
export async function makeTraffic(fixture: ConsoleFixture, page: Page) {
  const alpha = await makeKey(fixture, page, { name: "alpha" });
  const beta = await makeKey(fixture, page, { name: "beta" });
  const capped = await makeKey(fixture, page, { name: "capped", cap_usd: "0.000001" });
  const ids: string[] = [];
  const call = async (key: string, body: object): Promise<string> => {
    const { headers } = await callGateway(fixture, key, body);
    const id = String(headers["x-request-id"]);
    ids.push(id);
    return id;
  };
  await call(alpha.secret, chatBody("test/a"));
  await call(alpha.secret, chatBody("test/b", { stream: true }));
  await call(beta.secret, said("test/a", "[cached:40] [words:30] ".padEnd(400, "lorem ")));
  await call(beta.secret, said("test/both", "[reasoning:7] think"));
  const path = (provider: string): string => `/${provider}/v1/chat/completions`;
  const { simulator } = fixture.gateway;
  simulator.script({ path: path("first"), fault: "status:503", times: 1 });
  simulator.script({ path: path("second"), fault: "reset:headers", times: 1 });
  const threeAttemptsId = await call(beta.secret, chatBody("test/three"));
  const failedId = await call(alpha.secret, said("test/a", "[[fault:status:500]]"));
  const refusedId = await call(capped.secret, chatBody("test/a"));
  await ask(fixture, page, "POST /playground/v1/chat/completions", chatBody("test/b"));
  const requests = ids.length + 1;
  // The gateway records refusals and releases holds a moment after the answer.
  await until("every request is written down and settled", async () => {
    const { json } = await ask(fixture, page, "GET /api/console/requests?limit=200");
    const session = await ask(fixture, page, "GET /api/console/session");
    const rows = listAt(json, "data");
    const isOpen = rows.some((row) => at(row, "outcome") === "in_flight");
    return (
      rows.length === requests && !isOpen && textAt(session.json, "balance.held_usd") === "0.000000"
    );
  });
  return { keys: { alpha, beta, capped }, threeAttemptsId, failedId, refusedId, requests };
}

function said(model: string, content: string): object {
  return chatBody(model, { messages: [{ role: "user", content }] });
}
