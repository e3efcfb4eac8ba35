import type { JsonObject } from "../json.ts";
import type { EnvelopeFault } from "../faults.ts";
import type { SimError } from "../sim-error.ts";

interface EnvelopeCode {
  readonly status: number;
  readonly message: string;
}

const ALLOCATION: EnvelopeCode = {
  status: 429,
  message:
    "you have used up your daily free allocation of 10,000 neurons, please upgrade your plan if you would like to continue usage.",
};

const CODES: Readonly<Record<number, EnvelopeCode>> = {
  3036: ALLOCATION,
  3040: { status: 429, message: "Capacity temporarily exceeded, please try again." },
  4006: ALLOCATION,
  5006: { status: 400, message: "Error: oneOf at '/questions' not met, 0 matches." },
  5012: { status: 422, message: "Validation failed." },
  5021: {
    status: 413,
    message:
      "The estimated number of input and maximum output tokens (70000) exceeded this model context window limit (65536).",
  },
  7000: { status: 400, message: "No route for that URI" },
  10000: { status: 401, message: "Authentication error" },
};

const CODE_OF_STATUS: Readonly<Record<number, number>> = {
  400: 5006,
  401: 10_000,
  413: 5021,
  422: 5012,
  429: 3040,
};
/** Error code of a failure that has no more specific code. */
const INFERENCE_FAILED = 5012;

/** Puts a result into the envelope object. A fault can omit the envelope or empty the result. */
export function inEnvelope(result: JsonObject, fault: EnvelopeFault): JsonObject {
  if (fault.bare === true) return result;
  const opened = fault.empty === true ? {} : result;
  return { result: opened, success: true, errors: [], messages: [] };
}

/** Puts an error into the envelope object. Without a numeric code, the status determines one. */
export function envelopeError({ status, message, code }: SimError): JsonObject {
  const isNumber = code !== undefined && /^\d+$/.test(code);
  const number = isNumber ? Number(code) : (CODE_OF_STATUS[status] ?? INFERENCE_FAILED);
  return { result: {}, success: false, errors: [{ code: number, message }], messages: [] };
}

export function scriptedEnvelope(
  fault: EnvelopeFault,
): { readonly status: number; readonly json: JsonObject } | undefined {
  if (fault.code === undefined && fault.success !== false) return undefined;
  const code = fault.code ?? INFERENCE_FAILED;
  const known = CODES[code] ?? { status: 500, message: "Simulated failure: secret-provider-words" };
  const message = fault.message ?? known.message;
  const status = fault.success === false ? 200 : known.status;
  const inner = envelopeError({ status, message, code: String(code) });
  if (fault.nested !== true) return { status, json: inner };
  const nested = `AiError: ${JSON.stringify(inner)}`;
  return { status, json: envelopeError({ status, message: nested, code: String(code) }) };
}

export function envelopeCode(code: number): SimError {
  const known = CODES[code];
  return { status: 500, message: "", ...known, code: String(code) };
}
