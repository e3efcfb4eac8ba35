import { mkdirSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { newFolder } from "../../test/support/run-folder.ts";
import { withServer } from "../../test/support/local-server.ts";
import { selfSigned } from "../../test/support/self-signed.ts";
import { readSourceFile } from "./read-source-file.ts";

const LIST = '{"some-model":{"input_cost_per_token":2e-07}}';
const MiB = 1_048_576;

/** Publishes a price list. Other paths redirect, state odd dates, send too much, or break off. */
const host = withServer(() => createServer(selfSigned(), serve));

function serve(request: IncomingMessage, response: ServerResponse): void {
  const moved = (location: string): void => void response.writeHead(302, { location }).end();
  switch (request.url ?? "") {
    case "/list.json":
    case "/2025-01-31/list.json?of=2025-02-01":
      response.setHeader("last-modified", "Sun, 02 Aug 2026 22:00:00 GMT");
      response.end(LIST);
      return;
    case "/dated-1970":
    case "/dated-2099":
      response.setHeader("last-modified", `Thu, 01 Jan ${request.url?.slice(-4)} 00:00:00 GMT`);
      response.end(LIST);
      return;
    case "/moved":
      return moved("/list.json");
    case "/elsewhere":
      return moved(`https://localhost:${host.port}/list.json`);
    case "/in-the-clear":
      return moved(`http://127.0.0.1:${host.port}/list.json`);
    case "/round":
      return moved("/round");
    case "/huge":
      for (let part = 0; part < 17; part += 1) response.write(Buffer.alloc(MiB, " "));
      response.end(LIST);
      return;
    case "/cut":
      response.writeHead(200, { "content-length": "1000" });
      response.write(LIST);
      setImmediate(() => response.destroy());
      return;
    default:
      response.writeHead(503).end("<html>");
  }
}

const at = (path: string): string => `https://127.0.0.1:${host.port}${path}`;

// This test comes first: the other tests accept the certificate, and a connection that they leave
// open would be used again.
test("an address whose certificate no authority signed is not read", async () => {
  await expect(readSourceFile(at("/list.json"), undefined)).rejects.toThrow("cannot be read: ");
});

test("a file is dated by the day in its own name, never by one in its folder's", async () => {
  const folder = join(newFolder("sources"), "2025-01-31");
  mkdirSync(folder);
  const dated = async (name: string): Promise<string> => {
    writeFileSync(join(folder, name), LIST);
    return (await readSourceFile(join(folder, name), undefined)).dated;
  };
  expect(await dated("list-2026-08-01.json")).toBe("2026-08-01");
  expect(await dated("list.json")).not.toBe("2025-01-31");
});

describe("a list at an https address", () => {
  const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env;
  beforeAll(() => void (process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0"));
  afterAll(() => {
    if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
  });

  test("is read byte for byte, with the date of its server, also after a redirect", async () => {
    for (const path of ["/list.json", "/moved"]) {
      const { bytes, dated } = await readSourceFile(at(path), undefined);
      expect([Buffer.from(bytes).toString(), dated]).toEqual([LIST, "2026-08-02"]);
    }
    const given = await readSourceFile(at("/list.json"), "2026-08-05");
    expect(given.dated).toBe("2026-08-05");
  });

  test("has no date of a folder or a query, only of its name", async () => {
    const { dated } = await readSourceFile(at("/2025-01-31/list.json?of=2025-02-01"), undefined);
    expect(dated).toBe("2026-08-02");
  });

  test("is dated today if its server states a date in 1970 or in the future", async () => {
    for (const path of ["/dated-1970", "/dated-2099"]) {
      const { dated } = await readSourceFile(at(path), undefined);
      expect(Date.now() - Date.parse(dated)).toBeLessThan(2 * 86_400_000);
      expect(Date.parse(dated)).toBeLessThanOrEqual(Date.now());
    }
  });

  test.each([
    ["/elsewhere", "redirects to localhost:"],
    ["/in-the-clear", "only https addresses are read"],
    ["/round", "redirects more than 3 times"],
    ["/huge", "is over 16 MiB"],
    ["/cut", "cannot be read: "],
    ["/absent", "answers with status 503"],
  ])("%s is refused with its reason: %s", async (path, reason) => {
    await expect(readSourceFile(at(path), undefined)).rejects.toThrow(reason);
  });

  test("with a password is refused without showing it", async () => {
    const address = `https://me:hidden-word@127.0.0.1:${host.port}/list.json`;
    const refused = readSourceFile(address, undefined);
    await expect(refused).rejects.toThrow("an address with a name or password is not read");
    await expect(refused).rejects.not.toThrow("hidden-word");
  });
});
