/**
 * How far larger batches help on a workload: `dbtool.analysis.scaling`, but for the ends of the regimes; and the rows of it,
 * with the columns and nulls of `dbtool.analysis.tables`.
 */

import { type Curve, type Estimate, type StepsAt, fitCurve } from "./critical";
import { type BestRate, type RateLaw, bestRate, fitLaws } from "./learningRates";
import { type Search, equalTrials } from "./searches";

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
  /** The best learning rates, by rising batch size. */
  readonly rates: readonly BestRate[];
  /** How they move; null where too few batch sizes tell. */
  readonly rateLaw: RateLaw | null;
}

/** `scaling_of_searches`: from a search a batch size, rising, at least one; of null trials see `equalTrials`. */
export function scalingOfSearches(given: readonly Search[], trials: number | null): Scaling {
  const { enough, k } = equalTrials(given, trials);
  const hasWindows = enough.some((search) => search.study.windowed);
  // Where so many trials diverge, nothing is known of how many steps the others would take. Where some were searched near
  // the best of another batch size, those that were searched in the whole space are but a bound from above.
  const known = enough
    .map((search) => ({ ...search.bestOf(k), isBound: hasWindows && !search.study.windowed }))
    .filter((each) => each.lower !== Infinity)
    .map(({ isBound, ...each }) => (isBound ? { ...each, lower: 0 } : each));
  const rates = enough.map(bestRate).filter((each) => each !== null);
  return {
    ...scalingOfSteps(known),
    trials: k,
    leftOut: given.filter((search) => search.trials < k).map((search) => search.study.batchSize),
    rates,
    rateLaw: fitLaws(rates),
  };
}

/** `scaling_of_steps`: from steps to result alone. */
export function scalingOfSteps(given: readonly StepsAt[]): Scaling {
  const steps = [...given].sort((a, b) => a.batchSize - b.batchSize);
  return { steps, trials: null, leftOut: [], curve: fitCurve(steps, LEVEL), rates: [], rateLaw: null };
}

/** `dbtool.analysis.answers.Answer`: the scaling of one workload; names are null for a table of steps. */
export interface Answer {
  readonly release: string | null;
  readonly workload: string | null;
  readonly metric: string | null;
  readonly goal: number | null;
  readonly scaling: Scaling;
  /** One a batch size, rising; none for a table. */
  readonly searches: readonly Search[];
}

export type CriticalRow = ReturnType<typeof criticalRows>[number];
export type StepsRow = ReturnType<typeof stepsRows>[number];
export type LearningRateRow = ReturnType<typeof learningRateRows>[number];

/** `Found.rows("critical")` of one workload. */
export function criticalRows(answer: Answer) {
  const { scaling } = answer;
  const row = (definition: "tradeoff" | "overhead" | "speedup", estimate: Estimate | null) => ({
    ...named(answer),
    definition,
    critical_batch_size: estimate?.value ?? null,
    low: estimate?.low || null,
    high: finite(estimate?.high ?? Infinity),
    verdict: estimate?.verdict ?? ("not_identified" as const),
    learning_rate: scaling.rateLaw && estimate?.value ? scaling.rateLaw.at(estimate.value) : null,
    fewest_steps: scaling.curve?.fewestSteps ?? null,
    trials: scaling.trials,
    batch_sizes: scaling.steps.length,
    reached: scaling.steps.filter((each) => each.upper > 0 && Number.isFinite(each.upper)).length,
    level: LEVEL,
  });
  const { curve } = scaling;
  return [
    row("tradeoff", curve?.tradeoff ?? null),
    // From the smallest batch size that reached the goal.
    row("overhead", curve?.overhead(OVERHEAD, curve.reached[0]) ?? null),
    row("speedup", curve?.speedup(OVERHEAD) ?? null),
  ];
}

/** `Found.rows("steps")` of one workload. */
export function stepsRows(answer: Answer) {
  const { scaling } = answer;
  const ofSize = new Map(answer.searches.map((search) => [search.study.batchSize, search]));
  return scaling.steps.map((at) => {
    const search = ofSize.get(at.batchSize);
    const [low, high] =
      search && scaling.trials !== null ? search.medianBetween(scaling.trials, LEVEL) : [0, Infinity];
    return {
      ...named(answer),
      batch_size: at.batchSize,
      trials: scaling.trials,
      after: at.lower,
      steps: finite(at.upper),
      low: low || null,
      high: finite(high),
      fitted: scaling.curve?.at(at.batchSize) ?? null,
      level: LEVEL,
    };
  });
}

/** `Found.rows("learning_rates")` of one workload. */
export function learningRateRows(answer: Answer) {
  const { rates, rateLaw: law } = answer.scaling;
  return rates.map((rate) => ({
    ...named(answer),
    batch_size: rate.batchSize,
    best: rate.best,
    low: rate.low || null,
    high: finite(rate.high),
    trials: rate.trials,
    law: law?.law ?? null,
    fitted: law ? Math.min(Math.max(law.at(rate.batchSize), rate.low), rate.high) : null,
  }));
}

function named({ release, workload, metric, goal }: Answer) {
  return { release, workload, metric, goal };
}

/** `dbtool.analysis.interval.finite`. */
function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
