import { createServer } from "node:http";

import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";

import {
  connectionsOf,
  Listeners,
  NO_TIMEOUTS,
  type RawClient,
} from "../../../test/support/http-listener.ts";
import { listenLocally } from "../../../test/support/local-server.ts";
import { plainPrincipal } from "../../../test/support/plain-ports.ts";
import { PIPELINED_REQUESTS_MAX } from "../../kernel/core/constants.ts";
import { type Clock, type Deadline, Deadlines, systemClock } from "../../kernel/core/time.ts";
import {
  ArrivingBodies,
  type ArrivingBody,
  type UnreadAnswer,
  UnreadAnswers,
} from "./connections.ts";
import type { AuthOutcome } from "../accounts/authenticate.ts";
import { type GatewayServerOptions, serveKnownCaller } from "./gateway-server.ts";
import type { HttpExchange } from "./http-exchange.ts";
import { get, post, type Route } from "./route-table.ts";

/** How long a test waits; a server that works needs about a hundredth of this time. */
const PATIENCE = { timeout: 20_000, interval: 10 };

const listeners = new Listeners();
afterEach(() => listeners.close());

const ASK = "GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n";

/** Resolves after all deadlines that are due now have been called. */
function nextSweep(deadlines: Deadlines, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const mark: Deadline = {
      dueMs: clock.monotonicMs(),
      watchedAt: -1,
      onDue: () => {
        deadlines.unwatch(mark);
        resolve();
      },
    };
    deadlines.watch(mark);
  });
}

/** Options that give a client a minute to read an answer, on a clock that only the test moves. */
function minuteToRead() {
  const time = { ms: 0 };
  const clock = { ...systemClock, monotonicMs: () => time.ms };
  const deadlines = new Deadlines(clock);
  const clientTimeouts = { ...NO_TIMEOUTS, writeIdleMs: 60_000 };
  const sweep = (): Promise<void> => nextSweep(deadlines, clock);
  return { time, sweep, options: { clientTimeouts, clock, deadlines } };
}

