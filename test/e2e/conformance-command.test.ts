import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { signReport } from "../../src/listing-tools/conformance/report/signed-report.ts";
import { at, get } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { reportOf } from "../support/conformance-reports.ts";
import { manifestAt } from "../support/conformance-run.ts";
import { withGateway } from "../support/gateway.ts";
import { textAt } from "../support/http-call.ts";
import { listenLocally, type LocalServer } from "../support/local-server.ts";
import {
  OPERATOR_ENV,
  operatorFolder,
  type OperatorFolder,
  operatorManifest,
} from "../support/operator.ts";
import { type CommandResult, runCommand, spawnCommand } from "../support/program.ts";
import { withResource } from "../support/with-resource.ts";

const gateway = withGateway({ manifests: [operatorManifest("{simulator}", ["op/model"])] });
let folder: OperatorFolder;
let manifest: string;
beforeEach(() => {
  folder = operatorFolder(gateway.simulator.url);
  manifest = join(folder.manifestsDir, "first.json");
});
afterEach(async () => {
  await fetch(`${gateway.simulator.url}/faults`, { method: "DELETE" });
  folder.remove();
});

const CHECKS = 12;

interface Report {
  readonly is_complete: boolean;
  readonly verdict: string;
  readonly spend_usd: string;
  readonly models: readonly {
    readonly id: string;
    readonly verdict: string;
    readonly checks: readonly { readonly id: string; readonly status: string }[];
  }[];
}

function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const command = ["conformance", "run", manifest, "--allow-private", ...args];
  return runCommand(command, { ...OPERATOR_ENV, ...env });
}

function inFolder(name: string): string {
  return join(folder.root, name);
}

function reportAt(name: string): Report {
  return JSON.parse(readFileSync(inFolder(name), "utf8")) as Report;
}

function list(...models: readonly string[]): void {
  folder.writeManifest("first.json", operatorManifest(gateway.simulator.url, models));
}

function calls(): number {
  return gateway.simulator.counts().total;
}

test("a provider that keeps what it lists passes: exit code 0, and one plain line for each check", async () => {
  list("op/a", "op/b");
  const { code, stdout, stderr } = await run([]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^op\/a: pass\nop\/b: pass\noperated: pass \(\$0\.\d+ spent\)\n$/);
  const [cost, ...lines] = stderr.trimEnd().split(/\n(?! )/);
  expect(cost).toMatch(
    /^a whole run costs about \$0\.\d+ \(at most \$1\.000000\)\n {2}op\/a: \$0\.\d+\n/,
  );
  const line = /^(pass |skip |warn |fail |error) (C\d{1,2}) {1,2}(op\/[ab]): \S.*$/;
  expect(lines.filter((each) => !line.test(each))).toEqual([]);
  const named = new Set(lines.map((each) => line.exec(each)?.slice(2).join(" ")));
  expect(named.size).toBe(2 * CHECKS);
  expect(lines).toHaveLength(2 * CHECKS);
  expect(stderr).not.toContain("\u001B");
});

