import type { WireId } from "../catalog/catalog.ts";
import { bodyBytesMax } from "../core/constants.ts";
import type { HttpExchange } from "./http-exchange.ts";

/** One route of the gateway. `serve` runs after the key was accepted and the body was read. */
export interface Route {
  readonly method: "GET" | "POST";
  /** As listed; a last segment `{id}` takes the rest of the path. */
  readonly path: string;
  readonly bodyBytesMax: number;
  serve(exchange: HttpExchange, target: RequestTarget): Promise<void>;
}

export interface RequestTarget {
  /** Behind the `?`, as it came; parsed by the few routes that read it. */
  readonly queryText: string;
  /** The decoded `{id}` of the path; undefined where the route has none. */
  readonly id: string | undefined;
}

/** Finds routes by method and path: fixed paths by one look-up, `{id}` paths by their prefix. */
export class RouteTable {
  readonly #fixed = new Map<string, Route>();
  readonly #prefixed: { readonly prefix: string; readonly route: Route }[] = [];

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      if (route.path.endsWith("/{id}")) {
        const prefix = `${route.method} ${route.path.slice(0, -"{id}".length)}`;
        this.#prefixed.push({ prefix, route });
      } else {
        this.#fixed.set(`${route.method} ${route.path}`, route);
      }
    }
  }

  find(method: string, path: string): { readonly route: Route; readonly id?: string } | undefined {
    const name = `${method} ${path}`;
    const fixed = this.#fixed.get(name);
    if (fixed !== undefined) return { route: fixed };
    for (const { prefix, route } of this.#prefixed) {
      if (!name.startsWith(prefix) || name.length === prefix.length) continue;
      const id = decodeId(name.slice(prefix.length));
      if (id !== undefined) return { route, id };
    }
    return undefined;
  }
}

/** Paths that do not exist on purpose: 404 for anybody, with a key or without. */
export const REMOVED_PATHS: ReadonlySet<string> = new Set([
  "/v1/responses",
  "/v1/signup",
  "/login",
]);

/** Paths at or under `/v1/messages` answer errors in the wire_b shape, every other in wire_a. */
export function errorWireOf(path: string): WireId {
  return path === "/v1/messages" || path.startsWith("/v1/messages/") ? "wire_b" : "wire_a";
}

export function post(path: string, serve: Route["serve"]): Route {
  return { method: "POST", path, bodyBytesMax, serve };
}

export function get(path: string, serve: Route["serve"]): Route {
  return { method: "GET", path, bodyBytesMax: 0, serve };
}

function decodeId(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
