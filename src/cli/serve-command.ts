import { existsSync } from "node:fs";
import { join } from "node:path";
import { format } from "node:util";

import { type Command, Option } from "commander";

import {
  checkPorts,
  type Listener,
  listListeners,
  type Logging,
  openBackend,
  openLogFile,
  type RunningGateway,
  type SettingsSource,
  SHIPPED_MANIFESTS,
} from "../app/index.ts";
import {
  type Config,
  EMBEDDED_CONNECTIONS_KEPT,
  EMBEDDED_CONNECTIONS_MAX,
  type Logger,
  OTHER_CONNECTIONS_MAX,
  SETTINGS,
} from "../kernel/index.ts";
import { chooseSignInKind } from "../account/index.ts";
import {
  clock,
  type CommandContext,
  findSettingsFile,
  type Flags,
  OPTIONS,
  readConfig,
  readWhole,
  reportFault,
  UsageFault,
} from "./command-context.ts";
import { checkRefreshSettings, startRefreshes } from "./refresh-schedule.ts";
import { runToEnd, type Serving } from "./run-to-end.ts";
import { announceReady, type ReadyLine, superviseWorkers, workerNumber } from "./workers.ts";
import { openCommandLogging } from "./with-backend.ts";

export function addServeCommands(program: Command, context: CommandContext): void {
  addServerOptions(program.command("serve"))
    .description("run the gateway")
    .action((flags: Flags) => serveWithWorkers(context, flags));
  addServerOptions(program.command("dev"))
    .description("run the gateway with a simulated provider and a key with test credit")
    .addOption(
      new Option("--log <where>", "log lines: a file in the data folder, or JSON on standard error")
        .choices(["file", "json"])
        .default("file"),
    )
    .action((flags: Flags) => {
      const settings = serverSettings(flags, developmentConfig, { allowPrivateUpstreams: true });
      return runToEnd(context, settings, (config) => {
        if (readWorkers(flags) > 1) throw new UsageFault("--workers: dev runs one process");
        const logFile = flags["log"] === "json" ? undefined : join(config.dataDir, LOG_FILE);
        return startServer(context, config, settings, { logFile });
      });
    });
}

const LOG_FILE = "dev.log";

/** A server's settings, read at the start and at each reload. `change` is applied every time. */
function serverSettings(
  flags: Flags,
  change: (config: Config) => Config = (config) => config,
  forced?: Parameters<typeof readConfig>[2],
): SettingsSource {
  return {
    file: findSettingsFile(flags),
    read: (secrets) => change(readConfig({ secrets }, flags, forced)),
  };
}

/** The credit of a new account in development, where credit is test money. */
const DEVELOPMENT_WELCOME_USD = "1.00";

/** Uses the package's manifests, with the simulated provider, if there is no manifests folder. */
function developmentConfig(config: Config): Config {
  const { manifestsDir: named, welcomeUsd } = config;
  const isOwn = named !== SETTINGS.manifestsDir.fallback || existsSync(named);
  const manifestsDir = isOwn ? named : SHIPPED_MANIFESTS;
  return { ...config, manifestsDir, welcomeUsd: welcomeUsd || DEVELOPMENT_WELCOME_USD };
}

export async function serveHere(
  context: CommandContext,
  flags: Flags,
  settings: SettingsSource = serverSettings(flags),
): Promise<void> {
  await runToEnd(context, settings, (config) => startServer(context, config, settings));
}

function addServerOptions(command: Command): Command {
  return command
    .option(...OPTIONS.config)
    .option("--port <n>", "gateway port (default 8080; 0: any free one)")
    .option("--console-port <n>", "console port (default 8081; 0: any free one)")
    .option("--internal-port <n>", "internal port (default 8082; 0: any free one)")
    .option("--host <address>", "address to listen on (default 127.0.0.1)")
    .option(...OPTIONS.data)
    .option(...OPTIONS.manifests)
    .addOption(new Option("--workers <n>", "processes that share the port").default("1"))
    .option("--json", "accepted; the ready line is always JSON");
}

