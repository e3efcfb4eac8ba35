import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";

import { beforeEach, describe, expect, test } from "vitest";

import { VIDEO_FILES_PER_ORG_MAX as filesMax } from "../../src/kernel/core/constants.ts";
import { until } from "../support/books.ts";
import type { TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, withoutIds, type HttpAnswer } from "../support/http-call.ts";
import { rawHttp } from "../support/raw-http.ts";
import { expectRefusal } from "../support/refusals.ts";
import { runSql } from "../support/sql.ts";
import { VideoHost, type Handler } from "../support/video-host.ts";
import {
  acceptedVideo,
  getVideo,
  withVideoFixture,
  type AcceptedVideo,
} from "../support/video-fixture.ts";

const FILE = Buffer.from("a film of thirty-two bytes, ended");
const FILE_BYTES_MAX = 256 * 1_048_576;

let account: TestAccount;
/** A finished video whose file is `FILE`. */
let video: AcceptedVideo;

const fixture = withVideoFixture({ videoContentBytesMax: FILE_BYTES_MAX });
beforeEach(async () => {
  account = await fixture.gateway.account("100.00");
  video = await finishedVideo();
});

async function finishedVideo(more: object = {}): Promise<AcceptedVideo> {
  const accepted = await acceptedVideo(fixture.gateway, account, { seconds: 1 });
  const { last } = fixture.host;
  last.record = { id: last.id, status: "completed", usage: { cost: 0.1 }, ...more };
  last.file = FILE;
  await getVideo(fixture.gateway, account.key, accepted.id);
  return accepted;
}

const contentUrl = (id: string): string => `${fixture.gateway.url}/v1/videos/${id}/content`;

function content(
  headers: Readonly<Record<string, string>> = {},
  more: { readonly id?: string; readonly method?: string; readonly query?: string } = {},
): Promise<HttpAnswer> {
  const { id = video.id, method = "GET", query = "" } = more;
  const url = contentUrl(id) + query;
  return httpCall(url, { method, headers: { ...bearer(account.key), ...headers } });
}

/** Opens the answer as a stream that the test reads. */
async function openContent(id = video.id): Promise<IncomingMessage> {
  const sent = httpRequest(contentUrl(id), { agent: false, headers: bearer(account.key) });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  // A connection that is cut is reported here as well as by the response.
  sent.on("error", () => undefined);
  return response;
}

/** Reads the body to its end; `isWhole` is false if it was cut off. */
async function readAll(response: IncomingMessage): Promise<{ bytes: number; isWhole: boolean }> {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => (bytes += chunk.length));
  response.on("error", () => undefined);
  response.resume();
  await new Promise((done) => response.once("close", done));
  return { bytes, isWhole: response.complete };
}

