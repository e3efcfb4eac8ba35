import type { Migration } from "./migration-files.ts";
import { sqlStatements, statementOutline } from "./sql-statements.ts";

/** A step that would run, and for whom it is in the way. */
export interface PlannedStep {
  readonly name: string;
  readonly level: number;
  readonly programMin: number;
  /** What each of its statements locks, each said once. */
  readonly locks: readonly string[];
}

/** Reads the locks from the text of a step: to know them from the server, the step would have to run. */
export function planOf({ name, level, programMin, text }: Migration): PlannedStep {
  const locks = sqlStatements(text).map((each) => locksOf(statementOutline(each)));
  return { name, level, programMin, locks: [...new Set(locks.flat())] };
}

const NOTHING = "makes new things only: no other statement waits";

/** By how a statement begins; the first that fits counts. `$1` is what it names. */
const LOCKS: readonly (readonly [beginning: RegExp, message: (name: string) => string])[] = [
  [
    /^create (?:unique )?index concurrently (?:if not exists )?\w+ on (\w+)/,
    (name) => `${name}: reads and writes go on while the index is built`,
  ],
  [
    /^create (?:unique )?index (?:if not exists )?\w+ on (?:only )?(\w+)/,
    (name) => `${name}: writes wait while the index is built`,
  ],
  [/^alter table (?:only )?(\w+) validate constraint/, (name) => `${name}: reads and writes go on`],
  [
    /^alter table (?:if exists )?(?:only )?(\w+)/,
    (name) => `${name}: reads and writes wait for a moment`,
  ],
  [/^create or replace view (\w+)/, (name) => `${name}: queries wait for a moment`],
  [
    /^create (?:or replace )?(?:constraint )?trigger \w+ .*? on (\w+)/,
    (name) => `${name}: writes wait for a moment`,
  ],
  [
    /^create (?:or replace )?(?:table|view|function|procedure|type|sequence|domain)\b/,
    () => NOTHING,
  ],
  [/^insert into (\w+)/, (name) => `${name}: reads and writes go on but for its own rows`],
  [/^update (?:only )?(\w+)/, (name) => `${name}: reads and writes go on but for its own rows`],
  [
    /^delete from (?:only )?(\w+)/,
    (name) => `${name}: reads and writes go on but for its own rows`,
  ],
  [/^(?:comment on|grant|revoke|set local)\b/, () => NOTHING],
  [/^drop \w+ (?:if exists )?(\w+)/, (name) => `${name}: whatever uses it waits for a moment`],
];

function locksOf(outline: string): readonly string[] {
  for (const [beginning, message] of LOCKS) {
    const found = beginning.exec(outline);
    if (found !== null) return [message(found[1] ?? ""), ...referenced(outline)];
  }
  return [`\`${outline.slice(0, 40)}\`: take it that everything it names waits`];
}

/** A foreign key waits for the writers of the table it refers to. */
function referenced(outline: string): readonly string[] {
  if (!/^(?:create|alter) table/.test(outline)) return [];
  return [...outline.matchAll(/ references (\w+)/g)].map(
    ([, name]) => `${name}: writes wait for a moment`,
  );
}
