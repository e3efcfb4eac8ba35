import { type ChangedBy, createOrgId, defined, type OrgId } from "../../kernel/index.ts";
import { compileCheck } from "./check-schema.ts";
import { commandHandlers } from "./command-handlers.ts";
import { connectionHandlers } from "./connections-routes.ts";
import type { CommandDeps } from "./console-deps.ts";
import { ConsoleRefusal } from "./console-refusal.ts";
import type { CommandFace } from "./contract.ts";
import type { FileAnswer } from "./file-answer.ts";
import type { Acting, CommandedName, Handlers } from "./handler.ts";
import { keyHandlers } from "./keys-routes.ts";
import { capHandlers } from "./limits-routes.ts";
import { teamHandlers } from "./members-routes.ts";
import type { Operation } from "./operations.ts";
import { organizationHandlers } from "./operator-routes.ts";
import { settlementHandlers } from "./operator-settlement-routes.ts";
import { statementHandlers } from "./statement-routes.ts";

export type OperationRefusal = Pick<ConsoleRefusal, "code" | "field" | "message">;

function operationHandlers(deps: CommandDeps): Handlers<CommandedName> {
  return {
    ...keyHandlers(deps),
    ...capHandlers(deps),
    ...teamHandlers(deps),
    ...organizationHandlers(deps),
    ...connectionHandlers(deps),
    ...statementHandlers(deps),
    ...settlementHandlers(deps),
    ...commandHandlers(deps),
  };
}

/** Whoever runs a command is an operator, so no session is read. */
export async function runOperation(
  deps: CommandDeps,
  { name, contract, face }: Operation,
  asked: {
    /** Undefined for an operation on the whole installation. */
    readonly orgId: OrgId | undefined;
    readonly values: Readonly<Record<string, unknown>>;
    readonly by: ChangedBy;
  },
): Promise<
  | { readonly kind: "answer"; readonly answer: Readonly<Record<string, unknown>> }
  | { readonly kind: "file"; readonly file: FileAnswer }
  | { readonly kind: "refused"; readonly refusal: OperationRefusal }
> {
  const { by, orgId = createOrgId() } = asked;
  const parts: Record<string, unknown> = {};
  for (const part of ["params", "query", "body"] as const) {
    const schema = withoutTyped(contract[part], face);
    if (schema === undefined) continue;
    parts[part] = pick(asked.values, Object.keys(schema.properties));
    const problem = compileCheck(schema, part === "body" ? "body" : "text")(parts[part]);
    if (problem !== undefined) {
      const { field, message } = problem;
      return { kind: "refused", refusal: { code: "invalid_request", field, message } };
    }
  }
  const handle = operationHandlers(deps)[name] as (call: object) => Promise<unknown>;
  const session: Acting = { orgId, isOperator: true };
  const answer = await handle({ ...parts, session, by });
  if (answer instanceof ConsoleRefusal) return { kind: "refused", refusal: answer };
  if (contract.answerType !== undefined) return { kind: "file", file: answer as FileAnswer };
  const first = answer as Answer;
  const data: unknown[] = [...(first.data ?? [])];
  let { next_cursor: cursor = null } = first;
  while (cursor !== null) {
    const query = { ...(parts["query"] as object), cursor };
    const next = (await handle({ ...parts, query, session, by })) as Answer;
    data.push(...(next.data ?? []));
    cursor = next.next_cursor ?? null;
  }
  return { kind: "answer", answer: first.data === undefined ? first : { ...first, data } };
}

interface Answer extends Readonly<Record<string, unknown>> {
  readonly data?: readonly unknown[];
  readonly next_cursor?: string | null;
}

interface ObjectSchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** Removes the fields that a person types on a page to confirm; a command asks for none of them. */
function withoutTyped(
  schema: object | undefined,
  { typed = [] }: CommandFace,
): ObjectSchema | undefined {
  if (schema === undefined) return undefined;
  const { properties, required = [] } = schema as ObjectSchema;
  const isAsked = (name: string): boolean => !typed.includes(name);
  return {
    ...schema,
    properties: pick(properties, Object.keys(properties).filter(isAsked)),
    required: required.filter(isAsked),
  };
}

function pick<T>(values: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return defined(Object.fromEntries(names.map((name) => [name, values[name]])));
}
