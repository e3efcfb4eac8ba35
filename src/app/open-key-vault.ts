import { type KeyVault, openKeyVault } from "../accounts/index.ts";
import type { OwnKey } from "../catalog/index.ts";
import type { Config, LiveConfig } from "../config/index.ts";

/** The vault of customers' own provider keys; undefined: none is configured, so there are none. */
export function openConfiguredVault(config: Pick<Config, "encryptionKey">): KeyVault | undefined {
  return openKeyVault(config.encryptionKey);
}

/** The vault of the encryption keys in force. */
export interface LiveVault {
  readonly current: KeyVault | undefined;
}

/** How dispatch opens the key of a customer's own; it throws when it does not open. */
export function ownKeyOpener(vault: KeyVault): (ownKey: OwnKey) => string {
  return (ownKey) => vault.open(ownKey.sealedKey, ownKey);
}

/** Keys that are sealed or opened from now on are so by the encryption keys of the moment. */
export function followVault(live: LiveConfig): LiveVault {
  let current = openConfiguredVault(live.current);
  live.follow(["encryptionKey"], (values) => {
    const next = openConfiguredVault(values);
    return () => {
      current = next;
    };
  });
  return {
    get current() {
      return current;
    },
  };
}
