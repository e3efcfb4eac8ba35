import type { Dispatcher } from "undici";

import { NO_ABUSE_MONITOR } from "../../src/gateway/abuse/unusual-use.ts";
import type { Principal } from "../../src/gateway/accounts/principal.ts";
import type { Catalog, Deployment } from "../../src/catalog/catalog.ts";
import { CatalogHolder } from "../../src/catalog/compile-catalog.ts";
import type { ManifestFile } from "../../src/catalog/catalog-input.ts";
import type { KeyOrigins } from "../../src/catalog/key-origins.ts";
import { openServing } from "../../src/app/open-serving.ts";
import { loadConfig } from "../../src/kernel/config/load-config.ts";
import { createRequestId, type AttemptId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { Refusal } from "../../src/kernel/core/refusals.ts";
import type { Clock } from "../../src/kernel/core/time.ts";
import type { AttemptHandler } from "../../src/upstream/run-attempt.ts";
import { UpstreamClient } from "../../src/upstream/upstream-client.ts";
import type { ClientExchange } from "../../src/gateway/call/client-exchange.ts";
import type { CallPorts } from "../../src/gateway/call/ports.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";
import { compileFiles, type Json, manifestFile } from "../fixtures/manifest/samples.ts";
import { TRUSTED_LISTINGS, plainPrincipal } from "./plain-ports.ts";

/** One dispatch whose provider the test plays: the test reports what undici would report. */
export class Dispatched {
  readonly deployment: Deployment;
  readonly #handler: AttemptHandler;
  readonly #controller: Dispatcher.DispatchController;

  constructor(deployment: Deployment, handler: AttemptHandler) {
    this.deployment = deployment;
    this.#handler = handler;
    this.#controller = idleController();
    handler.onRequestStart?.(this.#controller, {});
  }

  headers(status: number, headers: Record<string, string> = {}): void {
    this.#handler.onResponseStart?.(this.#controller, status, headers, "");
  }

  data(text: string): void {
    this.#handler.onResponseData?.(this.#controller, Buffer.from(text));
  }

  end(): void {
    this.#handler.onResponseEnd?.(this.#controller, {});
  }

  answer(status: number, text: string, headers: Record<string, string> = {}): void {
    this.headers(status, { "content-type": "application/json", ...headers });
    this.data(text);
    this.end();
  }

  breaks(code: string): void {
    this.#handler.onResponseError?.(this.#controller, Object.assign(new Error(code), { code }));
  }
}

function idleController(): Dispatcher.DispatchController {
  return {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
  };
}

class HeldUpstream extends UpstreamClient {
  readonly sent: Dispatched[] = [];

  override send(deployment: Deployment, _request: unknown, handler: AttemptHandler): void {
    this.sent.push(new Dispatched(deployment, handler));
  }
}

/** Grants every hold, because these tests are about the time between holds and closings. */
const grantingLedger: Ledger = {
  newAttemptId: () => 1n as AttemptId,
  reserve: () => Promise.resolve({ kind: "reserved" }),
  roll: () => Promise.resolve({ kind: "reserved" }),
  close: () => Promise.resolve({ kind: "closed", debitMicroUsd: microUsd(0n), overrun: false }),
  recordRefused: () => undefined,
  healthy: true,
  shutDown: () => Promise.resolve(),
};

export interface TestRecipe {
  readonly deps: CallPorts;
  readonly sent: readonly Dispatched[];
}

/** Opens what `serveCall` needs, with the program's default settings, without sockets. */
export function openRecipe(clock: Clock, manifests: readonly object[]): TestRecipe {
  const loaded = loadConfig({ flags: {}, env: {} });
  if (loaded.kind === "invalid") throw new Error(loaded.problems.join("\n"));
  const upstream = new HeldUpstream({ allowPrivateUpstreams: true, providerKey: () => "key" });
  const { serve } = openServing(
    { config: loaded.config, env: {}, clock },
    {
      usage: NO_ABUSE_MONITOR,
      standing: TRUSTED_LISTINGS,
      catalog: new CatalogHolder(catalogOf(manifests)),
      ledger: grantingLedger,
      limits: { store: new MemoryLimitStore(), sharedHealth: undefined },
    },
  );
  return { deps: { ...serve, upstream }, sent: upstream.sent };
}

export function catalogOf(documents: readonly object[]): Catalog {
  const manifests = documents.map((each, at) => manifestFile(`manifest-${at}.json`, each as Json));
  const keys = { isOwnVariable: () => false, origins: keyOrigins(manifests) };
  return compileFiles(manifests, { keys, today: "2026-01-01" }).catalog;
}

function keyOrigins(manifests: readonly ManifestFile[]): KeyOrigins {
  const origins = manifests.map(({ manifest }) => new URL(manifest.endpoint.base_url).origin);
  return new Map([["TEST_PROVIDER_KEY", new Set(origins)]]);
}

export const RECIPE_PRINCIPAL: Principal = plainPrincipal("org_recipe", "key_recipe");

export class RecordedExchange implements ClientExchange {
  readonly ownTimeFromMs = 0;
  readonly requestId = createRequestId(0);
  readonly principal: Principal;
  readonly route = "/v1/test";
  readonly body: Buffer;
  readonly clientAddress = "192.0.2.1";
  readonly wantsBody = true;
  gone = false;
  committed = false;
  #left: () => void = () => undefined;
  refusal: Refusal | undefined;
  attempts: number | undefined;
  text = "";

  constructor(body: object, principal: Principal = RECIPE_PRINCIPAL) {
    this.body = Buffer.from(JSON.stringify(body));
    this.principal = principal;
  }

  header(): undefined {
    return undefined;
  }

  onGone(listener: () => void): void {
    this.#left = listener;
  }

  leave(): void {
    this.gone = true;
    this.#left();
  }

  onWritable(): void {}

  begin(): void {
    this.committed = true;
  }

  relay(): void {}

  write(output: string | Buffer): boolean {
    this.text += output.toString();
    return true;
  }

  end(last: string | Buffer): void {
    this.text += last.toString();
  }

  cut(): void {}

  answer(_type: string, headers: { readonly attempts?: number }, body: unknown): void {
    this.committed = true;
    this.attempts = headers.attempts;
    this.text = String(body);
  }

  refuse(refusal: Refusal, headers: { readonly attempts?: number } = {}): void {
    this.committed = true;
    this.refusal = refusal;
    this.attempts = headers.attempts;
  }
}

/** Lets everything run that waits for promises only: no timer fires and no socket is read. */
export async function promisesOnly(): Promise<void> {
  for (let i = 0; i < 1_000; i += 1) await Promise.resolve();
}
