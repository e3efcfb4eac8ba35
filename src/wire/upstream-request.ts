/** A request encoded for one deployment: everything dispatch needs to send it. */
export interface UpstreamRequest {
  /** Path below the deployment's base URL, with a leading slash. */
  readonly path: string;
  /** Names and values without the provider's key, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Everything dropped on the way to this deployment, for `x-tm-dropped-params`. */
  readonly droppedParams: readonly string[];
}
