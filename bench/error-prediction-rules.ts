/** How well errors are foretold: by theory, by the same carried on from a measurement, and by norms alone. */
import {logLogSlope} from '../src/stats/index.js'

/** One head under one cell. */
export interface Measured {
  name: string
  group: string
  method: string
  projection: string
  /** Head, input, direction and scale. */
  place: string
  numFeatures: number
  /** rel_l2 */
  measured: number
  predicted: number
  /** E|x+y|^2 */
  sumNorm2: number
  /** Decimal logarithm of the M for a relative kernel variance of 1; `null` without such theory. */
  varianceLog10: number | null
}

/** Differences of decimal logarithms. */
export interface Judgement {
  rmse: number
  mean: number
  /** Largest, without its sign. */
  worst: number
}

/** One line of the report. */
export interface Judged {
  group: string
  method: string
  projection: string
  points: number
  prediction: Judgement | null
  /** From the error measured at M = 256 to that at 4096. */
  carried: Judgement | null
  /** sqrt(relative kernel variance), at most 1, times a fitted factor. */
  rule: Judgement | null
  /** ln error as a linear function of E|x+y|^2 and ln M, fitted. */
  regression: Judgement | null
}

export function judge(differences: readonly number[]): Judgement | null {
  if (differences.length === 0) return null
  const mean = (of: readonly number[]) => of.reduce((sum, x) => sum + x, 0) / of.length
  return {
    rmse: Math.sqrt(mean(differences.map(x => x * x))),
    mean: mean(differences),
    worst: Math.max(...differences.map(Math.abs)),
  }
}

const [FROM, TO] = [256, 4096]

/** log10 of predicted over measured at {@link TO}, where the prediction was scaled to what was measured at {@link FROM}. */
export function carried(all: readonly Measured[]): number[] {
  const key = ({method, projection, place}: Measured) => JSON.stringify([method, projection, place])
  const from = new Map(all.filter(one => one.numFeatures === FROM).map(one => [key(one), one]))
  return all
    .filter(one => one.numFeatures === TO)
    .flatMap(one => {
      const start = from.get(key(one))
      if (!start) return []
      const factor = start.measured / start.predicted
      return Math.log10((factor * one.predicted) / one.measured)
    })
}

/** log10 of what a rule says over what was measured; nothing where it says nothing. */
type Rule = (one: Measured) => number[]

/** Rules of norms, fitted for each method. */
export function normRules(fitting: readonly Measured[]): {rule: Rule; regression: Rule} {
  const methods = [...new Set(fitting.map(({method}) => method))]
  const fitted = new Map(
    methods.map(method => {
      const own = fitting.filter(one => one.method === method && one.varianceLog10 !== null)
      return [method, own.length > 0 ? fittedOn(own) : undefined]
    }),
  )
  return {
    rule: one => {
      const own = fitted.get(one.method)
      return own ? [cappedVariance(one) + own.offset - Math.log10(one.measured)] : []
    },
    regression: one => {
      const own = fitted.get(one.method)
      return own ? [(own.line(one) - Math.log(one.measured)) / Math.LN10] : []
    },
  }
}

/** Half the logarithm of the relative variance of a kernel entry, at most 0. */
function cappedVariance({varianceLog10, numFeatures}: Measured): number {
  return Math.min(0, ((varianceLog10 ?? 0) - Math.log10(numFeatures)) / 2)
}

function fittedOn(own: readonly Measured[]) {
  const mean = (of: (one: Measured) => number) =>
    own.reduce((sum, one) => sum + of(one), 0) / own.length
  const errors = own.map(({measured}) => measured)
  // every head has every M, so that the slopes by norm and by M are those of simple regressions
  const norm = logLogSlope(
    own.map(({sumNorm2}) => Math.exp(sumNorm2)),
    errors,
  ).slope
  const features = logLogSlope(
    own.map(({numFeatures}) => numFeatures),
    errors,
  ).slope
  const level = (one: Measured) => norm * one.sumNorm2 + features * Math.log(one.numFeatures)
  const constant = mean(one => Math.log(one.measured) - level(one))
  return {
    offset: mean(one => Math.log10(one.measured) - cappedVariance(one)),
    line: (one: Measured) => constant + level(one),
  }
}
