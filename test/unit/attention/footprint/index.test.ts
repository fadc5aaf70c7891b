import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../../../src/attention/attention.js'
import {
  type Estimators,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
} from '../../../../src/attention/estimators/index.js'
import {FUSED_RULES} from '../../../../src/attention/footprint/fused.js'
import {
  countingOn,
  footprint,
  plainSeconds,
  spread,
} from '../../../../src/attention/footprint/index.js'
import type {Estimator} from '../../../../src/attention/forms/estimator.js'
import {noiseSpecs} from '../../../../src/attention/forms/noise.js'
import {resolveOptions} from '../../../../src/attention/resolve.js'
import type {CallShape, PresetName} from '../../../../src/attention/types.js'
import {useBackend} from '../../../../src/backends/index.js'
import {NATIVE_KERNELS} from '../../../../src/backends/native/kernels/index.js'
import {casesOn, runnableBackends} from '../../../helpers/backends.js'
import {SLOW} from '../../../helpers/effort.js'

// tensors of tensorflow live in its library, which tells nothing: bench/calibrate/predictions.ts holds whole processes
const BACKENDS = (await runnableBackends()).filter(name => name !== 'tensorflow')

// more than one chunk of a causal form, and a column of ones among the values
const SIZES = {
  batch: 1,
  heads: 2,
  queryLen: 70,
  keyLen: 70,
  headDim: 8,
  valueDim: 5,
  numFeatures: 16,
}

/** What the suite runs of a method: every preset in the slow runs, its exact form always. */
function casesOf({supports, presets}: Estimator): {causal: boolean; preset: PresetName}[] {
  const forms = [false, true].filter(causal => (causal ? supports.causal : supports.bidirectional))
  const names = SLOW ? (Object.keys(presets) as PresetName[]) : []
  return forms.flatMap(causal => (['exact', ...names] as const).map(preset => ({causal, preset})))
}

describe.each(BACKENDS)('footprint on %s', backend => {
  let estimators: Estimators
  beforeAll(async () => {
    await useBackend(backend)
    estimators = await loadEstimators()
  })

  it.each(casesOn(backend, METHOD_NAMES))('%s: counts the bytes that a call holds', name => {
    const estimator = estimators[name] as unknown as Estimator
    for (const {causal, preset} of casesOf(estimator)) {
      const shape = {...SIZES, causal}
      const options = resolveOptions(estimator, preset)
      const counted = footprint(estimator, options, shape, backend as 'cpu')
      const held = heldBytes(estimator, options, shape, preset)
      // what kernels of the library take for themselves is a hundredth at most; beside every tensor of tfjs-wasm
      // there may be its packed copy, which only the library sees
      expect(counted, `${preset} ${causal}`).toBeGreaterThanOrEqual(0.99 * held)
      const most = backend === 'wasm' ? 2 * held + bytesOf(SIZES) : 1.01 * held
      expect(counted, `${preset} ${causal}`).toBeLessThanOrEqual(most)
      expect(tf.getBackend()).toBe(backend)
    }
  })

  it('follows long sequences from shorter ones', () => {
    const estimator = estimators.softmax as unknown as Estimator
    const at = (length: number) =>
      footprint(
        estimator,
        {},
        {...SIZES, queryLen: length, keyLen: length, causal: false},
        backend as 'cpu',
      )
    // logits and weights, and the output, are what grows with the square
    const square = (at(4096) - 2 * at(2048)) / (4096 ** 2 - 2 * 2048 ** 2)
    const linear = (at(4096) - square * 4096 ** 2) / 4096
    expect(at(100_000) / (square * 1e10 + linear * 1e5)).toMatchReference(1, 6)
  })

  /** Bytes of so many tokens. */
  const bytesAt = (name: MethodName, numFeatures: number, given: Record<string, unknown> = {}) => {
    const estimator = estimators[name] as unknown as Estimator
    const options = resolveOptions(estimator, 'exact', given)
    return (length: number) => {
      const shape = {...SIZES, queryLen: length, keyLen: length, numFeatures, causal: false}
      return footprint(estimator, options, shape, backend as 'cpu')
    }
  }

  it('leaves out lengths that a method refuses', () => {
    const at = bytesAt('lara', 16, {proposals: 'grid'})
    expect(at(2048)).toBe(0) // no square
    const slope = (at(4096) - at(1024)) / (4096 - 1024)
    expect(at(16384) / (at(4096) + slope * (16384 - 4096))).toMatchReference(1, 6)
  })

  it('leaves out lengths at which there are fewer landmarks than were asked for', () => {
    const at = bytesAt('nystrom', 2048)
    const slope = (at(8192) - at(4096)) / 4096
    expect(slope).toBeGreaterThan(0)
    expect(at(32768) / (at(8192) + slope * (32768 - 8192))).toMatchReference(1, 2)
  })

  it('never takes a longer sequence to need less, or to grow more slowly', () => {
    for (const name of casesOn(backend, METHOD_NAMES)) {
      if (!estimators[name].supports.bidirectional) continue
      const at = bytesAt(name, 16)
      const slope = (at(4096) - at(2048)) / 2048
      expect(at(65536), name).toBeGreaterThanOrEqual(0.999 * (at(4096) + slope * (65536 - 4096)))
    }
  })

  it('takes elements of a batch to be alike', () => {
    const estimator = estimators['favor-pos'] as unknown as Estimator
    const at = (batch: number) =>
      footprint(
        estimator,
        resolveOptions(estimator, 'exact'),
        {...SIZES, batch, causal: true},
        backend as 'cpu',
      )
    expect(at(9)).toMatchReference(at(2) + 7 * (at(3) - at(2)), 9)
  })
})

