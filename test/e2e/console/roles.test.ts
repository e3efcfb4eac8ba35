import { readFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import type { RouteContract } from "../../../src/account/console-api/contract/shared.ts";
import { type Role, ROLES } from "../../../src/kernel/core/roles.ts";
import { at, textAt } from "../../support/http-call.ts";
import { newcomer, withProviderConsole, type Person } from "./provider-fixture.ts";

const fixture = withProviderConsole({
  settings: { encryptionKey: Buffer.alloc(32, 7).toString("base64") },
});
/** One member of each role in the same organization. */
const members = new Map<Role, Person>();

/** After this route the person is owner of a new organization, and cannot be used again. */
const LAST = "POST /api/console/leave";

beforeAll(async () => {
  const founder = await fixture.signIn(newcomer("founder"));
  for (const role of ROLES) {
    const email = `${role}@example.com`;
    const member = await fixture.signIn(newcomer(role));
    await founder.do("POST /api/console/invitations", { body: { email, role } });
    const { json } = await member.do("GET /api/console/received-invitations");
    const id = textAt(json, "invitations.0.invitation_id");
    await member.do(`POST /api/console/received-invitations/${id}/accept`);
    members.set(role, member);
  }
});

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

test("the table of roles has every route with a session, and no other", () => {
  expect([...table.keys()].sort()).toEqual([...sessionRoutes, ...playground].sort());
  expect(sessionRoutes.length).toBeGreaterThan(55);
});

describe("each role is let in or refused as the table says", () => {
  test.each(asked)("%s", async (route) => {
    const row = table.get(route);
    for (const role of ROLES) {
      const told = (await isForbidden(role, route)) ? "no" : "yes";
      expect({ route, role, told }).toEqual({ route, role, told: row?.[role] });
    }
  });
});

test("a refusal names the roles that are allowed, and who can change the caller's role", async () => {
  const founder = await fixture.signIn(newcomer("founder"));
  const { json } = await founder.do("POST /api/console/invitations", {
    body: { email: "late@example.com", role: "viewer" },
  });
  const late = await fixture.signIn(newcomer("late"));
  const id = textAt(json, "invitation.invitation_id");
  await late.do(`POST /api/console/received-invitations/${id}/accept`);
  const refused = await late.ask("POST /api/console/keys", { body: { name: "mine" } });
  expect(refused.status).toBe(403);
  const message = textAt(refused.json, "error.message");
  expect(message).toMatch(/^Only .* can do this\. You are a viewer, /);
  expect(message).toContain("an owner can change that");
  const spent = await late.ask("POST /playground/v1/chat/completions", { body: {} });
  expect(at(spent.json, "error.code")).toBe("forbidden");
});
