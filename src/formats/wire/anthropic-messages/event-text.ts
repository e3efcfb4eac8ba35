import { type Refusal, wireBErrorType } from "../../../kernel/index.ts";
import { sseEventText } from "../sse/sse-writer.ts";
import { errorMessage } from "./error-body.ts";

/** An event of the wire: the `event` line and the JSON type always agree. */
export function eventText(type: string, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${members === "" ? "" : `,${members}`}}\n\n`;
}

export const pingText: string = eventText("ping", "");

/** The one terminal error event; nothing may follow it. */
export function errorEventText(refusal: Refusal): string {
  const error = {
    type: wireBErrorType(refusal),
    message: errorMessage(refusal),
    error_type: refusal.class,
  };
  return sseEventText("error", JSON.stringify({ type: "error", error }));
}

/** The last two events of a complete answer. */
export function closingText(delta: string, usage: string): string {
  return (
    eventText("message_delta", `"delta":${delta},"usage":${usage}`) + eventText("message_stop", "")
  );
}
