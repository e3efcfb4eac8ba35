import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutAddresses } from "./peer-reasons.ts";
import {
  BIFROST_CORE_PROGRAM,
  BIFROST_CORE_SOURCE,
  BIFROST_PROGRAM,
  BIFROST_VERSION,
  INSTALLED,
  LITELLM_ENVIRONMENT,
  PRISMA_FOLDER,
  reasonFile,
  type PeerPart,
} from "./peer-files.ts";

/**
 * `npm run bench:peers -- [PART…]` installs the other gateways that the bench measures, in the
 * versions pinned here. If a part cannot be installed, the reason is written to a file, and the
 * bench reports it in place of figures.
 */

const HERE = fileURLToPath(new URL("./packages/", import.meta.url));
const COMMAND_TIMEOUT_MS = 15 * 60_000;
const REASON_BYTES_MAX = 400;

const INSTALLERS: Readonly<Record<PeerPart, () => void>> = {
  portkey: () => run("npm", ["ci", "--prefix", HERE]),
  "bifrost-core": installBifrostCore,
  bifrost: installBifrost,
  litellm: installLiteLlm,
  "litellm-database": installPrismaEngine,
};

class InstallFailed extends Error {}

const wanted = process.argv.slice(2);
const parts = (Object.keys(INSTALLERS) as PeerPart[]).filter(
  (part) => wanted.length === 0 || wanted.includes(part),
);
mkdirSync(INSTALLED, { recursive: true });
for (const [at, part] of parts.entries()) {
  process.stderr.write(`[${at + 1}/${parts.length}] ${part}: installing\n`);
  process.stderr.write(`[${at + 1}/${parts.length}] ${part}: ${install(part)}\n`);
}

function install(part: PeerPart): string {
  rmSync(reasonFile(part), { force: true });
  try {
    INSTALLERS[part]();
    return "installed";
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    writeFileSync(reasonFile(part), `${error.message}\n`);
    return `ABSENT: ${error.message}`;
  }
}

function installBifrostCore(): void {
  run("go", ["-C", BIFROST_CORE_SOURCE, "build", "-mod=readonly", "-o", BIFROST_CORE_PROGRAM, "."]);
}

function installBifrost(): void {
  run("go", ["install", `github.com/maximhq/bifrost/transports/bifrost-http@${BIFROST_VERSION}`], {
    GOBIN: join(BIFROST_PROGRAM, ".."),
  });
}

function installLiteLlm(): void {
  run("python3", ["-m", "venv", "--clear", LITELLM_ENVIRONMENT]);
  const requirements = join(HERE, "litellm-requirements.txt");
  run(python(), ["-m", "pip", "install", "--quiet", "--no-deps", "-r", requirements]);
}

/** LiteLLM reaches its database through an engine that Prisma downloads from its own site. */
function installPrismaEngine(): void {
  const found = "import litellm, os; print(os.path.dirname(litellm.__file__))";
  const folder = run(python(), ["-c", found], { LITELLM_LOCAL_MODEL_COST_MAP: "True" });
  const schema = join(folder.trim().split("\n").at(-1) ?? "", "proxy", "schema.prisma");
  run(python(), ["-m", "prisma", "generate", "--schema", schema], {
    PRISMA_BINARY_CACHE_DIR: PRISMA_FOLDER,
    PATH: `${join(LITELLM_ENVIRONMENT, "bin")}:${process.env["PATH"] ?? ""}`,
  });
}

function python(): string {
  return join(LITELLM_ENVIRONMENT, "bin", "python3");
}

function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): string {
  process.stderr.write(`  ${command} ${args.join(" ")}\n`);
  const ended = spawnSync(command, args, {
    encoding: "utf8",
    timeout: COMMAND_TIMEOUT_MS,
    env: { ...process.env, ...env },
  });
  if (ended.status === 0) return ended.stdout;
  const said = ended.error?.message ?? (ended.stderr.trim() === "" ? ended.stdout : ended.stderr);
  const shown = withoutAddresses(said).trim().replaceAll(/\s+/g, " ").slice(-REASON_BYTES_MAX);
  throw new InstallFailed(`could not be installed here, ${basename(command)} failed: ${shown}`);
}
