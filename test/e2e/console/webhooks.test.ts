import { createHook } from "node:async_hooks";

import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";

import { ROLES } from "../../../src/kernel/core/roles.ts";
import { until } from "../../support/books.ts";
import { at, listAt, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { startNameServer } from "../../support/name-server.ts";
import { startWebhookReceiver, type ReceivedWebhook } from "../../support/webhook-receiver.ts";
import { withResource } from "../../support/with-resource.ts";
import {
  joinAs,
  newcomer,
  type Person,
  withPerson,
  withProviderConsole,
} from "./provider-fixture.ts";

const ALERTS = "/api/console/alerts";
const DESTINATIONS = `${ALERTS}/destinations`;

const encryptionKey = Buffer.alloc(32, 7).toString("base64");
const receiver = withResource(() => startWebhookReceiver());
const fixture = withProviderConsole({ settings: { encryptionKey } });
const silent = withResource(() => startNameServer("silent"));
/** A console that allows no private addresses, and whose name server never answers. */
const asking = withProviderConsole(() => ({
  manifests: [],
  settings: { allowPrivateUpstreams: false, encryptionKey, webhookNameServers: silent.address },
}));
const ann = withPerson(fixture, "ann");

async function add(person: Person, path: string, more: object = {}): Promise<HttpAnswer> {
  const body = { channel: "webhook", url: receiver.url + path, ...more };
  return await person.do(`POST ${DESTINATIONS}`, { body });
}

function verified({ body, headers }: ReceivedWebhook, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}

async function deliveriesTo(person: Person, id: string): Promise<readonly unknown[]> {
  const { json } = await person.do(`GET ${ALERTS}/deliveries`);
  return listAt(json, "data").filter((each) => at(each, "destination_id") === id);
}

describe("a webhook", () => {
  test("is signed with the secret that was shown once, and delivered once", async () => {
    const path = "/hooks/ann";
    const made = await add(ann, path);
    const id = textAt(made.json, "destination_id");
    const secret = textAt(made.json, "secret");
    expect(made.json).toMatchObject({ channel: "webhook", kinds: null, disabled_reason: null });
    const sent = await ann.do(`POST ${DESTINATIONS}/${id}/test`);
    const got = await until("it arrives", () => receiver.at(path)[0]);
    expect(got.headers["webhook-id"]).toBe(textAt(sent.json, "event_id"));
    expect(verified(got, secret)).toMatchObject({
      type: "alerts.test",
      data: { org_id: ann.orgId },
    });
    await until("the log says so", async () => {
      const [line] = await deliveriesTo(ann, id);
      return at(line, "state") === "delivered" && at(line, "tries") === 1;
    });
    const again = await ann.ask(`POST ${DESTINATIONS}/${id}/send-again`, {
      body: { event_id: textAt(sent.json, "event_id") },
    });
    expect(again.status).toBe(409);
    const rotated = await ann.do(`POST ${DESTINATIONS}/${id}/rotate`);
    const leftMs = Date.parse(textAt(rotated.json, "former_secret_until")) - Date.now();
    expect(leftMs / 3_600_000).toBeCloseTo(24, 1);
    const body = { channel: "webhook", url: receiver.url + path };
    expect((await ann.ask(`POST ${DESTINATIONS}`, { body })).status).toBe(409);
    for (const route of [`GET ${ALERTS}`, `GET ${ALERTS}/deliveries`, "GET /api/console/changes"]) {
      expect((await ann.do(route)).text).not.toContain("whsec_");
    }
  });

  test("can be disabled, enabled and limited to chosen events", async () => {
    const made = await add(ann, "/hooks/chosen", { kinds: ["balance.low"] });
    expect(at(made.json, "kinds")).toEqual(["balance.low"]);
    const route = `${DESTINATIONS}/${textAt(made.json, "destination_id")}`;
    const off = await ann.do(`PATCH ${route}`, { body: { is_enabled: false } });
    expect(off.json).toMatchObject({ disabled_reason: "paused", kinds: ["balance.low"] });
    expect((await ann.ask(`POST ${route}/test`)).status).toBe(404);
    const on = await ann.do(`PATCH ${route}`, { body: { is_enabled: true, kinds: null } });
    expect(on.json).toMatchObject({ disabled_reason: null, disabled_at: null, kinds: null });
    const wrong = await ann.ask(`PATCH ${route}`, { body: { kinds: ["every.request"] } });
    expect([wrong.status, at(wrong.json, "error.field")]).toEqual([400, "kinds"]);
  });

  test("shows its path, which can contain a token, only to those who may change it, and the change log never", async () => {
    const path = "/services/T0/hook-token-0123?key=hook-key-4567";
    const id = textAt((await add(ann, path)).json, "destination_id");
    await ann.do(`POST ${DESTINATIONS}/${id}/test`);
    await until("the test alert is tried", async () => (await deliveriesTo(ann, id)).length > 0);
    const reads = [
      `GET ${ALERTS}`,
      `GET ${ALERTS}/deliveries`,
      "GET /api/console/changes",
      "GET /api/console/changes.csv",
      "GET /api/console/changes.ndjson",
      "GET /api/console/export.json",
    ];
    for (const role of ROLES) {
      const member = await fixture.signIn(newcomer(`hooks-${role}`));
      await joinAs(ann, member, role);
      for (const route of reads) {
        const { text } = await member.do(route);
        const isWhole = text.includes("hook-token-0123") && text.includes("hook-key-4567");
        const isPart = text.includes("hook-token") || text.includes("hook-key");
        const told = isWhole ? "whole" : isPart ? "part" : "host";
        const isRecord = route.includes("/changes");
        const may = !isRecord && (role === "owner" || role === "billing") ? "whole" : "host";
        expect({ role, route, told }).toEqual({ role, route, told: may });
        expect({ role, route, hasHost: text.includes(receiver.url) }).toMatchObject({
          hasHost: true,
        });
      }
    }
  });
});

test("a webhook at an address that is not public is refused with the reason, and not stored", async () => {
  const joe = await asking.signIn(newcomer("joe"));
  const body = { channel: "webhook", url: "https://127.0.0.1:8443/hooks" };
  const { status, json } = await joe.ask(`POST ${DESTINATIONS}`, { body });
  expect([status, at(json, "error.field")]).toEqual([400, "url"]);
  expect(textAt(json, "error.message")).toMatch(/^url cannot be used: /);
  const destinations = listAt((await joe.do(`GET ${ALERTS}`)).json, "destinations");
  expect(destinations.map((each) => at(each, "channel"))).toEqual(["email"]);
});

test("webhook URLs with a silent name server use no system look-up, and excess ones get a 429", async () => {
  let systemLookups = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === "GETADDRINFOREQWRAP") systemLookups += 1;
    },
  }).enable();
  const mallory = await asking.signIn(newcomer("mallory"));
  const before = systemLookups;
  const save = async (n: number): Promise<HttpAnswer> => {
    const body = { channel: "webhook", url: `https://hooks-${n}.example/` };
    return await mallory.ask(`POST ${DESTINATIONS}`, { body });
  };
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => save(n)));
  hook.disable();
  expect(systemLookups - before).toBe(0);
  // Two names are looked up at a time. Their webhooks are saved, as a name may resolve later.
  const saved = answers.filter(({ status }) => status === 200);
  expect(saved.length).toBeGreaterThanOrEqual(2);
  // None, but on a machine so busy that meanwhile the organization got all its ten destinations.
  const full = answers.filter(({ status }) => status === 409);
  const lookedUp = new Set(silent.asked).size;
  expect(lookedUp).toBeGreaterThanOrEqual(saved.length);
  expect(lookedUp).toBeLessThanOrEqual(saved.length + full.length);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(100 - saved.length - full.length);
  const busy = refused.filter((each) => textAt(each.json, "error.message").includes("looked up"));
  const overRate = refused.filter((each) =>
    textAt(each.json, "error.message").includes("settings changes per minute"),
  );
  expect(busy.length).toBeGreaterThan(40);
  // About 40 exceed the rate of 60 a minute; fewer on a machine so busy that the minute passes.
  expect(overRate.length).toBeGreaterThan(0);
  expect(busy.length + overRate.length).toBe(refused.length);
});