describe("before any call, the exit code", () => {
  const secret = { DATABASE_URL: "postgres://me:secretword@db/books" };

  test.each<[string, (text: string) => string, Readonly<Record<string, string>>, RegExp]>([
    ["a manifest that is not valid", () => '{"manifest_version":"2"}', {}, /manifest_version/],
    [
      "a model that the manifest does not have",
      (text) => text.replace("op/model", "op/other"),
      {},
      /no model of the manifest has this name/,
    ],
    [
      "a provider without its key",
      (text) => text,
      { TEST_PROVIDER_KEY: "" },
      /^the environment variable TEST_PROVIDER_KEY holds no key\n$/,
    ],
    [
      "a manifest whose key variable is a secret of this program, which is not sent",
      (text) => text.replace("TEST_PROVIDER_KEY", "DATABASE_URL"),
      secret,
      /^(?!.*secretword).*DATABASE_URL is a variable of this program/s,
    ],
    [
      "a manifest whose key variable the settings give to another address, which is not sent",
      (text) => text,
      { TM_PROVIDER_KEY_ORIGINS: "TEST_PROVIDER_KEY=https://api.example.com" },
      /provider_key_origins gives TEST_PROVIDER_KEY to https:\/\/api\.example\.com only/,
    ],
  ])("is 3 for %s", async (_name, change, env, message) => {
    folder.writeManifest("first.json", change(readFileSync(manifest, "utf8")));
    const before = calls();
    const { code, stdout } = await run(["--models", "op/model"], env);
    expect(code).toBe(3);
    expect(stdout).toMatch(message);
    expect(calls()).toBe(before);
  });

  test("is 3 for a manifest that names the key of another provider of the manifests folder", async () => {
    folder.writeManifest("owner.json", operatorManifest("https://api.example.com", ["op/owner"]));
    const before = calls();
    const { code, stdout } = await run([], { TM_MANIFESTS: folder.manifestsDir });
    expect(code).toBe(3);
    expect(stdout).toContain("TEST_PROVIDER_KEY belongs to https://api.example.com, which owner");
    expect(calls()).toBe(before);
  });

  const nowhere = { DATABASE_URL: "postgres://me@127.0.0.1:1/nothing" };

  test.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    ["an unknown check", ["--checks", "C1,C13"], {}, "--checks"],
    ["a negative budget", ["--budget-usd", "-1"], {}, "--budget-usd"],
    ["no concurrency", ["--concurrency", "0"], {}, "--concurrency"],
    ["a timeout that is no time", ["--timeout", "soon"], {}, "--timeout"],
    ["verdicts that have no database", ["--record"], nowhere, "check DATABASE_URL"],
    [
      "a report that cannot be written",
      ["--markdown", "/none/report.md"],
      {},
      "/none/report.md: there is no such file or folder",
    ],
  ])("is 2 for %s", async (_what, args, env, why) => {
    const before = calls();
    const { code, stdout, stderr } = await run(args, env);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(why);
    expect(calls()).toBe(before);
  });
});

test("--estimate prints the cost of a run, as text or JSON, without calling the provider", async () => {
  const before = calls();
  const { code, stdout } = await run(["--estimate", "--budget-usd", "0.0001"]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^a whole run costs about \$0\.\d+ \(more than the budget, .*\)\n$/,
    ),
  });
  const { models, expected_usd } = JSON.parse((await run(["--estimate", "--json"])).stdout) as {
    expected_usd: string;
    models: unknown;
  };
  expect(models).toEqual([{ id: "op/model", expected_usd }]);
  expect(calls()).toBe(before);
});

test("--models and --checks limit a run to the chosen models and checks", async () => {
  list("op/a", "op/b", "x/a");
  const { stdout } = await run(["--json", "--models", "op/*", "x/b", "--checks", "c7,C1"]);
  const report = JSON.parse(stdout) as Report;
  const ran = report.models.map(({ id, checks }) => [id, checks.map((check) => check.id)]);
  expect(ran).toEqual([
    ["op/a", ["C1", "C7"]],
    ["op/b", ["C1", "C7"]],
  ]);
});

test("decisions are asked in the public form of the providers for which the settings say so", async () => {
  const example = "examples/manifests/decisions-gliner.json";
  const baseUrl = `${gateway.simulator.url}/gli/v1`;
  folder.writeManifest("first.json", manifestAt({ manifest: example, baseUrl }));
  const key = { SIMULATOR_KEY: "a-good-key" };
  const asWritten = await run(["--checks", "C2"], key);
  expect(asWritten.code).toBe(1);
  const named = { ...key, TM_DECISIONS_PUBLIC_FORM_PROVIDERS: "other, pioneer" };
  const { code, stdout } = await run(["--checks", "C2"], named);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("pioneer: pass") });
});

test("a run that Ctrl-C ends reports what ran, says that it is incomplete, and exits with 2", async () => {
  list("op/a", "op/b");
  gateway.simulator.script({ model: "op/b", fault: "hang:headers" });
  const args = ["--allow-private", "--concurrency", "1", "--json", inFolder("report.json")];
  const running = await spawnCommand(["conformance", "run", manifest, ...args], OPERATOR_ENV);
  await until("the first model has run", () =>
    running.stderr().split("\n").length > 3 + CHECKS ? running : undefined,
  );
  expect(await running.end("SIGINT")).toBe(2);
  const report = reportAt("report.json");
  expect(report.is_complete).toBe(false);
  expect(report.verdict).toBe("inconclusive");
  expect(report.models.map(({ id, verdict }) => `${id} ${verdict}`)).toEqual([
    "op/a pass",
    "op/b inconclusive",
  ]);
  expect(running.stdout()).toContain("ended early");
});

/** Passes everything on to the simulator, and adds up what its answers cost by their usage. */
class Bill {
  microUsd = 0;

