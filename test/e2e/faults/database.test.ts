import { afterAll, describe, expect, test } from "vitest";

import { ask, costOf, openAsk, type Ask } from "../../support/ask.ts";
import { brokenBooks, debitOf, debitsOf, ended, nothingHeld, until } from "../../support/books.ts";
import { PatientClock } from "../../support/clocks.ts";
import { withGatewayBehindProxy } from "../../support/database-proxy.ts";
import { expectUnavailable } from "../../support/unavailable.ts";

/** Counts only time in which this process runs, so that a busy machine causes no timeout. */
const clock = new PatientClock();
const { proxy, gateway, account } = withGatewayBehindProxy();

afterAll(() => {
  proxy.set("up");
  clock.stop();
});

function asked(more: Partial<Ask> = {}): Ask {
  return { key: account.key, wire: "wire_a", model: "test/a", text: "hi", ...more };
}

/** Waits until the gateway serves a request again. */
async function recovers(): Promise<void> {
  proxy.set("up");
  await until("the gateway serves again", async () => {
    return (await ask(gateway.url, asked())).status === 200;
  });
}

describe("F36: the database is down", () => {
  test.each(["wire_a", "wire_b"] as const)(
    "every key gets a 503 on %s, cached or not, and nothing is sent",
    async (wire) => {
      await recovers();
      const stranger = await gateway.account("10");
      const before = gateway.simulator.counts().total;
      proxy.set("down");
      for (const key of [account.key, stranger.key, stranger.key]) {
        expectUnavailable(await ask(gateway.url, asked({ key, wire })));
      }
      expect(gateway.simulator.counts().total).toBe(before);
      await recovers();
      expect((await ask(gateway.url, asked({ key: stranger.key, wire }))).status).toBe(200);
      await nothingHeld(gateway, account);
      expect(await brokenBooks(gateway)).toEqual([]);
    },
  );
});

test("F37: a database lost between dispatch and settlement costs no answer and no second debit", async () => {
  await recovers();
  await nothingHeld(gateway, account);
  const before = await debitsOf(gateway, account);
  const requests = [
    asked({ wire: "wire_a", stream: true, text: "lost [[fault:hold]]" }),
    asked({ wire: "wire_b", stream: true, text: "lost [[fault:hold]]" }),
    asked({ wire: "wire_a", stream: false, text: "lost [[fault:hold]]" }),
  ];
  const answers = Promise.all(requests.map((request) => ask(gateway.url, request)));
  await until("all are at the provider", () => gateway.simulator.counts().open === 3);
  proxy.set("down");
  gateway.simulator.release();
  for (const [n, whole] of (await answers).entries()) {
    expect(whole.status).toBe(200);
    expect(whole.headers).toMatchObject({ "x-tm-attempts": "1", "x-tm-provider": "prov-a" });
    expect(whole.headers).not.toHaveProperty("x-tm-error-code");
    expect(whole.text).toContain("You said");
    expect(whole.text).toMatch(endOf(requests[n]));
  }
  proxy.set("up");
  let reported = 0n;
  for (const whole of await answers) {
    const record = await ended(gateway, account, whole.requestId);
    expect(record.outcome).toBe("completed");
    expect(record.attempts).toHaveLength(1);
    expect(record.attempts[0]?.basis).toBe("reported");
    expect(debitOf(record)).toBeGreaterThan(0n);
    expect(costOf(whole)).toBe(debitOf(record));
    reported += debitOf(record);
  }
  await nothingHeld(gateway, account);
  expect((await debitsOf(gateway, account)) - before).toBe(reported);
  expect(await brokenBooks(gateway)).toEqual([]);
});

describe("F38: the database does not answer", () => {
  test("both wires get a 503 in time, and nothing stays held or is sent late", async () => {
    await recovers();
    const before = gateway.simulator.counts().total;
    const debits = await debitsOf(gateway, account);
    proxy.set("silent");
    const startedMs = clock.monotonicMs();
    const wires = ["wire_a", "wire_b"] as const;
    const answers = await Promise.all(wires.map((wire) => ask(gateway.url, asked({ wire }))));
    expect(clock.monotonicMs() - startedMs).toBeLessThan(10_000);
    for (const answer of answers) expectUnavailable(answer);
    expect(gateway.simulator.counts().total).toBe(before);
    expect(await debitsAfterRecovery()).toBe(debits);
    expect(gateway.simulator.counts().total).toBe(before);
  });

  test("a key that is not cached gets a 503, not a 401", async () => {
    await recovers();
    const stranger = await gateway.account("10");
    proxy.set("silent");
    const refused = await ask(gateway.url, asked({ key: stranger.key }));
    expect(refused.headers["x-tm-error-code"]).toBe("gateway_error");
    expectUnavailable(refused);
    await recovers();
  });

  test("a client that leaves while its reserve waits for the database owes nothing", async () => {
    await recovers();
    const before = gateway.simulator.counts().total;
    const debits = await debitsOf(gateway, account);
    proxy.set("silent");
    const sent = openAsk(gateway.url, asked());
    sent.on("error", () => undefined);
    await until("it waits for its reserve", async () => (await requestsInFlight()) === 1);
    sent.destroy();
    await until("the gateway knows that it left", async () => (await requestsInFlight()) === 0);
    expect(await debitsAfterRecovery()).toBe(debits);
    expect(gateway.simulator.counts().total).toBe(before);
  });

  /* The interrupted reserve may have committed, in which case it is annulled. */
  async function debitsAfterRecovery(): Promise<bigint> {
    proxy.set("up");
    await until("the database answers", () =>
      gateway.backend.ping().then(
        () => true,
        () => false,
      ),
    );
    await nothingHeld(gateway, account);
    expect(await brokenBooks(gateway)).toEqual([]);
    return await debitsOf(gateway, account);
  }
});

/** A pattern for the end of a complete answer. */
function endOf(request: Ask | undefined): RegExp {
  if (request?.stream !== true) return /\}$/;
  return request.wire === "wire_a" ? /data: \[DONE\]\n\n$/ : /"message_stop"\}\n\n$/;
}

async function requestsInFlight(): Promise<number> {
  const metrics = await (await fetch(`${gateway.running.internalUrl}/metrics`)).text();
  return Number(/^tm_requests_in_flight (\d+)$/m.exec(metrics)?.[1]);
}
