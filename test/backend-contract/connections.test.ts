import { describe, expect, test } from "vitest";

import {
  sealConnection,
  type ConnectionSummary,
  type NewConnection,
  type StoredConnection,
} from "../../src/gateway/accounts/postgres-connection-store.ts";
import {
  countSealedBy,
  openKeyVault,
  resealRows,
  SealedKeyFault,
  type KeyVault,
} from "../../src/gateway/accounts/key-vault.ts";
import { assert } from "../../src/kernel/core/assert.ts";
import { CONNECTIONS_PER_ORG_MAX } from "../../src/kernel/core/constants.ts";
import type { KeyId, OrgId, ProviderId } from "../../src/kernel/core/ids.ts";
import { keyOf, orgWithKey } from "../support/ledger-rows.ts";
import { withBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const PROVIDER_KEY = "sk-customer-key-0123456789";
const acme = "acme-ai" as ProviderId;

const vault = vaultOf(Buffer.alloc(32, 7).toString("base64"));

const backend = withBackend();

type Wanted = Parameters<typeof sealConnection>[1];

function sealed(orgId: OrgId, change: Partial<Wanted> = {}, by = vault): NewConnection {
  const wanted = { orgId, providerId: acme, keyId: null, name: "ours", providerKey: PROVIDER_KEY };
  return sealConnection(by, { ...wanted, ...change });
}

async function made(orgId: OrgId, change: Partial<Wanted> = {}): Promise<ConnectionSummary> {
  const outcome = await backend.connectionStore.create(sealed(orgId, change), testOperator);
  if (typeof outcome !== "object") throw new Error(`not made: ${outcome}`);
  return outcome;
}

async function found(
  connectionId: string,
  asWhom: OrgId | "operator" = "operator",
): Promise<StoredConnection> {
  const connection = await backend.connectionStore.find(connectionId, asWhom);
  assert(connection !== undefined, "the connection is stored");
  return connection;
}

async function newOrg(): Promise<{ readonly orgId: OrgId; readonly keyId: KeyId }> {
  return await orgWithKey(backend, { creditMicroUsd: 0n });
}

describe("a connection", () => {
  test("shows the last characters of its provider key, which is stored only encrypted", async () => {
    const { orgId } = await newOrg();
    const connection = sealed(orgId, { name: "our Acme account" });
    const created = await backend.connectionStore.create(connection, testOperator);
    expect(created).toEqual({
      connectionId: connection.connectionId,
      orgId,
      providerId: acme,
      keyId: null,
      name: "our Acme account",
      label: "6789",
      createdAtMs: expect.any(Number),
      disabledAtMs: null,
    });
    expect(await backend.connectionStore.list(orgId)).toEqual([created]);
    const stored = await found(connection.connectionId, orgId);
    expect(stored).toEqual({ ...(created as object), sealedKey: connection.sealedKey });
    expect(vault.open(stored.sealedKey, stored)).toBe(PROVIDER_KEY);
    const [row] = await backend.query(
      `select c::text || ' ' || encode(sealed_key, 'escape') as text from connection c
      where connection_id = $1`,
      [stored.connectionId],
    );
    expect(row?.["text"]).toContain(stored.connectionId);
    expect(row?.["text"]).not.toContain(PROVIDER_KEY.slice(0, 12));
    expect(row?.["text"]).not.toContain(Buffer.from(PROVIDER_KEY).toString("hex").slice(0, 24));
  });

  test("cannot be decrypted after its sealed key was copied into another row, or its row to another organization", async () => {
    const theirs = await made((await newOrg()).orgId);
    const thief = await newOrg();
    const own = await made(thief.orgId);
    await backend.query(
      `update connection set sealed_key = (select sealed_key from connection where connection_id = $1)
      where connection_id = $2`,
      [theirs.connectionId, own.connectionId],
    );
    const copied = await found(own.connectionId, thief.orgId);
    expect(() => vault.open(copied.sealedKey, copied)).toThrow(SealedKeyFault);
    await backend.query("update connection set org_id = $1 where connection_id = $2", [
      (await newOrg()).orgId,
      theirs.connectionId,
    ]);
    const moved = await found(theirs.connectionId);
    expect(() => vault.open(moved.sealedKey, moved)).toThrow(SealedKeyFault);
  });
});

describe("an active connection per provider", () => {
  test("is unique for an organization and for each of its keys", async () => {
    const { orgId, keyId } = await newOrg();
    const otherKey = await keyOf(backend, orgId);
    const all = [
      await made(orgId),
      await made(orgId, { keyId }),
      await made(orgId, { keyId: otherKey }),
      await made(orgId, { providerId: "other-ai" as ProviderId }),
    ];
    for (const { keyId: of, providerId } of all) {
      const again = sealed(orgId, { keyId: of, providerId });
      expect(await backend.connectionStore.create(again, testOperator)).toBe("taken");
    }
    expect(await backend.connectionStore.list(orgId)).toEqual(all);
    // Of several connections that are created at once, exactly one is accepted.
    const third = { providerId: "third-ai" as ProviderId };
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () =>
        backend.connectionStore.create(sealed(orgId, third), testOperator),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "taken")).toHaveLength(7);
  });

  test("is refused beyond the maximum of the organization, in which ones disabled in the last 30 days count, even for simultaneous requests", async () => {
    const { orgId } = await newOrg();
    await backend.query(
      `insert into connection
        (connection_id, org_id, provider_id, name, label, sealed_key, disabled_at)
      select $1 || n, $1, 'acme-ai', 'old', 'abcd', '',
        now() - (case when n > $2 then 31 else 29 end) * interval '1 day'
      from generate_series(1, $2::integer + 5) n`,
      [orgId, CONNECTIONS_PER_ORG_MAX - 2],
    );
    const asked = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        backend.connectionStore.create(
          sealed(orgId, { providerId: `p${n}-ai` as ProviderId }),
          testOperator,
        ),
      ),
    );
    expect(asked.filter((outcome) => outcome === "too_many")).toHaveLength(4);
    expect(await backend.connectionStore.list(orgId)).toHaveLength(CONNECTIONS_PER_ORG_MAX + 5);
  });

  test("is not created for an unknown organization, or for another organization's key", async () => {
    const { orgId } = await newOrg();
    const stranger = await newOrg();
    for (const wrong of [
      sealed("org_unknown" as OrgId),
      sealed(orgId, { keyId: "key_unknown" as KeyId }),
      sealed(orgId, { keyId: stranger.keyId }),
    ]) {
      expect(await backend.connectionStore.create(wrong, testOperator)).toBeUndefined();
    }
    expect(await backend.connectionStore.list(orgId)).toEqual([]);
  });
});

