import {
  compileProgram,
  newProgramFolder,
  removeProgramFolder,
} from "../support/compile-program.ts";
import { parseOptions, USAGE, type TortureRun } from "./options.ts";
import { describeOutcome } from "./report.ts";
import { runTorture } from "./torture.ts";

/** `npm run torture`: kills gateways and the database; no money may be lost or created. */

const chosen = parseOptions(process.argv.slice(2));
if (chosen === undefined) process.stdout.write(`${USAGE}\n`);
else process.exitCode = await torture(chosen);

async function torture(run: TortureRun): Promise<number> {
  const { seed } = run;
  say(`seed ${seed}: the same dice again with --seed ${seed}`);
  const folder = newProgramFolder();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      // The run's orphan guard ends the processes that the run started.
      removeProgramFolder(folder);
      process.exit(1);
    });
  }
  try {
    const { mainFile } = await compileProgram(folder);
    const outcome = await runTorture({ ...run, mainFile, say });
    process.stdout.write(describeOutcome(seed, outcome));
    return outcome.findings.violations().length === 0 ? 0 : 1;
  } finally {
    removeProgramFolder(folder);
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
