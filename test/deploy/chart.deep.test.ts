import { execFile } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";

import { SETTINGS } from "../../src/kernel/config/settings.ts";
import { createInternalServer } from "../../src/gateway/http/internal-server.ts";
import { METRICS, type MetricName } from "../../src/kernel/metrics/metrics-table.ts";
import { hasPython, pythonWith } from "../support/clients/python.ts";
import {
  CHART,
  hasHelm,
  INSTALLATIONS,
  type KubernetesObject,
  lintChart,
  objectsOf,
  renderChart,
} from "../support/helm.ts";
import { listenLocally } from "../support/local-server.ts";
import { runCommand } from "../support/program.ts";
import { isEnvironmentName, namesOf, settings } from "./environment-names.ts";
import { newFolder } from "../support/run-folder.ts";

const NAMES = Object.keys(INSTALLATIONS);
/** The oldest version that the chart accepts, the rendered one, and the validator's newest. */
const KUBERNETES_VERSIONS = ["1.27.0", "1.30.0", "1.37.0"];
const VALIDATOR = ["kubernetes-validate==1.37.0"];
const RETIRING = { ledgerRetire: { enabled: true } };
const ARCHIVING = { ledgerRetire: { enabled: true, archiveClaim: "a" } };
const SIGNING = { TM_RETENTION_SIGNING_KEY: { secret: "signing", key: "pem" } };

