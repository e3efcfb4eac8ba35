import { Client, type ClientBase, type ClientConfig } from "pg";

/**
 * The address of a database with its password, or one whose password is requested when it is used.
 */
export type DatabaseAddress = string | AskedAddress;

interface AskedAddress {
  /** Without a password. */
  readonly url: string;
  /** Asked for each new connection, since it may expire or be rotated. Rejects: none is made. */
  readonly password: () => Promise<string>;
}

/** The options by which a pool connects there. */
export function poolAddress(address: DatabaseAddress): {
  readonly connectionString: string;
  readonly Client?: new () => ClientBase;
} {
  if (typeof address === "string") return { connectionString: address };
  return { connectionString: address.url, Client: askingClient(address) };
}

/** A client for that address, not connected yet. */
export function openClient(
  address: DatabaseAddress,
  config: Omit<ClientConfig, "connectionString" | "password">,
): Client {
  const { connectionString, Client: AskingClient = Client } = poolAddress(address);
  const Made = AskingClient as typeof Client;
  return new Made({ ...config, connectionString });
}

/** The driver takes a function for a password, but not beside an address: the address wins. */
function askingClient({ password }: AskedAddress): typeof Client {
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      (this as { password: unknown }).password = password;
    }
  };
}
