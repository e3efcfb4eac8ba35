import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { openPool } from "../../src/storage/connection.ts";
import { migrateDatabase, type MigrateOptions } from "../../src/storage/migrate.ts";
import { MIGRATIONS_FOLDER } from "../../src/storage/migration-files.ts";
import { OPERATOR_ENV, type OperatorFolder } from "./operator.ts";
import {
  type ProgramPlace,
  runCommand,
  runProgram,
  type RunningProgram,
  startProgram,
} from "./program.ts";
import { silentLog } from "./silent-log.ts";

const SYNTHETIC_STEPS = resolve(import.meta.dirname, "../e2e/operator/upgrade-steps");

/** Enough for any traffic of a test. */
const WIDE_LIMITS: Readonly<Record<string, string>> = {
  LOG_LEVEL: "warn",
  TM_LIMITS_ORG_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_KEY_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_TOKENS_PER_MINUTE: "1000000000",
  TM_LIMITS_CONCURRENT_REQUESTS: "10000",
};

/** An operator with one database and two versions of the program. */
export class UpgradeFixture {
  readonly #env: Readonly<Record<string, string>>;
  readonly #connectionString: string;
  readonly #folder: OperatorFolder;
  readonly #released: ProgramPlace;

  constructor(options: {
    readonly connectionString: string;
    readonly folder: OperatorFolder;
    readonly released: ProgramPlace;
  }) {
    this.#connectionString = options.connectionString;
    this.#env = { ...OPERATOR_ENV, ...WIDE_LIMITS, DATABASE_URL: options.connectionString };
    this.#folder = options.folder;
    this.#released = options.released;
  }

  /** `serve` of the kept build, or of this program. */
  async serve(version: "released" | "own"): Promise<RunningProgram> {
    const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
    const args = ["serve", ...ports, "--manifests", this.#folder.manifestsDir];
    return await startProgram(args, this.#env, this.#place(version));
  }

  /** A command with `--json` that has to succeed. */
  async command(
    version: "released" | "own",
    args: readonly string[],
  ): Promise<Readonly<Record<string, unknown>>> {
    const { code, stdout, stderr } =
      version === "own"
        ? await runCommand([...args, "--json"], this.#env)
        : await runProgram([...args, "--json"], this.#env, { place: this.#released });
    if (code !== 0) throw new Error(`${version}: ${args.join(" ")}: ${code} ${stdout}${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  /** An account that the released program makes. */
  async openAccount(): Promise<string> {
    const org = ["org", "create", "acme", "--email", "a@example.com"];
    const orgId = String((await this.command("released", org))["org_id"]);
    const credit = ["credit", "grant", "--org", orgId, "--usd", "1000.00", "--ref", "upgrade"];
    const key = ["key", "create", "--org", orgId, "--name", "upgrade"];
    const [made] = await Promise.all([
      this.command("released", key),
      this.command("released", credit),
    ]);
    return String(made["key"]);
  }

  /** This program's steps and made-up later ones, as a newer release would run them. */
  async migrate(options: Omit<MigrateOptions, "folder"> = {}): Promise<readonly string[]> {
    const folder = mkdtempSync(join(tmpdir(), "tokenmarket-upgrade-"));
    cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
    cpSync(SYNTHETIC_STEPS, folder, { recursive: true });
    const pool = openPool(this.#connectionString, silentLog);
    try {
      return await migrateDatabase(pool, { ...options, folder });
    } finally {
      await pool.end();
    }
  }

  #place(version: "released" | "own"): ProgramPlace | undefined {
    return version === "released" ? this.#released : undefined;
  }
}
