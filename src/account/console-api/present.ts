import { type Static, type TObject, type TSchema, Type } from "typebox";

import { formatExactUsd, formatUsd, instant, microUsd, type PicoUsd } from "../../kernel/index.ts";

type Camel<S extends string> = S extends `${infer A}_${infer B}`
  ? `${A}${Capitalize<Camel<B>>}`
  : S;
type SuffixWord = "at" | "since" | "until";
type InstantField = SuffixWord | `${string}_${SuffixWord}` | "from" | "to" | "start" | "end";
type IdField = "provider" | "model" | `${string}_model`;
type UsdField = `${string}_usd`;

/** `createdAtMs` for `created_at`, `spentMicroUsd` or `spentPicoUsd` for `spent_usd`. */
type NameIn<F extends string, R> = F extends InstantField
  ? `${Camel<F>}Ms`
  : F extends IdField
    ? `${Camel<F>}Id`
    : F extends `${infer A}_usd`
      ? `${Camel<A>}PicoUsd` extends keyof R
        ? `${Camel<A>}PicoUsd`
        : `${Camel<A>}MicroUsd`
      : Camel<F>;

type ValueIn<F, V> =
  | (F extends InstantField ? number : F extends UsdField ? bigint : PartIn<NonNullable<V>>)
  | (null extends V ? null | undefined : never);
type PartIn<V> = V extends readonly (infer E)[]
  ? readonly PartIn<E>[]
  : V extends object
    ? string extends keyof V
      ? V
      : { readonly [F in keyof V & string as NameIn<F, unknown>]: ValueIn<F, V[F]> }
    : V;

type Source<T, R> = {
  readonly [F in keyof T & string as null extends T[F] ? never : NameIn<F, R>]: ValueIn<F, T[F]>;
} & {
  readonly [F in keyof T & string as null extends T[F] ? NameIn<F, R> : never]?: ValueIn<F, T[F]>;
};
/** A record may lack a nullable field, but its type must name it, so that misspelled names fail. */
type Missing<T, R> = Exclude<
  { [F in keyof T & string]-?: NameIn<F, R> }[keyof T & string],
  keyof R
>;
type Fits<T, R> = [Missing<T, R>] extends [never]
  ? Source<T, R>
  : { readonly missing: Missing<T, R> };

/**
 * Converts a record to an answer by the answer's schema, with the objects and lists in it:
 * `created_at` is the instant of `createdAtMs`, `spent_usd` the dollars of `spentMicroUsd` or
 * `spentPicoUsd`, `model` is `modelId`, `provider` is `providerId`, any other field the property of
 * the same name in camel case. `others` contains the fields that follow another rule.
 */
export function present<
  S extends TObject,
  R extends object,
  X extends Partial<Static<S>> = Record<never, never>,
>(schema: S, record: R & Fits<Omit<Static<S>, keyof X>, R>, others?: X): Static<S> {
  return showFields(schema, record, others) as Static<S>;
}

function showFields(
  schema: TObject,
  record: object,
  others: Readonly<Record<string, unknown>> = {},
): object {
  const shown: Record<string, unknown> = {};
  for (const { name, read } of fieldsOf(schema)) {
    shown[name] = name in others ? others[name] : read(record);
  }
  return shown;
}

interface Field {
  readonly name: string;
  readonly read: (record: object) => unknown;
}

const known = new WeakMap<TObject, readonly Field[]>();

function fieldsOf(schema: TObject): readonly Field[] {
  const fields = known.get(schema) ?? Object.entries(schema.properties).map(fieldOf);
  known.set(schema, fields);
  return fields;
}

function fieldOf([name, schema]: [string, TSchema]): Field {
  const camel = name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
  if (/(^|_)(at|since|until)$|^(from|to|start|end)$/.test(name)) {
    return field(name, `${camel}Ms`, instant);
  }
  if (/(^|_)model$|^provider$/.test(name)) return field(name, `${camel}Id`, (id) => id);
  if (!name.endsWith("_usd")) return field(name, camel, shower(schema));
  const amount = camel.replace(/Usd$/, "");
  const micro = field(name, `${amount}MicroUsd`, (value: bigint) => formatUsd(microUsd(value)));
  const pico = field(name, `${amount}PicoUsd`, (value: PicoUsd) => formatExactUsd(value));
  return { name, read: (record) => pico.read(record) ?? micro.read(record) };
}

function field(name: string, source: string, show: (value: never) => unknown): Field {
  const read = (record: object): unknown => {
    const value = (record as Readonly<Record<string, never>>)[source] ?? null;
    return value === null ? null : show(value);
  };
  return { name, read };
}

/** Returns the converter for a schema's values; a nullable schema is a union ending in null. */
function shower(schema: TSchema): (value: never) => unknown {
  if (Type.IsUnion(schema)) return shower(schema.anyOf[0] ?? schema);
  if (Type.IsObject(schema)) return (record: object) => showFields(schema, record);
  if (!Type.IsArray(schema)) return (value) => value;
  const showItem: (value: never) => unknown = shower(schema.items);
  return (values: readonly never[]) => values.map((each) => showItem(each));
}
