import { type Argument, type Command, Option } from "commander";

import type { OrgSummary } from "../gateway/index.ts";
import type { Backend } from "../app/index.ts";
import type { ChangedBy } from "../kernel/index.ts";
import {
  answering,
  onStoredData,
  UsageFault,
  withBackend,
  type CommandAnswer,
  type Flags,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/** What a command does once everything that it was given was read. */
export type StoredWork = (backend: Backend, by: ChangedBy) => Promise<CommandAnswer>;

/** A command that works on stored data, as a value. */
export interface StoredCommand {
  /** Its name and its arguments: `caps <key_id>`. */
  readonly usage: string;
  readonly summary: string;
  /** An argument behind those of `usage` that takes a few words only. */
  readonly lastArgument?: Argument;
  /** Beside those of every command on stored data, in the order of its help. */
  readonly options?: readonly Option[];
  /** Reads the flags and arguments; what it refuses is refused before a store is opened. */
  readonly read: (flags: Flags, args: readonly string[], context: CommandContext) => StoredWork;
}

export function option(flags: string, description: string): Option {
  return new Option(flags, description);
}

export function required(flags: string, description: string): Option {
  return new Option(flags, description).makeOptionMandatory();
}

/** In the order of the help. */
export function addStoredCommands(
  parent: Command,
  context: CommandContext,
  commands: readonly StoredCommand[],
): void {
  for (const { usage, summary, lastArgument, options = [], read } of commands) {
    const command = onStoredData(parent.command(usage)).description(summary);
    if (lastArgument !== undefined) command.addArgument(lastArgument);
    for (const each of options) command.addOption(each);
    // Commander hands on the arguments, then the flags, then the command itself.
    command.action(
      answering(context, (...given: unknown[]) => {
        const flags = given.at(-2) as Flags;
        return withBackend(context, flags, read(flags, given.slice(0, -2) as string[], context));
      }),
    );
  }
}

/** The organization that a flag or an argument names. */
export async function knownOrg(
  { accountStore }: Backend,
  asked: Flags[string],
): Promise<OrgSummary> {
  const org = await accountStore.findOrg(String(asked));
  if (org === undefined) throw noSuchOrg(String(asked));
  return org;
}

/** The same where it need not be named. */
export async function namedOrg(
  backend: Backend,
  asked: Flags[string],
): Promise<OrgSummary | undefined> {
  return asked === undefined ? undefined : await knownOrg(backend, asked);
}

/** The same sentence wherever an organization id is unknown. */
export function noSuchOrg(orgId: string): UsageFault {
  return new UsageFault(`there is no organization ${orgId}; \`tokenmarket org list\` has the ids`);
}
