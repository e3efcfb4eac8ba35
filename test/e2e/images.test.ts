import { execFile } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import OpenAI from "openai";
import { beforeAll, describe, expect, test } from "vitest";

import { addConnection, ENCRYPTION_KEY } from "../support/add-connection.ts";
import { brokenBooks, ended, nothingHeld } from "../support/books.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { imageManifest, imageModel, meteredImageModel } from "../support/image-models.ts";
import {
  type ExpectedRefusal,
  expectCleanRefusal,
  postWithKey,
  REQUEST_ID,
} from "../support/refusals.ts";
import { newFolder } from "../support/run-folder.ts";

const METERED = { billing: "reported_cost" };
const TICKS_PARAMETERS = {
  n: { type: "integer", min: 1, max: 4 },
  aspect_ratio: { type: "enum", values: ["1:1", "16:9"] },
  response_format: { type: "enum", values: ["url", "b64_json"] },
};

let client: OpenAI;

const gateway = withGateway({
  settings: {
    encryptionKey: ENCRYPTION_KEY,
    orgRequestsPerMinute: 10_000,
    keyRequestsPerMinute: 10_000,
  },
  manifests: [
    imageManifest({
      provider: "painter",
      baseUrl: "{simulator}/img/v1",
      models: [imageModel("pic/one"), imageModel("pic/staged", { is_ready: false })],
    }),
    imageManifest({
      provider: "relay",
      baseUrl: "{simulator}/imgor/v1",
      priority: 1,
      models: [meteredImageModel("pic/relay", { upstream_id: "maker/imager-2:fast" })],
      endpoint: METERED,
    }),
    imageManifest({
      provider: "ticker",
      baseUrl: "{simulator}/imgx/v1",
      models: [meteredImageModel("pic/ticks", { supported_parameters: TICKS_PARAMETERS })],
      endpoint: METERED,
    }),
    {
      ...imageManifest({
        provider: "silent",
        baseUrl: "{simulator}/img/v1",
        models: [imageModel("pic/declared")],
      }),
      listing_terms: {
        "pic/declared": {
          image_tokens: [{ size: "1024x1024", quality: "low", tokens: 272 }, { tokens: 4_000 }],
        },
      },
    },
    simulatorManifest({ provider: "talker", dialect: "wire_a", models: [textModel("talk/a")] }),
    imageManifest({
      provider: "other-wire",
      baseUrl: "{simulator}/img-b/v1",
      dialect: "wire_b",
      models: [imageModel("pic/b")],
    }),
  ],
});
const account = withAccount(gateway, "100");

beforeAll(async () => {
  client = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});

function draw(body: object): Promise<HttpAnswer> {
  return httpCall(`${gateway.url}/v1/images/generations`, {
    body: { prompt: "a red bicycle", ...body },
    headers: bearer(account.key),
  });
}

const PNG_BASE64 = /^iVBORw0KGgo[A-Za-z0-9+/]+={0,2}$/;

describe("the official client", () => {
  test("gets the number of images that it requested, with their usage and the whole cost", async () => {
    const answer = await client.images.generate({
      model: "pic/one",
      prompt: "ein rotes Fahrrad 🚲",
      n: 2,
      size: "1024x1024",
      quality: "medium",
    });
    expect(answer.data?.map((image) => image.b64_json)).toEqual([
      expect.stringMatching(PNG_BASE64),
      expect.stringMatching(PNG_BASE64),
    ]);
    expect(answer).toMatchObject({
      created: expect.any(Number),
      model: "pic/one",
      data: [{ media_type: "image/png" }, { media_type: "image/png" }],
      size: "1024x1024",
      quality: "medium",
      output_format: "png",
      background: "opaque",
    });
    const { input_tokens: input = 0, output_tokens: output = 0 } = answer.usage ?? {};
    expect(output).toBe(2 * 1_056);
    expect(answer.usage).toMatchObject({
      total_tokens: input + output,
      output_tokens_details: { image_tokens: output },
      cost: (input * 5 + output * 40) / 1_000_000,
    });
  });

  test("gets a refusal as an error with status, code and message", async () => {
    const asked = client.images.generate({ model: "pic/one", prompt: "x", size: "256x256" });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      code: "invalid_request",
      message: expect.stringContaining("size must be one of 1024x1024, 1536x1024"),
    });
  });
});

