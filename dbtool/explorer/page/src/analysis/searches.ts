/** The searches of a workload, and their steps to result at equal trials: `dbtool.analysis.searches`. */

import type { Study } from "../facts";
import { rankOfQuantile, ranksAroundMedian } from "./bestOfK";
import type { StepsAt } from "./critical";

/** Searches of fewer trials are left out, so that the rest can be compared at more. */
const FEWEST_TRIALS = 5;

/** The trials of a study, whatever the goal: those that have an ordinal or diverged, by rising number. */
export interface StudyTrials {
  readonly batchSize: number;
  readonly searchSpace: Study["search_space"];
  readonly windowed: boolean;
  readonly trialId: ArrayLike<number>;
  readonly status: ArrayLike<string>;
  /** NaN where there is none. */
  readonly learningRate: Float64Array;
  /** NaN where there is none. */
  readonly momentum: Float64Array;
}

/** When each trial of a study passed the goal: the columns after and steps of the question `crossings`. */
export interface Crossing {
  /** Steps of the last evaluation that missed. */
  readonly after: Float64Array;
  /** Steps of the first evaluation past the goal; Infinity where there is none. */
  readonly steps: Float64Array;
}

/** The trials of a study, and when each passed the goal. */
export class Search {
  private sortedAfter: Float64Array | undefined;
  private sortedSteps: Float64Array | undefined;

  constructor(
    readonly batchSize: number,
    /** Steps that were not enough; Infinity for a trial that diverged. */
    readonly after: Float64Array,
    /** Steps of the first evaluation past the goal; Infinity where there is none. */
    readonly steps: Float64Array,
    readonly learningRate: Float64Array,
    readonly searchSpace: Study["search_space"],
    /** Whether it searched near the best of another batch size, and not the whole space. */
    readonly windowed = false,
  ) {}

  /** How many were run, those that diverged among them. */
  get trials(): number {
    return this.steps.length;
  }

  /** `best_of`: a quantile of the steps of the best of k of the trials. */
  bestOf(k: number, quantile = 0.5): StepsAt {
    return this.at(rankOfQuantile(quantile, this.trials, k));
  }

  /** `median_between`: between which steps the median of the best of k lies; 0 or Infinity where trials are too few. */
  medianBetween(k: number, level: number): [low: number, high: number] {
    const [low, high] = ranksAroundMedian(this.trials, k, level);
    return [low === null ? 0 : this.at(low).lower, high === null ? Infinity : this.at(high).upper];
  }

  private at(rank: number): StepsAt {
    this.sortedAfter ??= this.after.slice().sort();
    this.sortedSteps ??= this.steps.slice().sort();
    return { batchSize: this.batchSize, lower: this.sortedAfter[rank - 1]!, upper: this.sortedSteps[rank - 1]! };
  }
}

/** `_search`: the search of a study at a goal. */
export function searchOf(study: StudyTrials, crossing: Crossing): Search {
  const { status, learningRate } = study;
  const after = crossing.after.slice();
  const { steps } = crossing;
  // A search in lockstep drops trials early, and only such as come after its first.
  const first = firstPast(crossing).lower;
  for (let trial = 0; trial < after.length; trial++) {
    if (status[trial] === "INCOMPLETE") after[trial] = Math.max(after[trial]!, first);
    else if (status[trial] === "INFEASIBLE") after[trial] = Infinity;
  }
  return new Search(study.batchSize, after, steps, learningRate, study.searchSpace, study.windowed);
}

/** Between which steps the first trial passed the goal; where none did, after how many the last was still trained. */
export function firstPast({ after, steps }: Crossing): { lower: number; upper: number } {
  const fewest = indexOfLeast(steps);
  if (Number.isFinite(steps[fewest])) return { lower: after[fewest]!, upper: steps[fewest]! };
  return { lower: after.reduce((a, b) => Math.max(a, b), -Infinity), upper: Infinity };
}

/** `equal_trials`: the searches that have enough trials, and the number at which they are compared. */
export function equalTrials(given: readonly Search[], k: number | null): { enough: Search[]; k: number } {
  const counts = given.map((each) => each.trials);
  const many = counts.filter((count) => count >= FEWEST_TRIALS);
  const asked = k ?? (many.length > 0 ? Math.min(...many) : Math.max(...counts));
  return { enough: given.filter((each) => each.trials >= asked), k: asked };
}

/** `argmin`: where the least of some numbers is, the first of equal ones. */
export function indexOfLeast(values: ArrayLike<number>): number {
  let least = 0;
  for (let index = 1; index < values.length; index++) if (values[index]! < values[least]!) least = index;
  return least;
}
