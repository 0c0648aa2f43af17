/** The searches of a workload, and their steps to result at equal trials: `dbtool.analysis.searches` and `best_of_k`. */

import { max, min, minIndex } from "d3-array";
import type { Study } from "../facts";
import type { StepsAt } from "./critical";
import { binomialChances } from "./distributions";

/** Searches of fewer trials are left out, so that the rest can be compared at more. */
const FEWEST_TRIALS = 5;

/** The trials of a study, whatever the goal: those that have an ordinal or diverged, by rising number. */
export interface StudyTrials {
  readonly batchSize: number;
  readonly searchSpace: Study["search_space"];
  /** Whether it searched near the best of another batch size, and not the whole space. */
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
    readonly study: StudyTrials,
    /** Steps that were not enough; Infinity for a trial that diverged. */
    readonly after: Float64Array,
    /** Steps of the first evaluation past the goal; Infinity where there is none. */
    readonly steps: Float64Array,
  ) {}

  /** How many were run, those that diverged among them. */
  get trials(): number {
    return this.steps.length;
  }

  /** `best_of`: the median of the steps of the best of k of the trials. */
  bestOf(k: number): StepsAt {
    return this.at(rankOfMedian(this.trials, k));
  }

  /** `median_between`: between which steps the median of the best of k lies; 0 or Infinity where trials are too few. */
  medianBetween(k: number, level: number): [low: number, high: number] {
    const [low, high] = ranksAroundMedian(this.trials, k, level);
    return [low === null ? 0 : this.at(low).lower, high === null ? Infinity : this.at(high).upper];
  }

  private at(rank: number): StepsAt {
    this.sortedAfter ??= this.after.slice().sort();
    this.sortedSteps ??= this.steps.slice().sort();
    return { batchSize: this.study.batchSize, lower: this.sortedAfter[rank - 1]!, upper: this.sortedSteps[rank - 1]! };
  }
}

/** `_search`: the search of a study at a goal. */
export function searchOf(study: StudyTrials, crossing: Crossing): Search {
  const { status } = study;
  const after = crossing.after.slice();
  // A search in lockstep drops trials early, and only such as come after its first.
  const first = firstPast(crossing).lower;
  for (let trial = 0; trial < after.length; trial++) {
    if (status[trial] === "INCOMPLETE") after[trial] = Math.max(after[trial]!, first);
    else if (status[trial] === "INFEASIBLE") after[trial] = Infinity;
  }
  return new Search(study, after, crossing.steps);
}

/** Between which steps the first trial passed the goal; where none did, after how many the last was still trained. */
export function firstPast({ after, steps }: Crossing): { lower: number; upper: number } {
  const fewest = minIndex(steps);
  if (Number.isFinite(steps[fewest])) return { lower: after[fewest]!, upper: steps[fewest]! };
  return { lower: max(after) ?? -Infinity, upper: Infinity };
}

/** `equal_trials`: the searches that have enough trials, and the number at which they are compared. */
export function equalTrials(given: readonly Search[], k: number | null): { enough: Search[]; k: number } {
  const counts = given.map((each) => each.trials);
  const many = counts.filter((count) => count >= FEWEST_TRIALS);
  const asked = k ?? (min(many) ?? max(counts)!);
  return { enough: given.filter((each) => each.trials >= asked), k: asked };
}

const ROUNDING = 1e-12; // 1 - 9/10 is a little less than 1/10 in floating point

/** `rank_of_quantile`: which of n sorted trials, from 1, is the median of the best of k of them. */
function rankOfMedian(trials: number, k: number): number {
  let chance = 1;
  for (let rank = 1; rank <= trials - k; rank++) {
    chance *= (trials - k - rank + 1) / (trials - rank + 1);
    if (1 - chance > 0.5 - ROUNDING) return rank;
  }
  return trials - k + 1;
}

/**
 * `ranks_around_median`: between which of n sorted trials the median of the best of k lies, for any distribution; null for
 * an end that the trials are too few for.
 *
 * It is the p-quantile of one trial, p = 1 - 2^(-1/k) (as Lourie et al. 2023, arXiv 2311.09480, section 4).
 */
function ranksAroundMedian(trials: number, k: number, level: number): readonly [low: number | null, high: number | null] {
  const chances = binomialChances(trials, -Math.LN2 / k);
  const low = chances.filter((chance) => chance < (1 - level) / 2).length;
  const high = chances.filter((chance) => chance < (1 + level) / 2).length;
  return [low || null, high < trials ? high + 1 : null];
}
