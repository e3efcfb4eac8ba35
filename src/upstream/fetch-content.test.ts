import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Clock, Deadlines, systemClock } from "../kernel/core/time.ts";
import { withServer } from "../../test/support/local-server.ts";
import { buildDeployment } from "../../test/fixtures/modality/request-kit.ts";
import {
  type ContentEnd,
  type ContentHead,
  type ContentInput,
  type ContentSink,
  fetchContent,
  type RunningContent,
} from "./fetch-content.ts";
import { UpstreamClient } from "./upstream-client.ts";

const KEY = "sk-marketplace-0123456789";

class Host {
  readonly asked: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  serve: RequestListener = video("film");
  readonly server = withServer(() =>
    createServer((request, response) => {
      this.asked.push({ url: request.url ?? "", headers: request.headers });
      this.serve(request, response);
    }),
  );

  get url(): string {
    return this.server.url;
  }
}

const home = new Host();
const away = new Host();
let clients: UpstreamClient[] = [];
let deadlines: Deadlines;

beforeEach(() => {
  deadlines = new Deadlines(systemClock);
  for (const host of [home, away]) {
    host.serve = video("film");
    host.asked.length = 0;
  }
});
afterEach(async () => {
  for (const client of clients) await client.close();
  clients = [];
});

function video(text: string, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) =>
    void response.writeHead(200, { "content-type": "video/mp4", ...headers }).end(text);
}

function redirect(status: number, location: string): RequestListener {
  return (_request, response) => void response.writeHead(status, { location }).end("moved");
}

interface Fetched {
  readonly end: ContentEnd;
  readonly head: ContentHead | undefined;
  readonly text: string;
}

interface Wanted extends Partial<ContentInput> {
  readonly act?: (running: RunningContent) => void;
}

/** Makes a sink that records whether its head was written, as the exchange with a client does. */
function sinkOf(to: Omit<ContentSink, "committed">): ContentSink {
  let isWritten = false;
  return {
    get committed() {
      return isWritten;
    },
    begin(head) {
      isWritten = true;
      to.begin(head);
    },
    write: (chunk) => to.write(chunk),
  };
}

async function fetched(wanted: Wanted = {}): Promise<Fetched> {
  const { act, ...more } = wanted;
  const upstream = new UpstreamClient({ allowPrivateUpstreams: true, providerKey: () => KEY });
  clients.push(upstream);
  const got = { head: undefined as ContentHead | undefined, text: "" };
  const running = fetchContent({
    clock: systemClock,
    deadlines,
    upstream,
    deployment: buildDeployment("wire_a", { baseUrl: `${home.url}/v1`, apiKeyEnv: "KEY" }),
    path: "/videos/x/content",
    headOnly: false,
    idleMs: 5_000,
    bytesMax: 1_000,
    sink: sinkOf({
      begin: (head) => (got.head = head),
      write: (chunk) => ((got.text += chunk.toString()), true),
    }),
    ...more,
  });
  act?.(running);
  const end = await running.ended;
  // However the transfer ended, its deadline is not watched any more.
  expect(deadlines.size).toBe(0);
  return { end, ...got };
}

