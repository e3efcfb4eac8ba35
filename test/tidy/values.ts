import {
  codeLinesWith,
  isNode,
  nodesWith,
  roomOf,
  textOf,
  type Rule,
  type SourceFile,
} from "./source-files.ts";

/** Files that must count amounts of money exactly. */
const EXACT =
  /\/core\/(money|decimal)\.ts|\/(listing-sources|pricing|ledger|abuse|call)\/|\/videos\/video-poller/;

/** This file makes gauges for Prometheus, which are floats; nothing is decided by them. */
const FLOATS_ALLOWED = "src/kernel/metrics/dollars.ts";

/** This file makes attributes of traces, which are floats too. */
const SHOWN_AMOUNT = "src/gateway/telemetry/build-spans.ts";

/** The one file that may read clocks. */
const CLOCK_FILE = "src/kernel/core/time.ts";

const AMOUNT = /[mM]icroUsd|[pP]icoUsd|[cC]ost|[dD]ebit/;

export const noAmountBecomesANumber: Rule = (files) =>
  files
    .filter(({ file }) => file !== FLOATS_ALLOWED && file !== SHOWN_AMOUNT)
    .flatMap((source) =>
      nodesWith(source, AMOUNT, (node) => {
        if (node.type === "UnaryExpression") {
          return node["operator"] === "+" && AMOUNT.test(textOf(source, node));
        }
        if (node.type !== "CallExpression" || !isNode(node["callee"])) return false;
        if (!/^(Number(\.\w+)?|parseFloat|Math\.\w+)$/.test(textOf(source, node["callee"]))) {
          return false;
        }
        return AMOUNT.test(source.text.slice(node["callee"].end, node.end));
      }),
    );

export const noMoneyNameIsANumber: Rule = (files) =>
  files.flatMap((source) => codeLinesWith(source, /\w*(MicroUsd|PicoUsd|Pico)\??: number\b/i));

export const moneyIsWithoutFloats: Rule = (files) =>
  exactFiles(files).flatMap((source) =>
    nodesWith(source, /parseFloat|toFixed|\.\d|\de-/i, (node) => {
      if (node.type === "Identifier") return /^(parseFloat|toFixed)$/.test(String(node["name"]));
      return typeof node["value"] === "number" && /^\d*\.|^\d+e-/i.test(textOf(source, node));
    }),
  );

/** This file has no prices. */
const NO_PRICES = "src/listing-tools/listing-sources/provider-heads.ts";

/** Requires that the importers keep every price as text. */
export const pricesOfSourcesAreTexts: Rule = (files) =>
  files
    .filter(
      ({ file }) => file.startsWith("src/listing-tools/listing-sources/") && file !== NO_PRICES,
    )
    .flatMap((source) =>
      nodesWith(source, /JSON\.parse|Number|parseInt|\+/, (node) => {
        const what = (each: unknown): string => (isNode(each) ? textOf(source, each) : "");
        if (node.type === "UnaryExpression") {
          return node["operator"] === "+" && PRICE.test(what(node["argument"]));
        }
        if (node.type !== "CallExpression" || !isNode(node["callee"])) return false;
        const callee = what(node["callee"]);
        const rest = source.text.slice(node["callee"].end, node.end);
        if (callee === "JSON.parse") return true;
        return /^(Number(\.\w+)?|parseInt)$/.test(callee) && PRICE.test(rest);
      }),
    );

const PRICE = /price|cost|sheet|usd|mtok|raw/i;

export function exactFiles(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ file }) => EXACT.test(file));
}

export const clocksAreReadInOneFile: Rule = (files) =>
  files
    .filter(({ file }) => file !== CLOCK_FILE)
    .flatMap((source) =>
      codeLinesWith(
        source,
        /\bDate\.now\b|\bperformance\.now\b|\bnew Date(\(\)|;)|(?<!new )\bDate\(\)|\bhrtime\b/,
      ),
    );

/** Folders through which an answer passes on its way to the client. */
const ANSWERING = new Set(["call", "upstream", "http", "videos"]);

/** Matches code that stores whether an answer is committed or begun, and Node's flag for that. */
const COMMIT_FLAG =
  /#\w*([cC]ommitted|[bB]egun)\b|\w*([cC]ommitted|[bB]egun)(: boolean)? =(?!=)|\bheadersSent\b/;

/** Only a client's exchange may know whether its status line was written; all others ask it. */
export const theCommitPointIsOneFlag: Rule = (files) =>
  files
    .filter(({ file, text }) => {
      return ANSWERING.has(roomOf(file)) && !/\bimplements ClientExchange\b/.test(text);
    })
    .flatMap((source) => codeLinesWith(source, COMMIT_FLAG));

/** The main file of a process, and the file of its workers, which are processes too. */
const PROCESS_FILES = new Set(["src/cli/main.ts", "src/cli/workers.ts"]);

export const commandsUseTheirCallersProcess: Rule = (files) =>
  files
    .filter(({ file }) => roomOf(file) === "cli" && !PROCESS_FILES.has(file))
    .flatMap((source) => codeLinesWith(source, /\bprocess\.(env|argv|std\w+|exit\w*)\b/));

/** Files that may name wires: the wires, the schema of manifests, and the simulator. */
const KNOW_WIRE_IDS =
  /^src\/(formats\/wire|catalog\/manifest|dev)\/|^src\/cli\/simulate-command\.ts$/;

export const onlyWiresKnowWireIds: Rule = (files) =>
  files
    .filter(({ file }) => !KNOW_WIRE_IDS.test(file))
    .flatMap((source) => codeLinesWith(source, /["'`]wire_[a-z]+["'`]/));

/** With a cast to `never`, a switch would pass without covering every member of its union. */
export const nothingIsCastToNever: Rule = (files) =>
  files.flatMap((source) =>
    nodesWith(source, /\bnever\b/, (node) => {
      const { type, typeAnnotation } = node;
      const isCast = type === "TSAsExpression" || type === "TSTypeAssertion";
      return isCast && isNode(typeAnnotation) && typeAnnotation.type === "TSNeverKeyword";
    }),
  );
