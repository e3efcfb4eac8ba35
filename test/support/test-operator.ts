import { byOperator } from "../../src/kernel/index.ts";

/** The author of everything that a test prepares. */
export const testOperator = byOperator("test");
