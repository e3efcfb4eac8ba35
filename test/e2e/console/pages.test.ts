import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import type { ConsoleDeps } from "../../../src/account/console-api/console-deps.ts";
import {
  createConsoleServer,
  type ConsoleServer,
} from "../../../src/account/console-api/console-server.ts";
import { systemClock } from "../../../src/kernel/core/time.ts";
import { openIdentity } from "../../../src/account/identity/open-identity.ts";
import { loadConfig } from "../../../src/kernel/config/load-config.ts";
import { until } from "../../support/books.ts";
import { httpCall, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { listenLocally } from "../../support/local-server.ts";
import { freshBackend, type FreshBackend } from "../../support/postgres.ts";
import { silentLog } from "../../support/silent-log.ts";
import { newFolder } from "../../support/run-folder.ts";

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const HTML = `<!doctype html><html><head><meta name="csp-nonce" content="__CSP_NONCE__" /></head></html>`;
const SCHEMAS = join(import.meta.dirname, "../../../schema");
const BIG = "export const big = 1;\n".repeat(100);

let backend: FreshBackend;
let built: Served;
let unbuilt: Served;
/** The errors that the consoles logged. */
const faults: unknown[] = [];

interface Served {
  readonly url: string;
  readonly server: Server;
  readonly inFlight: () => number;
  close(): Promise<void>;
}

beforeAll(async () => {
  backend = await freshBackend();
  const folder = newFolder("pages");
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), HTML);
  writeFileSync(join(folder, "assets", "app-1a2b3c.js"), "export {};\n");
  writeFileSync(join(folder, "assets", "big-4d5e6f.js"), BIG);
  writeFileSync(join(folder, "assets", "huge-7a8b9c.js"), "x".repeat(4_000_000));
  writeFileSync(join(folder, "assets", "big-4d5e6f.js.br"), "br of it");
  writeFileSync(join(folder, "assets", "big-4d5e6f.js.gz"), "gzip of it");
  mkdirSync(join(folder, "guides"));
  const guide = "# Quick start\n\ncurl http://127.0.0.1:8080/v1/models\n";
  writeFileSync(join(folder, "guides", "quick-start.md"), guide);
  writeFileSync(join(folder, "favicon.svg"), "<svg xmlns='http://www.w3.org/2000/svg'/>");
  writeFileSync(join(folder, ".built-from"), "a digest");
  built = await serve(folder, "https://console.example", () => rmSync(folder, { recursive: true }));
  unbuilt = await serve(join(folder, "nothing"), "http://127.0.0.1:8081", () => undefined);
});
afterAll(async () => {
  await built.close();
  await unbuilt.close();
  await backend.close();
});

/** Opens a console with only the parts that pages and sign-in need. */
async function serve(
  staticDir: string,
  address: string,
  after: () => void,
  schemaDir = SCHEMAS,
): Promise<Served> {
  const env = { OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "console" };
  const outcome = loadConfig({ flags: {}, env });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join("\n"));
  const consoleUrl = (): string => address;
  const common = { config: outcome.config, consoleUrl, clock: systemClock };
  const log = {
    ...silentLog,
    debug: () => undefined,
    error: (line: unknown) => void faults.push(line),
  };
  const identity = await openIdentity({ ...common, log, store: backend.identityStore });
  const gatewayUrl = (): string => "https://gateway.example";
  const catalog = { current: { models: [] } };
  const deps = { ...common, log, identity, staticDir, schemaDir, gatewayUrl, catalog };
  const console: ConsoleServer = await createConsoleServer(deps as unknown as ConsoleDeps);
  const { url } = await listenLocally(console.server);
  return {
    url,
    server: console.server,
    inFlight: () => console.inFlight(),
    close: async () => {
      await console.close();
      await identity.close();
      after();
    },
  };
}

function get(
  path: string,
  headers: Readonly<Record<string, string>> = BROWSER,
): Promise<HttpAnswer> {
  return httpCall(built.url + path, { headers });
}

