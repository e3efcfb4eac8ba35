import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import { assert } from "../../../kernel/core/assert.ts";
import { toBytes, buildDeployment } from "../../../../test/fixtures/modality/request-kit.ts";
import { AcceptBridge } from "./accept-bridge.ts";
import { contentPath, isVideoAccept, jobPath, videos } from "./index.ts";
import { parseVideoRequest, type ParsedVideoRequest } from "./parse-request.ts";
import { resolveSeconds } from "./servability.ts";

const listing = buildDeployment("wire_a", {
  modality: "video",
  upstreamModelId: "up/film",
  videosPath: "/v2/clips",
  supportedParameters: new Map([
    ["seconds", { type: "integer", min: 2, max: 10, default: 5 }],
    ["resolution", { type: "enum", values: ["480p", "720p"] }],
    ["generate_audio", { type: "boolean" }],
    ["seed", { type: "integer", min: 0 }],
    ["guidance", { type: "range", min: 0, max: 1.5 }],
    ["style", { type: "unknown" }],
  ]),
});

function read(body: object | string): ParsedVideoRequest {
  const text =
    typeof body === "string" ? body : JSON.stringify({ model: "m", prompt: "p", ...body });
  const parsed = parseVideoRequest(Buffer.from(text));
  if (!parsed.ok) throw new Error(`refused: ${parsed.refusal.message}`);
  return parsed.request;
}

function sent(body: object | string, deployment: Deployment = listing): string {
  const encoded = videos.encode(read(body), deployment);
  assert(encoded.ok, "it is encoded");
  return toBytes(encoded.upstream.body).toString();
}

describe("the fields that a listing accepts", () => {
  const names = "seconds, resolution, generate_audio, seed, guidance, style";
  test.each<[object, string | undefined]>([
    [{}, undefined],
    [{ seconds: "10" }, undefined],
    [{ seconds: 1 }, "seconds is 1; this model accepts 2 to 10"],
    [{ seconds: 11 }, "seconds is 11; this model accepts 2 to 10"],
    [{ resolution: "720p", generate_audio: false, seed: 7, guidance: 0.5, style: "x" }, undefined],
    [{ resolution: "1080p" }, "resolution must be one of 480p, 720p"],
    [{ generate_audio: 1 }, "generate_audio must be true or false"],
    [{ seed: -1 }, "seed must be a whole number of at least 0"],
    [{ guidance: 2 }, "guidance must be a number from 0 to 1.5"],
    [{ size: "1280x720" }, `size is not accepted by this model; it accepts prompt, ${names}`],
    [{ user: "u", safety_identifier: "s", session_id: "x", metadata: { a: 1 } }, undefined],
  ])("a request with %j has the servability problem: %s", (body, message) => {
    expect(videos.servabilityProblem(read(body), listing)?.message).toBe(message);
  });

  test("are checked per listing, and the default of seconds is the listing's own", () => {
    const larger = buildDeployment("wire_a", {
      supportedParameters: new Map([
        ["seconds", { type: "integer", min: 1, max: 60, default: 30 }],
        ["size", { type: "enum", values: ["1280x720"] }],
      ]),
    });
    const request = read({ seconds: 40, size: "1280x720" });
    expect(videos.servabilityProblem(request, listing)?.field).toBe("seconds");
    expect(videos.servabilityProblem(request, larger)).toBeUndefined();
    expect(resolveSeconds(read({}), listing)).toBe(5);
    expect(resolveSeconds(read({}), larger)).toBe(30);
  });
});

test.each([-5, 0, 11])(
  "a listing whose default of %i s is outside its bounds refuses a request without seconds",
  (usual) => {
    const seconds = { type: "integer", min: 2, max: 10, default: usual } as const;
    const odd = buildDeployment("wire_a", { supportedParameters: new Map([["seconds", seconds]]) });
    const message = "seconds is missing; this model accepts 2 to 10";
    expect(videos.servabilityProblem(read({}), odd)).toEqual({ field: "seconds", message });
    expect(videos.servabilityProblem(read({ seconds: 2 }), odd)).toBeUndefined();
  },
);

