/** Regression of values that are known to lie in an interval: `dbtool.analysis.censored`. */

import { scaledErfc } from "./distributions";

const ITERATIONS = 60;
const HALVINGS = 12;
const CONVERGED = 1e-9;
const ROUNDING = 1e-12;
const LOG_ROOT_2_PI = 0.5 * Math.log(2 * Math.PI);
const INVERSE_ROOT_2_PI = 1 / Math.sqrt(2 * Math.PI);
// Keeps the Newton steps of a flat likelihood, as of one observation, finite.
const RIDGE = 1e-9;
// Steps that promise less than this share of the likelihood, or so much where a fit goes on from another, are taken
// without looking what they brought: what they bring differs from it by the square root of it, as a share.
const NEGLIGIBLE = 1e-12;
const NEGLIGIBLE_NEARBY = 1e-8;
/** Stands for the logarithm of no chance at all. */
const IMPOSSIBLE = -1e300;

/**
 * `fit_intervals`: value = offset + coefficient + scale * normal noise, one fit after another to the same observations.
 *
 * The likelihood is that of Tobin's regression, in the parameters 1/scale and coefficient/scale, in which it is concave
 * (Olsen 1978, Econometrica 46). Start, steps and end of Newton's method are the Python's, since some likelihoods have
 * no maximum or are flat about it: then the numbers are those at which it stops. Where there is one maximum that both
 * come to, a fit may go on from the one before.
 */
export class IntervalFits {
  /** Of the next fit: the offset of each observation. */
  readonly offsets: Float64Array;
  /** Of the latest fit. */
  coefficient = NaN;

  private readonly count: number;
  private readonly points: number;
  /** Whether an interval has two ends, without which a coefficient may be likelier the larger it is. */
  private readonly isBounded: boolean;
  // Where the latest fit ended: 1/scale, and the coefficient beyond the mean of the middles.
  private inverse = NaN;
  private beyond = NaN;
  private readonly low: Float64Array;
  private readonly high: Float64Array;
  // At the parameters looked at last: the value, and its first and second derivatives.
  private readonly at = new Float64Array(6);

  /**
   * @param lower the least that each value may be; -Infinity where that is not known.
   * @param upper the most; equal to lower where the value itself is known, Infinity where there is no bound.
   * @param leastScale the least standard deviation, more than 0.
   */
  constructor(
    private readonly lower: Float64Array,
    private readonly upper: Float64Array,
    private readonly leastScale: number,
  ) {
    this.count = lower.length;
    this.points = lower.filter((each, index) => each === upper[index]).length;
    this.isBounded = lower.some((each, index) => Number.isFinite(each) && Number.isFinite(upper[index]));
    this.offsets = new Float64Array(this.count);
    this.low = new Float64Array(this.count);
    this.high = new Float64Array(this.count);
  }

