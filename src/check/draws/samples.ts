/**
 * Verdicts on means over draws.
 *
 * A check raises a false alarm with a probability of about {@link FALSE_ALARMS} at most: z is from Bonferroni's
 * bound for its number of comparisons, plus an allowance for skewness. A verdict takes enough draws that the
 * allowance covers the skewness of the estimates ({@link perSkewness}; tails that no draw has reached stay
 * unknown), and that z standard errors are a tenth of the truth (for a variance: a quarter). Otherwise the check
 * says how many draws it needs.
 */
import {bonferroniZ} from '../../stats/index.js'
import type {Finding} from '../types.js'

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
  /** The size that a bias is relative to; 0: estimates may only be off by the slack. */
  scale: number
  /** What rounding may add. */
  slack: number
  /** A verdict takes draws that bring z standard errors to this part of the scale. Default: a tenth. */
  resolution?: number
  /** A bias of this part of the scale is to be found, with the time that there is. Default: what a verdict finds. */
  finds?: number
}

/** A sample with what its draws say. */
export interface Judged extends Sample {
  mean: number
  standardError: number
  /** Draws that a verdict takes. */
  needs: number
  /** Draws with which a bias of {@link Sample.finds} is found in 999 of 1000 runs. */
  wants: number
}

interface Question {
  /** In words, e.g. "the mean of phi(x).phi(y)". */
  what: string
  /** Of a failure: where to look. */
  advice: string
}

/** Whether all means are what they should be, or how many draws it takes to say. */
export function verdict(samples: readonly Sample[], {what, advice}: Question): Finding {
  const z = zOf(samples.length)
  const judged = samples.map(sample => judge(sample, samples.length))
  const tried = samples.map(({label, values}) => `${label}, ${values.length} draws`)
  const allowed = ({standardError, slack}: Judged) => z * standardError + slack
  const off = (one: Judged) => Math.abs(one.mean - one.truth)
  const decided = judged.filter(({needs, values}) => needs <= values.length)
  const [first, ...others] = decided
  if (!first) return undecided(judged, tried)
  const worst = others.reduce((a, b) => (off(b) / allowed(b) > off(a) / allowed(a) ? b : a), first)
  const figures = {measured: off(worst), bound: allowed(worst)}
  if (off(worst) > allowed(worst)) {
    const distance = (off(worst) / worst.standardError).toFixed(1)
    const beyond =
      worst.standardError > 0 ? `${distance} standard errors, ${z.toFixed(1)} allowed` : 'exactly'
    const finding = `${worst.label}: ${what} is ${worst.mean.toPrecision(4)}, expected ${worst.truth.toPrecision(4)} (${beyond})`
    return {status: 'failed', tried, ...figures, finding, advice}
  }
  if (decided.length < judged.length) return {...undecided(judged, tried), ...figures}
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

/** Too few draws for some samples, and how many the worst of them takes. */
function undecided(judged: readonly Judged[], tried: readonly string[]): Finding {
  const open = judged.filter(({needs, values}) => !(needs <= values.length))
  const worst = open.reduce((a, b) =>
    b.needs / b.values.length > a.needs / a.values.length ? b : a,
  )
  const wanted = Number.isFinite(worst.needs)
    ? `${worst.label} needs about ${worst.needs} draws, got ${worst.values.length} (--max-time, --draws)`
    : `estimates are not finite at ${open.find(({needs}) => !Number.isFinite(needs))!.label}`
  const share = open.length < judged.length ? `${open.length} of ${judged.length} open: ` : ''
  return {status: 'not measurable', tried, finding: `${share}${wanted}`}
}

/** Standard errors that a mean may be off, for a number of comparisons. */
function zOf(comparisons: number): number {
  return bonferroniZ(comparisons, FALSE_ALARMS / SKEWED_ALARMS)
}

/**
 * Draws for each unit of squared skewness g: from `P(T < -z) = Phi(-z) + g (2 z^2 + 1) phi(z) / (6 sqrt(n)) + O(1/n)` for a
 * studentised mean (Hall 1992, The Bootstrap and Edgeworth Expansion, section 2.6), with `phi(z) <= z (1 + z^-2) Phi(-z)`.
 */
function perSkewness(z: number): number {
  return (((2 * z ** 2 + 1) * (z + 1 / z)) / (6 * TAIL_EXCESS)) ** 2
}

/** What the draws of a sample say, and how many it takes. @param comparisons - that its check makes */
export function judge(sample: Sample, comparisons: number): Judged {
  const {values, scale, slack, resolution = RESOLUTION, finds = Infinity} = sample
  const z = zOf(comparisons)
  const n = values.length
  const mean = values.reduce((sum, x) => sum + x, 0) / n
  if (scale === 0 && Number.isFinite(mean)) {
    return {...sample, mean, standardError: 0, needs: 0, wants: 0}
  }
  let [second, third] = [0, 0]
  for (const x of values) {
    second += (x - mean) ** 2 / n
    third += (x - mean) ** 3 / n
  }
  const standardError = Math.sqrt(second / (n - 1))
  // what does not vary has no skewness
  const skewness = standardError * n <= slack ? 0 : third / second ** 1.5
  const relative = standardError / Math.abs(scale)
  if (relative === 0) return {...sample, mean, standardError, needs: 0, wants: 0}
  const spread = n * ((z * relative) / resolution) ** 2
  const needs = Math.ceil(Math.max(spread, perSkewness(z) * skewness ** 2))
  const wants = Math.ceil(n * (((z + POWER) * relative) / finds) ** 2)
  return {...sample, mean, standardError, needs, wants}
}
