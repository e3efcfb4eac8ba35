import type { AnswerOf, BodyOf, ConsoleError, ParamsOf, QueryOf, RouteName } from "./contract.ts";
import { presentMessage } from "../ui/sentence.ts";

export type Asked<N extends RouteName> = Part<"params", ParamsOf<N>> &
  OptionalPart<"query", QueryOf<N>> &
  Part<"body", BodyOf<N>> & { readonly signal?: AbortSignal };

type Part<K extends string, T> = [T] extends [undefined] ? unknown : { readonly [P in K]: T };
/** Query parameters that are undefined are left out of the URL. */
type OptionalPart<K extends string, T> = [T] extends [undefined]
  ? unknown
  : { readonly [P in K]?: { [F in keyof T]: T[F] | undefined } };

export type NeedsNothing<N extends RouteName> = keyof Asked<N> extends "signal" | "query"
  ? true
  : false;

/** A refusal of the console's API, or a failed connection to it. */
export class ApiFault extends Error {
  override readonly name = "ApiFault";
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, body: Partial<ConsoleError> | undefined) {
    super(
      presentMessage(
        body?.error?.message ?? "The console returned an unexpected response. Try again.",
      ),
    );
    this.status = status;
    this.code = body?.error?.code ?? "unknown";
    this.field = body?.error?.field;
    this.requestId = body?.request_id;
  }
}

/** The message for any value that was thrown. For an unexpected error, it reveals no internals. */
export function faultText(error: unknown): string {
  return error instanceof ApiFault ? error.message : "Something on this page failed. Reload it.";
}

/** Calls a route, such as `"GET /api/console/keys"`. Rejects with `ApiFault` unless aborted. */
export async function call<N extends RouteName>(
  route: N,
  ...[asked]: NeedsNothing<N> extends true ? [asked?: Asked<N>] : [asked: Asked<N>]
): Promise<AnswerOf<N>> {
  const { params, query, body, signal } = (asked ?? {}) as LooseAsked;
  const [method = "GET", path = "/"] = route.split(" ");
  const init: RequestInit = {
    method,
    ...(method === "GET"
      ? { headers: presentOrgHeaders() }
      : {
          headers: { "content-type": "application/json", ...presentOrgHeaders() },
          body: JSON.stringify(body ?? {}),
        }),
    ...(signal === undefined ? {} : { signal }),
  };
  return (await fetchOk(buildAddress(path, params, query), init, readJson)) as AnswerOf<N>;
}

let shownOrgId: string | undefined;

export function noteShownOrg(orgId: string | undefined): void {
  shownOrgId = orgId;
}

/**
 * Names the organization that this tab shows. If another tab has switched the session, the server
 * refuses the request instead of changing the wrong organization.
 */
export function presentOrgHeaders(): Readonly<Record<string, string>> {
  return shownOrgId === undefined ? {} : { "x-tm-org": shownOrgId };
}

/** Fills `params` into a route's path and adds `query` without its undefined or empty values. */
export function buildAddress(path: string, params: Values = {}, query: Values = {}): string {
  const filled = path.replace(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(String(params[name] ?? "")),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/**
 * Fetches an answer and reads it with `read`. Rejects with `ApiFault` unless aborted, also if the
 * status is an error or the answer breaks off.
 */
export async function fetchOk<T>(
  address: string,
  init: RequestInit,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  try {
    const response = await fetch(address, init);
    if (response.ok) return await read(response);
    const body: unknown = await response.json().catch(() => undefined);
    throw new ApiFault(response.status, body as Partial<ConsoleError> | undefined);
  } catch (error) {
    if (error instanceof ApiFault || init.signal?.aborted === true) throw error;
    throw new ApiFault(0, { error: { code: "unreachable", message: UNREACHABLE } });
  }
}
const UNREACHABLE = "The console cannot be reached. Check your connection and try again.";

export async function readJson(response: Response): Promise<unknown> {
  return await response.json();
}

type Values = Readonly<Record<string, string | number | boolean | undefined>>;
interface LooseAsked {
  readonly params?: Values;
  readonly query?: Values;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}