describe("a file", () => {
  test("arrives unchanged, with only the headers about it", async () => {
    const about = {
      "content-length": "4",
      etag: '"v1"',
      "last-modified": "Sat, 21 Nov 2026 10:00:00 GMT",
      "accept-ranges": "bytes",
    };
    const others = { "set-cookie": "a=b", "x-internal": "secret", server: "nginx" };
    home.serve = video("film", { ...about, ...others });
    expect(await fetched()).toEqual({
      end: { kind: "complete" },
      text: "film",
      head: { status: 200, contentHeaders: { "content-type": "video/mp4", ...about } },
    });
    expect(home.asked[0]).toMatchObject({
      url: "/v1/videos/x/content",
      headers: { authorization: `Bearer ${KEY}`, "accept-encoding": "identity" },
    });
  });

  test.each(["", "image/png", "video/"])("of type '%s' arrives as untyped bytes", async (type) => {
    home.serve = (_request, response) => {
      if (type !== "") response.setHeader("content-type", type);
      response.end("film");
    };
    const { head, text } = await fetched();
    expect(head?.contentHeaders["content-type"]).toBe("application/octet-stream");
    expect(text).toBe("film");
  });

  test.each(["Identity", ""])("with the content-encoding '%s' arrives", async (encoding) => {
    home.serve = video("film", { "content-encoding": encoding });
    expect(await fetched()).toMatchObject({ end: { kind: "complete" }, text: "film" });
  });

  /** Makes a clock, and deadlines on it, that the test can move on. */
  function movedClock(): { clock: Clock; move: (ms: number) => void } {
    let movedMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + movedMs };
    deadlines = new Deadlines(clock);
    return { clock, move: (ms) => (movedMs += ms) };
  }

  test("is cut off after its total time, however often its slow reader reads", async () => {
    const { clock, move } = movedClock();
    home.serve = (_request, response) => {
      response.writeHead(200, { "content-type": "video/mp4" }).write("film");
    };
    const { end } = await fetched({
      clock,
      idleMs: 60_000,
      totalMs: 100_000,
      sink: sinkOf({
        begin: () => undefined,
        write: () => {
          move(60_000);
          setTimeout(() => move(40_000), 150);
          return false;
        },
      }),
    });
    expect(end).toEqual({ kind: "broken", reason: "the transfer took too long" });
  });

  test("waits for a reader that is slower than the idle limit", async () => {
    const idleMs = 60_000;
    let paused = 0;
    const { clock, move } = movedClock();
    let resume: () => void = () => undefined;
    const got = await fetched({
      clock,
      idleMs,
      sink: sinkOf({
        begin: () => undefined,
        write: () => {
          paused += 1;
          // The idle limit is reached twice: the first check finds this data, the second the pause.
          move(idleMs);
          setTimeout(() => move(idleMs), 150);
          setTimeout(() => resume(), 300);
          return false;
        },
      }),
      act: (running) => (resume = () => running.resume()),
    });
    expect(got.end).toEqual({ kind: "complete" });
    expect(paused).toBe(1);
  });
});

describe("an answer that is not a file", () => {
  test.each<[string, RequestListener]>([
    ["an HTML page", video("<html>", { "content-type": "text/html; charset=utf-8" })],
    ["a JSON document", video("{}", { "content-type": "application/json" })],
    ["multiple ranges", video("--x", { "content-type": "multipart/byteranges; boundary=x" })],
    ["compressed content", video("x", { "content-encoding": "gzip" })],
    ["a length above the bound", video("x".repeat(1_001), { "content-length": "1001" })],
    ["a status 204", (_request, response) => void response.writeHead(204).end()],
    ["a range that was not requested", (_request, r) => void r.writeHead(206).end("x")],
    ["a 416 that was not requested", (_request, r) => void r.writeHead(416).end()],
  ])("is refused before the client gets a byte: %s", async (_what, serve) => {
    home.serve = serve;
    const { end, head } = await fetched();
    expect(end).toMatchObject({ kind: "refused", unusableReason: expect.any(String) as string });
    expect(head).toBeUndefined();
  });

  test.each([404, 503])("with the status %i is reported as that error", async (status) => {
    home.serve = (_request, response) => void response.writeHead(status).end("words");
    const { end, head } = await fetched();
    expect(end).toMatchObject({ kind: "refused", status });
    expect(end).not.toHaveProperty("unusableReason");
    expect(head).toBeUndefined();
  });

  test("is distinguished from a silent or unreachable provider", async () => {
    home.serve = () => undefined;
    expect((await fetched({ idleMs: 60 })).end).toEqual({ kind: "silent" });
    home.serve = (request) => void request.socket.destroy();
    expect((await fetched()).end).toMatchObject({ kind: "unreachable" });
    home.serve = () => deadlines.cutAll();
    expect((await fetched()).end).toMatchObject({ kind: "unreachable" });
  });
});

