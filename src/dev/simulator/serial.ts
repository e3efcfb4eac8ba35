import { createHash } from "node:crypto";

/** The unique part of the ids in the answer to call `number`. Equal seeds give equal ids. */
export function makeSerial(seed: string, number: number): string {
  return createHash("sha256").update(`${seed}:${number}`).digest("hex").slice(0, 24);
}
