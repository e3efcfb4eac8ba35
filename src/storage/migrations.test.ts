import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { accountsSql } from "./migrations/0001-accounts.ts";
import { ledgerTablesSql } from "./migrations/0002-ledger-tables.ts";
import { ledgerFunctionsSql } from "./migrations/0003-ledger-functions.ts";
import { settlementSql } from "./migrations/0004-settlement.ts";
import { accountRulesSql } from "./migrations/0005-account-rules.ts";
import { videoJobsSql } from "./migrations/0006-video-jobs.ts";
import { identitySql } from "./migrations/0007-identity.ts";
import { billingSql } from "./migrations/0008-billing.ts";
import { reportsSql } from "./migrations/0009-reports.ts";
import { optimizeSql } from "./migrations/0010-optimize.ts";
import { accountNoticesSql } from "./migrations/0011-account-notices.ts";
import { servedModelsSql } from "./migrations/0012-served-models.ts";
import { refusedMinutesSql } from "./migrations/0013-refused-minutes.ts";
import { usageHoldNoticesSql } from "./migrations/0014-usage-hold-notices.ts";
import { emailNormsSql } from "./migrations/0015-email-norms.ts";

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

test("the text of a published migration is frozen, to the byte", () => {
  const texts = {
    accountsSql,
    ledgerTablesSql,
    ledgerFunctionsSql,
    settlementSql,
    accountRulesSql,
    videoJobsSql,
    identitySql,
    billingSql,
    reportsSql,
    optimizeSql,
    accountNoticesSql,
    servedModelsSql,
    refusedMinutesSql,
    usageHoldNoticesSql,
    emailNormsSql,
  };
  const hashes = Object.entries(texts).map(([name, text]) => `${name} ${hashOf(text)}`);
  expect(hashes).toEqual([
    "accountsSql 81b13901ea3e4d4e",
    "ledgerTablesSql 569f0e090e7c1f9d",
    "ledgerFunctionsSql f68d058d8c385baf",
    "settlementSql f521af3522c2f295",
    "accountRulesSql 209d5b787af84be9",
    "videoJobsSql 45f08699b355b0c9",
    "identitySql 11f240602ee22c94",
    "billingSql 5cc6ca52cf4ccf3f",
    "reportsSql 3ed5f07979e1daf7",
    "optimizeSql 89c009ad9d8db470",
    "accountNoticesSql 19f731c589f62756",
    "servedModelsSql d85d4fee84499d7b",
    "refusedMinutesSql 991dea24492286a4",
    "usageHoldNoticesSql df44ba08d8d5eb40",
    "emailNormsSql d2cc3a9c85ea581b",
  ]);
});

test("no migration rewrites the text of another: what it does would change with it", () => {
  const folder = new URL("migrations/", import.meta.url);
  const rewriting = readdirSync(folder).filter((file) =>
    /\.(replace|replaceAll|split|slice)\(/.test(readFileSync(new URL(file, folder), "utf8")),
  );
  expect(rewriting).toEqual([]);
});

test("a reserve counts what is owed against the balance, in every place", () => {
  const body = billingSql.slice(billingSql.indexOf("function reserve_batch("));
  expect(body.match(/w\.credits - w\.debits - w\.owed/g)).toHaveLength(2);
  expect(body.match(/w\.credits - w\.debits(?! - w\.owed)/g)).toBeNull();
});
