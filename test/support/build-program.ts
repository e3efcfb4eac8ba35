import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { inject } from "vitest";

import { until } from "./books.ts";
import { compileProgram, programIn, type CompiledProgram } from "./compile-program.ts";

/** Returns the compiled program; the first test of a run that needs it compiles it. */
export async function builtProgram(): Promise<CompiledProgram> {
  const folder = inject("programFolder");
  const done = join(folder, "compiled");
  if (existsSync(done)) return programIn(folder);
  if (!isFirst(folder)) {
    await until("another worker has compiled the program", () => existsSync(done), 180_000);
    return programIn(folder);
  }
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
