import { Fault } from "./fault.ts";

/** Formats one line of RFC 4180, without its line end. Null is an empty field, "" becomes `""`. */
export function csvLine(fields: readonly (string | null)[]): string {
  return fields.map(csvField).join(",");
}

function csvField(field: string | null): string {
  if (field === null) return "";
  return NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

const NEEDS_QUOTES = /^$|[",\r\n]|^\s|\s$/;

/** Puts an apostrophe before a formula, which a spreadsheet would run; for files people open. */
export function plainCell(text: string): string {
  return BEGINS_FORMULA.test(text) ? `'${text}` : text;
}

/* Spreadsheets with East Asian input also accept full-width signs as the start of a formula. */
const BEGINS_FORMULA = /^[\s\0]*[=+\-@＝＋－＠]|^[\t\r\n\0]/;

export class CsvFault extends Fault {}

/** A null field means that there is nothing between two commas. */
export type CsvRow = readonly (string | null)[];

const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_END = 0x0a;

/** Reads lines of `csvLine` ending in `\n`, from chunks of any size. Null and "" stay distinct. */
export class CsvReader {
  #row: (string | null)[] = [];
  #field = "";
  #at: "start" | "bare" | "quoted" | "behind quote" = "start";

  /** Returns the rows that end in this chunk. Throws `CsvFault`. */
  push(text: string): CsvRow[] {
    const rows: CsvRow[] = [];
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (this.#at === "quoted") {
        if (unit !== QUOTE) continue;
        this.#field += text.slice(from, i);
        this.#at = "behind quote";
      } else if (unit === COMMA || unit === LINE_END) {
        if (this.#at === "bare") this.#field += text.slice(from, i);
        this.#row.push(this.#at === "start" ? null : this.#field);
        this.#field = "";
        this.#at = "start";
        if (unit === LINE_END) rows.push(this.#row.splice(0));
      } else if (unit === QUOTE) {
        if (this.#at === "bare") throw new CsvFault("a quote inside a bare field");
        if (this.#at === "behind quote") this.#field += '"';
        this.#at = "quoted";
        from = i + 1;
      } else if (this.#at !== "bare") {
        if (this.#at === "behind quote") throw new CsvFault("text after a closing quote");
        this.#at = "bare";
        from = i;
      }
    }
    if (this.#at === "bare" || this.#at === "quoted") this.#field += text.slice(from);
    return rows;
  }

  /** Call it after the last chunk. Throws `CsvFault` if the last row has no line end. */
  end(): void {
    if (this.#at !== "start" || this.#row.length > 0)
      throw new CsvFault("the last row is incomplete");
  }
}
