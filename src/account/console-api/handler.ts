import type { ChangedBy, OrgId } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity.ts";
import type { ConsoleRefusal } from "./console-refusal.ts";
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, RouteName, Routes } from "./contract.ts";
import type { FileAnswer } from "./file-answer.ts";
import type { PublicDocument } from "./public-document.ts";

/** Who acts and for which organization: a person in the console, or an operator by a command. */
export interface Acting {
  readonly orgId: OrgId;
  /** Undefined: not a person of the console. */
  readonly accountId?: string;
  /** Nothing that is of an organization's people holds for operators: bounds, confirmations. */
  readonly isOperator?: boolean;
}

/** A request whose session, proof of origin and shape were checked. */
export interface Call<N extends RouteName> {
  readonly params: ParamsOf<N>;
  readonly query: QueryOf<N>;
  readonly body: BodyOf<N>;
  /** The bytes of the body, for the one route that has a stricter reader of its own. */
  readonly rawBody: Buffer;
  readonly cookieHeader: string | undefined;
  /** Undefined on public routes, which read it themselves where they need it. */
  readonly session: Routes[N]["access"] extends "public"
    ? undefined
    : Routes[N] extends { readonly command: object }
      ? Acting
      : SignedIn;
  /** Who asks, for what it changes: the person of the session. */
  readonly by: Routes[N]["access"] extends "public" ? undefined : ChangedBy;
}

/** What a route may answer: as its contract says, or a refusal. */
export type Answered<N extends RouteName> =
  ConsoleRefusal | ([AnswerOf<N>] extends [undefined] ? FileAnswer : AnswerOf<N> | PublicDocument);

export type Handler<N extends RouteName> = (call: Call<N>) => Promise<Answered<N>>;

/** The handlers of some routes; of all of them, the console. */
export type Handlers<N extends RouteName = RouteName> = {
  readonly [Name in N]: Handler<Name>;
};
