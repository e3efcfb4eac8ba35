import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { freePort } from "../../../test/support/free-port.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import {
  chooseSystemUser,
  findEmbeddedBinaries,
  locatePostgresPackage,
} from "./embedded-binaries.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded-server.ts";
import { isPidAlive } from "./process-identity.ts";

const isRoot = process.getuid?.() === 0;
/** The folder of all tests that need no fresh one, since creating a database takes longest. */
const ONE = "one";
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tokenmarket-embedded-"));
  chmodSync(root, 0o755);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function start(name: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: join(root, name), log: silentLog });
}

async function ask(server: { connectionString: string }, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.connectionString });
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows;
}

function postmasterPid(server: { dataDir: string }): number {
  return Number.parseInt(readFileSync(join(server.dataDir, "cluster", "postmaster.pid"), "utf8"));
}

interface Child extends EmbeddedPostgres {
  readonly pid: number;
  readonly process: ChildProcess;
}

/** Starts the server in another process, which the command `by` runs if it is given. */
async function startElsewhere(name: string, by: readonly string[] = []): Promise<Child> {
  const script = new URL("../../../test/support/embedded-child.ts", import.meta.url).pathname;
  const [program, ...args] = [...by, process.execPath, "--import", "tsx", script];
  const child = spawn(program, [...args, join(root, name)], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { ...(JSON.parse(line) as Child), process: child };
}

describe("a started server", () => {
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    vi.stubEnv("STRIPE_SECRET_KEY", "sk_live_of_this_test");
    server = await start(ONE).finally(() => vi.unstubAllEnvs());
  });

  test("is durable, on loopback, and has a password that only its owner can read", async () => {
    expect(server).toMatchObject({ started: true, dataDir: join(root, ONE, "postgres") });
    const settings = {
      fsync: "on",
      synchronous_commit: "on",
      full_page_writes: "on",
      listen_addresses: "127.0.0.1",
      max_slot_wal_keep_size: "16GB",
    };
    for (const [name, value] of Object.entries(settings)) {
      expect(await ask(server, `show ${name}`)).toEqual([{ [name]: value }]);
    }
    const [locale] = await ask(
      server,
      "select pg_encoding_to_char(encoding) as encoding, datcollate from pg_database limit 1",
    );
    expect(locale).toEqual({ encoding: "UTF8", datcollate: "C" });
    expect(statSync(join(server.dataDir, "password")).mode & 0o777).toBe(0o600);
    const wrong = new URL(server.connectionString);
    wrong.password = "guessed";
    await expect(ask({ connectionString: wrong.href }, "select 1")).rejects.toThrow("password");
  });

  test("gives the program a role that is not a superuser, and SQL cannot reach the process's secrets", async () => {
    const [role] = await ask(
      server,
      `select rolsuper, rolcreaterole, rolreplication,
        (select datdba = r.oid from pg_database where datname = current_database()) as owns
      from pg_roles r where rolname = current_user`,
    );
    const none = { rolsuper: false, rolcreaterole: false, rolreplication: false };
    expect(role).toEqual({ ...none, owns: true });
    const steal = "copy seen from program 'env'";
    await ask(server, "create table seen (line text)");
    await expect(ask(server, steal)).rejects.toThrow("permission denied to COPY");
    await ask({ connectionString: server.adminConnectionString }, steal);
    const seen = await ask(server, "select line from seen");
    expect(JSON.stringify(seen)).toContain("TZ=UTC");
    expect(JSON.stringify(seen)).not.toContain("sk_live_of_this_test");
  });

  test("leaves no pid file when it is stopped", async () => {
    await server.stop();
    expect(existsSync(join(server.dataDir, "cluster", "postmaster.pid"))).toBe(false);
  });
});

test("the data and the address survive a stop and a kill -9 of the database", async () => {
  const first = await start(ONE);
  await ask(first, "create table kept as select 42 as answer");
  process.kill(postmasterPid(first), "SIGKILL");
  const second = await start(ONE);
  expect(second.started).toBe(true);
  expect(await ask(second, "select answer from kept")).toEqual([{ answer: 42 }]);
  await first.stop();
  await second.stop();
  const third = await start(ONE);
  expect(third.connectionString).toBe(second.connectionString);
  expect(await ask(third, "select answer from kept")).toEqual([{ answer: 42 }]);
  await third.stop();
});

test("a server left by a killed process is found, used, and stopped at the end", async () => {
  const child = await startElsewhere(ONE);
  child.process.kill("SIGKILL");
  await once(child.process, "exit");
  const server = await start(ONE);
  expect(server).toMatchObject({ started: false, connectionString: child.connectionString });
  const pid = postmasterPid(server);
  await server.stop();
  expect(isPidAlive(pid)).toBe(false);
});

