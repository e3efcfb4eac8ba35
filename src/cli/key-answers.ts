import type { KeySummary } from "../accounts/index.ts";
import { capsInUsd } from "../core/index.ts";
import { UsageFault } from "./command-context.ts";

/** The same sentence wherever a key id is unknown. */
export function noSuchKey(keyId: string): UsageFault {
  return new UsageFault(`there is no key ${keyId}; \`tokenmarket key list\` has the ids`);
}

/** A key as every command answers it. */
export function shownKey(key: KeySummary): object {
  return {
    key_id: key.keyId,
    label: key.label,
    org_id: key.orgId,
    name: key.name,
    rpm: key.requestsPerMinuteCeiling,
    ...capsInUsd(key.caps),
    created_at: new Date(key.createdAtMs).toISOString(),
    disabled_at: instantOrNull(key.disabledAtMs),
    expires_at: instantOrNull(key.expiresAtMs),
    models: key.models,
    tags: key.tags,
  };
}

export function instantOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
