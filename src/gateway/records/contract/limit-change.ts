import { type Static, Type } from "typebox";

import { MaybeInteger, MaybeText, nullable, oneOf } from "../../../kernel/json/schema-parts.ts";

export const LIMIT_NAMES = {
  rpm: "requestsPerMinute",
  tpm: "tokensPerMinute",
  concurrency: "concurrent",
} as const;
export type LimitWord = keyof typeof LIMIT_NAMES;
export const LIMIT_WORDS = ["rpm", "tpm", "concurrency"] as const satisfies LimitWord[];

export function byLimit<T>(make: (word: LimitWord) => T): Readonly<Record<LimitWord, T>> {
  return { rpm: make("rpm"), tpm: make("tpm"), concurrency: make("concurrency") };
}

export const ByLimit = byLimit(() => MaybeInteger);

const Tightest = {
  limit: MaybeInteger,
  /** The scope that would refuse first; null if no scope has this limit. */
  bound_by: MaybeText,
};
const Rate = Type.Object({ ...Tightest, remaining: MaybeInteger });
export const Effective = Type.Object({
  rpm: Rate,
  tpm: Rate,
  concurrency: Type.Object({ ...Tightest, in_use: MaybeInteger, departed: MaybeInteger }),
});
export type Effective = Static<typeof Effective>;

export const LimitSource = nullable(oneOf("default", "contract", "self", "unfunded"));
export type LimitSource = Static<typeof LimitSource>;

const SCOPES = ["org", "key", "model"] as const;
const FilledText = Type.String({ minLength: 1, says: "must be a non-empty string" });

export const NamedLimit = Type.Object({
  scope: Type.Unsafe<(typeof SCOPES)[number]>({
    ...oneOf(...SCOPES),
    says: `must be ${SCOPES.map((each) => JSON.stringify(each)).join(" or ")}`,
  }),
  key_id: Type.Optional(FilledText),
  model: Type.Optional({ ...FilledText, description: "with scope `model` only" }),
});
export type NamedLimit = Static<typeof NamedLimit>;

const limitsWithin = (bounds: { readonly minimum?: number }) =>
  Type.Partial(
    Type.Object(
      byLimit(() =>
        Type.Unsafe<number | null>({
          type: ["integer", "null"],
          ...bounds,
          says: "must be a whole number of at least 1, or null to remove your limit",
        }),
      ),
    ),
  );

/**
 * The new values. An absent value stays as it is; null removes the customer's value. It has no
 * bounds: the 400 for a value below 1 or above the ceiling names the ceiling.
 */
export const LimitValues = limitsWithin({});
export type LimitValues = Static<typeof LimitValues>;

/** The body of a change. */
export const LimitChange = Type.Object(
  { ...NamedLimit.properties, ...limitsWithin({ minimum: 1 }).properties },
  { additionalProperties: false },
);
export type LimitChange = Static<typeof LimitChange>;

export const ChangedLimit = Type.Object({
  scope: oneOf(...SCOPES),
  key_id: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  stored: Type.Object(ByLimit),
  effective: Effective,
});
export type ChangedLimit = Static<typeof ChangedLimit>;
