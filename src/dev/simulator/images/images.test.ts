import { crc32, inflateSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { callHost, type HostAnswer } from "../fixtures/host-client.ts";
import { pictureSize } from "../fixtures/picture-size.ts";
import { startSimulator, type Simulator } from "../simulator.ts";
import { base64Pieces, type Canvas, pictureOf } from "./picture.ts";

const REFERENCE = "/img/v1/images/generations";
const RELAY = "/imgor/v1/images/generations";
const TICKS = "/imgx/v1/images/generations";
const MIB = 1024 * 1024;

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, host: "127.0.0.1" });
});
afterEach(async () => {
  await callHost(`${simulator.url}/faults`, { method: "DELETE" });
  await callHost(`${simulator.url}/calls/reset`, { method: "POST" });
});
afterAll(() => simulator.close());

function draw(path: string, more: object = {}, fault?: string): Promise<HostAnswer> {
  const body = { model: "painter", prompt: "a red bicycle", ...more };
  return callHost(simulator.url + path, { body, ...(fault === undefined ? {} : { fault }) });
}

function itemsOf(answer: HostAnswer): readonly Record<string, unknown>[] {
  return answer.json()["data"] as Record<string, unknown>[];
}

function pictureIn(item: Record<string, unknown> | undefined): Buffer {
  return Buffer.from(String(item?.["b64_json"]), "base64");
}

describe("the answer of each kind of host", () => {
  test("the reference echoes what was asked for and counts tokens", async () => {
    const asked = { n: 2, size: "1024x1024", quality: "medium", output_format: "png" };
    const answer = await draw(REFERENCE, asked);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({
      size: "1024x1024",
      quality: "medium",
      output_format: "png",
      usage: {
        input_tokens: 4,
        output_tokens: 2112,
        total_tokens: 2116,
        output_tokens_details: { image_tokens: 2112, text_tokens: 0 },
      },
    });
    expect(itemsOf(answer)).toHaveLength(2);
    expect(pictureIn(itemsOf(answer)[0])).not.toEqual(pictureIn(itemsOf(answer)[1]));
  });

  test("the relay says the media type and the cost in USD", async () => {
    const answer = await draw(RELAY, { n: 2, aspect_ratio: "16:9", output_format: "webp" });
    expect(itemsOf(answer).map((item) => item["media_type"])).toEqual(["image/webp", "image/webp"]);
    expect(answer.bytes.toString()).toContain('"cost":0.04}');
  });

  test("the host that counts in ticks answers with addresses by default", async () => {
    const addresses = await draw(TICKS, { n: 1 });
    expect(itemsOf(addresses)[0]).toMatchObject({ url: expect.stringContaining("https://") });
    const base64 = await draw(TICKS, { n: 3, response_format: "b64_json" });
    expect(pictureIn(itemsOf(base64)[2]).subarray(1, 4).toString()).toBe("PNG");
    expect(base64.bytes.toString()).toContain('"cost_in_usd_ticks":600000000}');
  });

  test.each([
    [REFERENCE, { size: "1536x1024" }, [1536, 1024]],
    [REFERENCE, { size: "auto" }, [1024, 1024]],
    [REFERENCE, {}, [1024, 1024]],
    [RELAY, { aspect_ratio: "16:9", resolution: "2K" }, [2048, 1152]],
    [RELAY, { aspect_ratio: "2:3", resolution: "512" }, [341, 512]],
    [RELAY, { aspect_ratio: "auto" }, [1024, 1024]],
  ])("%s makes a picture of %j as it was asked for", async (path, asked, size) => {
    for (const format of ["png", "jpeg", "webp"]) {
      const answer = await draw(path, { ...asked, output_format: format });
      expect(itemsOf(answer).map((item) => pictureSize(pictureIn(item)))).toEqual([size]);
    }
  });

  test("the host that counts in ticks keeps the ratio, too", async () => {
    const asked = { aspect_ratio: "19.5:9", resolution: "1k", response_format: "b64_json" };
    const [item] = itemsOf(await draw(TICKS, asked));
    expect(pictureSize(pictureIn(item))).toEqual([1024, 473]);
  });

  test("the same request gets the same images", async () => {
    const [one, other] = await Promise.all([draw(REFERENCE), draw(REFERENCE)]);
    expect(itemsOf(one)).toEqual(itemsOf(other));
  });
});