describe("a page", () => {
  test("has a CSP that allows only the console's own scripts and styles, with a fresh nonce", async () => {
    const { status, headers, text } = await get("/keys/key_1");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(headers["cache-control"]).toBe("no-store");
    // Over https, browsers are told to use only https from now on.
    expect(headers["strict-transport-security"]).toMatch(/^max-age=\d{8,}/);
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
    expect(policy).not.toContain("unsafe");
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? "";
    expect(nonce).toMatch(/^[A-Za-z0-9+/]{22}==$/);
    expect(text).toContain(`content="${nonce}"`);
    expect(text).not.toContain("__CSP_NONCE__");
    expect((await get("/keys/key_1")).text).not.toBe(text);
  });

  test("at / tells a visitor what the product is, and has one script, which its CSP allows by hash", async () => {
    const { headers, text } = await get("/");
    expect(headers["cache-control"]).toBe("no-store");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'; style-src 'sha256-");
    expect(policy).toMatch(/script-src 'sha256-[^']+';/);
    expect(policy).not.toContain("unsafe");
    expect(text).toContain("One key and one balance for the AI models of many providers");
    expect(text.split("<script")).toHaveLength(2);
  });

  test("for sign-in ignores a return address on another site", async () => {
    const { text } = await get(`/sign-in?return=${encodeURIComponent("//evil.example")}`);
    expect(text).toContain('href="/auth/start"');
    expect(text).not.toContain("evil");
  });

  test("is sent to a client that accepts anything, and is a 404 for one that accepts only another type", async () => {
    expect((await get("/keys", { accept: "*/*" })).status).toBe(200);
    expect((await get("/keys", {})).status).toBe(200);
    expect((await get("/keys", { accept: "application/json" })).status).toBe(404);
    expect((await get("/keys", { accept: "image/png" })).status).toBe(404);
  });

  test("that does not exist is an HTML 404, and a script that does not exist is a JSON 404", async () => {
    const page = await get("/no/such/page");
    expect(page.status).toBe(404);
    expect(page.headers["content-type"]).toContain("text/html");
    expect((await get("/no/such/page.js", { accept: "*/*" })).json).toBeDefined();
  });

  test("answers only GET and HEAD", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const answer = await httpCall(`${built.url}/keys`, { method, headers: BROWSER });
      expect(answer.status).toBe(404);
      expect(textAt(answer.json, "error.code")).toBe("not_found");
    }
    const head = await httpCall(`${built.url}/keys`, { method: "HEAD", headers: BROWSER });
    expect(head).toMatchObject({ status: 200, text: "" });
  });
});

