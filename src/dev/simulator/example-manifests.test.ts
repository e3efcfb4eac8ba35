import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Deployment } from "../../catalog/catalog.ts";
import { compileCatalog } from "../../catalog/compile-catalog.ts";
import { parseManifestFiles } from "../../catalog/catalog-input.ts";
import { validateManifest } from "../../catalog/manifest/index.ts";
import { withResource } from "../../../test/support/with-resource.ts";
import { startSimulator } from "./simulator.ts";

const EXAMPLES = new URL("../../../examples/manifests/", import.meta.url);
const SHIPPED = new URL("../../../manifests/", import.meta.url);

const simulator = withResource(() => startSimulator());

function textsIn(folder: URL, pattern: RegExp): { file: string; text: string }[] {
  return readdirSync(folder)
    .filter((file) => pattern.test(file))
    .map((file) => ({ file, text: readFileSync(new URL(file, folder), "utf8") }));
}

function compiled(files: ReturnType<typeof textsIn>) {
  const parsed = parseManifestFiles(files);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const { manifests } = parsed;
  const outcome = compileCatalog({ manifests, hasKey: () => true, today: "2026-11-20" });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.issues));
  return outcome.catalog;
}

const examples = textsIn(EXAMPLES, /\.json$/);

test("every example manifest is valid, has a note, and is listed in the README and in this test", () => {
  for (const { file, text } of examples) {
    const note = expect.any(String);
    expect(validateManifest(text), file).toMatchObject({ ok: true, manifest: { note } });
  }
  const readme = readFileSync(new URL("README.md", EXAMPLES), "utf8");
  expect(examples.filter(({ file }) => !readme.includes(`(${file})`))).toEqual([]);
  expect(hosts.map(([file]) => file).sort()).toEqual(examples.map(({ file }) => file).sort());
});

test("the examples compile into one catalog together with the shipped manifests", () => {
  const { models } = compiled([...examples, ...textsIn(SHIPPED, /\.json$/)]);
  const modalities = models.map(({ modality }) => modality);
  expect(new Set(modalities)).toEqual(new Set(["text", "image", "video", "decisions"]));
});

const systemone = { urgent: { type: "noul", instructions: "Is it urgent?" } };

/** Each example manifest, the simulator's path for its provider, and a request that it accepts. */
const hosts = [
  ["images-reference.json", "/img/v1", { prompt: "p", n: 1, size: "1024x1024", quality: "low" }],
  ["images-relay.json", "/imgor/v1", { prompt: "p", n: 1, aspect_ratio: "1:1", resolution: "1K" }],
  ["images-ticks.json", "/imgx/v1", { prompt: "p", response_format: "b64_json" }],
  ["videos-reference.json", "/vid/v1", { prompt: "p", seconds: 4, size: "1280x720" }],
  ["videos-relay.json", "/vidor/v1", { prompt: "p", seconds: 8, generate_audio: true }],
  ["videos-ticks.json", "/vidx/v1", { prompt: "p", seconds: 6, aspect_ratio: "1:1" }],
  ["decisions-systemone.json", "/sys/v1", { state: "s", questions: systemone }],
  ["decisions-per-question.json", "/pplx/v1", { state: "s", questions: systemone }],
  ["decisions-envelope.json", "/wai/v1", { state: "s", questions: systemone }],
  ["decisions-gliner.json", "/gli/v1", { text: "s", schema: { entities: ["person"] } }],
] as const;

test.each(hosts)(
  "the simulator plays the host of the example %s at %s",
  async (file, root, body) => {
    const given = examples.filter((example) => example.file === file);
    const moved = given.map(({ text }) => {
      const manifest = JSON.parse(text) as { endpoint: { base_url: string } };
      manifest.endpoint.base_url = simulator.url + root;
      return { file, text: JSON.stringify(manifest) };
    });
    const { deployments } = compiled(moved);
    expect(deployments.length).toBeGreaterThan(0);
    for (const deployment of deployments) {
      expect([200, 202]).toContain(await call(deployment, body));
    }
  },
);

test("the shipped simulator manifests need no key, and their media and decisions models answer", async () => {
  const files = textsIn(SHIPPED, /^simulator-.*\.json$/);
  const text = JSON.stringify(files.map((each) => each.text));
  expect(text).not.toContain("api_key_env");
  const moved = files.map((each) => ({
    ...each,
    text: each.text.replace("http://127.0.0.1:9100/", `${simulator.url}/`),
  }));
  const { models } = compiled(moved);
  const bodies: Readonly<Record<string, object>> = {
    image: { prompt: "p" },
    video: { prompt: "p", seconds: 1 },
    decisions: { state: "s", questions: { a: { schema: { type: "boolean" }, instructions: "?" } } },
  };
  for (const [modality, body] of Object.entries(bodies)) {
    const deployment = models.find((model) => model.modality === modality)?.deployments[0];
    if (deployment === undefined) throw new Error(`no model of modality ${modality}`);
    expect(await call(deployment, body)).toBe(200);
  }
});

/** Sends a request of the deployment's model; returns the status. */
async function call(deployment: Deployment, body: object): Promise<number> {
  const { status } = await fetch(deployment.baseUrl + pathOf(deployment), {
    method: "POST",
    body: JSON.stringify({ model: deployment.upstreamModelId, ...body }),
  });
  return status;
}

function pathOf({ modality, imagesPath, videosPath, decisions }: Deployment): string {
  if (modality === "image") return imagesPath;
  return modality === "video" ? videosPath : (decisions?.path ?? "");
}
