import { join } from "node:path";

import { expect, test } from "vitest";

import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { jsonCommand, withOperatorFolder } from "../../support/operator.ts";
import { runCommand } from "../../support/program.ts";

const folder = withOperatorFolder({ url: "http://127.0.0.1:1" });

function manifestOf(prompt: string, provider = "acme-ai"): object {
  const pricing = [
    { type: "prompt", unit: "token", cost_usd_per_million: prompt },
    { type: "completion", unit: "token", cost_usd_per_million: "10" },
  ];
  const baseUrl = "https://api.example.com/v1";
  const models = [textModel("acme/small", { pricing })];
  return simulatorManifest({ provider, dialect: "wire_a", baseUrl, models });
}

test("manifest diff exits with 1 for a rise with model, price and percent, and with 0 for a cut", async () => {
  const old = folder.writeManifest("old.txt", manifestOf("1.25"));
  const next = folder.writeManifest("acme.json", manifestOf("1.5"));
  const up = await runCommand(["manifest", "diff", old, next]);
  expect(up).toMatchObject({ code: 1, stderr: "" });
  expect(up.stdout).toContain("acme/small changes (dearer)");
  expect(up.stdout).toContain("  prompt: 1.25 → 1.5  +20 %\n");
  expect(await runCommand(["manifest", "diff", next, old])).toMatchObject({ code: 0 });
  // The folder's manifest of the same provider is found under any file name.
  folder.writeManifest("broken.json", "{");
  const inFolder = ["manifest", "diff", old, "--manifests", folder.manifestsDir];
  const { code, json } = await jsonCommand(inFolder);
  expect(code).toBe(1);
  expect(json).toMatchObject({
    ok: false,
    provider: "acme-ai",
    files: { new: join(folder.manifestsDir, "acme.json") },
    counts: { dearer: 1, cheaper: 0 },
    models: [{ model: "acme/small", prices: [{ sku: "prompt", percent: "+20" }, {}, {}, {}] }],
  });
});

test("manifest diff finds a manifest of the folder that begins with a byte order mark", async () => {
  const text = JSON.stringify(manifestOf("1.25", "marked-ai"));
  const old = folder.writeManifest("marked.txt", text);
  folder.writeManifest("marked.json", `\uFEFF${text}`);
  const command = ["manifest", "diff", old, "--manifests", folder.manifestsDir];
  expect(await runCommand(command)).toMatchObject({ code: 0, stderr: "" });
});

test("manifest diff of manifests that cannot be compared exits with 2 and says why", async () => {
  const old = folder.writeManifest("old.txt", manifestOf("1.25"));
  const other = folder.writeManifest("other.txt", manifestOf("1", "other-ai"));
  const invalid = folder.writeManifest("invalid.txt", { manifest_version: "2" });
  for (const [args, message] of [
    [[old, other], /is of acme-ai and .*other\.txt of other-ai/],
    [[old, invalid], /invalid\.txt\/manifest_version: manifest_version must be/],
    [[old, "nowhere.json"], /nowhere\.json: there is no such file/],
    [[other, "--manifests", folder.manifestsDir], /has no manifest of other-ai/],
  ] as const) {
    const { code, stdout, stderr } = await runCommand(["manifest", "diff", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
  }
});
