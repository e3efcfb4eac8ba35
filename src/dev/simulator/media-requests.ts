import { textOf } from "../../kernel/index.ts";
import { be, text, type Rule } from "./shape.ts";
import type { SimError, Troubles } from "./sim-error.ts";

const PROMPT_CHARS_MAX = 32_000;

/** Rules for the fields that requests for images and for videos have in common. */
export const PROMPTED: Readonly<Record<string, Rule>> = {
  "model!": text,
  "prompt!": be(`a string of 1 to ${PROMPT_CHARS_MAX} characters`, (value) => {
    const { length } = textOf(value);
    return length > 0 && length <= PROMPT_CHARS_MAX;
  }),
};

/** The errors of image and video providers; only the error for moderated content differs. */
export function mediaTroubles(content_filter: SimError): Troubles {
  return {
    context_overflow: {
      status: 400,
      code: "string_above_max_length",
      message: `Invalid 'prompt': string too long. Expected a maximum length of ${PROMPT_CHARS_MAX}.`,
    },
    content_filter,
    failed: { status: 500, code: "server_error", message: "The server had an error" },
  };
}

export function invalidValue(message: string | undefined): SimError | undefined {
  return message === undefined ? undefined : { status: 400, message, code: "invalid_value" };
}
