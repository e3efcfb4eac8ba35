import { integer, ofCommands, type Setting } from "./setting.ts";

/** How long the change log and single transfers are kept. */
export interface ChangeLogConfig {
  readonly retentionChangesDays: number;
  readonly retentionTransfersMonths: number;
}

export const CHANGE_LOG_SETTINGS: {
  readonly [K in keyof ChangeLogConfig]: Setting<ChangeLogConfig[K]>;
} = {
  retentionChangesDays: ofCommands(
    integer(
      "retention.changes_days",
      400,
      0,
      "How many days the change log is kept: `tokenmarket changes retire` deletes what is older. 0: all of " +
        "it is kept.",
    ),
  ),
  retentionTransfersMonths: integer(
    "retention.transfers_months",
    0,
    0,
    "Whole months of transfers that stay one by one beside the current one; `ledger retire` and `ledger fold` " +
      "export older ones and fold them into sums. 0: kept permanently.",
  ),
};
