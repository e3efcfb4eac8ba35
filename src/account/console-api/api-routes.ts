import { isUtf8 } from "node:buffer";

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { claimOrgSetting, clientNetwork, tokenCount } from "../../gateway/index.ts";
import {
  byCaller,
  JsonBudget,
  PAGE_STATEMENT_BODY_BYTES_MAX,
  type Refusal,
  SETTINGS_REQUESTS_PER_MINUTE,
  SMALL_BODY_BYTES_MAX,
  tryParse,
} from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import { NO_JSON, sendAnswer, sendFile, sendRefusal } from "./answer-request.ts";
import { compileCheck } from "./check-schema.ts";
import {
  findClientAddress,
  foreignOriginProblem,
  OTHER_ORG,
  readOpenSession,
  readOperatorSession,
  SAFE_METHODS,
  staleSignInProblem,
  takeLinkedOrg,
} from "./guard-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal, invalidField, ofGateway, rateLimited } from "./console-refusal.ts";
import { type RouteName, ROUTES } from "./contract.ts";
import type { RouteContract } from "./contract/shared.ts";
import type { Call, Handlers } from "./handler.ts";
import { type FileAnswer, openFile } from "./file-answer.ts";
import { openReportGates, type ReportGates } from "./concurrency-gate.ts";
import { alertHandlers } from "./alerts-routes.ts";
import { billingHandlers } from "./billing-routes.ts";
import { catalogHandlers } from "./catalog-routes.ts";
import { changeHandlers } from "./changes-routes.ts";
import { connectionHandlers } from "./connections-routes.ts";
import { keyHandlers } from "./keys-routes.ts";
import { limitHandlers } from "./limits-routes.ts";
import { listingFigureHandlers } from "./listing-figures-routes.ts";
import { memberHandlers } from "./members-routes.ts";
import { modelCostHandlers } from "./model-costs.ts";
import { operatorHandlers } from "./operator-routes.ts";
import { optimizeHandlers } from "./optimize-routes.ts";
import { priceChangeHandlers } from "./price-changes-routes.ts";
import { sessionHandlers } from "./session-routes.ts";
import { statementHandlers } from "./statement-routes.ts";
import { usageHandlers } from "./usage-routes.ts";
import { verificationHandlers } from "./verification-routes.ts";

export function apiRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  const gates = openReportGates();
  const handlers: object = consoleHandlers(deps, gates);
  for (const [name, handle] of Object.entries(handlers) as [RouteName, LooseHandler][]) {
    addRoute(app, deps, { name, handle, gates });
  }
}

type LooseHandler = (call: Call<RouteName>) => Promise<unknown>;

interface NamedRoute {
  readonly name: RouteName;
  readonly handle: LooseHandler;
  readonly gates: ReportGates;
}

/** This route has a stricter parser of its raw body, which also rejects duplicate members. */
const READS_RAW_BODY: RouteName = "POST /api/admission-limits";

