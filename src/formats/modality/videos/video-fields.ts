import { problem, type Problem } from "../../wire/fields/check-shape.ts";

/** Fields that carry an image, of whatever provider. */
const imageNames = new Set([
  "first_frame", "frame_images", "image", "image_url", "images", "input_image", "input_reference",
  "input_references", "last_frame", "reference_image", "reference_images",
]); // prettier-ignore

/** Types of an object that is an image, wherever it is. */
export const imageTypes: ReadonlySet<unknown> = new Set(["image_url", "input_image"]);

export const NO_IMAGES =
  "is not accepted: a video is made from text alone on this route; remove it";

/** Why a field of the top level is never taken; undefined: some listing may take it. */
export function refuseField(name: string): Problem | undefined {
  if (imageNames.has(name)) return problem(NO_IMAGES, name);
  if (name === "duration") return problem("is not accepted; send seconds", name);
  if (name === "callback_url") {
    return problem(
      "is not supported: the gateway sends no callbacks; poll GET /v1/videos/{id}",
      name,
    );
  }
  return undefined;
}
