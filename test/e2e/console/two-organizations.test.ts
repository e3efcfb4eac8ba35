import { readFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import type { RouteContract } from "../../../src/account/console-api/contract/shared.ts";
import { type Role, ROLES } from "../../../src/kernel/core/roles.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { at, listAt, textAt, withoutIds, type HttpAnswer } from "../../support/http-call.ts";
import {
  joinAs,
  newcomer,
  newKey,
  SEARCH,
  withProviderConsole,
  type Person,
  withPerson,
} from "./provider-fixture.ts";

const fixture = withProviderConsole({
  hasCheckout: true,
  settings: {
    encryptionKey: Buffer.alloc(32, 7).toString("base64"),
    // Lets alerts be set up; none is sent here.
    smtpHost: "127.0.0.1",
    smtpFrom: "alerts@example.com",
  },
});
const ann = withPerson(fixture, "ann");
const bob = withPerson(fixture, "bob");
/** Bob's ids, by the name of the parameter in a route's path that takes them. */
const bobs: Record<string, string> = {};
/** Bob's keys that are never displayed. */
let managed: readonly string[] = [];

const UNKNOWN: Readonly<Record<string, string>> = {
  key_id: "key_000000000000000000000000",
  purchase_id: "pur_000000000000000000000000",
  connection_id: "conn_000000000000000000000000",
  search_id: "search_000000000000000000000000",
  destination_id: "dst_000000000000000000000000",
  account_id: "acct_000000000000000000000000",
  invitation_id: "inv_000000000000000000000000",
  session_id: "session_00000000000000000000000000000000",
  org_id: "org_000000000000000000000000",
  request_id: "01900000-0000-7000-8000-000000000000",
};

/** Bodies that are valid for the caller's own ids. */
const BODIES: Readonly<Record<string, object>> = {
  "PATCH /api/console/keys/:key_id": { name: "mine now", cap_usd: "1", rpm: 5 },
  "POST /api/console/keys/:key_id/disable": { confirm_name: "bobs" },
  "POST /api/console/keys/:key_id/rotate": { grace_hours: 0 },
  "POST /api/identity/keys/:key_id/rotate": { grace_hours: 0 },
  "PATCH /api/console/alerts/destinations/:destination_id": { is_enabled: false },
  "POST /api/console/alerts/destinations/:destination_id/send-again": {
    event_id: "evt_000000000000000000000000",
  },
  "PATCH /api/console/members/:account_id": { role: "viewer" },
};

/** Queries that some lists require; they name public things only. */
const QUERIES: Readonly<Record<string, string>> = {
  "GET /api/console/model-costs": "?models=test/a",
  "GET /api/console/verification/runs": "?provider=prov-a&model=test/a",
};

beforeAll(async () => {
  await fixture.grant(bob, "10");
  await fillBobsOrganization();
});

async function fillBobsOrganization(): Promise<void> {
  const { id, secret } = await newKey(bob, { name: "bobs" });
  bobs["key_id"] = id;
  bobs["request_id"] = String((await fixture.chat(secret)).headers["x-request-id"]);
  const connection = await bob.do("POST /api/console/connections", {
    body: { provider: "prov-a", name: "own", provider_key: "sk-own-0123456789" },
  });
  bobs["connection_id"] = textAt(connection.json, "connection_id");
  const purchase = await bob.do("POST /api/console/purchases", { body: { amount_usd: "10" } });
  bobs["purchase_id"] = textAt(purchase.json, "purchase.purchase_id");
  const search = await bob.do("POST /api/console/optimize", { body: SEARCH });
  bobs["search_id"] = textAt(search.json, "search_id");
  const alerts = await bob.do("GET /api/console/alerts");
  bobs["destination_id"] = textAt(alerts.json, "destinations.0.destination_id");
  await bob.do(`PATCH /api/console/alerts/destinations/${bobs["destination_id"]}`, {
    body: { kinds: ["balance.low"] },
  });
  const invited = { email: "somebody@example.com", role: "viewer" };
  const invitation = await bob.do("POST /api/console/invitations", { body: invited });
  bobs["invitation_id"] = textAt(invitation.json, "invitation.invitation_id");
  const team = await bob.do("GET /api/console/members");
  bobs["account_id"] = textAt(team.json, "members.0.account_id");
  const sessions = await bob.do("GET /api/console/sessions");
  bobs["session_id"] = textAt(sessions.json, "sessions.0.session_id");
  bobs["org_id"] = bob.orgId;
  await bob.do("POST /playground/v1/chat/completions", { body: chatBody("test/a") });
  const all = await fixture.gateway.backend.accountStore.listKeys(bob.orgId);
  managed = all
    .filter(({ origin }) => ["playground", "optimize"].includes(origin))
    .map((each) => each.keyId);
}

/** Routes of operators are left out: `operator.test.ts` tests them. */
const customerRoutes = Object.entries(ROUTES)
  .filter(([, { access }]: [string, RouteContract]) => access !== "operator")
  .map(([name]) => name);
/** A month is no id of an organization; a test below covers the content of statements. */
const routesWithIds = customerRoutes.filter((name) => name.replace(":month", "").includes(":"));

function filled(route: string, ids: Readonly<Record<string, string>>): string {
  return route.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? `no ${name}`);
}

