/** Profile likelihoods over a grid: `closed_interval`, `top` and `peak` of `dbtool.analysis.critical`. */

/** Log likelihoods as near to each other are the same: fits end a little earlier or later. */
export const MISSED = 1e-6;

/** The log likelihoods of a grid's points. */
export class Profile {
  /** The highest log likelihood. */
  readonly most: number;
  /** `top`: the first and the last of the points of the highest log likelihood, but for what fits may miss. */
  readonly top: readonly [first: number, last: number];
  private readonly values: Float64Array;

  /**
   * @param grid evenly spaced.
   * @param fitted the log likelihood of a point; whether its fit may go on from the latest.
   */
  constructor(
    readonly grid: Float64Array,
    private readonly fitted: (index: number, goesOn: boolean) => number,
  ) {
    this.values = grid.map((_, index) => fitted(index, true));
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
    const [left, middle, right] = [first - 1, first, first + 1].map((index) => this.fitted(index, false));
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
