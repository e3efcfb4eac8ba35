import { describe, expect, test } from "vitest";

import { callUntil } from "../../support/books.ts";
import { at, bearer, httpCall, type HttpAnswer, listAt, textAt } from "../../support/http-call.ts";
import { withResource } from "../../support/with-resource.ts";
import {
  newcomer,
  newKey,
  withProviderConsole,
  type Person,
  withPerson,
} from "./provider-fixture.ts";

const fixture = withProviderConsole();
const ann = withPerson(fixture, "ann");
const bea = withPerson(fixture, "bea");
const key = withResource(() => newKey(ann, { name: "ci" }));

async function rowOf(scope: string, more: object = {}): Promise<unknown> {
  const { json } = await ann.ask("GET /api/console/limits");
  return listAt(json, "rows").find(
    (row) =>
      at(row, "scope") === scope &&
      Object.entries(more).every(([name, value]) => at(row, name) === value),
  );
}

describe("an organization without credit", () => {
  test("is shown a limit of 20 requests a minute until it gets credit", async () => {
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

  test("sees the requests of each key and of the organization in the last minute", async () => {
    expect((await fixture.chat(key.secret)).status).toBe(200);
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
      stored: { rpm: 100, tpm: null, concurrency: null },
      effective: { rpm: { limit: 100, bound_by: `org:${ann.orgId}` } },
    });
    const ofKey = await change({ scope: "key", key_id: key.id, concurrency: 2 });
    const bound = { limit: 2, bound_by: `key:${key.id}` };
    expect(at(ofKey.json, "effective.concurrency")).toMatchObject(bound);
    const [ofAll, ofOne] = [
      { scope: "model", model: "test/a" },
      { scope: "model", model: "test/a", key_id: key.id },
    ];
    await change({ ...ofAll, tpm: 5_000 });
    await change({ ...ofOne, rpm: 3 });
    expect(await rowOf("model", { model: "test/a", key_id: null })).toMatchObject({
      tpm: { own: 5_000, effective: 5_000, source: "self" },
      rpm: { own: null, effective: null, source: null },
    });
    expect(await rowOf("model", { key_id: key.id })).toMatchObject({ name: "ci", rpm: { own: 3 } });

    await change({ scope: "org", rpm: null });
    await change({ scope: "key", key_id: key.id, concurrency: null });
    await change({ ...ofAll, tpm: null });
    await change({ ...ofOne, rpm: null });
    expect(await rowOf("org")).toMatchObject({ rpm: { own: null, source: "default" } });
    expect(await rowOf("key", { key_id: key.id })).toMatchObject({ concurrency: { own: null } });
    expect(await rowOf("model")).toBeUndefined();
  });

  test("refuses a limit above the ceiling with the message of the gateway's route", async () => {
    const body = { scope: "key", rpm: 301, key_id: key.id };
    const here = await change(body);
    const there = await httpCall(`${fixture.gateway.url}/api/admission-limits`, {
      headers: bearer(key.secret),
      body,
    });
    expect(here.status).toBe(there.status);
    expect(textAt(here.json, "error.message")).toBe(textAt(there.json, "error.message"));
    expect(textAt(here.json, "error.message")).toContain("ceiling of 300");
  });

  test.each([
    ["of an unknown model", { scope: "model", model: "test/none", rpm: 5 }, 404, "test/none"],
    ["of an id that no database stores", { scope: "key", key_id: "a\u0000b", rpm: 5 }, 404, "key"],
    ["of a key without its id", { scope: "key", rpm: 5 }, 400, "key_id is missing"],
  ])("refuses a limit %s", async (_, body, status, words) => {
    const answer = await change(body);
    expect(answer.status).toBe(status);
    expect(textAt(answer.json, "error.message")).toContain(words);
  });
});

