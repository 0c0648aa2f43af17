/** The critical batch size: `dbtool.analysis.critical`. */

import { fitIntervals } from "./censored";
import { quantileOfF } from "./distributions";

export type Verdict = "identified" | "lower_bound" | "upper_bound" | "not_identified";

/** Steps of a search are taken to vary by so much of themselves at least, from seed to seed. */
const LEAST_SCALE = 0.03;
/** Of a curve, of which a fit takes one batch size more that reached the goal. */
const PARAMETERS = 3;
const LOG_BENDS = Float64Array.from(evenly(Math.log(0.3), Math.log(8), 15));
const LOG_BEND_DEVIATION = 0.6; // of the prior
// The grid: fine up to NEAR beyond the batch sizes that were measured, coarse up to FAR beyond that.
const POINTS_A_FACTOR = 6;
const NEAR = 2;
const FAR = 5;
const FAR_POINTS = 9;
/** As many ever smaller grids about the best point find the maximum. */
const ZOOMS = 6;
// Grids on which fewer points lie within the intervals are too coarse for the ends of these: others of so many points follow.
const RESOLVED = 12;
const FINE = 25;

/** What is known of the steps to result at a batch size. */
export interface StepsAt {
  readonly batchSize: number;
  /** Steps that were not enough; equal to `upper` where the number itself is known. */
  readonly lower: number;
  /** Steps that were; Infinity where no trial reached the goal. */
  readonly upper: number;
  /** Standard error of the steps' logarithm, from replicates; 0 where there are none. */
  readonly error?: number;
}

/** A quantity, whose value is told where it is identified. */
export interface Estimate {
  readonly value: number | null;
  /** Lower end of the interval; 0 where there is none. */
  readonly low: number;
  /** Upper end; Infinity where there is none. */
  readonly high: number;
  readonly verdict: Verdict;
}

/** The critical batch sizes that the measurements allow for curves of one bend. */
export interface Allowed {
  readonly bend: number;
  /** The least Bc; 0 where there is none. */
  readonly low: number;
  /** The largest; Infinity where there is none. */
  readonly high: number;
}

/** S(B) = steps (1 + (critical / B)^bend)^(1 / bend), fitted. */
export class Curve {
  constructor(
    /** The fewest that any batch size needs, Smin. */
    readonly steps: number,
    /** Bc. */
    readonly critical: number,
    /** p; 1 for the hyperbola (McCandlish et al. 2018, arXiv 1812.06162, equation 2.11). */
    readonly bend: number,
    /** What the measurements allow, for each bend at which they allow anything. */
    readonly allowed: readonly Allowed[],
    /** The least and the largest batch size that reached the goal. */
    readonly reached: readonly [least: number, most: number],
  ) {}

  /** The steps that a batch size needs. */
  at(batchSize: number): number {
    return this.steps * Math.exp(logExcess(this.bend, Math.log(this.critical / batchSize)));
  }

  /** Smin; null without an upper end of Bc, as all may scale perfectly. */
  get fewestSteps(): number | null {
    return Number.isFinite(this.tradeoff.high) ? this.steps : null;
  }

  /** Smin Bc, the examples that perfect scaling takes at any batch size. */
  get fewestExamples(): number {
    return this.steps * this.critical;
  }

  /** Bc. */
  get tradeoff(): Estimate {
    return this.estimate((_, critical) => critical);
  }

  /**
   * The batch size whose steps exceed linear scaling from B0 by a share o (Zhang et al. 2024, arXiv 2410.21676, section 3.1);
   * null where B0 gains nothing.
   */
  overhead(share: number, start: number): Estimate | null {
    if (start > this.critical / Math.min(sizeAt(this.bend, Math.log1p(share)), 1)) return null;
    return this.estimate((bend, critical) =>
      critical * sizeAt(bend, Math.log1p(share) + logExcess(bend, Math.log(start / critical))),
    );
  }

  /** The batch size whose speed-up is 1 / (1 + share) of that of perfect scaling. */
  speedup(share: number): Estimate {
    return this.estimate((bend, critical) => critical * sizeAt(bend, Math.log1p(share)));
  }

  /** A batch size that rises with Bc, with what is known of it. */
  private estimate(quantity: (bend: number, critical: number) => number): Estimate {
    const value = quantity(this.bend, this.critical);
    const lows = this.allowed.map(({ bend, low }) => (low ? quantity(bend, low) : 0));
    const highs = this.allowed.map(({ bend, high }) => (Number.isFinite(high) ? quantity(bend, high) : Infinity));
    const low = Math.min(value, ...lows);
    const high = Math.max(value, ...highs);
    const [least, most] = this.reached;
    const hasLow = low > 0 && least < value;
    const hasHigh = Number.isFinite(high) && value < most;
    if (hasLow && hasHigh) return { value, low, high, verdict: "identified" };
    if (hasLow) return { value: null, low, high: Infinity, verdict: "lower_bound" };
    if (hasHigh) return { value: null, low: 0, high, verdict: "upper_bound" };
    return { value: null, low: 0, high: Infinity, verdict: "not_identified" };
  }
}

