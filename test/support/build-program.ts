import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { inject } from "vitest";

import { compileProgram, programIn, type CompiledProgram } from "./compile-program.ts";

const POLL_MS = 100;
const COMPILED_WITHIN_MS = 180_000;

/**
 * Returns the compiled program. The first test of a run that needs it compiles it, the others wait.
 * The run's global set-up removes the folder.
 */
export async function builtProgram(): Promise<CompiledProgram> {
  const folder = inject("programFolder");
  const done = join(folder, "compiled");
  if (existsSync(done)) return programIn(folder);
  if (!isFirst(folder)) return await waitFor(done, folder);
  const program = await compileProgram(folder);
  writeFileSync(done, "");
  return program;
}

/** Creating a folder is atomic, so exactly one process of the run succeeds. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(join(folder, "compiling"));
    return true;
  } catch {
    return false;
  }
}

async function waitFor(done: string, folder: string): Promise<CompiledProgram> {
  for (let waitedMs = 0; waitedMs < COMPILED_WITHIN_MS; waitedMs += POLL_MS) {
    if (existsSync(done)) return programIn(folder);
    await sleep(POLL_MS);
  }
  throw new Error(`another worker did not compile the program within ${COMPILED_WITHIN_MS} ms`);
}
