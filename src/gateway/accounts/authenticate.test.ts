import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";

import { afterEach, describe, expect, test, vi } from "vitest";

import {
  KEY_LOOKUP_KEYS_MAX,
  KEY_LOOKUP_PAUSE_MS,
  UNKNOWN_KEYS_MAX,
} from "../../kernel/core/constants.ts";
import type { KeyId, OrgId } from "../../kernel/core/ids.ts";
import { PLAIN_RULES } from "./account-rules.ts";
import {
  type AuthenticatorOptions,
  digestHex,
  isVirtualKey,
  createVirtualKey,
  openAuthenticator,
} from "./authenticate.ts";
import type { KeyRecord } from "./key-store.ts";

const good = createVirtualKey();
const GOOD = good.digest.toString("hex");
const record: KeyRecord = {
  keyId: "key_1" as KeyId,
  orgId: "org_1" as OrgId,
  origin: "console",
  name: "laptop",
  requestsPerMinuteCeiling: 300,
  disabled: false,
  emailVerified: true,
  funded: true,
  rules: PLAIN_RULES,
};

const UNAUTHENTICATED = {
  ok: false,
  refusal: { class: "auth", status: 401, origin: "authorization", retryable: false },
};

interface Fixture {
  readonly records?: Map<string, KeyRecord>;
  readonly find?: () => Promise<KeyRecord | undefined>;
  readonly options?: Partial<AuthenticatorOptions>;
}

/** A longer time limit, because a busy machine is slow to look up thousands of keys. */
const PATIENT: Partial<AuthenticatorOptions> = { storeTimeoutMs: 60_000 };

