import {describe, expect, it} from 'vitest'
import {tf} from '../../../../../src/attention/index.js'
import {runTuneCell, withoutGradient} from '../../../../../src/experiments/tune/measure/cell.js'
import {type TuneCell, tuneResult} from '../../../../../src/experiments/tune/schema.js'
import {packagedInput} from '../../../../../src/inputs/packaged.js'

function cellOf(changes: Partial<TuneCell> = {}): TuneCell {
  return {
    ...{method: 'favor-pos', preset: 'exact', options: {}},
    ...{projection: 'orth', orth_sign: 'haar', num_features: 64, draw: 0},
    input: {
      kind: 'file',
      paths: [packagedInput(false)],
      names: {query: 'q', key: 'k', value: 'v'},
    },
    ...{learn: 'maps,rows', steps: 20, learning_rate: 0.01, held_out: 0.2, draws: 2},
    ...{causal: false, seed: 0, backend: 'auto'},
    ...changes,
  }
}

async function resultOf(changes?: Partial<TuneCell>, threadShare = 1) {
  const outcome = await runTuneCell(cellOf(changes), {threadShare})
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return tuneResult.parse(outcome.result)
}

describe('learning from a layer', () => {
  it('lowers the error on held-out tokens, by the same bits for any number of threads', async () => {
    const {seconds: _, ...result} = await resultOf()
    const error = (variant: string) => result.errors.find(one => one.variant === variant)!
    expect(error('tuned').rel_l2).toBeLessThan(error('untuned').rel_l2!)
    expect(error('more_features').variant_num_features).toBe(1024)
    expect(result).toMatchObject({held_out_by: 'texts', learned_tokens: 256, held_out_tokens: 180})
    expect(result.errors.map(({variant}) => variant)).toEqual([
      ...['untuned', 'tuned', 'mean_value', 'zero'],
      ...['temperature', 'more_features', 'oprf', 'saderf'],
    ])
    const {seconds: __, ...again} = await resultOf({}, 2)
    expect(again).toEqual({...result, threads: again.threads})
  })

  it('learns maps that serve any draw, over draws of every step', async () => {
    const {errors, parameters, curve} = await resultOf({learn: 'maps', draw: null})
    expect(new Set(errors.map(({replicate}) => replicate))).toEqual(new Set([0, 1]))
    expect(parameters.map(({name}) => name)).toEqual(['query_map', 'key_map'])
    expect(curve.at(-1)!.held_out_error).toBeLessThan(curve[0]!.held_out_error!)
  })

  it('says that a temperature changes nothing where queries and keys are normalised', async () => {
    await expect(
      resultOf({method: 'rfa', learn: 'temperature', draw: null, steps: 1}),
    ).rejects.toThrow('rfa: expected outputs that depend on temperature, got gradients of zero')
  })

  it('refuses an operation without a gradient in a sentence', () => {
    const gradient = tf.grad(() => tf.scalar(1))
    try {
      gradient(tf.scalar(0))
      expect.unreachable()
    } catch (error) {
      expect(withoutGradient(error, cellOf())).toMatchObject({
        code: 'UNSUPPORTED',
        message: expect.stringContaining(
          'favor-pos: expected a gradient by maps,rows, got an operation without one',
        ),
      })
    }
    const other = new Error('disk full')
    expect(withoutGradient(other, cellOf())).toBe(other)
  })
})
