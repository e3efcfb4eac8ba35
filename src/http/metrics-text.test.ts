import { expect, test } from "vitest";

import { GatewayMetrics } from "../call/index.ts";
import { VideoMetrics } from "../videos/index.ts";
import { metricsRegistry } from "./metrics-text.ts";

test("the operator sees how many batches the ledger has sent, and how many rows were in them", async () => {
  const ledger = { batches: new Map([["reserve", 4]]), rows: new Map([["reserve", 90]]) };
  const registry = metricsRegistry(new GatewayMetrics(), new VideoMetrics(), {
    drains: () => 0,
    instanceState: () => "serving",
    ledger,
  });
  ledger.batches.set("close", 2);
  ledger.rows.set("close", 30);
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("tm_led"));
  expect(lines).toEqual([
    'tm_ledger_batches_total{lane="reserve"} 4',
    'tm_ledger_batches_total{lane="close"} 2',
    'tm_ledger_rows_total{lane="reserve"} 90',
    'tm_ledger_rows_total{lane="close"} 30',
  ]);
});
