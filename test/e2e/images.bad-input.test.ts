import { describe, expect, test } from "vitest";

import {
  simulatorManifest,
  textModel,
  withAccount,
  withGateway,
  type TestAccount,
  type TestGateway,
} from "../support/gateway.ts";
import { at } from "../support/http-call.ts";
import { imageManifest, imageModel } from "../support/image-models.ts";
import { expectCleanRefusal, postWithKey } from "../support/refusals.ts";

const PATH = "/v1/images/generations";
const CHAT = { messages: [{ role: "user", content: "hi" }], max_tokens: 5 };

const gateway = withGateway({
  settings: { orgRequestsPerMinute: 10_000, keyRequestsPerMinute: 10_000 },
  manifests: [
    imageManifest({
      baseUrl: "{simulator}/img/v1",
      models: [
        imageModel("pic/one"),
        imageModel("pic/pair", {
          supported_parameters: {
            n: { type: "integer", max: 2 },
            size: { type: "enum", values: ["1024x1024"] },
          },
        }),
        imageModel("pic/staged", { is_ready: false }),
      ],
    }),
    simulatorManifest({ provider: "talker", dialect: "wire_a", models: [textModel("talk/a")] }),
  ],
});
const account = withAccount(gateway, "10");

const route = (): { gateway: TestGateway; account: TestAccount; path: string } => ({
  gateway,
  account,
  path: PATH,
});

/** Fields added to a body with a model and a prompt, and the text of the refusal. */
const REFUSED: readonly (readonly [object, string])[] = [
  [{ prompt: undefined }, "prompt is missing; add it"],
  [{ n: 5 }, "n must be a whole number from 1 to 4"],
  [{ model: "pic/pair", n: 3 }, "n must be a whole number of at most 2"],
  [{ provider: { only: ["nobody"] } }, "provider.only leaves no provider of pic/one"],
];

describe("a request that no deployment can serve as sent costs nothing and calls no provider", () => {
  test.each(REFUSED)("%j", async (more, message) => {
    const body = { model: "pic/one", prompt: "a red bicycle", ...more };
    const expected = { status: 400, code: "invalid_request", message };
    const answer = await expectCleanRefusal(route(), { body }, expected);
    // A request refused for its own shape carries no origin.
    expect(answer.headers["x-tm-error-origin"]).toBeUndefined();
  });
});

describe("a model that is not for the images route", () => {
  test.each(["nobody/has-this", "pic/staged"])(
    "%s is unknown: a 404 that echoes the id",
    async (model) => {
      const expected = { status: 404, code: "model_unavailable", message: JSON.stringify(model) };
      await expectCleanRefusal(route(), { body: { model, prompt: "x" } }, expected);
    },
  );

  test("of text is referred to the chat routes", async () => {
    await expectCleanRefusal(
      route(),
      { body: { model: "talk/a", prompt: "x" } },
      { status: 400, code: "invalid_request", message: "POST /v1/chat/completions or POST /v1/me" },
    );
  });

  test.each(["/v1/chat/completions", "/v1/messages"])(
    "of images on %s is referred to the images route",
    async (path) => {
      await expectCleanRefusal(
        { ...route(), path },
        { body: { model: "pic/one", ...CHAT } },
        { status: 400, code: "invalid_request", message: "send it to POST /v1/images/generations" },
      );
    },
  );
});

describe("money is checked last, before the provider is called:", () => {
  const body = { model: "pic/one", prompt: "x", n: 4 };

  test("a balance below n ceilings refuses n images, and fewer are served", async () => {
    const poor = await gateway.account("0.50");
    const poorRoute = { ...route(), account: poor };
    const answer = await expectCleanRefusal(
      poorRoute,
      { body },
      { status: 429, code: "insufficient_quota" },
    );
    expect(at(answer.json, "error.type")).toBe("insufficient_quota");
    expect(answer.headers["x-tm-cap-reset"]).toBeUndefined();
    expect((await postWithKey(poorRoute, { body: { ...body, n: 2 } })).status).toBe(200);
  });

  test("a spend cap below n ceilings refuses until the month ends", async () => {
    const capped = await gateway.account("10", { keyCapUsd: "0.50" });
    const answer = await expectCleanRefusal(
      { ...route(), account: capped },
      { body },
      { status: 429, code: "insufficient_quota" },
    );
    expect(answer.headers["x-tm-cap-reset"]).toMatch(/^\d{4}-\d\d-01T00:00:00/);
  });

  test("a wrong size is reported also without money", async () => {
    const broke = await gateway.account("0");
    await expectCleanRefusal(
      { ...route(), account: broke },
      { body: { ...body, size: "1x1" } },
      { status: 400, code: "invalid_request", message: "size must be one of" },
    );
  });
});
