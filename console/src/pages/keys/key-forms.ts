import type { BodyOf, CapField, Caps, Key } from "../../api/contract.ts";
import { readExpiryChoice, type TypedExpiry } from "./expiry-choice.ts";
import { CAP_FIELDS, KEY_CAPS, capInput, readCap } from "./caps.ts";

type NewKey = BodyOf<"POST /api/console/keys">;
type KeyChange = BodyOf<"PATCH /api/console/keys/:key_id">;
type KeysChange = BodyOf<"POST /api/console/keys/change">;

export type FieldProblems = Readonly<
  Partial<Record<"name" | "rpm" | CapField | "tags" | "expires_at", string>>
>;

export type ReadForm<T> =
  | { readonly isReady: true; readonly body: T }
  | { readonly isReady: false; readonly problems: FieldProblems };

export interface TypedKey {
  readonly name: string;
  readonly rpm: string;
  readonly caps: Caps<string>;
  /** Tags, separated by commas. */
  readonly tags: string;
  readonly expiry: TypedExpiry;
  /** Model IDs; empty for all models. */
  readonly models: readonly string[];
}

/** Returns the problems that remain after a change: those of the changed fields are dropped. */
export function stillWrong(
  problems: FieldProblems,
  changed: Partial<TypedKey & TypedKeysChange>,
): FieldProblems {
  const fields = Object.keys(changed).flatMap((name) => FIELDS_OF[name as keyof typeof FIELDS_OF]);
  return Object.fromEntries(
    Object.entries(problems).filter(([field]) => !(fields as readonly string[]).includes(field)),
  );
}

const FIELDS_OF: Readonly<
  Record<keyof (TypedKey & TypedKeysChange), readonly (keyof FieldProblems)[]>
> = {
  name: ["name"],
  rpm: ["rpm"],
  caps: CAP_FIELDS,
  tags: ["tags"],
  tagsChoice: ["tags"],
  expiry: ["expires_at"],
  models: [],
};

/** Reads the form of a new key. A blank rate means the rate ceiling, a blank cap no cap. */
export function readNewKey(
  typed: TypedKey,
  { rpmMax, nowMs }: { readonly rpmMax: number; readonly nowMs: number },
): ReadForm<NewKey> {
  const name = typed.name.trim();
  const { tags, problems, ...limits } = readLimits(typed, { rpmMin: 1, rpmMax, nowMs });
  return toForm({ ...nameProblem(name), ...problems }, () => ({
    name,
    ...limits.values,
    ...(tags.length === 0 ? {} : { tags }),
    ...(typed.models.length === 0 ? {} : { models: [...typed.models] }),
  }));
}

/** Reads a key's change. A blank rate, cap or expiry changes nothing; 0 removes a rate or cap. */
export function readKeyChange(
  typed: Omit<TypedKey, "name">,
  { key, nowMs }: { readonly key: Key; readonly nowMs: number },
): ReadForm<KeyChange> {
  const bounds = { rpmMin: 0, rpmMax: key.rpm_ceiling, nowMs } as const;
  const { tags, problems, values } = readLimits(typed, bounds);
  return toForm(problems, () => ({
    ...values,
    ...(isSameSet(tags, key.tags) ? {} : { tags }),
    ...(isSameSet(typed.models, key.models ?? []) ? {} : { models: [...typed.models] }),
  }));
}

export type TagsChoice = "keep" | "replace" | "remove";

/** The form that changes several keys, as typed. A blank cap or expiry keeps that of each key. */
export interface TypedKeysChange extends Pick<TypedKey, "caps" | "tags" | "expiry"> {
  readonly tagsChoice: TagsChoice;
}

