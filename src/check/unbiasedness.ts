/** What an estimator declares to estimate, against means over many draws: each draw is a head of one call. */
import {
  attend,
  drawProjection,
  type Estimator,
  exactAttention,
  type HostArray,
} from '../attention/index.js'
import {attendInputs, callNoise, targetHead} from '../attention/internal.js'
import {usesProjection} from '../attention/names.js'
import {normals, randomStream} from '../random/index.js'
import {tf} from '../tf.js'
import {TARGET_KERNELS, type TargetKernelName} from '../theory/target-kernels.js'
import {compute, type HostInputs, hostInputs, type Sizes, SMALL, toTensors} from './arrays.js'
import {runCall} from './call.js'
import {isRandom} from './draws.js'
import {callName, callOf, formsOf} from './forms.js'
import {boundedOutput} from './output-bound.js'
import {gamma} from './rounding.js'
import {type Sample, verdict} from './samples.js'
import {Tally} from './tally.js'
import {type Check, type Finding, notApplicable, type Subject} from './types.js'

/** Rows of the projection. */
const NUM_FEATURES = 13

/** Pairs of vectors: beyond lengths of 0.5 estimates of exponentials are so heavy-tailed that means say little. */
const PAIRS = [
  {headDim: 2, xLength: 0.5, yLength: 0.5},
  {headDim: 3, xLength: 0.5, yLength: 0.1},
  {headDim: 5, xLength: 0.3, yLength: 0.45},
  {headDim: 11, xLength: 0.2, yLength: 0.5},
] as const

/** Shorter ones, for squares. */
const SHORT_PAIRS = [
  {headDim: 3, xLength: 0.3, yLength: 0.2},
  {headDim: 8, xLength: 0.2, yLength: 0.3},
] as const

interface Pair {
  label: string
  x: Float64Array
  y: Float64Array
  /** Another key, for ratios. */
  other: Float64Array
}

function pairsOf(
  {seed}: Subject,
  pairs: readonly {headDim: number; xLength: number; yLength: number}[] = PAIRS,
): Pair[] {
  return pairs.map(({headDim, xLength, yLength}) => ({
    label: `D=${headDim} |x|=${xLength} |y|=${yLength}`,
    x: vector(`x${headDim}.${seed}`, headDim, xLength),
    y: vector(`y${headDim}.${seed}`, headDim, yLength),
    other: vector(`z${headDim}.${seed}`, headDim, 0.4),
  }))
}

/** A vector of the given length in a seeded direction, rounded to float32. */
function vector(name: string, headDim: number, length: number): Float64Array {
  const raw = Float64Array.from(normals(randomStream(77, name), headDim))
  const norm = Math.hypot(...raw)
  return raw.map(x => Math.fround((x * length) / norm))
}

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

/**
 * Mean of phi(x).phi(y) against the kernel that is declared and the mean that is stated; of features without kernel facts
 * the ratio of two keys. What draws nothing is compared as it is.
 */
function kernelMeans(subject: Subject): Finding {
  const {estimator} = subject
  const name = kernelName(estimator)
  if (!name && !estimator.kernel) {
    return notApplicable(
      `declares to estimate no kernel without bias (unbiasedFor: ${estimator.unbiasedFor}), and states no moments (kernel)`,
    )
  }
  if (!estimator.kernel && !estimator.features) {
    return notApplicable('has neither kernel facts nor a feature map to take estimates from')
  }
  const random = isRandom(subject)
  const asked = random ? subject : {...subject, draws: 1}
  const samples = pairsOf(subject).flatMap(pair => meanSamples(asked, pair, name))
  if (!random) return exactSamples(samples)
  const what = 'the mean of phi(x).phi(y)'
  return verdict(samples, {what, advice: MEAN_ADVICE, draws: subject.draws})
}

/** Estimates of one pair beside what their mean should be. */
function meanSamples(subject: Subject, pair: Pair, name: TargetKernelName | undefined): Sample[] {
  const {estimator} = subject
  const {kernel, projection} = estimator
  const target = name && truth(estimator, name, pair)
  if (!kernel) {
    const second = truth(estimator, name!, {x: pair.x, y: pair.other})
    const {values, size} = contrasts(subject, pair, target!, second)
    const label = `${pair.label}, ratio of two keys`
    return [{label, values, truth: 0, scale: 1, slack: rounding(size, pair.x.length)}]
  }
  const sampleOf = (label: string, value: number, {values, size}: Estimates): Sample => ({
    label: `${pair.label}, ${label}`,
    values,
    truth: value,
    scale: value || size,
    slack: rounding(Math.max(size, Math.abs(value)), pair.x.length),
  })
  const {mean} = kernel.moments(pair.x, pair.y, momentDraw(estimator, pair))
  return [
    sampleOf('mean of kernel.moments', mean, kernelEstimates(subject, pair)),
    ...(target === undefined
      ? []
      : [sampleOf(`${name} kernel`, target, kernelEstimates(subject, pair, projection?.default))]),
  ]
}

