import { execFile } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";

import { validate } from "dockerfile-utils";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { openSigningKey } from "../../src/ledger/retention/signing-key.ts";
import { stagesOf } from "../e2e/deploy/dockerfile-steps.ts";
import { hasOpenssl } from "../support/authority.ts";
import { newFolder } from "../support/run-folder.ts";
import { isEnvironmentName, namesOf, settings } from "./environment-names.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const DIGEST = /@sha256:[0-9a-f]{64}$/;
describe("the Dockerfile", () => {
  const text = readFileSync(join(ROOT, "Dockerfile"), "utf8");
  const stages = stagesOf(text);
  const targets = stages.filter(({ name }) => name === "gateway" || name === "embedded");

  test("passes its linter", () => {
    expect(validate(text).map(({ message }) => message)).toEqual([]);
    expect(validate("FROM node\nRUNN x\n")).not.toEqual([]);
  });

  test("is the only one, and pins every base image by its digest", () => {
    const files = readdirSync(ROOT).filter((name) => name.startsWith("Dockerfile"));
    expect(files).toEqual(["Dockerfile"]);
    const names = new Set(stages.map(({ name }) => name));
    const images = stages.map(({ base }) => base).filter((base) => !names.has(base));
    expect(images.length).toBe(3);
    expect(images.filter((image) => !DIGEST.test(image))).toEqual([]);
  });

  test("uses the network only for npm ci, which runs no package scripts", () => {
    const steps = stages.flatMap((stage) => stage.steps);
    const commands = steps.flatMap((step) => (step.kind === "run" ? [step.command] : []));
    const found = (pattern: RegExp): string[] =>
      commands.filter((command) => pattern.test(command));
    expect(found(/\bnpm (?:ci|install|i)\b/)).toEqual(["npm ci --ignore-scripts"]);
    expect(found(/\b(?:curl|wget|apt-get|npx)\b/)).toEqual([]);
  });

  test("runs both images as an unprivileged user, with a health check and a stop signal", () => {
    expect(targets.map(({ name }) => name)).toEqual(["gateway", "embedded"]);
    for (const { config } of targets) {
      expect(config.user).toBe("65532:65532");
      expect(config.stopSignal).toBe("SIGTERM");
      expect(config.entrypoint.at(-1)).toBe("/app/dist/cli/main.js");
      expect(config.healthcheck).toEqual([...config.entrypoint, "probe"]);
      expect(config.command).toEqual(["serve"]);
    }
  });

  test("copies into an image only what an earlier stage made", () => {
    const made = stages.map(({ name }) => name);
    for (const { name, steps } of targets) {
      const copies = steps.flatMap((step) => (step.kind === "copy" ? [step.from ?? ""] : []));
      expect(copies.length).toBeGreaterThan(4);
      expect(new Set(copies)).toEqual(new Set([`${name}-files`]));
      expect(made.indexOf(`${name}-files`)).toBeLessThan(made.indexOf(name));
    }
  });

  test("sets only known settings", () => {
    const names = targets.flatMap(({ config }) => Object.keys(config.env));
    expect(names.filter((name) => !isEnvironmentName(name))).toEqual([]);
    expect(isEnvironmentName("TM_NO_SUCH_THING")).toBe(false);
  });
});

