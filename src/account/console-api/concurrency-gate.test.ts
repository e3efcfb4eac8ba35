import { fastify } from "fastify";
import { describe, expect, test } from "vitest";

import { systemClock } from "../../kernel/core/time.ts";
import { apiRoutes } from "./api-routes.ts";
import { ConcurrencyGate } from "./concurrency-gate.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";

interface Work {
  readonly started: string[];
  readonly finish: (name: string) => void;
  readonly run: (
    gates: ConcurrencyGate,
    owner: string,
    name: string,
  ) => Promise<string | ConsoleRefusal>;
}

function workshop(): Work {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    finish: (name) => ends.get(name)?.(),
    run: (gates, owner, name) =>
      gates.run(owner, async () => {
        started.push(name);
        await new Promise<void>((end) => ends.set(name, end));
        return name;
      }),
  };
}

describe("the work of one organization", () => {
  test("runs two tasks at a time, queues the third until one ends, and refuses the fourth", async () => {
    const gates = new ConcurrencyGate({ running: 2, waiting: 1 });
    const work = workshop();
    const [one, two, three, four] = ["1", "2", "3", "4"].map((name) => work.run(gates, "a", name));
    expect(await four).toMatchObject({ status: 429, retryAfterSeconds: 5 });
    expect(work.started).toEqual(["1", "2"]);
    work.finish("1");
    expect(await one).toBe("1");
    await Promise.resolve();
    expect(work.started).toEqual(["1", "2", "3"]);
    work.finish("2");
    work.finish("3");
    expect(await Promise.all([two, three])).toEqual(["2", "3"]);
  });

  test("does not hold up another organization", async () => {
    const gates = new ConcurrencyGate({ running: 1, waiting: 0 });
    const work = workshop();
    const mine = work.run(gates, "a", "mine");
    const yours = work.run(gates, "b", "yours");
    await Promise.resolve();
    expect(work.started).toEqual(["mine", "yours"]);
    work.finish("mine");
    work.finish("yours");
    await Promise.all([mine, yours]);
  });

  test("is refused if it waits too long, and then takes no turn", async () => {
    const gates = new ConcurrencyGate({ running: 1, waiting: 2, waitMs: 20 });
    const end = await gates.take("a");
    expect(await gates.take("a")).toBeInstanceOf(ConsoleRefusal);
    if (end instanceof ConsoleRefusal) throw new Error("the first has its turn");
    const next = gates.take("a");
    end();
    expect(await next).toBeTypeOf("function");
  });

  test("that fails releases its permit, and a permit that is released twice counts once", async () => {
    const gates = new ConcurrencyGate({ running: 1, waiting: 0 });
    await expect(gates.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const end = await gates.take("a");
    if (end instanceof ConsoleRefusal) throw new Error("the permit was not released");
    end();
    end();
    expect(await gates.take("a")).toBeTypeOf("function");
    expect(await gates.take("a")).toBeInstanceOf(ConsoleRefusal);
  });
});

describe("the requests of one account", () => {
  const blocked: object = new Proxy(() => new Promise(() => undefined), { get: () => blocked });
  const over = (known: object): object =>
    new Proxy(known, { get: (parts, name) => Reflect.get(parts, name) ?? blocked });
  const of = { accountId: "acct_1", orgId: "org_1" };
  const signedIn = { ...of, role: "owner", isVerified: true, expiresAtMs: 0 };

  const lease = { remainingRequests: 1, remainingTokens: 1, queueMs: 0 };
  const limits = { claim: () => ({ kind: "claimed", lease }), undo: () => undefined };

  test.each([
    ["GET", "session", 100, "organizations"],
    ["GET", "settings", 100, "profile"],
    ["GET", "sessions", 100, "sessions"],
    ["POST", "organizations/org_2/switch", 100, "switchOrganization"],
    ["PATCH", "settings", 60, "renameOrg"],
  ] as const)(
    "%s %s run two at a time, %i wait, and one more is refused",
    async (method, path, waiting, work) => {
      let asked = 0;
      const run = async () => await new Promise(() => (asked += 1));
      const identity = {
        readSession: async () => signedIn,
        hasReveal: blocked,
        organizations: blocked,
        [work]: run,
      };
      const known = {
        identity,
        accounts: over({ renameOrg: run }),
        limitUse: over({ clock: systemClock, limits }),
        consoleUrl: () => "https://console.example",
        clock: systemClock,
        clientAddresses: { of: () => "198.51.100.7" },
      };
      const app = fastify();
      app.removeAllContentTypeParsers();
      app.addContentTypeParser(
        "*",
        { parseAs: "buffer" },
        async (_: unknown, sent: Buffer) => sent,
      );
      apiRoutes(app, over(known) as unknown as ConsoleDeps);
      const headers = { origin: "https://console.example", "content-type": "application/json" };
      const url = `/api/console/${path}`;
      const body = method === "GET" ? {} : { payload: '{"name":"Acme"}' };
      const answers = Array.from({ length: waiting + 3 }, async () =>
        app.inject({ method, url, headers, ...body }),
      );
      expect((await Promise.race(answers)).statusCode).toBe(429);
      expect(asked).toBe(2);
    },
    20_000,
  );
});
