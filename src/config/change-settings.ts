import { integer, ofCommands, type Setting } from "./setting.ts";

/** How long the change log is kept. */
export interface ChangeLogConfig {
  readonly retentionChangesDays: number;
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
};
