import { describe, expect, test } from "vitest";

import type { KeyId, OrgId } from "../../kernel/core/ids.ts";
import { microUsd } from "../../kernel/core/money.ts";
import type { CallFamily } from "../../formats/index.ts";
import { type AbuseRestriction, PLAIN_RULES } from "../accounts/account-rules.ts";
import type { Principal } from "../accounts/principal.ts";
import { type UsageEvent } from "./unusual-use.ts";
import type { UsageFinding } from "./postgres-abuse-restriction-store.ts";
import {
  clientNetwork,
  REQUESTS_ON_THEIR_WAY_MS,
  TrialAbuseMonitor,
} from "./trial-abuse-monitor.ts";

const START_MS = 1_800_000_000_000;
const LIMITED_MS = 600_000;
const KEY_CACHE_MS = 5_000;
const REFUSED_LINE = 5;

type Answer = AbuseRestriction | undefined | Error | "silence";

/** A monitor on a clock that the test moves, with a store whose answer the test sets. */
function monitorFixture() {
  const recorded: UsageFinding[] = [];
  const logged: object[] = [];
  const world = { nowMs: START_MS, answer: "silence" as Answer };
  const watch = new TrialAbuseMonitor({
    policy: {
      windowMs: 300_000,
      refusedRequests: REFUSED_LINE,
      clientAddresses: 3,
      errorPercent: 80,
      requestsMin: 4,
      spendMicroUsd: microUsd(1_000_000n),
    },
    limitedMs: LIMITED_MS,
    repeatMs: 86_400_000,
    principalMs: KEY_CACHE_MS,
    store: {
      record: (finding) => {
        recorded.push(finding);
        const { answer } = world;
        if (answer === "silence") return new Promise(() => undefined);
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
    clock: { nowMs: () => world.nowMs },
    log: { warn: (detail) => void logged.push(detail) },
    salt: Buffer.alloc(32, 7),
  });
  const note = (more: Partial<UsageEvent> = {}): void =>
    watch.note({ ...REFUSED_EVENT, ...more }, world.nowMs);
  return {
    world,
    watch,
    recorded,
    logged,
    note,
    refuse: (principal = TRIAL, family: CallFamily = "chat") =>
      watch.refuse(principal, family, world.nowMs),
    /** Notes, all at once, just enough refused requests to count as unusual use. */
    misbehave: (more: Partial<UsageEvent> = {}): void => {
      for (let n = 0; n < REFUSED_LINE; n += 1) note(more);
    },
  };
}

/** Waits until the monitor has received the store's answer. */
function answered(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A monitor that has found unusual use, and whose store has given this answer. */
async function findingAnswered(answer: Answer) {
  const monitor = monitorFixture();
  monitor.world.answer = answer;
  monitor.misbehave();
  await answered();
  return monitor;
}

function principalOf(org: string, rules: Partial<Principal["rules"]> = {}): Principal {
  return {
    orgId: org as OrgId,
    keyId: `key of ${org}` as KeyId,
    keyOrigin: "trial",
    requestsPerMinuteCeiling: 20,
    funded: true,
    managed: false,
    rules: { ...PLAIN_RULES, isTrial: true, ...rules },
  };
}

const TRIAL = principalOf("org_trial");
const REFUSED_EVENT: UsageEvent = {
  principal: TRIAL,
  family: "chat",
  clientAddress: "203.0.113.1",
  outcome: "refused",
  debitMicroUsd: microUsd(0n),
};
const LIMITED: AbuseRestriction = {
  family: "chat",
  state: "limited",
  untilMs: START_MS + LIMITED_MS,
};
const RESTRICTED: AbuseRestriction = { family: "chat", state: "restricted" };

describe("a finding of unusual use", () => {
  test("limits the organization's requests at once, without waiting for the store", () => {
    const { refuse, note, misbehave, recorded } = monitorFixture();
    for (let n = 1; n < REFUSED_LINE; n += 1) note();
    expect(refuse()).toBeUndefined();
    expect(recorded).toEqual([]);
    misbehave();
    expect(refuse()).toMatchObject({ class: "usage_limited", status: 429 });
  });

  test("refuses with the time to retry and a pointer to support, and reveals none of its figures", () => {
    const { refuse, misbehave, world } = monitorFixture();
    misbehave();
    expect(refuse()).toMatchObject({
      origin: "gateway_admission",
      retryable: true,
      retryAfterSeconds: 60,
      retryAtMs: START_MS + LIMITED_MS,
      message: expect.stringMatching(/its chat requests are limited.*retry-after.*support/),
    });
    expect(refuse()?.message).not.toMatch(/\d/);
    world.nowMs += LIMITED_MS - 1_500;
    expect(refuse()?.retryAfterSeconds).toBe(2);
  });

  test("is recorded with its figures and its age, and without any client address", async () => {
    const { note, misbehave, recorded, world, logged } = monitorFixture();
    world.answer = LIMITED;
    note();
    world.nowMs += 7_000;
    misbehave();
    expect(recorded).toEqual([
      {
        orgId: "org_trial",
        family: "chat",
        reason: "refused_requests 5 in 300 s",
        ageMs: 7_000,
        limitedMs: LIMITED_MS,
        repeatMs: 86_400_000,
      },
    ]);
    await answered();
    expect(logged).toEqual([
      expect.objectContaining({ org_id: "org_trial", kind: "chat", state: "limited" }),
    ]);
    expect(JSON.stringify([recorded, logged])).not.toContain("203.0.113");
  });

  test.each([
    ["client addresses", [{ clientAddress: "a" }, { clientAddress: "b" }, { clientAddress: "c" }]],
    ["failed requests", Array.from({ length: 4 }, () => ({ outcome: "failed" as const }))],
    [
      "dollars spent",
      [{ debitMicroUsd: microUsd(400_000n) }, { debitMicroUsd: microUsd(600_000n) }],
    ],
  ])("is also caused by too many %s", (_what, events) => {
    const { note, refuse, recorded } = monitorFixture();
    for (const event of events) {
      expect(refuse()).toBeUndefined();
      note({ outcome: "served", ...event });
    }
    expect(refuse()?.class).toBe("usage_limited");
    expect(recorded).toHaveLength(1);
  });

  test("limits the organization's chat requests only, not its image requests or another organization's", () => {
    const { misbehave, refuse } = monitorFixture();
    misbehave();
    expect(refuse(TRIAL, "images")).toBeUndefined();
    expect(refuse(principalOf("org_other"))).toBeUndefined();
    expect(refuse(TRIAL, "chat")).toBeDefined();
  });

  test("expires by itself, and requests refused meanwhile do not count toward the next finding", () => {
    const { misbehave, refuse, note, recorded, world } = monitorFixture();
    misbehave();
    // Further requests are refused meanwhile, and these refusals do not count.
    for (let n = 0; n < 100; n += 1) {
      world.nowMs += 5_990;
      expect(refuse()).toBeDefined();
      note();
    }
    world.nowMs = START_MS + LIMITED_MS;
    expect(refuse()).toBeUndefined();
    for (let n = 1; n < REFUSED_LINE; n += 1) note();
    expect(recorded).toHaveLength(1);
    note();
    expect(recorded).toHaveLength(2);
    expect(recorded[1]?.ageMs).toBe(0);
  });
});

describe("the store's answer to a finding", () => {
  test("that restricts the organization makes its requests a non-retryable 403 at once", async () => {
    const { refuse } = await findingAnswered(RESTRICTED);
    const refused = refuse();
    expect(refused).toMatchObject({
      class: "usage_restricted",
      status: 403,
      origin: "gateway_admission",
      retryable: false,
      message: expect.stringMatching(/refused until support has reviewed.*contact support/),
    });
    expect(refused).not.toHaveProperty("retryAfterSeconds");
  });

  test("that imposes no restriction lets the organization continue, with its counts reset", async () => {
    const { refuse, note, recorded } = await findingAnswered(undefined);
    // The requests of the first finding do not count again: these are one too few for another.
    for (let n = 1; n < REFUSED_LINE; n += 1) note();
    expect(refuse()).toBeUndefined();
    expect(recorded).toHaveLength(1);
  });

  test("applies until cached keys have expired; after that the principal's own restrictions apply", async () => {
    const { refuse, world } = await findingAnswered(LIMITED);
    const carrying = principalOf("org_trial", { abuseRestrictions: [LIMITED] });
    world.nowMs += KEY_CACHE_MS - 1;
    expect(refuse()).toBeDefined();
    world.nowMs += 1;
    expect(refuse(carrying)).toBeDefined();
    expect(refuse()).toBeUndefined();
  });

  test("that is a fault makes later requests report the finding again, at doubling intervals", async () => {
    const { misbehave, refuse, recorded, logged, world } = monitorFixture();
    world.answer = new Error("down");
    misbehave();
    const triedAfterS: number[] = [];
    for (let second = 0; second < LIMITED_MS / 1000; second += 1) {
      world.nowMs = START_MS + second * 1000;
      const before = recorded.length;
      expect(refuse()?.class).toBe("usage_limited");
      refuse();
      if (recorded.length > before) triedAfterS.push(second);
      await answered();
    }
    expect(triedAfterS).toEqual([1, 3, 7, 15, 31, 63, 127]);
    expect(logged).toHaveLength(recorded.length);
    // A late report states the age of the finding and the time left of its restriction.
    expect(recorded.at(-1)).toMatchObject({ ageMs: 127_000, limitedMs: LIMITED_MS - 127_000 });
  });
});

describe("restrictions that the principal carries", () => {
  test("refuse requests regardless of this process's own counts, and the strictest one applies", () => {
    const { refuse, world } = monitorFixture();
    const limited = principalOf("org_trial", { abuseRestrictions: [LIMITED] });
    const both = principalOf("org_trial", { abuseRestrictions: [LIMITED, RESTRICTED] });
    expect(refuse(limited)?.class).toBe("usage_limited");
    expect(refuse(both)?.class).toBe("usage_restricted");
    expect(refuse(both, "images")).toBeUndefined();
    world.nowMs += LIMITED_MS;
    expect(refuse(limited)).toBeUndefined();
    expect(refuse(both)?.class).toBe("usage_restricted");
  });

  test("reset the counts that this process has collected", () => {
    const { refuse, note, recorded, world } = monitorFixture();
    for (let n = 1; n < REFUSED_LINE; n += 1) note();
    const short = { ...LIMITED, untilMs: START_MS + 1_000 };
    expect(refuse(principalOf("org_trial", { abuseRestrictions: [short] }))).toBeDefined();
    world.nowMs += 1_000;
    note();
    expect(recorded).toEqual([]);
  });
});

describe("a notice that an organization changed", () => {
  test("keeps a finding that the store has not answered yet or has failed to record", async () => {
    for (const answer of ["silence", new Error("away")] as const) {
      const { watch, world, misbehave, refuse } = monitorFixture();
      world.answer = answer;
      misbehave();
      watch.forget(undefined);
      await answered();
      watch.forget(undefined);
      expect(refuse()).toMatchObject({ class: "usage_limited" });
    }
  });

  test("ends a restriction one second later, so that requests already in progress are still refused", async () => {
    const { watch, world, refuse } = await findingAnswered(LIMITED);
    watch.forget("org_other" as OrgId);
    world.nowMs += REQUESTS_ON_THEIR_WAY_MS;
    expect(refuse()).toMatchObject({ class: "usage_limited" });
    // This is the notice that an operator lifted the restriction.
    watch.forget(TRIAL.orgId);
    world.nowMs += REQUESTS_ON_THEIR_WAY_MS - 1;
    // A further notice does not prolong the restriction.
    watch.forget(undefined);
    expect(refuse()).toMatchObject({ class: "usage_limited" });
    world.nowMs += 1;
    expect(refuse()).toBeUndefined();
  });
});

describe("an organization that bought credit", () => {
  const paying = principalOf("org_paying", { isTrial: false, abuseRestrictions: [RESTRICTED] });

  test("is not refused because of earlier findings", () => {
    const { misbehave, refuse } = monitorFixture();
    misbehave();
    expect(refuse(principalOf("org_trial", { isTrial: false }))).toBeUndefined();
    expect(refuse(paying)).toBeUndefined();
  });

  test("is never monitored, whatever it does", () => {
    const { watch, note, recorded } = monitorFixture();
    for (const outcome of ["served", "failed", "refused"] as const) {
      for (let n = 0; n < 20; n += 1) {
        const debitMicroUsd = microUsd(1_000_000n);
        note({ principal: paying, outcome, debitMicroUsd, clientAddress: `203.0.113.${n}` });
      }
    }
    expect(watch.watchedNow).toBe(0);
    expect(recorded).toEqual([]);
  });
});

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::203.0.113.7", "64:ff9b:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["not an address", "not an address"],
  ["203.0.113.7%eth0", "203.0.113.7"],
])("the client address %s is counted as the network %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
