import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { limitScopes, type LimitedKey } from "../../src/gateway/limits/effective-limits.ts";
import { orgSlot, tokenCount } from "../../src/gateway/limits/limit-store.ts";
import { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";
import { runs } from "../support/depth.ts";

/*
 * The rule for organizations without credit is a matter of scopes and store together: twenty for
 * what is not exempt, everything of its own limits for what is.
 */

const orgId = "org_1" as OrgId;
const OWN_LIMIT = 40;
const UNFUNDED = 20;
const START_MS = 1_000_000;

const unfunded: LimitedKey = {
  orgId,
  keyId: "key_1" as KeyId,
  keyOrigin: "console",
  requestsPerMinuteCeiling: OWN_LIMIT,
  funded: false,
  rules: { limits: [] },
};

test("exempt requests are refused by the key's limit only, all others at twenty a minute", () => {
  const scopesOf = limitScopes();
  const requests = fc.array(fc.boolean(), { minLength: 30, maxLength: 80 });
  fc.assert(
    fc.property(requests, (isExempt) => {
      const store = new MemoryLimitStore();
      let exempt = 0;
      let others = 0;
      for (const ownKeysOnly of isExempt) {
        const outcome = store.claim({
          orgId,
          slot: orgSlot(orgId),
          scopes: scopesOf(unfunded, { ownKeysOnly }),
          ...tokenCount(1, 1),
          nowMs: START_MS,
        });
        const hasRoom = exempt + others < OWN_LIMIT;
        const expected = hasRoom && (ownKeysOnly || others < UNFUNDED);
        const limit = hasRoom ? UNFUNDED : OWN_LIMIT;
        const refused = { kind: "refused", scope: "key", id: "key:key_1", limit };
        expect(outcome).toMatchObject(expected ? { kind: "claimed" } : refused);
        if (outcome.kind !== "claimed") continue;
        store.release(outcome.lease, tokenCount(1, 1), START_MS);
        if (ownKeysOnly) exempt += 1;
        else others += 1;
      }
    }),
    { numRuns: runs(50) },
  );
});

test("the Playground key does not use up the organization's unfunded limit", () => {
  const scopesOf = limitScopes();
  const store = new MemoryLimitStore();
  const playground = {
    ...unfunded,
    keyId: "key_2" as KeyId,
    keyOrigin: "playground",
    requestsPerMinuteCeiling: 60,
  } as const;
  const granted = (key: LimitedKey, count: number): number => {
    let claimed = 0;
    for (let n = 0; n < count; n += 1) {
      const outcome = store.claim({
        orgId,
        slot: orgSlot(orgId),
        scopes: scopesOf(key),
        ...tokenCount(1, 1),
        nowMs: START_MS,
      });
      if (outcome.kind !== "claimed") continue;
      claimed += 1;
      store.release(outcome.lease, tokenCount(1, 1), START_MS);
    }
    return claimed;
  };
  expect(granted(playground, 50)).toBe(50);
  expect(granted(unfunded, 50)).toBe(UNFUNDED);
  expect(granted({ ...unfunded, keyId: "key_3" as KeyId }, 50)).toBe(0);
  expect(granted(playground, 50)).toBe(10);
});
