export * from "./address-guard.ts";
export * from "./classifier.ts";
export * from "./fetch-content.ts";
export * from "./fetch-json.ts";
export * from "./provider-connections.ts";
export * from "./run-attempt.ts";
export * from "./upstream-client.ts";
