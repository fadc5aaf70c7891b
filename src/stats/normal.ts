/**
 * Numerator and denominator of a rational approximation, constant term first. Coefficients are the
 * nearest doubles of the published ones.
 */
interface Rational {
  above: readonly number[]
  below: readonly number[]
}

/** |p - 1/2| <= 0.425, in the square of that distance. */
const CENTRE: Rational = {
  above: [
    3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
    45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227,
  ],
  below: [
    1, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597,
    39307.89580009271, 28729.085735721943, 5226.495278852854,
  ],
}

/** sqrt(-log of the tail) up to 5, in that minus 1.6. */
const TAIL: Rational = {
  above: [
    1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
    1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
  ],
  below: [
    1, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008,
    0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-9,
  ],
}

/** Beyond, in sqrt(-log of the tail) minus 5. */
const FAR_TAIL: Rational = {
  above: [
    6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
    0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7,
  ],
  below: [
    1, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133,
    1.8463183175100548e-5, 1.421511758316446e-7, 2.0442631033899397e-15,
  ],
}

/**
 * Quantile of the standard normal distribution, relative accuracy about 1e-16.
 *
 * Near `p = 1` the argument itself has lost its digits: ask for `-normalQuantile(1 - p)` instead.
 *
 * Source: Wichura 1988, algorithm AS 241 (PPND16), Applied Statistics 37, 477-484.
 *
 * @param p - probability below the quantile
 * @returns `-Infinity` at 0, `Infinity` at 1, `NaN` outside [0, 1]
 */
export function normalQuantile(p: number): number {
  const offset = p - 0.5
  if (Math.abs(offset) <= 0.425) return offset * evaluate(CENTRE, 0.180625 - offset * offset)
  const root = Math.sqrt(-Math.log(Math.min(p, 1 - p)))
  if (root === Number.POSITIVE_INFINITY) return Math.sign(offset) * root
  const size = root <= 5 ? evaluate(TAIL, root - 1.6) : evaluate(FAR_TAIL, root - 5)
  return Math.sign(offset) * size
}

/**
 * How many standard errors `checks` two-sided comparisons may deviate so that, all hypotheses being
 * true, any of them raises an alarm with at most the given probability (Bonferroni).
 *
 * @param checks - number of comparisons, at least 1
 * @param falseAlarmRate - for all of them together, e.g. 1e-4
 */
export function bonferroniZ(checks: number, falseAlarmRate: number): number {
  return -normalQuantile(falseAlarmRate / (2 * checks))
}

function evaluate({above, below}: Rational, x: number): number {
  const horner = (coefficients: readonly number[]) =>
    coefficients.reduceRight((sum, coefficient) => sum * x + coefficient, 0)
  return horner(above) / horner(below)
}

/** Half the width of a 95 % interval, in standard errors. */
export const Z95 = normalQuantile(0.975)
