/**
 * Profile likelihoods over a grid: `closed_interval`, `top` and `peak` of `dbtool.analysis.critical`.
 *
 * The Python fits every point of its grids. Here those of a coarse selection are fitted, and then the points between
 * them where the highest one lies or a floor is crossed: the same points, for profiles that between two neighbours of
 * the selection neither rise and fall nor fall and rise, but for the summit.
 */

/** Log likelihoods as near to each other are the same: fits end a little earlier or later. */
export const MISSED = 1e-6;

/** The log likelihoods of a grid's points, each fitted when it is asked for. */
export class Profile {
  /** The highest log likelihood. */
  readonly most: number;
  /** `top`: the first and the last of the points of the highest log likelihood, but for what fits may miss. */
  readonly top: readonly [first: number, last: number];
  private readonly known: Float64Array;
  private readonly highest: number;

  /**
   * @param grid evenly spaced.
   * @param coarse points that are fitted in any case, rising, with the first and the last one.
   * @param fitted the log likelihood of a point.
   */
  constructor(
    readonly grid: Float64Array,
    private readonly coarse: readonly number[],
    private readonly fitted: (index: number) => number,
  ) {
    this.known = new Float64Array(grid.length).fill(NaN);
    this.highest = this.summit();
    this.most = this.at(this.highest);
    this.top = this.above(this.most - MISSED);
  }

  /** The log likelihood of a point. */
  at(index: number): number {
    const known = this.known[index]!;
    if (known === known) return known;
    return (this.known[index] = this.fitted(index));
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
    const [left, middle, right] = [this.at(first - 1), this.at(first), this.at(first + 1)];
    const bend = left - 2 * middle + right;
    const shift = bend < 0 ? (left - right) / (2 * bend) : 0;
    return grid[first]! + shift * (grid[1]! - grid[0]!);
  }

  /** The first and the last of the points that are not below a floor, the highest being one. */
  private above(floor: number): [first: number, last: number] {
    const { coarse, highest } = this;
    const isInside = (index: number): boolean => this.at(index) >= floor;
    const first = Math.min(coarse.find(isInside) ?? highest, highest);
    const last = Math.max(coarse.findLast(isInside) ?? highest, highest);
    const before = coarse.findLast((index) => index < first);
    const beyond = coarse.find((index) => index > last);
    return [
      before === undefined ? first : lastInside(first, before, isInside),
      beyond === undefined ? last : lastInside(last, beyond, isInside),
    ];
  }

  /** The highest point; a summit between points of the selection is higher than they are, though not by much. */
  private summit(): number {
    const { coarse } = this;
    const values = coarse.map((index) => this.at(index));
    const most = Math.max(...values);
    let highest = coarse[values.indexOf(most)]!;
    for (let place = 0; place < coarse.length; place++) {
      const value = values[place]!;
      if (value < most - 1 || value < (values[place - 1] ?? value) || value < (values[place + 1] ?? value)) continue;
      const found = this.climb(coarse[place]!, coarse[place - 1] ?? 0, coarse[place + 1] ?? this.grid.length - 1);
      if (this.at(found) > this.at(highest)) highest = found;
    }
    return highest;
  }

  /** The highest point between two others, from one between them that is as high as either. */
  private climb(from: number, low: number, high: number): number {
    let highest = from;
    while (highest - low > 1 || high - highest > 1) {
      const left = (low + highest) >> 1;
      const right = (highest + high + 1) >> 1;
      if (left > low && this.at(left) > this.at(highest)) {
        high = highest;
        highest = left;
      } else if (right < high && this.at(right) > this.at(highest)) {
        low = highest;
        highest = right;
      } else {
        low = left;
        high = right;
      }
    }
    return highest;
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

/** Every so many-th point of a grid, and the last one. */
export function every(step: number, length: number): number[] {
  const points = [];
  for (let index = 0; index < length - 1; index += step) points.push(index);
  return [...points, length - 1];
}
