import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { runs } from "../../../test/support/depth.ts";
import { withBackend } from "../../../test/support/postgres.ts";
import type { MicroUsd, PicoUsd } from "../core/money.ts";
import {
  big,
  bool,
  type Columns,
  columns,
  computed,
  count,
  instantMs,
  micro,
  orAbsent,
  orNull,
  pico,
  plainColumn,
  readPlainColumn,
  text,
  textColumn,
  word,
} from "./columns.ts";

interface Booking {
  readonly bookingId: bigint;
  readonly name: string | null;
  readonly tokens: number;
  readonly costPicoUsd: PicoUsd;
  readonly paid?: { readonly amountMicroUsd: MicroUsd; readonly isLate: boolean };
  readonly madeAtMs: number;
  readonly state: "open" | "over";
}

const bookings: Columns<Booking> = columns<Booking>({
  bookingId: big("booking_id"),
  name: orNull(text("name")),
  tokens: count("tokens"),
  costPicoUsd: pico("cost_pico"),
  paid: orAbsent(columns({ amountMicroUsd: micro("paid"), isLate: bool("is_late") })),
  madeAtMs: instantMs("made_at"),
  state: computed("coalesce(state, 'open')", word("state")),
});

const ROW = {
  booking_id: 9_007_199_254_740_993n,
  name: "null",
  tokens: 12n,
  cost_pico: 5n,
  paid: 7n,
  is_late: false,
  made_at: new Date(1_500),
  state: "over",
};

test("columns read a row as an object, and write the object as the same row", () => {
  const booking: Booking = {
    bookingId: 9_007_199_254_740_993n,
    name: "null",
    tokens: 12,
    costPicoUsd: 5n as PicoUsd,
    paid: { amountMicroUsd: 7n as MicroUsd, isLate: false },
    madeAtMs: 1_500,
    state: "over",
  };
  expect(bookings.read(ROW)).toEqual(booking);
  expect(bookings.record(booking)).toEqual({ ...ROW, tokens: 12, made_at: 1_500 });
});

test("a null column is read as null or as an absent property, and written back as null", () => {
  const row = { ...ROW, name: null, paid: null, is_late: null };
  const booking = bookings.read(row);
  expect(booking.name).toBeNull();
  expect("paid" in booking).toBe(false);
  expect(bookings.record(booking)).toMatchObject({ name: null, paid: null, is_late: null });
});

describe("an array literal", () => {
  const backend = withBackend();

  test("of texts comes back from PostgreSQL unchanged, except for zero characters", async () => {
    const awkward = fc.constantFrom(
      "null",
      "NULL",
      "",
      "{",
      '"',
      "\\",
      "a,b",
      " x ",
      "\n",
      "é",
      "nUll",
    );
    const written = fc.option(fc.oneof(awkward, fc.string({ unit: "grapheme", maxLength: 12 })));
    await fc.assert(
      fc.asyncProperty(fc.array(written, { maxLength: 8 }), async (values) => {
        const sql = "select $1::text[] as column";
        const [row] = await backend.query(sql, [textColumn(values, (value) => value)]);
        expect(row?.["column"]).toEqual(values.map((value) => value?.replaceAll("\0", "") ?? null));
      }),
      { numRuns: runs(200) },
    );
  });

  test("of plain values has integers of any size, booleans and nulls", async () => {
    const values = [1n << 62n, -5, true, false, null];
    expect(plainColumn(values, (value) => value)).toBe("{4611686018427387904,-5,true,false,NULL}");
    expect(readPlainColumn("{4,5}")).toEqual(["4", "5"]);
    expect(readPlainColumn("{}")).toEqual([]);
    expect(readPlainColumn(null)).toEqual([]);
  });
});
