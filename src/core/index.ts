export { ANSWER_HEADERS } from "./answer-headers.ts";
export { assert, AssertionFault, unreachable } from "./assert.ts";
export { BufferPool, type LentBuffer } from "./buffer-pool.ts";
export {
  byCapPeriod,
  CAP_FIELDS,
  CAP_PERIODS,
  type CapField,
  type CapPeriod,
  type Caps,
  capsInUsd,
  mondayOf,
  NO_CAPS,
  periodEndMs,
  utcDay,
} from "./cap-period.ts";
export { ClientAddresses, networksProblem } from "./client-address.ts";
export * from "./constants.ts";
export { CsvFault, CsvReader, type CsvRow } from "./csv-reader.ts";
export { csvLine, plainCell } from "./csv.ts";
export { cutText } from "./cut-text.ts";
export { type Deadline, Deadlines } from "./deadlines.ts";
export { type Decimal, decimalSize, parseDecimal, plainDecimal, shiftDecimal } from "./decimal.ts";
export { ExpiringCache } from "./expiring-cache.ts";
export { matchesGlob } from "./glob.ts";
export {
  type AttemptId,
  attemptIdMaker,
  attemptInstantMs,
  type JobId,
  type KeyId,
  type ModelId,
  newJobId,
  newKeyId,
  DEVELOPMENT_ORG_ID,
  newOrgId,
  newRecordId,
  newSpanId,
  newRequestId,
  type OrgId,
  parseJobId,
  parseKeyId,
  parseRequestId,
  type ProviderId,
  type RequestId,
} from "./ids.ts";
export { IpNetworks, parseIp } from "./ip-network.ts";
export { printJson, type Raw, usd } from "./json-output.ts";
export type { Logger } from "./log.ts";
export { madeOf } from "./made-of.ts";
export {
  isManagedOrigin,
  MANAGED_ORIGINS,
  type ManagedOrigin,
  shownKeyId,
} from "./managed-keys.ts";
export { parseMoment } from "./moment.ts";
export {
  ceilToMicroUsd,
  floorToMicroUsd,
  formatExactUsd,
  formatUsd,
  fractionBelowMicroUsd,
  isWithinExcess,
  microUsd,
  type MicroUsd,
  parseExactUsd,
  parseUsd,
  parseUsdToPico,
  picoUsd,
  type PicoUsd,
  usdJsonNumber,
  ZERO_MICRO_USD,
  ZERO_PICO_USD,
} from "./money.ts";
export { redactor } from "./redact.ts";
export {
  invalidRequest,
  type LimitKind,
  type LimitScope,
  refusal,
  type Refusal,
  type RefusalClass,
  type RefusalDetail,
  refusalGround,
  type RefusalOrigin,
  REFUSALS,
  refusalTimes,
  wireBErrorType,
} from "./refusals.ts";
export {
  ATTEMPT_OUTCOMES,
  type AttemptEnd,
  CLIENT_LEFT,
  REQUEST_STATUSES,
  type RequestStatus,
  requestStatusOf,
} from "./request-status.ts";
export { MAY, mayRole, type Need, parseRole, type Role, ROLES, rolesWith } from "./roles.ts";
export { Job, workOnEach } from "./job.ts";
export type { Public } from "./public.ts";
export type { TaxIdType } from "./tax-id-types.ts";
export { PAUSE_REASONS, type PauseReason, pauseSentence } from "./top-up-pauses.ts";
export { refused, type Refused, type Result } from "./result.ts";
export { type ModelNames, type ServedModel, servedModelOf } from "./served-model.ts";
export { asStoreFault, isStoreFault } from "./store-fault.ts";
export { readTags } from "./key-tags.ts";
export { listPieces, mapInTurns } from "./in-turns.ts";
export { type Clock, daysBefore, isDay, systemClock } from "./time.ts";
export { exactUsdOrNull, instant, instantOrNull, usdOrNull } from "./json-values.ts";
export {
  byBucket,
  type BySku,
  bySkuName,
  type BySkuName,
  eachSku,
  fromSkuNames,
  HOUR_SKU,
  HOUR_SKU_NAME,
  outputTokensTotal,
  promptTokensTotal,
  type Sku,
  SKU_NAMES,
  sumUsage,
  type TokenBucket,
  TOKEN_BUCKET_NAMES,
  TOKEN_BUCKETS,
  type Usage,
  withoutHourWrites,
  ZERO_USAGE,
} from "./usage.ts";
export { hiddenCharacters, visibleText } from "./visible-text.ts";
export { isEmail, normaliseEmail } from "./email-address.ts";
