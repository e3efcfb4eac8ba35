import { sqlStatements, statementOutline } from "../../src/storage/sql-statements.ts";

/** What the steps before a step have made, as a program of the level below knows it. */
interface Known {
  /** Tables and views, functions with their parameters' types. */
  readonly relations: Set<string>;
  readonly functions: Map<string, string>;
}

/** A file of steps, or a made-up one that a rule must notice. */
export interface StepFile {
  readonly name: string;
  readonly text: string;
}

/** Tables of every request: a rewrite would block them all. */
const HOT = new Set(["attempt", "transfer", "account", "hold"]);
const VOLATILE =
  /\bdefault\b[^,]*\b(?:clock_timestamp|random|gen_random_uuid|uuidv[47]|nextval|timeofday)\b/;
const SERIAL = /\b(?:small|big)?serial\b|\bgenerated\b/;

/**
 * What a program of the level below would lose by these steps, or how they would stop requests. They
 * come after the frozen ones, whose relations and functions that program reads and calls.
 */
export function stepProblems(
  frozen: readonly StepFile[],
  later: readonly StepFile[],
): readonly string[] {
  const known: Known = { relations: new Set(), functions: new Map() };
  for (const { text } of frozen) for (const each of sqlStatements(text)) learn(known, each);
  return later.flatMap(({ name, text }) => {
    const level = Number.parseInt(name, 10);
    const statements = sqlStatements(text);
    // What a step makes it may take back: no other program has seen it.
    const problems = statements
      .filter((each) => !isMadeAgain(each, statements))
      .flatMap((each) => statementProblems(known, each));
    for (const each of statements) learn(known, each);
    return [...headerProblems(text, level), ...problems].map((problem) => `${name}: ${problem}`);
  });
}

/**
 * A step is one transaction. A table that it renames and makes again, with the columns of the renamed
 * one, was never away for another program; neither was a trigger that it drops and makes again.
 */
function isMadeAgain(statement: string, step: readonly string[]): boolean {
  const outline = statementOutline(statement);
  const outlines = step.map(statementOutline);
  const later = outlines.slice(outlines.indexOf(outline) + 1);
  const [, was, is] = /^alter table (\w+) rename to (\w+);?$/.exec(outline) ?? [];
  if (was !== undefined && is !== undefined) {
    const again = new RegExp(`^create table ${was} \\(like ${is} including defaults\\b`);
    return later.some((each) => again.test(each));
  }
  const [, trigger, table = ""] = /^drop trigger (\w+) on (\w+);?$/.exec(outline) ?? [];
  if (trigger === undefined) return false;
  const before = outlines
    .map((each) => /^alter table (\w+) rename to (\w+);?$/.exec(each))
    .find((each) => each?.[2] === table)?.[1];
  const again = new RegExp(`^create trigger ${trigger} .* on ${before ?? table}\\b`);
  return later.some((each) => again.test(each));
}

function headerProblems(text: string, level: number): readonly string[] {
  const said = /^-- program_min: (\d+)$/m.exec(text)?.[1];
  if (said === undefined) return ["it does not say for which programs it is: `-- program_min: N`"];
  return Number(said) < level ? [] : ["its program_min keeps out the program of the level below"];
}

function statementProblems(known: Known, statement: string): readonly string[] {
  const outline = statementOutline(statement);
  return [
    ...dropProblems(known, outline),
    ...tableProblems(known, outline),
    ...functionProblems(known, statement, outline),
    ...indexProblems(known, outline),
    ...rowProblems(outline),
  ];
}

function dropProblems(known: Known, outline: string): readonly string[] {
  const [, kind, names = ""] =
    /^drop (table|view|function|procedure|type|sequence|trigger|index|domain) (?:concurrently )?(?:if exists )?(.*)$/.exec(
      outline,
    ) ?? [];
  if (kind === undefined) return [];
  const first = /^\w+/.exec(names)?.[0] ?? names;
  if (kind === "table" || kind === "view") {
    return known.relations.has(first) ? [`it drops ${kind} ${first}, which is read`] : [];
  }
  if (kind === "function" || kind === "procedure") {
    return known.functions.has(first) ? [`it drops function ${first}, which is called`] : [];
  }
  return [`it drops ${kind} ${first}`];
}

