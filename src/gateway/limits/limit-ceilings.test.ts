import { describe, expect, test } from "vitest";
import type { KeyId } from "../../kernel/core/ids.ts";
import { SPECIFIED_LIMITS } from "./effective-limits.ts";
import { type CeilingKey, keyCeilings, orgCeilings, type StoredLimit } from "./limit-ceilings.ts";

const keyId = "key_1" as KeyId;
const DEFAULTS = { requestsPerMinute: 300, tokensPerMinute: 1_000_000, concurrent: 8 };

function keyWith(...limits: readonly StoredLimit[]): CeilingKey {
  return { keyId, requestsPerMinuteCeiling: 60, rules: { limits } };
}

describe("the most a customer may set", () => {
  test("is the key's ceiling and the default limits, even if a lower limit was set", () => {
    const key = keyWith({ source: "self", scope: "key", keyId, requestsPerMinute: 5 });
    const ceilings = keyCeilings(key, undefined, SPECIFIED_LIMITS);
    expect(ceilings).toEqual({ ...DEFAULTS, requestsPerMinute: 60 });
    expect(orgCeilings(key.rules.limits, undefined, SPECIFIED_LIMITS)).toEqual(DEFAULTS);
  });

  test("is the configured limit of requests per minute, if the operator has set one", () => {
    const defaults = { ...SPECIFIED_LIMITS, keyRequestsPerMinute: 5_000 };
    expect(keyCeilings(keyWith(), undefined, defaults).requestsPerMinute).toBe(5_000);
  });

  test("is the contract's limit for this key, or else for all keys; for an organization its own", () => {
    const ofOrg: StoredLimit = { source: "contract", scope: "org", tokensPerMinute: 9 };
    const ofKeys: StoredLimit = { source: "contract", scope: "key", requestsPerMinute: 7 };
    const ofKey: StoredLimit = { ...ofKeys, keyId, requestsPerMinute: 8 };
    const other: StoredLimit = { ...ofKeys, keyId: "key_2" as KeyId, concurrent: 1 };
    const ceilings = keyCeilings(keyWith(ofOrg, ofKeys, ofKey, other), undefined, SPECIFIED_LIMITS);
    expect(ceilings).toEqual({ ...DEFAULTS, requestsPerMinute: 8 });
    const org = orgCeilings([ofOrg, ofKeys], undefined, SPECIFIED_LIMITS);
    expect(org).toEqual({ ...DEFAULTS, tokensPerMinute: 9 });
  });

  test("of a model is that of its key or organization, unless a contract names the model", () => {
    const model = { source: "contract", scope: "model", modelId: "acme/m" } as const;
    const ofOrg: StoredLimit = { ...model, requestsPerMinute: 3 };
    const ofKey: StoredLimit = { ...model, keyId, concurrent: 2 };
    const key = keyWith(ofOrg, ofKey);
    const ceilingsOf = (modelId: string): object => keyCeilings(key, modelId, SPECIFIED_LIMITS);
    expect(ceilingsOf("acme/m")).toEqual({ ...DEFAULTS, requestsPerMinute: 60, concurrent: 2 });
    expect(ceilingsOf("acme/other")).toEqual({ ...DEFAULTS, requestsPerMinute: 60 });
    const org = orgCeilings(key.rules.limits, "acme/m", SPECIFIED_LIMITS);
    expect(org).toEqual({ ...DEFAULTS, requestsPerMinute: 3 });
  });
});
