import {
  codeLinesWith,
  isNode,
  nodesWith,
  roomOf,
  textOf,
  type Rule,
  type SourceFile,
  type SyntaxNode,
} from "./source-files.ts";

const EXACT =
  /\/core\/(money|decimal)\.ts|\/(listing-sources|pricing|ledger|abuse|call)\/|\/videos\/video-poller/;

/** This file makes gauges for Prometheus, which are floats; nothing is decided by them. */
const FLOATS_ALLOWED = "src/kernel/metrics/dollars.ts";

/** This file makes attributes of traces, which are floats too. */
const SHOWN_AMOUNT = "src/gateway/telemetry/build-spans.ts";

const CLOCK_FILE = "src/kernel/core/time.ts";

const AMOUNT = /[mM]icroUsd|[pP]icoUsd|[cC]ost|[dD]ebit/;

export const noAmountBecomesANumber: Rule = (files) =>
  files
    .filter(({ file }) => file !== FLOATS_ALLOWED && file !== SHOWN_AMOUNT)
    .flatMap((source) =>
      nodesWith(source, AMOUNT, (node) =>
        isConverted(source, node, AMOUNT, /^(Number(\.\w+)?|parseFloat|Math\.\w+)$/),
      ),
    );

/** True if a plus sign, or a call of one of these functions, makes a number of such a value. */
function isConverted(source: SourceFile, node: SyntaxNode, value: RegExp, by: RegExp): boolean {
  const { type, operator, argument, callee } = node;
  if (type === "UnaryExpression") {
    return operator === "+" && isNode(argument) && value.test(textOf(source, argument));
  }
  if (type !== "CallExpression" || !isNode(callee)) return false;
  return by.test(textOf(source, callee)) && value.test(source.text.slice(callee.end, node.end));
}

export const noMoneyNameIsANumber: Rule = (files) =>
  files.flatMap((source) => codeLinesWith(source, /\w*(MicroUsd|PicoUsd|Pico)\??: number\b/i));

export const moneyIsWithoutFloats: Rule = (files) =>
  exactFiles(files).flatMap((source) =>
    nodesWith(source, /parseFloat|toFixed|\.\d|\de-/i, (node) => {
      if (node.type === "Identifier") return /^(parseFloat|toFixed)$/.test(String(node["name"]));
      return typeof node["value"] === "number" && /^\d*\.|^\d+e-/i.test(textOf(source, node));
    }),
  );

const NO_PRICES = "src/listing-tools/listing-sources/provider-heads.ts";

/** Requires that the importers keep every price as text. */
export const pricesOfSourcesAreTexts: Rule = (files) =>
  files
    .filter(
      ({ file }) => file.startsWith("src/listing-tools/listing-sources/") && file !== NO_PRICES,
    )
    .flatMap((source) =>
      nodesWith(source, /JSON\.parse|Number|parseInt|\+/, (node) => {
        const { type, callee } = node;
        const isCall = type === "CallExpression" && isNode(callee);
        if (isCall && textOf(source, callee) === "JSON.parse") return true;
        return isConverted(source, node, PRICE, /^(Number(\.\w+)?|parseInt)$/);
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
