/** What was found, as the rows of `Found.rows` in `dbtool.analysis.tables`: the same columns, the same nulls. */

import type { Estimate } from "./critical";
import { LEVEL, reachedSizes } from "./scaling";
import type { Scaling } from "./scaling";
import type { Search } from "./searches";

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
    fewest_steps: scaling.curve?.steps ?? null,
    trials: scaling.trials,
    batch_sizes: scaling.steps.length,
    reached: reachedSizes(scaling).length,
    level: LEVEL,
  });
  return [row("tradeoff", scaling.tradeoff), row("overhead", scaling.overhead), row("speedup", scaling.speedup)];
}

/** `Found.rows("steps")` of one workload. */
export function stepsRows(answer: Answer) {
  const { scaling } = answer;
  const ofSize = new Map(answer.searches.map((search) => [search.batchSize, search]));
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
    fitted: law?.at(rate.batchSize) ?? null,
  }));
}

function named({ release, workload, metric, goal }: Answer) {
  return { release, workload, metric, goal };
}

/** `dbtool.analysis.interval.finite`. */
function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
