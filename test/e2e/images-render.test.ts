import { createServer, request, type ServerResponse } from "node:http";

import { expect, test } from "vitest";

import { systemClock, type Clock } from "../../src/kernel/core/time.ts";
import { brokenBooks, ended, nothingHeld, until } from "../support/books.ts";
import { PatientClock } from "../support/clocks.ts";
import {
  startTestGateway,
  withGateway,
  type TestAccount,
  type TestGatewayOptions,
} from "../support/gateway.ts";
import { bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { imageManifest, imageModel } from "../support/image-models.ts";
import { withServer } from "../support/local-server.ts";
import { expectRefusal } from "../support/refusals.ts";

const renders: ServerResponse[] = [];
/** A provider whose renders take as long as the test wants. */
const provider = withServer(() =>
  createServer((asked, response) => {
    asked.resume().on("end", () => renders.push(response));
  }),
);
const gateway = withGateway(() => optionsWith({ concurrentRequests: 1 }));

function optionsWith(
  settings: TestGatewayOptions["settings"],
  clock: Clock = systemClock,
): TestGatewayOptions {
  return {
    clock,
    settings: { orgRequestsPerMinute: 10_000, keyRequestsPerMinute: 10_000, ...settings },
    manifests: [
      imageManifest({
        baseUrl: `${provider.url}/v1`,
        endpoint: { images_path: "/pictures/make" },
        models: [imageModel("pic/slow")],
      }),
    ],
  };
}

const PNG = `iVBORw0KGgo${"A".repeat(53)}`;
const ANSWER = JSON.stringify({
  data: [{ b64_json: PNG }],
  usage: { input_tokens: 10, output_tokens: 100 },
});
const BODY = { model: "pic/slow", prompt: "a red bicycle" };

function draw(account: TestAccount, { url } = gateway): Promise<HttpAnswer> {
  return httpCall(`${url}/v1/images/generations`, {
    body: BODY,
    headers: bearer(account.key),
  });
}

/** Waits until `count` renders have begun in this test; returns the newest. */
async function begun(count: number): Promise<ServerResponse> {
  return await until(`${count} renders have begun`, () => renders.at(count - 1));
}

async function held(account: TestAccount): Promise<bigint> {
  return (await gateway.backend.recordStore.balance(account.orgId)).heldMicroUsd;
}

test("an image request holds one concurrency slot and its worst-case cost until its answer has ended", async () => {
  renders.length = 0;
  const account = await gateway.account("10");
  const first = draw(account);
  const render = await begun(1);
  expect(render.req.url).toBe("/v1/pictures/make");
  expect(await held(account)).toBe(240_000n + 5n * BigInt(JSON.stringify(BODY).length));
  const second = await draw(account);
  expectRefusal(second, { status: 429, code: "rate_limit" });
  expect(second.headers).toMatchObject({
    "x-tm-limit-scope": "key",
    "x-tm-limit-kind": "concurrency",
    "x-tm-error-origin": "gateway_admission",
  });
  // An answer that has arrived only in part still counts as a running render.
  render.writeHead(200, { "content-type": "application/json" });
  render.write(ANSWER.slice(0, 40));
  expectRefusal(await draw(account), { status: 429, code: "rate_limit" });
  render.end(ANSWER.slice(40));
  expect((await first).status).toBe(200);
  await nothingHeld(gateway, account);

  const third = draw(account);
  (await begun(2)).end(ANSWER);
  expect((await third).status).toBe(200);
});

test("a client that disconnects pays exactly for the image that was rendered", async () => {
  renders.length = 0;
  const account = await gateway.account("10");
  const sent = request(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { ...bearer(account.key), "content-type": "application/json" },
  });
  sent.on("error", () => {});
  sent.end(JSON.stringify(BODY));
  const render = await begun(1);
  sent.destroy();
  render.end(ANSWER);
  await nothingHeld(gateway, account);
  const { settledMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
  expect(settledMicroUsd).toBe(10_000_000n - (10n * 5n + 100n * 40n));
});

test("a render that exceeds the time limit is a 504 that costs nothing and opens no circuit", async () => {
  renders.length = 0;
  const clock = new PatientClock();
  const impatient = await startTestGateway(optionsWith({ generationTimeoutMs: 200 }, clock));
  try {
    const account = await impatient.account("10");
    for (let i = 1; i <= 4; i += 1) {
      const answer = await draw(account, impatient);
      expectRefusal(answer, { status: 504, code: "upstream_error", message: "in time" });
      expect(answer.headers["x-tm-attempts"]).toBe("1");
      const record = await ended(impatient, account, String(answer.headers["x-request-id"]));
      expect(record.attempts).toMatchObject([{ outcome: "timeout", debitMicroUsd: 0n }]);
    }
    await nothingHeld(impatient, account);
    await until("the provider was hung up on", () => renders.every((each) => each.destroyed));
    expect(await brokenBooks(impatient)).toEqual([]);
  } finally {
    await impatient.close();
    clock.stop();
  }
});

test("the books balance after all tests", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
});