describe('counting on one meter', () => {
  it('finds what each call by itself finds, on another backend in between, too, and leaves the backend', async () => {
    await useBackend('cpu')
    const estimators = await loadEstimators()
    const lengths = [30, 31, 32, 33]
    const counted = (length: number, backend: 'native' | 'cpu', unread = {}) => {
      const shape = {...SIZES, queryLen: length, keyLen: length, causal: length % 2 === 0}
      const names = ['favor-pos', 'nystrom', 'elu'] as const
      return names.flatMap(name => {
        const estimator = estimators[name] as unknown as Estimator
        const options = {...resolveOptions(estimator, 'exact'), ...unread}
        const call = [estimator, options, shape, backend] as const
        return [footprint(...call), plainSeconds(...call)]
      })
    }
    const together = countingOn('native', () =>
      lengths.map(length => [counted(length, 'native'), counted(length + 1000, 'cpu')]),
    )
    const numTensors = tf.memory().numTensors
    const again = {unread: 'by the methods, so that nothing is remembered from above'}
    const alone = lengths.map(length => [
      counted(length, 'native', again),
      counted(length + 1000, 'cpu', again),
    ])
    expect(together).toEqual(alone)
    expect(together.flat(2).filter(figure => figure > 0).length).toBeGreaterThan(20)
    expect(tf.getBackend()).toBe('cpu')
    expect(tf.memory().numTensors).toBe(numTensors)
    expect(() =>
      countingOn('native', () => {
        throw new Error('inside')
      }),
    ).toThrow('inside')
    expect(tf.getBackend()).toBe('cpu')
  })
})