describe("a connection whose client reads slowly", () => {
  /** Opens `count` clients that request an answer of `mib` MiB each and read none of it. */
  async function unread(count: number, change: Partial<GatewayServerOptions>, mib = 8) {
    const body = "x".repeat(mib * 1024 * 1024);
    let answered = 0;
    const whole = get("/v1/models", async (exchange) => {
      exchange.onGone(() => expect.unreachable("the call has ended: nothing of it is cut"));
      exchange.answer("application/json", {}, body);
      answered += 1;
    });
    const { port, server } = await listeners.listen([whole], change);
    const clients: RawClient[] = [];
    for (let n = 1; n <= count; n += 1) {
      clients.push(await listeners.client(port, ASK, false));
      await vi.waitFor(() => expect(answered).toBe(n), PATIENCE);
    }
    return { clients, connected: () => connectionsOf(server), bodyBytes: body.length };
  }

  test("is closed after the set time if a complete answer waits and no byte is read", async () => {
    const { time, sweep, options } = minuteToRead();
    const { connected } = await unread(1, options);
    time.ms = 59_000;
    await sweep();
    expect(await connected()).toBe(1);
    time.ms = 61_000;
    await vi.waitFor(async () => expect(await connected()).toBe(0), PATIENCE);
  });

  test("is closed after the set time without reading a stream, even if the stream ends meanwhile", async () => {
    const { time, sweep, options } = minuteToRead();
    let end: (() => void) | undefined;
    const stream = get("/v1/models", async (exchange) => {
      exchange.begin("text/event-stream", {});
      exchange.write("x".repeat(48 * 2 ** 20));
      end = () => exchange.end("x");
    });
    const { port, server } = await listeners.listen([stream], options);
    await listeners.client(port, ASK, false);
    await vi.waitFor(() => expect(end).toBeDefined(), PATIENCE);
    time.ms = 59_000;
    end?.();
    await sweep();
    expect(await connectionsOf(server)).toBe(1);
    time.ms = 61_000;
    await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(0), PATIENCE);
  });

  test("stays open while its client reads now and then, until the whole answer has arrived", async () => {
    const { time, sweep, options } = minuteToRead();
    const { clients, bodyBytes } = await unread(1, options, 48);
    const socket = clients[0]?.socket;
    let seen = 0;
    for (const share of [0.25, 0.5, 0.75, 1]) {
      const read = (chunk: Buffer): void => {
        seen += chunk.length;
        if (seen >= share * bodyBytes) socket?.pause();
      };
      socket?.on("data", read);
      socket?.resume();
      await vi.waitFor(() => expect(seen).toBeGreaterThanOrEqual(share * bodyBytes), PATIENCE);
      socket?.off("data", read);
      time.ms += 40_000;
      await sweep();
    }
    expect(seen).toBeGreaterThan(bodyBytes);
  });

  test("is not reset when a shutdown cuts its stream, so that it gets the end of it", async () => {
    const deadlines = new Deadlines(systemClock);
    let end: (() => void) | undefined;
    const stream = get("/v1/models", async (exchange) => {
      exchange.begin("text/event-stream", {});
      exchange.write("x".repeat(2 ** 20));
      end = () => exchange.end("the last event");
    });
    const { port } = await listeners.listen([stream], { deadlines });
    const client = await listeners.client(port, ASK, false);
    await vi.waitFor(() => expect(deadlines.size).toBe(1), PATIENCE);
    deadlines.cutAll();
    end?.();
    client.socket.resume();
    await vi.waitFor(() => expect(client.text()).toContain("the last event"), PATIENCE);
  });

  test("is closed, longest wait first, when unread answers exceed the bound of a key or of the process", async () => {
    const mib = 1024 * 1024;
    const wide = 1024 * mib;
    for (const bounds of [
      { unreadBytesMax: wide, unreadBytesMaxPerKey: 32 * mib },
      { unreadBytesMax: 32 * mib, unreadBytesMaxPerKey: wide },
    ]) {
      const { clients, connected } = await unread(6, { unread: new UnreadAnswers(bounds) });
      await vi.waitFor(async () => expect(await connected()).toBe(4), PATIENCE);
      for (const client of clients) client.socket.resume();
      await vi.waitFor(() => {
        const whole = clients.map((client) => client.receivedBytes() > 8 * mib);
        expect(whole).toEqual(clients.map((_, n) => n >= 2));
      }, PATIENCE);
    }
  });

  test("frees all its pipelined answers when it closes, and ends only the request still being served", async () => {
    const deadlines = new Deadlines(systemClock);
    const waiting: UnreadAnswer[] = [];
    class Watched extends UnreadAnswers {
      override add(answer: UnreadAnswer): void {
        waiting.push(answer);
        super.add(answer);
      }
      override remove(answer: UnreadAnswer): void {
        waiting.splice(waiting.indexOf(answer), 1);
        super.remove(answer);
      }
    }
    const watched = new Watched({ unreadBytesMax: 2 ** 30, unreadBytesMaxPerKey: 2 ** 30 });
    const left = vi.fn<() => void>();
    let asked = 0;
    const route = get("/v1/models", async (exchange) => {
      exchange.onGone(left);
      // The last request is still being served when its client leaves.
      if ((asked += 1) < 15) exchange.answer("application/json", {}, "x".repeat(2 ** 23));
    });
    const { port } = await listeners.listen([route], { deadlines, unread: watched });
    const bytes = ASK.repeat(15);
    const { socket } = await listeners.client(port, bytes, false);
    await vi.waitFor(() => expect(waiting.length).toBe(14), PATIENCE);
    socket.destroy();
    await vi.waitFor(() => expect([waiting.length, deadlines.size]).toEqual([0, 0]), PATIENCE);
    expect(left).toHaveBeenCalledTimes(1);
  });
});

test("answers that wait behind another on their connection are bounded, however small they are", async () => {
  const kib = 1024;
  const bounds = { unreadBytesMax: 2 ** 30, unreadBytesMaxPerKey: 100 * kib };
  let answered = 0;
  const route = get("/v1/models", async (exchange) => {
    // The first answer never ends, so that the others wait for it.
    if ((answered += 1) === 1) exchange.begin("text/event-stream", {});
    else exchange.answer("application/json", {}, "x".repeat(16 * kib));
  });
  const { port, server } = await listeners.listen([route], { unread: new UnreadAnswers(bounds) });
  await listeners.client(port, ASK.repeat(12), false);
  await vi.waitFor(() => expect(answered).toBeGreaterThanOrEqual(8), PATIENCE);
  await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(0), PATIENCE);
});