describe.skipIf(!hasHelm)("the chart that Helm renders", () => {
  const rendered = hasHelm ? Object.values(INSTALLATIONS).map((values) => objectsOf(values)) : [];
  const objects = rendered.flat();
  const ofKind = (kind: string): readonly KubernetesObject[] =>
    objects.filter((object) => object.kind === kind);
  const workloads = objects.flatMap(workloadOf);
  const gateways = workloads.filter(({ object }) => object.kind === "Deployment");
  const commands = workloads.filter(({ object }) => object.kind !== "Deployment");

  test.each(NAMES)("passes Helm's own strict check: %s", (name) => {
    const { status, stdout, stderr } = lintChart(INSTALLATIONS[name] ?? {});
    expect(status, stdout + stderr).toBe(0);
  });

  test("has every required object, and each optional object only when the values enable it", () => {
    const nameOf = ({ kind, metadata }: KubernetesObject): string =>
      `${kind} ${metadata.name.replace(/^prod-tokenmarket/, "*")}`;
    const [plain = [], everything = [], brought = []] = rendered.map((each) => each.map(nameOf));
    expect(plain.toSorted()).toEqual([
      "ConfigMap *-manifests",
      "CronJob *-ledger-audit",
      "CronJob *-settlement-close",
      "Deployment *",
      "HorizontalPodAutoscaler *",
      "Job *-migrate",
      "NetworkPolicy *",
      "PodDisruptionBudget *",
      "Service *",
      "Service *-console",
      "Service *-internal",
      "ServiceAccount *",
    ]);
    const asked = ["CronJob *-ledger-retire", "ServiceMonitor *", "PrometheusRule *-alerts"];
    asked.push("ConfigMap *-dashboard-money", "ServiceAccount gateways");
    expect(everything).toEqual(expect.arrayContaining(asked));
    expect(brought.filter((each) => /^(?:Hori|Config|ServiceA)/.test(each))).toEqual([]);
  });

  test("contains the shipped Prometheus rules and Grafana dashboards unchanged", () => {
    const files = join(CHART, "files");
    const rules = ofKind("PrometheusRule").map(({ spec }) => spec);
    expect(rules).toEqual(textsIn(join(files, "prometheus")).map(([, text]) => parse(text)));
    const boards = ofKind("ConfigMap").filter(({ metadata }) => /-dashboard-/.test(metadata.name));
    expect(boards.map(({ data }) => data)).toEqual(
      textsIn(join(files, "grafana")).map(([name, text]) => ({ [name]: text })),
    );
  });

  test.each([
    ["a misspelled key", { drain: { second: 60 } }, "second"],
    ["an unknown setting", { settings: { TM_PROT: "1" } }, "TM_PROT"],
    ["a secret among the settings", { settings: { TM_ENCRYPTION_KEY: "x" } }, "TM_ENCRYPTION_KEY"],
    ["no database URL", { secrets: { DATABASE_URL: null } }, "DATABASE_URL"],
    ["a secret as plain text", { secrets: { OPENAI_API_KEY: "sk-1" } }, "OPENAI_API_KEY"],
    [
      "a label of selectors",
      { podLabels: { "app.kubernetes.io/name": "x" } },
      "kubernetes.io/name",
    ],
    ["a truncated image digest", { image: { digest: "sha256:abc" } }, "digest"],
    ["retirement without an archive", { ...RETIRING, secrets: SIGNING }, "needs archiveClaim"],
    ["retirement without a key", ARCHIVING, "needs secrets.TM_RETENTION_SIGNING_KEY"],
  ])("is not rendered for a wrong value, and the error names it: %s", (_what, values, word) => {
    const { status, stderr } = renderChart(values);
    expect(status).not.toBe(0);
    expect(stderr).toContain(word);
  });

  test("starts a new pod before an old one ends, and keeps at least two", () => {
    expect(gateways).toHaveLength(NAMES.length);
    const rollingUpdate = { maxUnavailable: 0, maxSurge: 1 };
    for (const { object } of gateways) {
      expect(object.spec["strategy"]).toEqual({ type: "RollingUpdate", rollingUpdate });
    }
    // A fixed number of replicas would undo the autoscaling at each upgrade.
    const replicas = gateways.map(({ object }) => object.spec["replicas"]);
    expect(replicas).toEqual([undefined, undefined, 3, undefined]);
    const scalers = ofKind("HorizontalPodAutoscaler").map(({ spec }) => spec["minReplicas"]);
    expect(scalers).toEqual([2, 2, 2]);
    const budgets = ofKind("PodDisruptionBudget").map(({ spec }) => spec["maxUnavailable"]);
    expect(budgets).toEqual([1, 1, 1, 1]);
  });

  test("probes paths that the internal port answers, and allows two minutes for a start", async () => {
    const readiness = { isReady: true, isDraining: false, report: () => expect.fail() };
    const metrics = { scrape: () => expect.fail("no probe scrapes") };
    const server = await listenLocally(createInternalServer({ metrics, readiness }));
    try {
      for (const { container } of gateways) {
        const { startupProbe: starting, livenessProbe: living, readinessProbe: ready } = container;
        expect([living?.httpGet.path, ready?.httpGet.path]).toEqual(["/livez", "/readyz"]);
        for (const probe of [starting, living, ready]) {
          expect(probe?.httpGet.port).toBe("internal");
          const answer = await fetch(`${server.url}${probe?.httpGet.path}`);
          expect(answer.status).toBe(200);
          await answer.arrayBuffer();
        }
        expect((starting?.periodSeconds ?? 0) * (starting?.failureThreshold ?? 0)).toBe(120);
        const { port, consolePort, internalPort } = SETTINGS;
        expect(container.ports?.map(({ containerPort }) => containerPort)).toEqual(
          [port, consolePort, internalPort].map(({ fallback }) => fallback),
        );
      }
    } finally {
      await server.close();
    }
  });

  test("gives a pod a longer termination grace period than the program's shutdown takes", () => {
    const seconds = gateways.map(({ pod, container }) => [
      Number(environmentOf(container)["TM_SHUTDOWN_DELAY_MS"]) / 1_000,
      Number(environmentOf(container)["TM_SHUTDOWN_GRACE_MS"]) / 1_000,
      pod.spec.terminationGracePeriodSeconds,
    ]);
    const usual = [10, 450, 490];
    expect(seconds).toEqual([usual, [20, 3_600, 3_650], usual, usual]);
    expect(450_000).toBeGreaterThanOrEqual(SETTINGS.generationTimeoutMs.fallback);
  });

  test("gives no pod automatic migration, privileges, a service account token or unlimited memory", () => {
    for (const { pod, container } of workloads) {
      const { spec } = pod;
      expect([spec.automountServiceAccountToken, spec.enableServiceLinks]).toEqual([false, false]);
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(container.resources.limits.memory).toMatch(/^[12]Gi$/);
      expect(environmentOf(container)["TM_AUTO_MIGRATE"]).toBe("false");
    }
  });

  test("passes secrets as mounted files, and no object contains their text", () => {
    const secretNames = new Set(settings.filter(({ secret }) => secret === true).flatMap(namesOf));
    for (const { pod, container } of workloads) {
      const environment = environmentOf(container);
      expect(Object.keys(environment)).toHaveLength(container.env.length);
      const unknown = Object.keys(environment).filter((name) => !isEnvironmentName(name));
      expect(unknown.filter((name) => name !== "OPENAI_API_KEY_FILE")).toEqual([]);
      expect(Object.keys(environment).filter((name) => secretNames.has(name))).toEqual([]);
      expect(environment["DATABASE_URL_FILE"]).toBe("/run/secrets/tokenmarket/DATABASE_URL");
      const { volumes } = pod.spec;
      expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(
        volumes.map(({ name }) => name).sort(),
      );
      const folder = container.volumeMounts.find(({ name }) => name === "secrets")?.mountPath;
      const mounted = volumes
        .flatMap(({ projected }) => projected?.sources ?? [])
        .flatMap(({ secret }) => secret.items.map(({ path }) => [`${path}_FILE`, path]))
        .map(([name, path]) => [name, `${folder}/${path}`]);
      const files = Object.entries(environment).filter(([name]) => name.endsWith("_FILE"));
      expect(files).toEqual(mounted);
    }
    expect(ofKind("Secret")).toEqual([]);
    const data = ofKind("ConfigMap").flatMap((map) => Object.keys(map.data ?? {}));
    expect(data.filter((name) => !name.endsWith(".json"))).toEqual([]);
    expect(environmentOf(gateways[1]?.container)).not.toHaveProperty("REDIS_URL_FILE");
  });

  test("has constant selectors that match the gateways' pods only", () => {
    const selector = {
      "app.kubernetes.io/name": "tokenmarket",
      "app.kubernetes.io/instance": "prod",
      "app.kubernetes.io/component": "gateway",
    };
    // An upgrade that changes a selector label is refused by Kubernetes, or leaves old pods behind.
    for (const { spec } of [...ofKind("Deployment"), ...ofKind("PodDisruptionBudget")]) {
      expect(spec["selector"]).toEqual({ matchLabels: selector });
    }
    for (const { spec } of ofKind("Service")) {
      expect(spec["selector"]).toEqual(selector);
      const [port] = spec["ports"] as readonly [{ readonly targetPort: string }];
      expect(["gateway", "console", "internal"]).toContain(port.targetPort);
    }
    for (const { pod } of gateways) expect(pod.metadata.labels).toMatchObject(selector);
    for (const { pod } of commands) expect(pod.metadata.labels).not.toMatchObject(selector);
    const [monitor] = ofKind("ServiceMonitor");
    const wanted = (monitor?.spec["selector"] ?? {}) as { readonly matchLabels?: object };
    const scraped = ofKind("Service").filter(({ metadata }) => metadata.name.endsWith("-internal"));
    for (const { metadata } of scraped)
      expect(metadata.labels).toMatchObject(wanted.matchLabels ?? { missing: "" });
    expect(monitor?.spec["endpoints"]).toEqual([
      { port: "internal", path: "/metrics", interval: "30s", scrapeTimeout: "10s" },
    ]);
  });

  test("limits egress to DNS and the listed ports, and opens the metrics port only when configured", () => {
    const [plain, everything, brought] = ofKind("NetworkPolicy").map(({ spec }) => {
      const { ingress, egress } = spec as Record<string, readonly NetworkRule[]>;
      return { open: ingress?.map(portsOf), reached: egress?.map(portsOf) };
    });
    expect(plain?.open).toEqual([[8080, 8081]]);
    expect(plain?.reached).toEqual([
      [53, 53],
      [443, 465, 587, 4318, 5432, 6379, 6380, 6432],
    ]);
    expect(everything?.open).toEqual([[8080, 8081], [8082]]);
    expect(everything?.reached).toEqual([[53, 53], [443, 6432, 6380], [4318]]);
    expect(brought?.reached).toEqual([[53, 53]]);
  });

  test("runs the migration in a pre-install and pre-upgrade hook that needs no object of the release", () => {
    const jobs = commands.filter(({ object }) => object.kind === "Job");
    expect(jobs).toHaveLength(NAMES.length);
    const made = new Set(
      [...ofKind("ConfigMap"), ...ofKind("ServiceAccount")].map(({ metadata }) => metadata.name),
    );
    for (const { object, pod } of jobs) {
      expect(object.metadata.annotations?.["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
      const used = pod.spec.volumes.map(({ configMap }) => configMap?.name ?? "");
      const names = [...used, pod.spec.serviceAccountName ?? ""];
      expect(names.filter((name) => made.has(name))).toEqual([]);
    }
    expect(jobs[2]?.pod.spec.serviceAccountName).toBe("mine");
  });

  test("mounts manifests as a whole folder, where the program reads them", () => {
    const mounted = gateways.map(({ pod, container }) => [
      container.volumeMounts.find(({ name }) => name === "manifests")?.mountPath,
      pod.spec.volumes.find(({ name }) => name === "manifests")?.configMap?.name,
    ]);
    const own = ["/etc/tokenmarket/manifests", "prod-tokenmarket-manifests"];
    expect(mounted).toEqual([own, own, [own[0], "my-manifests"], own]);
    const maps = ofKind("ConfigMap").filter(({ metadata }) => metadata.name === own[1]);
    expect(maps[1]?.data).toEqual(INSTALLATIONS["everything on"]?.["manifests"]);
  });

  test("runs commands and options that the program has, and scales by its metrics", async () => {
    const linesOf = (of: readonly Workload[]): Set<string> =>
      new Set(of.map(({ container }) => container.args.join(" ")));
    expect(linesOf(gateways)).toEqual(new Set(["serve"]));
    const lines = linesOf(commands);
    expect(lines.size).toBe(5);
    for (const line of lines) {
      const [path = "", ...options] = line.split(/ (?=--)/);
      const { stdout } = await runCommand([...path.split(" "), "--help"]);
      expect(stdout).toContain(`Usage: tokenmarket ${path} [options]`);
      for (const option of options) expect(stdout).toContain(`  ${option.split(" ")[0]}`);
    }
    const metrics = ofKind("HorizontalPodAutoscaler").flatMap(
      ({ spec }) => spec["metrics"] as readonly ScaledMetric[],
    );
    const names = metrics.flatMap(({ pods }) => pods?.metric.name ?? []);
    expect(names).toEqual(["tm_event_loop_utilization", "tm_requests_in_flight"]);
    expect(names.map((name) => METRICS[name as MetricName].type)).toEqual(["gauge", "gauge"]);
  });

  test("has no object name over 52 characters, even with a release name of 53", () => {
    const made = objectsOf({ ...ARCHIVING, secrets: SIGNING }, "a".repeat(53));
    const names = made.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(Math.max(...made.map(({ metadata }) => metadata.name.length))).toBeLessThanOrEqual(52);
  });

  if (!hasPython()) {
    test("NOT RUN: the check of each field, as this machine has no Python 3.9", () => {
      expect(hasPython()).toBe(false);
    });
    return;
  }

  test("has only fields and values that each version of Kubernetes knows", async () => {
    const known = objects.filter(({ apiVersion }) => !apiVersion.startsWith("monitoring.coreos."));
    expect(known.length).toBeGreaterThan(35);
    const verdicts = await validate(known);
    expect(verdicts.filter((verdict) => !verdict.startsWith("INFO "))).toEqual([]);
    expect(verdicts).toHaveLength(known.length * KUBERNETES_VERSIONS.length);
    const planted = JSON.stringify(gateways[0]?.object).replace("readOnlyRoot", "readOnlyRot");
    const noticed = await validate([JSON.parse(planted) as KubernetesObject]);
    expect(noticed).toHaveLength(KUBERNETES_VERSIONS.length);
    for (const verdict of noticed) expect(verdict).toContain("'readOnlyRotFilesystem' was unexp");
  });
});

/** Returns a line per object and version: `INFO` if valid, `WARN` without a schema, or a fault. */
async function validate(objects: readonly KubernetesObject[]): Promise<readonly string[]> {
  const python = await pythonWith(VALIDATOR);
  const folder = newFolder("chart");
  try {
    const file = join(folder, "objects.yaml");
    writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"));
    const versions = KUBERNETES_VERSIONS.flatMap((version) => ["-k", version]);
    const args = ["-m", "kubernetes_validate", ...versions, "--strict", file];
    const output = await new Promise<string>((done) => {
      execFile(python, args, (_error, stdout, stderr) => done(stdout + stderr));
    });
    return output.split("\n").filter((line) => line !== "");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function textsIn(folder: string): readonly (readonly [name: string, text: string])[] {
  const names = readdirSync(folder).sort();
  return names.map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext: object;
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly projected?: { readonly sources: readonly { readonly secret: SecretFiles }[] };
}

interface SecretFiles {
  readonly items: readonly { readonly path: string }[];
}

interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly enableServiceLinks: boolean;
    readonly securityContext: object;
    readonly serviceAccountName?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly [Container];
    readonly volumes: readonly Volume[];
  };
}

/** A workload that runs pods: the gateway, the migration, or a scheduled command. */
interface Workload {
  readonly object: KubernetesObject;
  readonly pod: Pod;
  readonly container: Container;
}

function workloadOf(object: KubernetesObject): readonly Workload[] {
  const { template, jobTemplate } = (object.spec ?? {}) as {
    readonly template?: Pod;
    readonly jobTemplate?: { readonly spec: { readonly template: Pod } };
  };
  const pod = template ?? jobTemplate?.spec.template;
  return pod === undefined ? [] : [{ object, pod, container: pod.spec.containers[0] }];
}

function environmentOf(container: Container | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? []);
}

interface NetworkRule {
  readonly ports: readonly { readonly port: number }[];
}

function portsOf({ ports }: NetworkRule): readonly number[] {
  return ports.map(({ port }) => port);
}

interface ScaledMetric {
  readonly pods?: { readonly metric: { readonly name: string } };
}
