/** Estimators of a file of Python. */
import {basename, extname} from 'node:path'
import {z} from 'zod'
import {defineFeatureMap, type Estimator, guardOptions} from '../../attention/index.js'
import {hostData} from '../../attention/internal.js'
import {tf} from '../../tf.js'
import {type HostArray, loadPython, type ModuleFacts} from './process.js'

/**
 * The feature map of a file: `phi(x, projection, *, option=default)` gives features `[B, H, n, F]` of tokens x
 * `[B, H, n, D]`, canonical, and rows `[H, M, D]`, as tensors of PyTorch if the file imports it, else as arrays of NumPy.
 *
 * @param path - as it was given
 * @param file - without symbolic links
 * @throws what {@link loadPython} throws
 */
export async function pythonEstimators(path: string, file: string): Promise<Estimator[]> {
  const python = await loadPython(path, file)
  const {facts} = python
  const name = facts.name ?? basename(path, extname(path)).replaceAll('_', '-')
  const sizes = new Map<string, number>()
  const own = (options: Record<string, unknown>) =>
    Object.fromEntries(Object.keys(facts.options).map(key => [key, options[key]]))
  const estimator = defineFeatureMap({
    name,
    title: facts.title ?? (facts.says || name),
    citation: facts.citation ?? basename(path),
    formula: `phi of ${basename(path)}`,
    advice: '',
    options: z.object({...optionsOf(facts), ...guardOptions}),
    inputs: () => 'canonical',
    nonNegative: facts.non_negative ?? false,
    runsIn: 'Python',
    ...(facts.unbiased_for && {unbiasedFor: 'softmax-kernel', target: () => SOFTMAX}),
    ...(facts.projected && {projection: {default: 'orth'}}),
    ...(facts.library === 'numpy' && {stepwise: 'NumPy has no gradients'}),
    featureDim(numFeatures, headDim, options) {
      const key = JSON.stringify([numFeatures, headDim, own(options)])
      const known = sizes.get(key)
      if (known !== undefined) return known
      const shapes = [[1, 1, 1, headDim], ...(facts.projected ? [[1, numFeatures, headDim]] : [])]
      const zeros = shapes.map(shape => ({
        shape,
        data: new Float32Array(shape.reduce((size, length) => size * length, 1)),
      }))
      const size = python.size({options: own(options)}, zeros)
      sizes.set(key, size)
      return size
    },
    phi: ({inputScale, projection, options}) => {
      const rows = projection && [hostArray(threeAxes(projection))]
      const request = {options: own(options)}
      const features = tf.customGrad((...args) => {
        const [x, save] = args as [tf.Tensor, (tensors: tf.Tensor[]) => void]
        save([x])
        return {
          value: tensorOf(python.array({...request, do: 'phi'}, [hostArray(x), ...(rows ?? [])])),
          gradFunc: (slopes: tf.Tensor, saved: tf.Tensor[]) => {
            const arrays = [hostArray(saved[0]!), ...(rows ?? []), hostArray(slopes)]
            return [tensorOf(python.array({...request, do: 'gradient'}, arrays))]
          },
        }
      })
      return (tokens: tf.Tensor4D) => features(tf.mul(tokens, inputScale)) as tf.Tensor4D
    },
  })
  return [estimator]
}

const SOFTMAX = {
  kernel: 'softmax',
  inputs: 'canonical',
  inputScale: 1,
  label: 'softmax',
} as const

function optionsOf({options}: ModuleFacts): Record<string, z.ZodType> {
  const schemas = Object.entries(options).map(([name, given]): [string, z.ZodType] => [
    name,
    optionOf(given).describe('an argument of phi'),
  ])
  return Object.fromEntries(schemas)
}

function optionOf(given: ModuleFacts['options'][string]): z.ZodType {
  switch (given.type) {
    case 'boolean':
      return z.boolean().default(given.default)
    case 'integer':
      return z.number().int().default(given.default)
    case 'number':
      return z.number().default(given.default)
    case 'text':
      return z.string().default(given.default)
  }
}

/** Rows of all heads, `[1, M, D]`, or of each. */
function threeAxes(projection: tf.Tensor): tf.Tensor {
  return projection.rank === 2 ? tf.expandDims(projection, 0) : projection
}

function hostArray(tensor: tf.Tensor): HostArray {
  const {data} = hostData(() => ({data: tensor}))
  return {shape: tensor.shape, data: Float32Array.from(data)}
}

function tensorOf({data, shape}: HostArray): tf.Tensor {
  return tf.tensor(data, [...shape], 'float32')
}
