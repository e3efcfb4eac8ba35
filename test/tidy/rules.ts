import * as constants from "./constants.ts";
import * as doors from "./doors.ts";
import * as layers from "./layers.ts";
import * as leftovers from "./leftovers.ts";
import * as results from "./results.ts";
import type { Rule } from "./source-files.ts";
import * as values from "./values.ts";

type Planted = readonly [file: string, text: string];

interface CheckedRule {
  readonly check: Rule;
  /** Default: the program without its tests. */
  readonly covers?: "everything";
  /** Made-up files with one violation each, which the rule must report. */
  readonly breakages: Readonly<Record<string, Planted>>;
}

const marked = (marker: string): Planted => ["test/a.test.ts", `test${marker}("a", () => {});`];

export const RULES: Readonly<Record<string, CheckedRule>> = {
  "folders import each other by their doors": {
    check: doors.wingsHaveOneDoor,
    breakages: {
      "a type of one": [
        "src/formats/wire/a.ts",
        'import type { MicroUsd } from "../../kernel/core/money.ts";',
      ],
    },
  },
  "only the commands `dev` and `simulate` import instruments": {
    check: doors.instrumentsStayOutOfTheProduct,
    breakages: {
      "the program": ["src/app/a.ts", 'import type { Simulator } from "../dev/index.ts";'],
    },
  },
  "OpenTelemetry is imported by one file, which is loaded where traces are on": {
    check: doors.tracePackagesAreLoadedOnDemand,
    breakages: {
      "another file": [
        "src/gateway/telemetry/a.ts",
        'import { SpanKind } from "@opentelemetry/api";',
      ],
      "the program": ["src/app/a.ts", 'import "../gateway/telemetry/otlp-exporter.ts";'],
    },
  },
  "no file imports the door of its own wing": {
    check: doors.noFileImportsItsOwnDoor,
    breakages: { "a detour": ["src/kernel/core/a.ts", 'import { microUsd } from "../index.ts";'] },
  },
  "private members are `#private`": {
    check: constants.privateMembersAreHidden,
    breakages: {
      "a field": ["src/kernel/core/a.ts", "class A {\n  private readonly sum = 0;\n}"],
    },
  },
  "constants that are written out have names in capitals": {
    check: constants.constantsAreInCapitals,
    breakages: {
      "a number": ["src/kernel/core/a.ts", "const waitMs = 5;"],
      "a list as const": ["src/kernel/core/a.ts", 'const kinds = ["a", "b"] as const;'],
    },
  },
  "files and sockets are opened at the edge": {
    check: layers.inputAndOutputAreAtTheEdge,
    breakages: {
      "an import of the file system": [
        "src/kernel/core/a.ts",
        'import { readFileSync } from "node:fs";',
      ],
      "it at run time": ["src/formats/wire/a.ts", 'await import("node:net");'],
      "a call of fetch": ["src/gateway/routing/a.ts", 'await fetch("https://example.test");'],
    },
  },
  "no amount of money becomes a number": {
    check: values.noAmountBecomesANumber,
    breakages: {
      "a conversion": ["src/gateway/http/a.ts", "const shown = Number(row.heldMicroUsd) / 1e6;"],
      "one inside of another call": ["src/cli/a.ts", "Number(floor(totalPicoUsd));"],
      "a plus sign": ["src/cli/a.ts", "const cost = +row.costMicroUsd;"],
    },
  },
  "no name with a unit of money is a number": {
    check: values.noMoneyNameIsANumber,
    breakages: {
      "a field": ["src/cli/a.ts", "interface A {\n  readonly heldMicroUsd: number;\n}"],
      "a number or nothing": ["src/cli/a.ts", "let capMicroUsd: number | null = null;"],
    },
  },
  "money is counted without floats": {
    check: values.moneyIsWithoutFloats,
    breakages: {
      "a fraction": ["src/catalog/pricing/a.ts", "const fee = 0.05;"],
      "a negative power": ["src/gateway/call/a.ts", "const unit = 1e-6;"],
    },
  },
  "prices of sources are texts": {
    check: values.pricesOfSourcesAreTexts,
    breakages: {
      "a document read with floats": [
        "src/listing-tools/listing-sources/a.ts",
        "const all = JSON.parse(text);",
      ],
      "a price made a number": [
        "src/listing-tools/listing-sources/a.ts",
        "const fee = Number(entry.price);",
      ],
      "a plus sign": ["src/listing-tools/listing-sources/a.ts", "const usd = +sheet.prompt;"],
    },
  },
  "clocks are read in one file": {
    check: values.clocksAreReadInOneFile,
    breakages: {
      "the time of day": ["src/gateway/call/a.ts", "const startMs = Date.now();"],
      "the monotonic clock": ["src/gateway/call/a.ts", "const startMs = performance.now();"],
      "the high resolution clock": ["src/gateway/http/a.ts", "process.hrtime.bigint();"],
    },
  },
  "commands get environment, streams and exit from their caller": {
    check: values.commandsUseTheirCallersProcess,
    breakages: {
      "the environment": ["src/cli/a-command.ts", 'const url = process.env["DATABASE_URL"];'],
    },
  },
  "only the wires know a wire's id": {
    check: values.onlyWiresKnowWireIds,
    breakages: {
      "a comparison": ["src/gateway/call/a.ts", 'const isA = call.wire === "wire_a";'],
      "a wire id that is given": ["src/gateway/http/a.ts", 'serve({ wire: "wire_a" });'],
    },
  },
  "the commit point is one flag": {
    check: values.theCommitPointIsOneFlag,
    breakages: {
      "a private flag": ["src/upstream/a.ts", "class A {\n  #committed = false;\n}"],
      "a variable": ["src/gateway/videos/a.ts", "let hasBegun = false;"],
      "the server's own": ["src/gateway/http/a.ts", "if (response.headersSent) stop();"],
    },
  },
  "results are distinguished by their tag": {
    check: results.resultsAreDistinguishedByTheirTag,
    breakages: {
      "a refusal's member": ["src/gateway/call/a.ts", 'if ("class" in read) refuse(read);'],
    },
  },
  "ids are parsed at the door": {
    check: results.idsAreParsedAtTheDoor,
    breakages: {
      "a made-up id": ["src/gateway/call/a.ts", 'const NO_KEY = "" as KeyId;'],
      "an amount": ["src/gateway/videos/a.ts", "const debit = owed as MicroUsd;"],
    },
  },
  "no value is cast to never": {
    check: values.nothingIsCastToNever,
    breakages: {
      "a switch that proves nothing": ["src/ledger/a.ts", "unreachable(code as never);"],
    },
  },
  "no rule of the types or the linter is suppressed": {
    check: leftovers.nothingIsSuppressed,
    covers: "everything",
    breakages: {
      "an ignored type": ["src/a.ts", "// @ts-ignore\nconst a: string = 1;"],
      "a lint rule for a line": ["src/a.ts", "// oxlint-disable-next-line no-eval\nf(1);"],
    },
  },
  "every test is run": {
    check: leftovers.everyTestIsRun,
    covers: "everything",
    breakages: {
      "the only test": marked(".only"),
      "a skipped test": marked(".skip"),
      "a skipped group": ["src/a.test.ts", 'describe.concurrent.skip("a", () => {});'],
      "an unnamed condition": marked(".skipIf(process.env.FAST)"),
      "a test that skips itself": ["test/a.test.ts", 'test("a", (context) => context.skip());'],
      "an option": ["test/a.test.ts", 'test("a", { skip: true }, () => {});'],
    },
  },
};
