import {beforeAll, describe, expect, it} from 'vitest'
import {attention, tf} from '../../../../src/attention/index.js'
import {hostData, softmaxCrossEntropy} from '../../../../src/attention/internal.js'
import {useBackend} from '../../../../src/backends/index.js'
import {
  type CausalAttention,
  hiddenStates,
  optimiserOf,
  type SmallModel,
  startWeights,
  tokenLogits,
} from '../../../../src/model/trained/index.js'
import {registerGradients} from '../../../../src/tf.js'

const MODEL: SmallModel = {
  ...{vocabulary: 11, length: 9, width: 12, layers: 2, heads: 3, headDim: 5, mlp: 7},
  ...{convolution: 3, positions: true, gated: true},
}
const [BATCH, LENGTH] = [2, 7]
const TOKENS = Int32Array.from({length: BATCH * LENGTH}, (_, at) => (7 * at) % 11)

const attend: CausalAttention = ({query, key, value, gate}) =>
  attention(query, key, tf.mul(value, tf.expandDims(gate!, -1)), {method: 'elu', causal: true})

/** Logits `[B L, V]`. */
function logits(tokens: Int32Array, model = MODEL, own = attend): Float32Array {
  const optimiser = optimiserOf(startWeights(model, 1, 0))
  const data = hostData(() => {
    const batch = tf.tensor2d(tokens, [BATCH, LENGTH], 'int32')
    const hidden = hiddenStates(model, optimiser.weight, {tokens: batch, attend: own})
    return {logits: tokenLogits(optimiser.weight, hidden)}
  })
  optimiser.dispose()
  return Float32Array.from(data.logits)
}

beforeAll(async () => {
  await useBackend('auto', {threads: 1})
  await registerGradients()
})

describe('a small model', () => {
  it('predicts a token from those up to it alone', () => {
    const other = Int32Array.from(TOKENS)
    other[LENGTH - 2] = 10 - other[LENGTH - 2]!
    const [a, b] = [logits(TOKENS), logits(other)]
    const V = MODEL.vocabulary
    const changed = (LENGTH - 2) * V
    expect(b.slice(0, changed)).toEqual(a.slice(0, changed))
    expect(b.slice(changed, changed + V)).not.toEqual(a.slice(changed, changed + V))
    // the other sequence of the batch
    expect(b.slice(LENGTH * V)).toEqual(a.slice(LENGTH * V))
  })

  it('convolves three tokens with a gate, as plain loops do', () => {
    const model = {...MODEL, layers: 0, positions: false}
    const weights = new Map(startWeights(model, 1, 0).map(({name, values}) => [name, values]))
    const {width, vocabulary} = model
    const row = (name: string, at: number) =>
      weights.get(name)!.subarray(at * width, (at + 1) * width)
    const unit = (x: ArrayLike<number>) => {
      const own = Array.from(x)
      const mean = own.reduce((sum, y) => sum + y, 0) / width
      const centred = own.map(y => y - mean)
      const size = Math.sqrt(centred.reduce((sum, y) => sum + y * y, 0) / width + 1e-5)
      return centred.map(y => y / size)
    }
    const at = 4
    const states = [...TOKENS.slice(0, LENGTH)].map(token => row('embedding', token))
    const own = unit(states[at]!)
    const filter = (tap: number) => row('convolution.filter.weight', tap)
    const gate = (to: number) =>
      own.reduce((sum, y, from) => sum + y * row('convolution.gate.weight', from)[to]!, 0)
    const hidden = Array.from(states[at]!, (x, i) => {
      const taps = [0, 1, 2].map(tap => filter(tap)[i]! * unit(states[at - tap]!)[i]!)
      return x + gate(i) * taps.reduce((sum, y) => sum + y, 0)
    })
    const normed = unit(hidden)
    const head = weights.get('head.weight')!
    const wanted = Array.from({length: vocabulary}, (_, to) =>
      normed.reduce((sum, y, from) => sum + y * head[from * vocabulary + to]!, 0),
    )
    const found = logits(TOKENS, model).subarray(at * vocabulary, (at + 1) * vocabulary)
    // three products of 12 terms with entries of order 1, and their norms
    const reach = 3 * 12 * 12 * 2 ** -24
    wanted.forEach((x, i) => {
      expect(Math.abs(found[i]! - x)).toBeLessThan(reach)
    })
  })

  it('has gradients along which the loss changes as differences say', () => {
    const optimiser = optimiserOf(startWeights(MODEL, 2, 0))
    const labels = tf.tensor1d(
      [...TOKENS].map(token => (3 * token + 1) % 11),
      'int32',
    )
    const loss = () => {
      const tokens = tf.tensor2d(TOKENS, [BATCH, LENGTH], 'int32')
      const hidden = hiddenStates(MODEL, optimiser.weight, {tokens, attend})
      return softmaxCrossEntropy(tokenLogits(optimiser.weight, hidden), labels)
    }
    const {grads} = optimiser.gradients(loss)
    const step = 1e-2
    for (const name of ['embedding', 'convolution.filter.weight', '0.gate.bias', '1.qkv.weight']) {
      const slope = grads[name]!
      const size = Number(tf.norm(slope).dataSync()[0])
      const value = optimiser.weight(name) as tf.Variable
      const own = tf.clone(value)
      const moved = [step, -step].map(by => {
        value.assign(tf.add(own, tf.mul(slope, by / size)))
        return Number(loss().dataSync()[0])
      })
      value.assign(own)
      // central differences: the third derivative and roundings of the loss over two steps
      const reach = 0.02 * size + (2 * 2 ** -20) / (2 * step)
      expect(Math.abs((moved[0]! - moved[1]!) / (2 * step) - size)).toBeLessThan(reach)
    }
    optimiser.dispose()
  })
})
