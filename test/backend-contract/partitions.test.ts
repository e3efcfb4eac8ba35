import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { databaseOfTest } from "../support/postgres.ts";

const INSTANCES = 6;

test("instances that start at once on an empty journal create its partitions without a conflict", async () => {
  const connectionString = await databaseOfTest();
  const clients = Array.from({ length: INSTANCES }, () => new Client({ connectionString }));
  onTestFinished(async () => void (await Promise.all(clients.map((client) => client.end()))));
  await Promise.all(clients.map((client) => client.connect()));
  const made = await Promise.allSettled(
    clients.map((client) => client.query("select ensure_attempt_partitions(2)")),
  );
  expect(made.filter(({ status }) => status === "rejected")).toEqual([]);
});