function addRoute(app: FastifyInstance, deps: ConsoleDeps, route: NamedRoute): void {
  const { name, handle, gates } = route;
  const contract: RouteContract = ROUTES[name];
  const [method = "", url = ""] = name.split(" ");
  const check = partChecks(contract, name);
  const admitted = new WeakMap<FastifyRequest, Admitted>();
  app.route({
    method,
    url,
    bodyLimit: contract.takesFile === true ? PAGE_STATEMENT_BODY_BYTES_MAX : SMALL_BODY_BYTES_MAX,
    // Runs before the body is read, so that a route that needs a session reads no body without one.
    onRequest: async (request, reply) => {
      const readAtMs = deps.clock.monotonicMs();
      const session = await openSession(deps, contract, request);
      if (session instanceof ConsoleRefusal) return sendRefusal(reply, session);
      if (session !== undefined) admitted.set(request, { session, readAtMs });
      return undefined;
    },
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const entry = admitted.get(request);
      const session = entry?.session;
      const run = (parts: Parts): Promise<unknown> => {
        const clientAddress = findClientAddress(deps.clientAddresses, request);
        const kind = contract.access === "operator" ? "operator" : "account";
        const caller = { kind, requestId: request.id, clientAddress } as const;
        const by = session && byCaller({ ...caller, id: session.accountId });
        const network = clientNetwork(clientAddress ?? "");
        const call = { ...parts, cookieHeader: request.headers.cookie, network, by };
        const work = async (): Promise<unknown> => {
          const current = entry && (await readLateSession(deps, contract, request, entry));
          if (current instanceof ConsoleRefusal) return current;
          return await handle({ ...call, session: current } as unknown as Call<RouteName>);
        };
        const { gate = contract.isSetting === true ? "settings" : "rest" } = contract;
        if (gate === "none" || session === undefined) return work();
        return gates[gate].run(gate === "rest" ? session.accountId : session.orgId, work);
      };
      const isCounted = contract.isSetting === true && session !== undefined;
      const steps = { read: () => check(request), run };
      const answer = isCounted
        ? await changeSetting(deps, session, steps)
        : await answerParts(deps, session, steps);
      const { answerType } = contract;
      if (answerType === undefined || session === undefined || answer instanceof ConsoleRefusal) {
        return sendAnswer(request, reply, answer);
      }
      const turn = { gate: gates.files, clock: deps.clock };
      const file = await openFile(turn, session.orgId, answer as FileAnswer);
      if (file instanceof ConsoleRefusal) return sendRefusal(reply, file);
      return sendFile(reply, answerType, file);
    },
  });
}

interface Admitted {
  readonly session: SignedIn;
  /** Monotonic time at which the session began to be read. */
  readonly readAtMs: number;
}

/** A change whose session was read earlier than this reads it again. */
const SESSION_GOOD_MS = 1_000;

/**
 * Reads the session of a change again if it was read too long ago: while the body arrived, or the
 * request waited for its turn, the person may have been removed, signed out or given another role.
 */
async function readLateSession(
  deps: ConsoleDeps,
  contract: RouteContract,
  request: FastifyRequest,
  { session, readAtMs }: Admitted,
): Promise<SignedIn | ConsoleRefusal> {
  const isFresh = deps.clock.monotonicMs() - readAtMs <= SESSION_GOOD_MS;
  if (isFresh || SAFE_METHODS.has(request.method)) return session;
  const current = (await openSession(deps, contract, request)) ?? session;
  if (current instanceof ConsoleRefusal || contract.access === "operator") return current;
  return current.orgId === session.orgId ? current : OTHER_ORG;
}

interface Steps {
  readonly read: () => Parts | ConsoleRefusal;
  readonly run: (parts: Parts) => Promise<unknown>;
}

/**
 * Answers a route that changes no setting. A body that is not JSON counts towards the
 * organization's limit of settings changes all the same, so that such requests are limited too.
 */
async function answerParts(
  { limitUse }: ConsoleDeps,
  session: SignedIn | undefined,
  { read, run }: Steps,
): Promise<unknown> {
  const parts = read();
  if (!(parts instanceof ConsoleRefusal)) return await run(parts);
  if (session === undefined || parts !== NO_JSON) return parts;
  const claiming = await claimOrgSetting(limitUse, session.orgId);
  if (!claiming.ok) return settingsRefusal(claiming.refusal);
  claiming.claimed.release(tokenCount(0, 0));
  return parts;
}

/**
 * Claims one of the organization's settings changes per minute first. A refused request returns the
 * claim, unless its refusal `isCounted` or its body was not JSON: such requests must stay limited.
 */
