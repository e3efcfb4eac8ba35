import { expect, test } from "vitest";

import { loadConfig } from "../../kernel/config/load-config.ts";
import { addressChecks } from "./database-checks.ts";
import type { Examined } from "./doctor-check.ts";

function found(env: Readonly<Record<string, string>>): readonly string[] {
  const outcome = loadConfig({ flags: {}, env });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join());
  const examined = { env, config: outcome.config } as unknown as Examined;
  return addressChecks(examined).map(({ level, detail }) => `${level}: ${detail}`);
}

const REMOTE = "postgres://app:hush@db.example.com:5432/market";

test.each([
  "postgres://app:hush@localhost/market",
  "postgres://app:hush@[::1]/market",
  "postgres:///market?host=/var/run/postgresql",
  "/var/run/postgresql market",
  `${REMOTE}?sslmode=verify-full&sslrootcert=/etc/ca.pem`,
])("%s is local or verifies its certificate, and gets no warning", (DATABASE_URL) => {
  expect(found({ DATABASE_URL })).toEqual(["ok: local, or its certificate is verified"]);
});

test.each([REMOTE, `${REMOTE}?sslmode=require`])(
  "%s gets a warning to verify the certificate, without its password",
  (address) => {
    const names = ["DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_REPORTS_URL"];
    const said = found(Object.fromEntries(names.map((name) => [name, address])));
    expect(said).toHaveLength(3);
    for (const [at, line] of said.entries()) {
      expect(line).toMatch(/^warning: .*sslmode=verify-full/);
      expect(line).toContain(`${names[at]} does not`);
      expect(line).not.toContain("hush");
    }
  },
);

test("the embedded database has no address check", () => {
  expect(found({})).toEqual([]);
});
