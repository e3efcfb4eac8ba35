import { PLAIN_RULES } from "../../src/gateway/accounts/account-rules.ts";
import type { Principal } from "../../src/gateway/accounts/principal.ts";
import type { CallPorts } from "../../src/gateway/call/ports.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";

/** For a program that neither asks for verdicts nor counts broken answers. */
export const TRUSTED_LISTINGS: CallPorts["standing"] = {
  mayRoute: () => true,
  isDistrusted: () => false,
  note: () => undefined,
};

/** For a program that never fills the window of refused requests. */
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