test("a client that pipelines more requests than may wait is disconnected, and no more are begun", async () => {
  let begun = 0;
  const route = get("/v1/models", async () => {
    begun += 1;
  });
  const { port, server } = await listeners.listen([route]);
  const most = PIPELINED_REQUESTS_MAX + 1;
  await listeners.client(port, ASK.repeat(most));
  await vi.waitFor(() => expect(begun).toBe(most), PATIENCE);
  expect(await connectionsOf(server)).toBe(1);
  const client = await listeners.client(port, ASK.repeat(1_000));
  await vi.waitFor(() => expect(client.hasEnded()).toBe(true), PATIENCE);
  expect(begun).toBe(2 * most);
});

test("a client may pipeline any number of requests, as long as few wait at a time", async () => {
  const route = get("/v1/models", async (exchange) => {
    exchange.answer("application/json", {}, "{}");
  });
  const { port } = await listeners.listen([route]);
  const atOnce = PIPELINED_REQUESTS_MAX - 1;
  const client = await listeners.client(port, ASK.repeat(atOnce));
  for (let answers = atOnce; answers <= 4 * atOnce; answers += atOnce) {
    const received = (): number => client.text().split("HTTP/1.1 200").length - 1;
    await vi.waitFor(() => expect(received()).toBe(answers), PATIENCE);
    client.socket.write(ASK.repeat(atOnce));
  }
  expect(client.hasEnded()).toBe(false);
});

describe("bodies that do not arrive whole", () => {
  const KB_400 = Buffer.alloc(400_000, 0x20);
  const serve = async (exchange: HttpExchange): Promise<void> => {
    exchange.answer("application/json", {}, `${exchange.body.length}`);
  };
  const authenticate = (authorization = ""): AuthOutcome => {
    const [orgId = "", keyId = ""] = authorization.split("/");
    return { ok: true, principal: plainPrincipal(orgId, keyId) };
  };

  async function begin(port: number, caller: string): Promise<RawClient> {
    const head = `POST /v1/messages HTTP/1.1\r\nhost: a\r\nauthorization: ${caller}\r\n`;
    const bytes = Buffer.concat([Buffer.from(`${head}content-length: 400001\r\n\r\n`), KB_400]);
    return await listeners.client(port, bytes);
  }

  test("take bounded memory, and the organization that has sent the most is the first to get a 503", async () => {
    const waiting: number[] = [];
    class Watched extends ArrivingBodies {
      override grew(body: ArrivingBody, bytes: number): void {
        super.grew(body, bytes);
        waiting.push(bytes);
      }
    }
    const hasArrived = async (bodies: number): Promise<void> => {
      const sum = (): number => waiting.reduce((before, bytes) => before + bytes, 0);
      await vi.waitFor(() => expect(sum()).toBe(bodies * KB_400.length), PATIENCE);
    };
    const { port } = await listeners.listen([post("/v1/messages", serve)], {
      arriving: new Watched(1_500_000),
      authenticator: { authenticate, forget: () => undefined },
    });
    const clients: RawClient[] = [];
    for (const caller of ["org_a/key_1", "org_b/key_2", "org_b/key_3", "org_b/key_4"]) {
      clients.push(await begin(port, caller));
      await hasArrived(clients.length);
    }
    const [refused, ...others] = clients.splice(1, 1).concat(clients);
    await vi.waitFor(() => expect(refused?.text()).toMatch(/^HTTP\/1.1 503 /), PATIENCE);
    expect(refused?.text()).toContain("retry-after: 2");
    for (const client of others) client.socket.write(" ");
    for (const client of others) {
      await vi.waitFor(() => expect(client.text()).toMatch(/^HTTP\/1.1 200 .*400001$/s), PATIENCE);
    }
  });
});

describe("a client that leaves while it is identified", () => {
  test("is not let in afterwards, so that no place stays taken for it", async () => {
    let answer: ((outcome: AuthOutcome) => void) | undefined;
    const authenticate = (): Promise<AuthOutcome> =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const refuseBeforeBody = vi.fn<GatewayServerOptions["refuseBeforeBody"]>(() => false);
    const route = post("/v1/messages", async () => undefined);
    const { port, options } = await listeners.listen([route], {
      authenticator: { authenticate, forget: () => undefined },
      refuseBeforeBody,
    });
    const head = "POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n";
    const { socket } = await listeners.client(port, `${head}{}`);
    await vi.waitFor(() => expect(answer).toBeDefined(), PATIENCE);
    socket.destroy();
    await vi.waitFor(() => expect(options.metrics.inFlight).toBe(0), PATIENCE);
    answer?.({ ok: true, principal: plainPrincipal("org_a", "key_a") });
    await new Promise((resolve) => setImmediate(resolve));
    expect(refuseBeforeBody).not.toHaveBeenCalled();
  });

  test("is not in flight any more, even if another listener identified it", async () => {
    const { options } = await listeners.listen([get("/v1/models", async () => undefined)]);
    const call = { principal: plainPrincipal("org_a", "key_a"), url: "/v1/models" };
    let hasArrived = false;
    let isServed = false;
    const { port, close } = await listenLocally(
      createServer((request, response) => {
        hasArrived = true;
        request.socket.once("close", () => {
          serveKnownCaller(options, { request, response }, call);
          isServed = true;
        });
      }),
    );
    onTestFinished(close);
    const { socket } = await listeners.client(port, ASK);
    await vi.waitFor(() => expect(hasArrived).toBe(true), PATIENCE);
    socket.destroy();
    await vi.waitFor(() => expect(isServed).toBe(true), PATIENCE);
    await vi.waitFor(() => expect(options.metrics.inFlight).toBe(0), PATIENCE);
  });
});

