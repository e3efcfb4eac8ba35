import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "../../kernel/index.ts";
import { wires, type WireTable } from "../../formats/index.ts";
import type { HttpExchange } from "./http-exchange.ts";

/** One route of the gateway. `serve` runs after the key was accepted and the body was read. */
export interface Route {
  readonly method: "GET" | "POST";
  /**
   * The documented path. `{id}` as the last segment matches the rest of the path, because model ids
   * contain slashes; elsewhere it matches one segment.
   */
  readonly path: string;
  readonly bodyBytesMax: number;
  readonly answersHead?: boolean;
  serve(exchange: HttpExchange, target: RequestTarget): Promise<void>;
}

export interface RequestTarget {
  /** The text after the `?`, not decoded. */
  readonly queryText: string;
  readonly id: string | undefined;
}

export class RouteTable {
  readonly routes: readonly Route[];
  /** The wires in whose formats errors are written, also for paths without a route. */
  readonly wires: Pick<WireTable, "ofPath">;
  readonly #fixed = new Map<string, Route>();
  readonly #patterns: { readonly pattern: RegExp; readonly route: Route }[] = [];

  constructor(routes: readonly Route[], table: Pick<WireTable, "ofPath"> = wires) {
    this.routes = routes;
    this.wires = table;
    for (const route of routes) {
      const { method: own, answersHead } = route;
      for (const method of answersHead === true ? [own, "HEAD"] : [own]) {
        if (!route.path.includes("{id}")) this.#fixed.set(`${method} ${route.path}`, route);
        else this.#patterns.push({ pattern: compilePattern(method, route.path), route });
      }
    }
    // A pattern that ends with `{id}` also matches longer paths, so it is tried after the others.
    this.#patterns.sort((a, b) => Number(endsWithId(a.route)) - Number(endsWithId(b.route)));
  }

  find(method: string, path: string): { readonly route: Route; readonly id?: string } | undefined {
    const name = `${method} ${path}`;
    const fixed = this.#fixed.get(name);
    if (fixed !== undefined) return { route: fixed };
    for (const { pattern, route } of this.#patterns) {
      const found = pattern.exec(name)?.[1];
      const id = found === undefined ? undefined : decodeId(found);
      if (id !== undefined) return { route, id };
    }
    return undefined;
  }
}

function endsWithId({ path }: Route): boolean {
  return path.endsWith("{id}");
}

function compilePattern(method: string, path: string): RegExp {
  const [before = "", after = ""] = path.split("{id}");
  const id = after === "" ? "(.+)" : "([^/]+)";
  return new RegExp(`^${escaped(`${method} ${before}`)}${id}${escaped(after)}$`);
}

/** Paths that intentionally do not exist: 404 for everyone, with or without a key. */
export const REMOVED_PATHS: ReadonlySet<string> = new Set([
  "/v1/responses",
  "/v1/signup",
  "/login",
]);

export function post(path: string, serve: Route["serve"]): Route {
  return { method: "POST", path, bodyBytesMax: BODY_BYTES_MAX, serve };
}

export function postSmall(path: string, serve: Route["serve"]): Route {
  return { method: "POST", path, bodyBytesMax: SMALL_BODY_BYTES_MAX, serve };
}

export function get(path: string, serve: Route["serve"]): Route {
  return { method: "GET", path, bodyBytesMax: 0, serve };
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function decodeId(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
