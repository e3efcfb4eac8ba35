/**
 * One event as text, ready to be sent. `data` is written as it is when it holds no line break (all
 * JSON text), else as one data line per line.
 */
export function sseEventText(name: string, data: string): string {
  return name === "" ? sseDataText(data) : `event: ${name}\n${sseDataText(data)}`;
}

/** An event without a name. */
export function sseDataText(data: string): string {
  if (!data.includes("\n") && !data.includes("\r")) return `data: ${data}\n\n`;
  return `data: ${data.split(/\r\n|\r|\n/).join("\ndata: ")}\n\n`;
}

/** A comment: keeps a silent connection open and means nothing to any reader. */
export function sseCommentText(comment: string): string {
  return `: ${comment.replaceAll(/[\r\n]/g, " ")}\n\n`;
}

/** The end mark of a wire_a stream. */
export const SSE_DONE_TEXT = "data: [DONE]\n\n";

export const SSE_CONTENT_TYPE = "text/event-stream; charset=utf-8";
