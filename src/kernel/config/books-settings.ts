import type { Setting } from "./setting.ts";

export interface BooksConfig {
  /** `stop` or `go_on`. */
  readonly booksGoneBack: string;
}

/** What an operator decides about the books. */
export const BOOKS_SETTINGS: {
  readonly [K in keyof BooksConfig]: Setting<BooksConfig[K]>;
} = {
  booksGoneBack: {
    path: "books.gone_back",
    kind: "string",
    fallback: "stop",
    problem: (value) =>
      value === "stop" || value === "go_on" ? undefined : "must be stop or go_on",
    doc:
      "What an instance does when committed work is gone from the database (a restore under it, a failover " +
      "that lost commits): `stop` takes no traffic until `tokenmarket ledger reopen`, on all instances; " +
      "`go_on` logs an error, sets `tm_books_went_back` and continues, so that what was lost may be " +
      "spent again.",
  },
};
