import { beforeAll, describe, expect, test } from "vitest";

import { chatBody } from "../../support/chat-bodies.ts";
import { at, bearer, httpCall, type HttpAnswer, listAt, textAt } from "../../support/http-call.ts";
import { newcomer, withProviderConsole, type Person, withPerson } from "./provider-fixture.ts";

const fixture = withProviderConsole();
const ann = withPerson(fixture, "ann");
let key: { readonly id: string; readonly secret: string };

beforeAll(async () => {
  const made = await ann.ask("POST /api/console/keys", { body: { name: "ci" } });
  key = { id: textAt(made.json, "key.key_id"), secret: textAt(made.json, "secret") };
});

async function rowOf(scope: string, more: object = {}): Promise<unknown> {
  const { json } = await ann.ask("GET /api/console/limits");
  return listAt(json, "rows").find(
    (row) =>
      at(row, "scope") === scope &&
      Object.entries(more).every(([name, value]) => at(row, name) === value),
  );
}

describe("an organization without credit", () => {
  test("has 20 requests a minute for all its keys, until it has credit", async () => {
    expect(await rowOf("org")).toMatchObject({
      rpm: { ceiling: 300, own: null, effective: 20, source: "unfunded", used: 0 },
      tpm: { ceiling: 1_000_000, effective: 1_000_000, source: "default" },
      concurrency: { ceiling: 8, effective: 8, used: 0 },
    });
    const before = await ann.ask("GET /api/console/session");
    expect(before.json).toMatchObject({ is_funded: false, unfunded_rpm: 20 });
    await fixture.grant(ann, "10");
    const after = await ann.ask("GET /api/console/session");
    expect(after.json).toMatchObject({
      is_funded: true,
      balance: { available_usd: "10.000000", settled_usd: "10.000000", held_usd: "0.000000" },
    });
    expect(await rowOf("org")).toMatchObject({ rpm: { effective: 300, source: "default" } });
    expect(await rowOf("key", { key_id: key.id })).toMatchObject({ rpm: { effective: 300 } });
  });

  test("sees its use of the last minute", async () => {
    const call = { headers: bearer(key.secret), body: chatBody("test/a") };
    const answer = await httpCall(`${fixture.gateway.url}/v1/chat/completions`, call);
    expect(answer.status).toBe(200);
    expect(await rowOf("key", { key_id: key.id })).toMatchObject({ rpm: { used: 1 } });
    expect(await rowOf("org")).toMatchObject({ rpm: { used: 1 }, concurrency: { used: 0 } });
  });
});

