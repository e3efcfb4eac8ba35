import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { identifyProcess, isAlive, isPidAlive, ownIdentity } from "./process-identity.ts";

test("an identity is alive until its process ends, and never matches a later process", async () => {
  const child = spawn("sleep", ["60"]);
  await once(child, "spawn");
  const identity = identifyProcess(child.pid ?? 0);
  expect(isAlive(identity)).toBe(true);
  const later = identity.replace(/-\d+$/, "-12");
  expect(isAlive(later)).toBe(false);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isAlive(identity)).toBe(false);
  expect(isPidAlive(child.pid ?? 0)).toBe(false);
});

test("a zombie process is not alive", async () => {
  // The shell's child ends at once, and the program that replaces the shell never waits for it.
  const parent = spawn("/bin/sh", ["-c", "true & echo $!; exec sleep 60"]);
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  await expect.poll(() => isPidAlive(Number(line))).toBe(false);
  parent.kill("SIGKILL");
});

test("an invalid identity is not alive", () => {
  expect(isAlive(ownIdentity())).toBe(true);
  for (const text of ["", "0-0", "-1-1", "abc", "4194999", `${process.pid}`])
    expect(isAlive(text)).toBe(false);
});
