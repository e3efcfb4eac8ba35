export { ALERT_KINDS, CHOSEN_KINDS, parseAlertKind } from "./alert-kinds.ts";
export type {
  AlertDestination,
  AlertQueue,
  AlertStore,
  DeliveryRecord,
  SealedSecretStore,
} from "./alert-store.ts";
export { AlertWorker } from "./alert-worker.ts";
export { PostgresAlertQueue } from "./postgres-alert-queue.ts";
export { PostgresAlertStore } from "./postgres-alert-store.ts";
export { PostgresWebhookSecrets } from "./postgres-webhook-secrets.ts";
export { countWebhooksSealedBy, resealWebhooks } from "./reseal-webhooks.ts";
export { checkWebhookAddress } from "./webhook-address.ts";
export { newWebhookSecret, sealSecret } from "./webhook-secret.ts";
export { openWebhookSender } from "./webhook-sender.ts";
export { removeDestinationsOf } from "./remove-destinations-of.ts";
