import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  causalFeatureAttention,
  featureMap,
  linearAttention,
  softmaxAttention,
} from '../../src/attention/index.js'
import {
  dense,
  halfSquaredNorm,
  maskedSoftmax,
  normalizeRows,
  sampleKeys,
  segmentMeans,
} from '../../src/attention/kernels/index.js'
import {logSumExp} from '../../src/attention/kernels/log-sum-exp.js'
import {type Mixture, optimalMixture} from '../../src/attention/kernels/optimal-mixture.js'
import {useBackend} from '../../src/backends/index.js'
import {RfaError} from '../../src/errors.js'
import {runnableBackends} from '../helpers/backends.js'

/** Arguments by name. */
type Arguments = Record<string, tf.Tensor | undefined>

/** Every operation with a call that it takes: shapes of its arguments, those it can do without last. */
interface Operation {
  needs: Record<string, number[]>
  takes: Record<string, number[]>
  /** It takes any batch: nothing in its call says which. */
  free?: boolean
  // biome-ignore lint/suspicious/noExplicitAny: what is wrong on purpose has no type
  call(given: any): unknown
}

const [B, H, L, S, D, DV, M] = [2, 3, 5, 7, 4, 6, 8]
const query = [B, H, L, D]
const key = [B, H, S, D]
const value = [B, H, S, DV]
const keyMask = [B, S]
const perKey = [B, H, S]

const OPERATIONS: Record<string, Operation> = {
  softmaxAttention: {
    needs: {query, key, value},
    takes: {keyMask, keyBias: perKey},
    call: ({query, key, value, ...options}) => softmaxAttention(query, key, value, options),
  },
  linearAttention: {
    needs: {query, key, value},
    takes: {
      keyMask,
      logGate: perKey,
      state: [B, H, D, DV],
      normalizer: [B, H, D],
    },
    call: ({query, key, value, state, normalizer, ...options}) =>
      linearAttention(query, key, value, {
        ...options,
        causal: true,
        ...((state || normalizer) && {initialState: {state, normalizer}}),
      }),
  },
  causalFeatureAttention: {
    needs: {query, key, value},
    takes: {keyMask},
    call: given => causalFeatureAttention(given.query, given.key, given.value, given.keyMask),
  },
  featureMap: {
    needs: {x: query, projection: [H, M, D]},
    takes: {},
    free: true,
    call: ({x, projection}) => featureMap(x, projection, 'trigonometric'),
  },
  maskedSoftmax: {
    needs: {logits: [B, H, L, S]},
    takes: {keyMask},
    call: ({logits, keyMask}) => maskedSoftmax(logits, {causal: true, keyMask}),
  },
  sampleKeys: {
    needs: {query, key, uniform: [B, H, L, 2]},
    takes: {keyMask},
    call: ({query, key, uniform, ...options}) => sampleKeys(query, key, uniform, options),
  },
  optimalMixture: {
    needs: {
      query,
      vectors: key,
      values: value,
      bias: perKey,
      balance: perKey,
      affinity: [B, H, S, L],
    },
    takes: {present: keyMask},
    call: ({query, ...mixture}) =>
      optimalMixture(query, mixture as Mixture, {scale: 1, coefficient: 1, floor: 1e-6}),
  },
  segmentMeans: {
    needs: {x: query},
    takes: {},
    free: true,
    call: ({x}) => segmentMeans(x, [0, 2, L]),
  },
  dense: {
    needs: {x: [L, D], weight: [D, M]},
    takes: {bias: [M]},
    free: true,
    call: ({x, weight, bias}) => dense(x, weight, {bias, activation: 'gelu'}),
  },
  normalizeRows: {
    needs: {x: [L, D], weight: [D]},
    takes: {bias: [D]},
    free: true,
    call: ({x, weight, bias}) => normalizeRows(x, weight, {bias, epsilon: 1e-5}),
  },
  halfSquaredNorm: {
    needs: {x: query},
    takes: {},
    free: true,
    call: ({x}) => halfSquaredNorm(x, 0.5),
  },
  logSumExp: {needs: {x: query}, takes: {}, free: true, call: ({x}) => logSumExp(x)},
}

/** What can be wrong with an argument; `undefined` where it is not wrong for that one. */
const FAULTS: Record<string, (x: tf.Tensor, of: Operation) => unknown> = {
  'a number': () => 5,
  words: x => tf.tensor(new Array(x.size).fill('a'), x.shape, 'string'),
  'a disposed tensor': x => {
    x.dispose()
    return x
  },
  'an empty tensor': x => tf.zeros([...x.shape.slice(0, -1), 0]),
  'fewer axes': (x, {needs}) => (isRow(needs) || x.rank === 1 ? tf.scalar(1) : tf.reshape(x, [-1])),
  'another batch': (x, {free}) => (free ? undefined : tf.concat([x, x, x], 0)),
}

/** Operations on the last axis take any number of others. */
const isRow = (needs: Operation['needs']) => needs === OPERATIONS.logSumExp!.needs

function madeOf(shapes: Record<string, number[]>): Arguments {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, tf.ones(shape)]))
}

/** The refusal of a call on the backend in force: code and words. */
function refusal(operation: Operation, name: string, fault: string | undefined): string {
  return tf.tidy(() => {
    const given = madeOf({...operation.needs, ...operation.takes})
    const wrong = fault && FAULTS[fault]!(given[name]!, operation)
    if (fault && wrong === undefined) return 'nothing wrong'
    try {
      operation.call({...given, [name]: wrong})
    } catch (error) {
      if (!(error instanceof RfaError)) throw error
      return `${error.code} ${error.message}`
    }
    return 'taken'
  })
}

const backends = await runnableBackends()

describe.each(Object.entries(OPERATIONS))('%s', (_, operation) => {
  const names = Object.keys({...operation.needs, ...operation.takes})
  const cases = names.flatMap(name => Object.keys(FAULTS).map(fault => [name, fault] as const))

  it.each(backends)('takes a call that is right on %s', async backend => {
    await useBackend(backend)
    tf.tidy(() => {
      operation.call(madeOf({...operation.needs, ...operation.takes}))
      operation.call(madeOf(operation.needs))
    })
  })

  it.each(Object.keys(operation.needs))('refuses a call without %s', async name => {
    await useBackend('cpu')
    expect(refusal(operation, name, undefined)).toMatch(/^BAD_OPTION /)
  })

  describe('refuses in the same words on every backend', () => {
    const words = new Map<string, string>()
    beforeAll(async () => {
      await useBackend('cpu')
      for (const [name, fault] of cases) {
        words.set(`${name} ${fault}`, refusal(operation, name, fault))
      }
    })

    it.each(backends)('%s', async backend => {
      await useBackend(backend)
      for (const [name, fault] of cases) {
        const expected = words.get(`${name} ${fault}`)
        expect(expected, `${name}: ${fault}`).toMatch(
          /^(BAD_OPTION|SHAPE_MISMATCH) |^nothing wrong/,
        )
        expect(refusal(operation, name, fault), `${name}: ${fault}`).toBe(expected)
      }
    })
  })
})
