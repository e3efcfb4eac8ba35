import { createServer, type IncomingHttpHeaders } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { inspect } from "node:util";

import { afterAll, beforeEach, describe, expect, test } from "vitest";

import { withServer } from "../../test/support/local-server.ts";
import { buildDeployment } from "../../test/fixtures/modality/request-kit.ts";
import type { Deployment, OwnKey, WireId } from "../catalog/catalog.ts";
import { ownKeyDeployment } from "../catalog/deployment-copy.ts";
import type { OrgId } from "../kernel/core/ids.ts";
import { wires } from "../formats/wire/wires.ts";
import {
  UpstreamClient,
  type UpstreamClientOptions,
  type UpstreamHandler,
} from "./upstream-client.ts";

const MARKETPLACE_KEY = "sk-marketplace-0123456789";
const OWN_KEY = "sk-customer-0123456789";
const REQUEST = {
  path: "/chat/completions",
  headers: { "content-type": "application/json" },
  body: Buffer.from("{}"),
  droppedParams: [],
};

interface Asked {
  readonly what: string;
  readonly headers: IncomingHttpHeaders;
}

let asked: Asked[] = [];
let answerStatus = 200;
let isSilent = false;
const clients: UpstreamClient[] = [];
const server = withServer(() =>
  createServer((request, response) => {
    asked.push({ what: `${request.method} ${request.url}`, headers: request.headers });
    request.resume();
    if (!isSilent) response.writeHead(answerStatus).end("{}");
  }),
);

