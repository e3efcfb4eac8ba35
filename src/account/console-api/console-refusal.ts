import { type Refusal, RETRY_AFTER_SECONDS_MAX } from "../../kernel/index.ts";

type ConsoleCode =
  | Refusal["class"]
  | "signed_out"
  | "forbidden"
  | "gone"
  | "conflict"
  | "other_organization"
  | "confirm_needed";

export class ConsoleRefusal {
  readonly status: number;
  readonly code: ConsoleCode;
  /** What is wrong, where, and the next step; no secret and no id of another organization. */
  readonly message: string;
  readonly field: string | undefined;
  /** Always set for 429 and 503; the default is a minute. */
  readonly retryAfterSeconds: number | undefined;
  /** True if the refused request cost an e-mail, DNS look-up or report, and counts as a change. */
  readonly isCounted: boolean;

  constructor(
    status: number,
    code: ConsoleCode,
    message: string,
    more: {
      readonly field?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
      readonly isCounted?: boolean;
    } = {},
  ) {
    this.status = status;
    this.code = code;
    this.message = message;
    this.field = more.field;
    this.isCounted = more.isCounted === true;
    const isPassing = status === 429 || status === 503;
    this.retryAfterSeconds =
      more.retryAfterSeconds ?? (isPassing ? RETRY_AFTER_SECONDS_MAX : undefined);
  }
}

export function invalidField(field: string | undefined, message: string): ConsoleRefusal {
  return new ConsoleRefusal(400, "invalid_request", message, { field });
}

export function missing(message: string): ConsoleRefusal {
  return new ConsoleRefusal(404, "not_found", message);
}

/** Also refuses an object of another organization, so that nobody learns that it exists. */
export function notFound(what: string): ConsoleRefusal {
  return missing(`there is no such ${what} in your organization; check the ID`);
}

export function noSuch(what: string): ConsoleRefusal {
  return missing(`there is no such ${what}; check the ID`);
}

export function forbidden(message: string): ConsoleRefusal {
  return new ConsoleRefusal(403, "forbidden", message);
}

export function gone(message: string): ConsoleRefusal {
  return new ConsoleRefusal(410, "gone", message);
}

export function conflict(message: string): ConsoleRefusal {
  return new ConsoleRefusal(409, "conflict", message);
}

export function refTaken(fault: Error): ConsoleRefusal {
  return new ConsoleRefusal(409, "conflict", fault.message, { field: "ref" });
}

export function rateLimited(message: string, retryAfterSeconds: number): ConsoleRefusal {
  return new ConsoleRefusal(429, "rate_limit", message, { retryAfterSeconds });
}

export function unavailable(message: string, retryAfterSeconds?: number): ConsoleRefusal {
  return new ConsoleRefusal(503, "gateway_error", message, { retryAfterSeconds });
}

export function ofGateway(refusal: Refusal): ConsoleRefusal {
  const { status, class: code, message, retryAfterSeconds } = refusal;
  return new ConsoleRefusal(status, code, message, { retryAfterSeconds });
}
