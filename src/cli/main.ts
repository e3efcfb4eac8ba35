#!/usr/bin/env node
import { openStandardError } from "../app/logging.ts";
import { runCli } from "./run-cli.ts";

const stderr = openStandardError();
let isAnswerLost = false;
// Without this handler, Node.js would exit with code 1, which means that a check failed.
process.stdout.on("error", ({ code = "" }: NodeJS.ErrnoException) => {
  // `EPIPE` means that the reader, such as `head`, has closed the pipe because it needs no more.
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
