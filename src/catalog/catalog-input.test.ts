import { readdirSync, readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { parseManifestFiles } from "./catalog-input.ts";
import { compileCatalog } from "./compile-catalog.ts";
import { edited, textManifest } from "../../test/fixtures/manifest/samples.ts";

test("one bad file refuses the set, and the problems of all files name their files", () => {
  const good = JSON.stringify(textManifest());
  const bad = JSON.stringify(edited(textManifest(), { "/provider/id": "A", "/models": [] }));
  const parsed = parseManifestFiles([
    { file: "good.json", text: good },
    { file: "bad.json", text: bad },
    { file: "worse.json", text: "{" },
  ]);
  expect(parsed).toMatchObject({
    ok: false,
    issues: [
      { file: "bad.json", pointer: "/models" },
      { file: "bad.json", pointer: "/provider/id" },
      { file: "worse.json", pointer: "" },
    ],
  });
});

test("the shipped manifests compile to one catalog; without keys only the simulator is routed", () => {
  const folder = new URL("../../manifests/", import.meta.url);
  const files = readdirSync(folder).map((file) => ({
    file,
    text: readFileSync(new URL(file, folder), "utf8"),
  }));
  const parsed = parseManifestFiles(files);
  const outcome = compileCatalog({
    manifests: parsed.ok ? parsed.manifests : [],
    hasKey: () => false,
    today: "2026-11-20",
  });
  const models = outcome.ok ? outcome.catalog.models : [];
  const notes = outcome.ok ? outcome.notes : [];
  expect(models.map(({ id, deployments }) => [id, deployments.map((one) => one.id)])).toEqual([
    ["sim/both", ["sim-a/sim/both", "sim-b/sim/both"]],
    ["sim/echo-a", ["sim-a/sim/echo-a"]],
    ["sim/echo-b", ["sim-b/sim/echo-b"]],
    ["sim/decide", ["sim-decisions/sim/decide"]],
    ["sim/image", ["sim-images/sim/image"]],
    ["sim/video", ["sim-videos/sim/video"]],
  ]);
  const reasons = new Set(notes.map(({ reason }) => reason));
  expect(reasons).toEqual(new Set(["key_missing", "staged"]));
});
