/** The searches of a workload, and their steps to result at equal trials: `dbtool.analysis.searches`. */

import { max, min, minIndex } from "d3-array";
import type { Study } from "../facts";
import type { StepsAt } from "./critical";
import { binomialChances } from "./distributions";
import { medianErrors, middle } from "./replicates";

/** Searches of fewer trials are left out, so that the rest can be compared at more: the first that half of them have. */
const LEAST = [5, 2, 1];

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
  /** The same number for the replicates of a setting; NaN where there are none. */
  readonly setting: Float64Array;
}

/** When each trial of a study passed the goal: the columns after and steps of the question `crossings`. */
export interface Crossing {
  /** Steps of the last evaluation that missed. */
  readonly after: Float64Array;
  /** Steps of the first evaluation past the goal; Infinity where there is none. */
  readonly steps: Float64Array;
}

/** The trials of a study, and when each passed the goal; a setting with replicates is one trial, by their medians. */
export class Search {
  private sortedAfter: Float64Array | undefined;
  private sortedSteps: Float64Array | undefined;

  constructor(
    readonly study: StudyTrials,
    /** Steps that were not enough; Infinity for a trial that diverged. */
    readonly after: Float64Array,
    /** Steps of the first evaluation past the goal; Infinity where there is none. */
    readonly steps: Float64Array,
    /** For each trial the replicates behind it; empty where none has any. */
    readonly settings: readonly Search[] = [],
    /** Standard errors of the logarithms of steps that these tell. */
    readonly errors: readonly number[] = [],
  ) {}

  /** The replicates of a study of one setting, which is no search; else null. */
  get replicates(): Search | null {
    return this.settings.length === 1 ? this.settings[0]! : null;
  }

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
    if (this.replicates) return this.replicates.medianBetween(1, level);
    const [low, high] = ranksAroundMedian(this.trials, k, level);
    return [low === null ? 0 : this.at(low).lower, high === null ? Infinity : this.at(high).upper];
  }

  private at(rank: number): StepsAt {
    this.sortedAfter ??= this.after.slice().sort();
    this.sortedSteps ??= this.steps.slice().sort();
    const [lower, upper] = [this.sortedAfter[rank - 1]!, this.sortedSteps[rank - 1]!];
    // Of equal steps the first.
    return { batchSize: this.study.batchSize, lower, upper, error: this.errors[this.steps.indexOf(upper)] ?? 0 };
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
  const search = new Search(study, after, crossing.steps);
  if (study.setting.every(Number.isNaN)) return search;
  const trials = Map.groupBy(after.keys(), (trial) => `${study.setting[trial]} ${Number.isNaN(study.setting[trial]) ? trial : ""}`);
  const settings = [...trials.values()].map((own) => {
    const of = (values: ArrayLike<number>) => Float64Array.from(own, (trial) => values[trial]!);
    return new Search(studyOf(study, of), of(after), of(crossing.steps));
  });
  const medians = (name: "after" | "steps", whole: (value: number) => number) =>
    Float64Array.from(settings, (each) => whole(middle([...each[name]])));
  const firsts = [...trials.values()].map((own) => own[0]!);
  const ofSettings = studyOf(study, (values) => Float64Array.from(firsts, (trial) => values[trial]!));
  return new Search(ofSettings, medians("after", Math.floor), medians("steps", Math.ceil), settings);
}

/** A study with only some of its trials. */
function studyOf(study: StudyTrials, of: (values: ArrayLike<number>) => Float64Array): StudyTrials {
  return { ...study, trialId: of(study.trialId), learningRate: of(study.learningRate), momentum: of(study.momentum) };
}

/** `searches`: with the standard errors that all replicates of a workload tell together. */
export function withErrors(given: readonly Search[]): Search[] {
  if (!given.some((each) => each.settings.length)) return [...given];
  const runs = given.map((each) =>
    each.settings.length ? each.settings.map((of) => [...of.steps]) : [...each.steps].map((of) => [of]),
  );
  const errors = medianErrors(runs.flat());
  let first = 0;
  return given.map((each, index) => {
    const own = errors.slice(first, (first += runs[index]!.length));
    return new Search(each.study, each.after, each.steps, each.settings, own);
  });
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
  const enough = LEAST.map((least) => counts.filter((count) => count >= least));
  const asked = k ?? min(enough.find((each) => 2 * each.length >= counts.length)!)!;
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
