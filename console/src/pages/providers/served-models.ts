import type { Model, ModelProvider } from "../../../../src/account/console-api/contract.ts";

export interface ServedModel {
  readonly model: Model;
  readonly listing: ModelProvider;
  /** This provider's position in the model's routing order; the first one is 1. */
  readonly place: number;
}

/** The provider's listings in the order of the catalog. */
export function listServedModels(
  models: readonly Model[],
  providerId: string,
): readonly ServedModel[] {
  return models.flatMap((model) => {
    const at = model.providers.findIndex(({ provider }) => provider === providerId);
    const listing = model.providers[at];
    return listing === undefined ? [] : [{ model, listing, place: at + 1 }];
  });
}
