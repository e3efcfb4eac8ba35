import { randomInt } from "node:crypto";

/** True for `TM_TEST_DEPTH=deep`: many new cases in each run. False: few, always the same. */
export const isDeep: boolean = process.env["TM_TEST_DEPTH"] === "deep";

const QUICK_SEED = 20_260;
const SEED_END = 2 ** 31;
const DEEP_RUNS_FACTOR = 10;
const QUICK_RUNS_DIVISOR = 4;

export function quickOrDeep<T>(quick: T, deep: T): T {
  return isDeep ? deep : quick;
}

/** Returns the cases of a cheap property: ten times `usual` in a deep run, else a quarter. */
export function runs(usual: number): number {
  return quickOrDeep(Math.ceil(usual / QUICK_RUNS_DIVISOR), DEEP_RUNS_FACTOR * usual);
}

/** Returns a fixed seed, or in a deep run a new one, which `PROPERTY_SEED` repeats. */
export function seedOf(name: string, quickSeed: number = QUICK_SEED): number {
  const wanted = process.env["PROPERTY_SEED"];
  if (wanted !== undefined) return wholeNumber(wanted);
  if (!isDeep) return quickSeed;
  const seed = randomInt(SEED_END);
  process.stderr.write(`${name}: PROPERTY_SEED=${seed} repeats this search\n`);
  return seed;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (text !== "" && Number.isInteger(value)) return value;
  throw new Error(`PROPERTY_SEED must be a whole number, got "${text}"`);
}
