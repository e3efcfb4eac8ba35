import { basename, dirname, join } from "node:path";

import { DOOR, programImportsOf } from "./layers.ts";
import { isProduct, parse, wingOf, type Rule, type SourceFile } from "./source-files.ts";

const README_LINES_MAX = 30;

/** Inner files of a wing (a folder of `src`) that other wings may import, each with the reason. */
export const SIDE_DOORS: Readonly<Record<string, string>> = {
  "src/app/open-gateway.ts": "loaded when it is needed: a short command must not read the console",
  "src/app/logging.ts": "every command begins with it, and some need no database",
  "src/app/secret-files.ts": "every command begins with it",
  "src/app/shipped-files.ts": "every command begins with it",
  "src/kernel/core/request-status.ts": "its words are those of the contract, which the pages share",
  "src/kernel/core/visible-text.ts": "the contract, which the pages share, says what a name may be",
  "src/kernel/core/roles.ts": "its words are those of the contract, which the pages share",
  "src/kernel/core/usage.ts":
    "the contract, which the pages share, names token counts and prices after it",
  "src/kernel/core/cap-period.ts":
    "the contract, which the pages share, names the caps of a key after it",
  "src/kernel/core/tax-id-types.ts": "its words are those of the contract, which the pages share",
  "src/kernel/core/top-up-pauses.ts": "its words are those of the contract, which the pages share",
  "src/kernel/json/schema-parts.ts": "the contract, which the pages share, is made of these",
  "src/ledger/refusal-reason-schema.ts":
    "the console's contract, which the pages share, shows it as it is kept",
  "src/gateway/records/contract/limit-change.ts":
    "the console's contract, which the pages share, has this route of the gateway too",
  "src/account/console-api/contract.ts": "shared with the pages, which must not load the server",
  "src/account/console-api/console-server.ts":
    "only a server imports it: a short command must not read the console",
  "src/account/console-api/operations.ts":
    "each command begins with these, and must not read the rest of the console",
  "src/account/console-api/run-operation.ts":
    "loaded when it is needed: a short command must not read the console",
  "src/kernel/changes/actions.ts":
    "the contract, which the pages share, names the actions of its routes",
};

/** Forbids imports of another wing's inner files. Tests may import what they test. */
export const wingsHaveOneDoor: Rule = (files) =>
  files.filter(isProduct).flatMap((source) =>
    programImportsOf(source)
      .filter((target) => target.startsWith("src/") && wingOf(target) !== wingOf(source.file))
      .filter((target) => !isDoor(target) && !(target in SIDE_DOORS))
      .map((target) => `${source.file} imports ${target}`),
  );

/** Requires that a file imports its neighbors directly, not through the door of its wing. */
export const noFileImportsItsOwnDoor: Rule = (files) =>
  files.filter(isProduct).flatMap((source) =>
    programImportsOf(source)
      .filter((target) => isDoor(target) && wingOf(target) === wingOf(source.file))
      .map((target) => `${source.file} imports ${target}`),
  );

/** The files of the commands that start instruments: a simulated provider or a test checkout. */
const INSTRUMENT_USERS = new Set(["src/cli/dev-setup.ts", "src/cli/simulate-command.ts"]);

export const instrumentsStayOutOfTheProduct: Rule = (files) =>
  files
    .filter(({ file }) => wingOf(file) !== "dev" && !INSTRUMENT_USERS.has(file))
    .filter((source) => programImportsOf(source).some((target) => wingOf(target) === "dev"))
    .map(({ file }) => file);

/** The one file that imports OpenTelemetry packages; loaded only where traces are exported. */
const TRACE_EXPORTER = "src/gateway/telemetry/otlp-exporter.ts";

/** Keeps every start from loading the packages of an exporter that few installations use. */
export const tracePackagesAreLoadedOnDemand: Rule = (files) =>
  files.flatMap((source) => {
    const { staticImports } = parse(source).module;
    const targets = staticImports.map(({ moduleRequest }) => moduleRequest.value);
    return targets
      .filter((target) =>
        target.startsWith("@opentelemetry/")
          ? source.file !== TRACE_EXPORTER
          : join(dirname(source.file), target) === TRACE_EXPORTER,
      )
      .map((target) => `${source.file} imports ${target}`);
  });

function isDoor(file: string): boolean {
  return basename(file) === DOOR && dirname(dirname(file)) === "src";
}

const WITHOUT_DOOR = "cli";

/** Returns wings without a door, without a README.md, or with one of more than 30 lines. */
export function incompleteWings(
  files: readonly SourceFile[],
  readmes: ReadonlyMap<string, string>,
): string[] {
  const wings = [...new Set(files.filter(isProduct).map(({ file }) => wingOf(file)))];
  const known = new Set(files.map(({ file }) => file));
  return wings.flatMap((wing) => {
    const lines = readmes.get(`src/${wing}/README.md`)?.split("\n").length;
    return [
      ...(known.has(`src/${wing}/${DOOR}`) || wing === WITHOUT_DOOR ? [] : [`${wing} has no door`]),
      ...(lines === undefined ? [`${wing} has no README.md`] : []),
      ...((lines ?? 0) > README_LINES_MAX + 1 ? [`the README.md of ${wing} is too long`] : []),
    ];
  });
}