test("a disabled connection stays disabled, its key is erased, and a new one can follow", async () => {
  const { orgId } = await newOrg();
  const { connectionId } = await made(orgId);
  const { connectionStore } = backend;
  const disabled = await connectionStore.disable(connectionId, orgId, testOperator);
  expect(disabled?.disabledAtMs).toEqual(expect.any(Number));
  expect(await connectionStore.disable(connectionId, "operator", testOperator)).toEqual(disabled);
  const stored = await found(connectionId, orgId);
  expect(stored).toEqual({ ...disabled, sealedKey: Buffer.alloc(0) });
  const next = await made(orgId, { providerKey: "sk-customer-key-next" });
  expect(await connectionStore.list(orgId)).toEqual([disabled, next]);
});

test("a virtual key uses its own connection before that of its organization", async () => {
  const { orgId, keyId } = await newOrg();
  const otherKey = await keyOf(backend, orgId);
  const ofOrg = await made(orgId);
  const ofKey = await made(orgId, { keyId, providerKey: "sk-of-one-virtual-key" });
  const providerKeyOf = async (virtualKey: KeyId): Promise<string | undefined> => {
    const record = await backend.rulesStore.findKey(virtualKey);
    const connection = record?.rules.connections.find((each) => each.providerId === acme);
    if (connection === undefined) return undefined;
    return vault.open(connection.sealedKey, { ...connection, orgId });
  };
  await made(orgId, { keyId: otherKey, providerId: "other-ai" as ProviderId });
  const { keyId: stranger } = await newOrg();
  expect(await providerKeyOf(keyId)).toBe("sk-of-one-virtual-key");
  expect(await providerKeyOf(otherKey)).toBe(PROVIDER_KEY);
  expect(await providerKeyOf(stranger)).toBeUndefined();
  await backend.connectionStore.disable(ofKey.connectionId, orgId, testOperator);
  expect(await providerKeyOf(keyId)).toBe(PROVIDER_KEY);
  await backend.connectionStore.disable(ofOrg.connectionId, orgId, testOperator);
  expect(await providerKeyOf(keyId)).toBeUndefined();
});

