/** Estimators of a file of Python. */
import {basename, extname} from 'node:path'
import {z} from 'zod'
import {
  defineEstimator,
  defineFeatureMap,
  type Estimator,
  guardOptions,
  type Projection,
} from '../../attention/index.js'
import {hostData, softmaxCost} from '../../attention/internal.js'
import {expected} from '../../errors.js'
import {elementCount} from '../../inputs/nd-array.js'
import {tf} from '../../tf.js'
import type {ModuleFacts} from './answers.js'
import {type HostArray, loadPython, type PythonModule, type Request} from './process.js'

/**
 * The estimator of a file, which has one of two functions:
 *
 * - `phi(x, projection, *, option=default)` gives features `[B, H, n, F]` of tokens x `[B, H, n, D]`, canonical, and rows
 *   `[H, M, D]`;
 * - `attention(query, key, value, projection, *, causal=False, key_mask=None, option=default)` gives outputs `[B, H, L, Dv]`
 *   of queries `[B, H, L, D]`, keys and values, where softmax attention has the scale `D^(-1/2)`; `causal`, `key_mask`
 *   (`[B, S]`, true for keys that are seen) and `projection` may be left out.
 *
 * All are tensors of PyTorch if the file imports it, else arrays of NumPy.
 *
 * @param path - as it was given
 * @param file - without symbolic links
 */
export async function pythonEstimators(path: string, file: string): Promise<Estimator[]> {
  const python = await loadPython(path, file)
  return [python.facts.does === 'phi' ? mapOf(python, path, file) : wholeOf(python, path, file)]
}

/** Facts of both kinds. */
function statedFacts({facts}: PythonModule, path: string, file: string) {
  const name = facts.name ?? basename(path, extname(path)).replaceAll('_', '-')
  return {
    name,
    title: facts.title ?? (facts.says || name),
    citation: facts.citation ?? basename(path),
    formula: `${facts.does} of ${basename(path)}`,
    advice: '',
    nonNegative: facts.non_negative ?? false,
    python: {path: file, library: facts.library, options: Object.keys(facts.options)},
    ...(facts.projected && {projection: {default: 'orth'} as const}),
    ...(facts.library === 'numpy' && {stepwise: 'NumPy has no gradients'}),
  }
}

function mapOf(python: PythonModule, path: string, file: string): Estimator {
  const {facts} = python
  const sizes = new Map<string, number>()
  return defineFeatureMap({
    ...statedFacts(python, path, file),
    options: z.object({...optionsOf(facts), ...guardOptions}),
    inputs: () => 'canonical',
    ...(facts.unbiased_for && {unbiasedFor: 'softmax-kernel', target: () => SOFTMAX}),
    featureDim(numFeatures, headDim, options) {
      const key = JSON.stringify([numFeatures, headDim, options])
      const known = sizes.get(key)
      if (known !== undefined) return known
      const shapes = [[1, 1, 1, headDim], ...(facts.projected ? [[1, numFeatures, headDim]] : [])]
      const zeros = shapes.map(shape => ({shape, data: new Float32Array(elementCount(shape))}))
      const size = python.size({options}, zeros)
      sizes.set(key, size)
      return size
    },
    phi: ({inputScale, projection, options}) => {
      const features = differentiable(python, {options}, rowsOf(projection))
      return tokens => features(tf.mul(tokens, inputScale)) as tf.Tensor4D
    },
  })
}

function wholeOf(python: PythonModule, path: string, file: string): Estimator {
  const {facts} = python
  const options = z.object(optionsOf(facts))
  const causal = facts.forms.includes('causal')
  const keyMask = facts.forms.includes('key_mask')
  return defineEstimator<z.ZodObject>({
    ...statedFacts(python, path, file),
    options,
    inputs: () => 'canonical',
    unbiasedFor: facts.unbiased_for ? 'output' : 'none',
    target: () => (facts.unbiased_for ? SOFTMAX : undefined),
    supports: {bidirectional: true, causal, cross: true, decode: false, keyMask},
    rowsSumToOne: false,
    // or may: it is not known
    keyOrderMatters: true,
    featureDim: () => 0,
    // what plans reckon with
    cost: shape => softmaxCost(shape, {tiled: true}),
    attend({query, key, value, inputScale, projection, causal, keyMask, options}) {
      const rest = [...rowsOf(projection), ...(keyMask ? [hostArray(keyMask)] : [])]
      const request = {options, causal, masked: keyMask !== undefined}
      // queries and keys of any scale, so that their softmax has the one of D
      const scale = inputScale * query.shape[3] ** 0.25
      const scaled = [query, key].map(tokens => tf.mul(tokens, scale))
      return {out: differentiable(python, request, rest)(...scaled, value) as tf.Tensor4D}
    },
    presets: {},
  })
}

/** What a file gives of tokens, and of what it has no gradient by. */
function differentiable(
  python: PythonModule,
  request: Omit<Request, 'do'>,
  rest: readonly HostArray[],
): (...tokens: tf.Tensor[]) => tf.Tensor {
  return tf.customGrad((...args) => {
    const tokens = args.slice(0, -1) as tf.Tensor[]
    const save = args.at(-1) as (tensors: tf.Tensor[]) => void
    save(tokens)
    const arrays = [...tokens.map(hostArray), ...rest]
    return {
      value: tensorOf(python.array({...request, do: 'value'}, arrays)),
      gradFunc: (slopes: tf.Tensor, saved: tf.Tensor[]) => {
        const arrays = [...saved.map(hostArray), ...rest, hostArray(slopes)]
        const {data} = python.array({...request, do: 'gradient'}, arrays)
        let end = 0
        return saved.map(({shape, size}) => {
          end += size
          return tensorOf({shape, data: data.subarray(end - size, end)})
        })
      },
    }
  })
}

const SOFTMAX = {
  kernel: 'softmax',
  inputs: 'canonical',
  inputScale: 1,
  label: 'softmax',
} as const

/** @throws {BAD_PLUGIN} for names that mean something else here */
function optionsOf({does, options}: ModuleFacts): Record<string, z.ZodType> {
  const taken = Object.keys(options).find(name => name in Object.prototype || name in guardOptions)
  if (taken !== undefined) {
    const remedy = `rename the argument ${taken}`
    throw expected('BAD_PLUGIN', does, 'arguments with other names', taken, remedy)
  }
  const schemas = Object.entries(options).map(([name, option]): [string, z.ZodType] => [
    name,
    optionOf(option).describe(`an argument of ${does}`),
  ])
  return Object.fromEntries(schemas)
}

function optionOf(option: ModuleFacts['options'][string]): z.ZodType {
  switch (option.type) {
    case 'boolean':
      return z.boolean().default(option.default)
    case 'integer':
      return z.int().default(option.default)
    case 'number':
      return z.number().default(option.default)
    case 'text':
      return z.string().default(option.default)
  }
}

/** Rows of all heads, `[1, M, D]`, or of each; none where there are none. */
function rowsOf(projection: Projection | undefined): HostArray[] {
  if (!projection) return []
  return [hostArray(projection.rank === 2 ? tf.expandDims(projection, 0) : projection)]
}

function hostArray(tensor: tf.Tensor): HostArray {
  const {data} = hostData(() => ({data: tensor}))
  return {shape: tensor.shape, data: Float32Array.from(data)}
}

function tensorOf({data, shape}: HostArray): tf.Tensor {
  return tf.tensor(data, [...shape], 'float32')
}
