import { expect, test } from "vitest";

import { GatewayMetrics } from "../call/index.ts";
import { VideoMetrics } from "../videos/index.ts";
import { metricsRegistry } from "./metrics-text.ts";

test("the operator sees how many batches the ledger has sent, and how many rows were in them", async () => {
  const ledger = { batches: new Map([["batch", 4]]), rows: new Map([["hold", 90]]) };
  const registry = metricsRegistry(new GatewayMetrics(), new VideoMetrics(), {
    drains: () => 0,
    instanceState: () => "serving",
    ledger,
    listings: () => [],
  });
  ledger.batches.set("late", 2);
  ledger.rows.set("closing", 30);
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("tm_led"));
  expect(lines).toEqual([
    'tm_ledger_batches_total{kind="batch"} 4',
    'tm_ledger_batches_total{kind="late"} 2',
    'tm_ledger_rows_total{kind="hold"} 90',
    'tm_ledger_rows_total{kind="closing"} 30',
  ]);
});
