import { byOperator } from "../../src/changes/index.ts";

/** Who makes what a test prepares. */
export const testOperator = byOperator("test");