export function readKeysChange(
  typed: TypedKeysChange,
  nowMs: number,
): ReadForm<Omit<KeysChange, "key_ids">> {
  const isReplaced = typed.tagsChoice === "replace";
  const tags = isReplaced ? typed.tags : "";
  const read = readLimits({ ...typed, rpm: "", tags }, { rpmMin: 1, rpmMax: 1, nowMs });
  const noTags = isReplaced && read.tags.length === 0 ? { tags: TAGS_HELP } : {};
  return toForm({ ...read.problems, ...noTags }, () => ({
    ...read.values,
    ...(typed.tagsChoice === "keep" ? {} : { tags: read.tags }),
  }));
}

function toForm<T>(problems: FieldProblems, body: () => T): ReadForm<T> {
  if (Object.keys(problems).length > 0) return { isReady: false, problems };
  return { isReady: true, body: body() };
}

interface Bounds {
  /** Smallest rate limit that may be typed: 1 for a new key; 0 removes an existing key's limit. */
  readonly rpmMin: 0 | 1;
  readonly rpmMax: number;
  readonly nowMs: number;
}

/** Reads the fields that the forms have in common. `values` leaves out blank fields. */
function readLimits(
  typed: Pick<TypedKey, "rpm" | "caps" | "tags" | "expiry">,
  { rpmMin, rpmMax, nowMs }: Bounds,
): {
  readonly values: Partial<Record<CapField, string>> & { rpm?: number; expires_at?: string };
  readonly tags: string[];
  readonly problems: FieldProblems;
} {
  const { caps, problems } = readCaps(typed);
  const rpm = typed.rpm.trim();
  const rpmProblem = findRpmProblem(rpm, rpmMin, rpmMax);
  const tags = readTags(typed.tags);
  const expiry = readExpiryChoice(typed.expiry, nowMs);
  return {
    values: {
      ...(rpm === "" ? {} : { rpm: Number(rpm) }),
      ...caps,
      ...(expiry.kind === "chosen" ? { expires_at: expiry.expiresAt } : {}),
    },
    tags: tags ?? [],
    problems: {
      ...(rpmProblem === undefined ? {} : { rpm: rpmProblem }),
      ...problems,
      ...(tags === undefined ? { tags: TAGS_HELP } : {}),
      ...(expiry.kind === "problem" ? { expires_at: expiry.problem } : {}),
    },
  };
}

function readCaps(typed: Pick<TypedKey, "caps">): {
  readonly caps: Partial<Record<CapField, string>>;
  readonly problems: FieldProblems;
} {
  const caps: Partial<Record<CapField, string>> = {};
  const problems: Partial<Record<CapField, string>> = {};
  for (const { period, field } of KEY_CAPS) {
    const read = readCap(typed.caps[period]);
    const input = read.kind === "problem" ? undefined : capInput(read);
    if (read.kind === "problem") problems[field] = read.problem;
    if (input !== undefined) caps[field] = input;
  }
  return { caps, problems };
}

export const TAGS_HELP =
  "Up to 10 tags, separated by commas, each of 1 to 32 letters, digits or . _ - : /";

function readTags(text: string): string[] | undefined {
  const tags = [...new Set(text.split(",").map((tag) => tag.trim()))].filter(Boolean).sort();
  return tags.length <= 10 && tags.every((tag) => /^[A-Za-z0-9._:/-]{1,32}$/.test(tag))
    ? tags
    : undefined;
}

export const NAME_CHARS_MAX = 64;
/** Maximum number of models in a key's list. It equals the server's maximum; a test checks that. */
export const MODELS_MAX = 100;

export function nameProblem(name: string): FieldProblems {
  if (name.trim() === "") return { name: "Enter a name, such as what the key is for." };
  return name.length > NAME_CHARS_MAX ? { name: `Use at most ${NAME_CHARS_MAX} characters.` } : {};
}

function findRpmProblem(typed: string, min: 0 | 1, max: number): string | undefined {
  if (typed === "") return undefined;
  const rpm = /^[0-9]{1,9}$/.test(typed) ? Number(typed) : Number.NaN;
  if (rpm >= min && rpm <= max) return undefined;
  const removal = min === 0 ? "; 0 removes the limit" : "";
  return `Enter a whole number from 1 to ${max}, the ceiling of this key${removal}.`;
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}
