import { once } from "node:events";
import type { AddressInfo } from "node:net";

import { describe, expect, test } from "vitest";

import { SETTINGS } from "../../src/config/settings.ts";
import { createInternalServer } from "../../src/http/internal-server.ts";
import { METRICS, type MetricName } from "../../src/metrics/metrics-table.ts";
import { runCommand } from "../support/program.ts";
import { CHART, INSTALLATIONS, objectsOf, only, valuesOf } from "./chart/chart-fixture.ts";
import { type KubernetesObject, renderChart } from "./chart/render-chart.ts";
import { environmentOf, type Workload, workloadsOf } from "./chart/workloads.ts";

const rendered = INSTALLATIONS.map((installation) => objectsOf(installation));
const workloads = rendered.flatMap(workloadsOf);
const gateways = workloads.filter(({ object }) => object.kind === "Deployment");
const commands = workloads.filter(({ object }) => object.kind !== "Deployment");

test("ports are those of the settings, and every probe and scrape finds them by name", () => {
  expect(gateways).toHaveLength(INSTALLATIONS.length);
  for (const { container } of gateways) {
    expect(container.ports?.map(({ name, containerPort }) => [name, containerPort])).toEqual([
      ["gateway", SETTINGS.port.fallback],
      ["console", SETTINGS.consolePort.fallback],
      ["internal", SETTINGS.internalPort.fallback],
    ]);
  }
  const targets = rendered.flatMap((objects) =>
    only(objects, "Service").map(
      ({ spec }) => (spec as { readonly ports: readonly [Port] }).ports[0].targetPort,
    ),
  );
  expect(new Set(targets)).toEqual(new Set(["gateway", "console", "internal"]));
});

interface Port {
  readonly targetPort: string;
}

test("probes ask what the internal port answers, and give a start two minutes", async () => {
  const readiness = { isReady: true, isDraining: false, report: () => expect.fail() };
  const metrics = { scrape: () => expect.fail("no probe scrapes") };
  const server = createInternalServer({ metrics, readiness }).listen(0, "127.0.0.1");
  try {
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    for (const { container } of gateways) {
      const { startupProbe: starting, livenessProbe: living, readinessProbe: ready } = container;
      expect([living?.httpGet.path, ready?.httpGet.path]).toEqual(["/livez", "/readyz"]);
      for (const probe of [starting, living, ready]) {
        expect(probe?.httpGet.port).toBe("internal");
        const answer = await fetch(`http://127.0.0.1:${port}${probe?.httpGet.path}`);
        expect(answer.status).toBe(200);
        await answer.arrayBuffer();
      }
      expect((starting?.periodSeconds ?? 0) * (starting?.failureThreshold ?? 0)).toBe(120);
    }
  } finally {
    server.close();
  }
});

test("one value decides how long a pod may end, and Kubernetes waits longer than the program", () => {
  const seconds = gateways.map((gateway) => ({
    delay: Number(environmentOf(gateway, "TM_SHUTDOWN_DELAY_MS")) / 1_000,
    grace: Number(environmentOf(gateway, "TM_SHUTDOWN_GRACE_MS")) / 1_000,
    kubernetes: gateway.pod.spec.terminationGracePeriodSeconds,
  }));
  expect(seconds).toEqual([
    { delay: 10, grace: 450, kubernetes: 490 },
    { delay: 20, grace: 3_600, kubernetes: 3_650 },
    { delay: 10, grace: 450, kubernetes: 490 },
  ]);
  expect(450_000).toBeGreaterThanOrEqual(SETTINGS.generationTimeoutMs.fallback);
});

