import * as fc from "fast-check";

import { runs, seedOf } from "./depth.ts";

const RUNS = 100;

/* Runs before every test file: no property draws a seed of its own, so a quick run repeats itself. */
fc.configureGlobal({ seed: seedOf("properties"), numRuns: runs(RUNS) });