describe("POST /api/admission-limits with a session", () => {
  const change = (body: unknown): ReturnType<Person["ask"]> =>
    ann.ask("POST /api/admission-limits", { body });

  test("lowers the limits of the organization, a key and a model, and resets each", async () => {
    const org = await change({ scope: "org", rpm: 100 });
    expect(org.json).toMatchObject({
      scope: "org",
      stored: { rpm: 100, tpm: null, concurrency: null },
      effective: { rpm: { limit: 100, bound_by: `org:${ann.orgId}` } },
    });
    expect(await rowOf("org")).toMatchObject({ rpm: { own: 100, effective: 100, source: "self" } });

    const ofKey = await change({ scope: "key", key_id: key.id, concurrency: 2 });
    expect(at(ofKey.json, "effective.concurrency")).toMatchObject({
      limit: 2,
      bound_by: `key:${key.id}`,
    });
    await change({ scope: "model", model: "test/a", tpm: 5_000 });
    expect(await rowOf("model", { model: "test/a", key_id: null })).toMatchObject({
      name: "test/a",
      tpm: { own: 5_000, effective: 5_000, source: "self" },
      rpm: { own: null, effective: null, source: null },
    });
    await change({ scope: "model", model: "test/a", key_id: key.id, rpm: 3 });
    expect(await rowOf("model", { model: "test/a", key_id: key.id })).toMatchObject({
      name: "ci",
      rpm: { own: 3 },
    });

    await change({ scope: "org", rpm: null });
    await change({ scope: "key", key_id: key.id, concurrency: null });
    await change({ scope: "model", model: "test/a", tpm: null });
    await change({ scope: "model", model: "test/a", key_id: key.id, rpm: null });
    expect(await rowOf("org")).toMatchObject({ rpm: { own: null, source: "default" } });
    expect(await rowOf("model")).toBeUndefined();
  });

  const refused: readonly (readonly [string, object, string])[] = [
    ["above the ceiling", { scope: "key", rpm: 301 }, "ceiling of 300"],
    ["0", { scope: "key", rpm: 0 }, "at least 1"],
    ["below zero", { scope: "key", rpm: -5 }, "at least 1"],
    ["a text", { scope: "key", rpm: "5" }, "whole number"],
    ["nothing", { scope: "key" }, "all missing"],
    ["of another scope", { scope: "team", rpm: 5 }, "scope must be"],
    ["of a model without its name", { scope: "model", rpm: 5 }, "model is missing"],
    ["of an unknown model", { scope: "model", model: "test/none", rpm: 5 }, "test/none"],
    ["with a field that does not exist", { scope: "key", rpm: 5, cap: 1 }, "cap is not a field"],
  ];
  test.each(refused)(
    "refuses %s with the message of the gateway's route",
    async (_, body, words) => {
      const named = "scope" in body && body.scope === "key" ? { ...body, key_id: key.id } : body;
      const here = await change(named);
      const there = await httpCall(`${fixture.gateway.url}/api/admission-limits`, {
        headers: bearer(key.secret),
        body: named,
      });
      expect(here.status).toBe(there.status);
      expect(textAt(here.json, "error.message")).toBe(textAt(there.json, "error.message"));
      expect(textAt(here.json, "error.message")).toContain(words);
    },
  );

  test("refuses a body with a duplicated field", async () => {
    const answer = await change('{"scope":"org","scope":"org","rpm":5}');
    expect(answer.status).toBe(400);
    expect(textAt(answer.json, "error.message")).toContain("scope is duplicated");
  });

  test("answers 404 for a key id that the database cannot store", async () => {
    const answer = await change({ scope: "key", key_id: "a\u0000b", rpm: 5 });
    expect(answer.status).toBe(404);
    expect(textAt(answer.json, "error.message")).toContain("key");
  });

  test("refuses a limit of a key without key_id, although a virtual key needs none", async () => {
    const answer = await change({ scope: "key", rpm: 5 });
    expect(answer.status).toBe(400);
    expect(textAt(answer.json, "error.message")).toContain("key_id is missing");
  });
});