test("examples/clients/images.mjs writes the images that it requested", async () => {
  const folder = newFolder("images");
  const example = resolve(import.meta.dirname, "../../examples/clients/images.mjs");
  const env = {
    ...process.env,
    TM_URL: gateway.url,
    TOKEN_MARKET_KEY: account.key,
    TM_MODEL: "pic/one",
  };
  const { stdout } = await promisify(execFile)(process.execPath, [example], { cwd: folder, env });
  const files = readdirSync(folder);
  const heads = files.map((file) => readFileSync(join(folder, file)).toString("latin1", 1, 4));
  rmSync(folder, { recursive: true, force: true });
  expect([files, heads]).toEqual([
    ["image-1.png", "image-2.png"],
    ["PNG", "PNG"],
  ]);
  expect(stdout).toContain('"cost":');
});

test("a request for images reaches a wire_b provider with the headers of wire_b", async () => {
  expect((await draw({ model: "pic/b" })).status).toBe(200);
  const call = gateway.simulator.calls().at(-1);
  expect(call).toMatchObject({
    path: "/img-b/v1/images/generations",
    body: { model: "pic/b", prompt: "a red bicycle" },
  });
  expect(call?.headers["x-api-key"]).toBeDefined();
  expect(call?.headers["authorization"]).toBeUndefined();
});

describe("an image request on the books", () => {
  test("holds n times the ceiling plus the prompt, and is charged the reported usage", async () => {
    const body = { model: "pic/one", prompt: "a red bicycle", n: 3, quality: "low" };
    const answer = await draw(body);
    const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(answer.text)),
      "x-request-id": expect.stringMatching(REQUEST_ID),
      "x-tm-provider": "painter",
      "x-tm-attempts": "1",
      "x-tm-remaining-rpm": expect.stringMatching(/^\d+$/),
      "x-tm-remaining-tpm": expect.stringMatching(/^\d+$/),
    });
    const input = Number(at(answer.json, "usage.input_tokens"));
    const promptMicroUsd = 5n * BigInt(Buffer.byteLength(JSON.stringify(body)));
    expect(record).toMatchObject({
      route: "/v1/images/generations",
      modelId: "pic/one",
      stream: false,
      outcome: "completed",
      attempts: [
        {
          providerId: "painter",
          upstreamStatus: 200,
          reserveMicroUsd: 3n * 6_000n * 40n + promptMicroUsd,
          debitMicroUsd: 5n * BigInt(input) + 40n * 3n * 272n,
          basis: "reported",
          usage: { prompt: input, completion: 3 * 272 },
        },
      ],
    });
    await nothingHeld(gateway, account);
  });

  test.each(["pic/relay", "pic/ticks"])(
    "of %s is charged the provider's own cost, and shows no cost units as tokens",
    async (model) => {
      const answer = await draw({ model, n: 3 });
      const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
      expect(record.attempts).toMatchObject([
        { reserveMicroUsd: 150_000n, debitMicroUsd: 60_000n, basis: "reported" },
      ]);
      const shown = model === "pic/ticks" ? [] : ["input_tokens", "output_tokens", "total_tokens"];
      expect(Object.keys(at(answer.json, "usage") ?? {})).toEqual([...shown, "cost"]);
      expect(at(answer.json, "usage.cost")).toBe(0.06);
      expect(at(answer.json, "model")).toBe(model);
      const upstreamId = model === "pic/ticks" ? model : "maker/imager-2:fast";
      const sent = gateway.simulator.calls().at(-1);
      expect(sent?.body).toMatchObject({ model: upstreamId, n: 3 });
      expect(at(answer.json, "usage.output_tokens")).toBe(shown.length === 0 ? undefined : 12_480);
    },
  );

  const relayed = { model: "pic/relay" };
  const declared = { model: "pic/declared", size: "1024x1024", quality: "low", n: 2 };
  const zeros = '{"input_tokens":0,"output_tokens":0,"total_tokens":0}';
  const free = { debitMicroUsd: 0n, basis: "none" };
  const asDeclared = {
    debitMicroUsd: 21_760n,
    basis: "declared",
    usage: { prompt: 0, completion: 544 },
  };

  test.each([
    [
      "the provider's cost, rounded down",
      relayed,
      'image:{"cost":"0.0123456789"}',
      { debitMicroUsd: 12_345n, basis: "reported" },
    ],
    ["nothing without the provider's cost", relayed, 'image:{"cost":null}', free],
    ["nothing without usage", { model: "pic/one" }, "no_usage", { ...free, usage: null }],
    ["the tokens that its listing declares, without usage", declared, "no_usage", asDeclared],
    [
      "the tokens that its listing declares, with no tokens",
      declared,
      `usage:${zeros}`,
      asDeclared,
    ],
  ])(
    "costs %s, and counts as missing usage if it is given away",
    async (_what, asked, fault, attempt) => {
      const answer = await draw({ ...asked, prompt: `a bicycle [[fault:${fault}]]` });
      expect(answer.status).toBe(200);
      expect(at(answer.json, "usage.cost")).toBe(Number(attempt.debitMicroUsd) / 1_000_000);
      const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
      expect(record.attempts).toMatchObject([attempt]);
      expect((await unbilledModels()).includes(asked.model)).toBe(attempt.basis === "none");
    },
  );

  async function unbilledModels(): Promise<readonly (string | undefined)[]> {
    const { text } = await httpCall(`${gateway.running.internalUrl}/metrics`);
    const lines = text.split("\n").filter((line) => line.startsWith("tm_usage_missing_total{"));
    return lines.map((line) => /model="([^"]+)"/.exec(line)?.[1]);
  }

  test("made with the caller's own provider key costs nothing, whatever the provider reports", async () => {
    const owner = await gateway.account("1.00");
    for (const provider of ["painter", "relay"]) {
      await addConnection(gateway.backend, { orgId: owner.orgId, provider });
    }
    for (const [model, fault] of [
      ["pic/one", 'usage:{"output_tokens":99999}'],
      ["pic/relay", 'image:{"cost":"99"}'],
    ] as const) {
      const answer = await httpCall(`${gateway.url}/v1/images/generations`, {
        body: { model, prompt: `a bicycle [[fault:${fault}]]`, provider: { connections: "only" } },
        headers: bearer(owner.key),
      });
      expect([answer.status, at(answer.json, "usage.cost")]).toEqual([200, 0]);
      const record = await ended(gateway, owner, String(answer.headers["x-request-id"]));
      expect(record.attempts).toMatchObject([{ reserveMicroUsd: 0n, debitMicroUsd: 0n }]);
    }
  });

  test("shows its hold in a dry run, which sends nothing to the provider", async () => {
    const calls = gateway.simulator.counts().total;
    const body = { model: "pic/one", prompt: "a red bicycle", n: 2 };
    const reported = await httpCall(`${gateway.url}/v1/route?for=images`, {
      body,
      headers: bearer(account.key),
    });
    const inputTokens = Buffer.byteLength(JSON.stringify(body));
    expect(reported.json).toMatchObject({
      candidates: [{ provider: "painter", upstream_id: "pic/one" }],
      estimate: {
        input_tokens: inputTokens,
        reserve_micro_usd: 2 * 6_000 * 40 + 5 * inputTokens,
      },
      would_admit: true,
      refusal: null,
    });
    expect(gateway.simulator.counts().total).toBe(calls);
  });
});

