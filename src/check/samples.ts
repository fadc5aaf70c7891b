/**
 * Verdicts on means over draws.
 *
 * A check raises a false alarm with a probability of about {@link FALSE_ALARMS} at most: z is that of Bonferroni for as many
 * comparisons as it makes, and for what skewness may add. A verdict takes as many draws as keep that addition within its
 * limit by the skewness of the estimates ({@link perSkewness}; tails that no draw has reached are not known of), and as bring
 * z standard errors to a tenth of the truth (a variance: a quarter); else the check says how many draws it needs.
 */
import {bonferroniZ} from '../stats/index.js'
import type {Finding} from './types.js'

/** Of one check, all its comparisons together. */
const FALSE_ALARMS = 1e-4
/** z standard errors may be this part of the truth, unless said otherwise. */
const RESOLUTION = 0.1
/** What skewness may add to the logarithm of the probability of one tail, and takes from that of the other. */
const TAIL_EXCESS = 1
/** Times as many alarms as without skewness, of both tails together. */
const SKEWED_ALARMS = Math.cosh(TAIL_EXCESS)
/** Standard errors beyond z at which 999 of 1000 biases are found. */
const POWER = 3.09

/** Estimates of one number, one per draw. */
export interface Sample {
  label: string
  values: Float64Array
  /** What their mean should be. */
  truth: number
  /** The size in units of which a bias counts; 0: estimates may be off by the slack alone. */
  scale: number
  /** What rounding may add. */
  slack: number
}

interface Judged extends Sample {
  mean: number
  standardError: number
  /** Draws that a verdict takes. */
  needs: number
}

/** What samples are of. */
interface Question {
  /** In words, e.g. "the mean of phi(x).phi(y)". */
  what: string
  /** Of a failure: where to look. */
  advice: string
  draws: number
  /** Default: a tenth. */
  resolution?: number
}

/** Whether all means are what they should be, or how many draws it takes to tell. */
export function verdict(
  samples: readonly Sample[],
  {what, advice, draws, resolution = RESOLUTION}: Question,
): Finding {
  const z = bonferroniZ(samples.length, FALSE_ALARMS / SKEWED_ALARMS)
  const judged = samples.map(sample => judge(sample, z, resolution))
  const allowed = ({standardError, slack}: Judged) => z * standardError + slack
  const off = (one: Judged) => Math.abs(one.mean - one.truth)
  const worst = judged.reduce((a, b) => (off(b) / allowed(b) > off(a) / allowed(a) ? b : a))
  const tried = samples.map(({label}) => `${label}, ${draws} draws`)
  const figures = {measured: off(worst), bound: allowed(worst)}
  const needs = Math.max(...judged.map(one => one.needs))
  if (!(needs <= draws)) {
    const wanted = Number.isFinite(needs) ? `needs about ${needs}` : 'estimates are not finite'
    return {
      status: 'not measurable',
      tried,
      finding: `not measurable at ${draws} draws, ${wanted} (--draws)`,
    }
  }
  if (off(worst) > allowed(worst)) {
    const distance = (off(worst) / worst.standardError).toFixed(1)
    const beyond =
      worst.standardError > 0 ? `${distance} standard errors, ${z.toFixed(1)} allowed` : 'exactly'
    const finding = `${worst.label}: ${what} is ${worst.mean.toPrecision(4)}, expected ${worst.truth.toPrecision(4)} (${beyond})`
    return {status: 'failed', tried, ...figures, finding, advice}
  }
  const found = Math.max(
    ...judged.map(({standardError, scale}) =>
      standardError === 0 ? 0 : ((z + POWER) * standardError) / Math.abs(scale),
    ),
  )
  return {
    status: 'passed',
    tried,
    ...figures,
    finding: found > 0 ? `finds a bias of ${(100 * found).toPrecision(2)}%` : 'to rounding',
  }
}

/**
 * Draws for each unit of squared skewness g: from `P(T < -z) = Phi(-z) + g (2 z^2 + 1) phi(z) / (6 sqrt(n)) + O(1/n)` for a
 * studentised mean (Hall 1992, The Bootstrap and Edgeworth Expansion, section 2.6), with `phi(z) <= z (1 + z^-2) Phi(-z)`.
 */
function perSkewness(z: number): number {
  return (((2 * z ** 2 + 1) * (z + 1 / z)) / (6 * TAIL_EXCESS)) ** 2
}

function judge(sample: Sample, z: number, resolution: number): Judged {
  const {values, scale, slack} = sample
  const n = values.length
  const mean = values.reduce((sum, x) => sum + x, 0) / n
  if (scale === 0 && Number.isFinite(mean)) return {...sample, mean, standardError: 0, needs: 0}
  const moment = (power: number) => values.reduce((sum, x) => sum + (x - mean) ** power, 0) / n
  const variance = moment(2)
  const standardError = Math.sqrt(variance / (n - 1))
  // what does not vary has no skewness
  const skewness = standardError * n <= slack ? 0 : moment(3) / variance ** 1.5
  const ratio = (z * standardError) / (resolution * Math.abs(scale))
  const needs = Math.ceil(Math.max(n * ratio ** 2, perSkewness(z) * skewness ** 2))
  return {...sample, mean, standardError, needs: ratio === 0 ? 0 : needs}
}
