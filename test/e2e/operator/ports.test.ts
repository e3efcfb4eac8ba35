import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { expect, test } from "vitest";

import { listenLocally } from "../../support/local-server.ts";
import { ANY_PORTS, OPERATOR_ENV, withOperatorFolder } from "../../support/operator.ts";
import { runCommand } from "../../support/program.ts";
import { withResource } from "../../support/with-resource.ts";

const taken = withResource(() => listenLocally(createServer()));
const folder = withOperatorFolder({ url: "http://127.0.0.1:1" });

const PORTS = [
  { flag: "--port", setting: "TM_PORT", name: "gateway" },
  { flag: "--console-port", setting: "TM_CONSOLE_PORT", name: "console" },
  { flag: "--internal-port", setting: "TM_INTERNAL_PORT", name: "internal" },
] as const;

test.each([
  ["serve", 0],
  ["serve", 1],
  ["dev", 2],
] as const)(
  "%s with a port in use for its listener %i names the flag before it starts a database",
  async (command, at) => {
    const { flag, setting, name } = PORTS[at];
    const portOf = (each: string): string => (each === flag ? String(taken.port) : "0");
    const ports = PORTS.flatMap((each) => [each.flag, portOf(each.flag)]);
    const places = ["--data", folder.dataDir, "--manifests", folder.manifestsDir];
    const { code, stderr } = await runCommand([command, ...ports, ...places], OPERATOR_ENV);
    expect(code).toBe(2);
    expect(stderr).toBe(
      `tokenmarket: the ${name} port ${taken.port} on 127.0.0.1 is in use by another program; ` +
        `choose another with ${flag} or ${setting} (0: any free one)\n`,
    );
    expect(existsSync(join(folder.dataDir, "postgres"))).toBe(false);
  },
);

test.each([
  {
    what: "two of its listeners that have the same port",
    args: ["--port", "39871", "--console-port", "39871", "--internal-port", "0"],
    words: ["the gateway and the console port are both 39871", "--console-port"],
  },
  {
    what: "an address that this machine does not have",
    args: [...ANY_PORTS, "--host", "192.0.2.1"],
    words: ["192.0.2.1 is not an address of this machine", "--host"],
  },
])("serve names $what", async ({ args, words }) => {
  const { code, stderr } = await runCommand(["serve", ...args, "--data", folder.dataDir]);
  expect(code).toBe(2);
  for (const word of words) expect(stderr).toContain(word);
});

test("serve with workers names a port in use before it starts a worker", async () => {
  const ports = ["--port", "0", "--console-port", "0", "--internal-port", String(taken.port)];
  const { code, stderr } = await runCommand(["serve", "--workers", "2", ...ports], {
    REDIS_URL: "redis://127.0.0.1:1",
  });
  expect(code).toBe(2);
  expect(stderr).toContain(`the internal port ${taken.port} on 127.0.0.1 is in use`);
});