describe("the file of a finished video", () => {
  test("is the provider's file, as an attachment that no cache may store", async () => {
    const answer = await content();
    expect(answer.text).toBe(FILE.toString());
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        "content-type": "video/mp4",
        "content-length": String(FILE.length),
        "accept-ranges": "bytes",
        etag: '"v1"',
        "content-disposition": `attachment; filename="${video.id}.mp4"`,
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
        "x-tm-provider": "films",
      },
    });
    expect(answer.headers).toHaveProperty("x-request-id");
    expect(fixture.host.last.fetched).toHaveLength(1);
    // The file can be downloaded again at no cost.
    const before = await fixture.gateway.backend.recordStore.balance(account.orgId);
    expect((await content()).status).toBe(200);
    expect(await fixture.gateway.backend.recordStore.balance(account.orgId)).toEqual(before);
  });

  test.each([
    ["bytes=2-5", "film", "bytes 2-5/33"],
    ["bytes=28-", "ended", "bytes 28-32/33"],
  ])("is sent in part for the range %s", async (range, text, reported) => {
    const answer = await content({ range, "if-range": '"v1"' });
    expect(fixture.host.last.fetched[0]?.headers["if-range"]).toBe('"v1"');
    const sent = { "content-range": reported, "content-length": String(text.length) };
    expect(answer).toMatchObject({ status: 206, text, headers: sent });
  });

  test("requested beyond its end is a 416 with the file's length and without the provider's message", async () => {
    const answer = await content({ range: "bytes=99-" });
    expect(answer).toMatchObject({ status: 416, text: "" });
    expect(answer.headers["content-range"]).toBe("bytes */33");
  });

  test.each(["bytes=0-1,4-5", "lines=1-2"])(
    "is sent whole when the range is %s, which the provider does not get",
    async (range) => {
      expect(await content({ range })).toMatchObject({ status: 200, text: FILE.toString() });
      expect(fixture.host.last.fetched[0]?.headers).not.toHaveProperty("range");
    },
  );

  test("answers HEAD with every header and no bytes", async () => {
    const whole = await content();
    const head = await content({}, { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(head.text).toBe("");
    const plain = ({ headers }: HttpAnswer): object => ({
      ...headers,
      date: "",
      "x-request-id": "",
      "request-id": "",
      "x-tm-remaining-rpm": "",
    });
    expect(plain(head)).toEqual(plain(whole));
    // A further request on the same connection gets its own answer.
    const asked = ["HEAD", "GET"].map(
      (method) =>
        `${method} /v1/videos/${video.id}/content HTTP/1.1\r\nhost: x\r\nx-api-key: ${account.key}\r\n`,
    );
    const raw = await rawHttp(
      fixture.gateway.url,
      `${asked[0]}\r\n${asked[1]}connection: close\r\n\r\n`,
    );
    expect(raw.statuses).toEqual([200, 200]);
    expect(raw.text.split(FILE.toString())).toHaveLength(2);
  });

  test("is sent in chunks when the provider names no length", async () => {
    fixture.host.last.content = (_request, response) => {
      response.writeHead(200, { "content-type": "video/webm" }).write("a film ");
      setImmediate(() => response.end("in pieces"));
    };
    const answer = await content();
    expect(answer.text).toBe("a film in pieces");
    expect(answer.headers["content-type"]).toBe("video/webm");
    expect(answer.headers).not.toHaveProperty("content-length");
  });

  test("has only the variant video, and another variant is a 400", async () => {
    expect((await content({}, { query: "?variant=video" })).status).toBe(200);
    const answer = await content({}, { query: "?variant=thumbnail" });
    expectRefusal(answer, { status: 400, code: "invalid_request", message: "variant" });
  });
});

describe("the file of a video", () => {
  test("exists as soon as the video has finished, and not before", async () => {
    const { id } = await acceptedVideo(fixture.gateway, account, { seconds: 1 });
    expectRefusal(await content({}, { id }), {
      status: 400,
      code: "invalid_request",
      message: "this video is queued",
    });
    expect(fixture.host.last.fetched).toEqual([]);
    fixture.host.last.record = { id: "x", status: "completed", usage: { cost: 0.1 } };
    fixture.host.last.file = FILE;
    expect((await content({}, { id })).text).toBe(FILE.toString());
  });

  test("does not exist for a failed video, and the code says why", async () => {
    const { id } = await finishedVideo({ status: "failed", error: { code: "moderation_blocked" } });
    expectRefusal(await content({}, { id }), {
      status: 400,
      code: "invalid_request",
      message: "content_policy_violation",
    });
  });

  test("does not exist after it has expired", async () => {
    const sql = "update video_job set expires_at = now() where job_id = $1";
    await runSql(fixture.gateway, "alter table video_job disable trigger user", []);
    await runSql(fixture.gateway, sql, [video.id]);
    await runSql(fixture.gateway, "alter table video_job enable trigger user", []);
    expectRefusal(await content(), { status: 404, code: "not_found" });
    expect(fixture.host.last.fetched).toEqual([]);
  });

  test("does not exist when the provider has lost it", async () => {
    fixture.host.last.content = (_request, response) => void response.writeHead(410).end("words");
    const answer = await content();
    expectRefusal(answer, { status: 404, code: "not_found" });
    expect(answer.headers["x-tm-upstream-status"]).toBe("410");
  });

  test("of another organization is answered like an unknown one (F53)", async () => {
    const owner = account;
    account = await fixture.gateway.account("1.00");
    const foreign = await content();
    const unknown = await content({}, { id: `video_${"0".repeat(32)}` });
    expectRefusal(foreign, { status: 404, code: "not_found" });
    expect(withoutIds(foreign)).toEqual(withoutIds(unknown));
    expect(fixture.host.last.fetched).toEqual([]);
    account = owner;
    expect((await content()).status).toBe(200);
  });
});

