import { setTimeout as sleep } from "node:timers/promises";

import { expect, onTestFinished, test } from "vitest";

import { ask, at, eventsOf, type HttpAnswer } from "../../support/ask.ts";
import { withSimulator } from "../../support/gateway.ts";
import { hasNginx, startNginx } from "../../support/nginx.ts";
import {
  jsonCommand,
  openAccountByCommands,
  serve,
  withOperatorFolder,
} from "../../support/operator.ts";
import { withDatabase } from "../../support/postgres.ts";
import type { RunningProgram } from "../../support/program.ts";
import { problemsOf, SteadyTraffic } from "../../support/steady-traffic.ts";

const PER_SECOND = 200;
/** Takes about a minute, and so does the stop of the instance that serves it. */
const LONG_STREAM = "[words:75] [[fault:slow:1000]]";
const LONG_MS = 55_000;
/** How soon the balancer notices a stop, and how long the stopping instance waits for that. */
const NOTICED_MS = 3_000;
const DELAY_MS = 6_000;

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const database = withDatabase();

/** Starts an instance, which ends with the test, whether it passes or fails. */
async function up(): Promise<RunningProgram> {
  const program = await serve(folder, {
    DATABASE_URL: database.connectionString,
    LOG_LEVEL: "warn",
    TM_SHUTDOWN_DELAY_MS: String(DELAY_MS),
    TM_SHUTDOWN_GRACE_MS: "120000",
    TM_LIMITS_ORG_REQUESTS_PER_MINUTE: "10000000",
    TM_LIMITS_KEY_REQUESTS_PER_MINUTE: "10000000",
    TM_LIMITS_TOKENS_PER_MINUTE: "1000000000",
    TM_LIMITS_CONCURRENT_REQUESTS: "10000",
  });
  onTestFinished(() => void program.process.kill("SIGKILL"));
  return program;
}

function urlOf(program: RunningProgram): string {
  return String(program.ready["gateway_url"]);
}

test.skipIf(!hasNginx)(
  "two instances that restart in turn behind nginx refuse no request and cut no stream",
  async () => {
    const first = await up();
    const second = await up();
    const env = { DATABASE_URL: database.connectionString };
    const { key } = await openAccountByCommands([], "1000.00", env);
    const nginx = await startNginx([urlOf(first), urlOf(second)]);
    onTestFinished(() => nginx.close());
    const asked = { key, wire: "wire_a", model: "op/model", stream: true } as const;
    const beganMs = performance.now();
    const streams = [first, second].map((each) =>
      ask(urlOf(each), { ...asked, text: LONG_STREAM, maxTokens: 1_000 }),
    );
    const whole = Promise.all(streams);
    // It is awaited below. If the test fails before that, its rejection must not stay unhandled.
    whole.catch(() => undefined);
    const load = new SteadyTraffic(PER_SECOND, () =>
      ask(nginx.url, { key, wire: "wire_a", model: "op/model", text: "a" }),
    );

    const ended: Promise<number | null>[] = [];
    const restart = async (old: RunningProgram, other: RunningProgram): Promise<RunningProgram> => {
      await sleep(2_000);
      ended.push(old.end("SIGTERM"));
      await sleep(NOTICED_MS);
      nginx.balance([urlOf(other)]);
      await sleep(DELAY_MS);
      const fresh = await up();
      nginx.balance([urlOf(other), urlOf(fresh)]);
      return fresh;
    };
    const third = await restart(first, second);
    const fourth = await restart(second, third);
    await sleep(2_000);

    const sent = await load.stop();
    const logs = [first, second, third, fourth].map((program) => program.stderr());
    expect(problemsOf(sent), logs.join("\n")).toEqual([]);
    // A busy machine sends fewer requests than planned; it matters that none was refused.
    expect(sent.length).toBeGreaterThan(5 * PER_SECOND);
    for (const stream of await whole) {
      expect(contentOf(stream)).toContain("word75");
      expect(stream.text).toContain("data: [DONE]");
    }
    expect(performance.now() - beganMs).toBeGreaterThan(LONG_MS);
    expect(await Promise.all(ended)).toEqual([0, 0]);
    expect((await jsonCommand(["ledger", "audit"], env)).json).toMatchObject({ ok: true });
    for (const program of [third, fourth]) expect(await program.end("SIGTERM")).toBe(0);
  },
);

function contentOf({ text }: HttpAnswer): string {
  const pieces = eventsOf(text).map(({ json }) => at(json, "choices", 0, "delta", "content"));
  return pieces.filter((piece) => typeof piece === "string").join("");
}