describe("the compose file", () => {
  const text = readFileSync(join(ROOT, "deploy/compose/compose.yaml"), "utf8");
  const { services } = parse(text, { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
  };
  const gateways = Object.values(services).filter(({ image }) => image === "tokenmarket:local");

  test("sets only known settings on the gateways", () => {
    expect(gateways.length).toBe(3);
    const names = gateways.flatMap(({ environment }) => Object.keys(environment ?? {}));
    expect(names.filter((name) => !isEnvironmentName(name))).toEqual([]);
  });

  test("passes secrets as files, all of which are declared", () => {
    const { secrets } = parse(text) as { readonly secrets: Readonly<Record<string, unknown>> };
    const secretNames = new Set(settings.filter(({ secret }) => secret === true).flatMap(namesOf));
    const written = gateways.flatMap(({ environment = {} }) => Object.keys(environment));
    expect(written.filter((name) => secretNames.has(name))).toEqual([]);
    expect(services["valkey"]?.command).toContain("/run/secrets/valkey_config");
    const files = [...text.matchAll(/\/run\/secrets\/([a-z_]+)/g)].map(([, name]) => name);
    expect(new Set(files)).toEqual(new Set(Object.keys(secrets)));
  });

  test.skipIf(!hasOpenssl)(
    "has a secret for every name after its script ran, and a key that signs exports on a read-only root",
    async () => {
      const folder = newFolder("compose-secrets");
      copyFileSync(join(ROOT, "deploy/compose/make-secrets.sh"), join(folder, "make-secrets.sh"));
      const made = () => promisify(execFile)("sh", [join(folder, "make-secrets.sh")]);
      await made();
      const { secrets } = parse(text) as { readonly secrets: Readonly<Record<string, unknown>> };
      expect(readdirSync(join(folder, "secrets")).toSorted()).toEqual(
        Object.keys(secrets).toSorted(),
      );
      const { environment, secrets: given } = services["migrate"] ?? {};
      const file = environment?.["TM_RETENTION_SIGNING_KEY_FILE"]?.replace("/run", folder) ?? "";
      expect(given).toContain(basename(file));
      const { publicKey } = openSigningKey(file);
      await made();
      expect(openSigningKey(file).publicKey.equals(publicKey)).toBe(true);
      const others = [services["gateway-1"], services["gateway-2"]];
      expect(others.flatMap((each) => each?.secrets ?? [])).not.toContain(basename(file));
    },
  );

  test("gives a gateway a longer stop grace period than its own shutdown takes", () => {
    const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
    const gateway = stagesOf(dockerfile).find(({ name }) => name === "gateway");
    const env = gateway?.config.env ?? {};
    const ownMs = Number(env["TM_SHUTDOWN_DELAY_MS"]) + Number(env["TM_SHUTDOWN_GRACE_MS"]);
    const periods = Object.entries(services).filter(([name]) => name.startsWith("gateway-"));
    expect(periods.length).toBe(2);
    for (const [, { stop_grace_period: period = "" }] of periods) {
      expect(Number(period.replace(/s$/, "")) * 1_000).toBeGreaterThan(ownMs);
    }
  });

  test("migrates the schema in one service, and the gateways wait until it has finished", () => {
    expect(services["migrate"]?.command).toEqual(["migrate"]);
    for (const { environment } of gateways) expect(environment?.["TM_AUTO_MIGRATE"]).toBe("false");
    for (const name of ["gateway-1", "gateway-2"]) {
      expect(services[name]?.depends_on).toMatchObject({
        migrate: { condition: "service_completed_successfully" },
      });
    }
  });

  test("gives each service only the listed capabilities and a read-only root file system", () => {
    const rights = Object.entries(services).flatMap(([name, service]) => {
      expect(service, name).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
      return service.cap_add === undefined ? [] : [[name, service.cap_add.join(" ")]];
    });
    expect(Object.fromEntries(rights)).toEqual({
      postgres: "CHOWN DAC_OVERRIDE FOWNER SETGID SETUID",
      nginx: "CHOWN SETGID SETUID",
    });
  });

  test("starts every service again after a reboot or a kill, but for the migration, which ends", () => {
    const policies = Object.entries(services).filter(
      ([, { restart }]) => restart !== "unless-stopped",
    );
    expect(policies.map(([name, { restart }]) => [name, restart])).toEqual([
      ["migrate", "on-failure:5"],
    ]);
  });

  test("keeps nothing that grows without an end: each log is bounded, and no copy of the database's log is made", () => {
    for (const [name, { logging }] of Object.entries(services)) {
      const options = { "max-size": expect.stringMatching(/^\d+m$/), "max-file": "5" };
      expect(logging, name).toEqual({ driver: "json-file", options });
    }
    expect(services["postgres"]?.command ?? []).not.toContain("archive_mode=on");
    const { volumes } = parse(text) as { readonly volumes: object };
    expect(Object.keys(volumes)).toEqual(["postgres-data", "prometheus-data", "grafana-data"]);
  });

  test("pins every external image by its digest", () => {
    const images = Object.values(services).map(({ image = "" }) => image);
    expect(images.length).toBeGreaterThan(8);
    const loose = images.filter((image) => !DIGEST.test(image));
    expect(new Set(loose)).toEqual(new Set(["tokenmarket:local"]));
  });
});

test("the chart has the version of the program", () => {
  const read = (path: string): unknown => parse(readFileSync(join(ROOT, path), "utf8"));
  const { version } = read("package.json") as { readonly version: string };
  const chart = read("deploy/helm/tokenmarket/Chart.yaml");
  expect(chart).toMatchObject({ version, appVersion: version });
});

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly secrets?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: unknown;
  readonly cap_add?: readonly string[];
  readonly logging?: unknown;
  readonly restart?: string;
  readonly stop_grace_period?: string;
}