describe("a provider's answer other than a file", () => {
  test.each<[string, Handler, number, string]>([
    [
      "an HTML page",
      (_request, r) => void r.setHeader("content-type", "text/html").end("<html>"),
      502,
      "upstream_error",
    ],
    [
      "a 429",
      (_request, r) => void r.writeHead(429, { "retry-after": "7" }).end("provider words"),
      429,
      "rate_limit",
    ],
    ["a 403", (_request, r) => void r.writeHead(403).end(), 403, "auth"],
    ["a closed connection", (request) => void request.socket.destroy(), 502, "upstream_error"],
    [
      "a file longer than 256 MiB",
      (_request, r) => {
        const headers = { "content-type": "video/mp4", "content-length": FILE_BYTES_MAX + 1 };
        r.writeHead(200, headers).write("a");
      },
      502,
      "upstream_error",
    ],
  ])(
    "%s: the client gets an error of the gateway without the provider's message",
    async (_what, handler, status, code) => {
      fixture.host.last.content = handler;
      const answer = await content();
      expectRefusal(answer, { status, code });
      expect(answer.headers["x-tm-error-origin"]).toBe("upstream");
      expect(answer.headers).not.toHaveProperty("content-disposition");
      expect(answer.text).not.toMatch(/provider words|<html>|127\.0\.0\.1/);
    },
  );

  test("may be a video that is too long, of which the error does not say that it is no video", async () => {
    const headers = { "content-type": "video/mp4", "content-length": FILE_BYTES_MAX + 1 };
    fixture.host.last.content = (_request, r) => void r.writeHead(200, headers).write("a");
    const message = "sent no video file that can be passed on";
    expectRefusal(await content(), { status: 502, code: "upstream_error", message });
  });

  test("may be a redirect to its files, which is followed without the provider key", async () => {
    const files = await VideoHost.start();
    try {
      let key: string | undefined = "not asked";
      files.elsewhere = (request, response) => {
        key = request.headers.authorization;
        response.writeHead(200, { "content-type": "video/mp4", "set-cookie": "a=b" }).end(FILE);
      };
      fixture.host.last.content = (_request, response) =>
        void response.writeHead(302, { location: `${files.url}/signed.mp4?sig=1` }).end();
      const answer = await content();
      expect(answer.text).toBe(FILE.toString());
      expect(answer.headers).not.toHaveProperty("set-cookie");
      expect(files.asked).toEqual(["GET /signed.mp4?sig=1"]);
      expect(key).toBeUndefined();
    } finally {
      await files.close();
    }
  });

  test.each([401, 402, 403, 429])(
    "may be a redirect to a host that answers %i, of which no key or limit is blamed",
    async (status) => {
      const files = await VideoHost.start();
      try {
        files.elsewhere = (_request, response) => void response.writeHead(status).end("words");
        fixture.host.last.content = (_request, response) =>
          void response.writeHead(302, { location: `${files.url}/signed.mp4?sig=1` }).end();
        const answer = await content();
        const message = "could not be fetched from where the provider keeps it; try again";
        expectRefusal(answer, { status: 502, code: "upstream_error", message });
        expect(answer.headers["x-tm-upstream-status"]).toBe(String(status));
      } finally {
        await files.close();
      }
    },
  );
});

