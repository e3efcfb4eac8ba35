import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import type { Command } from "commander";

import {
  instant,
  accountsIn,
  type ChangedBy,
  type ChangeFilter,
  checkChain,
  exportLines,
  type RecordedChange,
} from "../kernel/index.ts";
import { type Backend, openExportKey, readExportKey } from "../app/index.ts";
import {
  answering,
  clock,
  type CommandAnswer,
  type Flags,
  onStoredData,
  readConfig,
  UsageFault,
  textsOf,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { namedOrg } from "./stored-command.ts";
import { readText, readWhole } from "./number-flags.ts";
import { readInstant } from "./read-instant.ts";

const LISTED_DEFAULT = 100;
const LISTED_MAX = 10_000;
const DAYS_MAX = 100_000;

/** `changes list | export | verify | retire` */
export function addChangesCommand(program: Command, context: CommandContext): void {
  const changes = program
    .command("changes")
    .description("the change log: who changed what, when and from where");
  onFilter(changes.command("list"))
    .description("list changes, newest first")
    .option("--limit <n>", `at most so many, up to ${LISTED_MAX} (default ${LISTED_DEFAULT})`)
    .action(
      answering(context, (flags: Flags) =>
        withBackend(context, flags, (backend) => list(backend, flags)),
      ),
    );
  onFilter(changes.command("export"))
    .description(
      "write changes as NDJSON, oldest first, each with the hash of the one before; the last line is signed",
    )
    .option("--out <file>", "a file that does not exist yet (default standard output)")
    .action(answering(context, (flags: Flags) => exportChanges(context, flags)));
  changes
    .command("verify")
    .description(
      "prove an export: names each line that was removed, reordered or edited; then exit 1",
    )
    .argument("<file>", "the file that `changes export` wrote")
    .option("--public-key <file>", "PEM file of the key that is trusted (default this one's own)")
    .option("--data <folder>", "folder of the installation's own key (default ./data)")
    .option("--config <file>", "configuration file (default tokenmarket.yaml, if it exists)")
    .option("--json", "print one JSON document on standard output")
    .action(answering(context, (file: string, flags: Flags) => verify(context, file, flags)));
  onStoredData(changes.command("retire"))
    .description("delete changes that are old enough; export them first")
    .option("--older-than-days <n>", "whole days, at least 1 (default retention.changes_days)")
    .action(answering(context, (flags: Flags) => retire(context, flags)));
}

function onFilter(command: Command): Command {
  return onStoredData(command)
    .option("--since <instant>", "from this day or instant in UTC on, such as 2026-09-01T12:00Z")
    .option("--org <id>", "of this organization only")
    .option("--action <prefix>", "actions that begin with it, such as key. or settlement.pay");
}

async function readFilter(backend: Backend, flags: Flags): Promise<ChangeFilter> {
  const { since, action } = textsOf(flags);
  const org = await namedOrg(backend, flags["org"]);
  return {
    ...(org === undefined ? {} : { orgId: org.orgId }),
    ...(since !== undefined ? { sinceMs: readInstant(since, "--since") } : {}),
    ...(action !== undefined ? { actionPrefix: action } : {}),
  };
}

async function list(backend: Backend, flags: Flags): Promise<CommandAnswer> {
  const filter = await readFilter(backend, flags);
  const limit = readWhole(flags, "limit", { min: 1, max: LISTED_MAX }) ?? LISTED_DEFAULT;
  const changes = await backend.changeStore.list({ ...filter, limit });
  const emails = await backend.teamStore.emails(accountsIn(changes));
  return {
    json: { changes: changes.map((each) => shown(each, emails)) },
    text: changes.map((each) => line(each, emails)).join("\n") || "there are no such changes",
  };
}

/** Of accounts, as they are now: the log keeps no address. */
type Emails = ReadonlyMap<string, string>;

function shown(change: RecordedChange, emails: Emails): object {
  const { by } = change;
  return {
    position: change.position,
    at: instant(change.atMs),
    actor_kind: by.kind,
    actor_id: by.id,
    actor_email: emails.get(by.id) ?? null,
    org_id: change.orgId,
    action: change.action,
    target: change.target,
    target_email: emails.get(change.target) ?? null,
    before: change.before,
    after: change.after,
    request_id: by.requestId,
    client_network: by.clientNetwork,
  };
}

function line({ atMs, by, action, target, before, after }: RecordedChange, emails: Emails): string {
  const named = (id: string): string => (emails.has(id) ? `${id} (${emails.get(id)})` : id);
  const at = instant(atMs);
  const facts = `${JSON.stringify(before)} → ${JSON.stringify(after)}`;
  return `${at}  ${by.kind} ${named(by.id)}  ${action}  ${named(target)}  ${facts}`;
}

/** The file is the answer: with `--json` too, so nothing else is printed on standard output then. */
async function exportChanges(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const { out } = textsOf(flags);
  if (flags["json"] === true && out === undefined) {
    throw new UsageFault("the export is NDJSON already: with --json give --out FILE too");
  }
  if (out !== undefined && existsSync(out)) {
    throw new UsageFault(`${out} exists already; name another file`);
  }
  const config = readConfig(context, flags);
  return await withBackend(context, flags, async (backend) => {
    const filter = { sinceMs: 0, ...(await readFilter(backend, flags)) };
    const { privateKey } = openExportKey(config);
    const of = { filter, nowMs: clock.nowMs(), privateKey };
    let lines = 0;
    async function* text(): AsyncGenerator<string> {
      for await (const each of exportLines(backend.changeStore.blocks(filter), of)) {
        lines += 1;
        yield `${each}\n`;
      }
    }
    if (out === undefined) {
      await pipeline(Readable.from(text()), context.stdout, { end: false });
      return { json: undefined, text: "" };
    }
    await pipeline(Readable.from(text()), createWriteStream(out, { flags: "wx", flush: true }));
    const changes = lines - 1;
    return { json: { file: out, changes }, text: `wrote ${changes} changes to ${out}` };
  });
}

async function verify(context: CommandContext, file: string, flags: Flags): Promise<CommandAnswer> {
  const config = readConfig(context, flags);
  const publicKey = readExportKey(config, readText(flags, "public-key"));
  if (publicKey === undefined) {
    throw new UsageFault("there is no key to compare with; name its PEM file with --public-key");
  }
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file`);
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
  const { changes, seal, problems } = await checkChain(lines, publicKey);
  const ok = problems.length === 0;
  const of = seal === undefined ? "" : `, since ${seal.since}, exported ${seal.exported_at}`;
  return {
    json: { ok, changes, seal: seal ?? null, problems },
    text: ok
      ? `ok: ${changes} changes${of}`
      : problems.map(({ line: at, problem }) => `${file} line ${at}: ${problem}`).join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

async function retire(context: CommandContext, flags: Flags): Promise<CommandAnswer> {
  const { retentionChangesDays } = readConfig(context, flags);
  const asked = readWhole(flags, "older-than-days", { min: 1, max: DAYS_MAX });
  const days = asked ?? retentionChangesDays;
  if (days === 0) {
    const text = "nothing is retired: retention.changes_days is 0, which keeps all";
    return { json: { retired: 0, older_than_days: null }, text };
  }
  return await withBackend(context, flags, async ({ changeStore }: Backend, by: ChangedBy) => {
    const retired = await changeStore.retire(days, by);
    return {
      json: { retired, older_than_days: days },
      text: `retired ${retired} changes older than ${days} days`,
    };
  });
}
