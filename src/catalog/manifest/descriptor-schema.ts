import { Type, type TSchema, type TUnsafe } from "typebox";
import type { ManifestDescriptor } from "./manifest.ts";
import { all, has, rule, when } from "./schema-parts.ts";

const rangeRule = rule(
  "descriptor-range",
  "must have the numbers min and max; default is a number",
);
const integerRule = rule(
  "descriptor-integer",
  "may have only integers as min, max and default, and a string as unit",
);
const enumRule = rule(
  "descriptor-enum",
  "must have values, a list of at least one string; default is a string",
);

const number: TSchema = { type: "number", ...rangeRule };
const integer: TSchema = { type: "integer", ...integerRule };
const word: TSchema = { type: "string", ...enumRule };

const PER_TYPE: readonly TSchema[] = [
  when(has("type", "range"), {
    type: "object",
    required: ["min", "max"],
    properties: { min: number, max: number, default: number },
    ...rangeRule,
  }),
  when(has("type", "integer"), {
    type: "object",
    properties: {
      min: integer,
      max: integer,
      default: integer,
      unit: { type: "string", ...integerRule },
    },
  }),
  when(has("type", "enum"), {
    type: "object",
    required: ["values"],
    properties: { values: { type: "array", minItems: 1, items: word, ...enumRule }, default: word },
    ...enumRule,
  }),
];

/** The capability of one request parameter: a `type` and the fields that go with it. */
export const descriptorSchema: TUnsafe<ManifestDescriptor> = Type.Unsafe<ManifestDescriptor>({
  title: "Descriptor",
  description: "How one request parameter may be set.",
  type: "object",
  required: ["type"],
  properties: {
    type: {
      type: "string",
      enum: ["boolean", "range", "integer", "enum", "unknown"],
      description: "`boolean` and `unknown` have no further fields.",
      ...rule("descriptor-type", 'must be "boolean", "range", "integer", "enum" or "unknown"'),
    },
    min: { description: "`range`: number, required. `integer`: integer." },
    max: { description: "`range`: number, required. `integer`: integer." },
    default: { description: "`range`: number. `integer`: integer. `enum`: string." },
    unit: { description: "`integer`: string." },
    values: { description: "`enum`: list of at least one string, required." },
  },
  ...all(...PER_TYPE),
});
