import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect, test } from "vitest";

import { systemClock } from "../../../src/kernel/core/time.ts";
import { ask, type Ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { freePort } from "../../support/free-port.ts";
import { startTestGateway, withAccount, withGateway } from "../../support/gateway.ts";
import { serve, withOperatorFolder } from "../../support/operator.ts";
import { startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { asAdmin, runOnce, withDatabase } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { hasPrometheus, startPrometheus } from "../../support/prometheus.ts";
import { redisProgram, startRedis } from "../../support/redis.ts";
import { SteadyTraffic } from "../../support/steady-traffic.ts";
import { urlThrough, withProxyTo } from "../../support/tcp-proxy.ts";
import { withResource } from "../../support/with-resource.ts";

const PARTITIONS_AHEAD = `do $$ declare v record; begin
  for v in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'attempt'::regclass
      and c.relname > 'attempt_' || to_char(now() at time zone 'utc' + interval '1 day', 'YYYYMMDD')
  loop execute format('drop table %I', v.relname); end loop; end $$`;

/** Causes each fault, waits for its alert, follows the runbook, and waits for the alert's end. */
describe.skipIf(!hasPrometheus || redisProgram === undefined)(
  "an alert ends when its runbook is followed",
  () => {
    const database = withDatabase();
    const proxy = withProxyTo(database);
    const redis = withResource(() => startRedis());
    const ports = withResource(async () => {
      return { internal: await freePort(), second: await freePort(), otlp: await freePort() };
    });
    const settings = { orgRequestsPerMinute: 100_000, keyRequestsPerMinute: 100_000 };
    const gateway = withGateway(() => ({
      settings: {
        ...settings,
        databaseUrl: urlThrough(proxy, database).href,
        redisUrl: redis.url,
        internalPort: ports.internal,
      },
      keyCacheMs: 3_600_000,
    }));
    const account = withAccount(gateway, "1000", { requestsPerMinute: 100_000 });
    const operated = withOperatorFolder({
      get url() {
        return gateway.simulator.url;
      },
    });
    const prometheus = withResource(() => {
      const addresses = [ports.internal, ports.second].map((port) => `127.0.0.1:${port}`);
      return startPrometheus(addresses, { areShort: true });
    });

    let sent = 0;
    function asked(fault = "", model = "test/a"): Ask {
      sent += 1;
      const text = fault === "" ? `call ${sent}` : `call ${sent} [[fault:${fault}]]`;
      return { key: account.key, wire: "wire_a", model, text };
    }

    /** Sends traffic while `work` runs. */
    async function under<T>(next: () => Ask, work: () => Promise<T>): Promise<T> {
      const traffic = new SteadyTraffic(5, () => ask(gateway.url, next()));
      try {
        return await work();
      } finally {
        await traffic.stop();
      }
    }

    async function during(next: () => Ask, name: string): Promise<void> {
      await under(next, () => prometheus.untilFiring(name));
    }

    async function audit(): Promise<number | null> {
      const env = { DATABASE_URL: database.connectionString };
      return (await runCommand(["ledger", "audit"], env)).code;
    }

    test("TmReservesFail, TmErrorBudgetFast, TmErrorBudgetSlow, TmSettlementsPending: the database restarts", async () => {
      const running = ask(gateway.url, { ...asked("slow:1500"), stream: true });
      await under(
        () => asked(),
        async () => {
          await sleep(1_000);
          proxy.set("down");
          const budgets = ["TmErrorBudgetFast", "TmErrorBudgetSlow"];
          const alerts = ["TmReservesFail", ...budgets, "TmSettlementsPending"];
          await prometheus.untilFiring(...alerts);
          // The alert fires for as long as the fault lasts, although no batch is tried any more.
          await sleep(15_000);
          await prometheus.untilFiring("TmReservesFail");
          proxy.set("up");
          expect(await prometheus.untilQuiet(...alerts)).toEqual([]);
        },
      );
      await running;
    });

    test("TmLimitStoreDown: the limit store restarts, empty", async () => {
      await redis.kill();
      await during(() => asked(), "TmLimitStoreDown");
      await redis.restart();
      expect(await prometheus.untilQuiet("TmLimitStoreDown")).toEqual([]);
    });

    test.each([
      ["TmModelDown", "answers", "status:500", "test/a"],
      ["TmUsageMissing", "reports usage", "no_usage", "test/both"],
    ])("%s: the provider %s again", async (alert, _again, fault, model) => {
      await during(() => asked(fault, model), alert);
      const ended = await under(
        () => asked("", model),
        () => prometheus.untilQuiet(alert),
      );
      expect(ended).toEqual([]);
    });

    test("TmReloadFailed: the manifest is repaired", async () => {
      const folder = gateway.config.manifestsDir;
      const file = join(folder, readdirSync(folder)[0] ?? "");
      const whole = readFileSync(file, "utf8");
      writeFileSync(file, "{");
      await prometheus.untilFiring("TmReloadFailed");
      expect((await runCommand(["manifest", "check", file])).code).toBe(1);
      writeFileSync(file, whole);
      expect((await runCommand(["manifest", "check", file])).code).toBe(0);
      expect(await prometheus.untilQuiet("TmReloadFailed")).toEqual([]);
    });

    test("TmBooksBroken: the changed row is restored, and the books are audited", async () => {
      const admin = await asAdmin(database);
      const change = (sign: string): Promise<void> =>
        runOnce(
          admin,
          `set session_replication_role = replica; update account set credits = credits ${sign} 7
         where org_id = '${account.orgId}'`,
        );
      expect(await audit()).toBe(0);
      await change("+");
      expect(await audit()).toBe(1);
      await prometheus.untilFiring("TmBooksBroken");
      await change("-");
      expect(await audit()).toBe(0);
      expect(await prometheus.untilQuiet("TmBooksBroken")).toEqual([]);
    });

    test("TmAuditOld: the books are audited", async () => {
      await runOnce(
        database.connectionString,
        "update audit_result set ended_at = now() - interval '27 hours'",
      );
      await prometheus.untilFiring("TmAuditOld");
      expect(await audit()).toBe(0);
      expect(await prometheus.untilQuiet("TmAuditOld")).toEqual([]);
    });

    test("TmEventLoopBusy: the load stops", async () => {
      const load = new AbortController();
      const burning = (async () => {
        while (!load.signal.aborted) {
          const endMs = systemClock.monotonicMs() + 190;
          while (systemClock.monotonicMs() < endMs);
          await sleep(1);
        }
      })();
      await prometheus.untilFiring("TmEventLoopBusy");
      load.abort();
      await burning;
      expect(await prometheus.untilQuiet("TmEventLoopBusy")).toEqual([]);
    });

    test("TmCatalogsDiffer, TmSeriesFolded, TmSpansDropped: the span receiver starts, and the odd instance stops", async () => {
      const start = (more: object): ReturnType<typeof startTestGateway> =>
        startTestGateway({
          settings: {
            ...settings,
            internalPort: ports.second,
            telemetryTracesEndpoint: `http://127.0.0.1:${ports.otlp}/v1/traces`,
            telemetrySamplePerMillion: 1_000_000,
            ...more,
          },
        });
      const odd = await start({ metricsListingsMax: 1 });
      const other = await odd.account("100", { requestsPerMinute: 100_000 });
      const send = (): Promise<unknown> => {
        const model = sent % 2 === 0 ? "test/a" : "test/both";
        return ask(odd.url, { ...asked("", model), key: other.key });
      };
      const timer = setInterval(() => void send().catch(() => undefined), 200);
      await prometheus.untilFiring("TmCatalogsDiffer", "TmSeriesFolded", "TmSpansDropped");
      const receiver = await startOtlpReceiver({ port: ports.otlp });
      expect(await prometheus.untilQuiet("TmSpansDropped")).toEqual([]);
      clearInterval(timer);
      await receiver.close();
      await odd.close();
      expect(await prometheus.untilQuiet("TmCatalogsDiffer", "TmSeriesFolded")).toEqual([]);
    });

    test("TmOverrun: the provider reports no more usage above the bound", async () => {
      const dear = 'usage:{"prompt_tokens":190000}';
      await during(() => asked(dear), "TmOverrun");
      expect(await prometheus.untilQuiet("TmOverrun")).toEqual([]);
    });

    test("TmChargedUnknown: the alert ends by itself, and the books balance", async () => {
      const doomed = await serve(operated, { DATABASE_URL: database.connectionString });
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

    test("TmNoInstance: an instance starts again", async () => {
      await gateway.running.close();
      await prometheus.untilFiring("TmNoInstance");
      const again = await startTestGateway({ settings: { internalPort: ports.internal } });
      expect(await prometheus.untilQuiet("TmNoInstance")).toEqual([]);
      await again.close();
    });
  },
);