function open({ records, find, options }: Fixture = {}) {
  const keys = records ?? new Map([[GOOD, record]]);
  const asked: string[] = [];
  const statements: number[] = [];
  let nowMs = 0;
  const authenticator = openAuthenticator({
    keyStore: {
      findByDigests: async (digests) => {
        const names = digests.map((digest) => digest.toString("hex"));
        asked.push(...names);
        statements.push(names.length);
        const found = new Map<string, KeyRecord>();
        for (const name of names) {
          const known = find === undefined ? keys.get(name) : await find();
          if (known !== undefined) found.set(name, known);
        }
        return found;
      },
    },
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    ...options,
  });
  return {
    keys,
    asked,
    statements,
    forget: (orgId?: string) => authenticator.forget(orgId as OrgId | undefined),
    authenticate: (authorization?: string, xApiKey?: string) =>
      authenticator.authenticate(authorization, xApiKey),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("authentication by header", () => {
  test.each([
    ["a Bearer key", [`Bearer ${good.raw}`, undefined]],
    ["a Bearer scheme in any letter case", [`bEARER   ${good.raw}`, undefined]],
    ["a key in x-api-key", [undefined, good.raw]],
    ["a good Bearer key beside a wrong x-api-key", [`Bearer ${good.raw}`, "tm_vk_wrong"]],
    ["a key in x-api-key beside an Authorization of another scheme", ["Basic abc", good.raw]],
  ] as const)("accepts %s", async (_name, [authorization, xApiKey]) => {
    const outcome = await open().authenticate(authorization, xApiKey);
    expect(outcome).toEqual({
      ok: true,
      principal: {
        orgId: "org_1",
        keyId: "key_1",
        keyOrigin: "console",
        requestsPerMinuteCeiling: 300,
        funded: true,
        managed: false,
        rules: PLAIN_RULES,
      },
    });
  });

  test("refuses a wrong Bearer key, even beside a good x-api-key", async () => {
    const outcome = await open().authenticate(`Bearer ${createVirtualKey().raw}`, good.raw);
    expect(outcome).toMatchObject(UNAUTHENTICATED);
  });
});

describe("a refusal", () => {
  test("is identical for missing, malformed, unknown and disabled keys", async () => {
    const disabled = createVirtualKey();
    const records = new Map([[disabled.digest.toString("hex"), { ...record, disabled: true }]]);
    const { authenticate } = open({ records });
    const answers = [
      await authenticate(),
      await authenticate("Bearer "),
      await authenticate("Bearer not-a-key"),
      await authenticate(undefined, good.raw),
      await authenticate(`Bearer ${disabled.raw}`),
    ];
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject(UNAUTHENTICATED);
  });

  test("is given to a key from its expiry on, even while it is cached", async () => {
    const records = new Map([[GOOD, { ...record, expiresAtMs: 1_000 }]]);
    const { authenticate, pass, asked } = open({ records });
    expect(await authenticate(undefined, good.raw)).toMatchObject({ ok: true });
    pass(999);
    expect(await authenticate(undefined, good.raw)).toMatchObject({ ok: true });
    pass(1);
    expect(await authenticate(undefined, good.raw)).toEqual(await authenticate());
    expect(asked).toHaveLength(1);
    pass(60_000);
    expect(await authenticate(undefined, good.raw)).toEqual(await authenticate());
  });

  test("of a text that cannot be a key needs no look-up", async () => {
    const { authenticate, asked } = open();
    await authenticate("Bearer " + "x".repeat(10_000));
    expect(asked).toEqual([]);
  });

  test("of an account whose e-mail address is not verified is a 403", async () => {
    const records = new Map([[GOOD, { ...record, emailVerified: false }]]);
    const refusal = { ...UNAUTHENTICATED.refusal, class: "email_not_verified", status: 403 };
    const outcome = await open({ records }).authenticate(undefined, good.raw);
    expect(outcome).toMatchObject({ ok: false, refusal });
  });
});

describe("the cache of keys", () => {
  test("answers a cached key at once, as a value and not as a promise", async () => {
    const { authenticate, asked } = open();
    const first = await authenticate(undefined, good.raw);
    const second = authenticate(undefined, good.raw);
    expect(second).toBe(first);
    expect(asked).toHaveLength(1);
  });

  test("stops accepting a key at most five seconds after it was disabled", async () => {
    const { authenticate, keys, pass } = open();
    await authenticate(undefined, good.raw);
    keys.set(GOOD, { ...record, disabled: true });
    pass(4_999);
    expect(await authenticate(undefined, good.raw)).toMatchObject({ ok: true });
    pass(1);
    expect(await authenticate(undefined, good.raw)).toMatchObject(UNAUTHENTICATED);
  });

  test("refuses an unknown key for 250 ms without a look-up, and looks it up again after that", async () => {
    const { authenticate, keys, asked, pass } = open({ records: new Map() });
    await authenticate(undefined, good.raw);
    pass(249);
    expect(await authenticate(undefined, good.raw)).toMatchObject(UNAUTHENTICATED);
    expect(asked).toHaveLength(1);
    keys.set(GOOD, record);
    pass(1);
    expect(await authenticate(undefined, good.raw)).toMatchObject({ ok: true });
  });

  test("accepts a new key at once after a notice that its organization changed", async () => {
    const { authenticate, keys, forget } = open({ records: new Map() });
    expect(await authenticate(undefined, good.raw)).toMatchObject(UNAUTHENTICATED);
    keys.set(GOOD, record);
    forget(record.orgId);
    expect(await authenticate(undefined, good.raw)).toMatchObject({ ok: true });
  });

  test("shares one look-up among concurrent requests with the same key", async () => {
    const { authenticate, asked } = open();
    const all = Array.from({ length: 50 }, async () => authenticate(undefined, good.raw));
    await Promise.all(all);
    expect(asked).toEqual([GOOD]);
  });

  test("remembers a disabled key until a notice that its own organization changed", async () => {
    const records = new Map([[GOOD, { ...record, disabled: true }]]);
    const { authenticate, asked, pass, forget } = open({ records });
    await authenticate(undefined, good.raw);
    pass(4_999);
    forget("org_2");
    expect(await authenticate(undefined, good.raw)).toMatchObject(UNAUTHENTICATED);
    expect(asked).toHaveLength(1);
    forget(record.orgId);
    await authenticate(undefined, good.raw);
    expect(asked).toHaveLength(2);
  });
});

describe("a flood of random keys", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const flood = (count: number): string[] =>
    Array.from({ length: count }, () => createVirtualKey().raw);

  async function turns(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  }

  test("that arrives at once costs one statement, and a good key in it is accepted", async () => {
    const { authenticate, statements } = open();
    const answers = await Promise.all(
      [...flood(50), good.raw].map(async (raw) => authenticate(undefined, raw)),
    );
    expect(statements).toEqual([51]);
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
  });

  test("is read in bounded statements with a pause between them, not one for each key", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { authenticate, statements } = open({ options: PATIENT });
    await authenticate(undefined, createVirtualKey().raw);
    const answers = flood(KEY_LOOKUP_KEYS_MAX + 1).map(async (raw) => authenticate(undefined, raw));
    await turns();
    expect(statements).toEqual([1]);
    await vi.advanceTimersByTimeAsync(KEY_LOOKUP_PAUSE_MS);
    await turns();
    expect(statements).toEqual([1, KEY_LOOKUP_KEYS_MAX]);
    await vi.advanceTimersByTimeAsync(KEY_LOOKUP_PAUSE_MS);
    await Promise.all(answers);
    expect(statements).toEqual([1, KEY_LOOKUP_KEYS_MAX, 1]);
  });

  test("leaves look-ups that find their key without a pause", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const others = Array.from({ length: 3 }, createVirtualKey);
    const records = new Map(others.map(({ digest }) => [digest.toString("hex"), record]));
    const { authenticate, statements } = open({ records });
    for (const [at, { raw }] of others.entries()) {
      void authenticate(undefined, raw);
      await turns();
      expect(statements).toHaveLength(at + 1);
    }
  });

  test("is cached up to a bound: the oldest unknown key is dropped, and good keys are kept", async () => {
    const { authenticate, asked } = open({ options: PATIENT });
    await authenticate(undefined, good.raw);
    const [oldest = "", ...others] = flood(UNKNOWN_KEYS_MAX + 1);
    await authenticate(undefined, oldest);
    await Promise.all(others.map(async (raw) => authenticate(undefined, raw)));
    const before = UNKNOWN_KEYS_MAX + 2;
    expect(authenticate(undefined, good.raw)).toMatchObject({ ok: true });
    expect(authenticate(undefined, others.at(-1))).toMatchObject(UNAUTHENTICATED);
    expect(asked).toHaveLength(before);
    expect(await authenticate(undefined, oldest)).toMatchObject(UNAUTHENTICATED);
    expect(asked).toHaveLength(before + 1);
  });
});

