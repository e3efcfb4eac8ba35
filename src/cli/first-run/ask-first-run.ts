import type { ProviderHead } from "../../listing-tools/index.ts";
import { type MicroUsd, ZERO_MICRO_USD } from "../../kernel/index.ts";
import type { Answers } from "../ask-person.ts";
import { type Flags, readText, requireFilled, requireUsd, UsageFault } from "../command-context.ts";
import { joinValues, requireMargin, splitWords } from "../manifest-init/init-flags.ts";
import type { FirstAccount } from "./open-account.ts";

export interface FirstRunPlan {
  readonly heads: readonly ProviderHead[];
  readonly margin: string | undefined;
  readonly account: FirstAccount;
  /** The most that trying the models may cost; 0: no model is tried. */
  readonly budgetMicroUsd: MicroUsd;
  readonly isServing: boolean;
}

export async function askFirstRun(
  answers: Answers,
  flags: Flags,
  found: readonly ProviderHead[],
): Promise<FirstRunPlan> {
  const ids = found.map(({ provider }) => provider.id);
  answers.tell(`Keys were found for: ${ids.join(", ")}`);
  const heads = await answers.get(joinValues(flags["providers"]), {
    flag: "--providers, or --yes for all with a key",
    question: "Providers to list",
    ...(answers.isPerson || flags["yes"] === true ? { fallback: ids.join(" ") } : {}),
    read: (text) => chosenHeads(text, found),
  });
  const margin = await answers.flag(flags, "margin", {
    question: "Margin on every price in percent",
    fallback: "0",
    read: requireMargin,
  });
  const account = await askAccount(answers, flags);
  const budgetMicroUsd = await answers.flag(flags, "conformance-usd", {
    question: "Try one model of each provider, for at most this many dollars (0: try nothing)",
    fallback: answers.isPerson ? "0.25" : "0",
    read: requireUsd,
  });
  answers.needAll("init");
  const isServing =
    flags["serve"] === true || (await answers.confirm("Start the gateway when all is done?"));
  return {
    heads: heads ?? [],
    margin: margin === undefined || Number(margin) === 0 ? undefined : margin,
    account,
    budgetMicroUsd: budgetMicroUsd ?? ZERO_MICRO_USD,
    isServing,
  };
}

function chosenHeads(text: string, found: readonly ProviderHead[]): readonly ProviderHead[] {
  return splitWords(text).map((id) => {
    const head = found.find(({ provider }) => provider.id === id);
    if (head !== undefined) return head;
    const known = found.map(({ provider }) => provider.id).join(", ");
    throw new UsageFault(`--providers: there is no key for ${id}; there is one for ${known}`);
  });
}

async function askAccount(answers: Answers, flags: Flags): Promise<FirstAccount> {
  const orgName = await answers.flag(flags, "org", {
    question: "Name of the first organization",
    fallback: "First organization",
    read: requireFilled,
  });
  const email = await answers.flag(flags, "email", {
    question: "Its e-mail address",
    read: (text) => {
      if (/^[^@\s]+@[^@\s]+$/.test(text)) return text;
      throw new UsageFault(`--email: ${text} is not an e-mail address`);
    },
  });
  const creditMicroUsd = await answers.flag(flags, "credit-usd", {
    question: "Its credit in dollars",
    fallback: "10.00",
    read: (text, flag) => {
      const amount = requireUsd(text, flag);
      if (amount > 0n) return amount;
      throw new UsageFault("--credit-usd must be dollars above 0, such as 10.00");
    },
  });
  return {
    orgName: orgName ?? "",
    email: email ?? "",
    creditMicroUsd: creditMicroUsd ?? ZERO_MICRO_USD,
    keyName: readText(flags, "key-name") ?? "first",
  };
}