  listen(target: string): Promise<LocalServer> {
    return listenLocally(
      createServer((request, response) => void this.#passOn(target, request, response)),
    );
  }

  async #passOn(target: string, request: IncomingMessage, response: ServerResponse) {
    const { "content-length": _length, host: _host, ...headers } = request.headers;
    const answer = await fetch(target + (request.url ?? ""), {
      method: request.method ?? "POST",
      headers: headers as Record<string, string>,
      body: await buffer(request),
      redirect: "manual",
    });
    const type = answer.headers.get("content-type") ?? "";
    response.writeHead(answer.status, { "content-type": type });
    const sent: Uint8Array[] = [];
    for await (const piece of answer.body ?? []) {
      sent.push(piece);
      response.write(piece);
    }
    this.microUsd += costOf(Buffer.concat(sent).toString());
    response.end();
  }
}

/** In micro-dollars, at $1 per million prompt tokens and $10 per million output tokens. */
function costOf(text: string): number {
  const last = (name: string): number =>
    Number([...text.matchAll(new RegExp(`"${name}":(\\d+)`, "g"))].at(-1)?.[1] ?? 0);
  return last("prompt_tokens") + 10 * last("completion_tokens");
}

describe("the budget", () => {
  const bill = new Bill();
  const door = withResource(() => bill.listen(gateway.simulator.url));

  test.each([0, 1_000, 1_000_000])(
    "of %i micro-dollars is not exceeded, and the spend is what the provider billed",
    async (budget) => {
      folder.writeManifest("first.json", operatorManifest(door.url, ["op/a", "op/b"]));
      bill.microUsd = 0;
      const usd = (budget / 1e6).toFixed(6);
      const { code, stdout } = await run(["--json", "--budget-usd", usd, "--concurrency", "2"]);
      const report = JSON.parse(stdout) as Report;
      expect(bill.microUsd).toBeLessThanOrEqual(budget);
      expect(bill.microUsd).toBe(Math.round(Number(report.spend_usd) * 1e6));
      expect(report.is_complete).toBe(true);
      const isEnough = budget === 1_000_000;
      expect(report.verdict).toBe(isEnough ? "pass" : "inconclusive");
      expect(code).toBe(isEnough ? 0 : 2);
      expect(bill.microUsd > 0).toBe(budget > 0);
    },
  );
});

test("a failed check is exit code 1, and is reported in text, JSON, Markdown, JUnit and evidence", async () => {
  list("op/a", "op/b");
  gateway.simulator.script({ model: "op/b", fault: "model_echo:cheaper" });
  const evidence = inFolder("evidence/of/today");
  const files = { json: "r.json", markdown: "r.md", junit: "r.xml" };
  const flags = Object.entries(files).flatMap(([flag, name]) => [`--${flag}`, inFolder(name)]);
  const { code, stdout } = await run([...flags, "--evidence", evidence]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^op\/a: pass\nop\/b: fail\n {2}C7 fail: /);
  const report = reportAt("r.json");
  expect(report.models.map(({ verdict }) => verdict)).toEqual(["pass", "fail"]);
  expect(readFileSync(inFolder("r.md"), "utf8")).toMatch(/\| op\/b \| \*\*fail\*\* \|/);
  const xml = readFileSync(inFolder("r.xml"), "utf8");
  expect(xml).toMatch(/<testsuite name="op\/b" tests="12" failures="1"/);
  expect(readdirSync(evidence).toSorted()).toEqual(["op_a.json", "op_b.json"]);
  const seen: unknown = JSON.parse(readFileSync(join(evidence, "op_b.json"), "utf8"));
  expect(seen).toEqual(report.models[1]);
  const everything = readdirSync(folder.root, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(json|md|xml)$/.test(name) && !name.startsWith("manifests"))
    .map((name) => readFileSync(inFolder(name), "utf8"));
  expect(everything).toHaveLength(5);
  const key = OPERATOR_ENV["TEST_PROVIDER_KEY"] ?? "no key";
  expect(everything.filter((text) => text.includes(key))).toEqual([]);
});

test("the evidence of each model has a file of its own, although two ids give one file name", async () => {
  list("op/a", "op_a");
  const evidence = inFolder("alike");
  await run(["--checks", "C1", "--evidence", evidence]);
  const kept = readdirSync(evidence).map((name) =>
    textAt(JSON.parse(readFileSync(join(evidence, name), "utf8")), "id"),
  );
  expect(kept.toSorted()).toEqual(["op/a", "op_a"]);
});

