const MOVED = /^(\/[\w.-]+-moved|\/moved)\//;

/** Where a host that redirects sends a request to; undefined: it is there already. */
export function movedPath(path: string): string | undefined {
  if (MOVED.test(path)) return undefined;
  return path.startsWith("/v1/") ? `/moved${path}` : path.replace(/^\/[^/]+/, "$&-moved");
}
