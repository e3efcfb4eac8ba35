/** Mark ids that were rewritten for wire_b: packed UTF-8, or UTF-16 for text that has no UTF-8. */
const PACKED_MARK = "tmid_";
const PACKED_WIDE_MARK = "tmiw_";
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/**
 * The form of a wire_a tool call id that wire_b takes. Legal ids stay; all others, and those that
 * appear rewritten, are packed. Different ids stay different, and `fromWireBToolId` undoes it.
 */
export function toMessagesToolId(id: string): string {
  if (LEGAL.test(id) && !isMarked(id)) return id;
  const bytes = Buffer.from(id);
  if (bytes.toString() === id) return PACKED_MARK + bytes.toString("base64url");
  return PACKED_WIDE_MARK + Buffer.from(id, "utf16le").toString("base64url");
}

/** The wire_a id behind a wire_b id: unpacks what `toWireBToolId` packed, leaves all others. */
export function fromMessagesToolId(id: string): string {
  if (!isMarked(id)) return id;
  const bytes = Buffer.from(id.slice(PACKED_MARK.length), "base64url");
  const unpacked = bytes.toString(id.startsWith(PACKED_MARK) ? "utf8" : "utf16le");
  return toMessagesToolId(unpacked) === id ? unpacked : id;
}

function isMarked(id: string): boolean {
  return id.startsWith(PACKED_MARK) || id.startsWith(PACKED_WIDE_MARK);
}
