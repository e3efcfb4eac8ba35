import { healthScripts, type HealthScript } from "./health-scripts.ts";
import { limitScripts, type LimitScript } from "./limit-scripts.ts";

export type RedisScript = LimitScript | HealthScript;

/** Every script of the program, by the name under which the client has it as a command. */
export const redisScripts: Readonly<Record<RedisScript, { readonly lua: string }>> = {
  ...limitScripts,
  ...healthScripts,
};
