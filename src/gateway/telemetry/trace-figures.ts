/** How many spans have left and how many have not, since the start. */
export interface TraceFigures {
  exported: number;
  /** The queue was full, or the collector did not take them. */
  dropped: number;
  /** Whole traces above the ceiling of a second; nothing was made of them. */
  readonly tracesAboveCeiling: number;
}
