import { execFileSync } from "node:child_process";

/** The program that sends what an OpenAPI document allows and forbids. */
export const SCHEMATHESIS: string = process.env["SCHEMATHESIS"] ?? "schemathesis";

/** It is run where it is installed; elsewhere the run says that it was not. */
export const hasSchemathesis: boolean = isInstalled();
if (!hasSchemathesis) {
  process.stderr.write(
    "SKIPPED: the fuzzer of the OpenAPI document needs schemathesis (pip install, or SCHEMATHESIS)\n",
  );
}

function isInstalled(): boolean {
  try {
    execFileSync(SCHEMATHESIS, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
