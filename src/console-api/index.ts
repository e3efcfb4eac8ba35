export type { ConsoleDeps, OperationDeps } from "./console-deps.ts";
export type { OperatorDeps } from "./operator-deps.ts";
export { createConsoleServer } from "./console-server.ts";