describe("the cap of the organization", () => {
  const orgCap = (json: unknown): unknown => at(json, "caps.0.cap_usd");

  test.each<[string, object, string | null]>([
    ["left out", {}, "5.000000"],
    ["null", { cap_usd: null }, "5.000000"],
    ["blank", { cap_usd: "" }, "5.000000"],
    ["0", { cap_usd: "0" }, null],
    ["another amount", { cap_usd: "1.000001" }, "1.000001"],
    ["less than is spent, confirmed", { cap_usd: "0.000001", confirm: true }, "0.000001"],
  ])("that is changed to %s is %s", async (_, body, cap) => {
    await ann.ask("PATCH /api/console/org-cap", { body: { cap_usd: "5" } });
    const changed = await ann.ask("PATCH /api/console/org-cap", { body });
    expect(changed.status).toBe(200);
    expect(orgCap(changed.json)).toBe(cap);
    expect(orgCap((await ann.ask("GET /api/console/limits")).json)).toBe(cap);
  });

  test.each([["-1"], ["1.0000001"], ["1,5"], [5]])("of %j is refused", async (cap_usd) => {
    await ann.ask("PATCH /api/console/org-cap", { body: { cap_usd: "5" } });
    const refused = await ann.ask("PATCH /api/console/org-cap", { body: { cap_usd } });
    expect(refused.status).toBe(400);
    expect(at(refused.json, "error.field")).toBe("cap_usd");
    expect(orgCap((await ann.ask("GET /api/console/limits")).json)).toBe("5.000000");
  });

  test("that is spent already needs a confirmation, for the organization and for a key", async () => {
    await ann.ask("PATCH /api/console/org-cap", { body: { cap_usd: "5" } });
    const body = { cap_usd: "0.000001" };
    const ofOrg = await ann.ask("PATCH /api/console/org-cap", { body });
    const ofKey = await ann.ask(`PATCH /api/console/keys/${key.id}`, { body });
    for (const [asked, what] of [
      [ofOrg, "all requests until 1 "],
      [ofKey, "all requests with this key until 1 "],
    ] as const) {
      expect(asked.status).toBe(409);
      expect(at(asked.json, "error.code")).toBe("confirm_needed");
      expect(textAt(asked.json, "error.message")).toContain(`This stops ${what}`);
    }
    expect(orgCap((await ann.ask("GET /api/console/limits")).json)).toBe("5.000000");
  });

  test("is named as the reason on every page and in every refusal while it stops requests", async () => {
    const body = { cap_usd: "0.000001", confirm: true };
    await ann.do("PATCH /api/console/org-cap", { body });
    const call = { headers: bearer(key.secret), body: chatBody("test/a") };
    const url = `${fixture.gateway.url}/v1`;
    const refused = await httpCall(`${url}/chat/completions`, call);
    expect(refused.status).toBe(429);
    const requestId = String(refused.headers["x-request-id"]);
    const reason = {
      status: 429,
      limit_scope: "org",
      limit_kind: "spend",
      limit_id: `org:${ann.orgId}`,
      cap_usd: "0.000001",
    };
    const record = (): Promise<HttpAnswer> =>
      httpCall(`${url}/generation?id=${requestId}`, { headers: bearer(key.secret) });
    await expect
      .poll(async () => at((await record()).json, "data"), { timeout: 10_000 })
      .toMatchObject({
        outcome: "refused",
        attempts: [],
        cost_micro_usd: 0,
        refusal: { error_type: "insufficient_quota", ...reason },
      });
    const page = await ann.do(`GET /api/console/requests/${requestId}`);
    expect(at(page.json, "refusal")).toMatchObject({ action: "raise_cap", key_id: null, reason });
    expect(textAt(page.json, "refusal.explanation")).toContain("monthly cap of $0.000001");
    const session = await ann.do("GET /api/console/session");
    expect(at(session.json, "notices.0")).toMatchObject({
      kind: "org_cap_reached",
      severity: "bad",
      action: "raise_cap",
      since: expect.stringMatching(/Z$/),
    });
    const overview = await ann.do("GET /api/console/overview");
    expect(at(overview.json, "rejected_for")).toContainEqual({ cause: "org_cap", requests: 1 });
    await ann.do("PATCH /api/console/org-cap", { body: { cap_usd: "0" } });
    const after = await ann.do("GET /api/console/session");
    expect(at(after.json, "notices")).toEqual([]);
  });

  test("is first in the list, followed by the caps of active keys and the next reset", async () => {
    await ann.ask("PATCH /api/console/org-cap", { body: { cap_usd: "0" } });
    const { json } = await ann.ask("GET /api/console/limits");
    expect(at(json, "caps.0")).toMatchObject({ scope: "org", key_id: null, cap_usd: null });
    const scopes = listAt(json, "caps").map((cap) => at(cap, "scope"));
    expect(scopes).toEqual(["org", "key", "key"]);
    expect(textAt(json, "cap_reset_at")).toMatch(/-01T00:00:00\.000Z$/);
  });

  test("that several keys have already spent needs one confirmation that names them", async () => {
    const ids: string[] = [key.id];
    for (const name of ["fresh one", "fresh two"]) {
      const { json } = await ann.do("POST /api/console/keys", { body: { name } });
      ids.push(textAt(json, "key.key_id"));
    }
    const body = { key_ids: ids, cap_usd: "0.000001" };
    const ask = (more: object): Promise<HttpAnswer> =>
      ann.ask("POST /api/console/keys/change", { body: { ...body, ...more } });
    const asked = await ask({});
    expect([asked.status, at(asked.json, "error.code")]).toEqual([409, "confirm_needed"]);
    expect(textAt(asked.json, "error.message")).toMatch(
      /^This stops all requests with 1 of the 3 keys: .+ until 1 .+ \(\$.+ of \$0\.000001 is already spent this month\)\. Confirm/,
    );
    const ofOne = await ann.ask("POST /api/console/keys/change", {
      body: { ...body, key_ids: [key.id] },
    });
    expect(textAt(ofOne.json, "error.message")).toContain("all requests with this key until 1 ");
    expect((await ask({ confirm: true })).json).toEqual({ changed: 3 });
    expect((await ask({ cap_usd: "0" })).json).toEqual({ changed: 3 });
  });
});

