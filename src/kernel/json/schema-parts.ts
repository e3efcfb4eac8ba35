import { Type, type Static, type TArrayOptions, type TSchema } from "typebox";

import { bySkuName, HOUR_SKU_NAME, TOKEN_BUCKETS, type Usage } from "../core/usage.ts";

export const Usd = Type.String({ pattern: "^-?[0-9]+\\.[0-9]{6}$", examples: ["12.500000"] });
export const Instant = Type.String({ format: "date-time" });
export const Count = Type.Integer({ minimum: 0 });

export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

export function oneOf<const T extends readonly string[]>(...values: T) {
  return Type.Unsafe<T[number]>(Type.String({ enum: [...values] }));
}

export const MaybeText = nullable(Type.String());
export const MaybeInteger = nullable(Type.Integer());
export const MaybeInstant = nullable(Instant);

export function List<T extends TSchema>(entry: T, options: TArrayOptions = {}) {
  return Type.Unsafe<readonly Static<T>[]>(Type.Array(entry, options));
}

export function BySku<T extends TSchema>(schema: T) {
  const buckets = bySkuName(TOKEN_BUCKETS, () => schema);
  return Type.Object({ ...buckets, [HOUR_SKU_NAME]: Type.Optional(schema) });
}

export const Tokens = BySku(Count);
export type Tokens = Static<typeof Tokens>;

export function showTokens(usage: Usage): Tokens {
  return bySkuName(usage, (tokens) => tokens);
}
