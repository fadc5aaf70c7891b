import {beforeAll, describe, expect, it} from 'vitest'
import {attention, decoder} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostInputs, SMALL, sliceRows, toTensors} from '../../../helpers/arrays.js'
import {decodeAll} from '../../../helpers/decode.js'
import {thrown} from '../../../helpers/thrown.js'

beforeAll(() => useBackend('cpu'))

const LENGTH = 13
const inputs = hostInputs({...SMALL, batch: 1, keyLen: LENGTH})
const sizes = {heads: SMALL.heads, headDim: SMALL.headDim, valueDim: SMALL.valueDim}

describe('the length that cosformer counts with', () => {
  const run = (tokens: number, maxLength: number | null) =>
    compute(() => {
      const cut = {
        query: sliceRows(inputs.query, 0, tokens),
        key: sliceRows(inputs.key, 0, tokens),
        value: sliceRows(inputs.value, 0, tokens),
      }
      return attention(...toTensors(cut), {method: 'cosformer', causal: true, maxLength})
    })
  /** Rows before `count` of each head. */
  const prefix = (out: Float32Array, tokens: number, count: number) =>
    out.filter((_, at) => Math.floor(at / SMALL.valueDim) % tokens < count)

  it('makes a longer call extend a shorter one, bit by bit, when it is told', () => {
    expect(prefix(run(LENGTH, 40), LENGTH, 7)).toEqual(run(7, 40))
  })

  it('is that of the call when it is not told', () => {
    expect(run(7, null)).toEqual(run(7, 7))
    expect(prefix(run(LENGTH, null), LENGTH, 7)).not.toEqual(run(7, null))
  })

  it('must not be exceeded', () => {
    expect(thrown(() => run(LENGTH, 7))).toMatchObject({
      code: 'BAD_OPTION',
      message: 'cosformer.maxLength: expected at least 13, the number of tokens, got 7',
    })
    const step = decoder({method: 'cosformer', ...sizes, maxLength: 3})
    expect(thrown(() => decodeAll(step, inputs)).message).toBe(
      'cosformer.maxLength: expected at least 4, the number of tokens, got 3',
    )
    step.dispose()
  })

  it('must be told for decoding', () => {
    expect(thrown(() => decoder({method: 'cosformer', ...sizes}))).toMatchObject({
      code: 'BAD_OPTION',
      message: 'cosformer.maxLength: expected the number of tokens to come, got null',
    })
  })
})