describe("the encryption keys", () => {
  test("can be rotated while stored keys are in use, after which the old one is not needed", async () => {
    const [old, next] = [8, 9].map((byte) => Buffer.alloc(32, byte).toString("base64"));
    const before = vaultOf(String(old));
    const ring = vaultOf(`${next},${old}`);
    const alone = vaultOf(String(next));
    const store = backend.connectionStore;
    const { orgId } = await newOrg();
    const providerIds = ["one", "two", "three"] as ProviderId[];
    for (const providerId of providerIds) {
      await store.create(sealed(orgId, { providerId }, before), testOperator);
    }
    const ids = (await store.list(orgId)).map(({ connectionId }) => connectionId);
    // Connections of other tests are sealed with a key that is not in this ring.
    const isOurs = (id: string): boolean => ids.includes(id);
    const reseal = { isDone: false };
    const opened = (async () => {
      while (!reseal.isDone) {
        for (const id of ids) {
          const stored = await found(id, orgId);
          expect(ring.open(stored.sealedKey, stored)).toBe(PROVIDER_KEY);
        }
      }
    })();
    const first = await resealRows([store], ring, testOperator);
    reseal.isDone = true;
    await opened;
    expect(first).toMatchObject({ resealed: 3, kept: 0 });
    expect(first.unopened.filter(isOurs)).toEqual([]);
    expect(await resealRows([store], ring, testOperator)).toMatchObject({
      resealed: 0,
      kept: 3,
    });
    expect((await countSealedBy([store], ring)).get(String(ring.keyNames[0]))).toBe(3);
    // The second run changed nothing, and so recorded nothing.
    const recorded = "select after from change where action = 'connection.reseal'";
    expect(await backend.query(recorded)).toEqual([{ after: { connections: 3 } }]);
    for (const id of ids) {
      const stored = await found(id, orgId);
      expect(alone.open(stored.sealedKey, stored)).toBe(PROVIDER_KEY);
      expect(() => before.open(stored.sealedKey, stored)).toThrow(SealedKeyFault);
    }
  });

  test("do not overwrite a provider key that was disabled or changed while it was being resealed", async () => {
    const { connectionId } = await made((await newOrg()).orgId);
    const stored = await found(connectionId);
    const store = backend.connectionStore;
    const row = { id: connectionId, context: stored, resealed: Buffer.from("sealed anew") };
    const stale = [{ ...row, sealed: Buffer.from("other") }];
    expect(await store.reseal(stale, testOperator)).toBe(0);
    await store.disable(connectionId, "operator", testOperator);
    expect(await store.reseal([{ ...row, sealed: stored.sealedKey }], testOperator)).toBe(0);
    expect((await found(connectionId)).sealedKey).toEqual(Buffer.alloc(0));
  });
});

function vaultOf(keys: string): KeyVault {
  const opened = openKeyVault(keys);
  assert(opened !== undefined, "the keys are some");
  return opened;
}
