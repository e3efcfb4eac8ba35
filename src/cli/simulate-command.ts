import { once } from "node:events";

import { Option, type Command } from "commander";

import { type Listener, listenFault } from "../app/index.ts";
import { startSimulator } from "../dev/index.ts";
import { defined } from "../kernel/index.ts";
import {
  type CommandContext,
  endServer,
  type Flags,
  pickTexts,
  reportFault,
} from "./command-context.ts";
import { toValues } from "./manifest-init/init-flags.ts";
import { untilSignal } from "./run-to-end.ts";

export function addSimulateCommand(program: Command, context: CommandContext): void {
  program
    .command("simulate")
    .description("run the simulated provider")
    .addOption(new Option("--port <n>", "port; 0: any free one").default("9100"))
    .addOption(new Option("--wire <wire>", "serve this wire only").choices(["wire_a", "wire_b"]))
    .option("--models <ids...>", "list and serve these upstream models only")
    .option(
      "--fault <name>",
      "apply this fault to every call; docs/simulator.md describes the faults",
    )
    .option("--json", "accepted; the ready line is always JSON")
    .action((flags: Flags) => simulate(context, flags));
}

const SIMULATOR: Omit<Listener, "port"> = {
  name: "simulator",
  host: "127.0.0.1",
  portSettings: ["--port"],
  hostSettings: [],
};

async function simulate(context: CommandContext, flags: Flags): Promise<void> {
  try {
    const { wire, fault } = pickTexts(flags);
    const models = toValues(flags["models"]);
    const port = Number(flags["port"]);
    const listener = { ...SIMULATOR, port };
    const simulator = await startSimulator({
      ...defined({ port, wire, fault }),
      ...(models.length > 0 && { models }),
    }).catch((error: unknown) => {
      throw listenFault(error, listener);
    });
    await untilSignal(async (signal) => {
      const stopRequested = once(signal, "abort");
      context.stderr.write(`${JSON.stringify({ msg: "ready", url: simulator.url })}\n`);
      await stopRequested;
      await simulator.close();
      endServer(context, 0);
    });
  } catch (error) {
    reportFault(context, error);
    endServer(context, 2);
  }
}
