import { describe, expect, test } from "vitest";

import { ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { hasOwnPostgres, startOwnPostgres } from "../../support/own-postgres.ts";
import { runOnce } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { hasPrometheus, startPrometheus } from "../../support/prometheus.ts";
import { startTcpProxy, urlThrough } from "../../support/tcp-proxy.ts";
import { withResource } from "../../support/with-resource.ts";

const HOST = "localhost";

/** A running gateway's database fails over to a standby that lagged behind. */
describe.skipIf(!hasPrometheus || !hasOwnPostgres)(
  "an alert ends when its runbook is followed",
  () => {
    const primary = withResource(() => startOwnPostgres());
    const proxy = withResource(() => startTcpProxy({ host: HOST, port: primary.port }));
    const gateway = withGateway(() => ({
      settings: { databaseUrl: urlThrough(proxy, primary).href },
    }));
    const account = withAccount(gateway, "100");
    const standby = withResource(() => primary.replica());
    const prometheus = withResource(() =>
      startPrometheus([new URL(gateway.running.internalUrl).host], { areShort: true }),
    );

    async function statusOf(text: string): Promise<number> {
      const asked = { key: account.key, wire: "wire_a", model: "test/a", text } as const;
      return (await ask(gateway.url, asked)).status;
    }

    test("TmBooksWentBack: the books are reopened, and the gateway serves without a restart", async () => {
      expect(await statusOf("before the standby fell behind")).toBe(200);
      await standby.stop();
      expect(await statusOf("what the standby never got")).toBe(200);
      await primary.kill();
      await standby.start();
      await runOnce(standby.adminConnectionString, "select pg_promote()");
      proxy.leadTo({ host: HOST, port: standby.port });
      await prometheus.untilFiring("TmBooksWentBack");
      const sent = gateway.simulator.counts().total;
      expect(await statusOf("not while the books are of another time")).toBe(503);
      expect(gateway.simulator.counts().total).toBe(sent);
      const env = { DATABASE_URL: standby.connectionString };
      const reopening = ["ledger", "reopen", "--reason", "the standby lagged"];
      // The command is refused until the leases of all instances have run out.
      await until("reopened", async () => (await runCommand(reopening, env)).code === 0, 60_000);
      expect(await prometheus.untilQuiet("TmBooksWentBack")).toEqual([]);
      expect(await statusOf("after the reopening")).toBe(200);
      expect((await runCommand(["ledger", "audit"], env)).code).toBe(0);
    });
  },
);
