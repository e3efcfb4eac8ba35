import { PurchaseFault, TopUpFault, type TopUpView } from "../billing/billing.ts";
import { formatUsd, pauseSentence, ZERO_MICRO_USD } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { TopUp } from "./contract.ts";
import { TopUpCard, TopUpPause, type topUpRoutes, TopUpRule } from "./contract/statements.ts";
import type { Handlers } from "./handler.ts";
import { readAmount } from "./read-values.ts";
import { present } from "./present.ts";

export function topUpHandlers({ billing, log }: ConsoleDeps): Handlers<keyof typeof topUpRoutes> {
  const shown = (view: TopUpView | undefined): TopUp => ({
    ...presentTopUp(view),
    min_usd: formatUsd(billing.minMicroUsd),
    max_usd: formatUsd(billing.maxMicroUsd),
  });
  const refused = (fault: unknown): ConsoleRefusal => {
    if (fault instanceof TopUpFault) {
      return fault.field === "card"
        ? conflict(fault.message)
        : invalidField(fault.field, fault.message);
    }
    if (!(fault instanceof PurchaseFault)) throw fault;
    if (fault.kind === "not_configured") return NOT_AVAILABLE;
    log.error({ err: fault }, "the payment provider did not start saving a card");
    const message =
      "the payment provider returned an unexpected response; nothing was changed. Try again";
    return new ConsoleRefusal(502, "upstream_error", message);
  };
  return {
    "GET /api/console/top-up": async ({ session }) =>
      shown(await billing.topUps?.read(session.orgId)),

    "PATCH /api/console/top-up": async ({ session, body, by }) => {
      const { topUps } = billing;
      if (topUps === undefined) return NOT_AVAILABLE;
      const rule = {
        isOn: body.is_on,
        belowMicroUsd: readAmount(body.below_usd),
        amountMicroUsd: readAmount(body.amount_usd),
        monthMaxMicroUsd: readAmount(body.month_max_usd),
      };
      try {
        await topUps.setRule(session.orgId, rule, by);
        return shown(await topUps.read(session.orgId));
      } catch (fault) {
        return refused(fault);
      }
    },

    "POST /api/console/top-up/card": async ({ session }) => {
      const { topUps } = billing;
      if (topUps === undefined) return NOT_AVAILABLE;
      try {
        const { checkoutUrl } = await topUps.openCardCheckout(session.orgId);
        return { checkout_url: checkoutUrl };
      } catch (fault) {
        return refused(fault);
      }
    },

    "POST /api/console/top-up/card/remove": async ({ session, by }) => {
      const { topUps } = billing;
      if (topUps === undefined) return NOT_AVAILABLE;
      const isRemoved = await topUps.removeCard(session.orgId, by);
      return isRemoved ? shown(await topUps.read(session.orgId)) : NO_CARD;
    },
  };
}

const NOT_AVAILABLE = conflict("automatic top-up is not available here; ask your operator");
const NO_CARD = conflict("there is no saved card to remove; reload the page");

export function presentTopUp(view: TopUpView | undefined): Omit<TopUp, "min_usd" | "max_usd"> {
  const { rule, pause, card } = view ?? {};
  return {
    is_available: view !== undefined,
    card: card === undefined ? null : present(TopUpCard, card),
    is_card_pending: view?.isCardPending ?? false,
    rule: rule === undefined ? null : present(TopUpRule, rule),
    pause:
      pause === undefined
        ? null
        : present(TopUpPause, pause, { text: pauseSentence(pause.reason) }),
    month_spent_usd: formatUsd(view?.monthMicroUsd ?? ZERO_MICRO_USD),
    has_open_purchase: view?.hasOpenPurchase ?? false,
  };
}
