import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

import type { TortureOptions } from "./torture.ts";

export type TortureRun = Omit<TortureOptions, "mainFile" | "say">;

export const USAGE: string = `npm run torture -- [options]
  --kills 50           kill -9 of gateways and of the database together
  --database-kills 6   how many of them hit the database
  --zombies 5          gateways that stand still for longer than their lease and go on
  --instances 3        gateway processes on one database
  --concurrency 256    clients of each gateway
  --seconds 0          the load lasts at least so long, under further kills
  --seed N             the dice of an earlier run (default: new ones, printed)`;

const DECLARED = {
  kills: { type: "string", default: "50" },
  "database-kills": { type: "string", default: "6" },
  zombies: { type: "string", default: "5" },
  instances: { type: "string", default: "3" },
  concurrency: { type: "string", default: "256" },
  seconds: { type: "string", default: "0" },
  seed: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

const SEED_END = 2 ** 32;

/** The options of this run, or undefined when only the usage was asked for. */
export function parseOptions(args: readonly string[]): TortureRun | undefined {
  const { values } = parseArgs({ args: [...args], options: DECLARED, strict: true });
  if (values.help) return undefined;
  const kills = whole("kills", values.kills, [1, 100_000]);
  return {
    kills,
    databaseKills: whole("database-kills", values["database-kills"], [0, kills]),
    zombies: whole("zombies", values.zombies, [0, 10_000]),
    instances: whole("instances", values.instances, [2, 50]),
    concurrency: whole("concurrency", values.concurrency, [1, 5_000]),
    lastKill: true,
    seconds: whole("seconds", values.seconds, [0, 1_000_000]),
    seed: whole("seed", values.seed ?? String(randomInt(SEED_END)), [0, SEED_END - 1]),
  };
}

function whole(name: string, text: string, bounds: readonly [number, number]): number {
  const [low, high] = bounds;
  const value = Number(text);
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  throw new Error(`--${name} must be a whole number from ${low} to ${high}, got ${text}`);
}
