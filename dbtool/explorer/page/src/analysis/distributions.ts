/** Chances and quantiles for which the Python has SciPy. */

/**
 * exp(t^2) erfc(t) of a number that is not negative, to about 1e-16 of itself: the rational functions of
 * W. J. Cody, Mathematics of Computation 23 (1969).
 */
export function scaledErfc(t: number): number {
  if (t <= 0.46875) return Math.exp(t * t) * (1 - t * ratio(NEAR, t * t));
  if (t <= 4) return ratio(MIDDLE, t);
  const s = 1 / (t * t);
  return (0.564189583547756287 - s * ratio(FAR, s)) / t;
}

type Ratio = readonly [above: readonly number[], below: readonly number[]];

// Coefficients, of the highest power first.
const NEAR: Ratio = [
  [0.185777706184603153, 3.1611237438705656, 113.864154151050156, 377.485237685302021, 3209.37758913846947],
  [1, 23.6012909523441209, 244.024637934444173, 1282.61652607737228, 2844.23683343917062],
];
const MIDDLE: Ratio = [
  [
    2.15311535474403846e-8, 0.564188496988670089, 8.88314979438837594, 66.1191906371416295, 298.635138197400131,
    881.95222124176909, 1712.04761263407058, 2051.07837782607147, 1230.33935479799725,
  ],
  [
    1, 15.7449261107098347, 117.693950891312499, 537.181101862009858, 1621.38957456669019, 3290.79923573345963,
    4362.61909014324716, 3439.36767414372164, 1230.33935480374942,
  ],
];
const FAR: Ratio = [
  [0.0163153871373020978, 0.305326634961232344, 0.360344899949804439, 0.125781726111229246, 0.0160837851487422766, 6.58749161529837803e-4],
  [1, 2.56852019228982242, 1.87295284992346047, 0.527905102951428412, 0.0605183413124413191, 2.33520497626869185e-3],
];

/** A polynomial divided by another of the same degree. */
function ratio([above, below]: Ratio, at: number): number {
  let [top, bottom] = [0, 0];
  for (let power = 0; power < above.length; power++) {
    top = top * at + above[power]!;
    bottom = bottom * at + below[power]!;
  }
  return top / bottom;
}

/** `scipy.special.bdtr`: the chances that at most 0, 1, … trials succeed, from the logarithm of the chance that one fails. */
export function binomialChances(trials: number, failure: number): Float64Array {
  const odds = Math.log(-Math.expm1(failure)) - failure;
  const chances = new Float64Array(trials + 1);
  let exactly = trials * failure;
  let total = 0;
  for (let count = 0; count <= trials; count++) {
    total += Math.exp(exactly);
    chances[count] = total;
    exactly += Math.log((trials - count) / (count + 1)) + odds;
  }
  return chances;
}

/**
 * The quantile of the F distribution with 1 and some degrees of freedom: `scipy.special.fdtri`.
 *
 * It is the square of a quantile of Student's t, which is within sqrt(freedom) tan(angle) of 0 with a chance in proportion to
 * the integral of cos^(freedom - 1) up to the angle. That rises ever more slowly, so that Newton's method comes from below.
 */
export function quantileOfF(freedom: number, level: number): number {
  const density = (angle: number) => Math.cos(angle) ** (freedom - 1);
  const wanted = level * integral(density, Math.PI / 2);
  let angle = 0;
  for (let iteration = 0; iteration < 200; iteration++) {
    const next = angle + (wanted - integral(density, angle)) / density(angle);
    if (!(next > angle)) break;
    angle = next;
  }
  return freedom * Math.tan(angle) ** 2;
}

/** From 0 to an end, by Simpson's rule. */
function integral(of: (at: number) => number, end: number): number {
  const parts = 256;
  let sum = of(0) + of(end);
  for (let part = 1; part < parts; part++) sum += (part % 2 ? 4 : 2) * of((part * end) / parts);
  return (sum * end) / (3 * parts);
}
