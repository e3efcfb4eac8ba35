/** One provider's listing of one model, by the ids of the manifest. */
export interface ListingName {
  readonly providerId: string;
  readonly modelId: string;
}

/** As a key of maps, and as the id of its deployment. */
export function listingKey({ providerId, modelId }: ListingName): string {
  return `${providerId}/${modelId}`;
}
