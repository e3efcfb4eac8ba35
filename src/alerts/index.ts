export type { AlertDestination, AlertQueue, AlertStore, DeliveryRecord } from "./alert-store.ts";
export { AlertWorker } from "./alert-worker.ts";
export { PostgresAlertQueue } from "./postgres-alert-queue.ts";
export { PostgresAlertStore } from "./postgres-alert-store.ts";
export { removeDestinationsOf } from "./remove-destinations-of.ts";
