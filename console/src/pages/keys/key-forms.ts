import type { BodyOf, Key } from "../../../../src/console-api/contract.ts";
import { readExpiryChoice, type TypedExpiry } from "./expiry-choice.ts";
import { capInput, readCap } from "./read-cap.ts";

type NewKey = BodyOf<"POST /api/console/keys">;
type KeyChange = BodyOf<"PATCH /api/console/keys/:key_id">;

/** Sentences for the fields that cannot be sent as they are. */
export type FieldProblems = Readonly<
  Partial<Record<"name" | "rpm" | "cap_usd" | "expires_at", string>>
>;

export type ReadForm<T> =
  | { readonly isReady: true; readonly body: T }
  | { readonly isReady: false; readonly problems: FieldProblems };

/** The form of a key as typed. */
export interface TypedKey {
  readonly name: string;
  readonly rpm: string;
  readonly cap: string;
  readonly expiry: TypedExpiry;
  /** Ids; none: all models. */
  readonly models: readonly string[];
}

/** The form of a new key: a name; blank limits are the largest that a key may have. */
export function readNewKey(
  typed: TypedKey,
  { rpmMax, nowMs }: { readonly rpmMax: number; readonly nowMs: number },
): ReadForm<NewKey> {
  const name = typed.name.trim();
  const cap = readCap(typed.cap);
  const expiry = readExpiryChoice(typed.expiry, nowMs);
  const rpmProblem = findRpmProblem(typed.rpm, 1, rpmMax);
  const problems = {
    ...nameProblem(name),
    ...(rpmProblem === undefined ? {} : { rpm: rpmProblem }),
    ...(cap.kind === "problem" ? { cap_usd: cap.problem } : {}),
    ...(expiry.kind === "problem" ? { expires_at: expiry.problem } : {}),
  };
  if (Object.keys(problems).length > 0) return { isReady: false, problems };
  const rpm = typed.rpm.trim();
  return {
    isReady: true,
    body: {
      name,
      ...(rpm === "" ? {} : { rpm: Number(rpm) }),
      ...(cap.kind === "capped" ? { cap_usd: cap.capUsd } : {}),
      ...(expiry.kind === "chosen" ? { expires_at: expiry.expiresAt } : {}),
      ...(typed.models.length === 0 ? {} : { models: [...typed.models] }),
    },
  };
}

/** The form of a key's own limit, cap, expiry and models: a blank field changes nothing, 0 removes. */
export function readKeyChange(
  typed: Omit<TypedKey, "name">,
  { key, nowMs }: { readonly key: Key; readonly nowMs: number },
): ReadForm<KeyChange> {
  const cap = readCap(typed.cap);
  const expiry = readExpiryChoice(typed.expiry, nowMs);
  const rpmProblem = findRpmProblem(typed.rpm, 0, key.rpm_ceiling);
  const problems = {
    ...(rpmProblem === undefined ? {} : { rpm: rpmProblem }),
    ...(cap.kind === "problem" ? { cap_usd: cap.problem } : {}),
    ...(expiry.kind === "problem" ? { expires_at: expiry.problem } : {}),
  };
  if (Object.keys(problems).length > 0) return { isReady: false, problems };
  const rpm = typed.rpm.trim();
  const capUsd = capInput(cap);
  return {
    isReady: true,
    body: {
      ...(rpm === "" ? {} : { rpm: Number(rpm) }),
      ...(capUsd === undefined ? {} : { cap_usd: capUsd }),
      ...(expiry.kind === "chosen" ? { expires_at: expiry.expiresAt } : {}),
      ...(isSameSet(typed.models, key.models ?? []) ? {} : { models: [...typed.models] }),
    },
  };
}

export const NAME_CHARS_MAX = 64;
/** As the server has it. */
export const MODELS_MAX = 100;

/** Why this is not a valid name of a key, as the problem of its field; empty when it is one. */
export function nameProblem(name: string): FieldProblems {
  if (name.trim() === "") return { name: "Enter a name, such as what the key is for." };
  return name.length > NAME_CHARS_MAX ? { name: `Use at most ${NAME_CHARS_MAX} characters.` } : {};
}

function findRpmProblem(text: string, min: 0 | 1, max: number): string | undefined {
  const typed = text.trim();
  if (typed === "") return undefined;
  const rpm = /^[0-9]{1,9}$/.test(typed) ? Number(typed) : Number.NaN;
  if (rpm >= min && rpm <= max) return undefined;
  const removal = min === 0 ? "; 0 removes the limit" : "";
  return `Enter a whole number from 1 to ${max}, the ceiling of this key${removal}.`;
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}