describe("stored verdicts", () => {
  /** The manifest file that the gateway uses. */
  function served(): string {
    return join(gateway.config.manifestsDir, "manifest-0.json");
  }

  async function verification(): Promise<unknown> {
    const { key } = await gateway.account("1.00");
    const { json } = await get(gateway.url, { key, path: "/v1/models" });
    return at(json, "data", 0, "providers", 0, "verification");
  }

  /** Waits until the gateway shows another process's verdict, which takes some seconds. */
  async function untilState(state: string): Promise<unknown> {
    return await until(`it is ${state}`, async () => {
      const shown = await verification();
      return at(shown, "state") === state ? shown : undefined;
    });
  }

  function conformance(...args: readonly string[]): Promise<CommandResult> {
    const env = { ...OPERATOR_ENV, DATABASE_URL: gateway.config.databaseUrl };
    return runCommand(["conformance", ...args], env);
  }

  test("are not recorded by a run of only some checks, and the command says so", async () => {
    const args = [served(), "--allow-private", "--record", "--checks", "C1,C2"];
    const { code, stdout } = await conformance("run", ...args);
    expect(code).toBe(0);
    expect(stdout).toContain("nothing was recorded");
    expect(await gateway.backend.verdictStore.latest()).toEqual([]);
  });

  test("are imported from a report only if the trusted key signed it unchanged", async () => {
    const [report, key] = [inFolder("report.json"), inFolder("keys/lab.pem")];
    const signed = ["--json", report, "--sign", key];
    const made = await conformance("run", served(), "--allow-private", ...signed);
    expect(made.code).toBe(0);
    const changed = inFolder("changed.json");
    const text = readFileSync(report, "utf8");
    writeFileSync(changed, text.replace('"verdict": "pass"', '"verdict": "warn"'));
    for (const [file, trusted, why] of [
      [changed, key, "its signature is not of the trusted key"],
      [report, inFolder("missing.pem"), "there is no such file"],
    ] as const) {
      const { code, stdout, stderr } = await conformance("import", file, "--trusted-key", trusted);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(why);
    }
    expect(await gateway.backend.verdictStore.latest()).toEqual([]);
    const stored = await conformance("import", report, "--trusted-key", key, "--json");
    expect(stored.code).toBe(0);
    expect(JSON.parse(stored.stdout)).toEqual({ provider: "operated", verdict: "pass", stored: 1 });
    expect(await gateway.backend.verdictStore.latest()).toEqual([
      expect.objectContaining({ modelId: "op/model", verdict: "pass", source: "import" }),
    ]);
  });

  test("are not imported from a report dated in the future, which each import would renew", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const report = reportOf({
      provider: "operated",
      manifestSha256: "ab".repeat(32),
      startedAtMs: Date.now() + 3_600_000,
      models: [{ id: "op/model" }],
    });
    const [file, key] = [inFolder("ahead.json"), inFolder("ahead.pem")];
    writeFileSync(file, JSON.stringify(signReport(report, privateKey)));
    writeFileSync(key, publicKey.export({ type: "spki", format: "pem" }));
    const before = await gateway.backend.verdictStore.latest();
    const refused = await conformance("import", file, "--trusted-key", key);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("in the future");
    expect(await gateway.backend.verdictStore.latest()).toEqual(before);
  });

  test("are shown by GET /v1/models, with the checks that warned or failed", async () => {
    const args = [served(), "--allow-private", "--record"];
    gateway.simulator.script({ fault: "cheat:honest-default-prompt" });
    const warned = await conformance("run", ...args);
    expect(warned.code).toBe(0);
    expect(warned.stdout).toMatch(
      /recorded the verdicts on 1 models\nop\/model is verified but for C4 usage arithmetic/,
    );
    expect(await untilState("verified_in_part")).toEqual({
      state: "verified_in_part",
      checked_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      failed_checks: [],
      warned_checks: [{ id: "C4", title: "usage arithmetic" }],
      overbilled_percent: null,
      suspect_since: null,
    });
    await fetch(`${gateway.simulator.url}/faults`, { method: "DELETE" });
    gateway.simulator.script({ fault: "cheat:usage-plus-10-percent" });
    expect((await conformance("run", ...args)).code).toBe(1);
    expect(await untilState("failed")).toMatchObject({
      failed_checks: [{ id: "C4", title: "usage arithmetic" }],
      overbilled_percent: expect.toSatisfy((percent) => percent >= 9 && percent <= 13),
    });
  });
});
