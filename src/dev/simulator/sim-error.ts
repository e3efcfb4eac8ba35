/** The error of a wire when a request or the provider is at fault. */
export interface SimError {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
}

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The troubles with the status, message and code of one host. */
export interface Troubles {
  readonly overloaded?: SimError;
  readonly context_overflow: SimError;
  readonly content_filter: SimError;
  readonly failed: SimError;
}
