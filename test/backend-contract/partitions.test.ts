import { Client } from "pg";
import { expect, test } from "vitest";

import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { freshDatabase } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";

const INSTANCES = 6;

test("instances that start at once on an empty journal all find their days' tables", async () => {
  const database = await freshDatabase();
  const { connectionString } = database;
  const backend = openPostgresBackend({ connectionString, log: silentLog });
  const clients = Array.from({ length: INSTANCES }, () => new Client({ connectionString }));
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const made = await Promise.allSettled(
      clients.map((client) => client.query("select ensure_attempt_partitions(2)")),
    );
    expect(made.filter(({ status }) => status === "rejected")).toEqual([]);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await backend.close();
    await database.drop();
  }
});