/** What moments of a pair depend on beside it. */
function momentDraw({options}: Estimator, {x, y}: Pair) {
  return {
    numFeatures: NUM_FEATURES,
    options: options.parse({}),
    calibration: {query: [x], key: [y]},
  }
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

/** One estimate for each draw. */
interface Estimates {
  values: Float64Array
  /** Mean of the sums of the magnitudes of their terms. */
  size: number
}

/** phi(x).phi(y) of as many draws as asked for. */
function kernelEstimates(subject: Subject, {x, y}: Pair, name = 'iid'): Estimates {
  const {estimator, seed, draws} = subject
  const headDim = x.length
  const options = estimator.options.parse({})
  const shape = {batch: 1, heads: draws, queryLen: 1, keyLen: 1, headDim, valueDim: 1}
  const call = {...shape, numFeatures: NUM_FEATURES, causal: false}
  const rows = drawProjection({
    name: name as 'iid',
    ...{heads: draws, numFeatures: NUM_FEATURES, headDim, seed},
  })
  const [queries, keys] = compute(() => {
    const projection = tf.tensor3d(Float32Array.from(rows), [draws, NUM_FEATURES, headDim])
    const noise = callNoise(estimator, call, options, {}, {seed, replicate: 0})
    const calibration = {query: [x], key: [y]}
    const features = (side: 'query' | 'key', vector: Float64Array) => {
      const one = tf.tensor4d(Float32Array.from(vector), [1, 1, 1, headDim])
      const repeated: tf.Tensor4D = tf.tile(one, [1, draws, 1, 1])
      return estimator.kernel!.features(repeated, projection, options, {side, noise, calibration})
    }
    return [features('query', x), features('key', y)]
  })
  const size = meanOf(products(queries!.map(Math.abs), keys!.map(Math.abs), draws))
  return {values: products(queries!, keys!, draws), size}
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, each) => sum + each, 0) / values.length
}

/** Inner products of as many rows. */
function products(a: Float32Array, b: Float32Array, rows: number): Float64Array {
  const width = a.length / rows
  return Float64Array.from({length: rows}, (_, row) => {
    let sum = 0
    for (let f = row * width; f < (row + 1) * width; f++) sum += a[f]! * b[f]!
    return sum
  })
}

/**
 * `phi(x).phi(y) / k(x, y) - phi(x).phi(z) / k(x, z)` in units of the mean of both: zero on average, whatever factor
 * of x the features lack in every draw.
 */
function contrasts(subject: Subject, pair: Pair, first: number, second: number): Estimates {
  const {draws} = subject
  const [queries, ones, others] = contrastFeatures(subject, pair)
  const a = products(queries!, ones!, draws).map(each => each / first)
  const b = products(queries!, others!, draws).map(each => each / second)
  const unit = (meanOf(a) + meanOf(b)) / 2
  const sizeOf = (keys: Float32Array) =>
    meanOf(products(queries!.map(Math.abs), keys.map(Math.abs), draws))
  return {
    values: a.map((each, at) => (each - b[at]!) / unit),
    size: Math.abs((sizeOf(ones!) / first + sizeOf(others!) / second) / unit),
  }
}

/** Features of a query and two keys, with their weights, of as many draws as asked for. */
function contrastFeatures({method, estimator, seed, draws}: Subject, {x, y, other}: Pair) {
  return compute(() => {
    const tiled = (...vectors: Float64Array[]): tf.Tensor4D => {
      const data = Float32Array.from(vectors.flatMap(each => [...each]))
      return tf.tile(tf.tensor4d(data, [1, 1, vectors.length, x.length]), [1, draws, 1, 1])
    }
    const value = tf.ones<tf.Rank.R4>([1, draws, 2, 1])
    const call = {method, seed, numFeatures: NUM_FEATURES, scale: 1, causal: false}
    const {inputs} = attendInputs(tiled(x, x), tiled(y, other), value, call)
    const {query, queryLogWeight, key, keyLogWeight, logarithmic} = estimator.features!(inputs)
    const whole = (features: tf.Tensor4D, logWeight: tf.Tensor3D | undefined) => {
      const plain = logarithmic ? tf.exp(features) : features
      return logWeight ? tf.mul(plain, tf.expandDims(tf.exp(logWeight), -1)) : plain
    }
    const at = (features: tf.Tensor, token: number) =>
      tf.slice(features, [0, 0, token, 0], [-1, -1, 1, -1])
    const [queries, keys] = [whole(query, queryLogWeight), whole(key, keyLogWeight)]
    return [at(queries, 0), at(keys, 0), at(keys, 1)]
  })
}

/** Squares vary more than what is squared. */
const VARIANCE_DRAWS = 4