describe("a static file", () => {
  test("can be cached for a year when its name has a hash, else for an hour", async () => {
    const { status, headers, text } = await get("/assets/app-1a2b3c.js", { accept: "*/*" });
    expect(status).toBe(200);
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(headers["content-type"]).toContain("javascript");
    expect(text).toBe("export {};\n");
    const unhashed = await get("/favicon.svg", { accept: "image/*" });
    expect(unhashed.headers["cache-control"]).toBe("public, max-age=3600");
  });

  test.each([
    ["br, gzip", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["identity", undefined],
  ])("for accept-encoding %s has the build's content-encoding: %s", async (takes, sent) => {
    const accept = { accept: "*/*", "accept-encoding": takes };
    const answer = await get("/assets/big-4d5e6f.js", accept);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-encoding"]).toBe(sent);
    expect(answer.headers["content-type"]).toContain("javascript");
    expect(answer.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(answer.headers["vary"]).toBe("accept-encoding");
    expect(answer.text).toBe(sent === undefined ? BIG : `${sent} of it`);
    const etag = String(answer.headers["etag"]);
    const again = { ...accept, "if-none-match": etag };
    expect((await get("/assets/big-4d5e6f.js", again)).status).toBe(304);
    const other = { accept: "*/*", "if-none-match": etag, "accept-encoding": "identity" };
    const isSame = (await get("/assets/big-4d5e6f.js", other)).status === 304;
    expect(isSame).toBe(sent === undefined);
  });

  test("that could not be read is read again at the next request, if it is a document", async () => {
    const folder = newFolder("schemas");
    const served = await serve("", "http://127.0.0.1:8081", () => undefined, folder);
    onTestFinished(() => served.close());
    const statuses = async (): Promise<readonly number[]> => {
      const paths = ["/api/openapi.json", "/api/openapi-v1.json"];
      const answers = await Promise.all(paths.map((path) => httpCall(served.url + path)));
      return answers.map(({ status }) => status);
    };
    expect(await statuses()).toEqual([500, 500]);
    cpSync(SCHEMAS, folder, { recursive: true });
    expect(await statuses()).toEqual([200, 200]);
  });

  test("is the only answer that is compressed, so that no length reveals a secret", async () => {
    const takes = { ...BROWSER, "accept-encoding": "br, gzip" };
    expect((await get("/api/openapi.json", takes)).status).toBe(200);
    for (const path of ["/keys", "/api/openapi.json", "/api/console/session"]) {
      expect((await get(path, takes)).headers["content-encoding"]).toBeUndefined();
    }
  });

  test.each([
    "/.built-from",
    "/assets/%2e%2e/.built-from",
    "/assets/..%2f.built-from",
    "/index.html",
  ])("%s is not served", async (path) => {
    const { status, text } = await get(path, { accept: "application/json" });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain("a digest");
    expect(text).not.toContain("doctype");
  });

  test.each(["GET", "HEAD"])(
    "%s of the folder of assets is a 404 and logs no error",
    async (method) => {
      const accept = "application/json";
      faults.length = 0;
      const answer = await httpCall(`${built.url}/assets/`, { method, headers: { accept } });
      expect(answer.status).toBe(404);
      expect(faults).toEqual([]);
    },
  );
});

describe("a guide", () => {
  test("is a Markdown file that names the gateway's address, and is listed in llms.txt", async () => {
    const { status, headers, text } = await get("/docs/quick-start.md", { accept: "*/*" });
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/markdown; charset=utf-8");
    expect(text).toBe("# Quick start\n\ncurl https://gateway.example/v1/models\n");
    const list = await get("/llms.txt", { accept: "*/*" });
    expect(list.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(list.text).toContain("- [Quick start](https://console.example/docs/quick-start.md)");
    expect(list.text).toContain("https://gateway.example");
  });

  test.each(["/docs/none.md", "/docs/..%2findex.md", "/docs/%2e%2e%2f.built-from.md"])(
    "%s is a 404",
    async (path) => {
      const { status, text } = await get(path, { accept: "application/json" });
      expect(status).toBe(404);
      expect(text).not.toContain("a digest");
    },
  );
});

describe("a console whose pages are not built", () => {
  test("answers 503 with the command to build them, and serves the API", async () => {
    const page = await httpCall(`${unbuilt.url}/keys`, { headers: BROWSER });
    expect(page.status).toBe(503);
    expect(page.headers["retry-after"]).toBe("60");
    expect(textAt(page.json, "error.message")).toContain("npm run build");
    const refused = await httpCall(`${unbuilt.url}/api/console/keys`);
    expect(refused.status).toBe(401);
    expect(refused.headers["strict-transport-security"]).toBeUndefined();
  });
});

describe("requests that wait for an earlier one on their connection", () => {
  /** Sends requests at once, and reads at most the first part of the first answer. */
  function pipeline(path: string, count: number) {
    const client = connect({ host: "127.0.0.1", port: Number(new URL(built.url).port) });
    client.on("error", () => undefined);
    const request = `GET ${path} HTTP/1.1\r\nhost: a\r\naccept: text/html\r\n\r\n`;
    client.write(request.repeat(count));
    return client;
  }

  test("are no longer in flight when it has closed", async () => {
    const { server, inFlight } = built;
    let arrived = 0;
    const closeAtThird = ({ socket }: IncomingMessage): void => {
      arrived += 1;
      if (arrived === 3) socket.destroy();
    };
    server.on("request", closeAtThird);
    onTestFinished(() => void server.off("request", closeAtThird));
    pipeline("/keys", 3);
    await until("all have arrived", () => arrived === 3);
    await expect.poll(inFlight).toBe(0);
  });

  test("leave no file open when it has closed", async () => {
    const openFiles = (): number => readdirSync("/dev/fd").length;
    const before = openFiles();
    const client = pipeline("/assets/huge-7a8b9c.js", 100);
    await until("the first is being answered", () => client.bytesRead > 10_000);
    client.destroy();
    await expect.poll(built.inFlight).toBe(0);
    await expect.poll(openFiles).toBeLessThan(before + 50);
  });
});
