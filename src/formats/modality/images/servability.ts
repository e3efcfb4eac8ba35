import type { Deployment } from "../../../catalog/index.ts";
import type { Unservable } from "../../wire/modality.ts";
import { whatIsTaken } from "../../wire/fields/accepted-values.ts";
import { isCallersNote, isForListing } from "./image-fields.ts";
import type { ParsedImageRequest } from "./parse-request.ts";

/** Why this listing cannot serve the request as sent: a field or a value that it does not take. */
export function servabilityProblem(
  { doc, fields }: ParsedImageRequest,
  { supportedParameters }: Deployment,
): Unservable | undefined {
  for (const [name, field] of fields) {
    if (!isForListing(doc, name, field)) continue;
    const shown = name.slice(0, NAME_CHARS_MAX);
    const descriptor = supportedParameters.get(name);
    if (descriptor === undefined) {
      if (isCallersNote(name)) continue;
      const taken = ["prompt", ...supportedParameters.keys()].join(", ");
      return {
        field: shown,
        message: `${shown} is not accepted by this model; it accepts ${taken}`,
      };
    }
    const taken = whatIsTaken(doc, field.value, descriptor);
    if (taken !== undefined) return { field: shown, message: `${shown} must be ${taken}` };
  }
  return undefined;
}

const NAME_CHARS_MAX = 64;