describe('footprint', () => {
  it('knows every kernel that the native backend adds for whole sequences', () => {
    const own = NATIVE_KERNELS.map(({kernelName}) => kernelName).filter(
      name => !tf.getKernel(name, 'cpu') && !name.endsWith('Decode'),
    )
    expect(Object.keys(FUSED_RULES).sort()).toEqual(own.sort())
  })

  it('leaves no backend behind where there was none', async () => {
    const estimator = (await loadEstimators()).elu as unknown as Estimator
    const before = tf.getBackend()
    tf.engine().backendName = undefined as unknown as string
    footprint(
      estimator,
      resolveOptions(estimator, 'exact'),
      {...SIZES, queryLen: 9, keyLen: 9, causal: false},
      'cpu',
    )
    expect(tf.getBackend() ?? null).toBeNull()
    await tf.setBackend(before)
  })

  it('is nothing for a call whose operations are not known', async () => {
    const elu = (await loadEstimators()).elu as unknown as Estimator
    const strange = {
      ...elu,
      name: 'strange',
      attend: () => tf.engine().runKernel('Strange', {}) as never,
    }
    const options = resolveOptions(elu, 'exact')
    expect(footprint(strange, options, {...SIZES, causal: false}, 'cpu')).toBe(0)
  })

  it('is nothing for a call that the method refuses', async () => {
    const lara = (await loadEstimators()).lara as unknown as Estimator
    const options = resolveOptions(lara, 'exact')
    expect(footprint(lara, options, {...SIZES, causal: true}, 'cpu')).toBe(0)
    const grid = resolveOptions(lara, 'exact', {proposals: 'grid'}) // 70 tokens are no square
    expect(footprint(lara, grid, {...SIZES, causal: false}, 'cpu')).toBe(0)
  })
})

function bytesOf({batch, heads, queryLen, headDim}: typeof SIZES): number {
  return 4 * batch * heads * queryLen * headDim
}

/** What a backend's store keeps of a tensor. */
interface Entry {
  values?: Float32Array
  memoryOffset?: number
  shape?: number[]
  dtype: tf.DataType
}
type Store = Map<object, Entry>

/** Runs the method and watches the backend's own store of tensors. Views of one array count once. */
function heldBytes(
  {name, noise}: Estimator,
  options: Record<string, unknown>,
  shape: CallShape,
  preset: PresetName,
): number {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, causal, numFeatures} = shape
  const [query, key, value] = [
    [queryLen, headDim],
    [keyLen, headDim],
    [keyLen, valueDim],
  ].map(([rows, columns]) => tf.randomNormal([batch, heads, rows!, columns!])) as tf.Tensor4D[]
  const backend = tf.backend() as unknown as {data?: Store; dataIdMap?: Store}
  const watch = watched((backend.dataIdMap ?? backend.data)!, [query!, key!, value!])
  try {
    tf.tidy(() => {
      const drawn = Object.entries(noiseSpecs({noise}, shape, options)).map(([array, spec]) => {
        const sizes = [spec.shared ? 1 : batch, heads, spec.rows, spec.columns]
        const values = Float32Array.from({length: tf.util.sizeFromShape(sizes)}, (_, i) =>
          spread(i),
        )
        return [array, tf.tensor(values, sizes)]
      })
      const call = {method: name, preset, causal, numFeatures, noise: Object.fromEntries(drawn)}
      attend(query!, key!, value!, call)
    })
  } finally {
    watch.stop()
    tf.dispose([query!, key!, value!])
  }
  return watch.peak()
}

function watched(store: Store, given: tf.Tensor[]) {
  const {set, delete: remove} = store
  const users = new Map<object | number, number>()
  const placeOf = (id: object, {values, memoryOffset}: Entry) =>
    values?.buffer ?? memoryOffset ?? id
  const sizeOf = ({values, shape, dtype}: Entry) =>
    values?.byteLength ?? tf.util.sizeFromShape(shape!) * tf.util.bytesPerElement(dtype)
  for (const {dataId} of given) users.set(placeOf(dataId, store.get(dataId)!), 1)
  let held = 0
  let peak = 0
  store.set = (id, given) => {
    const entry = Array.isArray(given.values)
      ? {...given, values: Float32Array.from(given.values)}
      : given
    const place = placeOf(id, entry)
    const count = users.get(place) ?? 0
    users.set(place, count + 1)
    if (count === 0) held += sizeOf(entry)
    peak = Math.max(peak, held)
    return set.call(store, id, given)
  }
  store.delete = id => {
    const entry = store.get(id)!
    const place = placeOf(id, entry)
    const count = users.get(place)! - 1
    users.set(place, count)
    if (count === 0) held -= sizeOf(entry)
    return remove.call(store, id)
  }
  return {
    peak: () => peak,
    stop: () => Object.assign(store, {set, delete: remove}),
  }
}