describe("a file that is large or slow", () => {
  const BYTES = 48 * 1_048_576;

  test.each([true, false])(
    "breaks the connection when its provider dies in the middle (length known: %s)",
    async (isReported) => {
      fixture.host.last.content = (request, response) => {
        const length = isReported ? { "content-length": BYTES } : {};
        response.writeHead(200, { "content-type": "video/mp4", ...length });
        response.write(Buffer.alloc(100_000), () => request.socket.destroy());
      };
      const response = await openContent();
      expect(response.statusCode).toBe(200);
      const { isWhole } = await readAll(response);
      expect(isWhole).toBe(false);
      await until("it is logged", () =>
        fixture.gateway.log().includes("file could not be fetched"),
      );
    },
  );

  /** Lets the provider send as fast as the connection allows, and counts the bytes. */
  function pouring(): { sent: number; isClosed: boolean } {
    const state = { sent: 0, isClosed: false };
    fixture.host.last.content = (_request, response) => {
      response.writeHead(200, { "content-type": "video/mp4", "content-length": BYTES });
      const piece = Buffer.alloc(1_048_576);
      const pour = (): void => {
        while (state.sent < BYTES && !state.isClosed) {
          state.sent += piece.length;
          if (!response.write(piece)) return void response.once("drain", pour);
        }
        response.end();
      };
      response.once("close", () => (state.isClosed = true));
      pour();
    };
    return state;
  }

  test("is read from the provider no faster than the client reads it, and arrives whole", async () => {
    const provider = pouring();
    const response = await openContent();
    response.pause();
    // The buffers of the sockets on the way fill up; then the provider has to wait.
    let before = -1;
    await until("the provider waits", async () => {
      if (provider.sent === before) return true;
      before = provider.sent;
      await new Promise((done) => setTimeout(done, 200));
      return false;
    });
    expect(provider.sent).toBeLessThan(BYTES / 2);
    const { bytes, isWhole } = await readAll(response);
    expect({ bytes, isWhole }).toEqual({ bytes: BYTES, isWhole: true });
  });

  test("is no longer read from the provider once the client disconnects", async () => {
    const provider = pouring();
    const response = await openContent();
    response.on("error", () => undefined);
    response.pause();
    response.destroy();
    await until("the provider is let go", () => provider.isClosed);
    expect(provider.sent).toBeLessThan(BYTES);
  });
});

describe("limits of video files", () => {
  const remaining = async (): Promise<number> => {
    const url = `${fixture.gateway.url}/v1/limits?model=test/video`;
    const { json } = await httpCall(url, { headers: bearer(account.key) });
    return Number(at(json, "effective.rpm.remaining"));
  };

  test("count a file as one request of the minute, and a refused one as none", async () => {
    const before = await remaining();
    const answer = await content();
    expect(await remaining()).toBe(before - 1);
    expect(answer.headers["x-tm-remaining-rpm"]).toBe(String(before - 1));
    await content({}, { id: `video_${"0".repeat(32)}` });
    expect(await remaining()).toBe(before - 1);
  });

  test("refuse a file with a 429 when no request is left, and the provider is not called", async () => {
    account = await fixture.gateway.account("1.00", { requestsPerMinute: 2 });
    video = await finishedVideo();
    expect((await content()).status).toBe(200);
    const answer = await content();
    expectRefusal(answer, { status: 429, code: "rate_limit" });
    expect(answer.headers).toMatchObject({ "x-tm-limit-scope": "key", "x-tm-limit-kind": "rpm" });
    expect(fixture.host.last.fetched).toHaveLength(1);
    expect((await getVideo(fixture.gateway, account.key, video.id)).status).toBe(200);
  });

  test(`refuse the ${filesMax + 1}th file that is downloaded at the same time, until one has ended`, async () => {
    fixture.host.last.content = (_request, response) => {
      response.writeHead(200, { "content-type": "video/mp4" }).write("a");
    };
    const open = await Promise.all(Array.from({ length: filesMax }, () => openContent()));
    for (const response of open) response.on("error", () => undefined);
    const before = await remaining();
    const refused = await content();
    expectRefusal(refused, { status: 429, code: "rate_limit", message: "are already being sent" });
    expect(refused.headers["retry-after"]).toBeDefined();
    expect(await remaining()).toBe(before);
    fixture.host.last.content = undefined;
    open[0]?.destroy();
    await until("another file may be read", async () => (await content()).status === 200);
    for (const response of open) response.destroy();
  });

  test("do not count a slow download as a concurrent request", async () => {
    fixture.host.last.content = (_request, response) => {
      response.writeHead(200, { "content-type": "video/mp4" }).write("a");
    };
    const open = await Promise.all(Array.from({ length: 10 }, () => openContent()));
    expect((await acceptedVideo(fixture.gateway, account)).answer.status).toBe(200);
    for (const response of open) {
      response.on("error", () => undefined);
      response.destroy();
    }
  });
});
