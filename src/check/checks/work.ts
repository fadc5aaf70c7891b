/** The declared cost, compared with the operations of TensorFlow.js that a call makes. */
import {attend} from '../../attention/index.js'
import {TRANSCENDENTAL} from '../../attention/internal.js'
import {resolveOptions} from '../../attention/names.js'
import {tf} from '../../tf.js'
import {SMALL, toTensors} from '../calls/arrays.js'
import {hostCall} from '../calls/call.js'
import {callOf, formsOf, square} from '../calls/forms.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'

/** Large enough that products outweigh what is done once. */
const SIZES = {...square(SMALL, 64), batch: 1, heads: 2, headDim: 16, valueDim: 16, numFeatures: 16}

/**
 * How far the count may be off the cost: 2 for the masked half of causal squares, which operations compute and
 * costs may leave out, or count where chunks skip it; and 2 for passes over numbers, since costs only name the
 * leading ones.
 */
const FACTOR = 4

/** What moves numbers and computes none. */
const MOVES: ReadonlySet<string> = new Set([
  ...['BroadcastTo', 'Cast', 'Concat', 'ExpandDims', 'Fill', 'GatherNd', 'GatherV2', 'Identity'],
  ...['OneHot', 'OnesLike', 'Pack', 'PadV2', 'Range', 'Reshape', 'Reverse', 'ScatterNd', 'Slice'],
  ...['SplitV', 'StridedSlice', 'Tile', 'Transpose', 'Unpack', 'ZerosLike'],
])

/** Functions that cost what an exponential does. */
const ELEMENTARY: ReadonlySet<string> = new Set([
  ...['Acos', 'Acosh', 'Asin', 'Asinh', 'Atan', 'Atan2', 'Atanh', 'Cos', 'Cosh', 'Elu', 'Erf'],
  ...['Exp', 'Expm1', 'Log', 'Log1p', 'LogSoftmax', 'Pow', 'Rsqrt', 'Selu', 'Sigmoid', 'Sin'],
  ...['Sinh', 'Softmax', 'Softplus', 'Sqrt', 'Tan', 'Tanh'],
])

/** One operation as TensorFlow.js reports it. */
interface Operation {
  name: string
  inputShapes: readonly (readonly number[] | null)[]
  outputShapes: readonly (readonly number[])[]
}

/**
 * Floating-point operations of an operation, from its shapes: 2 for each multiply-add of a product, {@link TRANSCENDENTAL} for
 * an elementary function, 1 for each number that another operation reads or gives, whichever is more.
 */
export function operationsOf({name, inputShapes, outputShapes}: Operation): number {
  const size = (shape: readonly number[] | null) => (shape ?? []).reduce((a, b) => a * b, 1)
  const given = outputShapes.reduce((sum, shape) => sum + size(shape), 0)
  if (MOVES.has(name)) return 0
  if (name === 'BatchMatMul' || name === '_FusedMatMul') {
    const [first] = inputShapes
    const rows = outputShapes[0]!.at(-2)!
    return 2 * given * ((first!.at(-1)! * first!.at(-2)!) / rows)
  }
  if (ELEMENTARY.has(name)) return TRANSCENDENTAL * given
  return Math.max(given, ...inputShapes.map(size))
}

/**
 * The operations of a call. A call before it throws any error: while TensorFlow.js reports operations, an error
 * would also reject a promise inside it, and it would never stop reporting.
 */
async function operationsIn(run: () => tf.Tensor): Promise<Operation[]> {
  run().dispose()
  const {kernels, result} = await tf.profile(run)
  tf.dispose(result as tf.Tensor)
  return kernels as Operation[]
}

/** The cost of each form is the number of operations that it makes, but for {@link FACTOR}. */
async function countedWork(subject: Subject): Promise<Finding> {
  const tally = new Tally(
    'cost: floating-point operations of one forward call, a multiply-add counting two',
  )
  const {estimator, method, seed} = subject
  if (estimator.python && !estimator.features) {
    return notApplicable('computed in Python, where operations are not counted')
  }
  const options = resolveOptions(estimator, 'exact')
  for (const {name, causal} of formsOf(subject)) {
    const given = callOf(subject, SIZES, {causal})
    const tensors = toTensors(hostCall(given).inputs)
    const call = {method, causal, seed, numFeatures: SIZES.numFeatures}
    const run = () => tf.tidy(() => attend(...tensors, call).out)
    const counted = (await operationsIn(run)).reduce((sum, one) => sum + operationsOf(one), 0)
    tf.dispose([...tensors])
    const {flops} = estimator.cost({...given.sizes, causal}, options)
    const ratio = flops / counted
    tally.expect(
      `${name} at 64 tokens`,
      ratio >= 1 / FACTOR && ratio <= FACTOR,
      () =>
        `${flops} operations are declared, ${counted} were made: ${ratio.toPrecision(2)} times as many, expected 1/${FACTOR} to ${FACTOR}`,
    )
  }
  return tally.finding()
}

export const WORK: readonly Check[] = [{name: 'counted cost', group: 'facts', run: countedWork}]
