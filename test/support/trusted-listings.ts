import type { CallPorts } from "../../src/gateway/call/ports.ts";

/** The standing for a program that neither asks for verdicts nor counts what answers break. */
export const TRUSTED_LISTINGS: CallPorts["standing"] = {
  mayRoute: () => true,
  isDistrusted: () => false,
  note: () => undefined,
};