describe("pictures are whole files, padded or not", () => {
  test.each([[0], [1_000], [70_001]])("a PNG of at least %i bytes", (bytes) => {
    const file = fileOf("png", bytes);
    expect(file.subarray(0, 8).toString("hex")).toBe("89504e470d0a1a0a");
    const chunks = pngChunks(file);
    expect(chunks.at(-1)?.name).toBe("IEND");
    const pixels = chunks.find(({ name }) => name === "IDAT")?.data ?? Buffer.alloc(0);
    expect(inflateSync(pixels)).toEqual(Buffer.alloc(30 * (1 + 3)));
    expect(file).toHaveLength(Math.max(bytes, fileOf("png", 0).length));
  });

  test.each([[0], [1_000], [140_003]])("a JPEG of at least %i bytes", (bytes) => {
    const file = fileOf("jpeg", bytes);
    expect(file.subarray(0, 4).toString("hex")).toBe("ffd8ffe0");
    expect(jpegScanAt(file)).toBeGreaterThan(0);
    expect(file.includes(Buffer.from("ffd9", "hex"))).toBe(true);
    expect(file).toHaveLength(Math.max(bytes, fileOf("jpeg", 0).length));
  });

  test.each([[0], [1_000], [70_001]])("a WebP of at least %i bytes", (bytes) => {
    const file = fileOf("webp", bytes);
    expect(file.subarray(8, 16).toString()).toBe("WEBPVP8L");
    expect(file.length - 8 - file.readUInt32LE(4)).toBe(bytes % 2);
    expect(file).toHaveLength(Math.max(bytes, fileOf("webp", 0).length));
  });

  test("a picture of 40 MiB is never whole in memory", () => {
    let total = 0;
    let largest = 0;
    for (const piece of base64Pieces(pictureOf(canvasOf("png"), "seed", 40 * MIB))) {
      total += piece.length;
      largest = Math.max(largest, piece.length);
    }
    expect(total).toBe(Math.ceil((40 * MIB) / 3) * 4);
    expect(largest).toBeLessThanOrEqual(64 * 1024);
  });
});

describe("strictness", () => {
  test.each([
    [REFERENCE, { aspect_ratio: "1:1" }, "Unknown parameter: 'aspect_ratio'."],
    [REFERENCE, { response_format: "b64_json" }, "Unknown parameter: 'response_format'."],
    [REFERENCE, { size: "1000x1000" }, "Invalid 'size'"],
    [REFERENCE, { size: "3840x1024" }, "Invalid 'size'"],
    [REFERENCE, { n: 11 }, "Invalid 'n'"],
    [REFERENCE, { prompt: "x".repeat(32_001) }, "string too long"],
    [REFERENCE, { stream: true }, "Unknown parameter: 'stream'."],
    [RELAY, { size: "1024x1024" }, "size: this endpoint"],
    [RELAY, { resolution: "8K" }, "Invalid 'resolution'"],
    [TICKS, { size: "1024x1024" }, "Argument not supported: size"],
    [TICKS, { quality: "high" }, "Argument not supported: quality"],
  ])("%s refuses %j", async (path, more, message) => {
    const answer = await draw(path, more);
    expect(answer.status).toBe(400);
    expect(answer.bytes.toString()).toContain(message);
  });

  test("an unknown model is 404, a customer's key 401", async () => {
    expect((await draw(REFERENCE, { model: "unknown-painter" })).status).toBe(404);
    const headers = { authorization: `Bearer tm_vk_${"a".repeat(48)}` };
    const body = { model: "painter", prompt: "p" };
    expect((await callHost(simulator.url + REFERENCE, { body, headers })).status).toBe(401);
  });
});

