/** Drops the fields that are undefined; the result's type makes these fields optional. */
export function defined<T extends object>(fields: T): Defined<T> {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as Defined<T>;
}

type Defined<T> = {
  readonly [P in keyof T as undefined extends T[P] ? never : P]: T[P];
} & {
  readonly [P in keyof T as undefined extends T[P] ? P : never]?: Exclude<T[P], undefined>;
};

/** The public members of a class, as an interface that a test can implement. */
export type Public<C> = Pick<C, keyof C>;
