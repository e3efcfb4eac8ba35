import { byOperator } from "../../src/kernel/index.ts";

/** Who makes what a test prepares. */
export const testOperator = byOperator("test");
