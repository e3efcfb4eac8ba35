import { existsSync, readFileSync, writeFileSync } from "node:fs";

import type { Command } from "commander";

import { loadCatalog } from "../compose/load-catalog.ts";
import { publishedSchema, validateManifest } from "../manifest/index.ts";
import { answering, clock, readConfig, UsageFault, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/** `manifest check FILE…`, `manifest schema`, `catalog build --out FILE` */
export function addManifestCommand(program: Command, context: CommandContext): void {
  const manifest = program.command("manifest").description("provider listings");
  manifest
    .command("check <files...>")
    .description("report every problem of these manifests; exit 1 when there is one")
    .option("--json", "print one JSON document on standard output")
    .action(
      answering(context, (files: string[]) => {
        const issues = files.flatMap(checkFile);
        const ok = issues.length === 0;
        return {
          json: { ok, issues },
          text: ok
            ? files.map((file) => `${file}: valid`).join("\n")
            : issues.map((each) => `${each.file}${each.pointer}: ${each.message}`).join("\n"),
          exitCode: ok ? 0 : 1,
        };
      }),
    );
  manifest
    .command("schema")
    .description("print the JSON Schema (2020-12) of a manifest")
    .option("--json", "the same: it is JSON already")
    .action(
      answering(context, () => ({
        json: publishedSchema(),
        text: JSON.stringify(publishedSchema(), undefined, 2),
      })),
    );
  addCatalogCommand(program, context);
}

function addCatalogCommand(program: Command, context: CommandContext): void {
  program
    .command("catalog")
    .description("the compiled catalog")
    .command("build")
    .description("compile the manifests folder as the server would; exit 1 when it cannot be")
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .option("--out <file>", "write the catalog there")
    .option("--json", "print one JSON document on standard output")
    .action(
      answering(context, (flags: Flags) => {
        const { manifestsDir, poolsFile } = readConfig(context, flags);
        const { env } = context;
        const sources = { manifestsDir, poolsFile, env, clock, allowPrivateUpstreams: true };
        const loaded = loadCatalog(sources);
        if (!loaded.ok) {
          const text = loaded.issues.map((each) => `${each.file}${each.pointer}: ${each.message}`);
          return { json: loaded, text: text.join("\n"), exitCode: 1 };
        }
        const { buildId, models, deployments } = loaded.catalog;
        const out = flags["out"];
        if (typeof out === "string") {
          writeFileSync(out, `${JSON.stringify({ buildId, models, deployments }, printable, 2)}\n`);
        }
        return {
          json: { ok: true, build_id: buildId, models: models.length, notes: loaded.notes },
          text: [
            `build ${buildId}: ${models.length} models, ${deployments.length} deployments`,
            ...loaded.notes.map((note) => note.message),
          ].join("\n"),
        };
      }),
    );
}

interface FileIssue {
  readonly file: string;
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

function checkFile(file: string): FileIssue[] {
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file`);
  const verdict = validateManifest(readFileSync(file, "utf8"));
  if (verdict.ok) return [];
  return verdict.problems.map(({ pointer, rule, message }) => ({ file, pointer, rule, message }));
}

function printable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Set) return [...value];
  return value instanceof Map ? Object.fromEntries(value) : value;
}
