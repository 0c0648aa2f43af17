/**
 * Profile likelihoods over a grid: `closed_interval`, `top` and `peak` of `dbtool.analysis.critical`.
 *
 * The Python fits every point of its grids. Here those of a coarse selection are fitted, whose slopes tell between which
 * of them there are summits, and then those about the highest summit and where a floor is crossed: the same points, for
 * profiles that between two neighbours of the selection do not turn more than once.
 */

import type { IntervalFits } from "./censored";

type Three = [number, number, number];

/** Log likelihoods as near to each other are the same: fits end a little earlier or later. */
export const MISSED = 1e-6;

/** The log likelihoods of a grid's points, each fitted when it is asked for. */
export class Profile {
  /** The highest log likelihood. */
  readonly most: number;
  /** `top`: the first and the last of the points of the highest log likelihood, but for what fits may miss. */
  readonly top: readonly [first: number, last: number];
  private readonly values: Float64Array;
  private readonly slopes: Float64Array;
  /** Points of the selection and summits, rising. */
  private readonly looked: readonly number[];
  private readonly highest: number;

  /**
   * @param grid evenly spaced.
   * @param coarse points that are fitted in any case, rising, with the first and the last one.
   * @param fitted the log likelihood of a point and its slope; whether its fit may go on from the latest.
   */
  constructor(
    readonly grid: Float64Array,
    coarse: readonly number[],
    private readonly fitted: (index: number, goesOn: boolean) => Pick<IntervalFits, "logLikelihood" | "slope">,
  ) {
    this.values = new Float64Array(grid.length).fill(NaN);
    this.slopes = new Float64Array(grid.length);
    for (const index of coarse) this.at(index);
    this.looked = coarse.flatMap((index, place) => this.summit(index, coarse[place + 1] ?? index));
    this.highest = this.looked.reduce((best, index) => (this.at(index) > this.at(best) ? index : best));
    this.most = this.at(this.highest);
    this.top = this.above(this.most - MISSED);
  }

  /** The log likelihood of a point. */
  at(index: number): number {
    const known = this.values[index]!;
    if (known === known) return known;
    const { logLikelihood, slope } = this.fitted(index, true);
    this.slopes[index] = slope;
    return (this.values[index] = logLikelihood);
  }

  /** `closed_interval`: where it lies above a floor; infinite on the side on which it never falls below. */
  interval(floor: number): [low: number, high: number] {
    const { grid } = this;
    const [first, last] = this.above(floor);
    const crossing = (outside: number, inside: number): number => {
      const above = this.at(inside) - floor;
      const share = above / (above - (this.at(outside) - floor));
      return grid[inside]! + share * (grid[outside]! - grid[inside]!);
    };
    return [
      first > 0 ? crossing(first - 1, first) : -Infinity,
      last < grid.length - 1 ? crossing(last + 1, last) : Infinity,
    ];
  }

  /** `peak`: where it is highest: of a flat top the middle, of any other where a parabola is highest. */
  get peak(): number {
    const { grid } = this;
    const [first, last] = this.top;
    if (first < last || first === 0 || first === grid.length - 1) return (grid[first]! + grid[last]!) / 2;
    // Their differences are small, so that these fits have to end just where the Python's do.
    const [left, middle, right] = [-1, 0, 1].map((past) => this.fitted(first + past, false).logLikelihood) as Three;
    const bend = left - 2 * middle + right;
    const shift = bend < 0 ? (left - right) / (2 * bend) : 0;
    return grid[first]! + shift * (grid[1]! - grid[0]!);
  }

  /** The first and the last of the points that are not below a floor, the highest being one. */
  private above(floor: number): [first: number, last: number] {
    const { looked } = this;
    const isInside = (index: number): boolean => this.at(index) >= floor;
    const first = looked.findIndex(isInside);
    const last = looked.findLastIndex(isInside);
    return [
      lastInside(looked[first]!, looked[first - 1] ?? looked[first]!, isInside),
      lastInside(looked[last]!, looked[last + 1] ?? looked[last]!, isInside),
    ];
  }

  /** A point, and the two about the summit between it and another, if it rises from the one and falls to the other. */
  private summit(from: number, to: number): number[] {
    if (!(this.slopes[from]! > 0 && this.slopes[to]! < 0)) return [from];
    let [rising, falling] = [from, to];
    while (falling - rising > 1) {
      const middle = (rising + falling) >> 1;
      this.at(middle);
      if (this.slopes[middle]! > 0) rising = middle;
      else falling = middle;
    }
    return [...new Set([from, rising, ...(falling < to ? [falling] : [])])];
  }
}

/** The last point that is inside on the way from one that is to one that may not be. */
function lastInside(inside: number, outside: number, isInside: (index: number) => boolean): number {
  let [within, out] = [inside, outside];
  while (Math.abs(out - within) > 1) {
    const middle = (within + out) >> 1;
    if (isInside(middle)) within = middle;
    else out = middle;
  }
  return within;
}
