import {createHash} from 'node:crypto'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, describe, expect, it} from 'vitest'
import {runTrainCell} from '../../../../../src/experiments/train/measure/cell.js'
import {type TrainCell, trainResult} from '../../../../../src/experiments/train/schema.js'
import {trainCellOf} from '../../../../helpers/train-records.js'

const RANDOM = {projection: 'orth', num_features: 8} as const

/** Of a cell that is looked at on one batch. */
async function resultOf(changes: Partial<TrainCell> = {}, threadShare = 1) {
  const outcome = await runTrainCell(trainCellOf({held_out: 6, ...changes}), {threadShare})
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return trainResult.parse(outcome.result)
}

/** What does not depend on the machine. */
async function bitsOf(changes: Partial<TrainCell>, threadShare?: number) {
  const {curve, test, validation} = await resultOf(changes, threadShare)
  return {curve: curve.map(({cpu_seconds: _, ...point}) => point), test, validation}
}

const folder = mkdtempSync(join(tmpdir(), 'rfa-train-'))
afterAll(() => rmSync(folder, {recursive: true}))

/** A task of characters that repeat. */
function charactersOf(text: string): TrainCell['task'] {
  const path = join(folder, 'texts.txt')
  writeFileSync(path, text)
  const digest = createHash('sha256').update(text).digest('hex')
  return {name: 'chars', length: 12, texts: {path, digest}}
}

describe('a training run', () => {
  it('learns to recall, and leaves the plateau', async () => {
    const task = {...trainCellOf().task, length: 8, vocabulary: 12} as TrainCell['task']
    const result = await resultOf({task, steps: 100, batch: 16, rate: 2e-2, held_out: 32})
    expect(result.test.accuracy).toBeGreaterThan(0.9)
    expect(result).toMatchObject({plateau: 0.5, left_plateau: true, diverged_step: null})
    expect(result.curve[0]!.loss).toBeGreaterThan(result.curve.at(-1)!.loss!)
    expect(result).toMatchObject({steps_taken: 100, state_grows: true, state_floats: 8 * 2 * 16})
  })

  it.each([
    ['softmax', {run: 1}],
    ['rfa-gate', {...RANDOM, run: 1}],
    ['favor-pos', {...RANDOM, seed: 1}],
  ])(
    'has the same bits for any number of threads, whatever ran before: %s',
    async (method, other) => {
      const own = {...other, method, run: 0, seed: 0}
      const first = await bitsOf(own)
      expect(await bitsOf({...own, ...other})).not.toEqual(first)
      expect(await bitsOf(own, 2)).toEqual(first)
    },
  )

  it('has as large a state as features and values make', async () => {
    const {state_floats, state_grows, feature_dim} = await resultOf({
      ...{method: 'favor-pos', ...RANDOM, steps: 1},
    })
    // 2 heads, 8 features, 8 values and the normalizer, with the log scale of a feature
    expect(state_floats).toBe(2 * 8 * (8 + 1) + 2 * 8)
    expect({state_grows, feature_dim}).toEqual({state_grows: false, feature_dim: 8})
  })

  it('has a state of null where options leave a method without a recurrent form', async () => {
    const {state_floats, state_grows} = await resultOf({method: 'cosformer', steps: 1})
    expect({state_floats, state_grows}).toEqual({state_floats: null, state_grows: null})
  })

  it('draws random vectors anew where that is asked for', async () => {
    const own = {method: 'favor-pos', ...RANDOM}
    const never = await bitsOf(own)
    const often = await bitsOf({...own, redraw: 6})
    expect(often.curve.filter(({step}) => step < 6)).toEqual(
      never.curve.filter(({step}) => step < 6),
    )
    expect(often.test).not.toEqual(never.test)
  })

  it('is tested with fresh random vectors, too, which are the same whatever it trained with', async () => {
    const own = {method: 'favor-pos', ...RANDOM, steps: 1}
    const {test, fresh} = await resultOf(own)
    expect(fresh).not.toEqual(test)
    // the first step has the first vectors, however often others follow
    expect((await resultOf({...own, redraw: 1})).fresh).toEqual(fresh)
    expect((await resultOf({steps: 1})).fresh).toBeNull()
  })

  it('ends in the step with a loss that is not finite, without a score', async () => {
    const {diverged_step, steps_taken, test, left_plateau} = await resultOf({rate: 1e38})
    expect(diverged_step).toBeGreaterThan(1)
    expect(steps_taken).toBe(diverged_step! - 1)
    expect({test, left_plateau}).toEqual({
      test: {accuracy: null, bits: null},
      left_plateau: false,
    })
  })

  it('learns characters and has no plateau there', async () => {
    const task = charactersOf('abcdefgh'.repeat(100))
    const result = await resultOf({task, steps: 120, rate: 1e-2})
    expect(result.test.bits).toBeLessThan(0.5)
    expect(result).toMatchObject({vocabulary: 8, plateau: null, left_plateau: null})
  })

  it('refuses other texts than those of its plan', async () => {
    const task = charactersOf('abc'.repeat(200))
    writeFileSync(join(folder, 'texts.txt'), 'abd'.repeat(200))
    await expect(resultOf({task})).rejects.toMatchObject({code: 'FILE_CHANGED'})
  })

  it('learns the same on the portable backend, to rounding', async () => {
    const own = {steps: 20, batch: 8, held_out: 8}
    const [first, second] = [await resultOf(own), await resultOf({...own, backend: 'wasm'})]
    expect(second.backend).toBe('wasm')
    first.curve.forEach(({loss}, at) => {
      expect(second.curve[at]!.loss).toBeCloseTo(loss!, 3)
    })
  })

  it('skips what has no causal form', async () => {
    const outcome = await runTrainCell(trainCellOf({method: 'nystrom', num_features: 4}))
    expect(outcome).toEqual({status: 'skipped', reason: 'bidirectional only'})
  })
})
