import { NO_ABUSE_MONITOR } from "../../src/gateway/abuse/unusual-use.ts";
import { openAuthenticator } from "../../src/gateway/accounts/authenticate.ts";
import { openServing } from "../../src/app/open-serving.ts";
import { callInProcess, type InProcessRequest } from "../../src/gateway/call/in-process.ts";
import { quoteCall } from "../../src/gateway/call/plan.ts";
import { CatalogHolder } from "../../src/catalog/compile-catalog.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";
import { chatOn } from "../../src/formats/modality/chat/index.ts";
import { openModelCaller } from "../../src/account/optimize/model-caller.ts";
import type { Quote } from "../../src/account/optimize/estimate.ts";
import { PROVIDER_KEY, type TestGateway } from "./gateway.ts";
import { openaiChat } from "../../src/formats/wire/openai-chat/index.ts";
import { wires } from "../../src/formats/wire/wires.ts";
import { silentLog } from "./silent-log.ts";
import { withResource } from "./with-resource.ts";
import { TRUSTED_LISTINGS } from "./plain-ports.ts";

/** The chat modality on wire_a, as optimize searches use it. */
export const chat = chatOn(openaiChat, wires);

/** Makes calls without a socket, as a separate ledger instance on the gateway's database. */
export function withInProcessCalls(gateway: () => TestGateway) {
  return withResource(() => openInProcessCalls(gateway()));
}

async function openInProcessCalls(gateway: TestGateway) {
  const { backend, config, running } = gateway;
  const clock = systemClock;
  const ledger = await openLedger({
    store: backend.ledgerBatchStore,
    clock,
    log: silentLog,
    instanceName: "in-process",
  });
  const serving = openServing(
    { config, env: { TEST_PROVIDER_KEY: PROVIDER_KEY }, clock },
    {
      usage: NO_ABUSE_MONITOR,
      standing: TRUSTED_LISTINGS,
      catalog: new CatalogHolder(running.catalog.current),
      ledger,
      limits: { store: new MemoryLimitStore(), sharedHealth: undefined },
    },
  );
  const ports = serving.serve;
  const authenticator = openAuthenticator({ keyStore: backend.keyStore, clock, cacheMs: 0 });
  const log = {
    answered: () => undefined,
    storeFailed: () => undefined,
    crashed: (_requestId: string, fault: unknown) => {
      throw fault;
    },
  };
  const call = (request: InProcessRequest) =>
    callInProcess({ ports, authenticator, log }, chat, request);
  return {
    call,
    ...openModelCaller(call, clock),
    quote: ((principal, body) => quoteCall(ports, chat, { principal, body })) satisfies Quote,
    close: async () => {
      serving.close();
      await ports.upstream.close();
      await ledger.shutDown();
    },
  };
}