test("an organization may change settings 60 times a minute", async () => {
  const bea = await fixture.signIn(newcomer("bea"));
  const cap = (value: unknown): ReturnType<Person["ask"]> =>
    bea.ask("PATCH /api/console/org-cap", { body: { cap_usd: value } });
  for (let n = 1; n < 60; n += 1) expect((await cap(`${n}.00`)).status).toBe(200);
  // A request that is refused for itself counts nothing.
  expect((await cap(7)).status).toBe(400);
  expect((await bea.ask("POST /api/admission-limits", { body: { scope: "org" } })).status).toBe(
    400,
  );
  const made = await bea.ask("POST /api/console/keys", { body: { name: "the 60th change" } });
  expect(made.status).toBe(200);
  const refused = await cap("1.00");
  expect(refused.status).toBe(429);
  expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d?$/);
  expect(at(refused.json, "error")).toMatchObject({
    code: "rate_limit",
    message: expect.stringContaining("60 settings changes per minute"),
  });
  expect((await bea.ask("GET /api/console/limits")).status).toBe(200);
  expect((await ann.ask("PATCH /api/console/org-cap", { body: { cap_usd: null } })).status).toBe(
    200,
  );
});

test("a megabyte of brackets is refused unparsed, and counts as a change of settings", async () => {
  const cyd = await fixture.signIn(newcomer("cyd"));
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`;
  const wide = `[${"{},".repeat(300_000)}{}]`;
  for (let n = 0; n < 60; n += 1) {
    const refused =
      n % 2 === 0
        ? await cyd.ask("PATCH /api/console/org-cap", { body: deep })
        : await cyd.ask("POST /api/console/purchases", { body: wide });
    expect(textAt(refused.json, "error.message")).toBe("the body must be valid JSON");
  }
  expect((await cyd.ask("PATCH /api/console/org-cap", { body: { cap_usd: null } })).status).toBe(
    429,
  );
});

test("a request over a rate limit records what was used and what it would add", async () => {
  const made = await ann.do("POST /api/console/keys", { body: { name: "slow" } });
  const slow = { id: textAt(made.json, "key.key_id"), secret: textAt(made.json, "secret") };
  const body = { scope: "key", key_id: slow.id, rpm: 1 };
  await ann.do("POST /api/admission-limits", { body });
  const call = { headers: bearer(slow.secret), body: chatBody("test/a") };
  const url = `${fixture.gateway.url}/v1/chat/completions`;
  await expect.poll(async () => (await httpCall(url, call)).status, { timeout: 15_000 }).toBe(429);
  const refused = await httpCall(url, call);
  expect(textAt(refused.json, "error.message")).toContain(
    "this key is limited to 1 requests per minute: ",
  );
  const requestId = String(refused.headers["x-request-id"]);
  const page = async (): Promise<unknown> =>
    (await ann.ask(`GET /api/console/requests/${requestId}`)).json;
  await expect
    .poll(async () => at(await page(), "refusal.reason"), { timeout: 10_000 })
    .toMatchObject({ limit_kind: "rpm", limit: 1, used: expect.any(Number), asked: 1 });
  expect(textAt(await page(), "refusal.explanation")).toMatch(
    /^This key was limited to 1 requests per minute\. \d+ (was|were) used in the last minute\. /,
  );
  expect(listAt(await page(), "response_headers")).toContainEqual({
    name: "retry-after",
    value: refused.headers["retry-after"],
  });
});
