import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { environmentName, SETTINGS, type Setting } from "../../src/kernel/config/settings.ts";

type Json = Readonly<Record<string, unknown>>;

/** Settings that the chart sets itself, or whose default or value in the image it relies on. */
const OF_THE_CHART: ReadonlySet<string> = new Set(
  [
    SETTINGS.autoMigrate,
    SETTINGS.shutdownDelayMs,
    SETTINGS.shutdownGraceMs,
    SETTINGS.port,
    SETTINGS.consolePort,
    SETTINGS.internalPort,
    SETTINGS.host,
    SETTINGS.internalHost,
    SETTINGS.manifestsDir,
    SETTINGS.dataDir,
  ].map(({ path }) => path),
);

const ANY = { type: "object" };
const FLAG = { type: "boolean" };
const TEXT = { type: "string" };
const NAMED = { type: "string", minLength: 1 };
const TEXTS = { type: "object", additionalProperties: TEXT };
const LIST = { type: "array", items: ANY };
const SCHEDULE = { type: "string", pattern: "^[^ ]+( [^ ]+){4}$" };
const QUANTITY = { type: "string", pattern: "^([0-9]+m?)?$" };
const SECRET_KEY = object({ secret: NAMED, key: NAMED }, ["secret", "key"]);

/**
 * `helm` checks the values by this schema, so that a typing error ends an installation before it
 * begins.
 */
export function chartSchema(): Json {
  return { $schema: "http://json-schema.org/draft-07/schema#", ...object(values()) };
}

function values(): Json {
  return {
    fullnameOverride: TEXT,
    image: object({
      repository: NAMED,
      tag: TEXT,
      digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
      pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
    }),
    imagePullSecrets: LIST,
    secrets: secrets(),
    settings: object(settings()),
    manifests: {
      type: "object",
      propertyNames: { pattern: "^[A-Za-z0-9_-]+\\.json$" },
      additionalProperties: TEXT,
    },
    manifestsConfigMap: TEXT,
    filesConfigMap: TEXT,
    replicas: whole(1, 100),
    autoscaling: object({
      enabled: FLAG,
      minReplicas: whole(1, 100),
      maxReplicas: whole(1, 500),
      cpuAverage: { ...QUANTITY, minLength: 1 },
      eventLoopAverage: QUANTITY,
      requestsInFlightAverage: QUANTITY,
    }),
    drain: object({ seconds: whole(0, 86_400), delaySeconds: whole(0, 600) }),
    resources: ANY,
    jobResources: ANY,
    podAnnotations: TEXTS,
    podLabels: {
      ...TEXTS,
      propertyNames: { not: { pattern: "^(app\\.kubernetes\\.io|helm\\.sh)/" } },
    },
    nodeSelector: TEXTS,
    tolerations: LIST,
    affinity: ANY,
    priorityClassName: TEXT,
    serviceAccount: object({ create: FLAG, name: TEXT, annotations: TEXTS }),
    service: service(),
    console: service(),
    migration: object({ enabled: FLAG, deadlineSeconds: whole(60, 604_800) }),
    settlementClose: object({ enabled: FLAG, schedule: SCHEDULE }),
    ledgerAudit: object({ enabled: FLAG, schedule: SCHEDULE }),
    ledgerRetire: object({ enabled: FLAG, schedule: SCHEDULE, archiveClaim: TEXT, drop: FLAG }),
    serviceMonitor: object({ enabled: FLAG, interval: NAMED, scrapeTimeout: NAMED, labels: TEXTS }),
    prometheusRule: object({ enabled: FLAG, labels: TEXTS }),
    dashboards: object({ enabled: FLAG, labels: TEXTS }),
    networkPolicy: object({
      enabled: FLAG,
      clients: LIST,
      monitoring: LIST,
      egressPorts: { type: "array", items: whole(1, 65_535) },
      egress: LIST,
    }),
  };
}

/** For each key `X`, the program gets `X_FILE`: the path of a file that contains the secret. */
function secrets(): Json {
  return {
    type: "object",
    required: ["DATABASE_URL"],
    properties: { DATABASE_URL: SECRET_KEY },
    propertyNames: { pattern: "^[A-Z][A-Z0-9_]*$", not: { pattern: "_FILE$" } },
    additionalProperties: { oneOf: [SECRET_KEY, { type: "null" }] },
  };
}

/** The settings that are neither secret nor set by the chart itself, by environment name. */
function settings(): Json {
  const open = Object.values<Setting<unknown>>(SETTINGS).filter(
    ({ secret, path }) => secret !== true && !OF_THE_CHART.has(path),
  );
  const names = open.flatMap(({ path, alsoEnv = [] }) => [environmentName(path), ...alsoEnv]);
  return Object.fromEntries(names.map((name) => [name, TEXT]));
}

function service(): Json {
  return object({
    type: { enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
    port: whole(1, 65_535),
    annotations: TEXTS,
  });
}

function whole(minimum: number, maximum: number): Json {
  return { type: "integer", minimum, maximum };
}

function object(properties: Json, required: readonly string[] = []): Json {
  const needed = required.length === 0 ? {} : { required };
  return { type: "object", properties, ...needed, additionalProperties: false };
}

/** A chart can read only its own folder, so it has copies of the Prometheus and Grafana files. */
export interface ChartCopy {
  readonly path: string;
  /** Undefined if the original is gone; the copy must then be deleted. */
  readonly text: string | undefined;
}

const COPIED = [
  { from: "deploy/prometheus", to: "deploy/helm/tokenmarket/files/prometheus", ending: ".yml" },
  { from: "deploy/grafana", to: "deploy/helm/tokenmarket/files/grafana", ending: ".json" },
];

/** Returns the copies of rules and dashboards that the chart should have. */
export function chartCopies(root: string): readonly ChartCopy[] {
  return COPIED.flatMap(({ from, to, ending }) => {
    const originals = filesIn(join(root, from), ending);
    const names = new Set([...originals, ...filesIn(join(root, to), ending)]);
    return [...names].sort().map((name) => ({
      path: `${to}/${name}`,
      text: originals.includes(name) ? readFileSync(join(root, from, name), "utf8") : undefined,
    }));
  });
}

function filesIn(folder: string, ending: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(ending));
  } catch {
    return [];
  }
}
