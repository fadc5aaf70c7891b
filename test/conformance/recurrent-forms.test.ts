import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  type Decoder,
  decoder,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
  type PresetName,
} from '../../src/attention/index.js'
import {estimatorNamed, resolveOptions, supportsOf} from '../../src/attention/names.js'
import {BACKEND_NAMES, useBackend} from '../../src/backends/index.js'
import {runnableBackends} from '../helpers/backends.js'
import {recurrentOptions} from '../helpers/decode.js'

await loadEstimators()

const sizes = {batch: 2, heads: 3, headDim: 5, valueDim: 7}

const cases = METHOD_NAMES.flatMap(method =>
  ['exact', ...Object.keys(estimatorNamed(method).presets)].map(
    preset => [method, preset as PresetName] as const,
  ),
)

function make(method: MethodName, options: object): Decoder {
  const tokens = () => tf.ones<tf.Rank.R4>([sizes.batch, sizes.heads, 4, sizes.headDim])
  const calibration = estimatorNamed(method).calibrates
    ? {calibration: {query: tokens(), key: tokens()}}
    : {}
  return decoder({method, ...sizes, ...recurrentOptions(method, 9), ...calibration, ...options})
}

/** Methods that decode with default options. */
const decoding = METHOD_NAMES.filter(name => {
  const estimator = estimatorNamed(name)
  return supportsOf(estimator, resolveOptions(estimator, 'exact')).decode
})

describe.each(await runnableBackends())('a decoder made inside tf.tidy on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(decoding)('%s keeps what it needs, and frees it in the end', method => {
    const before = tf.memory().numTensors
    let made!: Decoder
    tf.tidy(() => {
      made = make(method, {numFeatures: 4})
    })
    const gate = estimatorNamed(method).takesGate ? tf.fill([2, 3, 1], 0.5) : undefined
    const token = (width: number) => tf.ones<tf.Rank.R4>([2, 3, 1, width])
    tf.tidy(() => {
      const out = made.next(token(5), token(5), token(7), gate as tf.Tensor3D)
      expect(out.shape).toEqual([2, 3, 1, 7])
    })
    made.dispose()
    gate?.dispose()
    expect(tf.memory().numTensors).toBe(before)
  })
})

describe('recurrent forms', () => {
  beforeAll(() => useBackend('cpu'))

  it.each(cases)(
    '%s, preset %s: there is one exactly where the options say so',
    (method, preset) => {
      const estimator = estimatorNamed(method)
      const made = () => tf.tidy(() => make(method, {preset, numFeatures: 4}).dispose())
      if (supportsOf(estimator, resolveOptions(estimator, preset)).decode) made()
      else expect(made).toThrow(`${method}: `)
    },
  )

  it('leave a projection that they were given', () => {
    const projection = tf.ones<tf.Rank.R2>([7, sizes.headDim])
    make('rfa', {projection}).dispose()
    expect(projection.isDisposed).toBe(false)
    projection.dispose()
  })

  it('count the rows of the projection that is given', () => {
    const shapes = (['rfa', 'favor-pos', 'hrf'] as const).map(method =>
      tf.tidy(() => {
        const projection = tf.ones<tf.Rank.R2>([11, sizes.headDim])
        const {state} = make(method, {numFeatures: 4, projection})
        return state.state!.shape.slice(2)
      }),
    )
    expect(shapes).toEqual([
      [2 * 11, 7],
      [11, 7],
      [4 * 11 * 3, 7],
    ])
  })

  it('carry the same tensors by the same names on every backend', async () => {
    const methods = METHOD_NAMES.filter(method => estimatorNamed(method).supports.decode)
    const carried = () =>
      methods.map(method =>
        tf.tidy(() => {
          const steps = make(method, {numFeatures: 4})
          const row = (width: number): tf.Tensor4D => tf.ones([sizes.batch, sizes.heads, 1, width])
          steps.next(row(5), row(5), row(7))
          return [method, Object.entries(steps.state).map(([name, {shape}]) => [name, shape])]
        }),
      )
    const judge = carried()
    for (const backend of BACKEND_NAMES) {
      try {
        await useBackend(backend)
      } catch {
        continue // not on this machine
      }
      expect(carried()).toEqual(judge)
    }
  })
})