test("a process that ends leaves the server to another one that uses it", async () => {
  const [child, server] = await Promise.all([startElsewhere(ONE), start(ONE)]);
  expect(child.started).toBe(!server.started);
  await expectEndWithChild(server, child);
});

test.skipIf(!isRoot)(
  "root that cannot see other users' processes, as in a container, shares and stops the server",
  async () => {
    const server = await start(ONE);
    const blind = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"];
    const child = await startElsewhere(ONE, blind);
    expect(child).toMatchObject({ started: false, connectionString: server.connectionString });
    await expectEndWithChild(server, child);
  },
);

/** The server runs on after this process has left it, until the child that uses it ends. */
async function expectEndWithChild(
  server: EmbeddedPostgres,
  child: Awaited<ReturnType<typeof startElsewhere>>,
): Promise<void> {
  const pid = postmasterPid(server);
  await server.stop();
  expect(isPidAlive(pid)).toBe(true);
  child.process.stdin?.end();
  await once(child.process, "exit");
  expect(isPidAlive(pid)).toBe(false);
}

test("a pid file that names another program's process does not keep the database down", async () => {
  const first = await start(ONE);
  await first.stop();
  const cluster = join(first.dataDir, "cluster");
  writeFileSync(join(cluster, "postmaster.pid"), `${process.pid}\n${cluster}\n1\n1\n\n\n\nready\n`);
  const second = await start(ONE);
  expect(second.started).toBe(true);
  await second.stop();
});

test("two data folders with the same stored port that start together get different ports and keep them", async () => {
  const port = await freePort();
  for (const name of ["one more", "other"]) {
    mkdirSync(join(root, name, "postgres"), { recursive: true });
    writeFileSync(join(root, name, "postgres", "port"), String(port));
  }
  const portOf = (server: EmbeddedPostgres): number =>
    Number(new URL(server.connectionString).port);
  const both = await Promise.all([start("one more"), start("other")]);
  const ports = both.map(portOf);
  expect(ports).toContain(port);
  expect(new Set(ports).size).toBe(2);
  for (const each of both) await each.stop();
  const moved = ports[0] === port ? "other" : "one more";
  const again = await start(moved);
  expect(portOf(again)).toBe(ports.find((each) => each !== port));
  await again.stop();
});

test("root uses a system folder if the database's user cannot enter the requested one", async () => {
  mkdirSync(join(root, "closed"), { mode: 0o700 });
  const server = await start("closed/data");
  const expected = isRoot ? /^\/var\/lib\/tokenmarket\/[0-9a-f]{16}$/ : /closed\/data\/postgres$/;
  expect(server.dataDir).toMatch(expected);
  await ask(server, "create table kept as select 1 as one");
  await server.stop();
  // The system folder stays in use even if the requested one can be entered later.
  chmodSync(join(root, "closed"), 0o755);
  const again = await start("closed/data");
  expect(again.dataDir).toBe(server.dataDir);
  expect(await ask(again, "select one from kept")).toEqual([{ one: 1 }]);
  await again.stop();
  rmSync(server.dataDir, { recursive: true });
});

test("missing library links are created in place or in a copy", () => {
  const user = chooseSystemUser(undefined);
  const packaged = locatePostgresPackage();
  const bare = join(root, "bare", "native");
  cpSync(packaged.native, bare, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !/\.a$|libicu\w+\.so(\.60)?$|libpq\.so(\.5)?$/.test(source),
  });
  const copies = join(root, "copies");
  const inPlace = findEmbeddedBinaries(user, copies, { ...packaged, native: bare });
  expect(inPlace.postgres).toBe(join(bare, "bin", "postgres"));

  // No link can be created where a dangling one is, neither in place nor in the copy.
  rmSync(join(bare, "lib", "libpq.so.5"));
  symlinkSync("nowhere", join(bare, "lib", "libpq.so.5"));
  rmSync(join(bare, "lib", "libicuuc.so.60"));
  symlinkSync("nowhere", join(bare, "lib", "libicuuc.so.60"));
  const broken = { ...packaged, native: bare };
  expect(() => findEmbeddedBinaries(user, copies, broken)).toThrow("DATABASE_URL");

  if (!isRoot) return;
  chmodSync(join(root, "bare"), 0o700);
  rmSync(copies, { recursive: true, force: true });
  for (const name of ["libpq.so.5", "libicuuc.so.60"]) rmSync(join(bare, "lib", name));
  const copied = findEmbeddedBinaries(user, copies, broken);
  expect(copied.postgres).toBe(join(copies, `postgres-${packaged.version}`, "bin", "postgres"));
});
