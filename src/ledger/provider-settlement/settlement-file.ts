import {
  asObject,
  Fault,
  parseExactUsd,
  parseRequestId,
  picoUsd,
  type PicoUsd,
  textOf,
  ZERO_PICO_USD,
} from "../../kernel/index.ts";

export interface ProviderClaim {
  readonly totalPicoUsd: PicoUsd;
  readonly lines?: readonly ClaimLine[];
}

/** A line of a provider's statement: the cost of one attempt, or of all attempts of one request. */
export interface ClaimLine {
  readonly of: "attempt" | "request";
  readonly id: string;
  readonly costPicoUsd: PicoUsd;
}

export type ClaimOutcome =
  | { readonly kind: "read"; readonly claim: ProviderClaim }
  /** `problem` begins with the place in the file, if it has one: `line 7: …`, `lines[6]: …`. */
  | { readonly kind: "unreadable"; readonly problem: string };

/**
 * Reads a provider's own statement: JSON `{total_usd?, lines?: [{attempt_id | request_id,
 * cost_usd}]}` with at least one of the two, or CSV with a header row that has `cost_usd` and
 * `attempt_id` or `request_id`. Other members and columns are ignored. No amount becomes a float.
 */
export function readProviderClaim(text: string): ClaimOutcome {
  const body = text.replace(/^\uFEFF/, "");
  try {
    return { kind: "read", claim: /^\s*\{/.test(body) ? readJson(body) : readCsv(body) };
  } catch (fault) {
    if (!(fault instanceof ClaimFault)) throw fault;
    return { kind: "unreadable", problem: fault.message };
  }
}

class ClaimFault extends Fault {}

function readJson(text: string): ProviderClaim {
  const document = parseExactly(text);
  const given = document["lines"];
  if (given !== undefined && !Array.isArray(given)) throw new ClaimFault("lines must be a list");
  const lines = given?.map((line: unknown, at) => readJsonLine(line, `lines[${at}]`));
  const stated = document["total_usd"];
  if (stated === undefined && lines === undefined) {
    throw new ClaimFault("there is neither total_usd nor lines");
  }
  const totalPicoUsd =
    stated === undefined ? sumCosts(lines ?? []) : readAmount(stated, "total_usd");
  return lines === undefined ? { totalPicoUsd } : { totalPicoUsd, lines };
}

/** Parses JSON but keeps numbers as their digits in text, because a float would change them. */
function parseExactly(text: string): Readonly<Record<string, unknown>> {
  try {
    JSON.parse(text);
  } catch (fault) {
    throw new ClaimFault(`it is not valid JSON: ${fault instanceof Error ? fault.message : ""}`);
  }
  let isInString = false;
  const quoted = text.replaceAll(MARK_OR_NUMBER, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString || token === '"' ? token : `"${token}"`;
  });
  return JSON.parse(quoted) as Record<string, unknown>;
}

/** Matches quotes one by one: a pattern for a whole long string would overflow the stack. */
const MARK_OR_NUMBER = /"|\\.|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function readJsonLine(line: unknown, place: string): ClaimLine {
  const fields = asObject(line);
  if (fields === undefined) throw new ClaimFault(`${place} is not an object`);
  const { attempt_id: attempt, request_id: request, cost_usd: cost } = fields;
  return readLine({ attempt, request, cost }, place);
}

function readCsv(text: string): ProviderClaim {
  const records = csvRecords(text);
  const header = records.next().value;
  const names = header?.fields.map((name) => name.trim().toLowerCase()) ?? [];
  const [attempt, request, cost] = ["attempt_id", "request_id", "cost_usd"].map((name) =>
    names.indexOf(name),
  );
  if (cost === -1 || (attempt === -1 && request === -1)) {
    throw new ClaimFault("line 1: the header row must name cost_usd, and attempt_id or request_id");
  }
  const lines: ClaimLine[] = [];
  for (const { line, fields, isWhole } of records) {
    const place = `line ${line}`;
    if (!isWhole) throw new ClaimFault(`${place}: the quotes of a field do not match`);
    if (fields.length !== names.length) {
      throw new ClaimFault(`${place} has ${fields.length} fields, the header ${names.length}`);
    }
    const cell = (at: number | undefined): string | undefined => fields[at ?? -1]?.trim();
    lines.push(
      readLine({ attempt: cell(attempt), request: cell(request), cost: cell(cost) }, place),
    );
  }
  return { totalPicoUsd: sumCosts(lines), lines };
}

