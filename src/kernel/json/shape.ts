import { type Static, type TObject, type TOptional, type TSchema, Type } from "typebox";

export interface Shape<R, S extends TSchema> {
  readonly schema: S;
  readonly show: (record: R) => Static<S>;
}

interface Field<R, S extends TSchema> {
  readonly schema: S;
  readonly read: (record: R) => unknown;
}

/** Defines a field. `read` may return undefined only if `schema` is optional. */
export type DefineField<R> = <S extends TSchema>(
  schema: S,
  read: (record: R) => S extends TOptional ? Static<S> | undefined : Static<S>,
) => Field<R, S>;

type SchemasOf<R, F extends Readonly<Record<string, Field<R, TSchema>>>> = {
  [N in keyof F]: F[N]["schema"];
};

/** Builds an object's schema and `show`, which makes the object; both have the same field order. */
export function shape<R, F extends Readonly<Record<string, Field<R, TSchema>>>>(
  make: (is: DefineField<R>) => F,
): Shape<R, TObject<SchemasOf<R, F>>> {
  const fields = Object.entries(make((schema, read) => ({ schema, read })));
  const schemas = Object.fromEntries(fields.map(([name, { schema }]) => [name, schema]));
  return {
    schema: Type.Object(schemas as SchemasOf<R, F>),
    show: (record) => {
      const shown: Record<string, unknown> = {};
      for (const [name, { read }] of fields) {
        const value = read(record);
        if (value !== undefined) shown[name] = value;
      }
      return shown as Static<TObject<SchemasOf<R, F>>>;
    },
  };
}
