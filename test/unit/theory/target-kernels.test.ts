import {describe, expect, it} from 'vitest'
import {type Estimator, loadEstimators, METHOD_NAMES} from '../../../src/attention/index.js'
import {resolveOptions} from '../../../src/attention/resolve.js'
import {dot} from '../../../src/theory/kernels.js'
import {TARGET_KERNELS, type TargetKernelName} from '../../../src/theory/target-kernels.js'

/** Vectors of five dimensions and pairwise different lengths, the last two pairs opposite and zero. */
const PAIRS = [
  [
    [0.3, -0.2, 0.5, 0.1, 0.4],
    [0.2, 0.6, -0.1, 0.3, 0.7],
  ],
  [
    [-0.7, 0.4, 0.2, 0.9, -0.1],
    [0.5, 0.1, 0.8, -0.6, 0.2],
  ],
  [
    [0.1, 0.9, -0.4, 0.2, 0.6],
    [0.2, 0.8, -0.5, 0.1, 0.3],
  ],
  [
    [0.5, 0, -0.25, 0, 1],
    [-1, 0, 0.5, 0, -2],
  ],
  [
    [0.5, 0.1, 0.2, 0.3, 0.4],
    [0, 0, 0, 0, 0],
  ],
].map(([x, y]) => [Float64Array.from(x!), Float64Array.from(y!)] as const)

/**
 * Two routes in double precision: a dozen sums of 5 terms, logarithms below 6 in size, and a power series of
 * some 20 terms that errs by 5 units of each: fewer than 2^9 units of 2^-53.
 */
const CLOSE = 2 ** -44

/** Degrees beyond 20 are below 1e-17 of these pairs' kernels. */
const OPTIONS: Record<string, Record<string, unknown>> = {maclaurin: {maxDegree: 20}}

const KERNELS = Object.entries(TARGET_KERNELS)

describe('a target kernel', () => {
  it.each(KERNELS)('%s weighs a pair alike by itself and in a row', (_, kernel) => {
    for (const [x, y] of PAIRS) {
      const [xLength, yLength] = [Math.sqrt(dot(x, x)), Math.sqrt(dot(y, y))]
      const row = kernel.rowWeight({dot: dot(x, y), xLength, yLength, dim: 5})
      const factor = kernel.logRowFactor(xLength)
      const weight = kernel.logarithmic ? Math.exp(row + factor) : row * Math.exp(factor)
      // a weight that is no exponential is a sum, whose terms may cancel at y but then do not at -y
      const opposite = kernel.logarithmic
        ? 0
        : kernel.weight(
            x,
            y.map(d => -d),
          )
      const size = Math.max(kernel.weight(x, y), opposite)
      expect(Math.abs(weight - kernel.weight(x, y))).toBeLessThanOrEqual(CLOSE * size)
    }
  })
})

describe('estimators without bias for a kernel', async () => {
  const estimators = await loadEstimators()
  const unbiased = METHOD_NAMES.flatMap(name => {
    const estimator = estimators[name] as unknown as Estimator
    const [, kernel] = /^(.*)-kernel$/.exec(estimator.unbiasedFor) ?? []
    return kernel ? [[name, kernel as TargetKernelName, estimator] as const] : []
  })

  it.each(unbiased)('%s: features have the %s kernel as their mean', (_, name, estimator) => {
    const options = resolveOptions(estimator, 'exact', OPTIONS[estimator.name])
    const calibration = {query: PAIRS.map(([x]) => x), key: PAIRS.map(([, y]) => y)}
    const draw = {numFeatures: 7, options, calibration}
    const unit = estimator.target(options)?.inputs === 'unit'
    const ratios = PAIRS.slice(0, 3).map(pair => {
      const [x, y] = pair.map(v => (unit ? v.map(d => d / Math.sqrt(dot(v, v))) : v))
      const {mean} = estimator.kernel!.moments(x!, y!, draw)
      return mean / TARGET_KERNELS[name].weight(x!, y!)
    })
    // up to a factor that all features share
    for (const ratio of ratios) expect(Math.abs(ratio / ratios[0]! - 1)).toBeLessThanOrEqual(CLOSE)
  })
})