interface RawLine {
  readonly attempt: unknown;
  readonly request: unknown;
  readonly cost: unknown;
}

function readLine(raw: RawLine, place: string): ClaimLine {
  const costPicoUsd = readAmount(raw.cost, `${place}: cost_usd`);
  const attempt = textOf(raw.attempt);
  if (attempt !== "") {
    if (!/^\d{1,19}$/.test(attempt)) {
      throw new ClaimFault(`${place}: attempt_id must be a whole number, not ${shown(attempt)}`);
    }
    return { of: "attempt", id: BigInt(attempt).toString(), costPicoUsd };
  }
  const id = parseRequestId(textOf(raw.request).toLowerCase());
  if (id === undefined) {
    const given = shown(raw.request);
    throw new ClaimFault(`${place}: attempt_id or request_id must name what was billed; ${given}`);
  }
  return { of: "request", id, costPicoUsd };
}

function readAmount(value: unknown, place: string): PicoUsd {
  const amount = parseExactUsd(textOf(value));
  if (amount !== undefined) return amount;
  throw new ClaimFault(
    `${place} must be dollars such as 0.001932 with at most twelve decimals, not ${shown(value)}`,
  );
}

function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
}

const SHOWN_CHARS_MAX = 60;

function sumCosts(lines: readonly ClaimLine[]): PicoUsd {
  return picoUsd(lines.reduce((sum, line) => sum + line.costPicoUsd, ZERO_PICO_USD as bigint));
}

export interface CsvRecord {
  /** The record's first line in the file, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** False if a quoted field has no end, or if something follows its end. */
  readonly isWhole: boolean;
}

/** Yields the records of a CSV file (RFC 4180) without its empty lines. */
export function* csvRecords(text: string): Generator<CsvRecord, undefined> {
  let line = 1;
  for (let at = 0; at < text.length;) {
    const { fields, isWhole, end } = readRecord(text, at);
    if (fields.length > 1 || fields[0] !== "") yield { line, fields, isWhole };
    line += text.slice(at, end).match(/\r\n|\n|\r/g)?.length ?? 0;
    at = end;
  }
  return undefined;
}

function readRecord(
  text: string,
  start: number,
): { readonly fields: readonly string[]; readonly isWhole: boolean; readonly end: number } {
  const fields: string[] = [];
  for (let at = start; ;) {
    const field = text[at] === '"' ? readQuotedField(text, at) : plainField(text, at);
    fields.push(field.value);
    const next = text[field.end];
    if (next === ",") {
      at = field.end + 1;
      continue;
    }
    const isWhole = field.isWhole && (next === undefined || next === "\r" || next === "\n");
    const lineBreak = text.startsWith("\r\n", field.end) ? 2 : 1;
    return { fields, isWhole, end: isWhole ? field.end + lineBreak : text.length };
  }
}

interface Field {
  readonly value: string;
  readonly end: number;
  readonly isWhole: boolean;
}

function plainField(text: string, start: number): Field {
  let end = start;
  while (end < text.length && !",\r\n".includes(text.charAt(end))) end += 1;
  return { value: text.slice(start, end), end, isWhole: true };
}

function readQuotedField(text: string, start: number): Field {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  const value = text.slice(start + 1, end < 0 ? text.length : end).replaceAll('""', '"');
  return { value, end: end < 0 ? text.length : end + 1, isWhole: end >= 0 };
}
