/** What an estimator declares to estimate, against means over many draws. */
import {attend, type Estimator, type HostArray} from '../../attention/index.js'
import {targetHead} from '../../attention/internal.js'
import {tf} from '../../tf.js'
import {TARGET_KERNELS, type TargetKernelName} from '../../theory/target-kernels.js'
import {compute, hostInputs, type Sizes, toTensors} from '../calls/arrays.js'
import {formsOf} from '../calls/forms.js'
import {gamma} from '../calls/rounding.js'
import {Tally} from '../calls/tally.js'
import {
  contrasts,
  kernelEstimates,
  momentDraw,
  PLAIN,
  type Rows,
  TILTED,
} from '../draws/estimates.js'
import {longPairs, type Pair, shortPairs} from '../draws/pairs.js'
import {type Sample, verdict} from '../draws/samples.js'
import {drawSamples, type Source} from '../draws/sampling.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {isRandom} from './draws.js'
import {exactOf} from './exactness.js'

/** Features are off by (D + 64) roundings of terms of at most the size of the estimate. */
function rounding(truth: number, headDim: number): number {
  return gamma(headDim + 64) * Math.max(1, Math.abs(truth))
}

/** The kernel that is declared, `undefined` for whole outputs and nothing. */
function kernelName({unbiasedFor}: Estimator): TargetKernelName | undefined {
  const name = unbiasedFor.replace(/-kernel$/, '')
  return Object.hasOwn(TARGET_KERNELS, name) ? (name as TargetKernelName) : undefined
}

/** The kernel at a pair in the estimator's input space. */
function truth({target, options}: Estimator, name: TargetKernelName, pair: Pick<Pair, 'x' | 'y'>) {
  const row = (data: Float64Array): HostArray => ({shape: [1, 1, 1, data.length], data})
  const found = target(options.parse({}))
  if (!found) return TARGET_KERNELS[name].weight(pair.x, pair.y)
  const {x, keys} = targetHead(row(pair.x), row(pair.y), 0, {target: found, logitScale: 1})
  return TARGET_KERNELS[name].weight(x, keys.vectors)
}

const MEAN_ADVICE =
  'phi and its factors: the expectation of phi(x).phi(y) over the rows must be the kernel of unbiasedFor, and the mean of kernel.moments'

/** Biases that are looked for: at long vectors a finer one, where exp(0.05 |y|^2) is 12 % at a norm of 1.5. */
const FINDS = {short: 0.1, long: 0.04} as const

/**
 * Mean of phi(x).phi(y) against the kernel that is declared and the mean that is stated; of features without kernel facts
 * the ratio of two keys. What draws nothing is compared as it is.
 */
async function kernelMeans(subject: Subject): Promise<Finding> {
  const {estimator, seconds} = subject
  const name = kernelName(estimator)
  if (!name && !estimator.kernel) {
    return notApplicable(
      `declares to estimate no kernel without bias (unbiasedFor: ${estimator.unbiasedFor}), and states no moments (kernel)`,
    )
  }
  if (!estimator.kernel && !estimator.features) {
    const finding = `unbiasedFor: ${estimator.unbiasedFor} is declared without kernel facts or a feature map: there are no estimates to take a mean of`
    return {status: 'not measurable', tried: [], finding}
  }
  const sources = [
    ...shortPairs(subject, 'short').flatMap(pair => meanSources(subject, pair, name, PLAIN)),
    ...longPairs(subject).flatMap(pair => meanSources(subject, pair, name, TILTED)),
  ]
  const random = isRandom(subject)
  const samples = await drawSamples(sources, {draws: random ? subject.draws : 1, seconds})
  if (!random) return exactSamples(samples)
  return verdict(samples, {what: 'the mean of phi(x).phi(y)', advice: MEAN_ADVICE})
}

/**
 * Estimates of one pair, with the mean that they should have; short pairs meet the kernel with the default projection.
 */
function meanSources(
  subject: Subject,
  pair: Pair,
  name: TargetKernelName | undefined,
  rows: Rows,
): Source[] {
  const {estimator} = subject
  const {kernel, projection} = estimator
  const target = name && truth(estimator, name, pair)
  if (!kernel)
    return [
      contrastSource(
        subject,
        pair,
        [target!, truth(estimator, name!, {x: pair.x, y: pair.other})],
        rows,
      ),
    ]
  const {mean} = kernel.moments(pair.x, pair.y, momentDraw(estimator, pair, rows))
  const stated = meanSource(subject, pair, rows, {label: 'mean of kernel.moments', value: mean})
  if (target === undefined) return [stated]
  const own = rows === PLAIN ? {...rows, projection: projection?.default ?? 'iid'} : rows
  const kernelSource = meanSource(subject, pair, own, {label: `${name} kernel`, value: target})
  // if the estimate is a constant, other rows of the same features say nothing new
  return Math.abs(mean - target) <= 1e-9 * Math.abs(target)
    ? [kernelSource]
    : [stated, kernelSource]
}

function meanSource(
  subject: Subject,
  pair: Pair,
  rows: Rows,
  {label, value}: {label: string; value: number},
): Source {
  return {
    draw: (batch, draws) => kernelEstimates(subject, pair, rows, {batch, draws}),
    sample: ({values, size}) => ({
      label: `${pair.label}, ${label}`,
      values,
      truth: value,
      scale: value || size,
      slack: rounding(Math.max(size, Math.abs(value)), pair.x.length),
      finds: findsOf(rows),
    }),
  }
}

