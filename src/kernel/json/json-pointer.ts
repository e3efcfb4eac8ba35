import { cutText } from "../core/visible-text.ts";

/** Formats a JSON pointer (RFC 6901); "" is the whole document. */
export function pointerTo(path: readonly (string | number)[]): string {
  return path
    .map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** The last step of a pointer, for people: `base_url`, `pricing[1]`, `the manifest`. */
export function placeName(pointer: string): string {
  const steps = pointer.split("/").slice(1);
  const last = steps.at(-1);
  if (last === undefined) return "the manifest";
  const name = cutText(last.replaceAll("~1", "/").replaceAll("~0", "~"));
  const parent = steps.at(-2);
  return parent !== undefined && /^[0-9]+$/.test(name) ? `${parent}[${name}]` : name;
}
