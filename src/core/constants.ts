import { assert } from "./assert.ts";

/** Every bound of the service in one place; the unit comes last in the name. */
const KiB = 1024;
const MiB = 1024 * KiB;

// Requests (specification: Limits, Request size; Worst-case reserve)
export const bodyBytesMax: number = 10 * MiB;
export const smallBodyBytesMax: number = 1 * MiB;
export const jsonDepthMax: number = 64;
export const jsonKeysMax: number = 50_000;
export const outputTokensMin: number = 1;
export const outputTokensMax: number = 32_768;
export const outputTokensDefault: number = 4_096;
export const mediaPartTokens: number = 65_536;
export const headerBytesMax: number = 16 * KiB;
export const imagesPerRequestMax: number = 4;
export const imagePromptCharsMax: number = 32_000;

// Provider answers
export const sseLineBytesMax: number = 1 * MiB;
export const sseEventBytesMax: number = 4 * MiB;
export const answerBytesMax: number = 32 * MiB;
/** Of the images of one answer together, as files: base64 is a third more. */
export const imageBytesMax: number = 32 * MiB;
/** What an answer may hold besides its images. */
export const imageAnswerOtherBytesMax: number = 1 * MiB;
export const decisionAnswerBytesMax: number = 4 * MiB;
export const errorBodyBytesMax: number = 64 * KiB;
export const providerMessageCharsMax: number = 300;
export const retryAfterSecondsMax: number = 60;

/** A provider that reports more tokens of one answer reports something else. */
export const reportedTokensMax: number = 2 ** 31;

// Limits (specification: Rate limits, defaults)
export const orgRequestsPerMinute: number = 300;
export const unfundedRequestsPerMinute: number = 20;
export const refusalsPerMinute: number = 600;
export const trialKeyRequestsPerMinute: number = 20;
export const consoleKeyRequestsPerMinute: number = 300;
export const managedKeyRequestsPerMinute: number = 60;
export const tokensPerMinute: number = 1_000_000;
export const concurrentRequestsMax: number = 8;
/** Changes of settings by one key: a window of their own, which no setting lowers. */
export const settingsRequestsPerMinute: number = 60;
export const modelLimitsPerOrgMax: number = 200;

// Connections
/** Of one process to its database, besides those of reports and of the ledger. */
export const databaseConnectionsMax: number = 10;
export const requestHeadersTimeoutMs: number = 15_000;
export const requestBodyTimeoutMs: number = 60_000;
export const writeIdleTimeoutMs: number = 60_000;
/** How long a connection is read after its last answer, so that the client sees that answer. */
export const lingerMs: number = 1_000;
export const connectionsMax: number = 10_000;
/** Of the internal listener, which only probes and collectors of metrics use. */
export const internalConnectionsMax: number = 1_000;
/** Connections over the bound that may be answered at once; further ones are closed. */
export const refusedConnectionsMax: number = 1_000;
/** Bytes of a refused body that are read and thrown away before its connection is closed. */
export const discardBytesMax: number = 128 * MiB;

// Files of records
export const usageFileTimeoutMs: number = 600_000;
export const usageFilePageRows: number = 500;
export const usageFileGroupsMax: number = 100_000;
export const usageFilesPerOrgMax: number = 4;
export const settlementStatementBytesMax: number = 64 * MiB;

// Reports of the console
/** Keys that an organization may have, disabled ones too. */
export const keysPerOrgMax: number = 1_000;
export const reportConnectionsMax: number = 3;
export const reportGroupsMax: number = 200;
export const reportSeriesGroupsMax: number = 7;
/** Ranges up to this length are reported by the hour. */
export const reportHoursMax: number = 48;
/** Longer ranges begin with their first request and end with their last. */
export const reportDaysMax: number = 400;
export const reportFilePageRows: number = 500;
export const providerActivityAttemptsMax: number = 200_000;
/** A day is summed up when requests of its last minute have long ended. */
export const usageRollupDelayHours: number = 3;
export const usageRollupOrgsMax: number = 20;
export const usageRollupBatchesMax: number = 10;
export const usageRollupEveryMs: number = 60_000;
export const usageRollupPauseMs: number = 1_000;

// Refused requests
/** Rows of refused requests of one key in one minute; what is beyond them is counted. */
export const refusedRowsPerMinute: number = 60;
/** The same over all keys of an organization, in one process. */
export const refusedRowsPerMinutePerOrg: number = 3 * refusedRowsPerMinute;

// Caches and stores
export const keyCacheMs: number = 5_000;
export const keyCacheEntriesMax: number = 100_000;
export const storeAnswerTimeoutMs: number = 2_000;
/** A shared limit store that takes longer is as good as down: nothing waits for it. */
export const limitClaimTimeoutMs: number = 500;
export const settleWaitMs: number = 2_000;

// Ledger
export const ledgerBatchRowsMax: number = 512;
export const ledgerQueueRowsMax: number = 4_096;
export const ledgerQueueRowsPerOrgMax: number = ledgerQueueRowsMax / 4;
export const ledgerQueueAgeMs: number = 250;
export const leaseMs: number = 10_000;
export const leaseRenewMs: number = 2_000;
/** The journal has a partition per day: so many are made ahead, every hour. */
export const partitionDaysAhead: number = 7;
export const maintainEveryMs: number = 3_600_000;
export const journalRetryAfterSeconds: number = 2;
export const healthRetryAfterSeconds: number = 5;

assert(outputTokensDefault <= outputTokensMax, "the default output bound is within the maximum");
assert(smallBodyBytesMax <= bodyBytesMax, "no route takes more than the general body bound");
assert(unfundedRequestsPerMinute <= orgRequestsPerMinute, "unfunded organizations get less");
assert(leaseRenewMs * 3 < leaseMs, "a lease survives two lost renewals");
