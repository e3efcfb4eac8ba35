import { execFile } from "node:child_process";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { DEV_MANIFESTS } from "../support/dev-models.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { SCHEMATHESIS, hasSchemathesis } from "../support/schemathesis.ts";
import { newFolder } from "../support/run-folder.ts";

const SCHEMA = join(import.meta.dirname, "../../schema/openapi-v1.json");

const LIMITS = "/api/admission-limits";

/** The rules that every answer has to keep, whatever is sent. */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "ignored_auth",
].join(",");

describe.skipIf(!hasSchemathesis)("a fuzzer that reads the published OpenAPI document", () => {
  const gateway = withGateway({
    manifests: DEV_MANIFESTS,
    settings: { orgRequestsPerMinute: 1_000_000, keyRequestsPerMinute: 1_000_000 },
  });
  const account = withAccount(gateway, "1000.00", { requestsPerMinute: 1_000_000 });

  test("finds no answer that the document does not allow, and no fault of the gateway", async () => {
    const fuzzed = await fuzz(gateway.url, account.key, ["--exclude-path", LIMITS]);
    expect(fuzzed.code, fuzzed.output).toBe(0);
    expect(fuzzed.output).toMatch(/Tested: +15\b/);
    expect(casesIn(fuzzed.output)).toBeGreaterThan(1_000);
    // This route lowers the limits of the calling key, so it is fuzzed last.
    const limits = await fuzz(gateway.url, account.key, ["--include-path", LIMITS]);
    expect(limits.code, limits.output).toBe(0);
    expect(casesIn(limits.output)).toBeGreaterThan(20);
  });
});

function casesIn(output: string): number {
  return Number(/Test cases:\s+(\d+) generated, \1 passed/.exec(output)?.[1] ?? 0);
}

function fuzz(
  url: string,
  key: string,
  selected: readonly string[],
): Promise<{ readonly code: unknown; readonly output: string }> {
  const cwd = newFolder("fuzzed");
  const options = {
    url,
    header: `Authorization: Bearer ${key}`,
    checks: CHECKS,
    phases: "examples,coverage,fuzzing",
    "max-examples": "50",
    seed: "1",
    workers: "1",
  };
  const named = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const args = ["run", SCHEMA, ...named, "--continue-on-failure", ...selected];
  return new Promise((resolve) => {
    execFile(SCHEMATHESIS, args, { cwd, maxBuffer: 64_000_000 }, (error, output) =>
      resolve({ code: error === null ? 0 : error.code, output }),
    );
  });
}
