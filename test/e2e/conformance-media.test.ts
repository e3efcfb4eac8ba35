import { afterEach, describe, expect, test } from "vitest";

import { answerShape } from "../../src/listing-tools/conformance/checks/c02-answer-shape.ts";
import { usageArithmetic } from "../../src/listing-tools/conformance/checks/c04-usage-arithmetic.ts";
import { noSubstitution } from "../../src/listing-tools/conformance/checks/c07-no-substitution.ts";
import { errorShape } from "../../src/listing-tools/conformance/checks/c08-error-shape.ts";
import { declaredInputs } from "../../src/listing-tools/conformance/checks/c10-inputs.ts";
import { modalitySpecifics } from "../../src/listing-tools/conformance/checks/c11-modality.ts";
import { whyNotChecked } from "../../src/listing-tools/conformance/checks/check.ts";
import { ConformanceBench, type ManifestAt } from "../support/conformance-lab.ts";
import { withResource } from "../support/with-resource.ts";

const bench = withResource(() => ConformanceBench.open());

afterEach(async () => {
  await fetch(`${bench.simulator.url}/faults`, { method: "DELETE" });
});

const CHECKS = [answerShape, usageArithmetic, errorShape, declaredInputs, modalitySpecifics];

const EXAMPLES = "examples/manifests";

const relay: ManifestAt = {
  file: `${EXAMPLES}/images-relay.json`,
  root: "/imgor/v1",
  change: ({ endpoint }) => delete endpoint["images_path"],
};

/** The examples of this repository; conformance-cheats runs the simulator's own manifests. */
const HOSTS: readonly ManifestAt[] = [
  relay,
  { file: `${EXAMPLES}/images-ticks.json`, root: "/imgx/v1" },
  { file: `${EXAMPLES}/videos-relay.json`, root: "/vidor/v1" },
  { file: `${EXAMPLES}/videos-ticks.json`, root: "/vidx/v1" },
  { file: `${EXAMPLES}/decisions-systemone.json`, root: "/sys/v1" },
  { file: `${EXAMPLES}/decisions-per-question.json`, root: "/pplx/v1" },
  { file: `${EXAMPLES}/decisions-envelope.json`, root: "/wai/v1" },
  { file: `${EXAMPLES}/decisions-gliner.json`, root: "/gli/v1" },
];

describe("a provider that keeps what it lists passes", () => {
  test.each(HOSTS)("$file", async (host) => {
    for (const deployment of bench.deployments(host)) {
      const reports = await bench.run(bench.lab(deployment), [...CHECKS, noSubstitution]);
      const bad = reports.filter(({ status }) => status !== "pass" && status !== "skip");
      expect(bad).toEqual([]);
      const applies = CHECKS.filter((check) => whyNotChecked(check, deployment) === undefined);
      const passed = reports.filter(({ status }) => status === "pass").map(({ id }) => id);
      expect(passed).toEqual(expect.arrayContaining(applies.map(({ id }) => id)));
    }
  });
});

const images: ManifestAt = { file: "manifests/simulator-images.json", root: "/img/v1" };
const videos: ManifestAt = { file: "manifests/simulator-videos.json", root: "/vid/v1" };
const enveloped: ManifestAt = {
  file: `${EXAMPLES}/decisions-envelope.json`,
  root: "/wai/v1",
  change: ({ models }) => models.splice(1),
};

describe("a broken promise fails the one check of that promise", () => {
  test.each<[ManifestAt, string, string, string]>([
    [images, "content_type:text/plain", "C2", "content-type is text/plain"],
    [images, 'usage:{"output_tokens":9000,"total_tokens":null}', "C11", "more tokens than their"],
    [relay, "no_usage", "C11", "an answer reports no cost"],
    [relay, 'image:{"cost":"0.5"}', "C11", "images cost more than their ceiling"],
    [videos, 'job:{"cost":"9"}', "C11", "costs more than the ceiling"],
    [videos, 'job:{"content":"body:html"}', "C11", "the file is not read: content type text/html"],
    [videos, 'job:{"poll":"status:404"}', "C11", "its record is answered with 404"],
    [enveloped, 'envelope:{"bare":true}', "C2", "the envelope's success is not true"],
  ])("%o: %s", async (host, fault, id, message) => {
    bench.simulator.script({ path: PATHS[host.root] ?? "", fault });
    const [deployment] = bench.deployments(host);
    if (deployment === undefined) throw new Error("a manifest has a model");
    const reports = await bench.run(bench.lab(deployment), CHECKS);
    const bad = reports.filter(({ status }) => status === "fail" || status === "warn");
    expect(bad.map((report) => report.id).join(", ")).toBe(id);
    expect(bad[0]?.message).toContain(message);
  });
});

/** The paths of requests; faults of a job's life go with its creation. */
const PATHS: Readonly<Record<string, string>> = {
  "/img/v1": "/img/v1/images/generations",
  "/imgor/v1": "/imgor/v1/images/generations",
  "/vid/v1": "/vid/v1/videos",
  "/wai/v1": "/wai/v1/run/*",
};
