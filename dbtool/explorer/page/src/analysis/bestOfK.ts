/** The best of k trials of a search, from n trials that were run: `dbtool.analysis.best_of_k`. */

import { binomialChances } from "./distributions";

/** Ranks from 1, the best; null for one that the trials are too few for. */
export type Ranks = readonly [low: number | null, high: number | null];

const ROUNDING = 1e-12; // 1 - 9/10 is a little less than 1/10 in floating point

/** `rank_of_quantile`: which of n sorted trials is a quantile of the best of k of them. */
export function rankOfQuantile(quantile: number, trials: number, k: number): number {
  let chance = 1;
  for (let rank = 1; rank <= trials - k; rank++) {
    chance *= (trials - k - rank + 1) / (trials - rank + 1);
    if (1 - chance > quantile - ROUNDING) return rank;
  }
  return trials - k + 1;
}

/**
 * `ranks_around_median`: between which of n sorted trials the median of the best of k lies, for any distribution.
 *
 * It is the p-quantile of one trial, p = 1 - 2^(-1/k) (as Lourie et al. 2023, arXiv 2311.09480, section 4).
 */
export function ranksAroundMedian(trials: number, k: number, level: number): Ranks {
  const chances = binomialChances(trials, -Math.LN2 / k);
  const low = chances.filter((chance) => chance < (1 - level) / 2).length;
  const high = chances.filter((chance) => chance < (1 + level) / 2).length;
  return [low || null, high < trials ? high + 1 : null];
}