describe("a key store", () => {
  const origin = "gateway_infrastructure";
  const later = { retryAfterSeconds: 2, retryable: true };
  const unavailable = {
    ok: false,
    refusal: { class: "gateway_error", status: 503, origin, ...later },
  };

  test.each(["rejects", "throws at once"])(
    "that %s makes the request a 503, never a 401, and is asked again by the next request",
    async (how) => {
      const fail = (): Promise<never> => {
        if (how === "throws at once") throw new Error("no connection");
        return Promise.reject(new Error("down"));
      };
      let down = true;
      const faults: unknown[] = [];
      const { authenticate } = open({
        find: () => (down ? fail() : Promise.resolve(record)),
        options: { onStoreFault: (fault) => faults.push(fault) },
      });
      expect(await authenticate(undefined, good.raw)).toMatchObject(unavailable);
      expect(faults).toHaveLength(1);
      down = false;
      expect(await authenticate(undefined, good.raw)).toMatchObject({ ok: true });
    },
  );

  test("that is silent until the time limit makes the request a 503", async () => {
    const { authenticate } = open({
      find: () => new Promise(() => undefined),
      options: { storeTimeoutMs: 5 },
    });
    expect(await authenticate(undefined, good.raw)).toMatchObject(unavailable);
  });

  test("that fails refuses no cached key before its five seconds are over", async () => {
    let down = false;
    const { authenticate, pass } = open({
      find: () => (down ? Promise.reject(new Error("down")) : Promise.resolve(record)),
    });
    await authenticate(undefined, good.raw);
    down = true;
    pass(4_999);
    expect(await authenticate(undefined, good.raw)).toMatchObject({ ok: true });
    pass(1);
    expect(await authenticate(undefined, good.raw)).toMatchObject(unavailable);
  });
});

test("a new key has 48 random hexadecimal digits, a SHA-256 digest, and its first 12 characters as its label", () => {
  const keys = Array.from({ length: 100 }, createVirtualKey);
  expect(new Set(keys.map(({ raw }) => raw)).size).toBe(100);
  for (const { raw, digest, label } of keys) {
    expect(raw).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    expect(digest).toEqual(createHash("sha256").update(raw).digest());
    expect(digestHex(raw)).toBe(digest.toString("hex"));
    expect(label).toBe(raw.slice(0, 12));
  }
});

test.each(["a".repeat(47), "a".repeat(49), "g".repeat(48), "A".repeat(48), "a".repeat(48) + "\n"])(
  "tm_vk_%s is not a virtual key",
  (rest) => {
    expect(isVirtualKey(`tm_vk_${rest}`)).toBe(false);
  },
);
