import type { ProviderErrorText } from "./provider-error-text.ts";

/** HTTP status that a code means when it comes inside a 200. A map: providers choose the codes. */
const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map(
  Object.entries({
    overloaded_error: 529,
    overloaded: 529,
    api_error: 500,
    server_error: 500,
    internal_error: 500,
    internal_server_error: 500,
    service_unavailable: 503,
    unavailable: 503,
    insufficient_system_resource: 503,
    timeout_error: 504,
    timeout: 504,
    rate_limit_error: 429,
    rate_limit_exceeded: 429,
    rate_limit: 429,
    too_many_requests: 429,
    insufficient_quota: 429,
    resource_exhausted: 429,
    invalid_request_error: 400,
    invalid_request: 400,
    badrequesterror: 400,
    context_length_exceeded: 400,
    content_filter: 400,
    content_policy_violation: 400,
    moderation_blocked: 400,
    authentication_error: 401,
    invalid_api_key: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    model_not_found: 404,
    request_too_large: 413,
  }),
);

/** The status that an error inside a 200 means; undefined when its codes say nothing. */
export function statusOfWording(errorText: ProviderErrorText): number | undefined {
  for (const code of errorText.codes) {
    const status = STATUS_OF_CODE.get(code) ?? numericStatus(code);
    if (status !== undefined) return status;
  }
  return undefined;
}

function numericStatus(code: string): number | undefined {
  return /^[45]\d\d$/.test(code) ? Number(code) : undefined;
}
