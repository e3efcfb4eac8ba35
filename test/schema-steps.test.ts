import { resolve } from "node:path";

import { describe, expect, test } from "vitest";

import {
  FIRST_RELEASE_LEVEL,
  MIGRATIONS_FOLDER,
  readMigrations,
} from "../src/storage/migration-files.ts";
import { stepProblems } from "./tidy/schema-steps.ts";

const steps = readMigrations(MIGRATIONS_FOLDER);
/** Of the first release: nothing is left to say about them. */
const frozen = steps.filter(({ level }) => level <= FIRST_RELEASE_LEVEL);
const later = steps.filter(({ level }) => level > FIRST_RELEASE_LEVEL);
const synthetic = readMigrations(resolve(import.meta.dirname, "e2e/operator/upgrade-steps"));

function problemsOf(sql: string, header = "-- program_min: 11"): readonly string[] {
  return stepProblems([...frozen, ...later], [{ name: "8000-planted", text: `${header}\n${sql}` }]);
}

test("no step takes away what the program before it reads, calls or writes, or stops requests", () => {
  expect(stepProblems(frozen, later)).toEqual([]);
  expect(stepProblems([...frozen, ...later], synthetic)).toEqual([]);
});

describe("notices", () => {
  test.each([
    ["a dropped table", "drop table video_job;", "drops table"],
    ["a dropped view", "drop view if exists journal;", "drops view"],
    ["a dropped column", "alter table org drop column email;", "drops a column of org"],
    ["one among other changes", "alter table org add a text, drop email;", "drops a column of org"],
    ["a renamed table", "alter table org rename to customer;", "renames"],
    ["a renamed column", "alter table org rename column name to title;", "renames"],
    ["a renamed function", "alter function margin_of rename to margin;", "renames"],
    ["not null without a default", "alter table org add a text not null;", "without a default"],
    ["not null for an old column", "alter table org alter email set not null;", "not null for"],
    ["a changed type", "alter table transfer alter amount type numeric;", "changes the type"],
    ["the long form", "alter table org alter column name set data type int;", "changes the type"],
    [
      "a volatile default on the journal",
      "alter table attempt add column at timestamptz default clock_timestamp();",
      "differs by row",
    ],
    [
      "a volatile default on the transfers",
      "alter table transfer add a uuid not null default gen_random_uuid();",
      "differs by row",
    ],
    ["a serial on the accounts", "alter table account add a bigserial;", "differs by row"],
    ["a dropped function", "drop function margin_of(numeric, numeric);", "drops function"],
    [
      "a function with another parameter",
      "create or replace function margin_of(cost numeric, owed numeric, more int default 0) " +
        "returns bigint language sql as $$ select 1 $$;",
      "changed signature",
    ],
    [
      "a function with another answer",
      "create or replace function margin_of(cost numeric, owed numeric) returns numeric " +
        "language sql immutable as $$ select 1 $$;",
      "changed signature",
    ],
    ["an index while writes wait", "create index more on transfer (amount);", "`concurrently`"],
    ["a constraint that reads all", "alter table org add check (name <> '');", "`not valid`"],
    ["a unique constraint", "alter table org add unique (name);", "builds an index"],
    ["a backfill", "update attempt set outcome = null;", "a backfill"],
    ["a dropped trigger", "drop trigger a on org;", "drops trigger"],
    [
      "a trigger that comes again on another table",
      "drop trigger a on org; create trigger a before update on account execute function f();",
      "drops trigger",
    ],
    [
      "a table that is made again with other columns",
      "alter table org rename to org_first; create table org (org_id text);",
      "renames",
    ],
  ])("%s", (_what, sql, problem) => {
    expect(problemsOf(sql)).toEqual([expect.stringContaining(problem)]);
  });

  test("a step that does not say for which programs it is, or keeps the last one out", () => {
    const sql = "create table more ();";
    expect(problemsOf(sql, "")).toEqual([expect.stringContaining("-- program_min")]);
    expect(problemsOf(sql, "-- program_min: 8000")).toEqual([expect.stringContaining("keeps out")]);
  });
});

test.each([
  ["a nullable column", "alter table attempt add column a text, add b numeric(38, 0);"],
  ["a constant default", "alter table transfer add a bigint not null default 0;"],
  [
    "a table with its own index",
    "create table more (a text not null); create index i on more (a);",
  ],
  ["a new function, its body too", "create function f() returns int as $$ drop table org; $$;"],
  [
    "the same function with another body",
    "create or replace function margin_of(cost numeric, owed numeric) returns bigint " +
      "language sql immutable as $$ select 1 $$;",
  ],
  ["a constraint for new rows", "alter table org add constraint c check (name <> '') not valid;"],
  [
    "a table that becomes one of partitions",
    "alter table org rename to org_first; drop trigger a on org_first; " +
      "create table org (like org_first including defaults including constraints) " +
      "partition by range (org_id); create trigger a before update on org execute function f();",
  ],
  ["words in a comment", "-- drop table org;\ncreate table more ();"],
])("passes %s", (_what, sql) => {
  expect(problemsOf(sql)).toEqual([]);
});
