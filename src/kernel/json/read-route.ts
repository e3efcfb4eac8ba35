import { type TObject, type TSchema, Type } from "typebox";

import type { MicroUsd } from "../core/money.ts";
import type { Raw } from "../core/json-values.ts";

/** The contract of a route that only reads. `says` in a schema is the message of a refusal. */
export interface ReadRoute {
  readonly summary: string;
  readonly description?: string;
  readonly tag: "Models" | "Records";
  readonly query?: TObject;
  readonly body?: TSchema;
  readonly answer: TSchema;
  /** Present if the route can also answer `text/csv`. */
  readonly hasFile?: true;
}

export const UsdNumber = Type.Unsafe<Raw>({
  type: "number",
  description: "US dollars, exact to the micro-dollar",
});
export const MicroUsdNumber = Type.Unsafe<MicroUsd>({
  type: "integer",
  description: "millionths of a dollar",
});
export function Word<const T extends readonly string[]>(words: T, description: string) {
  const says = `must be one of ${words.join(", ")}, not {value}`;
  return Type.Unsafe<T[number]>(Type.String({ enum: [...words], description, says }));
}

export function Whole(minimum: number, maximum: number, description: string) {
  const says = `must be a whole number from ${minimum} to ${maximum}, not {value}`;
  return Type.Integer({ minimum, maximum, description, says });
}