function tableProblems(known: Known, outline: string): readonly string[] {
  const [, kind, name, changes = ""] =
    /^alter (table|view|sequence|type|function) (?:if exists )?(?:only )?(\w+)(.*)$/.exec(
      outline,
    ) ?? [];
  if (kind === undefined || name === undefined) return [];
  const isKnown = kind !== "table" || known.relations.has(name);
  if (!isKnown) return [];
  return alterations(changes).flatMap((change) => changeProblems(name, change));
}

/** The comma-separated parts of an `alter table`, but not those inside of parentheses. */
function alterations(changes: string): readonly string[] {
  const parts = [""];
  let depth = 0;
  for (const sign of changes) {
    if (sign === "(") depth += 1;
    if (sign === ")") depth -= 1;
    if (sign === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += sign;
  }
  return parts.map((part) => part.trim());
}

function changeProblems(table: string, change: string): readonly string[] {
  const problems: string[] = [];
  if (/^rename\b/.test(change)) problems.push(`it renames ${table} or a part of it`);
  if (/^drop (?!constraint|not null|default)/.test(change)) {
    problems.push(`it drops a column of ${table}, which is read`);
  }
  if (/^alter .*\btype\b/.test(change))
    problems.push(`it changes the type of a column of ${table}`);
  if (/\bset not null\b/.test(change))
    problems.push(`${table}: not null for a column that is there`);
  if (/^add (?!constraint|check|unique|primary|foreign)/.test(change)) {
    problems.push(...columnProblems(table, change));
  }
  if (/^add (?:constraint \w+ )?(?:check|foreign)/.test(change) && !change.endsWith("not valid")) {
    problems.push(`${table}: a constraint that reads every row; add it \`not valid\``);
  }
  if (/^add (?:constraint \w+ )?(?:unique|primary|exclude)/.test(change)) {
    problems.push(`${table}: a unique constraint builds an index while writes wait`);
  }
  return problems;
}

function columnProblems(table: string, column: string): readonly string[] {
  const problems: string[] = [];
  if (/\bnot null\b/.test(column) && !/\bdefault\b/.test(column)) {
    problems.push(`${table}: not null without a default, so the program below cannot write rows`);
  }
  if (HOT.has(table) && (VOLATILE.test(column) || SERIAL.test(column))) {
    problems.push(`${table}: a default that differs by row writes the whole table anew`);
  }
  return problems;
}

function functionProblems(known: Known, statement: string, outline: string): readonly string[] {
  const made = functionOf(statement);
  if (made === undefined) return [];
  const before = known.functions.get(made.name);
  if (before === undefined) return [];
  if (before !== made.signature) {
    return [`function ${made.name} under a changed signature; give it a new name`];
  }
  return outline.startsWith("create or replace") ? [] : [`function ${made.name} is there already`];
}

function indexProblems(known: Known, outline: string): readonly string[] {
  const table =
    /^create (?:unique )?index (?!concurrently)(?:if not exists )?\w+ on (?:only )?(\w+)/.exec(
      outline,
    )?.[1];
  if (table === undefined || !known.relations.has(table)) return [];
  return [`${table}: writes wait while the index is built; build it \`concurrently\``];
}

/** A step is one transaction: a backfill would hold its locks and its snapshot for its whole length. */
function rowProblems(outline: string): readonly string[] {
  const table = /^(?:update|delete from) (?:only )?(\w+)/.exec(outline)?.[1];
  return table !== undefined && HOT.has(table) ? [`${table}: a backfill is never a step`] : [];
}

function learn(known: Known, statement: string): void {
  const outline = statementOutline(statement);
  const relation = /^create (?:or replace )?(?:table|view) (?:if not exists )?(\w+)/.exec(
    outline,
  )?.[1];
  if (relation !== undefined) known.relations.add(relation);
  const made = functionOf(statement);
  if (made !== undefined) known.functions.set(made.name, made.signature);
}

function functionOf(
  statement: string,
): { readonly name: string; readonly signature: string } | undefined {
  const [, name, parameters, rest = ""] =
    /^create (?:or replace )?(?:function|procedure) (\w+)\s*\(((?:[^()]|\([^()]*\))*)\)(.*)$/.exec(
      statementOutline(statement),
    ) ?? [];
  if (name === undefined || parameters === undefined) return undefined;
  const returned =
    /\breturns (.*?)(?: (?:language|as|immutable|stable|volatile|strict|set|security)\b|$)/.exec(
      rest,
    )?.[1];
  return { name, signature: `(${parameters.trim()}) ${returned ?? ""}`.replaceAll(/\s+/g, " ") };
}