function askById(
  person: Person,
  route: string,
  ids: Readonly<Record<string, string>>,
): Promise<HttpAnswer> {
  return person.ask(filled(route, ids), { body: BODIES[route] ?? {} });
}

test("the change log shows an organization only its own changes, in every format", async () => {
  for (const name of ["changes", "changes.csv", "changes.ndjson"]) {
    const [own, other] = await Promise.all([
      bob.ask(`GET /api/console/${name}`),
      ann.ask(`GET /api/console/${name}`),
    ]);
    expect([own.status, other.status]).toEqual([200, 200]);
    for (const id of ["key_id", "connection_id", "purchase_id", "search_id", "destination_id"]) {
      expect(own.text).toContain(bobs[id]);
      expect(other.text).not.toContain(bobs[id]);
    }
    expect(other.text).not.toContain(bob.orgId);
  }
  const page = await bob.ask("GET /api/console/changes?kind=key");
  const actions = listAt(page.json, "data").map((each) => textAt(each, "action"));
  expect(new Set(actions.map((action) => action.split(".")[0]))).toEqual(new Set(["key"]));
  const made = await bob.ask("GET /api/console/changes?kind=connection");
  expect(listAt(made.json, "data")[0]).toMatchObject({
    actor: "You",
    says: expect.stringMatching(/^added a provider key for /) as string,
    target: bobs["connection_id"],
    client_network: "127.0.0.0/24",
  });
});

describe("an id of another organization", () => {
  test("is tried on every route of the contract that takes an id", () => {
    expect(routesWithIds.length).toBeGreaterThan(9);
    const names = new Set(routesWithIds.flatMap((name) => name.match(/(?<=:)\w+/g) ?? []));
    expect([...names].sort()).toEqual(Object.keys(UNKNOWN).sort());
  });

  test.each(routesWithIds)(
    "%s answers the same as for an id that does not exist",
    async (route) => {
      const foreign = await askById(ann, route, bobs);
      const unknown = await askById(ann, route, UNKNOWN);
      expect(unknown.status).toBe(404);
      expect(withoutIds(foreign)).toEqual(withoutIds(unknown));
    },
  );

  test("is unchanged by the other organization's requests, and works for its own", async () => {
    const key = await bob.ask(`GET /api/console/keys/${bobs["key_id"]}`);
    expect(at(key.json, "key")).toMatchObject({ name: "bobs", cap_usd: null, disabled_at: null });
    for (const route of routesWithIds.filter((name) => name.startsWith("GET "))) {
      const { status } = await askById(bob, route, bobs);
      // The request was served and has no refusal; the purchase was not paid and has no receipt.
      const unpaid = /\/receipt(\.pdf)?$/.test(route) ? 409 : 200;
      const expected = route.includes("refusals") ? 404 : unpaid;
      expect({ route, status }).toEqual({ route, status: expected });
    }
  });

  test("is not in the caller's monthly statement", async () => {
    const month = new Date().toISOString().slice(0, 7);
    for (const form of ["", "/statement.csv", "/statement.json"]) {
      const route = `GET /api/console/statements/${month}${form}`;
      const [own, other] = await Promise.all([bob.ask(route), ann.ask(route)]);
      expect([own.status, other.status]).toEqual([200, 200]);
      expect(own.text).toContain("bobs");
      for (const id of [bob.orgId, "bobs", ...Object.values(bobs)]) {
        expect(other.text).not.toContain(id);
      }
    }
  });

  test("in a body is answered like a key that does not exist", async () => {
    const asks: readonly (readonly [string, (key_id: string) => object])[] = [
      ["POST /api/admission-limits", (key_id) => ({ scope: "key", key_id, rpm: 5 })],
      [
        "POST /api/console/connections",
        (key_id) => ({ provider: "prov-b", name: "n", provider_key: "sk-0123456789", key_id }),
      ],
    ];
    for (const [route, body] of asks) {
      const unknown = await ann.ask(route, { body: body(UNKNOWN["key_id"] ?? "") });
      const foreign = await ann.ask(route, { body: body(bobs["key_id"] ?? "") });
      expect(unknown.status).toBe(404);
      expect(withoutIds(foreign)).toEqual(withoutIds(unknown));
    }
  });

  test("as a filter finds nothing, in figures, lists and files", async () => {
    for (const name of ["requests", "usage", "requests.csv"]) {
      const ask = (key: string): Promise<HttpAnswer> =>
        ann.ask(`GET /api/console/${name}?key=${key}&from=${FROM}&to=${TO}`);
      const unknown = await ask(UNKNOWN["key_id"] ?? "");
      expect(unknown.status).toBe(200);
      expect((await ask(bobs["key_id"] ?? "")).text).toBe(unknown.text);
    }
  });
});

const DAY_MS = 86_400_000;
/** The 300 days before now, and the day after. */
const [FROM = "", TO = ""] = [-300, 1].map((days) =>
  new Date(Date.now() + days * DAY_MS).toISOString(),
);