test("no pod may change the schema, have rights, a token or the addresses of other services", () => {
  expect(workloads.length).toBeGreaterThan(9);
  for (const workload of workloads) {
    const { spec } = workload.pod;
    expect(environmentOf(workload, "TM_AUTO_MIGRATE")).toBe("false");
    expect([spec.automountServiceAccountToken, spec.enableServiceLinks]).toEqual([false, false]);
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(workload.container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  }
});

test("every secret is mounted where its variable says, and every mount has its volume", () => {
  for (const { pod, container } of workloads) {
    const volumes = pod.spec.volumes.map(({ name }) => name);
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual([...volumes].sort());
    const secrets = pod.spec.volumes.find(({ name }) => name === "secrets");
    const folder = container.volumeMounts.find(({ name }) => name === "secrets")?.mountPath;
    const mounted = secrets?.projected?.sources.flatMap(({ secret }) =>
      secret.items.map(({ path }) => [`${path}_FILE`, `${folder}/${path}`]),
    );
    const named = container.env.flatMap(({ name, value }) =>
      name.endsWith("_FILE") ? [[name, value]] : [],
    );
    expect(named.map(String)).toContain("DATABASE_URL_FILE,/run/secrets/tokenmarket/DATABASE_URL");
    expect(named).toEqual(mounted);
  }
});

test("a value of null leaves a secret out", () => {
  const names = gateways.map(({ container }) => container.env.map(({ name }) => name));
  expect(names[0]).toContain("REDIS_URL_FILE");
  expect(names[1]).not.toContain("REDIS_URL_FILE");
  expect(names[1]).toContain("OPENAI_API_KEY_FILE");
});

describe("selectors", () => {
  const SELECTOR = {
    "app.kubernetes.io/name": "tokenmarket",
    "app.kubernetes.io/instance": "prod",
    "app.kubernetes.io/component": "gateway",
  };

  // An upgrade that changes one of them is refused by Kubernetes, or leaves pods behind.
  test("are the same for ever, whatever the version and the values", () => {
    for (const objects of rendered) {
      const deployment = only(objects, "Deployment")[0];
      const budget = only(objects, "PodDisruptionBudget")[0];
      expect(selectorOf(deployment)).toEqual(SELECTOR);
      expect(selectorOf(budget)).toEqual(SELECTOR);
      for (const service of only(objects, "Service")) {
        expect((service["spec"] as { readonly selector: object }).selector).toEqual(SELECTOR);
      }
    }
  });

  test("find the gateways' pods and no others", () => {
    for (const { pod } of gateways) expect(pod.metadata.labels).toMatchObject(SELECTOR);
    for (const { pod } of commands) {
      expect(pod.metadata.labels["app.kubernetes.io/component"]).not.toBe("gateway");
    }
    const monitors = rendered.flatMap((objects) => only(objects, "ServiceMonitor"));
    const scraped = rendered
      .flatMap((objects) => only(objects, "Service"))
      .find(({ metadata }) => metadata.name === "prod-tokenmarket-internal");
    expect(monitors).toHaveLength(1);
    expect(scraped?.metadata["labels"]).toMatchObject(selectorOf(monitors[0]));
  });

  function selectorOf(object: KubernetesObject | undefined): object {
    const { selector } = (object?.["spec"] ?? {}) as { readonly selector?: Matching };
    return selector?.matchLabels ?? {};
  }
});

test("the migration runs before the release exists, so it uses nothing that the release makes", () => {
  const migrations = commands.filter(({ object }) => object.kind === "Job");
  expect(migrations).toHaveLength(INSTALLATIONS.length);
  const made = new Set(
    rendered.flatMap((objects) =>
      [...only(objects, "ConfigMap"), ...only(objects, "ServiceAccount")].map(
        ({ metadata }) => metadata.name,
      ),
    ),
  );
  expect(made.size).toBeGreaterThan(2);
  for (const { object, pod } of migrations) {
    expect(object.metadata["annotations"]).toMatchObject({
      "helm.sh/hook": "pre-install,pre-upgrade",
    });
    const used = pod.spec.volumes.map(({ configMap }) => configMap?.name);
    const names = [...used, pod.spec.serviceAccountName];
    expect(names.filter((name) => name !== undefined && made.has(name))).toEqual([]);
  }
  expect(migrations[2]?.pod.spec.serviceAccountName).toBe("mine");
});

test("what pods run are commands of the program, with options that it has", async () => {
  expect(gateways.map(({ container }) => container.args)).toEqual([
    ["serve"],
    ["serve"],
    ["serve"],
  ]);
  const lines = new Set(commands.map(({ container }) => container.args.join(" ")));
  expect(lines.size).toBe(5);
  for (const line of lines) {
    const words = line.split(" ");
    const path = words.slice(
      0,
      words.findIndex((word) => word.startsWith("--")),
    );
    const { stdout } = await runCommand([...path, "--help"]);
    expect(stdout).toContain(`Usage: tokenmarket ${path.join(" ")} [options]`);
    for (const option of words.filter((word) => word.startsWith("--"))) {
      expect(stdout).toContain(`  ${option}`);
    }
  }
});

test("the metrics that pods are scaled by are metrics of the program", () => {
  const scaled = rendered.flatMap((objects) => only(objects, "HorizontalPodAutoscaler"));
  const names = scaled.flatMap(({ spec }) =>
    (spec as { readonly metrics: readonly ScaledMetric[] }).metrics.flatMap(
      ({ pods }) => pods?.metric.name ?? [],
    ),
  );
  expect(names).toEqual(["tm_event_loop_utilization", "tm_requests_in_flight"]);
  expect(names.map((name) => METRICS[name as MetricName].type)).toEqual(["gauge", "gauge"]);
  // With a number of pods of its own the deployment would undo the scaling at each upgrade.
  const replicas = gateways.map(
    ({ object }) => (object["spec"] as { readonly replicas?: number }).replicas,
  );
  expect(replicas).toEqual([undefined, undefined, 3]);
});

interface Matching {
  readonly matchLabels: object;
}

interface ScaledMetric {
  readonly pods?: { readonly metric: { readonly name: string } };
}

test("manifests are mounted as a whole folder, where the program looks for them", () => {
  const [plain, everything, brought] = gateways.map(manifestsOf);
  expect(plain).toEqual(["/etc/tokenmarket/manifests", "prod-tokenmarket-manifests"]);
  expect(everything).toEqual(plain);
  expect(brought).toEqual(["/etc/tokenmarket/manifests", "my-manifests"]);
  const maps = only(rendered[1] ?? [], "ConfigMap");
  const made = maps.find(({ metadata }) => metadata.name === "prod-tokenmarket-manifests");
  expect(made?.["data"]).toEqual(valuesOf("everything")["manifests"]);
});

function manifestsOf({ pod, container }: Workload): readonly (string | undefined)[] {
  const mount = container.volumeMounts.find(({ name }) => name === "manifests");
  const volume = pod.spec.volumes.find(({ name }) => name === "manifests");
  return [mount?.mountPath, volume?.configMap?.name];
}

test("no name is too long, however long the release's is", () => {
  const values = { ledgerRetire: { enabled: true, archiveClaim: "a" }, secrets: SIGNING };
  const release = { name: "a".repeat(53), namespace: "money", values };
  const objects = renderChart(CHART, release);
  const names = objects.map(({ value }) => value.metadata.name);
  expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(52);
  expect(new Set(objects.map(({ value }) => `${value.kind} ${value.metadata.name}`)).size).toBe(
    objects.length,
  );
});

test("retiring old days needs a volume for their files and a key that is kept", () => {
  const render = (values: object): unknown =>
    renderChart(CHART, { name: "prod", namespace: "money", values: { ...values } });
  const retire = { enabled: true, archiveClaim: "archive" };
  expect(() => render({ ledgerRetire: retire })).toThrow("needs secrets.TM_RETENTION_SIGNING_KEY");
  expect(() => render({ ledgerRetire: { enabled: true }, secrets: SIGNING })).toThrow(
    "needs archiveClaim",
  );
});

const SIGNING = { TM_RETENTION_SIGNING_KEY: { secret: "signing", key: "pem" } };