function readWorkers(flags: Flags): number {
  return readWhole(flags, "workers", { min: 1, max: 256 }) ?? 1;
}

/** With several workers, this process only supervises them. */
async function serveWithWorkers(context: CommandContext, flags: Flags): Promise<void> {
  const number = workerNumber();
  if (number !== undefined) {
    const settings = serverSettings(flags, (config) => workerConfig(config, number));
    return await serveHere(context, flags, settings);
  }
  try {
    if (readWorkers(flags) > 1) return await runWorkers(context, flags);
    await serveHere(context, flags);
  } catch (fault) {
    reportFault(context, fault);
    context.setExitCode(2);
  }
}

async function runWorkers(context: CommandContext, flags: Flags): Promise<void> {
  const config = readConfig(context, flags);
  if (config.redisUrl === "") {
    throw new UsageFault(
      "--workers: several processes share their limits in Redis; set REDIS_URL, or run one",
    );
  }
  const count = readWorkers(flags);
  checkConnections(config, count);
  await checkPorts(workerListeners(config, count));
  const logging = openCommandLogging(context, config);
  const { log } = logging;
  const onReady = (lines: readonly ReadyLine[]): void => announceAll(context, logging, lines);
  context.setExitCode(await superviseWorkers({ count, log, clock, onReady }));
  logging.flush();
}

/** Refuses more workers than the embedded PostgreSQL has connections for: they would fail later. */
function checkConnections({ databaseUrl, databasePoolMax }: Config, count: number): void {
  if (databaseUrl !== "") return;
  const perProcess = databasePoolMax + OTHER_CONNECTIONS_MAX;
  const most = Math.floor((EMBEDDED_CONNECTIONS_MAX - EMBEDDED_CONNECTIONS_KEPT) / perProcess);
  if (count <= most) return;
  throw new UsageFault(
    `--workers: the embedded PostgreSQL has connections for at most ${Math.max(1, most)} processes with ` +
      `${perProcess} each; run fewer, lower database.pool_max, or set DATABASE_URL`,
  );
}

function workerConfig(config: Config, number: number): Config {
  const { internalPort } = config;
  return { ...config, internalPort: internalPort === 0 ? 0 : internalPort + number };
}

function workerListeners(config: Config, count: number): readonly Listener[] {
  const { gateway, console } = listListeners(config);
  const numbers = Array.from({ length: count }, (_, number) => number);
  const internals = numbers.map((each) => listListeners(workerConfig(config, each)).internal);
  return [gateway, console, ...internals];
}

/** Starts a gateway. `dev` adds the development parts, and logs to its `logFile` if it has one. */
async function startServer(
  io: CommandContext,
  config: Config,
  settings: SettingsSource,
  dev?: { readonly logFile: string | undefined },
): Promise<Serving> {
  const { env, secrets, stdout } = io;
  const isDevelopment = dev !== undefined;
  const number = workerNumber();
  if (!isDevelopment) checkRefreshSettings(config);
  // Workers do not check the ports: the supervisor did, and other workers may already use them.
  if (number === undefined) await checkPorts(Object.values(listListeners(config)));
  const logFile = dev?.logFile;
  const context = logFile === undefined ? io : { ...io, stderr: openLogFile(logFile) };
  const logging = openCommandLogging(context, config);
  const { log, hide } = logging;
  const stopWarnings = logWarnings(log);
  if (isDevelopment) {
    stdout.write("Token Market: starting PostgreSQL, the simulated provider, the gateway…\n");
  }
  // `dev` migrates even if `autoMigrate` is false, so that it starts with one command.
  const schema = isDevelopment || config.autoMigrate ? "migrate" : "check";
  const backend = await openBackend({ config, log, hide, schema, isDatabaseKeptUp: true });
  const end = async (): Promise<void> => {
    await backend.close();
    stopWarnings();
  };
  try {
    // Only servers need the console and its dependencies.
    const { openGateway } = await import("../app/open-gateway.ts");
    const development = isDevelopment
      ? await (await import("./dev-setup.ts")).prepareDevelopment(config, backend)
      : undefined;
    const options = { config, settings, env, secrets, clock, log, hide, backend };
    const gateway = await openGateway({ ...options, ...development?.parts });
    if (!isDevelopment) announceParts(log, config, backend.dataDir);
    // All workers share the manifests folder, so only the first worker refreshes it.
    const isFirst = !isDevelopment && (number ?? 0) === 0;
    const { changeLog } = backend;
    const refreshes = isFirst ? startRefreshes({ config, clock, log, changeLog }) : undefined;
    announce(context, logging, gateway);
    const welcome = await development?.welcome(gateway, logFile);
    // The log is written in batches. Without this flush, earlier lines would appear after the
    // welcome text.
    logging.flush();
    if (welcome !== undefined) stdout.write(welcome);
    return {
      gateway,
      close: async () => {
        await refreshes?.close();
        await gateway.close();
        await development?.close();
        await end();
        log.info("stopped");
        logging.flush();
      },
    };
  } catch (fault) {
    await end();
    logging.flush();
    throw fault;
  }
}

