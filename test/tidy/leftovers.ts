import {
  isNode,
  isTest,
  nodesWith,
  parse,
  placeOf,
  textOf,
  type Rule,
  type SourceFile,
  type SyntaxNode,
} from "./source-files.ts";

/** The only conditions on which tests may be skipped; most values name the file that says so. */
const SKIP_CONDITIONS: Readonly<Record<string, string>> = {
  "!hasChromium": "no Chromium on PATH: said by test/support/browser.ts",
  "redisProgram === undefined": "no Redis on PATH: said by test/support/redis.ts",
  isMissing: "no Redis on PATH: said by test/support/redis.ts",
  "!hasOwnPostgres": "no PostgreSQL installed: said by test/support/own-postgres.ts",
  "!hasOpenssl": "no openssl on PATH: said by test/support/authority.ts",
  "!hasPgBouncer": "no pgbouncer on PATH: said by test/support/pgbouncer.ts",
  "!hasHelm": "no helm on PATH: said by test/support/helm.ts",
  "!hasPromtool": "no promtool on PATH: said by test/support/promtool.ts",
  "!hasPrometheus": "no Prometheus on PATH: said by test/support/prometheus.ts",
  "!hasPrometheus || redisProgram === undefined": "said by test/support/prometheus.ts and redis.ts",
  "!hasPrometheus || !hasOwnPostgres": "said by test/support/prometheus.ts and own-postgres.ts",
  "!hasSchemathesis": "no schemathesis: said by test/support/schemathesis.ts",
  "!hasGuidePython": "no Python with the guides' libraries: said by test/support/guide-python.ts",
  "!hasNginx": "no nginx on PATH: said by test/support/nginx.ts",
  "!hasPgbackrest": "no pgBackRest on PATH: said by test/support/pgbackrest.ts",
  "!canCarryOut": "no debootstrap or not root: said by test/e2e/deploy/root-filesystem.ts",
  "!hasNamespaces": "not root on Linux: said by test/support/namespace.ts",
  "!isRoot": "gives up rights of root, so it needs them: its name says so",
  "kind.isMissing": "a kind of limit store without its program: said by test/support/redis.ts",
  'process.platform !== "linux"': "reads /proc, or binds a second loopback address",
};

const SUPPRESSIONS = /@ts-(ignore|expect-error|nocheck)|\b(oxlint|eslint)-disable/;

/** Suppressions work in comments only, so only comments are searched. */
export const nothingIsSuppressed: Rule = (files) =>
  files.flatMap((source) => commentsWith(source, SUPPRESSIONS));

export const everyTestIsRun: Rule = (files) =>
  files
    .filter(isTest)
    .flatMap((source) =>
      nodesWith(source, /\b(only|todo|skip|fails|skipIf|runIf)\b/, (node) =>
        isLeftOut(source, node),
      ),
    );

function commentsWith(source: SourceFile, pattern: RegExp): string[] {
  if (!pattern.test(source.text)) return [];
  return parse(source)
    .comments.filter(({ value }) => pattern.test(value))
    .map(({ start }) => placeOf(source, start));
}

/** True for calls such as `test.only` or `context.skip()`, and for a `skipIf` not listed above. */
function isLeftOut(source: SourceFile, node: SyntaxNode): boolean {
  if (node.type === "MemberExpression") {
    return /^(only|todo|skip|fails)$/.test(nameOf(node["property"])) && isOfRunner(node["object"]);
  }
  if (node.type === "Property") {
    return (
      /^(only|todo|skip|fails)$/.test(nameOf(node["key"])) &&
      isNode(node["value"]) &&
      node["value"]["value"] === true
    );
  }
  if (node.type !== "CallExpression" || !isNode(node["callee"])) return false;
  const callee = node["callee"];
  const called = nameOf(callee.type === "MemberExpression" ? callee["property"] : callee);
  if (called === "skip") return !isOfRunner(callee);
  if (called !== "skipIf" && called !== "runIf") return false;
  const condition = textOf(source, node).slice(textOf(source, callee).length + 1, -1);
  return !(called === "skipIf" && condition in SKIP_CONDITIONS);
}

function nameOf(node: unknown): string {
  return isNode(node) ? String(node["name"] ?? node["value"]) : "";
}

/** True if an expression starts with a function of the test runner: `describe.concurrent`. */
function isOfRunner(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.type === "Identifier") return /^(test|it|describe|suite|bench)$/.test(nameOf(node));
  return isOfRunner(node["object"] ?? node["callee"]);
}
