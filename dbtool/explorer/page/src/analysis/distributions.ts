/** Chances and quantiles for which the Python has SciPy. */

/**
 * exp(t^2) erfc(t) of a number that is not negative, to about 1e-16 of itself: the rational functions of
 * W. J. Cody, Mathematics of Computation 23 (1969).
 */
export function scaledErfc(t: number): number {
  if (t <= 0.46875) {
    const s = t * t;
    const above =
      (((0.185777706184603153 * s + 3.1611237438705656) * s + 113.864154151050156) * s + 377.485237685302021) * s +
      3209.37758913846947;
    const below =
      (((s + 23.6012909523441209) * s + 244.024637934444173) * s + 1282.61652607737228) * s + 2844.23683343917062;
    return Math.exp(s) * (1 - (t * above) / below);
  }
  if (t <= 4) {
    const above =
      (((((((2.15311535474403846e-8 * t + 0.564188496988670089) * t + 8.88314979438837594) * t + 66.1191906371416295) *
        t +
        298.635138197400131) *
        t +
        881.95222124176909) *
        t +
        1712.04761263407058) *
        t +
        2051.07837782607147) *
        t +
      1230.33935479799725;
    const below =
      (((((((t + 15.7449261107098347) * t + 117.693950891312499) * t + 537.181101862009858) * t +
        1621.38957456669019) *
        t +
        3290.79923573345963) *
        t +
        4362.61909014324716) *
        t +
        3439.36767414372164) *
        t +
      1230.33935480374942;
    return above / below;
  }
  const s = 1 / (t * t);
  const above =
    ((((0.0163153871373020978 * s + 0.305326634961232344) * s + 0.360344899949804439) * s + 0.125781726111229246) * s +
      0.0160837851487422766) *
      s +
    6.58749161529837803e-4;
  const below =
    ((((s + 2.56852019228982242) * s + 1.87295284992346047) * s + 0.527905102951428412) * s + 0.0605183413124413191) *
      s +
    2.33520497626869185e-3;
  return (0.564189583547756287 - (s * above) / below) / t;
}

/**
 * The chances that at most 0, 1, … of so many independent trials succeed: `scipy.special.bdtr`.
 *
 * @param trials how many.
 * @param failure the logarithm of the chance that one does not succeed.
 */
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
 * It is the square of a quantile of Student's t, whose chances are finite sums in the angle atan(t / sqrt(freedom))
 * (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). They rise ever more slowly, so that Newton's method comes from below.
 */
export function quantileOfF(freedom: number, level: number): number {
  let angle = 0;
  for (let iteration = 0; iteration < 200; iteration++) {
    const [chance, density] = chanceWithin(angle, freedom);
    const next = angle + (level - chance) / density;
    if (!(next > angle)) break;
    angle = next;
  }
  return freedom * Math.tan(angle) ** 2;
}

/** The chance that Student's t is not further from 0 than an angle tells, and its derivative. */
function chanceWithin(angle: number, freedom: number): [number, number] {
  const sine = Math.sin(angle);
  const cosine = Math.cos(angle);
  const odd = freedom % 2;
  let term = odd ? cosine : 1;
  let sum = 0;
  let density = odd ? 2 / Math.PI : 1;
  for (let power = odd; power <= freedom - 2; power += 2) {
    sum += term;
    density *= (power + 1) / Math.max(power, 1);
    term *= (cosine * cosine * (power + 1)) / (power + 2);
  }
  const chance = odd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
  return [chance, density * cosine ** (freedom - 1)];
}
