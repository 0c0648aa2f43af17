/** The critical batch size: `dbtool.analysis.critical`. */

import { IntervalFits } from "./censored";
import { quantileOfF } from "./distributions";
import { MISSED, Profile } from "./profile";

export type Verdict = "identified" | "lower_bound" | "upper_bound" | "not_identified";

/** Steps of a search are taken to vary by so much of themselves at least, from seed to seed. */
const LEAST_SCALE = 0.03;
/** As many batch sizes have to reach the goal for a fit. */
const FEWEST_REACHED = 3;
const POINTS_A_FACTOR = 16; // of the grid, for each factor of e
const BENDS = Array.from({ length: 10 }, (_, index) => 2 ** ((index - 3) / 4));
const BEYOND = 1000; // how far the grid goes beyond the batch sizes that were measured

/** What is known of the steps to result at a batch size. */
export interface StepsAt {
  readonly batchSize: number;
  /** Steps that were not enough; equal to `upper` where the number itself is known. */
  readonly lower: number;
  /** Steps that were; Infinity where no trial reached the goal. */
  readonly upper: number;
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
    /** Bc, likeliest where all are likely. */
    readonly critical: number,
    /** p; 1 for the hyperbola (McCandlish et al. 2018, arXiv 1812.06162, equation 2.11). */
    readonly bend: number,
    /** What else the measurements allow, for each bend at which they allow anything. */
    readonly allowed: readonly Allowed[],
    /** The least and the largest batch size that reached the goal. */
    readonly reached: readonly [least: number, most: number],
  ) {}

  /** The steps that a batch size needs. */
  at(batchSize: number): number {
    return this.steps * (1 + (this.critical / batchSize) ** this.bend) ** (1 / this.bend);
  }

  /** Bc. */
  get tradeoff(): Estimate {
    return this.estimate((_, critical) => critical);
  }

  /**
   * The batch size whose steps exceed linear scaling from another one by a share: B^p = (1 + o)^p (B0^p + Bc^p) - Bc^p
   * (Zhang et al. 2024, arXiv 2410.21676, section 3.1).
   *
   * @param share o, for instance 0.2.
   * @param start B0.
   */
  overhead(share: number, start: number): Estimate {
    return this.estimate((bend, critical) => {
      // In units of Bc, whose power may be too large a number.
      const power = (1 + share) ** bend * ((start / critical) ** bend + 1) - 1;
      return critical * power ** (1 / bend);
    });
  }

  /** A batch size that rises with Bc, with what is known of it. */
  private estimate(quantity: (bend: number, critical: number) => number): Estimate {
    const value = quantity(this.bend, this.critical);
    const lows = this.allowed.map(({ bend, low }) => (low ? quantity(bend, low) : 0));
    const highs = this.allowed.map(({ bend, high }) => (Number.isFinite(high) ? quantity(bend, high) : Infinity));
    const low = Math.min(...lows);
    const high = Math.max(...highs);
    const [least, most] = this.reached;
    const hasLow = low > 0 && least < value;
    const hasHigh = Number.isFinite(high) && value < most;
    if (hasLow && hasHigh) return { value, low, high, verdict: "identified" };
    if (hasLow) return { value: null, low, high: Infinity, verdict: "lower_bound" };
    if (hasHigh) return { value: null, low: 0, high, verdict: "upper_bound" };
    return { value: null, low: 0, high: Infinity, verdict: "not_identified" };
  }
}

/**
 * `fit_curve`: fits a curve by interval likelihood; null where too few batch sizes reached the goal.
 *
 * @param given at least one.
 * @param level of the intervals, for instance 0.95.
 */
export function fitCurve(given: readonly StepsAt[], level: number): Curve | null {
  // Those of which neither bound is known, or for which the untrained network is enough, tell nothing.
  const steps = given.filter((each) => each.lower > 0 || (each.upper > 0 && each.upper < Infinity));
  const upper = Float64Array.from(steps, (each) => Math.log(each.upper));
  const reached = steps.filter((_, index) => Number.isFinite(upper[index])).map((each) => each.batchSize);
  if (reached.length < FEWEST_REACHED) return null;
  const logSizes = Float64Array.from(steps, (each) => Math.log(each.batchSize));
  const lower = Float64Array.from(steps, (each) => Math.log(each.lower));
  const fits = new IntervalFits(lower, upper, LEAST_SCALE);
  const fit = (logCritical: number, bend: number, goesOn: boolean): number => {
    for (let index = 0; index < steps.length; index++) {
      const power = bend * (logCritical - logSizes[index]!);
      fits.offsets[index] = (Math.max(power, 0) + Math.log1p(Math.exp(-Math.abs(power)))) / bend;
    }
    return fits.fit(goesOn);
  };

  const grid = gridOf(logSizes);
  const bound = profileBound(reached.length, 3, level);
  // Without a bound all bends and critical batch sizes are allowed, and only the hyperbola is looked at.
  const bends = Number.isFinite(bound) ? BENDS : [1];
  const profiles = bends.map((bend) => ({
    bend,
    profile: new Profile(grid, (index, goesOn) => fit(grid[index]!, bend, goesOn)),
  }));
  const most = Math.max(...profiles.map(({ profile }) => profile.most));
  const floor = most - bound;
  const likely = profiles.filter(({ profile }) => profile.most >= floor);
  const chosen =
    likely.find(({ bend }) => bend === 1) ?? likely.find(({ profile }) => profile.most >= most - MISSED)!;
  const logCritical = chosen.profile.peak;
  fit(logCritical, chosen.bend, false);
  const fewest = Math.exp(fits.coefficient);
  const allowed = Number.isFinite(bound)
    ? likely.map(({ bend, profile }): Allowed => {
        const [low, high] = profile.interval(floor);
        return { bend, low: Math.exp(low), high: Math.exp(high) };
      })
    : BENDS.map((bend): Allowed => ({ bend, low: 0, high: Infinity }));
  return new Curve(
    fewest,
    Math.exp(logCritical),
    chosen.bend,
    allowed,
    [Math.min(...reached), Math.max(...reached)],
  );
}

/**
 * `profile_bound`: how far the log likelihood may lie below its maximum within an interval.
 *
 * n / 2 log(1 + F / (n - p)), F being the quantile of the F distribution with 1 and n - p degrees of freedom.
 *
 * @param reached n, the observations that are not mere bounds.
 * @param curve p, the curve's parameters.
 * @param level of the interval.
 * @returns Infinity where there are no more observations than parameters.
 */
export function profileBound(reached: number, curve: number, level: number): number {
  const freedom = reached - curve;
  if (freedom < 1) return Infinity;
  return (reached / 2) * Math.log1p(quantileOfF(freedom, level) / freedom);
}

/** `_grid`: the logarithms of batch sizes at which the likelihood is looked at, evenly spaced. */
function gridOf(logSizes: Float64Array): Float64Array {
  const least = Math.min(...logSizes) - Math.log(BEYOND);
  const most = Math.max(...logSizes) + Math.log(BEYOND);
  const points = Math.round(POINTS_A_FACTOR * (most - least));
  return Float64Array.from({ length: points }, (_, index) => least + (index * (most - least)) / (points - 1));
}