describe("a monthly spend cap", () => {
  const orgCap = (json: unknown): unknown => at(json, "caps.0.cap_usd");

  test("of the organization is kept by an empty value, set by an amount, removed by 0, never negative", async () => {
    const change = (cap_usd: string, more: object = {}): ReturnType<Person["ask"]> =>
      ann.ask("PATCH /api/console/org-cap", { body: { cap_usd, ...more } });
    for (const [set, cap] of [
      ["5", "5.000000"],
      ["", "5.000000"],
      ["0", null],
      ["1.000001", "1.000001"],
    ] as const) {
      const changed = await change(set);
      expect([set, changed.status, orgCap(changed.json)]).toEqual([set, 200, cap]);
    }
    expect(orgCap((await change("0.000001", { confirm: true })).json)).toBe("0.000001");
    const refused = await change("-1");
    expect([refused.status, at(refused.json, "error.field")]).toEqual([400, "cap_usd"]);
    expect(orgCap((await ann.ask("GET /api/console/limits")).json)).toBe("0.000001");
  });

  test("below what is already spent needs a confirmation, for the organization and for a key", async () => {
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

  test("on several keys needs one confirmation, which names the keys that have spent it already", async () => {
    const ids: string[] = [key.id];
    for (const name of ["fresh one", "fresh two"]) ids.push((await newKey(ann, { name })).id);
    const body = { key_ids: ids, cap_usd: "0.000001" };
    const ask = (more: object): Promise<HttpAnswer> =>
      ann.ask("POST /api/console/keys/change", { body: { ...body, ...more } });
    const asked = await ask({});
    expect([asked.status, at(asked.json, "error.code")]).toEqual([409, "confirm_needed"]);
    expect(textAt(asked.json, "error.message")).toMatch(
      /^This stops all requests with 1 of the 3 keys: “.+” until 1 .+ \(\$.+ of \$0\.000001 is already spent this month\)\. Confirm/,
    );
    const ofOne = await ann.ask("POST /api/console/keys/change", {
      body: { ...body, key_ids: [key.id] },
    });
    expect(textAt(ofOne.json, "error.message")).toContain("all requests with this key until 1 ");
    expect((await ask({ confirm: true })).json).toEqual({ changed: 3 });
    expect((await ask({ cap_usd: "0" })).json).toEqual({ changed: 3 });
  });
});

test("an organization may change settings 60 times a minute, including bodies that are not valid JSON", async () => {
  const cap = (value: unknown): ReturnType<Person["ask"]> =>
    bea.ask("PATCH /api/console/org-cap", { body: { cap_usd: value } });
  const tooDeep = `${"[".repeat(1_000)}${"]".repeat(1_000)}`;
  for (let n = 0; n < 30; n += 1) {
    const unparsed = await bea.ask("PATCH /api/console/org-cap", { body: tooDeep });
    expect(textAt(unparsed.json, "error.message")).toBe("the body must be valid JSON");
  }
  for (let n = 1; n < 30; n += 1) expect((await cap(`${n}.00`)).status).toBe(200);
  // A request that is refused for its own content does not count.
  expect((await cap(7)).status).toBe(400);
  const empty = await bea.ask("POST /api/admission-limits", { body: { scope: "org" } });
  expect(empty.status).toBe(400);
  await newKey(bea, { name: "the 60th change" });
  const refused = await cap("1.00");
  expect(refused.status).toBe(429);
  expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d?$/);
  expect(at(refused.json, "error")).toMatchObject({
    code: "rate_limit",
    message: expect.stringContaining("60 settings changes per minute"),
  });
  expect((await bea.ask("GET /api/console/limits")).status).toBe(200);
  const ofAnother = await ann.ask("PATCH /api/console/org-cap", { body: { cap_usd: null } });
  expect(ofAnother.status).toBe(200);
});

test("the start of an Optimize search counts as a change of settings, since it stores a search and a key", async () => {
  const cid = await fixture.signIn(newcomer("cid"));
  for (let n = 0; n < 60; n += 1) {
    await cid.ask("PATCH /api/console/org-cap", { body: "not JSON at all" });
  }
  const refused = await cid.ask("POST /api/console/optimize", { body: {} });
  expect([refused.status, at(refused.json, "error.code")]).toEqual([429, "rate_limit"]);
});

test("a request over a rate limit is recorded with the limit, the amount used and the amount asked", async () => {
  const slow = await newKey(ann, { name: "slow" });
  const body = { scope: "key", key_id: slow.id, rpm: 1 };
  await ann.do("POST /api/admission-limits", { body });
  const refused = await callUntil(
    "a call is refused",
    () => fixture.chat(slow.secret),
    ({ status }) => status === 429,
  );
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
