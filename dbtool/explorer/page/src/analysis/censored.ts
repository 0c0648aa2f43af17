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
// Steps that promise less than this share of the likelihood are taken without looking what they brought: what they bring
// differs from it by the square root of it, as a share.
const NEGLIGIBLE = 1e-12;
/** Stands for the logarithm of no chance at all. */
const IMPOSSIBLE = -1e300;

/** Observations, each known to lie between two ends after its offset is taken away. */
export interface Intervals {
  /** The least that each value may be; -Infinity where that is not known. */
  readonly lower: readonly number[];
  /** The most; equal to lower where the value itself is known, Infinity where there is no bound. */
  readonly upper: readonly number[];
  /** The least standard deviation, more than 0. */
  readonly leastScale: number;
  /** What each value counts, as the inverse of its standard deviation in units of the least one; without them 1. */
  readonly weights?: readonly number[];
}

/**
 * `fit_intervals`: value = offset + coefficient + scale * normal noise.
 *
 * The likelihood is that of Tobin's regression, in the parameters 1/scale and coefficient/scale, in which it is concave
 * (Olsen 1978, Econometrica 46). Start, steps and end of Newton's method are the Python's, since some likelihoods have
 * no maximum or are flat about it: then the numbers are those at which it stops.
 */
export function fitIntervals({ lower, upper, leastScale, weights = lower.map(() => 1) }: Intervals, offset: (index: number) => number): { likelihood: number; coefficient: number } {
  const low: number[] = [];
  const high: number[] = [];
  for (let index = 0; index < lower.length; index++) {
    const of = offset(index);
    low.push((lower[index]! - of) * weights[index]!);
    high.push((upper[index]! - of) * weights[index]!);
  }
  const most = 1 / leastScale;
  let [inverse, shift] = startOf(low, high, weights, leastScale);
  // An observation that nothing is known of, or one of 0: the Python's numbers are none either.
  if (!Number.isFinite(inverse) || !Number.isFinite(shift)) return { likelihood: IMPOSSIBLE * low.length, coefficient: NaN };
  let at = likelihoodAt(low, high, weights, inverse, shift);
  let { value } = at;
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const second = -at.h11 + RIDGE * (1 - at.h11);
    const first = -at.h00 + RIDGE * (1 - at.h00);
    const determinant = first * second - at.h01 * at.h01;
    let alongInverse = (at.d0 * second + at.h01 * at.d1) / determinant;
    let alongShift = (first * at.d1 + at.d0 * at.h01) / determinant;
    if (inverse === most && alongInverse > 0) {
      alongInverse = 0;
      alongShift = at.d1 / second;
    }
    const promised = (at.d0 * alongInverse + at.d1 * alongShift) / 2;
    const room = alongInverse > 0 ? (most - inverse) / alongInverse : (0.9 * inverse) / -alongInverse;
    const isWhole = alongInverse === 0 || room >= 1;
    if (promised <= NEGLIGIBLE * Math.abs(value) && isWhole) {
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
      at = likelihoodAt(low, high, weights, tried, shift + length * alongShift);
      if (at.value >= value) {
        inverse = tried;
        shift += length * alongShift;
        value = at.value;
        break;
      }
      length /= 2;
    }
    // A step that came to the most was cut, so that little gained says nothing.
    if (!(value - before > CONVERGED) && !(wasBelow && inverse === most)) break;
  }
  return { likelihood: value, coefficient: shift / inverse };
}

/** Least squares through the middles of the intervals. */
function startOf(
  low: readonly number[],
  high: readonly number[],
  weights: readonly number[],
  leastScale: number,
): [inverse: number, shift: number] {
  // Of an interval without one end, the other end.
  const middles = low.map((from, index) => ((from === -Infinity ? high[index]! : from) + (high[index] === Infinity ? from : high[index]!)) / 2);
  const gram = weights.reduce((sum, each) => sum + each * each, RIDGE);
  const coefficient = middles.reduce((sum, each, index) => sum + each * weights[index]!, 0) / gram;
  const squares = middles.reduce((sum, each, index) => sum + (each - coefficient * weights[index]!) ** 2, 0);
  const scale = Math.max(Math.sqrt(squares / low.length), 2 * leastScale);
  return [1 / scale, coefficient / scale];
}

/** The log likelihood with its first and second derivatives. */
function likelihoodAt(low: readonly number[], high: readonly number[], weights: readonly number[], inverse: number, shift: number) {
  let [value, d0, d1, h00, h01, h11] = [0, 0, 0, 0, 0, 0];
  for (let index = 0; index < low.length; index++) {
    const lower = low[index]!;
    const upper = high[index]!;
    const weight = weights[index]!;
    const a = lower * inverse - weight * shift;
    if (lower === upper) {
      value += Math.log(inverse) - LOG_ROOT_2_PI - (a * a) / 2;
      d0 += 1 / inverse - a * lower;
      d1 += a * weight;
      h00 -= 1 / (inverse * inverse) + lower * lower;
      h01 += lower * weight;
      h11 -= weight * weight;
      continue;
    }
    const b = upper * inverse - weight * shift;
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
    // The density at an end that is infinite is 0, and so is what it brings.
    const from = a === -Infinity ? 0 : lower;
    const to = b === Infinity ? 0 : upper;
    const hHigh = -inHigh * (b === Infinity ? 0 : b + inHigh);
    const hLow = inLow * (a === -Infinity ? 0 : a - inLow);
    const hBoth = inHigh * inLow;
    d0 += inHigh * to - inLow * from;
    d1 += (inLow - inHigh) * weight;
    h00 += hHigh * to * to + hLow * from * from + 2 * hBoth * to * from;
    h01 -= (hHigh * to + hLow * from + hBoth * (to + from)) * weight;
    h11 += (hHigh + hLow + 2 * hBoth) * weight * weight;
  }
  // Halved steps do not end where nothing is possible.
  return { value: Number.isFinite(value) ? value : -Infinity, d0, d1, h00, h01, h11 };
}
