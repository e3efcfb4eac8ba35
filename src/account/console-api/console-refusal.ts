import { type Refusal, RETRY_AFTER_SECONDS_MAX } from "../../kernel/index.ts";

/** The codes that only the console has, besides the gateway's error classes. */
type ConsoleCode =
  | Refusal["class"]
  | "signed_out"
  | "forbidden"
  | "gone"
  | "conflict"
  | "other_organization"
  | "confirm_needed";

/** A refusal by the console; it becomes a `ConsoleError` answer. */
export class ConsoleRefusal {
  readonly status: number;
  readonly code: ConsoleCode;
  /** The problem, its place, and the next step; never a secret, never an id of another organization. */
  readonly message: string;
  readonly field: string | undefined;
  /** Always set for 429 and 503, by default to a minute. */
  readonly retryAfterSeconds: number | undefined;
  /** True if the refusal cost a query, so that it counts as a change of a setting. */
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

export function invalidField(field: string, message: string): ConsoleRefusal {
  return new ConsoleRefusal(400, "invalid_request", message, { field });
}

/** 404 for an object that does not exist, belongs to another organization, or is never shown. */
export function notFound(what: string): ConsoleRefusal {
  const message = `there is no such ${what} in your organization; check the ID`;
  return new ConsoleRefusal(404, "not_found", message);
}

export function conflict(message: string): ConsoleRefusal {
  return new ConsoleRefusal(409, "conflict", message);
}

export function rateLimited(message: string, retryAfterSeconds: number): ConsoleRefusal {
  return new ConsoleRefusal(429, "rate_limit", message, { retryAfterSeconds });
}

/** A refusal of the gateway in the console's format: the same status, class and message. */
export function ofGateway(refusal: Refusal): ConsoleRefusal {
  const { status, class: code, message, retryAfterSeconds } = refusal;
  return new ConsoleRefusal(status, code, message, { retryAfterSeconds });
}

/** 409 for a reference that names another payment or grant already. */
export function refTaken(fault: Error): ConsoleRefusal {
  return new ConsoleRefusal(409, "conflict", fault.message, { field: "ref" });
}

/** A 404 for operators, who can see every organization. */
export function noSuch(what: string): ConsoleRefusal {
  const message = `there is no such ${what}; check the ID`;
  return new ConsoleRefusal(404, "not_found", message);
}
