import { withAccount, withGateway, type TestAccount, type TestGateway } from "./gateway.ts";
import { withDatabase } from "./postgres.ts";
import { urlThrough, withProxyTo } from "./tcp-proxy.ts";

/** A gateway that reaches its database through a proxy, for tests of a database that is away. */
export function withGatewayBehindProxy(): {
  readonly proxy: ReturnType<typeof withProxyTo>;
  readonly gateway: TestGateway;
  readonly account: TestAccount;
} {
  const database = withDatabase();
  const proxy = withProxyTo(database);
  const gateway = withGateway(() => ({
    settings: {
      databaseUrl: urlThrough(proxy, database).href,
      orgRequestsPerMinute: 10_000,
      keyRequestsPerMinute: 10_000,
    },
    // A key that was read once stays known, however long the database is away.
    keyCacheMs: 3_600_000,
  }));
  return { proxy, gateway, account: withAccount(gateway, "10") };
}
