import { describe, expect, test } from "vitest";

import { freePort } from "../../support/free-port.ts";
import { withGateway } from "../../support/gateway.ts";
import { hasOwnPostgres, startOwnPostgres } from "../../support/own-postgres.ts";
import { runOnce } from "../../support/postgres.ts";
import { hasPrometheus, startPrometheus } from "../../support/prometheus.ts";
import { withResource } from "../../support/with-resource.ts";

describe.skipIf(!hasPrometheus || !hasOwnPostgres)("the runbook of", () => {
  const server = withResource(() => startOwnPostgres());
  const port = withResource(
    async () => ({ internal: await freePort() }),
    () => undefined,
  );

  async function archiveBy(command: string): Promise<void> {
    await runOnce(server.adminConnectionString, `alter system set archive_command = '${command}'`);
    await runOnce(server.adminConnectionString, "select pg_reload_conf()");
  }

  const running = withResource(
    async () => {
      await runOnce(server.adminConnectionString, "alter system set archive_mode = on");
      await runOnce(server.adminConnectionString, "alter system set archive_timeout = 5");
      await archiveBy("/bin/false");
      await server.stop();
      await server.start();
      return {};
    },
    () => undefined,
  );
  const gateway = withGateway(() => ({
    settings: { databaseUrl: server.connectionString, internalPort: port.internal },
  }));
  const prometheus = withResource(
    () => startPrometheus([`127.0.0.1:${port.internal}`], { areShort: true }),
    (started) => started.close(),
  );

  test("TmWalNotArchived: the archive can be written again", async () => {
    expect(running).toBeDefined();
    expect(gateway.url).not.toBe("");
    await prometheus.untilAlert("TmWalNotArchived", "fires");
    await archiveBy("/bin/true");
    await prometheus.untilAlert("TmWalNotArchived", "is quiet");
    expect(await prometheus.firing()).not.toContain("TmWalNotArchived");
  });
});
