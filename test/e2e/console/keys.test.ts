import { describe, expect, test, vi } from "vitest";

import { until } from "../../support/books.ts";
import { at, bearer, httpCall, listAt, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { newcomer, newKey, withProviderConsole, withPerson } from "./provider-fixture.ts";

const fixture = withProviderConsole();
const ann = withPerson(fixture, "ann");
// Bob has a separate organization, because changes of settings per minute are limited.
const bob = withPerson(fixture, "bob");

async function readKey(id: string, person = ann): Promise<unknown> {
  return at((await person.ask(`GET /api/console/keys/${id}`)).json, "key");
}

function change(id: string, body: object): Promise<HttpAnswer> {
  return ann.ask(`PATCH /api/console/keys/${id}`, { body });
}

/** Calls a route of the gateway with a key. */
function call(secret: string, path: string, body?: object): Promise<HttpAnswer> {
  return httpCall(fixture.gateway.url + path, { headers: bearer(secret), body });
}

async function statusOf(secret: string): Promise<number> {
  return (await call(secret, "/v1/models")).status;
}

describe("a key made in the console", () => {
  test("is shown whole in the answer that makes it, works, and is never shown again", async () => {
    const made = await ann.ask("POST /api/console/keys", { body: { name: " my ci " } });
    const secret = textAt(made.json, "secret");
    expect(secret).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    expect(made.headers["cache-control"]).toBe("no-store");
    expect(at(made.json, "key")).toMatchObject({
      name: "my ci",
      label: secret.slice(0, 12),
      origin: "console",
      rpm_ceiling: 300,
      rpm: null,
      // The limit applies until the organization has credit.
      rpm_effective: 20,
      cap_usd: null,
      disabled_at: null,
    });
    expect(await statusOf(secret)).toBe(200);
    const id = textAt(made.json, "key.key_id");
    const later = [
      await ann.ask("GET /api/console/keys"),
      await ann.ask(`GET /api/console/keys/${id}`),
      await change(id, { name: "other" }),
      await ann.ask("GET /api/console/export.json"),
    ];
    for (const { text } of later) expect(text).not.toContain(secret.slice(0, 13));
  });

  test("is first in the list, and the trial key of the first sign-in is last", async () => {
    const { id } = await newKey(ann, { name: "newest" });
    const list = await ann.ask("GET /api/console/keys");
    expect(at(list.json, "data.0.key_id")).toBe(id);
    expect(at(listAt(list.json, "data").at(-1), "origin")).toBe("trial");
    expect(at(list.json, "rpm_max")).toBe(300);
    expect(textAt(list.json, "cap_reset_at")).toMatch(/^\d{4}-\d{2}-01T00:00:00\.000Z$/);
    const made = await ann.ask("POST /api/identity/keys", { body: { name: "by program" } });
    expect(at(made.json, "key.origin")).toBe("identity");
  });

  test.each([
    ["a name of two lines", { name: "a\nb" }, "name", "one line"],
    ["301 requests a minute", { name: "a", rpm: 301 }, "rpm", "ceiling of 300"],
  ])("with %s is refused and not created", async (_, body, field, words) => {
    const before = listAt((await ann.ask("GET /api/console/keys")).json, "data").length;
    const refused = await ann.ask("POST /api/console/keys", { body });
    expect(refused.status).toBe(400);
    expect(at(refused.json, "error")).toMatchObject({ code: "invalid_request", field });
    expect(textAt(refused.json, "error.message")).toContain(words);
    expect(listAt((await ann.ask("GET /api/console/keys")).json, "data")).toHaveLength(before);
  });
});

describe("the expiry of a key", () => {
  test("makes the gateway refuse the key from that time on, until the expiry is removed", async () => {
    const inSeconds = (seconds: number): string =>
      new Date(Date.now() + seconds * 1_000).toISOString();
    const { id, secret } = await newKey(ann, { expires_at: inSeconds(3_600) });
    const move = async (expires_at: string): Promise<unknown> =>
      (await change(id, { expires_at })).json;
    expect(await statusOf(secret)).toBe(200);
    const soon = inSeconds(4);
    expect(await move(soon)).toMatchObject({ expires_at: soon, is_expired: false });
    await until("the key has expired", async () => (await statusOf(secret)) === 401);
    expect(await readKey(id)).toMatchObject({ is_expired: true, disabled_at: null });
    expect(await move("never")).toMatchObject({ expires_at: null, is_expired: false });
    await until("the key works again", async () => (await statusOf(secret)) === 200);
    expect(await move("")).toMatchObject({ expires_at: null });
  });

  test("in the past is refused for a new and an existing key, and changes nothing", async () => {
    const { id } = await newKey(ann);
    const body = { expires_at: "2020-01-01T00:00:00Z", name: "not this" };
    const made = await ann.ask("POST /api/console/keys", { body });
    for (const { status, json } of [await change(id, body), made]) {
      expect([status, at(json, "error.field")]).toEqual([400, "expires_at"]);
    }
    expect(await readKey(id)).toMatchObject({ expires_at: null, name: "a key" });
  });
});

describe("the models of a key", () => {
  const listed = async (secret: string): Promise<unknown[]> =>
    listAt((await call(secret, "/v1/models")).json, "data").map((model) => at(model, "id"));

  test("are the only ones that it lists and calls; it gets a 404 for any other", async () => {
    const { id, secret } = await newKey(ann);
    const all = await listed(secret);
    const [allowed, other] = all as string[];
    const setModels = async (models: unknown): Promise<unknown> =>
      (await change(id, { models })).json;
    expect(await setModels([allowed, allowed])).toMatchObject({ models: [allowed] });
    await until("the key lists one model", async () => (await listed(secret)).length === 1);
    expect(await listed(secret)).toEqual([allowed]);
    const said = { messages: [{ role: "user", content: "hi" }], max_tokens: 5 };
    const refused = await Promise.all([
      call(secret, `/v1/models/${other}`),
      call(secret, "/v1/chat/completions", { model: other, ...said }),
      call(secret, "/v1/messages", { model: other, ...said }),
      call(secret, "/v1/messages/count_tokens", { model: other, messages: said.messages }),
      call(secret, "/v1/images/generations", { model: other, prompt: "a dot" }),
      call(secret, "/v1/videos", { model: other, prompt: "a dot", seconds: 4 }),
      call(secret, `/v1/limits?model=${other}`),
    ]);
    const dryRun = await call(secret, "/v1/route?for=chat", { model: other, ...said });
    expect(at(dryRun.json, "refusal")).toMatchObject({ code: "model_unavailable", status: 404 });
    for (const [nth, answer] of refused.entries()) {
      expect({ nth, text: answer.text, status: answer.status }).toMatchObject({ status: 404 });
      expect(answer.headers["x-tm-error-code"]).toBe("model_unavailable");
      expect(answer.text).toContain(`${other}`);
    }
    const path = `GET /api/console/requests/${String(refused[1]?.headers["x-request-id"])}`;
    const refusal = await until("the refusal is written down", async () => {
      const { status, json } = await ann.ask(path);
      return status === 200 ? at(json, "refusal") : undefined;
    });
    expect(refusal).toMatchObject({ action: "edit_key", key_id: id });
    const words = `This key may call 1 model only, and “${other}” is not among`;
    expect(textAt(refusal, "explanation")).toContain(words);
    expect((await call(secret, `/v1/models/${allowed}`)).status).toBe(200);
    const own = await call(secret, "/v1/chat/completions", { model: allowed, ...said });
    expect(own.headers["x-tm-error-code"]).not.toBe("model_unavailable");
    expect(await setModels(null)).toMatchObject({ models: [allowed] });
    expect(await setModels([])).toMatchObject({ models: null });
    await until("it lists all", async () => (await listed(secret)).length === all.length);
  });

  test("that are unknown, too long or over 100 in number are refused with the name of the field", async () => {
    const { id } = await newKey(ann);
    for (const models of [["acme/none"], ["x".repeat(257)], Array.from({ length: 101 }, String)]) {
      const refused = await change(id, { models });
      expect(refused.status).toBe(400);
      expect(textAt(refused.json, "error.field")).toMatch(/^models/);
      const made = await ann.ask("POST /api/console/keys", { body: { name: "a", models } });
      expect(made.status).toBe(400);
    }
    expect(await readKey(id)).toMatchObject({ models: null });
  });
});

test("a key's cap is kept by an empty value, set by an amount, removed by 0, and unchanged by an invalid value", async () => {
  const { id } = await newKey(ann, { cap_usd: "5" });
  const refused = await change(id, { cap_usd: "-1", name: "not this" });
  expect([refused.status, at(refused.json, "error.field")]).toEqual([400, "cap_usd"]);
  expect(await readKey(id)).toMatchObject({ cap_usd: "5.000000", name: "a key" });
  for (const [set, cap] of [
    ["", "5.000000"],
    ["12.000001", "12.000001"],
    ["0", null],
  ] as const) {
    const changed = await change(id, { cap_usd: set });
    expect([set, changed.status, at(changed.json, "cap_usd")]).toEqual([set, 200, cap]);
    expect(at(await readKey(id), "cap_usd")).toBe(cap);
  }
});

describe("the requests a minute of a key", () => {
  test("can be lowered, kept and reset to the ceiling, and never raised above it", async () => {
    const { id } = await newKey(ann, { rpm: 50 });
    expect(await readKey(id)).toMatchObject({ rpm: 50, rpm_ceiling: 300 });
    const setRpm = async (rpm: unknown): Promise<unknown> =>
      at((await change(id, { rpm })).json, "rpm");
    expect(await setRpm(40)).toBe(40);
    expect(await setRpm(null)).toBe(40);
    expect(await setRpm("")).toBe(40);
    expect(await setRpm(60)).toBe(60);
    expect(await setRpm(0)).toBeNull();
    const refused = await change(id, { rpm: 301 });
    expect(refused.status).toBe(400);
    expect(at(refused.json, "error")).toMatchObject({ field: "rpm" });
    expect(textAt(refused.json, "error.message")).toContain("ceiling of 300");
    const { id: plain } = await newKey(ann, { rpm: 300 });
    expect(await readKey(plain)).toMatchObject({ rpm: null, rpm_ceiling: 300 });
  });

  test("cannot exceed 20 for the trial key", async () => {
    const list = await ann.ask("GET /api/console/keys");
    const trial = listAt(list.json, "data").find((key) => at(key, "origin") === "trial");
    const refused = await change(textAt(trial, "key_id"), { rpm: 21 });
    expect(refused.status).toBe(400);
    expect(textAt(refused.json, "error.message")).toContain("ceiling of 20");
  });
});

test("a key beyond the maximum is refused with what helps: disabled keys count, and rotating makes no new one", async () => {
  const full = await fixture.signIn(newcomer("full"));
  await runSql(
    fixture.gateway,
    `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling, disabled_at)
    select $1 || n, $1, sha256(convert_to($1 || n, 'UTF8')), 'tm', 'old', 'console', 20, now()
    from generate_series(1, 1000) n`,
    [full.orgId],
  );
  const refused = await full.ask("POST /api/console/keys", { body: { name: "one more" } });
  expect(refused.status).toBe(409);
  expect(textAt(refused.json, "error.message")).toBe(
    "your organization has reached its maximum number of keys, and disabled keys count: rotate a key instead of replacing it, or contact support",
  );
});

test("disabling a key needs its exact name, is permanent, and cannot be undone", async () => {
  const { id, secret } = await newKey(ann, { name: "old one" });
  expect(await statusOf(secret)).toBe(200);
  const disable = (confirm_name: string): Promise<HttpAnswer> =>
    ann.ask(`POST /api/console/keys/${id}/disable`, { body: { confirm_name } });
  for (const wrong of ["old", "Old one"]) {
    const refused = await disable(wrong);
    expect([refused.status, at(refused.json, "error.field")]).toEqual([400, "confirm_name"]);
  }
  expect(at(await readKey(id), "disabled_at")).toBeNull();
  const disabled = await disable("old one");
  expect(disabled.status).toBe(200);
  const since = textAt(disabled.json, "disabled_at");
  expect(Date.parse(since)).toBeGreaterThan(0);
  expect(at((await disable("old one")).json, "disabled_at")).toBe(since);
  await until("the key is refused", async () => (await statusOf(secret)) === 401);
  for (const path of ["enable", "undisable", "restore"]) {
    expect((await ann.ask(`POST /api/console/keys/${id}/${path}`)).status).toBe(404);
  }
  expect((await change(id, { cap_usd: "1" })).status).toBe(409);
  const rotated = await ann.ask(`POST /api/console/keys/${id}/rotate`, {
    body: { grace_hours: 0 },
  });
  expect(rotated.status).toBe(409);
  expect(listAt((await ann.ask("GET /api/console/keys")).json, "data")).toContainEqual(
    expect.objectContaining({ key_id: id, disabled_at: since }),
  );
});

describe("a key that is rotated", () => {
  function rotate(id: string, grace_hours: number): Promise<HttpAnswer> {
    return bob.ask(`POST /api/console/keys/${id}/rotate`, { body: { grace_hours } });
  }

  test("has a new secret and the same settings, and its old secret works during the grace period", async () => {
    const settings = { name: "rotated", rpm: 9, cap_usd: "5", tags: ["eu"] };
    const { id, secret: old } = await newKey(bob, settings);
    const before = (await readKey(id, bob)) as Record<string, unknown>;
    expect(await statusOf(old)).toBe(200);
    const rotated = await rotate(id, 1);
    const secret = textAt(rotated.json, "secret");
    expect(secret).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    expect(secret).not.toBe(old);
    const leftMs = Date.parse(textAt(rotated.json, "old_works_until")) - Date.now();
    expect(leftMs).toBeGreaterThan(3_540_000);
    expect(leftMs).toBeLessThanOrEqual(3_600_000);
    const { last_used_at: _used, old_works_until: none, ...same } = before;
    expect(none).toBeNull();
    const old_works_until = at(rotated.json, "old_works_until");
    const after = { ...same, label: secret.slice(0, 12), old_works_until };
    expect(at(rotated.json, "key")).toMatchObject(after);
    expect([await statusOf(secret), await statusOf(old)]).toEqual([200, 200]);
    const later = await bob.ask(`GET /api/console/keys/${id}`);
    expect(later.text).not.toContain(secret.slice(0, 13));
    expect(at(later.json, "key")).toMatchObject({ old_works_until });
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    await bob.do(`PATCH /api/console/keys/${id}`, { body: { expires_at } });
    expect(await readKey(id, bob)).toMatchObject({ old_works_until: expires_at });
    await bob.do(`POST /api/console/keys/${id}/disable`, { body: { confirm_name: "rotated" } });
    expect(await readKey(id, bob)).toMatchObject({ old_works_until: null });
  });

  test("gets a grace of at most 72 hours, loses its old secret at once without one, and ends an older grace by another rotation", async () => {
    const { id, secret: first } = await newKey(bob, { name: "leaked" });
    expect(await statusOf(first)).toBe(200);
    const refused = await rotate(id, 73);
    expect([refused.status, at(refused.json, "error.field")]).toEqual([400, "grace_hours"]);
    expect(await statusOf(first)).toBe(200);
    const second = textAt((await rotate(id, 0)).json, "secret");
    await until("the old secret is refused", async () => (await statusOf(first)) === 401);
    expect(await statusOf(second)).toBe(200);
    const third = textAt((await rotate(id, 72)).json, "secret");
    expect(await statusOf(second)).toBe(200);
    const fourth = textAt((await rotate(id, 72)).json, "secret");
    await until("the oldest is refused", async () => (await statusOf(second)) === 401);
    expect([await statusOf(third), await statusOf(fourth)]).toEqual([200, 200]);
  });
});

test.each([
  ["a new key", "createOwnKey", () => "POST /api/console/keys"],
  ["a rotated key", "editKeys", (id: string) => `POST /api/console/keys/${id}/rotate`],
] as const)(
  "the secret of %s is in the answer, with its figures, although every read after its commit fails",
  async (_, verb, route) => {
    const settings = { name: "first", rpm: 9, cap_day_usd: "2" };
    const { id } = await newKey(bob, settings);
    const { accountStore, rulesStore, recordStore } = fixture.gateway.backend;
    const commit = accountStore[verb].bind(accountStore) as (...args: unknown[]) => Promise<never>;
    vi.spyOn(accountStore, verb).mockImplementationOnce(async (...args: unknown[]) => {
      const committed = await commit(...args);
      const down = new Error("the store is down");
      vi.spyOn(accountStore, "findOrg").mockRejectedValue(down);
      vi.spyOn(rulesStore, "listLimits").mockRejectedValue(down);
      vi.spyOn(recordStore, "periodSpend").mockRejectedValue(down);
      vi.spyOn(recordStore, "monthSpend").mockRejectedValue(down);
      return committed;
    });
    const body = verb === "editKeys" ? { grace_hours: 1 } : settings;
    const answer = await bob.ask(route(id), { body });
    vi.restoreAllMocks();
    expect(answer.status, answer.text).toBe(200);
    expect(at(answer.json, "key")).toMatchObject({
      rpm: 9,
      spent_month_usd: "0.000000",
      spent_week_usd: null,
      spent_day_usd: "0.000000",
    });
    expect(await statusOf(textAt(answer.json, "secret"))).toBe(200);
  },
);
