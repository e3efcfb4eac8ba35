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

/** A host that reads the marketplace's own grammar. */
const asSent: NonNullable<ManifestAt["change"]> = ({ endpoint, models }) => {
  endpoint["decisions_path"] = "/as_sent";
  for (const model of models) delete model["decisions_path"];
};

const everyInput: NonNullable<ManifestAt["change"]> = ({ models }) => {
  for (const model of models) {
    model["input_modalities"] = ["text", "image", "file", "audio", "video"];
  }
};

const HOSTS: readonly ManifestAt[] = [
  { file: "manifests/simulator-a.json", root: "/a/v1", change: everyInput },
  { file: "manifests/simulator-b.json", root: "/b/v1", change: everyInput },
  { file: "manifests/simulator-images.json", root: "/img/v1" },
  { file: "manifests/simulator-videos.json", root: "/vid/v1" },
  { file: "manifests/simulator-decisions.json", root: "/sys/v1" },
  { file: `${EXAMPLES}/images-reference.json`, root: "/img/v1" },
  {
    file: `${EXAMPLES}/images-relay.json`,
    root: "/imgor/v1",
    change: ({ endpoint }) => delete endpoint["images_path"],
  },
  { file: `${EXAMPLES}/images-ticks.json`, root: "/imgx/v1" },
  { file: `${EXAMPLES}/videos-reference.json`, root: "/vid/v1" },
  { file: `${EXAMPLES}/videos-relay.json`, root: "/vidor/v1" },
  { file: `${EXAMPLES}/videos-ticks.json`, root: "/vidx/v1" },
  { file: `${EXAMPLES}/decisions-systemone.json`, root: "/sys/v1" },
  { file: `${EXAMPLES}/decisions-systemone.json`, root: "/sys/v1", change: asSent },
  { file: `${EXAMPLES}/decisions-per-question.json`, root: "/pplx/v1" },
  { file: `${EXAMPLES}/decisions-per-question.json`, root: "/pplx/v1", change: asSent },
  { file: `${EXAMPLES}/decisions-envelope.json`, root: "/wai/v1" },
  { file: `${EXAMPLES}/decisions-envelope.json`, root: "/wai/v1", change: asSent },
  { file: `${EXAMPLES}/decisions-gliner.json`, root: "/gli/v1" },
  { file: `${EXAMPLES}/decisions-gliner.json`, root: "/gli/v1", change: asSent },
];

describe("a provider that keeps what it lists passes", () => {
  test.each(HOSTS)("$file at $root", async (host) => {
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
const relay: ManifestAt = {
  file: `${EXAMPLES}/images-relay.json`,
  root: "/imgor/v1",
  change: ({ endpoint }) => delete endpoint["images_path"],
};
const videos: ManifestAt = { file: "manifests/simulator-videos.json", root: "/vid/v1" };
const decisions: ManifestAt = { file: "manifests/simulator-decisions.json", root: "/sys/v1" };
const enveloped: ManifestAt = {
  file: `${EXAMPLES}/decisions-envelope.json`,
  root: "/wai/v1",
  change: ({ models }) => models.splice(1),
};

describe("a broken promise fails the one check of that promise", () => {
  test.each<[ManifestAt, string, string, string]>([
    [images, 'image:{"count":1}', "C2", "1 images where 2 were asked for"],
    [images, 'image:{"not_an_image":true}', "C2", "data[0].b64_json is not a PNG"],
    [images, 'image:{"bad_base64":true}', "C2", "data[0].b64_json is not a PNG"],
    [images, 'image:{"url_only":true}', "C2", "data[0].b64_json is not a PNG"],
    [images, "content_type:text/plain", "C2", "content-type is text/plain"],
    [images, "no_usage", "C4", "an answer reports no usage"],
    [images, 'usage:{"total_tokens":1}', "C4", "usage.total_tokens is not input plus output"],
    [images, 'usage:{"output_tokens":9000,"total_tokens":null}', "C11", "more tokens than their"],
    [relay, 'image:{"cost":null}', "C11", "an answer reports no cost"],
    [relay, "no_usage", "C11", "an answer reports no cost"],
    [relay, 'image:{"cost":"0.5"}', "C11", "images cost more than their ceiling"],
    [videos, 'job:{"never":true}', "C11", "the job is in_progress after"],
    [videos, 'job:{"final":"failed"}', "C11", "the job ended as failed"],
    [videos, 'job:{"final":"failed","cost":"0.1"}', "C11", "ended as failed is billed"],
    [videos, 'job:{"cost":null}', "C11", "reports no cost"],
    [videos, 'job:{"cost":"9"}', "C11", "costs more than the ceiling"],
    [videos, 'job:{"no_content":true}', "C11", "the file is not read: status 404"],
    [videos, 'job:{"content":"body:html"}', "C11", "the file is not read: content type text/html"],
    [videos, 'job:{"poll":"status:404"}', "C11", "its record is answered with 404"],
    [decisions, "missing_answer", "C2", "question place has no answer"],
    [decisions, "extra_answer", "C2", "there is an answer without a question"],
    [
      decisions,
      'answers:{"place":{"choice":"desert","probabilities":{"desert":0.5}}}',
      "C2, C11",
      "sum to 0.5",
    ],
    [decisions, "no_usage", "C4", "an answer reports no usage"],
    [decisions, 'usage:{"input_tokens":7}', "C4", "tokens billed for a known state"],
    [decisions, 'usage:{"output_tokens":1.5}', "C4", "usage.output_tokens is not a count"],
    [enveloped, 'envelope:{"bare":true}', "C2", "the envelope's success is not true"],
    [enveloped, 'envelope:{"empty":true}', "C2", "question place has no answer"],
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
  "/sys/v1": "/sys/v1/as_sent",
  "/wai/v1": "/wai/v1/run/*",
};