/** Variance of phi(x).phi(y) with independent rows against the declared moments. */
function kernelVariance(subject: Subject): Finding {
  const {estimator} = subject
  const {kernel} = estimator
  if (!kernel) return notApplicable('declares no moments (kernel)')
  const draws = isRandom(subject) ? VARIANCE_DRAWS * subject.draws : 2
  const samples = pairsOf(subject, SHORT_PAIRS).map((pair): Sample => {
    const {mean, variance} = kernel.moments(pair.x, pair.y, momentDraw(estimator, pair))
    const {values} = kernelEstimates({...subject, draws}, pair)
    const squares = values.map(each => (each - mean) ** 2)
    const slack =
      rounding(mean, pair.x.length) * (2 * Math.sqrt(variance) + rounding(mean, pair.x.length))
    return {label: pair.label, values: squares, truth: variance, scale: variance, slack}
  })
  return verdict(samples, {
    what: 'the variance of phi(x).phi(y)',
    advice: 'kernel.moments: mean and variance of phi(x).phi(y) for M independent rows',
    draws,
    resolution: 0.25,
  })
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
function outputMeans(subject: Subject): Finding {
  const {estimator, method, seed, draws} = subject
  if (estimator.unbiasedFor !== 'output') {
    return notApplicable(`declares no unbiased outputs (unbiasedFor: ${estimator.unbiasedFor})`)
  }
  const samples = formsOf(subject).flatMap(({causal, name}) => {
    const inputs = hostInputs(OUTPUT_SIZES, 0.7, `outputs.${seed}`)
    const out = compute(() => {
      const [query, key, value] = toTensors(inputs).map(one => tf.tile(one, [1, draws, 1, 1]))
      const call = {method, seed, causal, numFeatures: OUTPUT_SIZES.numFeatures}
      return attend(query!, key!, value!, call).out
    })
    const exact = exactOf(estimator, inputs, causal)!
    return Array.from(exact, (value, at): Sample => {
      const values = Float64Array.from({length: draws}, (_, n) => out[n * exact.length + at]!)
      return {
        label: `${name}, element ${at}`,
        values,
        truth: value,
        scale: 1,
        slack: rounding(1, 64),
      }
    })
  })
  return verdict(samples, {
    what: 'the mean of an output over exact attention',
    advice:
      'the draw and its weights: the expectation of the output must be exact attention to target',
    draws,
  })
}

/** Exact attention to what the estimator declares as its target, `undefined` without one. */
function exactOf({target, options}: Estimator, {query, key, value}: HostInputs, causal: boolean) {
  const found = target(options.parse({}))
  const logitScale = query.shape[3] ** -0.5
  return found && exactAttention(query, key, value, {target: found, logitScale, causal})
}

/** Who declares to be exact gives exact attention to rounding. */
function exactOutputs(subject: Subject): Finding {
  const {estimator} = subject
  if (estimator.unbiasedFor !== 'exact')
    return notApplicable('does not declare to be exact (unbiasedFor: exact)')
  const tally = new Tally('attend, and target: softmax of scale q.k unless target says otherwise')
  for (const {causal} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal})
    const {out, bound} = boundedOutput(given)
    const expected = exactOf(estimator, given.inputs!, causal)!
    const says = (at: number) =>
      `element ${at} is ${out[at]}, exact attention gives ${expected[at]}`
    tally.compare({label: callName(given), actual: out, expected, bound, says})
  }
  return tally.finding()
}

/** M at which the error is told: rows of a projection, or what a method counts in its place, such as landmarks. */
const LADDERS = {rows: [16, 64, 256], others: [2, 4, 8]} as const
/** The numbers of features to try; one where their number is not used. */
function ladderOf(estimator: Estimator): readonly number[] {
  if (usesProjection(estimator, estimator.options.parse({}))) return LADDERS.rows
  return estimator.sizedBy ? LADDERS.others : LADDERS.others.slice(-1)
}

/** Draws that it is the root mean square of. */
const REPLICATES = 8

/** How far outputs are from their target at growing M: no verdict, as outputs of ratios are biased. */
function errors(subject: Subject): Finding {
  const {estimator} = subject
  const form = formsOf(subject)[0]!
  const given = callOf(subject, {...SMALL, headDim: 8}, {causal: form.causal, inputScale: 0.7})
  const exact = exactOf(estimator, given.inputs!, form.causal)
  if (!exact) return notApplicable('declares no target that its outputs converge to (target)')
  const size = Math.hypot(...exact)
  const random = isRandom(subject)
  const ladder = ladderOf(estimator)
  const figures = ladder.map(numFeatures => {
    const sizes = {...given.sizes, numFeatures}
    const squares = Array.from({length: random ? REPLICATES : 1}, (_, replicate) => {
      const {out} = runCall({...given, sizes, draw: {seed: subject.seed, replicate}})
      return Math.hypot(...out.map((x, at) => x - exact[at]!)) ** 2
    })
    return Math.sqrt(squares.reduce((sum, each) => sum + each, 0) / squares.length) / size
  })
  const told = figures.map(each => each.toPrecision(2)).join(', ')
  return {
    status: 'information',
    tried: [callName(given)],
    finding: `relative error ${told}${ladder.length > 1 ? ` at M = ${ladder.join(', ')}` : ''}`,
  }
}

export const UNBIASEDNESS: readonly Check[] = [
  {name: 'kernel mean', group: 'unbiasedness', run: kernelMeans},
  {name: 'kernel variance', group: 'unbiasedness', run: kernelVariance},
  {name: 'output mean', group: 'unbiasedness', run: outputMeans},
  {name: 'exact output', group: 'unbiasedness', run: exactOutputs},
  {name: 'error by M', group: 'unbiasedness', run: errors},
]
