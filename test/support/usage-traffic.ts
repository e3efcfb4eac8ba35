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

export interface Traffic {
  readonly keys: Readonly<
    Record<"alpha" | "beta" | "capped", { readonly keyId: string; readonly secret: string }>
  >;
  /** Id of the request that its third provider served. */
  readonly threeAttemptsId: string;
  /** Id of the request that every provider failed. */
  readonly failedId: string;
  /** Id of the request that the key's cap refused. */
  readonly refusedId: string;
  /** Number of all requests, including refused and failed ones. */
  readonly requests: number;
}

/**
 * Makes some traffic of every kind with the keys of a new organization: models, streams, the
 * playground, a failover with three attempts, a failure and a refusal. Resolves when all of it is
 * recorded.
 */
export async function makeTraffic(fixture: ConsoleFixture, page: Page): Promise<Traffic> {
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
  const threeAttemptsId = await callByTheThird(fixture, () =>
    call(beta.secret, chatBody("test/three")),
  );
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

/** Makes one call that the first two providers fail, so that the third one serves it. */
async function callByTheThird(
  { gateway }: ConsoleFixture,
  call: () => Promise<string>,
): Promise<string> {
  const path = (provider: string): string => `/${provider}/v1/chat/completions`;
  gateway.simulator.script({ path: path("first"), fault: "status:503", times: 1 });
  gateway.simulator.script({ path: path("second"), fault: "reset:headers", times: 1 });
  return await call();
}
