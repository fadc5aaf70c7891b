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
    'Abs Add BatchMatMul Cos Elu Exp Log Max Maximum Minimum Multiply Neg RealDiv Relu Sin Softmax Sqrt Square ' +
    'Sub Sum Transpose _FusedMatMul'
  ).split(' '),
)

/** Of these the addon has the trailing axes only. */
const TRAILING: ReadonlySet<string> = new Set(['Max', 'Sum'])

const named = (names: string, nanoseconds: number): [string, number][] =>
  names.split(' ').map(name => [name, nanoseconds])

/**
 * Nanoseconds per entry of an output: tfjs-cpu 4.22 on 2^19 entries of rank 4, Node.js 20, one core of an AMD EPYC,
 * second and third calls. What finds every entry by its list of coordinates is slowest, what copies runs of memory is
 * fastest.
 */
const PER_OUTPUT: ReadonlyMap<string, number> = new Map([
  ...named('Reverse Slice Unpack', 700),
  ...named('GatherV2 PadV2 Tile', 90),
  ...named('AddN Cast Concat Fill OnesLike Pack Range ZerosLike', 4),
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
  {inputs, attrs}: SizeCall,
  result: TensorInfo | TensorInfo[],
): number {
  const given = Object.values(inputs).filter(input => input !== undefined)
  const made = [result].flat()
  if (isNative(kernelName, given, attrs)) return CALL
  // the same data under another shape
  if (made.every(({dataId}) => given.some(input => input.dataId === dataId))) return CALL
  const perInput = PER_INPUT.get(kernelName)
  if (perInput !== undefined) return CALL + perInput * entries(given)
  const perOutput = PER_OUTPUT.get(kernelName) ?? (repeats(given, made) ? REPEATED_ENTRY : ENTRY)
  return CALL + perOutput * entries(made)
}

/** Whether the addon takes the case: its kernels read float32. */
function isNative(
  kernelName: string,
  inputs: readonly TensorInfo[],
  attrs: SizeCall['attrs'],
): boolean {
  if (!REPLACED.has(kernelName) || inputs.some(({dtype}) => dtype !== 'float32')) return false
  if (!TRAILING.has(kernelName)) return true
  const [{shape}] = inputs as [TensorInfo]
  const axes = tf.util.parseAxisParam(attrs.axis ?? attrs.reductionIndices, shape)
  return axes.length > 0 && axes.every(axis => axis >= shape.length - axes.length)
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
