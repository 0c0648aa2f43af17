/** How far larger batches help on a workload: `dbtool.analysis.scaling`, but for the ends of the regimes. */

import { fitCurve } from "./critical";
import type { Curve, Estimate, StepsAt } from "./critical";
import { bestRate, fitLaws } from "./learningRates";
import type { BestRate, RateLaw } from "./learningRates";
import { equalTrials } from "./searches";
import type { Search } from "./searches";

// The defaults of `dbtool.analysis.scaling.Settings`; the page does not vary them.
/** The level of all intervals. */
export const LEVEL = 0.95;
/** The share of the critical batch sizes that are called overhead and speedup. */
const OVERHEAD = 0.2;

/** How far larger batches help on a workload. */
export interface Scaling {
  /** What is known of the steps to result, by rising batch size. */
  readonly steps: readonly StepsAt[];
  /** At which searches were compared; null where the steps came without trials. */
  readonly trials: number | null;
  /** Batch sizes that had fewer trials. */
  readonly leftOut: readonly number[];
  /** Of the steps, as fitted; null where too few batch sizes reached the goal. */
  readonly curve: Curve | null;
  readonly tradeoff: Estimate | null;
  readonly overhead: Estimate | null;
  readonly speedup: Estimate | null;
  /** The best learning rates, by rising batch size. */
  readonly rates: readonly BestRate[];
  /** How they move; null where too few batch sizes tell. */
  readonly rateLaw: RateLaw | null;
}

/** `Scaling.reached`: the batch sizes that reached the goal, rising. */
export function reachedSizes(scaling: Scaling): number[] {
  return scaling.steps.filter((each) => Number.isFinite(each.upper)).map((each) => each.batchSize);
}

/**
 * `scaling_of_searches`: from a search a batch size, rising, at least one.
 *
 * @param trials at which searches are compared; null: as many as all have.
 */
export function scalingOfSearches(given: readonly Search[], trials: number | null): Scaling {
  const { enough, k } = equalTrials(given, trials);
  const hasWindows = enough.some((search) => search.windowed);
  // Where so many trials diverge, nothing is known of how many steps the others would take. Where some were searched near
  // the best of another batch size, those that were searched in the whole space are but a bound from above.
  const known = enough
    .map((search) => ({ ...search.bestOf(k), isBound: hasWindows && !search.windowed }))
    .filter((each) => each.lower !== Infinity)
    .map(({ batchSize, lower, upper, isBound }) => ({ batchSize, lower: isBound ? 0 : lower, upper }));
  const rates = enough.map(bestRate).filter((each) => each !== null);
  return {
    ...scalingOfSteps(known),
    trials: k,
    leftOut: given.filter((search) => search.trials < k).map((search) => search.batchSize),
    rates,
    rateLaw: fitLaws(rates, LEVEL),
  };
}

/** `scaling_of_steps`: from steps to result alone. */
export function scalingOfSteps(given: readonly StepsAt[]): Scaling {
  const steps = [...given].sort((a, b) => a.batchSize - b.batchSize);
  const curve = fitCurve(steps, LEVEL);
  return {
    steps,
    trials: null,
    leftOut: [],
    curve,
    tradeoff: curve?.tradeoff ?? null,
    // From the smallest batch size that reached the goal.
    overhead: curve?.overhead(OVERHEAD, curve.reached[0]) ?? null,
    speedup: curve?.speedup(OVERHEAD) ?? null,
    rates: [],
    rateLaw: null,
  };
}
