import { randomBytes } from "node:crypto";

import type { KeyVault } from "../../gateway/index.ts";
import type { OrgId } from "../../kernel/index.ts";

const RANDOM_BYTES = 32;

/** Whose secret it is: it opens for these two alone. */
export interface SecretOwner {
  readonly destinationId: string;
  readonly orgId: OrgId;
}

/** A new secret, in the form in which the customer is shown it once. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(RANDOM_BYTES).toString("base64")}`;
}

export function sealSecret(vault: KeyVault, secret: string, owner: SecretOwner): Buffer {
  return vault.seal(secret, contextOf(owner));
}

/** Throws a `SealedKeyFault` when it was not sealed for this destination or its key is gone. */
export function openSecret(vault: KeyVault, sealed: Buffer, owner: SecretOwner): string {
  return vault.open(sealed, contextOf(owner));
}

/** The name of the encryption key that opens it; undefined: none of them does. */
export function secretSealedBy(
  vault: KeyVault,
  sealed: Buffer,
  owner: SecretOwner,
): string | undefined {
  return vault.sealedBy(sealed, contextOf(owner));
}

/** Ids of destinations begin otherwise than those of connections, so neither opens as the other. */
function contextOf({ destinationId, orgId }: SecretOwner): Parameters<KeyVault["open"]>[1] {
  return { connectionId: destinationId, orgId, providerId: "webhook" };
}
