import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {tf} from '../../../../../src/attention/index.js'
import {runTuneCell, withoutGradient} from '../../../../../src/experiments/tune/measure/cell.js'
import {type TuneCell, tuneResult} from '../../../../../src/experiments/tune/schema.js'
import {readArrays, writeArrays} from '../../../../../src/inputs/files/index.js'
import type {NdArray} from '../../../../../src/inputs/nd-array.js'
import {packagedInput} from '../../../../../src/inputs/packaged.js'
import {newFolder} from '../../../../helpers/folders.js'

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

  it('learns outputs of the original from the texts of its draw', async () => {
    const folder = await newFolder()
    const layer = await readArrays(packagedInput(false))
    const doubled = new Map<string, NdArray>()
    for (const [name, {shape, data, ...rest}] of layer.arrays) {
      if (!['q', 'k', 'v', 'key_mask'].includes(name)) continue
      const [batch, ...axes] = shape as [number, ...number[]]
      const own = Array.from(data, Number)
      // nothing can be learned from the first half
      const both = Float32Array.from([...(name === 'key_mask' ? own : own.map(() => 0)), ...own])
      doubled.set(name, {...rest, shape: [2 * batch, ...axes], dtype: 'float32', data: both})
    }
    const path = join(folder, 'layer5.safetensors')
    await writeArrays(path, Object.fromEntries(doubled), layer.metadata)
    const {input: original} = cellOf()
    const names = {query: 'q', key: 'k', value: 'v'}
    const input = {kind: 'file' as const, paths: [path], names}
    const brief = {steps: 3, draw: 1}
    const plain = await resultOf(brief)
    // the texts of draw 1 are those of the model as it is
    const second = await resultOf({...brief, input, original})
    const numbers = ({seconds: _, ...result}: typeof plain) => result
    expect(numbers(second)).toEqual({...numbers(plain), input_origin: second.input_origin})
    const first = await resultOf({...brief, input, original, learn: 'maps', draw: 0}).catch(String)
    expect(first).toContain('expected outputs that depend on maps')
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