async function changeSetting(
  { limitUse }: ConsoleDeps,
  { orgId }: SignedIn,
  { read, run }: Steps,
): Promise<unknown> {
  const claiming = await claimOrgSetting(limitUse, orgId);
  if (!claiming.ok) return settingsRefusal(claiming.refusal);
  const { claimed } = claiming;
  let counts = false;
  try {
    const parts = read();
    counts = parts === NO_JSON;
    if (parts instanceof ConsoleRefusal) return parts;
    const answer = await run(parts);
    counts = !(answer instanceof ConsoleRefusal) || answer.isCounted;
    return answer;
  } finally {
    if (counts) claimed.release(tokenCount(0, 0));
    else claimed.undo();
  }
}

function settingsRefusal(refusal: Refusal): ConsoleRefusal {
  const { class: code, retryAfterSeconds = 1 } = refusal;
  if (code !== "rate_limit") return ofGateway(refusal);
  return rateLimited(
    `the organization is limited to ${SETTINGS_REQUESTS_PER_MINUTE} settings changes per minute; try again in ${retryAfterSeconds} seconds`,
    retryAfterSeconds,
  );
}

async function openSession(
  deps: ConsoleDeps,
  contract: RouteContract,
  request: FastifyRequest,
): Promise<SignedIn | ConsoleRefusal | undefined> {
  const { method, headers } = request;
  const foreign = foreignOriginProblem(request, deps.consoleUrl());
  if (contract.access === "operator") {
    const { identity, operators, clock } = deps;
    const session = await readOperatorSession(identity, headers.cookie, operators);
    if (session instanceof ConsoleRefusal || method === "GET" || method === "HEAD") return session;
    return foreign ?? staleSignInProblem(session, clock.nowMs()) ?? session;
  }
  if (foreign !== undefined) return foreign;
  if (contract.needs === undefined) return undefined;
  const shown = contract.answerType === undefined ? headers : takeLinkedOrg(request);
  return await readOpenSession(deps.identity, shown, contract.needs);
}

interface Parts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly rawBody: Buffer;
}

function partChecks(
  contract: RouteContract,
  name: RouteName,
): (request: FastifyRequest) => Parts | ConsoleRefusal {
  const params = contract.params && compileCheck(contract.params, "text");
  const query = contract.query && compileCheck(contract.query, "text");
  const body = contract.body && compileCheck(contract.body, "body");
  return (request) => {
    const rawBody = Buffer.isBuffer(request.body) ? request.body : EMPTY;
    const isRaw = name === READS_RAW_BODY;
    const content = isRaw || rawBody.length === 0 ? {} : parseJson(rawBody);
    if (content instanceof ConsoleRefusal) return content;
    const problem =
      params?.(request.params) ?? query?.(request.query) ?? (isRaw ? undefined : body?.(content));
    if (problem !== undefined) return invalidField(problem.field, problem.message);
    return { params: request.params, query: request.query, body: content, rawBody };
  };
}

const EMPTY = Buffer.alloc(0);

/** Far more values than any form sends; a megabyte of brackets would take long to parse. */
const BODY_VALUES_MAX = 20_000;

function parseJson(rawBody: Buffer): unknown {
  if (!isUtf8(rawBody)) return NO_JSON;
  const parsed = tryParse(UTF8.decode(rawBody), new JsonBudget(BODY_VALUES_MAX));
  return parsed === undefined ? NO_JSON : parsed.value;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function consoleHandlers(deps: ConsoleDeps, gates: ReportGates): Handlers {
  return {
    ...sessionHandlers(deps, gates),
    ...memberHandlers(deps),
    ...keyHandlers({ ...deps, reads: gates.reads }),
    ...billingHandlers(deps),
    ...statementHandlers(deps),
    ...alertHandlers(deps),
    ...usageHandlers(deps),
    ...limitHandlers(deps),
    ...catalogHandlers(deps),
    ...listingFigureHandlers(deps, gates),
    ...modelCostHandlers(deps),
    ...priceChangeHandlers(deps, gates),
    ...connectionHandlers(deps),
    ...changeHandlers(deps),
    ...optimizeHandlers(deps),
    ...verificationHandlers(deps),
    ...operatorHandlers(deps),
  };
}
