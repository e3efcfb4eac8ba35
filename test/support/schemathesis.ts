import { execFileSync } from "node:child_process";

/** The program that sends what an OpenAPI document allows and forbids. */
export const SCHEMATHESIS: string = process.env["SCHEMATHESIS"] ?? "schemathesis";

/** Without Schemathesis, the run reports that it was not run. */
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
