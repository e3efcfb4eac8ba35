import type { Static, TObject } from "typebox";

import { formatUsd, instant, microUsd } from "../../kernel/index.ts";

type Camel<S extends string> = S extends `${infer A}_${infer B}`
  ? `${A}${Capitalize<Camel<B>>}`
  : S;
type InstantField = InstantWord | `${string}_${InstantWord}`;
type InstantWord = "at" | "since" | "until";
type UsdField = `${string}_usd`;

/** `createdAtMs` for `created_at`, `spentMicroUsd` for `spent_usd`. */
type NameIn<F extends string> = F extends InstantField
  ? `${Camel<F>}Ms`
  : F extends `${infer A}_usd`
    ? `${Camel<A>}MicroUsd`
    : Camel<F>;

type ValueIn<F, V> =
  | (F extends InstantField ? number : F extends UsdField ? bigint : ReadonlyOf<NonNullable<V>>)
  | (null extends V ? null | undefined : never);
type ReadonlyOf<V> = V extends readonly (infer E)[] ? readonly E[] : V;

type Source<T> = {
  readonly [F in keyof T & string as null extends T[F] ? never : NameIn<F>]: ValueIn<F, T[F]>;
} & {
  readonly [F in keyof T & string as null extends T[F] ? NameIn<F> : never]?: ValueIn<F, T[F]>;
};
/** A nullable field may be absent in a record, but not in its type: misspelled names must fail. */
type Missing<T, R> = Exclude<{ [F in keyof T & string]-?: NameIn<F> }[keyof T & string], keyof R>;
type Fits<T, R> = [Missing<T, R>] extends [never] ? Source<T> : { readonly missing: Missing<T, R> };

/**
 * Converts a record to an answer by the answer's schema: `created_at` is the instant of
 * `createdAtMs`, `spent_usd` the dollars of `spentMicroUsd`, any other field the property of the
 * same name in camel case. `others` contains the fields that follow another rule.
 */
export function present<
  S extends TObject,
  R extends object,
  X extends Partial<Static<S>> = Record<never, never>,
>(schema: S, record: R & Fits<Omit<Static<S>, keyof X>, R>, others?: X): Static<S> {
  const shown: Record<string, unknown> = {};
  for (const { name, read } of fieldsOf(schema)) {
    shown[name] = others !== undefined && name in others ? others[name as keyof X] : read(record);
  }
  return shown as Static<S>;
}

interface Field {
  readonly name: string;
  readonly read: (record: object) => unknown;
}

const known = new WeakMap<TObject, readonly Field[]>();

function fieldsOf(schema: TObject): readonly Field[] {
  const fields = known.get(schema) ?? Object.keys(schema.properties).map((name) => fieldOf(name));
  known.set(schema, fields);
  return fields;
}

function fieldOf(name: string): Field {
  const camel = name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
  if (/(^|_)(at|since|until)$/.test(name)) return field(name, `${camel}Ms`, instant);
  if (!name.endsWith("_usd")) return field(name, camel, (value: unknown) => value);
  const source = camel.replace(/Usd$/, "MicroUsd");
  return field(name, source, (amount: bigint) => formatUsd(microUsd(amount)));
}

function field(name: string, source: string, show: (value: never) => unknown): Field {
  const read = (record: object): unknown => {
    const value = (record as Readonly<Record<string, never>>)[source] ?? null;
    return value === null ? null : show(value);
  };
  return { name, read };
}
