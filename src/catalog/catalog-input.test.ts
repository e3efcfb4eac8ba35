import { expect, test } from "vitest";

import { parseManifestFiles } from "./catalog-input.ts";
import { edited, textManifest } from "../../test/fixtures/manifest/samples.ts";

test("one invalid manifest refuses the whole set, and every problem names its file", () => {
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
