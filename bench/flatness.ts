interface Point {
  readonly seconds: number;
  readonly value: number;
}

export interface Flatness {
  /** Slope of the regression line, in units of the value per hour. */
  readonly slopePerHour: number;
  /** Standard error of the slope, per hour. Noise alone stays below it two times out of three. */
  readonly noisePerHour: number;
  /** Mean of the second half of the run. */
  readonly level: number;
  readonly isFlat: boolean;
}

const SECONDS_PER_HOUR = 3_600;
/** A slope below this many standard errors is noise. */
const NOISE_TIMES = 3;
/** A growth per hour below this share of the level is flat, however certain it is. */
const SHARE_PER_HOUR = 0.05;

/**
 * Fits a line to the second half of a series: the first half fills caches and the heap. A series is
 * flat unless its line rises by more than its noise and by more than a twentieth of its level an
 * hour.
 */
export function flatnessOf(points: readonly Point[]): Flatness {
  const [from = 0, to = 0] = [points[0]?.seconds, points.at(-1)?.seconds];
  const half = points.filter(({ seconds }) => seconds >= (from + to) / 2);
  const { slope, error, level } = regression(half);
  const slopePerHour = slope * SECONDS_PER_HOUR;
  const noisePerHour = error * SECONDS_PER_HOUR;
  const isNoise = !(slopePerHour > NOISE_TIMES * noisePerHour);
  const isSmall = slopePerHour <= SHARE_PER_HOUR * level;
  return { slopePerHour, noisePerHour, level, isFlat: isNoise || isSmall };
}

/** Least squares. The error is 0 for two points or fewer, which fit any line. */
function regression(points: readonly Point[]): {
  readonly slope: number;
  readonly error: number;
  readonly level: number;
} {
  const meanX = mean(points.map((point) => point.seconds));
  const level = mean(points.map((point) => point.value));
  const sumXX = sum(points.map((point) => (point.seconds - meanX) ** 2));
  if (sumXX === 0) return { slope: 0, error: 0, level };
  const slope = sum(points.map((point) => (point.seconds - meanX) * (point.value - level))) / sumXX;
  const residuals = sum(
    points.map((point) => (point.value - level - slope * (point.seconds - meanX)) ** 2),
  );
  const freedom = points.length - 2;
  const error = freedom > 0 ? Math.sqrt(residuals / freedom / sumXX) : 0;
  return { slope, error, level };
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : sum(values) / values.length;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