/** `fit_curve`: fits a curve to at least one batch size by interval likelihood; null where too few reached the goal. */
export function fitCurve(given: readonly StepsAt[], level: number): Curve | null {
  // Those of which neither bound is known, or for which the untrained network is enough, tell nothing.
  const steps = given.filter((each) => each.lower > 0 || (each.upper > 0 && each.upper < Infinity));
  const upper = steps.map((each) => Math.log(each.upper));
  const reached = steps.filter((_, index) => Number.isFinite(upper[index])).map((each) => each.batchSize);
  if (reached.length <= PARAMETERS) return null;
  const logSizes = steps.map((each) => Math.log(each.batchSize));
  const lower = steps.map((each) => Math.log(each.lower));
  const weights = steps.map((each) => 1 / Math.max((each.error ?? 0) / LEAST_SCALE, 1));
  const intervals = { lower, upper, leastScale: LEAST_SCALE, weights };
  const fit = (logBend: number, logCritical: number) =>
    fitIntervals(intervals, (index) => logExcess(Math.exp(logBend), logCritical - logSizes[index]!));
  const penalised = (logBend: number, logCritical: number) =>
    fit(logBend, logCritical).likelihood - (logBend / LOG_BEND_DEVIATION) ** 2 / 2;

  const over = (bends: Float64Array, grid: Float64Array) =>
    Array.from(bends, (logBend) => new Profile(grid, (logCritical) => penalised(logBend, logCritical)));
  const outer = gridOf(logSizes);
  let bends: Float64Array = LOG_BENDS;
  let grid: Float64Array = outer;
  let profiles = over(bends, grid);
  const most = Math.max(...profiles.map((profile) => profile.most));
  const row = profiles.findIndex((profile) => profile.most === most);
  const [logBend, logCritical] = highest(LOG_BENDS[row]!, profiles[row]!, penalised);
  const floor = Math.max(most, penalised(logBend, logCritical)) - profileBound(reached.length, PARAMETERS, level);
  for (let zoom = 0; zoom < ZOOMS; zoom++) {
    const before = [bends, grid];
    bends = finer(LOG_BENDS, bends, (index) => profiles[index]!.most - floor, logBend);
    grid = finer(outer, grid, (index) => Math.max(...profiles.map(({ values }) => values[index]!)) - floor, logCritical);
    if (bends === before[0] && grid === before[1]) break;
    profiles = over(bends, grid);
  }
  const fewest = Math.exp(fit(logBend, logCritical).coefficient);
  const allowed = profiles.flatMap((profile, index): Allowed[] => {
    if (profile.most < floor) return [];
    const [low, high] = profile.interval(floor);
    return [{ bend: Math.exp(bends[index]!), low: Math.exp(low), high: Math.exp(high) }];
  });
  const ends = [Math.min(...reached), Math.max(...reached)] as const;
  return new Curve(fewest, Math.exp(logCritical), Math.exp(logBend), allowed, ends);
}

/**
 * `profile_bound`: how far the log likelihood may lie below its maximum within an interval, Infinity where there are no more
 * observations that are not mere bounds, n, than parameters, p.
 *
 * n / 2 log(1 + F / (n - p)), F being the quantile of the F distribution with 1 and n - p degrees of freedom.
 */
function profileBound(reached: number, curve: number, level: number): number {
  const freedom = reached - curve;
  if (freedom < 1) return Infinity;
  return (reached / 2) * Math.log1p(quantileOfF(freedom, level) / freedom);
}

/** `_finer`: points of which many are not below a floor, and none is where they end within `outer`. */
function finer(outer: Float64Array, points: Float64Array, above: (index: number) => number, best: number): Float64Array {
  const inside = points.filter((_, index) => above(index) >= 0);
  const [least, most] = [Math.min(...inside, best), Math.max(...inside, best)];
  const below = points.findLast((point) => point < least);
  const beyond = points.find((point) => point > most);
  const [first, last] = [points[0]!, points.at(-1)!];
  const isCut = (below === undefined && first > outer[0]!) || (beyond === undefined && last < outer.at(-1)!);
  if (inside.length >= RESOLVED && !isCut) return points;
  const step = points[1]! - first;
  const from = Math.max(below ?? first - 4 * step, outer[0]!);
  return Float64Array.from(evenly(from, Math.min(beyond ?? last + 4 * step, outer.at(-1)!), FINE));
}