/** Logs the data folder, and the parts that are off because a setting is missing. */
function announceParts(log: Logger, config: Config, dataDir: string | undefined): void {
  if (dataDir !== undefined) log.info({ data: dataDir }, "embedded PostgreSQL");
  const off = (setting: string, what: string): void => log.info({ setting }, `off: ${what}`);
  if (chooseSignInKind(config) === "none") off("OIDC_ISSUER", "console sign-in");
  if (config.stripeSecretKey === "") off("STRIPE_SECRET_KEY", "payments; operators grant credit");
  if (config.encryptionKey === "") {
    off("TM_ENCRYPTION_KEY", "customers' own provider keys and webhooks");
  }
  if (config.telemetryEndpoint === "" && config.telemetryTracesEndpoint === "") {
    off("OTEL_EXPORTER_OTLP_ENDPOINT", "traces");
  }
}

/** Writes the ready line at any log level, because tools wait for it. */
function announce(context: CommandContext, logging: Logging, gateway: RunningGateway): void {
  const line: ReadyLine = {
    gateway_url: gateway.gatewayUrl,
    console_url: gateway.consoleUrl,
    internal_url: gateway.internalUrl,
    models: gateway.catalog.current.models.length,
  };
  if (workerNumber() === undefined) announceAll(context, logging, [line]);
  else announceReady(line);
}

function announceAll(
  { stderr }: CommandContext,
  logging: Logging,
  lines: readonly ReadyLine[],
): void {
  logging.flush();
  const several = lines.length > 1 ? { internal_urls: lines.map((each) => each.internal_url) } : {};
  const time = new Date(clock.nowMs()).toISOString();
  const ready = { level: 30, severity: "INFO", time, msg: "ready", ...lines[0], ...several };
  stderr.write(`${JSON.stringify(ready)}\n`);
}

/**
 * Logs what Node.js and packages would print as bare text: warnings of the process, and calls of
 * `console`. It stops when the returned function is called.
 */
export function logWarnings(log: Logger): () => void {
  const listeners = process.listeners("warning");
  // This removes Node's own listener, which prints bare text.
  process.removeAllListeners("warning");
  const onWarning = (warning: Error): void => {
    log.warn({ err: warning, source: "node" }, warning.message);
  };
  process.on("warning", onWarning);
  const printed = { ...console };
  const lineOf =
    (level: "info" | "warn" | "error") =>
    (...words: unknown[]): void =>
      log[level]({ source: "console" }, format(...words));
  const info = lineOf("info");
  Object.assign(console, { log: info, info, debug: info, warn: lineOf("warn") });
  console.error = lineOf("error");
  return () => {
    Object.assign(console, printed);
    process.off("warning", onWarning);
    for (const listener of listeners) process.on("warning", listener);
  };
}
