import type { Model } from "../../../../src/console-api/contract.ts";

/** The first of these ids that a model has, else the newest model; a tab always has one. */
export function pickModel(models: readonly Model[], modelIds: readonly string[]): Model {
  const model = models.find(({ id }) => id === modelIds[0]) ?? models[0];
  if (model === undefined) throw new Error("a tab without a model is not shown");
  return model;
}