describe("the keys that the marketplace manages for an organization", () => {
  test("cannot be read or changed by their ids", async () => {
    expect(managed).toHaveLength(2);
    for (const key_id of managed) {
      for (const route of routesWithIds.filter((name) => name.includes(":key_id"))) {
        const hidden = await askById(bob, route, { key_id });
        const unknown = await askById(bob, route, UNKNOWN);
        expect(withoutIds(hidden)).toEqual(withoutIds(unknown));
      }
      const body = { scope: "key", key_id, rpm: 5 };
      expect((await bob.ask("POST /api/admission-limits", { body })).status).toBe(404);
    }
  });

  test("have their ids in no list, while the playground's spend is shown under its name", async () => {
    const range = `from=${FROM}&to=${TO}`;
    const answers = [
      await bob.ask("GET /api/console/keys"),
      await bob.ask("GET /api/console/limits"),
      await bob.ask("GET /api/console/export.json"),
      await bob.ask(`GET /api/console/requests?${range}`),
      await bob.ask(`GET /api/console/requests.csv?${range}`),
      await bob.ask(`GET /api/console/usage?group_by=key&${range}`),
      await bob.ask("GET /api/console/overview"),
      await bob.ask("GET /api/console/optimize"),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      for (const key of managed) expect(text).not.toContain(key);
    }
    const rows = listAt(answers[3]?.json, "data");
    expect(rows).toContainEqual(expect.objectContaining({ source: "Playground", key_id: null }));
    const groups = listAt(answers[5]?.json, "groups").map((group) => at(group, "group"));
    expect(groups).toContain("playground");
  });
});

test("no list of one organization contains an id or the e-mail address of another", async () => {
  const lists = customerRoutes.filter((name) => name.startsWith("GET ") && !name.includes(":"));
  expect(lists.length).toBeGreaterThan(12);
  for (const route of lists) {
    const { text } = await ann.do(route + (QUERIES[route] ?? ""));
    for (const id of [...Object.values(bobs), ...managed, bob.orgId, "bob@example.com"]) {
      expect(text).not.toContain(id);
    }
  }
});

/** One member of each role in the same organization. */
const members = new Map<Role, Person>();

/** Called last, because afterwards the person is the owner of a new organization. */
const LAST = "POST /api/console/leave";

async function gatherMembers(): Promise<void> {
  const founder = await fixture.signIn(newcomer("founder"));
  for (const role of ROLES) {
    const member = await fixture.signIn(newcomer(role));
    await joinAs(founder, member, role);
    members.set(role, member);
  }
}

/** The table of routes and roles on the documentation page. */
function documented(): ReadonlyMap<string, Readonly<Record<Role, string>>> {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/reference/roles.md"), "utf8");
  const rows = page
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .filter(([, name = ""]) => /^`[A-Z]+ \//.test(name));
  return new Map(
    rows.map(([, name = "", ...cells]) => [
      name.replaceAll("`", ""),
      Object.fromEntries(ROLES.map((role, index) => [role, cells[index] ?? ""])) as Record<
        Role,
        string
      >,
    ]),
  );
}

const table = documented();
const sessionRoutes = Object.entries(ROUTES)
  .filter(([, { needs }]: [string, RouteContract]) => needs !== undefined)
  .map(([name]) => name);
const playground = ["GET /playground/v1/*", "POST /playground/v1/*"];
const asked = [...sessionRoutes.filter((name) => name !== LAST), ...playground, LAST];

async function isForbidden(role: Role, route: string): Promise<boolean> {
  const person = members.get(role);
  if (person === undefined) throw new Error(`there is no ${role}`);
  const path = route.replaceAll(/:\w+/g, "no-such-id").replace("*", "models");
  const { status, json, text } = await person.ask(path, { body: {} });
  const code = status === 403 ? at(json, "error.code") : undefined;
  if (code !== undefined && code !== "forbidden") throw new Error(text);
  return code === "forbidden";
}

beforeAll(gatherMembers);

test("the documented table of roles has every route that needs a session, and no other", () => {
  expect([...table.keys()].sort()).toEqual([...sessionRoutes, ...playground].sort());
  expect(sessionRoutes.length).toBeGreaterThan(55);
});

describe("the documented table of roles", () => {
  test.each(asked)("holds for every role on %s", async (route) => {
    const row = table.get(route);
    for (const role of ROLES) {
      const told = (await isForbidden(role, route)) ? "no" : "yes";
      expect({ route, role, told }).toEqual({ route, role, told: row?.[role] });
    }
  });
});

test("a refusal by role names the allowed roles, and who can change the caller's role", async () => {
  const founder = await fixture.signIn(newcomer("founder"));
  const late = await fixture.signIn(newcomer("late"));
  await joinAs(founder, late, "viewer");
  const refused = await late.ask("POST /api/console/keys", { body: { name: "mine" } });
  expect(refused.status).toBe(403);
  expect(textAt(refused.json, "error.message")).toMatch(
    /^Only .* can do this\. You are a viewer, .*an owner can change that/,
  );
  const spent = await late.ask("POST /playground/v1/chat/completions", { body: {} });
  expect(at(spent.json, "error.code")).toBe("forbidden");
});
