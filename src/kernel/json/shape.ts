import { type Static, type TObject, type TOptional, type TSchema, Type } from "typebox";

/** An object of an answer: its schema, and the function that makes it from a record of the program. */
export interface Shape<R, S extends TSchema> {
  readonly schema: S;
  readonly show: (record: R) => Static<S>;
}

interface Field<R, S extends TSchema> {
  readonly schema: S;
  readonly read: (record: R) => unknown;
}

/** Defines a field by its schema and a reader, which returns undefined if an optional field is absent. */
export type DefineField<R> = <S extends TSchema>(
  schema: S,
  read: (record: R) => S extends TOptional ? Static<S> | undefined : Static<S>,
) => Field<R, S>;

type SchemasOf<R, F extends Readonly<Record<string, Field<R, TSchema>>>> = {
  [N in keyof F]: F[N]["schema"];
};

/** Makes the shape of an object with these fields, in this order. */
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
