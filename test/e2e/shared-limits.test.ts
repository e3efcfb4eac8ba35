import { beforeAll, beforeEach, describe, expect, test } from "vitest";

import { TOKENS_PER_MINUTE } from "../../src/kernel/core/constants.ts";
import { ask, at, bodyOf, get, post, type Ask, type HttpAnswer } from "../support/ask.ts";
import { brokenBooks, nothingHeld, until } from "../support/books.ts";
import {
  openAccount,
  simulatorManifest,
  textModel,
  withSimulator,
  type TestAccount,
} from "../support/gateway.ts";
import { serve, withOperatorFolder, withPrograms } from "../support/operator.ts";
import { withBackend } from "../support/postgres.ts";
import type { RunningProgram } from "../support/program.ts";
import { redisProgram, withRedis } from "../support/redis.ts";
import { expectUnavailable } from "../support/unavailable.ts";

describe.skipIf(redisProgram === undefined)("two gateways on one Redis and one database", () => {
  let account: TestAccount;

  const simulator = withSimulator();
  const folder = withOperatorFolder(simulator);
  beforeAll(() => {
    const shared = simulatorManifest({
      provider: "shared",
      dialect: "wire_a",
      baseUrl: `${simulator.url}/a/v1`,
      models: [textModel("op/sick"), textModel("op/busy")],
    });
    folder.writeManifest("shared.json", shared);
  });
  const redis = withRedis();
  const backend = withBackend();
  const gateways = withPrograms(() => {
    const env = { DATABASE_URL: backend.connectionString, REDIS_URL: redis.url };
    return [serve(folder, env), serve(folder, env)];
  });
  beforeEach(async () => {
    account = await openAccount(backend, "10");
  });

  const asked = (more: Partial<Ask> = {}): Ask => {
    return { key: account.key, wire: "wire_a", model: "op/model", text: "hi", ...more };
  };
  const urlOf = (gateway: RunningProgram | undefined): string =>
    String(gateway?.ready["gateway_url"]);
  /** Sends the n-th request to the n-th gateway; repeats a 503, which a busy machine may cause. */
  const askOne = async (n: number, more: Partial<Ask> = {}): Promise<HttpAnswer> =>
    await until("the stores are in time", async () => {
      const answer = await ask(urlOf(gateways[n % gateways.length]), asked(more));
      return answer.status === 503 ? undefined : answer;
    });
  test("share the requests and tokens of a key, and keep them after Redis lost all data", async () => {
    let served = 0;
    let tokens = 0;
    const send = async (): Promise<HttpAnswer> => {
      const answer = await askOne((served += 1));
      expect(answer.status, answer.text).toBe(200);
      tokens += Number(at(answer.json, "usage", "total_tokens"));
      return answer;
    };
    // A request's unused tokens are released a moment after its answer.
    const countedExactly = (): Promise<true> =>
      until("both gateways count the tokens of all requests", async () => {
        const asking = { key: account.key, path: "/v1/limits" };
        const limits = await Promise.all(gateways.map((each) => get(urlOf(each), asking)));
        const remaining = limits.map(({ json }) => at(json, "effective", "tpm", "remaining"));
        return remaining.every((each) => each === TOKENS_PER_MINUTE - tokens);
      });
    for (let n = 0; n < 5; n += 1) await send();
    expect(tokens).toBeGreaterThan(0);
    await countedExactly();
    await nothingHeld({ backend }, account);
    await redis.command("flushall");
    const after = [await send(), await send()];
    expect(after.map(({ headers }) => Number(headers["x-tm-remaining-rpm"]))).toEqual([294, 293]);
    await countedExactly();
  });

  test("share a provider's open circuit and the cooldown that its 429 asked for", async () => {
    const sick = asked({ model: "op/sick" });
    let asks = 0;
    await until("the other has received it", async () => {
      for (let n = 0; n < 3; n += 1) {
        await ask(urlOf(gateways[0]), { ...sick, text: `[[fault:status:500]] hi ${(asks += 1)}` });
      }
      const answer = await ask(urlOf(gateways[1]), sick);
      expect([200, 503]).toContain(answer.status);
      return answer.headers["x-tm-limit-kind"] === "health";
    });
    const busy = asked({ model: "op/busy" });
    const refused = await until("the other has received it", async () => {
      await ask(urlOf(gateways[0]), { ...busy, text: "[[fault:status:429;retry_after:30]] hi" });
      const answer = await ask(urlOf(gateways[1]), busy);
      return answer.status === 429 ? answer : undefined;
    });
    expect(refused.headers).toMatchObject({
      "x-tm-error-origin": "upstream_quota",
      "x-tm-limit-scope": "pool",
      "x-tm-limit-id": "pool:shared/op/busy",
    });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(5);
  });

  test("answer 503 while Redis is down, send and hold nothing, and serve again by themselves", async () => {
    expect((await askOne(0)).status).toBe(200);
    await nothingHeld({ backend }, account);
    const before = simulator.counts().total;
    await redis.kill();
    for (const gateway of gateways) {
      expectUnavailable(await ask(urlOf(gateway), asked()));
      const path = "/v1/messages/count_tokens";
      const body = bodyOf(asked({ maxTokens: null }));
      expectUnavailable(await post(urlOf(gateway), { key: account.key, path, body }));
      expectUnavailable(await get(urlOf(gateway), { key: account.key, path: "/v1/limits" }));
    }
    expect(simulator.counts().total).toBe(before);
    await nothingHeld({ backend }, account);
    await redis.restart();
    for (const n of [0, 1]) expect((await askOne(n)).status).toBe(200);
    expect(await brokenBooks({ backend })).toEqual([]);
  });
});