beforeEach(() => {
  asked = [];
  answerStatus = 200;
  isSilent = false;
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

describe("the provider's key", () => {
  test.each([
    ["wire_a" as const, "authorization", `Bearer ${MARKETPLACE_KEY}`],
    ["wire_b" as const, "x-api-key", MARKETPLACE_KEY],
  ])("of the marketplace goes to a %s provider", async (wire, header, value) => {
    expect(await send(clientOf(), listed(wire))).toBe(200);
    expect(asked).toMatchObject([{ what: "POST /v1/chat/completions" }]);
    expect(asked[0]?.headers).toMatchObject({ [header]: value, "user-agent": "tokenmarket" });
  });

  test.each([
    ["wire_a", "authorization", `Bearer ${OWN_KEY}`],
    ["wire_b", "x-api-key", OWN_KEY],
  ] as const)("of a customer replaces ours at a %s provider", async (wire, header, value) => {
    const opened: OwnKey[] = [];
    const client = clientOf({ openKey: (ownKey) => (opened.push(ownKey), OWN_KEY) });
    const copy = withOwnKey(listed(wire));
    expect(await send(client, copy)).toBe(200);
    expect(await send(client, copy)).toBe(200);
    expect(asked.map(({ headers }) => headers[header])).toEqual([value, value]);
    expect(JSON.stringify(asked)).not.toContain(MARKETPLACE_KEY);
    // The key is decrypted once for all calls of the deployment.
    expect(opened).toEqual([copy.ownKey]);
  });
});

describe("a customer's key that cannot be decrypted", () => {
  const badSeal = (): never => {
    throw new Error(`bad seal of ${OWN_KEY}`);
  };
  test.each([
    ["has a bad seal", badSeal],
    ["has no key vault", undefined],
  ])("because it %s is not sent and not shown", async (_reason, openKey) => {
    const client = clientOf(openKey === undefined ? {} : { openKey });
    const copy = withOwnKey(listed("wire_a"));
    const fault = await send(client, copy);
    expect(fault).toBeInstanceOf(Error);
    expect(inspect(fault, { depth: 9, showHidden: true })).not.toContain(OWN_KEY);
    await expect(client.checkKey(copy, wires.get("wire_a").keyCheck, 60_000)).rejects.toBe(fault);
    expect(asked).toEqual([]);
  });
});

describe("the check of a key", () => {
  test.each([200, 401])("sends one request and returns its status %i", async (status) => {
    answerStatus = status;
    const client = clientOf({ openKey: () => OWN_KEY });
    expect(await check(client, listed("wire_b"))).toBe(status);
    const headers = { "x-api-key": OWN_KEY, "anthropic-version": "2023-06-01" };
    expect(asked).toMatchObject([{ what: "GET /v1/models", headers }]);
  });

  test("follows no redirect, so that the key stays with its provider", async () => {
    answerStatus = 302;
    const client = clientOf({ openKey: () => OWN_KEY });
    expect(await check(client, listed("wire_a"))).toBe(302);
    expect(asked).toHaveLength(1);
  });

  test("ends for a provider that never answers", async () => {
    isSilent = true;
    const client = clientOf({ openKey: () => OWN_KEY });
    await expect(check(client, listed("wire_a"), 100)).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });

  test("sends nothing to a private address where that is not allowed", async () => {
    const client = clientOf({ allowPrivateUpstreams: false, openKey: () => OWN_KEY });
    const deployment = listed("wire_a");
    await expect(check(client, deployment)).rejects.toMatchObject({ code: "PRIVATE_ADDRESS" });
    expect(await send(client, withOwnKey(deployment))).toMatchObject({ code: "PRIVATE_ADDRESS" });
    expect(asked).toEqual([]);
  });
});

describe("a request without a body", () => {
  const verbs = ["get", "delete"] as const;
  test.each(verbs)("is sent with the method %s, below the base URL, with the key", async (verb) => {
    const accept = "application/json";
    const question = { path: "/videos/a%2Fb", headers: { accept } };
    const status = await reported((handler) =>
      clientOf()[verb](listed("wire_a"), question, handler),
    );
    expect(status).toBe(200);
    const headers = { accept, authorization: `Bearer ${MARKETPLACE_KEY}` };
    const what = `${verb.toUpperCase()} /v1/videos/a%2Fb`;
    expect(asked).toMatchObject([{ what, headers }]);
  });

  test("is refused for a URL of another origin, since it carries a key", () => {
    const question = { path: new URL("https://example.com/a"), headers: {} };
    const handler = handlerOf(() => undefined);
    expect(() => clientOf().get(listed("wire_a"), question, handler)).toThrow("own origin");
  });
});

describe("a file elsewhere", () => {
  test("is requested without a key", async () => {
    const url = new URL("/signed?a=%2F", server.url);
    expect(await reported((handler) => clientOf().getElsewhere(url, {}, handler))).toBe(200);
    expect(asked).toMatchObject([{ what: "GET /signed?a=%2F" }]);
    expect(JSON.stringify(asked)).not.toContain(MARKETPLACE_KEY);
  });

  test.each([
    ["http://example.com/a", "away from https"],
    ["ftp://example.com/a", "away from https"],
    ["https://localhost/a", "address is private"],
    ["https://127.0.0.1/a", "address is private"],
    ["https://[::1]/a", "address is private"],
  ])("is not asked for at %s, where private addresses are not allowed", async (address, reason) => {
    const client = clientOf({ allowPrivateUpstreams: false });
    const fault = await reported((handler) => client.getElsewhere(new URL(address), {}, handler));
    expect(fault).toMatchObject({ message: expect.stringContaining(reason) });
    expect(asked).toEqual([]);
  });
});

test("a decrypted key is kept no longer than its deployment", async () => {
  const client = clientOf({ openKey: () => OWN_KEY });
  const gone = await sentOnce(client);
  await new Promise((resolve) => setImmediate(resolve));
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  expect(gone.deref()).toBeUndefined();
});

async function sentOnce(client: UpstreamClient): Promise<WeakRef<Deployment>> {
  const copy = withOwnKey(listed("wire_a"));
  expect(await send(client, copy)).toBe(200);
  return new WeakRef(copy);
}

function clientOf(change: Partial<UpstreamClientOptions> = {}): UpstreamClient {
  const client = new UpstreamClient({
    allowPrivateUpstreams: true,
    providerKey: () => MARKETPLACE_KEY,
    ...change,
  });
  clients.push(client);
  return client;
}

function listed(wire: WireId): Deployment {
  return buildDeployment(wire, { baseUrl: `${server.url}/v1`, apiKeyEnv: "ACME_KEY" });
}

function withOwnKey(deployment: Deployment): Deployment {
  const sealedKey = Buffer.from("sealed");
  return ownKeyDeployment(deployment, { connectionId: "c", orgId: "o" as OrgId, sealedKey });
}

function check(client: UpstreamClient, listing: Deployment, timeoutMs = 60_000): Promise<number> {
  return client.checkKey(withOwnKey(listing), wires.get(listing.wire).keyCheck, timeoutMs);
}

/** Resolves with the status of the answer, or with the error if there is none. */
function send(client: UpstreamClient, deployment: Deployment): Promise<number | Error> {
  return reported((handler) => client.send(deployment, REQUEST, handler));
}

function reported(dispatch: (handler: UpstreamHandler) => void): Promise<number | Error> {
  return new Promise((resolve) => dispatch(handlerOf(resolve)));
}

function handlerOf(resolve: (outcome: number | Error) => void): UpstreamHandler {
  let status = 0;
  return {
    onRefused: resolve,
    onRequestStart: () => undefined,
    onResponseData: () => undefined,
    onResponseStart: (_controller, code) => {
      status = code;
    },
    onResponseEnd: () => resolve(status),
    onResponseError: (_controller, fault) => resolve(fault),
  };
}
