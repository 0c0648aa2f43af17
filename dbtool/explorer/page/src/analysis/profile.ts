/**
 * Profile likelihoods over a grid: `closed_interval` and `peak` of `dbtool.analysis.critical`.
 *
 * The Python fits every point of its grids. Here those of a coarse selection are fitted, and then the points between
 * them where the highest one lies or a floor is crossed: the same points, for profiles that between two neighbours of
 * the selection neither rise and fall nor fall and rise.
 */

import { indexOfLeast } from "./searches";

/** Profiles this flat are decided by where each fit stops, so that every point is looked at. */
const FLAT = 1e-7;

/** The log likelihoods of a grid's points, each fitted when it is asked for. */
export class Profile {
  /** The first of the points that are highest, but for ties and flat tops; see `first`. */
  readonly highest: number;
  private readonly known: Float64Array;

  /**
   * @param length of the grid.
   * @param coarse points that are fitted in any case, rising, with the first and the last one.
   * @param fitted the log likelihood of a point.
   */
  constructor(
    readonly length: number,
    readonly coarse: readonly number[],
    private readonly fitted: (index: number) => number,
  ) {
    this.known = new Float64Array(length).fill(NaN);
    const values = coarse.map((index) => this.at(index));
    const top = Math.max(...values);
    let highest = coarse[values.indexOf(top)]!;
    for (let place = 0; place < coarse.length; place++) {
      // A summit between points of the selection is higher than they are, though not by much.
      const before = values[place - 1] ?? -Infinity;
      const beyond = values[place + 1] ?? -Infinity;
      const value = values[place]!;
      if (value < before || value < beyond || value < top - 1) continue;
      const summit = this.climb(coarse[place]!, coarse[place - 1] ?? 0, coarse[place + 1] ?? length - 1);
      if (this.at(summit) > this.at(highest)) highest = summit;
    }
    this.highest = highest;
  }

  /** The log likelihood of a point. */
  at(index: number): number {
    const known = this.known[index]!;
    if (known === known) return known;
    return (this.known[index] = this.fitted(index));
  }

  /** The highest log likelihood. */
  get most(): number {
    return this.at(this.highest);
  }

  /** `argmax`: the first of the highest points. */
  get first(): number {
    const { coarse, highest, length } = this;
    const isFlat = coarse.some((index, place) => {
      const isNear = (coarse[place - 1] ?? 0) <= highest && highest <= (coarse[place + 1] ?? length - 1);
      return !isNear && this.at(index) > this.most - FLAT;
    });
    return isFlat ? indexOfLeast(Float64Array.from({ length }, (_, index) => -this.at(index))) : highest;
  }

  /** The summit between two points, from one between them that is as high as either. */
  private climb(from: number, low: number, high: number): number {
    let summit = from;
    while (high - summit > 1 || summit - low > 1) {
      const left = (low + summit) >> 1;
      const right = (summit + high + 1) >> 1;
      if (left > low && this.at(left) >= this.at(summit)) {
        high = summit;
        summit = left;
      } else if (right < high && this.at(right) > this.at(summit)) {
        low = summit;
        summit = right;
      } else {
        low = left;
        high = right;
      }
    }
    return summit;
  }
}

/** `closed_interval`: where a profile lies above a floor; infinite on the side on which it never falls below. */
export function closedInterval(grid: Float64Array, profile: Profile, floor: number): [low: number, high: number] {
  const { coarse } = profile;
  const isInside = (index: number): boolean => profile.at(index) - floor >= 0;
  const crossing = (outside: number | undefined, inside: number): number | undefined => {
    if (outside === undefined || isInside(outside)) return undefined;
    let [out, within] = [outside, inside];
    while (Math.abs(within - out) > 1) {
      const middle = (out + within) >> 1;
      if (isInside(middle)) within = middle;
      else out = middle;
    }
    const above = profile.at(within) - floor;
    const share = above / (above - (profile.at(out) - floor));
    return grid[within]! + share * (grid[out]! - grid[within]!);
  };
  const inside = [...coarse.filter(isInside), profile.highest].sort((a, b) => a - b);
  const first = inside[0]!;
  const last = inside.at(-1)!;
  return [
    crossing(coarse.findLast((index) => index < first), first) ?? -Infinity,
    crossing(coarse.find((index) => index > last), last) ?? Infinity,
  ];
}

/** `peak`: where the parabola through the highest of some values and its neighbours is highest. */
export function peak(grid: Float64Array, profile: Profile): number {
  const middle = profile.first;
  if (middle === 0 || middle === grid.length - 1) return grid[middle]!;
  const [left, top, right] = [profile.at(middle - 1), profile.at(middle), profile.at(middle + 1)];
  const bend = left - 2 * top + right;
  const shift = bend < 0 ? (left - right) / (2 * bend) : 0;
  return grid[middle]! + shift * (grid[1]! - grid[0]!);
}

/** Every so many-th point of a grid, and the last one. */
export function every(step: number, length: number): number[] {
  const points = [];
  for (let index = 0; index < length - 1; index += step) points.push(index);
  return [...points, length - 1];
}
