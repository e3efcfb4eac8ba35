import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { expect, test } from "vitest";

import { pricing } from "../../test/fixtures/manifest/samples.ts";
import { buildDeployment } from "../../test/fixtures/modality/request-kit.ts";
import type { OrgId } from "../kernel/core/ids.ts";
import type { Deployment } from "./catalog.ts";
import { ownKeyDeployment, zeroPricePin } from "./deployment-copy.ts";
import { compilePriceSheet } from "./price-sheet.ts";

const orgId = "org_1" as OrgId;
const sealedKey = Buffer.from("sealed");
const connection = { connectionId: "conn_1", orgId, sealedKey };

function listed(change: Partial<Deployment> = {}): Deployment {
  const free = pricing({ prompt: "0", completion: "0" });
  const capacity = [{ type: "request", per: "minute", value: 5 }] as const;
  return buildDeployment("wire_a", {
    id: "acme/m",
    apiKeyEnv: "ACME_KEY",
    prices: compilePriceSheet(["acme/m"], { pricing: free }),
    capacity,
    pool: { id: "shared", capacity, concurrent: 1, orgSharePercent: 50 },
    ...change,
  });
}

test("a customer's key makes a deployment of its own: no price, no shared capacity, no marketplace key", () => {
  const deployment = listed();
  const copy = ownKeyDeployment(deployment, connection);
  const { apiKeyEnv: _marketplaceKey, ...rest } = deployment;
  expect(copy).toEqual({
    ...rest,
    id: "acme/m@conn_1",
    prices: zeroPricePin(deployment),
    capacity: [],
    pool: { id: "connection:conn_1", capacity: [], orgSharePercent: 100 },
    passesPricedFields: true,
    ownKey: { connectionId: "conn_1", orgId, providerId: "acme", sealedKey },
  });
  expect(Object.isFrozen(copy)).toBe(true);
  expect(copy).not.toHaveProperty("apiKeyEnv");
});

test("a reported cost on a customer's own key is not charged", () => {
  const copy = ownKeyDeployment(listed({ billing: "reported_cost" }), connection);
  expect(copy.billing).toBe("token");
});

test("a listing without a price has none with a customer's own key either", () => {
  expect(ownKeyDeployment(listed({ prices: null }), connection).prices).toBeNull();
});

test("the same deployment and connection give the same object, others give other objects", () => {
  const deployment = listed();
  const copy = ownKeyDeployment(deployment, connection);
  const again = { ...connection, sealedKey: Buffer.from("sealed") };
  expect(ownKeyDeployment(deployment, again)).toBe(copy);
  const others = [
    ownKeyDeployment(deployment, { ...connection, connectionId: "conn_2" }),
    ownKeyDeployment(listed(), connection),
  ];
  for (const other of others) expect(other).not.toBe(copy);
});

test("a key that was resealed or moved to another organization gets a new copy", () => {
  const deployment = listed();
  const copy = ownKeyDeployment(deployment, connection);
  const resealed = { ...connection, sealedKey: Buffer.from("sealed again") };
  const moved = { ...connection, orgId: "org_2" as OrgId };
  expect(ownKeyDeployment(deployment, resealed)).not.toBe(copy);
  expect(ownKeyDeployment(deployment, resealed).ownKey?.sealedKey).toBe(resealed.sealedKey);
  expect(ownKeyDeployment(deployment, moved).ownKey?.orgId).toBe("org_2");
});

test("the ledger can distinguish a customer's key from a free listing", () => {
  const deployment = listed();
  const zero = zeroPricePin(deployment);
  expect(zero.pinId).toMatch(/^own-key-[0-9a-f]{32}$/);
  expect(deployment.prices?.prompt).toBe(0n);
  expect(zero.pinId).not.toBe(deployment.prices?.pinId);
  expect(zeroPricePin({ id: "acme/other" }).pinId).not.toBe(zero.pinId);
  expect(zeroPricePin({ id: "acme/m" })).toEqual(zero);
});

test("remembered copies are bounded, and a replaced catalog releases its own", async () => {
  const deployment = listed();
  const first = new WeakRef(ownKeyDeployment(deployment, connection));
  for (let at = 0; at < 2_000; at += 1) {
    ownKeyDeployment(deployment, { ...connection, connectionId: `conn_many_${at}` });
  }
  const replaced = new WeakRef(ownKeyDeployment(listed(), connection));
  await collectGarbage();
  expect(first.deref()).toBeUndefined();
  expect(replaced.deref()).toBeUndefined();
  const last = ownKeyDeployment(deployment, { ...connection, connectionId: "conn_many_1999" });
  expect(last.id).toBe("acme/m@conn_many_1999");
});

async function collectGarbage(): Promise<void> {
  // The target of a new WeakRef stays in memory until this iteration of the event loop ends.
  await new Promise((resolve) => setImmediate(resolve));
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
