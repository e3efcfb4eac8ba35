import { PLAIN_RULES } from "../../src/gateway/accounts/account-rules.ts";
import type { Principal } from "../../src/gateway/accounts/principal.ts";
import type { CallPorts } from "../../src/gateway/call/ports.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";

/** The standing for a program that neither asks for verdicts nor counts what answers break. */
export const TRUSTED_LISTINGS: CallPorts["standing"] = {
  mayRoute: () => true,
  isDistrusted: () => false,
  note: () => undefined,
};

/** The window of refused requests for a program that never fills it. */
export const NO_REFUSAL_WINDOW: CallPorts["refusals"] = {
  leave: () => undefined,
  enter: () => undefined,
  note: () => undefined,
  forget: () => undefined,
};

/** A key of a funded organization, without rules of its own. */
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
