import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { MIGRATIONS_FOLDER, readMigrations } from "./migration-files.ts";

/** SHA-256 of each published file. A new file adds a line; no line ever changes. */
const PUBLISHED: Readonly<Record<string, string>> = {
  "0001-accounts": "c4930793622ad17fcd07077cc9a9da3e53bbd5a89fed891967b9d113c2472479",
  "0002-books": "9f9df80271f943bc1d37ae357d9b5a383fb7da8790b1dc1e7c36388989c1277b",
  "0003-features": "f8a5160744fcce208fc3c4ab3f49840b726c12ba618f157d7708ff9a7ccc658b",
  "0004-batch-functions": "62fef1b418a67a45d1c4e6928789bda819818ef29080a8eaf5da58a4e1e341f8",
  "0005-ledger-functions": "7aeeef556944116a1f7e62ac3573aea17a6af95fcf1cf00b2251199d88d60e18",
  "0006-feature-functions": "e027a1d50755c516af2a92deb13c53eaec727c4fbb8ba6bc608f909d53b8e11a",
  "0007-one-ledger-lane": "77b4c8a3a2ff8ec5433c68a4f61a598563e34efddb6222140b928b07779d77e1",
  "0008-listing-verdicts": "2e91e0f214ec008bf69c93d1337a7881ab4a008d4ff541cde6107e87fd15dc5d",
  "0009-watched-runs": "6148ac04c8e0c62ef57c3f2cd8856d1cfb5bd30ee1a03fd6e8719b5bdfe8ef89",
  "0010-price-sheets": "7924c9b82f99b861c6c047c2d398d09841477c04b862a7484543d4cbabbeac37",
  "0011-purchase-prices": "97b05bb07b1bd7ca46b8d05d6c6e20d3d9da492ff85c0f3bbed4038c2b12d68d",
  "0012-change-log": "2e01cdddc822e95159e57cfd6e567e191cda0318b22c025687e6387bd7520e26",
  "0013-reopened-books": "d1eb74039e895d45ba3160c06999c62a43a93084d2b6f594aa85def54640e5ea",
  "0014-audit-checkpoints": "12d9b5e0108dc0a1b844fe0aeb0c73e5fe878edaf693ab263c7d055e1947b060",
  "0015-transfers-by-month": "b2edf7c928b86a52e21b1cfc3e792f854fa1703005011d807d2e055840264731",
  "0016-audit-result": "1482ce7a54e1a21a91bfac7d71c056ae9d2fb6273d446cf86b50a91e8a3b84e8",
  "0018-failed-attempts": "61b50dcf8f4cbabba3250e8fd93834ad97cc2b1b4577ad47c000cea7760cd10a",
  "0021-first-minute": "80220d79944e3c30e49a00c8e2e4d7ac22a463f3f544f5b356068a0714341a11",
  "0022-refusal-reasons": "030a87965923eecac85b5c808746bbbf02e4754192d00308feff3948dca52956",
  "0023-listing-figures": "367722148f0c1b194b140befd0e75450d02860d667d95b5f167230271dcadf4c",
  "0024-alerts": "04672ac3ee008ec4e490513e9673f3325e59c0e00f638b784014a164a9b76a18",
  "0025-listing-index": "40599b747c19a69783fcab515431f28b985fd93ab51258c5013268af1cc27045",
  "0026-key-expiry": "17a546997e96d852c43b1b9cb43589226b20638ff4d71df6f419f2ebe8f1c4ee",
  "0027-key-models": "cbd3402480095eed11f04d28a7aacebd295925661e53e06164bab02af8110299",
  "0033-answer-headers": "17d00eec1f4f2208b0b7254c02db3aafa724eea31ef115b7facabd865ac645e5",
  "0030-webhooks": "13c87c33941b8c6c767c4831eed8776e1ca1ed0f3def778d63331fed853470fa",
  "0031-top-up": "8f92681432e64cd97e3fbf630ec99885d04a4e76adadaaee01737f2451ebb399",
  "0028-teams": "90d1035d6d1d297178f3ea44c836de4ab73cc18f2ae8ccc92b7e8c1647dc2060",
  "0032-statements": "7e4a67f59405d16e525ba75ec0bd9fb91d4b0340a31ac58d1febbd0b6f122e47",
  "0036-statement-passes": "1bcad6b574ced295e3934d34dd8352a99fb4385254c90647e7797b6b95383db7",
  "0035-period-caps": "752f9d2936f8314712ba66e511a95ec958bed52d4e9592935c76f7c383f705ab",
  "0039-people": "c91cee0e29b08dd34c46ebdb969a5436d1e6aee0983f39ce0e7b7030d68ce7df",
};

test("the text of a published migration is frozen, to the byte", () => {
  const found = readMigrations(MIGRATIONS_FOLDER).map(({ name, sha256 }) => [name, sha256]);
  expect(Object.fromEntries(found)).toEqual(PUBLISHED);
});

test("the folder has SQL only, numbered in one row that may have gaps: no file is made out of another", () => {
  const files = readdirSync(MIGRATIONS_FOLDER).sort();
  expect(files.filter((file) => !/^\d{4}-[a-z-]+\.sql$/.test(file))).toEqual([]);
  const numbers = files.map((file) => file.slice(0, 4));
  expect([...new Set(numbers)]).toEqual(numbers);
});

test.each(["0011-purchase-prices.sql", "0035-period-caps.sql"])(
  "a reserve counts what is owed against the balance, in every place of %s",
  (file) => {
    const text = readFileSync(join(MIGRATIONS_FOLDER, file), "utf8");
    const start = text.search(/create function ledger_batch(_2)?\(/);
    const body = text.slice(start, text.indexOf("\nend $$;", start));
    expect(body.match(/w\.credits - w\.debits - w\.owed/g)).toHaveLength(2);
    expect(body.match(/w\.credits - w\.debits(?! - w\.owed)/g)).toBeNull();
  },
);
