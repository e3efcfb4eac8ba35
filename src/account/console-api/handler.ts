import type { ChangedBy, OrgId } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { ConsoleRefusal } from "./console-refusal.ts";
import type { PartOf, RouteName, Routes } from "./contract.ts";
import type { CommandName, Commands } from "./contract/commands.ts";
import type { FileAnswer } from "./file-answer.ts";
import type { PublicDocument } from "./public-document.ts";

/** Who acts for an organization: a member in the console, or an operator by a command. */
export interface Acting {
  readonly orgId: OrgId;
  /** Undefined for an operator's command. */
  readonly accountId?: string;
  /** True for an operator's command, which members' limits and typed confirmations do not bind. */
  readonly isOperator?: boolean;
}

type Operations = Routes & Commands;
export type OperationName = RouteName | CommandName;
export type CommandedName =
  | CommandName
  | { [N in RouteName]: Routes[N] extends { readonly command: object } ? N : never }[RouteName];

/** A request whose session, origin and fields were checked. */
export interface Call<N extends OperationName> {
  readonly params: PartOf<Operations[N], "params">;
  readonly query: PartOf<Operations[N], "query">;
  readonly body: PartOf<Operations[N], "body">;
  /** The bytes of the body, for the one route that has its own, stricter parser. */
  readonly rawBody: Buffer;
  readonly cookieHeader: string | undefined;
  /** The client's network, for limits: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly network: string;
  /** Undefined on public routes; their handlers read the session themselves if they need it. */
  readonly session: Operations[N] extends Public
    ? undefined
    : N extends CommandedName
      ? Acting
      : SignedIn;
  /** The author that the change log records: the person of the session, or the operator. */
  readonly by: Operations[N] extends Public ? undefined : ChangedBy;
}

interface Public {
  readonly access: "public";
}

type AnswerOf<N extends OperationName> = PartOf<Operations[N], "answer">;

export type Answered<N extends OperationName> =
  ConsoleRefusal | ([AnswerOf<N>] extends [undefined] ? FileAnswer : AnswerOf<N> | PublicDocument);

export type Handler<N extends OperationName> = (call: Call<N>) => Promise<Answered<N>>;

export type Handlers<N extends OperationName = RouteName> = {
  readonly [Name in N]: Handler<Name>;
};