describe("a request for images that cannot be served costs nothing and calls no provider:", () => {
  const route = { gateway, account, path: "/v1/images/generations" };
  const asked = { model: "pic/one", prompt: "a red bicycle" };
  const invalid = (message: string): ExpectedRefusal => {
    return { status: 400, code: "invalid_request", message };
  };
  const unknown = (model: string): ExpectedRefusal => {
    return { status: 404, code: "model_unavailable", message: JSON.stringify(model) };
  };

  test.each<[object, ExpectedRefusal]>([
    [{ prompt: undefined }, invalid("prompt is missing; add it")],
    [{ model: "talk/a" }, invalid("POST /v1/chat/completions or POST /v1/me")],
    [{ model: "nobody/has-this" }, unknown("nobody/has-this")],
    [{ model: "pic/staged" }, unknown("pic/staged")],
  ])("%j", async (more, expected) => {
    const answer = await expectCleanRefusal(route, { body: { ...asked, ...more } }, expected);
    // A request that is refused for its own content reports no error origin.
    const hasOrigin = "x-tm-error-origin" in answer.headers;
    expect(hasOrigin && expected.code === "invalid_request").toBe(false);
  });

  test("an image model on the chat route is referred to the images route", async () => {
    const chat = { messages: [{ role: "user", content: "hi" }], max_tokens: 5 };
    await expectCleanRefusal(
      { ...route, path: "/v1/chat/completions" },
      { body: { model: "pic/one", ...chat } },
      invalid("send it to POST /v1/images/generations"),
    );
  });

  test("a balance that covers two images but not four refuses four and serves two", async () => {
    const poor = { ...route, account: await gateway.account("0.50") };
    const body = { ...asked, n: 4 };
    const noMoney = { status: 429, code: "insufficient_quota" };
    const answer = await expectCleanRefusal(poor, { body }, noMoney);
    expect(at(answer.json, "error.type")).toBe("insufficient_quota");
    expect(answer.headers["x-tm-cap-reset"]).toBeUndefined();
    expect((await postWithKey(poor, { body: { ...body, n: 2 } })).status).toBe(200);
    // A fault of the request is reported before its cost is checked.
    const wrong = { body: { ...body, size: "1x1" } };
    const broke = { ...route, account: await gateway.account("0") };
    await expectCleanRefusal(broke, wrong, invalid("size must be one of"));
  });
});

test("the books balance after all tests", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
