import * as constants from "./constants.ts";
import * as doors from "./doors.ts";
import * as layers from "./layers.ts";
import * as leftovers from "./leftovers.ts";
import * as results from "./results.ts";
import type { Rule } from "./source-files.ts";
import * as values from "./values.ts";

/** A file's path and its text. */
type Planted = readonly [file: string, text: string];

interface CheckedRule {
  readonly check: Rule;
  /** The program without its tests, or every text of the repository. */
  readonly covers: "product" | "everything";
  /** Made-up files with one problem each, which the rule must report. */
  readonly breakages: Readonly<Record<string, Planted>>;
  /** Made-up files that are similar and right, about which the rule must be silent. */
  readonly nearMisses: Readonly<Record<string, Planted>>;
}

export type RuleName = keyof typeof RULES;

/** A call of the test runner with a marker between its name and its parenthesis. */
const marked = (marker: string): Planted => ["test/a.test.ts", `test${marker}("a", () => {});`];

export const RULES = {
  "folders import each other by their doors": {
    check: doors.wingsHaveOneDoor,
    covers: "product",
    breakages: {
      "a type of one": [
        "src/formats/wire/a.ts",
        'import type { MicroUsd } from "../../kernel/core/money.ts";',
      ],
    },
    nearMisses: {
      "a door": ["src/formats/wire/a.ts", 'import { microUsd } from "../../kernel/index.ts";'],
      "a room of the same wing": ["src/formats/wire/a.ts", 'import "./sse/sse-reader.ts";'],
      "a test": ["src/formats/wire/a.test.ts", 'import "../../kernel/core/money.ts";'],
    },
  },
  "only the commands `dev` and `simulate` import instruments": {
    check: doors.instrumentsStayOutOfTheProduct,
    covers: "product",
    breakages: {
      "the program": ["src/app/a.ts", 'import type { Simulator } from "../dev/index.ts";'],
    },
    nearMisses: {
      "the set-up of dev": ["src/cli/dev-setup.ts", 'import "../dev/index.ts";'],
      "an instrument": ["src/dev/simulator/a.ts", 'import "../test-checkout/b.ts";'],
    },
  },
  "OpenTelemetry is imported by one file, which is loaded where traces are on": {
    check: doors.tracePackagesAreLoadedOnDemand,
    covers: "product",
    breakages: {
      "another file": [
        "src/gateway/telemetry/a.ts",
        'import { SpanKind } from "@opentelemetry/api";',
      ],
      "the program": ["src/app/a.ts", 'import "../gateway/telemetry/otlp-exporter.ts";'],
    },
    nearMisses: {
      "on demand": ["src/gateway/telemetry/a.ts", 'await import("./otlp-exporter.ts");'],
      exporter: [
        "src/gateway/telemetry/otlp-exporter.ts",
        'import { SpanKind } from "@opentelemetry/api";',
      ],
    },
  },
  "no file imports the door of its own wing": {
    check: doors.noFileImportsItsOwnDoor,
    covers: "product",
    breakages: { "a detour": ["src/kernel/core/a.ts", 'import { microUsd } from "../index.ts";'] },
    nearMisses: {
      "the door of a part": ["src/formats/wire/wires.ts", 'import "./openai-chat/index.ts";'],
    },
  },
  "private members are `#private`": {
    check: constants.privateMembersAreHidden,
    covers: "product",
    breakages: {
      "a field": ["src/kernel/core/a.ts", "class A {\n  private readonly sum = 0;\n}"],
    },
    nearMisses: {
      "a hidden field": ["src/kernel/core/a.ts", "class A {\n  readonly #sum = 0;\n}"],
      "a comment": ["src/kernel/core/a.ts", "// a private address is refused"],
    },
  },
  "constants that are written out have names in capitals": {
    check: constants.constantsAreInCapitals,
    covers: "product",
    breakages: {
      "a number": ["src/kernel/core/a.ts", "const waitMs = 5;"],
      "a list as const": ["src/kernel/core/a.ts", 'const kinds = ["a", "b"] as const;'],
    },
    nearMisses: {
      "a unit": ["src/kernel/core/a.ts", "const KiB = 1024;"],
      "one in capitals": ["src/kernel/core/a.ts", "const WAIT_MS: number = 5;"],
      "a constant of a function": ["src/kernel/core/a.ts", "function f() { const waitMs = 5; }"],
    },
  },
  "files and sockets are opened at the edge": {
    check: layers.inputAndOutputAreAtTheEdge,
    covers: "product",
    breakages: {
      "an import of the file system": [
        "src/kernel/core/a.ts",
        'import { readFileSync } from "node:fs";',
      ],
      "it at run time": ["src/formats/wire/a.ts", 'await import("node:net");'],
      "a call of fetch": ["src/gateway/routing/a.ts", 'await fetch("https://example.test");'],
    },
    nearMisses: {
      upstream: ["src/upstream/a.ts", 'import { request } from "undici";'],
      "a builtin without input and output": ["src/gateway/accounts/a.ts", 'import "node:crypto";'],
      "a type": ["src/gateway/call/a.ts", 'import type { Dispatcher } from "undici";'],
    },
  },
  "no amount of money becomes a number": {
    check: values.noAmountBecomesANumber,
    covers: "product",
    breakages: {
      "a conversion": ["src/gateway/http/a.ts", "const shown = Number(row.heldMicroUsd) / 1e6;"],
      "one inside of another call": ["src/cli/a.ts", "Number(floor(totalPicoUsd));"],
      "a plus sign": ["src/cli/a.ts", "const cost = +row.costMicroUsd;"],
    },
    nearMisses: {
      "a number of tokens": ["src/gateway/http/a.ts", "const shown = Number(row.tokens);"],
      "an amount that stays exact": [
        "src/gateway/http/a.ts",
        "const sum = BigInt(row.costMicroUsd);",
      ],
    },
  },
  "no name with a unit of money is a number": {
    check: values.noMoneyNameIsANumber,
    covers: "product",
    breakages: {
      "a field": ["src/cli/a.ts", "interface A {\n  readonly heldMicroUsd: number;\n}"],
      "a number or nothing": ["src/cli/a.ts", "let capMicroUsd: number | null = null;"],
    },
    nearMisses: {
      "an exact amount": ["src/cli/a.ts", "interface A {\n  readonly heldMicroUsd: bigint;\n}"],
      "another number": ["src/cli/a.ts", "interface A {\n  readonly heldMs: number;\n}"],
    },
  },
  "money is counted without floats": {
    check: values.moneyIsWithoutFloats,
    covers: "product",
    breakages: {
      "a fraction": ["src/catalog/pricing/a.ts", "const fee = 0.05;"],
      "a negative power": ["src/gateway/call/a.ts", "const unit = 1e-6;"],
    },
    nearMisses: {
      "a fraction where no money is": ["src/gateway/routing/a.ts", "const share = 0.5;"],
      "a fraction in a text": ["src/catalog/pricing/a.ts", 'const example = "0.05";'],
      "a whole number": ["src/catalog/pricing/a.ts", "const million = 1e6;"],
    },
  },
  "prices of sources are texts": {
    check: values.pricesOfSourcesAreTexts,
    covers: "product",
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
    nearMisses: {
      "a number of tokens": [
        "src/listing-tools/listing-sources/a.ts",
        "const bound = Number(thousands) * 1000;",
      ],
      "a document elsewhere": ["src/cli/a.ts", "const all = JSON.parse(text);"],
    },
  },
  "clocks are read in one file": {
    check: values.clocksAreReadInOneFile,
    covers: "product",
    breakages: {
      "the time of day": ["src/gateway/call/a.ts", "const startMs = Date.now();"],
      "the monotonic clock": ["src/gateway/call/a.ts", "const startMs = performance.now();"],
      "the high resolution clock": ["src/gateway/http/a.ts", "process.hrtime.bigint();"],
    },
    nearMisses: {
      "the one file": ["src/kernel/core/time.ts", "export const now = () => Date.now();"],
      "the date of a given time": ["src/account/billing/a.ts", "const day = new Date(atMs);"],
      "a clock in a comment": ["src/gateway/call/a.ts", "// Date.now() is not called here"],
    },
  },
  "commands get environment, streams and exit from their caller": {
    check: values.commandsUseTheirCallersProcess,
    covers: "product",
    breakages: {
      "the environment": ["src/cli/a-command.ts", 'const url = process.env["DATABASE_URL"];'],
    },
    nearMisses: {
      "the start of the program": ["src/cli/main.ts", "process.exitCode = await run();"],
      "another folder": ["src/kernel/storage/a.ts", "const path = process.env;"],
    },
  },
  "only the wires know a wire's id": {
    check: values.onlyWiresKnowWireIds,
    covers: "product",
    breakages: {
      "a comparison": ["src/gateway/call/a.ts", 'const isA = call.wire === "wire_a";'],
      "a wire id that is given": ["src/gateway/http/a.ts", 'serve({ wire: "wire_a" });'],
    },
    nearMisses: {
      "the schema of manifests": ["src/catalog/manifest/a.ts", 'const list = ["wire_a"];'],
      "a wire": ["src/formats/wire/a.ts", 'const isA = call.wire === "wire_a";'],
    },
  },
  "the commit point is one flag": {
    check: values.theCommitPointIsOneFlag,
    covers: "product",
    breakages: {
      "a private flag": ["src/upstream/a.ts", "class A {\n  #committed = false;\n}"],
      "a variable": ["src/gateway/videos/a.ts", "let hasBegun = false;"],
      "the server's own": ["src/gateway/http/a.ts", "if (response.headersSent) stop();"],
    },
    nearMisses: {
      "the client's exchange": [
        "src/gateway/http/a.ts",
        "class A implements ClientExchange {\n  committed = false;\n}",
      ],
      "one that asks it": ["src/gateway/call/a.ts", "const mayRetry = client.committed === false;"],
      "an encoder's first event": ["src/formats/wire/a.ts", "class A {\n  #hasBegun = false;\n}"],
    },
  },
  "results are distinguished by their tag": {
    check: results.resultsAreDistinguishedByTheirTag,
    covers: "product",
    breakages: {
      "a refusal's member": ["src/gateway/call/a.ts", 'if ("class" in read) refuse(read);'],
    },
    nearMisses: {
      "a tag": ["src/gateway/call/a.ts", "if (!read.ok) refuse(read.refusal);"],
      "a fault's code": ["src/app/a.ts", 'const code = "code" in fault ? fault.code : "";'],
    },
  },
  "ids are parsed at the door": {
    check: results.idsAreParsedAtTheDoor,
    covers: "product",
    breakages: {
      "a made-up id": ["src/gateway/call/a.ts", 'const NO_KEY = "" as KeyId;'],
      "an amount": ["src/gateway/videos/a.ts", "const debit = owed as MicroUsd;"],
    },
    nearMisses: {
      "a column": ["src/gateway/abuse/a.ts", "const found = { orgId: row.org_id as OrgId };"],
      "the column of one row": [
        "src/account/identity/a.ts",
        "const orgId = rows[0]?.org_id as OrgId;",
      ],
      "a parsed id": ["src/cli/a.ts", "const keyId = parseKeyId(String(flag));"],
    },
  },
  "no value is cast to never": {
    check: values.nothingIsCastToNever,
    covers: "product",
    breakages: {
      "a switch that proves nothing": ["src/ledger/a.ts", "unreachable(code as never);"],
    },
    nearMisses: {
      "a switch that is exhaustive": ["src/ledger/a.ts", "unreachable(code);"],
      "a cast to another type": ["src/ledger/a.ts", "const id = text as OrgId; // as never"],
    },
  },
  "no rule of the types or the linter is suppressed": {
    check: leftovers.nothingIsSuppressed,
    covers: "everything",
    breakages: {
      "an ignored type": ["src/a.ts", "// @ts-ignore\nconst a: string = 1;"],
      "a lint rule for a line": ["src/a.ts", "// oxlint-disable-next-line no-eval\nf(1);"],
    },
    nearMisses: {
      "the words in a text": ["src/a.ts", 'const word = "@ts-ignore";'],
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
    nearMisses: {
      "a test": marked(""),
      "a missing program": marked(".skipIf(!hasChromium)"),
      "a body's own field": ["test/a.test.ts", 'ask({ only: ["alpha"], skip: false });'],
    },
  },
} as const satisfies Record<string, CheckedRule>;
