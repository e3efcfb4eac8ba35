import { describe, expect, test } from "vitest";

import { ask, type Ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { freePort } from "../../support/free-port.ts";
import { startTestGateway, withAccount, withGateway } from "../../support/gateway.ts";
import { serve, withOperatorFolder } from "../../support/operator.ts";
import { asAdmin, runOnce, withDatabase } from "../../support/postgres.ts";
import { hasPrometheus, startPrometheus } from "../../support/prometheus.ts";
import { SteadyTraffic } from "../../support/steady-traffic.ts";
import { withResource } from "../../support/with-resource.ts";

const PARTITIONS_AHEAD = `do $$ declare v record; begin
  for v in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'attempt'::regclass
      and c.relname > 'attempt_' || to_char(now() at time zone 'utc' + interval '1 day', 'YYYYMMDD')
  loop execute format('drop table %I', v.relname); end loop; end $$`;

/** Faults around the books and the providers' bills. */
describe.skipIf(!hasPrometheus)("an alert ends when its runbook is followed", () => {
  const database = withDatabase();
  const port = withResource(
    async () => ({ internal: await freePort() }),
    () => undefined,
  );
  const gateway = withGateway(() => ({
    settings: {
      databaseUrl: database.connectionString,
      internalPort: port.internal,
      orgRequestsPerMinute: 100_000,
      keyRequestsPerMinute: 100_000,
    },
  }));
  const account = withAccount(gateway, "1000", { requestsPerMinute: 100_000 });
  const folder = withOperatorFolder({
    get url() {
      return gateway.simulator.url;
    },
  });
  const prometheus = withResource(
    () => startPrometheus([`127.0.0.1:${port.internal}`], { areShort: true }),
    (server) => server.close(),
  );

  let sent = 0;
  function asked(fault: string, model = "test/a"): Ask {
    sent += 1;
    const text = fault === "" ? `call ${sent}` : `call ${sent} [[fault:${fault}]]`;
    return { key: account.key, wire: "wire_a", model, text };
  }

  test("TmOverrun: the provider respects the bounds again", async () => {
    const dear = 'usage:{"prompt_tokens":190000}';
    const traffic = new SteadyTraffic(5, () => ask(gateway.url, asked(dear)));
    await prometheus.untilFiring("TmOverrun");
    await traffic.stop();
    expect(await prometheus.untilQuiet("TmOverrun")).toEqual([]);
  });

  test("TmChargedUnknown: the alert ends by itself, and the books balance", async () => {
    const doomed = await serve(folder, { DATABASE_URL: database.connectionString });
    const url = String(doomed.ready["gateway_url"]);
    const before = gateway.simulator.counts().total;
    const lost = ask(url, asked("hold", "op/model")).catch(() => undefined);
    await until("it is sent", () => gateway.simulator.counts().total > before);
    await doomed.end("SIGKILL");
    await lost;
    await prometheus.untilFiring("TmChargedUnknown");
    expect(await prometheus.untilQuiet("TmChargedUnknown")).toEqual([]);
    const checks = await gateway.backend.audit();
    expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
  });

  test("TmPartitionsEnd: a gateway starts and makes the missing tables", async () => {
    await runOnce(await asAdmin(database), PARTITIONS_AHEAD);
    await prometheus.untilFiring("TmPartitionsEnd");
    const started = await startTestGateway({
      settings: { databaseUrl: database.connectionString },
    });
    expect(await prometheus.untilQuiet("TmPartitionsEnd")).toEqual([]);
    await started.close();
  });
});
