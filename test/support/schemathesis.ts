import { execFileSync } from "node:child_process";
import { orReport } from "./or-report.ts";

/** A fuzzer that sends requests which an OpenAPI document allows and ones that it forbids. */
export const SCHEMATHESIS: string = process.env["SCHEMATHESIS"] ?? "schemathesis";

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
