import * as fc from "fast-check";

import { quickOrDeep, seedOf } from "./depth.ts";

const RUNS = quickOrDeep(50, 1_000);

/* Runs before every test file: no property draws its own seed, and quick runs are repeatable. */
fc.configureGlobal({ seed: seedOf("properties"), numRuns: RUNS });
