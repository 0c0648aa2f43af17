/** Replicates of a setting, trials with other seeds: `Search.with_medians` and `median_errors` of `dbtool.analysis.searches`. */

import { sum } from "d3-array";

/** Degrees of freedom by which the spread of all replicates counts in that of each setting. */
const BORROWED = 4;

/** `middle`: the median of steps; Infinity where more than half, or one of the middle two, is. */
export function middle(steps: readonly number[]): number {
  const sorted = [...steps].sort((a, b) => a - b || 0);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

/** `median_errors` of `spread`: the standard errors of the medians of logarithms, of the steps of the replicates of each setting. */
export function medianErrors(settings: readonly (readonly number[])[]): number[] {
  const spreads = settings.map((steps) => {
    const logs = steps.filter((each) => Number.isFinite(each) && each > 0).map(Math.log);
    const mean = sum(logs) / logs.length;
    const freedom = Math.max(logs.length - 1, 0);
    return { freedom, squares: freedom ? sum(logs, (each) => (each - mean) ** 2) : 0 };
  });
  const common = sum(spreads, (each) => each.squares) / Math.max(sum(spreads, (each) => each.freedom), 1);
  return spreads.map(({ freedom, squares }) => {
    const own = (BORROWED * common + squares) / (BORROWED + freedom);
    return Math.sqrt((own * Math.PI) / (2 * (freedom + 1) + Math.PI - 2));
  });
}
