#!/usr/bin/env node
import { openStandardError } from "../app/logging.ts";
import { runCli } from "./run-cli.ts";

const stderr = openStandardError();
let isAnswerLost = false;
// Without this, Node.js would end with 1, which says that the answer is no.
process.stdout.on("error", ({ code = "" }: NodeJS.ErrnoException) => {
  // A reader that has left, such as `head`, has what it wants.
  if (code !== "EPIPE") stderr.write(`tokenmarket: standard output cannot be written (${code})\n`);
  isAnswerLost = true;
  process.exitCode = 2;
});

const exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr,
  exit: (code) => process.exit(code),
});
process.exitCode = isAnswerLost ? 2 : exitCode;