/** @param truths - the kernel at both keys */
function contrastSource(
  subject: Subject,
  pair: Pair,
  truths: readonly [number, number],
  rows: Rows,
): Source {
  return {
    draw: (batch, draws) => contrasts(subject, pair, rows, {batch, draws, truths}),
    sample: ({values, size}) => ({
      ...{label: `${pair.label}, ratio of two keys`, values, truth: 0, scale: 1},
      slack: rounding(size, pair.x.length),
      finds: findsOf(rows),
    }),
  }
}

/** Rows are tilted for long vectors. */
function findsOf({tilts}: Rows): number {
  return tilts.length > 0 ? FINDS.long : FINDS.short
}

/** Of what draws nothing one estimate is all there is: it is its mean. */
function exactSamples(samples: readonly Sample[]): Finding {
  const tally = new Tally(MEAN_ADVICE)
  for (const {label, values, truth: expected, slack: bound} of samples) {
    const says = () =>
      `phi(x).phi(y) is ${values[0]!.toPrecision(7)}, expected ${expected.toPrecision(7)}`
    tally.compare({label, actual: values, expected: [expected], bound, says})
  }
  return tally.finding()
}

/** Squares vary more than what is squared. */
const VARIANCE_DRAWS = 4
/** Part of a variance that z standard errors may be. */
const VARIANCE_RESOLUTION = 0.25
/** Long pairs to measure the variance of, and how their rows are drawn: squares have their mass twice as far out. */
const VARIED_PAIRS = 2
const TWICE_TILTED: Rows = {...TILTED, tilts: [1, 2]}

/** Variance of phi(x).phi(y) with independent rows against the declared moments. */
async function kernelVariance(subject: Subject): Promise<Finding> {
  const {estimator, seconds} = subject
  const {kernel} = estimator
  if (!kernel) return notApplicable('declares no moments (kernel)')
  const fixed = subject.draws && VARIANCE_DRAWS * subject.draws
  const sources = [
    ...shortPairs(subject, 'shortest').map(pair => varianceSource(subject, pair, PLAIN)),
    ...longPairs(subject)
      .slice(0, VARIED_PAIRS)
      .map(pair => varianceSource(subject, pair, TWICE_TILTED)),
  ]
  const samples = await drawSamples(sources, {draws: isRandom(subject) ? fixed : 2, seconds})
  return verdict(samples, {
    what: 'the variance of phi(x).phi(y)',
    advice: 'kernel.moments: mean and variance of phi(x).phi(y) for M independent rows',
  })
}

function varianceSource(subject: Subject, pair: Pair, rows: Rows): Source {
  const {estimator} = subject
  const draw = momentDraw(estimator, pair, rows)
  const {mean, variance} = estimator.kernel!.moments(pair.x, pair.y, draw)
  const error = rounding(mean, pair.x.length)
  return {
    draw(batch, draws) {
      const found = kernelEstimates(subject, pair, rows, {batch, draws})
      return {...found, values: found.values.map(each => (each - mean) ** 2)}
    },
    sample: ({values}) => ({
      ...{label: pair.label, values, truth: variance, scale: variance},
      slack: error * (2 * Math.sqrt(variance) + error),
      resolution: VARIANCE_RESOLUTION,
    }),
  }
}

const OUTPUT_SIZES: Sizes = {
  batch: 1,
  heads: 1,
  queryLen: 3,
  keyLen: 5,
  headDim: 8,
  valueDim: 2,
  numFeatures: 7,
}

/** Mean of whole outputs against exact attention. */
async function outputMeans(subject: Subject): Promise<Finding> {
  const {estimator, draws, seconds} = subject
  if (estimator.unbiasedFor !== 'output') {
    return notApplicable(`declares no unbiased outputs (unbiasedFor: ${estimator.unbiasedFor})`)
  }
  const sources = formsOf(subject).flatMap(({causal, name}) => outputSources(subject, causal, name))
  const samples = await drawSamples(sources, {draws, seconds})
  return verdict(samples, {
    what: 'the mean of an output over exact attention',
    advice:
      'the draw and its weights: the expectation of the output must be exact attention to target',
  })
}

/** The elements of one output, all of one draw. */
function outputSources(subject: Subject, causal: boolean, name: string): Source[] {
  const {estimator, method, seed} = subject
  const inputs = hostInputs(OUTPUT_SIZES, 0.7, `outputs.${seed}`)
  const exact = exactOf(estimator, inputs, causal)!
  const drawn = new Map<string, Float32Array>()
  const outputs = (replicate: number, draws: number) => {
    const key = `${replicate} ${draws}`
    const known = drawn.get(key)
    if (known) return known
    const out = compute(() => {
      const [query, key, value] = toTensors(inputs).map(one => tf.tile(one, [1, draws, 1, 1]))
      const {numFeatures} = OUTPUT_SIZES
      const call = {method, seed, replicate, causal, causalAlign: 'start', numFeatures} as const
      return attend(query!, key!, value!, call).out
    })
    drawn.set(key, out)
    return out
  }
  return Array.from(exact, (truth, at) => ({
    draw(batch, draws) {
      const out = outputs(batch, draws)
      const values = Float64Array.from({length: draws}, (_, n) => out[n * exact.length + at]!)
      return {values, weights: new Float64Array(draws).fill(1), size: 1, unit: 1}
    },
    sample: ({values}) => ({
      label: `${name}, element ${at}`,
      ...{values, truth, scale: 1, slack: rounding(1, 64)},
    }),
  }))
}

export const UNBIASEDNESS: readonly Check[] = [
  {name: 'kernel mean', group: 'unbiasedness', run: kernelMeans},
  {name: 'kernel variance', group: 'unbiasedness', run: kernelVariance},
  {name: 'output mean', group: 'unbiasedness', run: outputMeans},
]
