import { Type, type TSchema, type TUnsafe } from "typebox";
import type { ManifestCapacity } from "./manifest.ts";
import { needs, oneOf, positiveInteger, rule, typedAs, when } from "./schema-parts.ts";

const TYPES = ["request", "prompt", "completion"] as const;
const WINDOWS = ["minute", "hour", "day"] as const;

const unitRule = rule("capacity-unit", 'must have unit "token" for type prompt and completion');

const capacity = Type.Object(
  {
    type: oneOf(TYPES, {
      description: "What is limited.",
      ...rule("capacity-type", 'must be "request", "prompt" or "completion"'),
    }),
    unit: Type.Optional(
      Type.Literal("token", {
        description: "`token`; required for `prompt` and `completion`.",
        ...rule("capacity-unit", 'must be "token"'),
      }),
    ),
    per: oneOf(WINDOWS, {
      description: "The window.",
      ...rule("capacity-window", 'must be "minute", "hour" or "day"'),
    }),
    value: positiveInteger({
      description: "Maximum requests or tokens in one window.",
      ...rule("capacity-value", "must be an integer greater than 0"),
    }),
  },
  {
    title: "CapacityEntry",
    description: "A declared rate limit.",
    allOf: [
      when(
        {
          type: "object",
          required: ["type"],
          properties: { type: { enum: ["prompt", "completion"] } },
        },
        needs("unit", unitRule),
      ),
    ],
  },
);

function atMostOne(type: string, per: string): TSchema {
  return {
    contains: {
      type: "object",
      required: ["type", "per"],
      properties: { type: { const: type }, per: { const: per } },
    },
    minContains: 0,
    maxContains: 1,
    ...rule("capacity-duplicate", `must not declare ${type} per ${per} more than once`),
  };
}

export const capacitySchema: TUnsafe<readonly ManifestCapacity[]> = Type.Unsafe<
  readonly ManifestCapacity[]
>(
  Type.Array(typedAs<ManifestCapacity>()(capacity), {
    allOf: TYPES.flatMap((type) => WINDOWS.map((per) => atMostOne(type, per))),
    description:
      "Declared rate limits, one per type and window; absent means undeclared, not zero.",
  }),
);