describe("a file that breaks off", () => {
  test.each<[string, RequestListener, Wanted]>([
    [
      "because the provider dies",
      (request, response) => {
        response.writeHead(200, { "content-type": "video/mp4", "content-length": "100" });
        response.write("fi", () => request.socket.destroy());
      },
      {},
    ],
    [
      "because the provider falls silent",
      (_request, response) => {
        response.writeHead(200, { "content-type": "video/mp4" }).write("fi");
      },
      // One second is enough for the head of the answer, even on a busy machine.
      { idleMs: 1_000 },
    ],
    ["because it is longer than is passed on", video("fi".repeat(600)), {}],
  ])("%s is not taken for a whole one", async (_reason, serve, wanted) => {
    home.serve = serve;
    const { end, head } = await fetched(wanted);
    expect(head?.status).toBe(200);
    expect(end).toMatchObject({ kind: "broken" });
  });

  test.each<[string, (running: RunningContent | undefined) => void]>([
    ["the client has left", (running) => running?.abandon()],
    ["the program shuts down", () => deadlines.cutAll()],
  ])("because %s closes the connection to its provider", async (_reason, stop) => {
    let closed: Promise<unknown> = Promise.resolve();
    home.serve = (request, response) => {
      closed = once(request.socket, "close");
      response.writeHead(200, { "content-type": "video/mp4" }).write("fi");
    };
    let running: RunningContent | undefined;
    const write = (): boolean => {
      stop(running);
      return true;
    };
    const { end } = await fetched({
      act: (each) => (running = each),
      sink: sinkOf({ begin: () => undefined, write }),
    });
    expect(end).toMatchObject({ kind: "broken" });
    await closed;
  });
});

describe("a redirect", () => {
  const statuses = [301, 302, 303, 307, 308];
  test.each(statuses)("(%i) within the host is followed with the key", async (status) => {
    const target = "/files/a.mp4?x=1";
    home.serve = (request, response) => {
      const serve = request.url === target ? video("film") : redirect(status, target);
      serve(request, response);
    };
    expect(await fetched({ range: "bytes=0-" })).toMatchObject({ text: "film" });
    const keys = home.asked.map(({ headers }) => headers.authorization);
    expect(keys).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);
    expect(home.asked[1]?.headers.range).toBe("bytes=0-");
  });

  test("to another host is followed without the key, and so is the way back", async () => {
    away.serve = redirect(302, `${home.url}/v1/again`);
    home.serve = (request, response) =>
      request.url === "/v1/again"
        ? video("film")(request, response)
        : redirect(302, `${away.url}/signed?sig=a%2Fb`)(request, response);
    expect(await fetched()).toMatchObject({ end: { kind: "complete" }, text: "film" });
    expect(away.asked[0]?.url).toBe("/signed?sig=a%2Fb");
    expect(home.asked).toHaveLength(2);
    for (const { headers } of [...away.asked, ...home.asked.slice(1)]) {
      expect(JSON.stringify(headers)).not.toContain(KEY);
      expect(headers["accept-encoding"]).toBe("identity");
    }
  });

  test("is followed three times and not a fourth", async () => {
    home.serve = (request, response) => {
      const n = Number(request.url?.split("/").at(-1)) || 0;
      if (n === 3) return video("film")(request, response);
      redirect(302, `/v1/${n + 1}`)(request, response);
    };
    expect(await fetched()).toMatchObject({ text: "film" });
    home.serve = redirect(302, "/v1/again");
    const { end } = await fetched();
    expect(end).toMatchObject({ kind: "refused", unusableReason: "more than 3 redirects" });
    expect(home.asked).toHaveLength(8);
  });

  test("without a usable target is an error of the provider", async () => {
    home.serve = redirect(302, "http://[");
    expect((await fetched()).end).toMatchObject({ kind: "refused", status: 302 });
  });

  test.each<[string, (away: string) => string]>([
    ["to another scheme", () => "ftp://example.com/a.mp4"],
    ["with credentials", (url) => url.replace("//", "//user:pass@")],
  ])("%s is not followed", async (_what, target) => {
    home.serve = redirect(302, target(away.url));
    expect((await fetched()).end).toMatchObject({ kind: "unreachable" });
    expect(away.asked).toEqual([]);
  });
});
