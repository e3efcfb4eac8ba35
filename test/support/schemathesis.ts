import { execFileSync } from "node:child_process";
import { orReport } from "./or-report.ts";

/** The program that sends what an OpenAPI document allows and forbids. */
export const SCHEMATHESIS: string = process.env["SCHEMATHESIS"] ?? "schemathesis";

/** Without Schemathesis, the run reports that it was not run. */
export const hasSchemathesis: boolean = orReport(
  isInstalled(),
  "the fuzzer of the OpenAPI document needs schemathesis (pip install, or SCHEMATHESIS)",
);

function isInstalled(): boolean {
  try {
    execFileSync(SCHEMATHESIS, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
