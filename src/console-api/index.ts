export type { ConsoleDeps } from "./console-deps.ts";
export { createConsoleServer } from "./console-server.ts";