/** `_Likelihood.highest`: log p and log Bc where the penalised likelihood is highest, from those of a grid. */
function highest(
  logBend: number,
  profile: Profile,
  likelihood: (logBend: number, logCritical: number) => number,
): [logBend: number, logCritical: number] {
  const { grid, top: [first, last] } = profile;
  let [bend, critical] = [logBend, (grid[first]! + grid[last]!) / 2];
  if (first < last || first === 0 || last === grid.length - 1) return [bend, critical];
  let spacing = 1 / POINTS_A_FACTOR;
  let width = LOG_BENDS[1]! - LOG_BENDS[0]!;
  let near: number[] = [];
  let beside: number[] = [];
  for (let zoom = 0; zoom < ZOOMS; zoom++) {
    spacing /= 2;
    width /= 2;
    const around = [-2, -1, 0, 1, 2];
    near = around.map((each) => bend + each * width).filter((each) => LOG_BENDS[0]! <= each && each <= LOG_BENDS.at(-1)!);
    beside = around.map((each) => critical + each * spacing);
    let best = -Infinity;
    for (const row of near) {
      for (const column of beside) {
        const value = likelihood(row, column);
        if (value > best) [best, bend, critical] = [value, row, column];
      }
    }
  }
  const peakOf = (points: number[], of: (point: number) => number) => new Profile(Float64Array.from(points), of).peak;
  const ofBend = peakOf(near, (each) => likelihood(each, critical));
  return [near.length === 5 ? ofBend : bend, peakOf(beside, (each) => likelihood(bend, each))];
}

/** `_log_excess`: log(S(B) / Smin) from p and log(Bc / B); by log(B / Bc) it is that of examples. */
function logExcess(bend: number, logRatio: number): number {
  const power = bend * logRatio;
  return (Math.max(power, 0) + Math.log1p(Math.exp(-Math.abs(power)))) / bend;
}

/** `_size_at`: B / Bc where examples are exp(logExcess) times the fewest. */
function sizeAt(bend: number, logExcess: number): number {
  const power = bend * logExcess;
  return Math.exp((power + Math.log(-Math.expm1(-power))) / bend);
}

/** `_Likelihood.grid`: logarithms of critical batch sizes. */
function gridOf(logSizes: readonly number[]): Float64Array {
  const least = Math.min(...logSizes) - NEAR;
  const most = Math.max(...logSizes) + NEAR;
  const fine = evenly(least, most, Math.ceil((most - least) * POINTS_A_FACTOR) + 1);
  const far = evenly(0, FAR, FAR_POINTS).slice(1);
  return Float64Array.from([...far.map((each) => least - each).reverse(), ...fine, ...far.map((each) => most + each)]);
}

function evenly(first: number, last: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + (index * (last - first)) / (count - 1));
}

/** Log likelihoods as near to each other are the same: fits end a little earlier or later. */
export const MISSED = 1e-6;

/** The log likelihoods of a grid's points. */
export class Profile {
  /** The highest log likelihood. */
  readonly most: number;
  /** `top`: the first and the last of the points of the highest log likelihood, but for what fits may miss. */
  readonly top: readonly [first: number, last: number];
  readonly values: Float64Array;

  /** Of points that are evenly spaced, and what their log likelihood is. */
  constructor(readonly grid: Float64Array, likelihood: (point: number) => number) {
    this.values = grid.map(likelihood);
    this.most = this.values.reduce((a, b) => Math.max(a, b));
    this.top = this.above(this.most - MISSED);
  }

  /** `closed_interval`: where it lies above a floor; infinite on the side on which it never falls below. */
  interval(floor: number): [low: number, high: number] {
    const { grid, values } = this;
    const [first, last] = this.above(floor);
    const crossing = (outside: number, inside: number): number => {
      const above = values[inside]! - floor;
      const share = above / (above - (values[outside]! - floor));
      return grid[inside]! + share * (grid[outside]! - grid[inside]!);
    };
    return [first > 0 ? crossing(first - 1, first) : -Infinity, last < grid.length - 1 ? crossing(last + 1, last) : Infinity];
  }

  /** `peak`: where it is highest: of a flat top the middle, of any other where a parabola is highest. */
  get peak(): number {
    const { grid, values } = this;
    const [first, last] = this.top;
    if (first < last || first === 0 || first === grid.length - 1) return (grid[first]! + grid[last]!) / 2;
    const [left, middle, right] = [values[first - 1], values[first], values[first + 1]];
    const bend = left! - 2 * middle! + right!;
    const shift = bend < 0 ? (left! - right!) / (2 * bend) : 0;
    return grid[first]! + shift * (grid[1]! - grid[0]!);
  }

  /** The first and the last of the points that are not below a floor. */
  private above(floor: number): [first: number, last: number] {
    const isAbove = (value: number): boolean => value >= floor;
    return [this.values.findIndex(isAbove), this.values.findLastIndex(isAbove)];
  }
}
