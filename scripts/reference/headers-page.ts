import { HEADERS } from "../../src/gateway/http/response-headers.ts";
import { code, page, table } from "./markdown.ts";

/** docs/reference/headers.md, from the one table of response headers. */
export function headersPage(): string {
  const rows = Object.values(HEADERS).map((header) => [
    code(header.name),
    header.on,
    header.exposed ? "yes" : "no",
    header.doc,
  ]);
  return page(
    "Response headers",
    "Source: `src/gateway/http/response-headers.ts`. *In browsers* says whether a script may read the header (CORS).",
    table(["Header", "On", "In browsers", "What it says"], rows),
  );
}