describe("the text of an answer", () => {
  async function receivedFrom(serve: Route["serve"]): Promise<string> {
    const { url } = await listeners.listen([get("/v1/models", serve)]);
    return await (await fetch(`${url}/v1/models`)).text();
  }

  test.each(["plain", "grüße 🙂", "\u0080ÿ"])("reaches the client unchanged: %s", async (text) => {
    const serve: Route["serve"] = async (exchange) => exchange.answer("text/plain", {}, text);
    expect(await receivedFrom(serve)).toBe(text);
  });

  test("reaches the client unchanged in pieces, whichever of them are plain ASCII", async () => {
    const texts = ["é", "plain", "🙂", "\u0080"];
    const serve: Route["serve"] = async (exchange) => {
      exchange.begin("text/plain", {});
      for (const text of texts) exchange.write(text);
      exchange.end("last ü");
    };
    expect(await receivedFrom(serve)).toBe(`${texts.join("")}last ü`);
  });
});

describe("a handler that crashes", () => {
  const crash = async (): Promise<void> => {
    throw new Error("a bug in a recipe");
  };

  async function crashed(path: string, change: Partial<GatewayServerOptions> = {}) {
    const { url, logged } = await listeners.listen([post(path, crash)], change);
    const answer = await fetch(url + path, { method: "POST", body: "{}" });
    expect(answer.status).toBe(500);
    const requestId = answer.headers.get("x-request-id") ?? "";
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers.get("x-tm-error-code")).toBe("gateway_error");
    expect(answer.headers.get("x-tm-error-origin")).toBe("gateway_infrastructure");
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(logged()).toContain(requestId);
    expect(logged()).toContain("a bug in a recipe");
    const text = await answer.text();
    expect(text).not.toContain("a bug in a recipe");
    return { body: JSON.parse(text) as unknown, requestId };
  }

  const metadata = { origin: "gateway_infrastructure", retryable: false };

  const error_type = "gateway_error";
  const message = expect.stringContaining("report it with the x-request-id");

  test("on the messages route is a 500 gateway_error in the shape of wire_b", async () => {
    const { body, requestId } = await crashed("/v1/messages/count_tokens");
    expect(body).toEqual({
      type: "error",
      error: { type: "api_error", message, error_type, metadata },
      request_id: requestId,
    });
  });

  test.each(["/v1/chat/completions", "/v1/messages-of-others"])(
    "on %s is a 500 gateway_error in the shape of wire_a",
    async (path) => {
      const { body, requestId } = await crashed(path);
      const type = expect.any(String);
      expect(body).toEqual({
        error: { code: error_type, message, type, metadata: { error_type, ...metadata } },
        request_id: requestId,
      });
    },
  );

  test("while the key is checked is a 500 in the format of the path, too", async () => {
    const authenticate = (): Promise<never> => Promise.reject(new Error("a bug in a recipe"));
    const { body } = await crashed("/v1/messages", {
      authenticator: { authenticate, forget: () => undefined },
    });
    expect(body).toMatchObject({ type: "error", error: { error_type: "gateway_error" } });
  });

  test("inside a stream breaks the connection, so that the answer cannot pass for complete", async () => {
    const serve: Route["serve"] = async (exchange) => {
      exchange.begin("text/event-stream", {});
      exchange.write("data: 1\n\n");
      await crash();
    };
    const { url } = await listeners.listen([post("/v1/messages", serve)]);
    const answer = await fetch(`${url}/v1/messages`, { method: "POST", body: "{}" });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow("terminated");
  });
});
