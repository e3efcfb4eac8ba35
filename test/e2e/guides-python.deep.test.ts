import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import { DEV_MANIFESTS } from "../support/dev-models.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { GUIDE_PYTHON, hasGuidePython } from "../support/guide-python.ts";
import { codeFor, guideSnippets } from "../support/guides.ts";
import { newFolder } from "../support/run-folder.ts";

const run = promisify(execFile);
describe.skipIf(!hasGuidePython)(
  "the Python of the guides and of the README's first screen",
  () => {
    const gateway = withGateway({
      manifests: DEV_MANIFESTS,
      settings: { orgRequestsPerMinute: 10_000, concurrentRequests: 100 },
    });
    const account = withAccount(gateway, "25.00");

    test("runs as it is copied, with a key in the environment", async () => {
      const folder = newFolder("guides");
      const env = { ...process.env, TOKEN_MARKET_KEY: account.key };
      const snippets = guideSnippets().filter(({ language }) => language === "python");
      expect(snippets.length).toBeGreaterThan(10);
      for (const snippet of snippets) {
        const ran = await run(GUIDE_PYTHON, ["-c", codeFor(snippet, gateway.url)], {
          cwd: folder,
          env,
        });
        expect({ name: snippet.name, output: ran.stdout.trim() }).not.toMatchObject({ output: "" });
      }
    });
  },
);
