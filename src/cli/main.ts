#!/usr/bin/env node
import { openStandardError } from "../app/logging.ts";
import { runCli } from "./run-cli.ts";

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: openStandardError(),
  exit: (code) => process.exit(code),
});
