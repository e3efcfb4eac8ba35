import { ConsoleRefusal } from "./console-refusal.ts";

/** A reference names one payment or grant permanently. */
export function refTaken(fault: Error): ConsoleRefusal {
  return new ConsoleRefusal({
    status: 409,
    code: "conflict",
    message: fault.message,
    field: "ref",
  });
}

/** Operators see every organization: what they do not find does not exist. */
export function noSuch(what: string): ConsoleRefusal {
  const message = `there is no such ${what}; check the ID`;
  return new ConsoleRefusal({ status: 404, code: "not_found", message });
}
