import { setTimeout as sleep } from "node:timers/promises";

import { type CommandAnswer, UsageFault, type Flags } from "./command-context.ts";

const LOCK_TRIES_MAX = 10;
const LOCK_PAUSE_MS = 500;

/** What was done, and whether all of it could be. */
export interface RunAnswer extends CommandAnswer {
  readonly json: { readonly ok: boolean; readonly [name: string]: unknown };
}

/** A run that was killed a moment ago may still have its lock. */
export async function whenOurs<T>(open: () => Promise<T | undefined>): Promise<T> {
  for (let tried = 0; tried < LOCK_TRIES_MAX; tried++) {
    if (tried > 0) await sleep(LOCK_PAUSE_MS);
    const session = await open();
    if (session !== undefined) return session;
  }
  throw new UsageFault("another ledger retire or ledger fold is under way; wait for its end");
}

export function textFlag(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}
