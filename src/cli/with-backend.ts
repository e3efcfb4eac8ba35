import { userInfo } from "node:os";

import {
  type Backend,
  type BackendOptions,
  type Logging,
  openBackend,
  openLogging,
  readOutbound,
} from "../app/index.ts";
import {
  byOperator,
  type ChangedBy,
  type Config,
  type Logger,
  listSecrets,
  secretsIn,
} from "../kernel/index.ts";
import type { AskDeps } from "../listing-tools/index.ts";
import {
  clock,
  type CommandContext,
  type CommandIo,
  type Flags,
  pickTexts,
  readConfig,
  UsageFault,
} from "./command-context.ts";

/** Opens the stores, runs `work`, and closes them. A server may run on the same stores. */
export async function withBackend<T>(
  io: CommandContext,
  flags: Flags,
  work: (
    backend: Backend,
    by: ChangedBy,
    of: { readonly config: Config; readonly log: Logger },
  ) => Promise<T>,
  schema: NonNullable<BackendOptions["schema"]> = "check",
): Promise<T> {
  const config = readConfig(io, flags);
  const by = readAuthor(flags);
  const logging = openCommandLogging(io, config, true);
  const backend = await openBackend({ config, ...logging, schema, by });
  try {
    return await work(backend, by, { config, log: logging.log });
  } finally {
    await backend.close();
    logging.flush();
  }
}

export function readAskDeps(config: Config): Required<AskDeps> {
  const { allowPrivateUpstreams } = config;
  return { clock, allowPrivateUpstreams, outbound: readOutbound(config) };
}

/** Masks every known secret of eight characters or more. */
export function openCommandLogging(io: CommandIo, config: Config, quiet = false): Logging {
  const secrets = [...secretsIn(io.env), ...listSecrets(config)];
  const level = quiet && config.logLevel === "info" ? "warn" : config.logLevel;
  return openLogging({ level, secrets, output: io.stderr });
}

/** The user of the machine; `--by` adds a person's name if several people share that user. */
function readAuthor(flags: Flags): ChangedBy {
  const named = pickTexts(flags)["by"];
  const user = userOfMachine();
  if (named === undefined) return byOperator(user);
  if (NAME.test(named) && named.length <= NAME_CHARS_MAX) return byOperator(`${named} (${user})`);
  throw new UsageFault(
    `--by must be a name of at most ${NAME_CHARS_MAX} letters, digits, spaces and . _ @ -`,
  );
}

const NAME_CHARS_MAX = 64;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]*$/u;

/** The name of the operating system's user; the user ID if no name exists, as in a container. */
function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
