import { PLAIN_RULES } from "../../src/gateway/accounts/account-rules.ts";
import type { Principal } from "../../src/gateway/accounts/principal.ts";
import type { CallPorts } from "../../src/gateway/call/ports.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";

export const TRUSTED_LISTINGS: CallPorts["standing"] = {
  mayRoute: () => true,
  isDistrusted: () => false,
  note: () => undefined,
};

export const NO_REFUSAL_WINDOW: CallPorts["refusals"] = {
  leave: () => undefined,
  enter: () => undefined,
  note: () => undefined,
  forget: () => undefined,
};

/** Returns a principal of a funded organization, whose key has no rules. */
export function plainPrincipal(org: string, key: string): Principal {
  return {
    orgId: org as OrgId,
    keyId: key as KeyId,
    keyOrigin: "console",
    requestsPerMinuteCeiling: 300,
    funded: true,
    managed: false,
    rules: PLAIN_RULES,
  };
}