describe("faults", () => {
  test.each([
    ['image:{"count":1}', { n: 3 }, 1],
    ['image:{"count":0}', {}, 0],
    ['image:{"count":5}', { n: 1 }, 5],
  ])("%s", async (fault, more, count) => {
    expect(itemsOf(await draw(REFERENCE, more, fault))).toHaveLength(count);
  });

  test.each([
    ['image:{"url_only":true}', { url: expect.any(String) }],
    ['image:{"bad_base64":true}', { b64_json: expect.stringContaining("*") }],
    ['image:{"not_an_image":true}', { b64_json: btoa("a text and no picture at all") }],
    ['image:{"empty":true}', { b64_json: "" }],
  ])("%s", async (fault, item) => {
    expect(itemsOf(await draw(REFERENCE, {}, fault))).toEqual([item]);
  });

  test.each([
    [RELAY, 'image:{"cost":"0.1234567890123456789"}', '"cost":0.1234567890123456789'],
    [RELAY, 'image:{"cost":1e-7}', '"cost":1e-7'],
    [TICKS, 'image:{"cost":"0.0832"}', '"cost_in_usd_ticks":832000000'],
    [TICKS, 'usage:{"cost_in_usd_ticks":7}', '"cost_in_usd_ticks":7'],
  ])("%s %s is reported digit for digit", async (path, fault, text) => {
    expect((await draw(path, {}, fault)).bytes.toString()).toContain(text);
  });

  test.each([
    [RELAY, 'image:{"cost":null}', ["prompt_tokens", "completion_tokens", "total_tokens"]],
    [TICKS, 'image:{"cost":null}', []],
  ])("%s %s reports usage without a cost", async (path, fault, keys) => {
    const { usage } = (await draw(path, {}, fault)).json();
    expect(Object.keys(usage as object)).toEqual(keys);
  });

  test.each([["no_usage"], ['image:{"no_usage":true}']])("%s reports nothing", async (fault) => {
    expect(Object.keys((await draw(RELAY, {}, fault)).json())).toEqual(["created", "data"]);
  });

  test.each([
    [REFERENCE, { data: [], moderation: { flagged: true } }],
    [RELAY, { data: [], block_reason: "PROHIBITED_CONTENT" }],
    [TICKS, { data: [{ respect_moderation: false }] }],
  ])("%s says in a 200 that moderation took the images", async (path, shape) => {
    const answer = await draw(path, {}, 'image:{"moderation_flag":true}');
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject(shape);
  });

  test.each([
    [REFERENCE, 400, { error: { code: "moderation_blocked" } }],
    [RELAY, 451, { error: { code: 451, metadata: { error_type: "content_policy_violation" } } }],
    [TICKS, 400, { code: "content_policy_violation", error: expect.any(String) }],
  ])("%s refuses content in its own format", async (path, status, shape) => {
    const answer = await draw(path, {}, "content_filter");
    expect(answer.status).toBe(status);
    expect(answer.json()).toMatchObject(shape);
  });

  test("a status with a code of the test's own", async () => {
    const answer = await draw(REFERENCE, {}, "status:451;code:content_policy_violation");
    expect(answer.status).toBe(451);
    expect(answer.json()).toMatchObject({ error: { code: "content_policy_violation" } });
  });

  test("33 MiB come without a length, and are one good document all the same", async () => {
    const fault = `image:{"bytes":${33 * MIB}};chunked`;
    const answer = await draw(REFERENCE, {}, fault);
    expect(answer.headers["content-length"]).toBeUndefined();
    expect(pictureIn(itemsOf(answer)[0])).toHaveLength(33 * MIB);
  });

  test("the length that is said is the length that comes", async () => {
    const answer = await draw(REFERENCE, { n: 4 }, 'image:{"bytes":100000}');
    expect(Number(answer.headers["content-length"])).toBe(answer.bytes.length);
  });

  test("a body can end in its middle, by HTTP's rules or against them", async () => {
    const cut = await draw(REFERENCE, {}, 'image:{"bytes":9000};bad_json');
    expect(cut.isComplete).toBe(true);
    expect(cut.json).toThrow(SyntaxError);
    const reset = await draw(REFERENCE, {}, 'image:{"bytes":300000};reset:body:200000');
    expect(reset).toMatchObject({ status: 200, isComplete: false });
    expect(reset.bytes.length).toBeLessThanOrEqual(200_000);
    const short = await draw(REFERENCE, {}, "wrong_length:7");
    expect(short.isComplete).toBe(false);
  });

  test("an error or a page in a 200", async () => {
    const error = await draw(REFERENCE, {}, "error_in_200;code:content_policy_violation");
    expect(error.status).toBe(200);
    expect(error.json()).toMatchObject({ error: { code: "content_policy_violation" } });
    const refusal = await draw(RELAY, {}, "error_in_200;content_filter");
    expect(refusal.status).toBe(200);
    expect(refusal.json()).toMatchObject({ error: { code: 451 } });
    const page = await draw(REFERENCE, {}, "body:html");
    expect(page.headers["content-type"]).toBe("text/html");
  });

  test("a marker in the prompt, or a rule with a wildcard, chooses the fault", async () => {
    const marked = await draw(REFERENCE, { prompt: 'a cat [[fault:image:{"count":2}]]' });
    expect(itemsOf(marked)).toHaveLength(2);
    simulator.script({ path: "/*/v1/images/generations", fault: "status:503", times: 1 });
    expect((await draw(RELAY)).status).toBe(503);
    expect((await draw(RELAY)).status).toBe(200);
  });
});

test("hosts of one kind are distinguished by a suffix, and each call is counted", async () => {
  await draw("/img-backup/v1/images/generations");
  await draw(REFERENCE);
  await draw(REFERENCE, { size: "1x1" });
  expect(simulator.counts()).toMatchObject({
    total: 3,
    paths: { "/img-backup/v1/images/generations": 1, [REFERENCE]: 2 },
  });
  expect(simulator.calls().map(({ body }) => body)).toMatchObject([{}, {}, { size: "1x1" }]);
});

function canvasOf(format: Canvas["format"]): Canvas {
  return { format, width: 20, height: 30 };
}

function fileOf(format: Canvas["format"], bytes: number): Buffer {
  const text = Buffer.concat([
    ...base64Pieces(pictureOf(canvasOf(format), "seed", bytes)),
  ]).toString();
  return Buffer.from(text, "base64");
}

function pngChunks(file: Buffer): readonly { readonly name: string; readonly data: Buffer }[] {
  const chunks: { name: string; data: Buffer }[] = [];
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at);
    const named = file.subarray(at + 4, at + 8 + length);
    expect(file.readUInt32BE(at + 8 + length)).toBe(crc32(named));
    chunks.push({ name: named.subarray(0, 4).toString(), data: named.subarray(4) });
    at += 12 + length;
  }
  return chunks;
}

/* Walks the segments up to the one that the pixels follow. */
function jpegScanAt(file: Buffer): number {
  for (let at = 2; at < file.length;) {
    expect(file[at]).toBe(0xff);
    if (file[at + 1] === 0xda) return at;
    at += 2 + file.readUInt16BE(at + 2);
  }
  return -1;
}
