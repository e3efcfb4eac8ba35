import { execFileSync } from "node:child_process";
import { orReport } from "./or-report.ts";

export const GUIDE_PYTHON: string = process.env["GUIDES_PYTHON"] ?? "python3";

export const hasGuidePython: boolean = orReport(
  importsLibraries(),
  "the guides' Python needs openai, anthropic, requests, standardwebhooks (or GUIDES_PYTHON)",
);

function importsLibraries(): boolean {
  try {
    execFileSync(GUIDE_PYTHON, ["-c", "import openai, anthropic, requests, standardwebhooks"], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}
