import { execFileSync } from "node:child_process";

/** A Python that has the libraries of the guides. */
export const GUIDE_PYTHON: string = process.env["GUIDES_PYTHON"] ?? "python3";

/** Without these libraries, the run reports that it did not run the guides' Python. */
export const hasGuidePython: boolean = importsLibraries();
if (!hasGuidePython) {
  process.stderr.write(
    "SKIPPED: the guides' Python needs openai, anthropic, requests and standardwebhooks (pip install, or GUIDES_PYTHON)\n",
  );
}

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
