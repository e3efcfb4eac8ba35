export { CHECK_IDS, type CheckId } from "./report/finding.ts";
export { type ConformanceReport, junitReport, markdownReport } from "./report/report.ts";
export { readSignedReport, signReport } from "./report/signed-report.ts";
export { PROBE_TIMEOUT_MS, runSuite, type SuiteProgress } from "./run-suite.ts";
export { exitCodeOf, type Verdict } from "./report/verdict.ts";
