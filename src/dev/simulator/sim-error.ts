/** What a wire says when a request or the provider is at fault. */
export interface SimError {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
}

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;
