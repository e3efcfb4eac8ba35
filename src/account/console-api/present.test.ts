import { Type } from "typebox";
import { expect, test } from "vitest";

import { Count, Instant, nullable } from "../../kernel/index.ts";
import { Usd } from "./contract/shared.ts";
import { present } from "./present.ts";

const Shown = Type.Object({
  key_id: Type.String(),
  at: Instant,
  ended_at: nullable(Instant),
  spent_usd: Usd,
  cap_usd: nullable(Usd),
  tries: Count,
  last_answer: nullable(Type.String()),
});
const record = {
  keyId: "k",
  atMs: 0,
  endedAtMs: null,
  spentMicroUsd: 1_500_000n,
  tries: 2,
  secret: "never",
};

test("a record is shown by the names of the schema, in its order, and nothing else of it", () => {
  const more = { ...record, capMicroUsd: 0n, lastAnswer: undefined };
  expect(JSON.stringify(present(Shown, more))).toBe(
    JSON.stringify({
      key_id: "k",
      at: "1970-01-01T00:00:00.000Z",
      ended_at: null,
      spent_usd: "1.500000",
      cap_usd: "0.000000",
      tries: 2,
      last_answer: null,
    }),
  );
});

test("fields that are given replace those of the record", () => {
  const shown = present(Shown, record, { tries: 3, cap_usd: null, last_answer: "gone" });
  expect(shown).toMatchObject({ tries: 3, cap_usd: null, last_answer: "gone" });
});
