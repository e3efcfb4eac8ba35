import { spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";
import { newFolder } from "../../../test/support/run-folder.ts";
import { identifyProcess } from "./process-identity.ts";
import { withStartLock } from "./start-lock.ts";

const folder = newFolder("lock");
let deadProcess: string;

beforeAll(async () => {
  const child = spawn("sleep", ["60"]);
  await once(child, "spawn");
  deadProcess = identifyProcess(child.pid ?? 0);
  child.kill("SIGKILL");
  await once(child, "exit");
});

test("the lock admits one piece of work at a time, even within one process", async () => {
  let inside = 0;
  const seen: number[] = [];
  const work = async (): Promise<void> => {
    seen.push(++inside);
    await new Promise((done) => setTimeout(done, 5));
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 5 }, () => withStartLock(folder, work)));
  expect(seen).toEqual([1, 1, 1, 1, 1]);
  expect(readdirSync(folder)).toEqual([]);
});

test("the lock of a killed holder is taken over, and its files are removed", async () => {
  for (const name of ["start.lock", "start.lock.guard", "start.lock.4194999.7"]) {
    writeFileSync(join(folder, name), deadProcess);
  }
  expect(await withStartLock(folder, async () => "mine")).toBe("mine");
  expect(readdirSync(folder)).toEqual([]);
});

test("a waiter for the lock of a living holder waits until it is aborted", async () => {
  const holder = spawn("sleep", ["60"]);
  await once(holder, "spawn");
  writeFileSync(join(folder, "start.lock"), identifyProcess(holder.pid ?? 0));
  const calledOff = new AbortController();
  let ran = false;
  const waiting = withStartLock(folder, async () => (ran = true), calledOff.signal);
  await expect.poll(() => readdirSync(folder).length).toBe(2);
  calledOff.abort();
  await expect(waiting).rejects.toThrow("aborted");
  expect(ran).toBe(false);
  expect(readdirSync(folder)).toEqual(["start.lock"]);
  holder.kill("SIGKILL");
  await once(holder, "exit");
  expect(await withStartLock(folder, async () => "mine")).toBe("mine");
});

test("a lock that a full disk refuses leaves no file behind", async () => {
  const lock = `import { withStartLock } from ${JSON.stringify(join(import.meta.dirname, "start-lock.ts"))};
    await withStartLock(${JSON.stringify(folder)}, async () => undefined);`;
  // Files can be made, but not one byte can be written.
  const full = 'trap "" XFSZ; ulimit -f 0; exec "$0" --import tsx --input-type=module -e "$1"';
  const env = { ...process.env, TSX_DISABLE_CACHE: "1" };
  const stdio = ["ignore", "ignore", "pipe"] as const;
  const child = spawn("sh", ["-c", full, process.execPath, lock], { stdio: [...stdio], env });
  const said = text(child.stderr);
  expect(await once(child, "exit")).toEqual([1, null]);
  expect(await said).toContain("EFBIG");
  expect(readdirSync(folder)).toEqual([]);
});

test("work that fails releases the lock", async () => {
  await expect(withStartLock(folder, () => Promise.reject(new Error("broken")))).rejects.toThrow(
    "broken",
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("a process that reuses a killed process's pid does not write into another process's lock", async () => {
  const holder = spawn("sleep", ["60"]);
  await once(holder, "spawn");
  const owner = identifyProcess(holder.pid ?? 0);
  const path = join(folder, "start.lock");
  writeFileSync(path, owner);
  const calledOff = new AbortController();
  // Makes links that a killed process could have left, one with the name of the next lock file.
  for (let number = 0; number < 50; number += 1) {
    linkSync(path, `${path}.${process.pid}.${number}`);
  }
  const waiting = withStartLock(folder, async () => "mine", calledOff.signal);
  expect(readFileSync(path, "utf8")).toBe(owner);
  calledOff.abort();
  await expect(waiting).rejects.toThrow("aborted");
  holder.kill("SIGKILL");
  await once(holder, "exit");
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
});
