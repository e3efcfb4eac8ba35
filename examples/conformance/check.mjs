// @ts-check
// node examples/conformance/check.mjs lab.json: what `tokenmarket conformance run` does, as a program.
import { readFileSync, writeFileSync } from "node:fs";

import { toExitCode, junitReport, markdownReport, runSuite } from "tokenmarket/conformance";

const [file = "lab.json", ...flags] = process.argv.slice(2);
const outcome = await runSuite({
  manifestText: readFileSync(file, "utf8"),
  file,
  env: process.env,
  budgetUsd: "0.50",
  allowPrivateUpstreams: flags.includes("--allow-private"),
  onProgress: ({ modelId, check, done, total }) =>
    console.error(`${done}/${total} ${check.status} ${check.id} ${modelId}: ${check.message}`),
});
if (outcome.ok) {
  const { report } = outcome;
  writeFileSync("conformance.xml", junitReport(report));
  console.log(markdownReport(report));
  for (const model of report.models) {
    const failed = model.checks.filter(({ status }) => status === "fail");
    for (const { id, message, evidence } of failed) console.error(model.id, id, message, evidence);
  }
  process.exitCode = toExitCode(report.verdict);
} else {
  console.error(outcome.problems.join("\n"));
  process.exitCode = 3;
}