describe("the request to the provider", () => {
  test("has the provider's model id, the prompt byte for byte, and the seconds as a number", () => {
    const text =
      '{"seed":12345678901234567890,"prompt":"\\u00e9 \\"🌊\\"", "model":"m","seconds":"08"}';
    expect(sent(text)).toBe(
      '{"model":"up/film","prompt":"\\u00e9 \\"🌊\\"","seconds":8,"seed":12345678901234567890}',
    );
  });

  test("has only fields that the listing declares, and its default seconds if the client sent none", () => {
    const more = { user: "u", metadata: { a: 1 }, resolution: null, n: 1, stream: false };
    expect(sent({ ...more, provider: { only: ["x"] }, route: "y" })).toBe(
      '{"model":"up/film","prompt":"p","seconds":5}',
    );
  });

  test("has metadata if the listing declares it", () => {
    const declared = new Map(listing.supportedParameters).set("metadata", { type: "unknown" });
    const noting = { ...listing, supportedParameters: declared };
    const request = read({ metadata: { a: 1 } });
    expect(videos.servabilityProblem(request, noting)).toBeUndefined();
    expect(sent({ metadata: { a: 1 } }, noting)).toContain('"metadata":{"a":1}');
  });

  test("has provider.upstream as its provider field only if the provider is an aggregator", () => {
    const body = { provider: { upstream: { only: ["x"] } } };
    expect(sent(body, { ...listing, priority: 1 })).toContain('"provider":{"only":["x"]}');
    expect(sent(body)).not.toContain("provider");
  });

  test("goes to the listing's path, and the job is polled and downloaded below that path", () => {
    expect(videos.encode(read({}), listing)).toMatchObject({
      upstream: { path: "/v2/clips", headers: { "content-type": "application/json" } },
    });
    expect(jobPath(listing, "a/b?c#d")).toBe("/v2/clips/a%2Fb%3Fc%23d");
    expect(contentPath(listing, "j")).toBe("/v2/clips/j/content");
  });
});

describe("a provider's answer to a video request", () => {
  const answered = (text: string) => {
    const bridge = new AcceptBridge(read({ resolution: "720p" }), listing);
    for (const piece of text.match(/.{1,7}/gs) ?? []) bridge.push(Buffer.from(piece));
    bridge.end();
    return bridge;
  };

  test("is read as a job, with the seconds and the options of the request", () => {
    const bridge = answered('{"id":"j-1","status":"queued"}');
    expect(bridge).toMatchObject({
      state: "complete",
      failure: undefined,
      job: { id: "j-1", state: "queued" },
      seconds: 5,
      options: { resolution: "720p" },
    });
    expect(isVideoAccept(bridge)).toBe(true);
    expect(bridge.takeOutput()).toBeUndefined();
  });

  test("keeps the options of the request as texts that a database can store as JSON", () => {
    const { options } = read({ size: "a\u0000b", resolution: "\ud83d", aspect_ratio: 2 });
    expect(options).toEqual({ size: "a\ufffdb", resolution: "\ufffd", aspect_ratio: "2" });
  });

  test.each<[string, string, boolean]>([
    ["no JSON", "gateway_error", false],
    ['{"id":"..","status":"queued"}', "gateway_error", false],
    ["x".repeat(1_100_000), "gateway_error", false],
    ['{"id":"1","status":"failed"}', "upstream_error", true],
    ['{"error":{"code":"rate_limit_exceeded"}}', "rate_limit", true],
    ['{"id":"1","status":"failed","error":{"code":"moderation_blocked"}}', "content_policy", false],
    ['{"id":"1","status":"done","respect_moderation":false}', "content_policy", false],
  ])("without a usable job fails: %.60s", (text, cls, failover) => {
    const bridge = answered(text);
    expect(bridge.state).toBe("failed");
    expect(bridge.job).toBeUndefined();
    expect(bridge.failure).toMatchObject({ refusal: { class: cls }, failover });
  });

  test("of more than 1 MiB is no strike, because it can repeat a long prompt", () => {
    const { failure } = answered(`{"id":"1","prompt":"${"\\u00e9".repeat(180_000)}"}`);
    expect(failure).toMatchObject({ refusal: { status: 502 }, strike: "neutral" });
    expect(failure).not.toHaveProperty("isMalformed");
  });
});

test("any body is refused, unservable, or sent under the provider's model id", () => {
  const names = ["model", "prompt", "seconds", "resolution", "image", "metadata", "provider", "n"];
  const body = fc.oneof(
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc
      .dictionary(fc.constantFrom(...names), fc.oneof(fc.jsonValue(), fc.string(), fc.integer()))
      .map((value) => Buffer.from(JSON.stringify(value))),
  );
  fc.assert(
    fc.property(body, (bytes) => {
      expect(["invalid_request", "unservable", "up/film"]).toContain(outcomeOf(bytes));
    }),
  );
});

function outcomeOf(bytes: Buffer): unknown {
  const parsed = parseVideoRequest(bytes);
  if (!parsed.ok) return parsed.refusal.class;
  const { request } = parsed;
  if (videos.servabilityProblem(request, listing) !== undefined) return "unservable";
  const encoded = videos.encode(request, listing);
  assert(encoded.ok, "what is servable is encoded");
  return JSON.parse(toBytes(encoded.upstream.body).toString()).model;
}
