import { instant } from "../../kernel/index.ts";
import type { DatabaseCheckGroup } from "./doctor-check.ts";

/** Automatic top-ups that wait for a person: how many for each reason, and since when. */
export const topUpChecks: DatabaseCheckGroup = async (_examined, { topUpStore }) => {
  const paused = (await topUpStore.paused()).map(({ reason, count, oldestMs }) => {
    return { reason, count, oldest_at: instant(oldestMs) };
  });
  if (paused.length === 0) return [];
  const listed = paused.map(
    ({ reason, count, oldest_at: oldest }) => `${count} ${reason} (the oldest since ${oldest})`,
  );
  const detail = `paused: ${listed.join(", ")}; \`tokenmarket topup list\` names the organizations`;
  return [{ id: "automatic top-up", level: "warning", detail, facts: { paused } }];
};