  /**
   * Fits with the present offsets.
   *
   * @param goesOn whether it may start where the latest fit ended, if it must end at the same.
   * @returns the log likelihood.
   */
  fit(goesOn: boolean): number {
    const { count, low, high, lower, upper, at, offsets } = this;
    let sum = 0;
    for (let index = 0; index < count; index++) {
      low[index] = lower[index]! - offsets[index]!;
      high[index] = upper[index]! - offsets[index]!;
      sum += middle(low[index]!, high[index]!);
    }
    const most = 1 / this.leastScale;
    const isNearby = goesOn && this.isBounded && Number.isFinite(this.inverse);
    let [inverse, shift] = isNearby
      ? [this.inverse, (sum / count + this.beyond) * this.inverse]
      : this.start(sum / (count + RIDGE));
    if (!Number.isFinite(inverse) || !Number.isFinite(shift)) {
      // An observation that nothing is known of, or one of 0: the Python's numbers are none either.
      this.coefficient = NaN;
      return IMPOSSIBLE * count;
    }
    this.look(inverse, shift);
    let value = at[0]!;
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      const second = -at[5]! + RIDGE * (1 - at[5]!);
      const first = -at[3]! + RIDGE * (1 - at[3]!);
      const determinant = first * second - at[4]! * at[4]!;
      let alongInverse = (at[1]! * second + at[4]! * at[2]!) / determinant;
      let alongShift = (first * at[2]! + at[1]! * at[4]!) / determinant;
      if (inverse === most && alongInverse > 0) {
        alongInverse = 0;
        alongShift = at[2]! / second;
      }
      const promised = (at[1]! * alongInverse + at[2]! * alongShift) / 2;
      const room = alongInverse > 0 ? (most - inverse) / alongInverse : (0.9 * inverse) / -alongInverse;
      const isWhole = alongInverse === 0 || room >= 1;
      if (promised <= (isNearby ? NEGLIGIBLE_NEARBY : NEGLIGIBLE * Math.abs(value)) && isWhole) {
        inverse += alongInverse;
        shift += alongShift;
        value += promised;
        break;
      }
      const before = value;
      const wasBelow = inverse < most;
      let length = isWhole ? 1 : room;
      for (let halving = 0; halving < HALVINGS; halving++) {
        let tried = inverse + length * alongInverse;
        if (tried > most * (1 - ROUNDING)) tried = most;
        this.look(tried, shift + length * alongShift);
        if (at[0]! >= value) {
          inverse = tried;
          shift += length * alongShift;
          value = at[0]!;
          break;
        }
        length /= 2;
      }
      // A step that came to the most was cut, so that little gained says nothing.
      if (!(value - before > CONVERGED) && !(wasBelow && inverse === most)) break;
    }
    this.coefficient = shift / inverse;
    this.inverse = inverse;
    this.beyond = this.coefficient - sum / count;
    return value;
  }

  /** Least squares through the middles of the intervals, from a coefficient. */
  private start(coefficient: number): [inverse: number, shift: number] {
    const { count, low, high } = this;
    let squares = 0;
    for (let index = 0; index < count; index++) squares += (middle(low[index]!, high[index]!) - coefficient) ** 2;
    const scale = Math.max(Math.sqrt(squares / count), 2 * this.leastScale);
    return [1 / scale, coefficient / scale];
  }

  /** Sets the value and its derivatives at some parameters. */
  private look(inverse: number, shift: number): void {
    const { count, points, low, high, at } = this;
    let value = points * (Math.log(inverse) - LOG_ROOT_2_PI);
    let [d0, d1, h00, h01, h11] = [0, 0, 0, 0, 0];
    for (let index = 0; index < count; index++) {
      const lower = low[index]!;
      const upper = high[index]!;
      const a = lower * inverse - shift;
      if (lower === upper) {
        value -= (a * a) / 2;
        d0 -= a * lower;
        d1 += a;
        h00 -= lower * lower;
        h01 += lower;
        h11 -= 1;
        continue;
      }
      const b = upper * inverse - shift;
      if (a === -Infinity || b === Infinity) {
        // One bound: the chance to be below a score.
        const bound = b === Infinity ? lower : upper;
        const sign = b === Infinity ? -1 : 1;
        const score = b === Infinity ? -a : b;
        const t = Math.abs(score) * Math.SQRT1_2;
        const scaled = scaledErfc(t) / 2;
        let ratio: number;
        if (score < 0) {
          value += Math.log(scaled) - t * t;
          ratio = INVERSE_ROOT_2_PI / scaled;
        } else {
          const density = Math.exp(-t * t);
          value += Math.log1p(-density * scaled);
          ratio = (INVERSE_ROOT_2_PI * density) / (1 - density * scaled);
        }
        const g = sign * ratio;
        const h = -ratio * (score + ratio);
        d0 += g * bound;
        d1 -= g;
        h00 += h * bound * bound;
        h01 -= h * bound;
        h11 += h;
        continue;
      }
      let inLow: number;
      let inHigh: number;
      const s = Math.abs(a) * Math.SQRT1_2;
      const t = Math.abs(b) * Math.SQRT1_2;
      if (a < 0 && b > 0) {
        const densityLow = Math.exp(-s * s);
        const densityHigh = Math.exp(-t * t);
        const outside = (densityLow * scaledErfc(s) + densityHigh * scaledErfc(t)) / 2;
        value += Math.log1p(-outside);
        inLow = (INVERSE_ROOT_2_PI * densityLow) / (1 - outside);
        inHigh = (INVERSE_ROOT_2_PI * densityHigh) / (1 - outside);
      } else {
        // On one side of 0 the nearer bound's density is taken out, which may be too small a number.
        const near = Math.min(s, t);
        const far = Math.max(s, t);
        const share = Math.exp((near - far) * (near + far));
        const inside = (scaledErfc(near) - share * scaledErfc(far)) / 2;
        value += Math.log(inside) - near * near;
        inLow = (INVERSE_ROOT_2_PI * (s <= t ? 1 : share)) / inside;
        inHigh = (INVERSE_ROOT_2_PI * (s <= t ? share : 1)) / inside;
      }
      const hHigh = -inHigh * (b + inHigh);
      const hLow = inLow * (a - inLow);
      const hBoth = inHigh * inLow;
      d0 += inHigh * upper - inLow * lower;
      d1 += inLow - inHigh;
      h00 += hHigh * upper * upper + hLow * lower * lower + 2 * hBoth * upper * lower;
      h01 -= hHigh * upper + hLow * lower + hBoth * (upper + lower);
      h11 += hHigh + hLow + 2 * hBoth;
    }
    // Halved steps do not end where nothing is possible.
    at[0] = Number.isFinite(value) ? value : -Infinity;
    at[1] = d0 + points / inverse;
    at[2] = d1;
    at[3] = h00 - points / (inverse * inverse);
    at[4] = h01;
    at[5] = h11;
  }
}

/** Of an interval without one end, the other end. */
function middle(low: number, high: number): number {
  return ((low === -Infinity ? high : low) + (high === Infinity ? low : high)) / 2;
}
