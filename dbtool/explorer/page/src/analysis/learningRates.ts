/** Which learning rate belongs to which batch size: `dbtool.analysis.learning_rates`. */

import { extent, minIndex } from "d3-array";
import { fitIntervals } from "./censored";
import { MISSED, Profile } from "./critical";
import type { Search } from "./searches";

export type Law = "power" | "saturating" | "surge";

/** Trials that took up to so many times the fewest steps count among the best. */
const NEARLY = 1.25;
const FEWEST_BATCH_SIZES = 4;
const OUTER = 0.1; // of the searched range, on each side: what is best there may lie beyond it
const LEAST_SCALE = 0.05;
const GRID = 181;
const LAWS: readonly Law[] = ["power", "saturating", "surge"];

/** What a search tells of the best learning rate. */
export interface BestRate {
  readonly batchSize: number;
  /** The least of the trials that came nearly as far as the best; 0 where it lies in the outer tenth of the range. */
  readonly low: number;
  /** The largest of them; Infinity likewise. */
  readonly high: number;
  /** Of the trial that took the fewest steps. */
  readonly best: number;
  /** How many came nearly as far. */
  readonly trials: number;
}

/** How the best learning rate moves with the batch size: the likeliest of the laws, of equal ones the first. */
export class RateLaw {
  constructor(
    readonly law: Law,
    /** Its exponent p or its batch size Bn. */
    readonly parameter: number,
    /** The learning rate at a batch size is this times the law's shape. */
    readonly factor: number,
  ) {}

  /** The learning rate that the law gives for a batch size. */
  at(batchSize: number): number {
    return this.factor * Math.exp(logShape(this.law, this.parameter, batchSize));
  }
}

/** `best_rate`: the range of the best learning rates of a search; null where it cannot tell any. */
export function bestRate(search: Search): BestRate | null {
  const { after, steps, study: { batchSize, learningRate } } = search;
  const enough = NEARLY * Math.min(...steps);
  let [low, high, trials] = [Infinity, -Infinity, 0];
  for (let trial = 0; trial < steps.length; trial++) {
    const own = learningRate[trial]!;
    if (!(after[trial]! <= enough) || !Number.isFinite(steps[trial]!) || !Number.isFinite(own)) continue;
    low = Math.min(low, own);
    high = Math.max(high, own);
    trials++;
  }
  if (trials === 0 || new Set(learningRate.filter(Number.isFinite)).size === 1) return null;
  const [start = 0, end = 0] = searched(search) ?? extent(learningRate.filter(Number.isFinite));
  const outer = end > start && start > 0 ? Math.log(end / start) * OUTER : 0;
  const known = steps.map((each, trial) => (Number.isFinite(learningRate[trial]!) ? each : Infinity));
  return {
    batchSize,
    low: outer && low <= start * Math.exp(outer) ? 0 : low,
    high: outer && high >= end / Math.exp(outer) ? Infinity : high,
    best: learningRate[minIndex(known)]!,
    trials,
  };
}

/** `fit_laws`, but for intervals: fits the laws by interval likelihood; null where too few batch sizes bound the rate. */
export function fitLaws(rates: readonly BestRate[]): RateLaw | null {
  const bounded = rates.filter((each) => each.low > 0 || Number.isFinite(each.high));
  const closed = bounded.filter((each) => each.low > 0 && Number.isFinite(each.high)).length;
  if (closed < FEWEST_BATCH_SIZES) return null;
  const sizes = bounded.map((each) => each.batchSize);
  const intervals = {
    lower: bounded.map((each) => Math.log(each.low)),
    upper: bounded.map((each) => Math.log(each.high)),
    leastScale: LEAST_SCALE,
  };
  const found = LAWS.map((kind) => {
    const parameterAt = (point: number) => (kind === "power" ? point : Math.exp(point));
    const fit = (point: number) => fitIntervals(intervals, (index) => logShape(kind, parameterAt(point), sizes[index]!));
    const profile = new Profile(gridOf(kind, sizes), (point) => fit(point).likelihood);
    const law = new RateLaw(kind, parameterAt(profile.peak), Math.exp(fit(profile.peak).coefficient));
    return { law, likelihood: profile.most };
  });
  const most = Math.max(...found.map((each) => each.likelihood));
  return found.find((each) => each.likelihood >= most - MISSED)!.law;
}

/** `_searched`: the ends of the search space; null where the study has none, as of a grid of runs. */
function searched({ study }: Search): [start: number, end: number] | null {
  const { min_value: start, max_value: end } = study.searchSpace["learning_rate"] ?? {};
  return typeof start === "number" && typeof end === "number" ? [start, end] : null;
}

/** `_grid`, of the laws with a batch size its logarithms. */
function gridOf(law: Law, sizes: readonly number[]): Float64Array {
  // A turn beyond what was measured cannot be told from a power: 1, or 1/2 of the surge.
  const [from, to] =
    law === "power" ? [-2, 3] : [Math.log(Math.min(...sizes)), Math.log(Math.max(...sizes))];
  return Float64Array.from({ length: GRID }, (_, index) => from + (index * (to - from)) / (GRID - 1));
}

/**
 * `_log_shape`: the logarithm of a law without its factor: B^p, 1 / (1 + Bn / B) (McCandlish et al. 2018, equation
 * 2.10) or 1 / (sqrt(Bn / B) + sqrt(B / Bn)) (Li et al. 2024, arXiv 2405.14578, theorem 2).
 */
function logShape(law: Law, parameter: number, size: number): number {
  if (law === "power") return parameter * Math.log(size);
  const ratio = parameter / size;
  if (law === "saturating") return -Math.log1p(ratio);
  const half = Math.abs(0.5 * Math.log(ratio));
  return -(half + Math.log1p(Math.exp(-2 * half)));
}
