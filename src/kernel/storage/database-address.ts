import { Client, type ClientBase, type ClientConfig } from "pg";

/**
 * A connection string that contains its password, or a URL with a function that reads the password
 * for each new connection.
 */
export type DatabaseAddress = string | AskedAddress;

interface AskedAddress {
  /** The connection string, without a password. */
  readonly url: string;
  /** Called for each new connection, because the password may expire. */
  readonly password: () => Promise<string>;
}

export function poolAddress(address: DatabaseAddress): {
  readonly connectionString: string;
  readonly Client?: new () => ClientBase;
} {
  if (typeof address === "string") return { connectionString: address };
  return { connectionString: address.url, Client: askingClient(address) };
}

/** Returns a client that is not connected yet. */
export function openClient(
  address: DatabaseAddress,
  config: Omit<ClientConfig, "connectionString" | "password">,
): Client {
  const { connectionString, Client: AskingClient = Client } = poolAddress(address);
  const Made = AskingClient as typeof Client;
  return new Made({ ...config, connectionString });
}

/** The driver ignores a password function if it also gets a connection string. */
function askingClient({ password }: AskedAddress): typeof Client {
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      (this as { password: unknown }).password = password;
    }
  };
}
