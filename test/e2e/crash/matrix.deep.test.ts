import { crashSuite } from "./crash-suite.ts";
import { DEEP_ROWS } from "./matrix.ts";

const suite = crashSuite();
suite.testRows(DEEP_ROWS);
suite.testUnchanged();
