import { AlertWorker, type AlertWorkerDeps } from "../../src/account/alerts/alert-worker.ts";
import { openWebhookSender } from "../../src/account/alerts/webhook-sender.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { KeyVault } from "../../src/gateway/accounts/key-vault.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { ForeignNames } from "../../src/upstream/address-guard.ts";
import { silentLog } from "./silent-log.ts";

export interface Delivering extends Partial<Pick<AlertWorkerDeps, "mailer" | "documentOf">> {
  readonly from: Pick<PostgresBackend, "alertQueue">;
  readonly ring?: KeyVault;
  readonly allowPrivate?: boolean;
  readonly nameServers?: readonly string[];
}

export function alertWorker(how: Delivering): AlertWorker {
  const { from, mailer, ring: vault, allowPrivate = true, nameServers = [] } = how;
  const clock = systemClock;
  const names = new ForeignNames(nameServers);
  return new AlertWorker({
    queue: from.alertQueue,
    mailer,
    webhook: openWebhookSender({ clock, vault, allowPrivate, names }),
    consoleUrl: () => "https://console.example",
    documentOf: how.documentOf ?? (() => Promise.resolve(undefined)),
    clock,
    log: silentLog,
  });
}

/** Tries every due delivery once, and closes the worker. Returns the number of deliveries tried. */
export async function deliverOnce(worker: AlertWorker): Promise<number> {
  const tried = await worker.deliverDue();
  await worker.close();
  return tried;
}
