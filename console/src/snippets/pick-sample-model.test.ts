import { expect, test } from "vitest";

import { buildListing, buildModel } from "../pages/models/sample-models.test-data.ts";
import { pickSampleModel } from "./pick-sample-model.ts";

const HEALTHY = [{ id: "lab-a", status: "healthy" }] as const;
const dear = buildModel({
  id: "dear",
  providers: [buildListing({ prompt: "9", completion: "9" })],
});
const cheap = buildModel({ id: "cheap", providers: [buildListing({ prompt: "0.1" })] });
const logging = buildModel({
  id: "logging",
  providers: [buildListing({ prompt: "0.01", prompt_logging: "retained" })],
});
const ailing = buildModel({
  id: "ailing",
  providers: [buildListing({ prompt: "0.01", provider: "lab-b" })],
});
const image = buildModel({
  id: "image",
  modality: "image",
  providers: [buildListing({ prompt: "0", completion: "0" })],
});

test("the sample model is the cheapest healthy chat model that logs no prompts", () => {
  expect(pickSampleModel([dear, logging, ailing, image, cheap], HEALTHY)).toBe("cheap");
});

test("the sample model is the cheapest chat model if none is both healthy and free of prompt logging", () => {
  expect(pickSampleModel([image, logging, dear], [])).toBe("logging");
  expect(pickSampleModel([image], HEALTHY)).toBeUndefined();
});
