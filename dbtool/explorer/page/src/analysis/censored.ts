/** Regression of values that are known to lie in an interval: `dbtool.analysis.censored`. */

import { scaledErfc } from "./distributions";

const ITERATIONS = 60;
const HALVINGS = 12;
const CONVERGED = 1e-9;
const LOG_ROOT_2_PI = 0.5 * Math.log(2 * Math.PI);
const INVERSE_ROOT_2_PI = 1 / Math.sqrt(2 * Math.PI);
// Keeps the Newton steps of a flat likelihood, as of one observation, finite.
const RIDGE = 1e-9;
/** A step that promises less than this share of the likelihood is taken without looking what it brought. */
const NEGLIGIBLE = 1e-12;
/** Stands for the logarithm of no chance at all. */
const IMPOSSIBLE = -1e300;

/**
 * `fit_intervals`: value = offset + coefficient + scale * normal noise, one fit after another to the same observations.
 *
 * The likelihood is that of Tobin's regression, in the parameters 1/scale and coefficient/scale, in which it is concave
 * (Olsen 1978, Econometrica 46). Start, steps and end of Newton's method are the Python's, since some likelihoods have
 * no maximum or are flat about it: then the numbers are those at which it stops.
 */
export class IntervalFits {
  /** Of the latest fit. */
  logLikelihood = NaN;
  coefficient = NaN;
  scale = NaN;

  private readonly count: number;
  private readonly points: number;
  private readonly low: Float64Array;
  private readonly high: Float64Array;
  // At the parameters looked at last: the value, and what it has for first and second derivatives.
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
    this.low = new Float64Array(this.count);
    this.high = new Float64Array(this.count);
  }

  /** Fits with an offset for each observation. */
  fit(offsets: Float64Array): void {
    const { count, low, high, lower, upper, at } = this;
    for (let index = 0; index < count; index++) {
      low[index] = lower[index]! - offsets[index]!;
      high[index] = upper[index]! - offsets[index]!;
    }
    const most = 1 / this.leastScale;
    let [inverse, shift] = this.start();
    if (!Number.isFinite(inverse) || !Number.isFinite(shift)) {
      // An observation that nothing is known of, or one of 0: the Python's numbers are none either.
      this.logLikelihood = IMPOSSIBLE * count;
      this.coefficient = this.scale = NaN;
      return;
    }
    this.look(inverse, shift);
    let value = at[0]!;
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      const held = inverse >= most && at[1]! > 0;
      const slope = held ? 0 : at[1]!;
      const cross = held ? 0 : -at[4]!;
      let first = held ? 1 : -at[3]!;
      let second = -at[5]!;
      first += RIDGE * (1 + first);
      second += RIDGE * (1 + second);
      const determinant = first * second - cross * cross;
      const alongInverse = (slope * second - cross * at[2]!) / determinant;
      const alongShift = (first * at[2]! - slope * cross) / determinant;
      const promised = (slope * alongInverse + at[2]! * alongShift) / 2;
      const goal = inverse + alongInverse;
      if (promised <= NEGLIGIBLE * Math.abs(value) && goal <= most && goal >= inverse / 10) {
        inverse = goal;
        shift += alongShift;
        value += promised;
        break;
      }
      const before = value;
      let length = 1;
      for (let halving = 0; halving < HALVINGS; halving++) {
        const tried = Math.min(Math.max(inverse + length * alongInverse, inverse / 10), most);
        this.look(tried, shift + length * alongShift);
        if (at[0]! >= value) {
          inverse = tried;
          shift += length * alongShift;
          value = at[0]!;
          break;
        }
        length /= 2;
      }
      if (!(value - before > CONVERGED)) break;
    }
    this.logLikelihood = value;
    this.scale = 1 / inverse;
    this.coefficient = shift / inverse;
  }

  /** Least squares through the middles of the intervals. */
  private start(): [inverse: number, shift: number] {
    const { count, low, high } = this;
    let sum = 0;
    for (let index = 0; index < count; index++) sum += middle(low[index]!, high[index]!);
    const coefficient = sum / (count + RIDGE);
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
