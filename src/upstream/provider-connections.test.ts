import { createServer } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { until } from "../../test/support/books.ts";
import {
  type ClosingProvider,
  type Ending,
  startClosingProvider,
} from "../../test/support/closing-provider.ts";
import { listenLocally } from "../../test/support/local-server.ts";
import type { Deployment } from "../catalog/catalog.ts";
import { BufferPool } from "../kernel/core/buffer-pool.ts";
import { UpstreamClient } from "./upstream-client.ts";

interface Opened {
  readonly provider: ClosingProvider;
  /** Resolves with the status of the answer, or with the code of the error. */
  readonly send: (text: string, isUnwanted?: boolean) => Promise<unknown>;
  readonly sentAgain: () => number;
}

/** With a `proxy`, the requests go to an origin that only the proxy could reach. */
async function open({ idleMs = 4_000, proxy = "" } = {}): Promise<Opened> {
  const provider = await startClosingProvider();
  let again = 0;
  const client = new UpstreamClient({
    allowPrivateUpstreams: true,
    providerKey: () => "sk",
    bodyPool: new BufferPool(),
    outbound: { idleMs, noProxy: "", all: { proxy }, byProvider: new Map() },
    onSentAgain: () => {
      again += 1;
    },
  });
  onTestFinished(async () => {
    await client.close();
    await provider.close();
  });
  const deployment = {
    providerId: "acme",
    wire: "wire_a",
    baseUrl: proxy === "" ? provider.url : "https://provider.test/v1",
  } as unknown as Deployment;
  const sendOnce = (text: string, isUnwanted: boolean): Promise<unknown> =>
    new Promise((resolve) => {
      let status = 0;
      const bytes = Buffer.from(text);
      const body = {
        length: bytes.length,
        toBuffer: () => bytes,
        writeTo: (target: Uint8Array) => target.set(bytes),
      };
      const request = { path: "/chat/completions", headers: {}, body, droppedParams: [] };
      client.send(deployment, request as unknown as Parameters<typeof client.send>[1], {
        isUnwanted,
        onRefused: resolve,
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code) => {
          status = code;
        },
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(status),
        onResponseError: (_controller, fault) => resolve((fault as NodeJS.ErrnoException).code),
      });
    });
  const send = async (text: string, isUnwanted = false): Promise<unknown> => {
    const outcome = await sendOnce(text, isUnwanted);
    // The connection may be used again two turns of the event loop after its answer.
    await turn();
    await turn();
    return outcome;
  };
  return { provider, send, sentAgain: () => again };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const ENDINGS: readonly Ending[] = ["fin", "rst"];

describe("a kept connection that its provider has closed", () => {
  // Small bodies are sent as they are; large ones are written into a lent buffer.
  test.each([
    ["fin", 10],
    ["rst", 300_000],
  ] as const)("by %s fails no request of %i bytes: it is sent once more", async (ending, bytes) => {
    const { provider, send, sentAgain } = await open();
    provider.ending = ending;
    const texts = ["a", "b", "c"].map((letter) => letter.repeat(bytes));
    for (const text of texts) expect(await send(text)).toBe(200);
    expect(sentAgain()).toBe(1);
    // `b` failed on the first connection and was sent again on a new one; `c` got a third one.
    expect(provider.requests.map(({ body }) => body[0])).toEqual(["a", "b", "b", "c"]);
    expect(provider.requests.every(({ body }) => body === body[0]?.repeat(bytes))).toBe(true);
    expect(provider.requests.map(({ connection }) => connection)).toEqual([1, 1, 2, 3]);
  });

  test("causes only one retry, even if the new connection ends too", async () => {
    const { provider, send, sentAgain } = await open();
    expect(await send("a")).toBe(200);
    provider.endFrom = 1;
    expect(await send("b")).toBe("UND_ERR_SOCKET");
    expect([provider.requests.length, sentAgain()]).toEqual([3, 1]);
  });

  test("causes no retry for a client that has left", async () => {
    const { provider, send, sentAgain } = await open();
    expect(await send("a")).toBe(200);
    expect(await send("b", true)).toBe("UND_ERR_SOCKET");
    expect([provider.requests.length, sentAgain()]).toEqual([2, 0]);
  });

  test("causes no retry once a byte of the answer has arrived", async () => {
    const { provider, send, sentAgain } = await open();
    provider.ending = "half_status";
    expect(await send("a")).toBe(200);
    expect(await send("b")).not.toBe(200);
    expect([provider.requests.length, sentAgain()]).toEqual([2, 0]);
  });
});

test.each(ENDINGS)("a new connection that ends by %s is not tried again", async (ending) => {
  const { provider, send, sentAgain } = await open();
  provider.endFrom = 1;
  provider.ending = ending;
  expect(await send("a")).toBe(ending === "fin" ? "UND_ERR_SOCKET" : "ECONNRESET");
  expect([provider.requests.length, sentAgain()]).toEqual([1, 0]);
});

test("an unused connection is closed after our limit, even if its provider allows longer", async () => {
  const { provider, send } = await open({ idleMs: 50 });
  provider.keepAlive = "timeout=600";
  expect(await send("a")).toBe(200);
  await until("it is closed", () => provider.open === 0);
});

test("a connection is kept shorter than our limit when its provider says so", async () => {
  const { provider, send, sentAgain } = await open();
  provider.keepAlive = "timeout=1";
  expect([await send("a"), await send("b")]).toEqual([200, 200]);
  expect([provider.connections, sentAgain()]).toEqual([2, 0]);
});

test("a proxy that ends the connection instead of opening a tunnel fails the request, and is not asked again and again", async () => {
  let asked = 0;
  const proxy = await listenLocally(
    createServer((socket) => {
      asked += 1;
      socket.on("error", () => undefined);
      socket.on("data", () => socket.end());
    }),
  );
  onTestFinished(proxy.close);
  const { send } = await open({ proxy: proxy.url });
  expect(await send("a")).toBe("ECONNRESET");
  expect(asked).toBe(1);
});
