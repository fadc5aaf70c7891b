/**
 * Time of kernels that the backend `native` leaves to plain JavaScript: it may be hundreds of times that of the
 * vector instructions by which the operations of a method are counted.
 */
import type {TensorInfo} from '@tensorflow/tfjs-core'
import {tf} from '../../tf.js'
import type {SizeCall} from './shapes.js'

/** TensorFlow.js's kernels that `native` has in C++. The suite holds them against what it registers. */
export const REPLACED: ReadonlySet<string> = new Set(
  (
    'Abs Add BatchMatMul Concat Cos Cumsum Elu Equal Exp GatherV2 Greater GreaterEqual Less LessEqual Log Max Maximum ' +
    'Mean Min Minimum Multiply Neg NotEqual Pack PadV2 Pow Prod RealDiv Reciprocal Relu Reverse Rsqrt Select Sigmoid ' +
    'Sign Sin Slice Softmax SplitV Sqrt Square SquaredDifference Step Sub Sum Tile Transpose Unpack UnsortedSegmentSum ' +
    '_FusedMatMul'
  ).split(' '),
)

/** Of these the addon moves integers and truth values as well. */
const MOVED: ReadonlySet<string> = new Set(
  'Concat Pack PadV2 Reverse Slice SplitV Tile Transpose Unpack'.split(' '),
)

/** These take indices or conditions beside numbers. */
const CHOOSING: ReadonlySet<string> = new Set(['GatherV2', 'Select', 'UnsortedSegmentSum'])

const named = (names: string, nanoseconds: number): [string, number][] =>
  names.split(' ').map(name => [name, nanoseconds])

/**
 * Nanoseconds per entry of an output: tfjs-cpu 4.22 on 2^19 entries of rank 4, Node.js 20, one core of an AMD EPYC,
 * second and third calls. What finds every entry by its list of coordinates is slowest, what copies runs of memory is
 * fastest.
 */
const PER_OUTPUT: ReadonlyMap<string, number> = new Map([
  ...named('GatherV2', 90),
  ...named('AddN Cast Fill OnesLike Range ZerosLike', 4),
])

/** The same per entry of the input, where an output may be smaller. */
const PER_INPUT: ReadonlyMap<string, number> = new Map([
  ...named('All Any ArgMax ArgMin Min Prod', 5),
  ...named('Mean', 40),
  // transposed in plain JavaScript before
  ...named('Max Sum', 100),
  ...named('Cumprod Cumsum', 80),
])

/** Functions entry by entry. */
const ENTRY = 20

/** The same where an axis of an input repeats: each entry is found by its coordinates. */
const REPEATED_ENTRY = 140

/** What TensorFlow.js takes to call any kernel. */
const CALL = 5e3

/** Nanoseconds of one call of a kernel in plain JavaScript, with what it takes to call it. */
export function plainNanoseconds(
  kernelName: string,
  {inputs}: SizeCall,
  result: TensorInfo | TensorInfo[],
): number {
  const given = Object.values(inputs).filter(input => input !== undefined)
  const made = [result].flat()
  if (isNative(kernelName, given)) return CALL
  // the same data under another shape
  if (made.every(({dataId}) => given.some(input => input.dataId === dataId))) return CALL
  const perInput = PER_INPUT.get(kernelName)
  if (perInput !== undefined) return CALL + perInput * entries(given)
  const perOutput = PER_OUTPUT.get(kernelName) ?? (repeats(given, made) ? REPEATED_ENTRY : ENTRY)
  return CALL + perOutput * entries(made)
}

/** Whether the addon takes the case. */
function isNative(kernelName: string, inputs: readonly TensorInfo[]): boolean {
  if (!REPLACED.has(kernelName)) return false
  if (MOVED.has(kernelName)) return true
  const floats = inputs.filter(({dtype}) => dtype === 'float32')
  return floats.length === inputs.length || (floats.length > 0 && CHOOSING.has(kernelName))
}

/** Whether an input has an axis of one where the result is longer; axes it lacks cost nothing. */
function repeats(inputs: readonly TensorInfo[], [out]: readonly TensorInfo[]): boolean {
  return inputs.some(({shape}) =>
    shape.some(
      (size, axis) => size === 1 && out!.shape[axis - shape.length + out!.shape.length]! > 1,
    ),
  )
}

function entries(tensors: readonly TensorInfo[]): number {
  return tensors.reduce((sum, {shape}) => sum + tf.util.sizeFromShape(shape), 0)
}
